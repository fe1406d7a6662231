"""What a price could not show: a size is given where the stated bounds allow it, and nowhere else."""

import re
from decimal import Decimal

import numpy as np
import pytest

import dpselect
from dpselect.randomize.noisy_moments import NoisyMoments, weighted_integers
from dpselect.release.units import beyond_range
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.page import report_page
from dpselect.report.public.text import coefficient_rows, estimate_remarks

STUDY = dpselect.Study(
    dpselect.Numeric("weeks", 0, 52), [dpselect.Numeric("kids", 2, 10), dpselect.Categorical("town", ["a", "b"])]
)


def short_table() -> dict[str, list]:
    rng = np.random.default_rng(3)
    kids, town = rng.integers(2, 11, 40), rng.choice(["a", "b"], 40)
    return {"kids": list(kids), "town": list(town), "weeks": list(rng.uniform(0, 52, 40))}


def undisturbed(moments, layout, noise) -> NoisyMoments:
    values = tuple(weighted_integers(moments, layout, noise.scale))
    return NoisyMoments(layout=layout, noise=noise, values=values, known_rows=40)


@pytest.fixture(scope="module")
def analysis() -> dpselect.Analysis:
    """Forty rows at epsilon 0.01, whose noise happened to be zero: its law alone hides everything."""
    selection = dpselect.select(short_table(), STUDY, epsilon=1, candidates=[["kids", "town"]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpselect.release.linear.noisy_moments", undisturbed)
        coefficients = dpselect.estimate(short_table(), selection, epsilon="0.01")
    return dpselect.Analysis(title="", made="", selection=selection, coefficients=coefficients)


def test_no_size_is_said_to_be_visible_that_moves_the_response_beyond_its_range(analysis):
    facts = estimate_facts(analysis.coefficients)
    terms = {term.name: term for term in analysis.coefficients.terms}
    assert not any(term.determined for term in terms.values())
    assert all(term.visible is None or beyond_range(STUDY, name, term.visible) for name, term in terms.items())
    assert [each.coefficient.visible for each in facts.coefficients] == [None] * 3
    assert [row[1] for row in coefficient_rows(facts)] == ["not seen"] * 3
    assert facts.unseen == (
        "What is not seen could not be estimated at this price: no effect within the stated range of weeks could have been."
    )
    assert facts.unseen in estimate_remarks(facts)


def test_neither_the_page_nor_the_printed_text_gives_such_a_size(analysis):
    page = report_page(analysis)
    assert "no effect within the stated range of weeks" in page
    assert not re.search("visible from", page)
    assert "visible from" not in str(analysis.coefficients)


def test_the_whole_price_of_an_analysis_is_printed_first(analysis):
    assert str(analysis).splitlines()[0] == "epsilon=1.01, delta=0 in all"


def test_the_price_is_what_was_asked_whichever_noise_the_chosen_columns_call_for():
    """Laplace noise takes no delta; but were it left out, the price would say something of the choice before it is paid for."""
    sums = dpselect.gather(short_table(), STUDY)
    offered = dpselect.analyze(sums, STUDY, method="pcls", epsilon=1, delta="1e-6", candidates=[["kids"]])
    assert offered.coefficients.released.noise.scale.noise == "laplace"
    assert offered.coefficients.guarantee.delta == Decimal("1e-6")
    assert str(offered).splitlines()[0] == "epsilon=1, delta=1e-6 in all"
    assert offered.glance()[0]["delta"] == 1e-6
