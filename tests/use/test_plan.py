"""The lengths that a plan expects are those that releases then have, on tables of the scenario that it supposes."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

import dpselect
from dpselect.rehearse.planning.scenarios import layout_of, typical
from dpselect.rehearse.planning.study_scale import likely_models, supposed_moments, supposed_products
from dpselect.use.plan import expected_intervals, two_digits

STUDY = dpselect.Study(
    dpselect.Numeric("y", 0, 100),
    [
        *(dpselect.Numeric(f"x{j}", 0, 10) for j in range(5)),
        dpselect.Categorical("c", ["a", "b", "d"]),
        dpselect.Binary("b", ["n", "y"]),
    ],
)
R2 = 0.1
WORLD = typical(layout_of(STUDY), R2)


def table(n, rng):
    """Rows of the typical scenario, made here by hand: correlated normal columns, falling shares of levels, a third yes."""
    latent = math.sqrt(0.7) * rng.standard_normal((n, 7)) + math.sqrt(0.3) * rng.standard_normal((n, 1))
    found = {f"x{j}": np.clip(5 + 10 / 6.5 * latent[:, j], 0, 10) for j in range(5)}
    level = np.searchsorted([NormalDist().inv_cdf(6 / 11), NormalDist().inv_cdf(9 / 11)], latent[:, 5])
    yes = latent[:, 6] > NormalDist().inv_cdf(2 / 3)
    found |= {"c": np.array(["a", "b", "d"])[level], "b": np.where(yes, "y", "n")}
    parts = [*latent.T[:5], (level - 7 / 11) / math.sqrt(0.5950413), (yes - 1 / 3) / math.sqrt(2 / 9)]
    signal = WORLD.weights @ np.array(parts)
    found["y"] = 50 + 100 / 6.5 * (math.sqrt(R2) * signal / signal.std() + math.sqrt(1 - R2) * rng.standard_normal(n))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "epsilon", "delta"), [(20_000, 2, 0)])
def test_the_median_length_of_released_intervals_is_as_expected(n, epsilon, delta):
    expected = expected_intervals(STUDY, rows=n, epsilon=epsilon, delta=delta, r2=R2)
    names = [STUDY.columns[place].name for place in likely_models(STUDY, WORLD)[0]][1:]
    rng, lengths = np.random.default_rng(5), {name: [] for name in names}
    for _ in range(9):
        price = {"epsilon": str(expected.epsilon), "delta": str(delta)}
        got = dpselect.estimate(table(n, rng), names, study=STUDY, **price)
        for term in got.terms[1:]:
            lengths[term.name] += [term.upper - term.lower] if term.determined else []
    for name, length, _ in expected.terms:
        if name in names:
            assert length == pytest.approx(np.median(lengths[name]), rel=0.25), name


def test_the_price_is_what_analyze_leaves_for_the_estimate():
    expected = expected_intervals(STUDY, rows=5000, epsilon=1, delta=0)
    assert (expected.epsilon, expected.noise) == (0.65, "laplace")
    assert expected_intervals(STUDY, rows=5000, epsilon=1, delta=1e-6).noise == "gaussian"


def test_every_slope_is_listed_and_more_buys_shorter_ones():
    expected = expected_intervals(STUDY, rows=20_000, epsilon=1)
    assert [name for name, _, _ in expected.terms] == ["x0", "x1", "x2", "x3", "x4", "c[b]", "c[d]", "b"]
    for curve in (expected.by_rows, expected.by_epsilon):
        lengths = [length for _, length in curve if length is not None]
        assert lengths == sorted(lengths, reverse=True) and len(lengths) > 2
    now = dict(expected.by_rows)[20_000]
    assert now == dict(expected.by_epsilon)[1] == expected.terms[0][1]
    assert expected.seen == 1 and expected.words(STUDY)[0] == ("x0", f"{two_digits(now)} of y")


def test_what_cannot_be_seen_has_no_length_but_a_size_if_any_could():
    expected = expected_intervals(STUDY, rows=1000, epsilon=1)
    assert expected.seen == 0 and expected.terms[0][1:] == (None, None)
    assert expected.words(STUDY)[0] == ("x0", "hidden by noise")
    assert expected.to_dict()["terms"][0] == {"term": "x0", "length": None, "visible": None}
    name = expected.terms[5][0]
    large = replace(expected, terms=((name, None, 110.0),))
    assert large.words(STUDY) == ((name, "hidden by noise"),)  # y has no room for 110
    smaller = replace(expected, terms=((name, None, 11.0),))
    assert smaller.words(STUDY) == ((name, "hidden by noise unless above 11 of y"),)


def test_without_ranges_there_is_a_ratio_and_no_unit():
    study = dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric("x")])
    assert expected_intervals(study, rows=99, epsilon=1) is None
    by_rounds = expected_intervals(study, rows=9900, epsilon=1, delta=1e-6)
    assert by_rounds.terms == () and by_rounds.by_rows == () and 1 < by_rounds.times.middle < 3
    assert expected_intervals(study, rows=9, epsilon=1, delta=1e-6).sentence.startswith(
        "Noise would hide all effects if "
    )


def test_lengths_by_rounds_are_those_of_releases():
    """On rows that are as supposed; real tables, whose columns are worse, had the stated ratio in the median."""
    n, expected = 12_000, expected_intervals(STUDY, rows=12_000, epsilon=1, delta=1e-6, r2=R2)
    assert expected.coefficients == len(likely_models(STUDY, WORLD)[0])
    names = [STUDY.columns[place].name for place in likely_models(STUDY, WORLD)[0]][1:]
    rng, lengths = np.random.default_rng(5), {name: [] for name in names}
    for _ in range(3):
        price = {"epsilon": str(expected.epsilon), "delta": "1e-6"}
        for term in dpselect.estimate(table(n, rng), names, study=STUDY, **price).terms[1:]:
            lengths[term.name].append(term.upper - term.lower if term.determined else math.inf)
    ratios = [length / np.median(lengths[name]) for name, length, _ in expected.terms if name in names]
    assert len(ratios) == len(names) and 1 / 1.5 < np.median(ratios) < 1.5


def test_a_split_and_more_terms_change_the_lengths():
    usual = expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=3)
    half = expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=3, split=(1, 1))
    many = expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=7)
    assert (usual.epsilon, half.epsilon) == (0.65, 0.5) and usual.times < half.times
    assert usual.coefficients < many.coefficients == 9 and usual.times < many.times


def test_a_plan_says_how_long_intervals_are_if_fewer_or_all_variables_are_selected():
    found = expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=3.2)
    middles = dict(found.by_selected)
    assert found.selected == 3 and middles[3] == found.times.middle and list(middles) == list(range(1, 8))
    assert list(middles.values()) == sorted(middles.values())
    first, second = found.sentence.split(". ")
    assert first.endswith("if 3 variables are selected")
    assert second == f"With 1, about {middles[1]:.2g} times; with all 7, about {middles[7]:.2g} times."
    assert (
        expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=0.2).sentence.count("if 1 variable is")
        == 1
    )
    every = expected_intervals(STUDY, rows=8000, epsilon=1, delta=1e-6, selected=7).sentence
    assert "if 7 variables are selected. With 3, about" in every and "with all" not in every
    short = expected_intervals(STUDY, rows=500, epsilon=1, delta=1e-6, selected=1)
    assert dict(short.by_selected)[7] is None and short.sentence.endswith("With all 7, none would be estimated.")


def test_supposed_sums_are_those_of_drawn_rows():
    products = supposed_products(STUDY, WORLD)
    drawn = dpselect.gather(table(200_000, np.random.default_rng(2)), STUDY)
    made, real = (
        np.array(each.products / each.n, dtype=float) / 2**40
        for each in (supposed_moments(STUDY, products, 1000), drawn)
    )
    assert made == pytest.approx(real, abs=0.03)


def test_an_intercept_that_competes_with_one_variable():
    """It may be what acts in the supposed scenario; the plan once failed there."""
    a_study = dpselect.Study(dpselect.Numeric("y", 0, 1), [dpselect.Numeric("x", 0, 1)], intercept="candidate")
    expected = expected_intervals(a_study, rows=3000, epsilon=1)
    assert [name for name, _, _ in expected.terms] == ["x"]
