"""How many findings are expected where there is nothing: said from public facts, and held by the program."""

import math
from itertools import combinations

import numpy as np
import pytest
from msgspec.structs import replace

from benchmarks.null import SETTINGS, expected_idle
from dpselect import Numeric, Study
from dpselect.assume.candidates import Subsets
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.power import _picked, expected_false
from dpselect.assume.recipe import Choice, make_recipe


def recipe_for(rows, epsilon, columns=8, mechanism="permute-and-flip", **stated):
    study = Study(Numeric("y", 0, 1), [Numeric(f"x{j}", 0, 1) for j in range(columns)], **stated)
    return make_recipe(study, Choice("votes", mechanism), rows=rows, epsilon=epsilon)


@pytest.mark.parametrize(
    ("label", "columns", "rows", "epsilon"),
    [
        ("normal, normal response", 8, 1000, 1.0),
        pytest.param("normal, normal response", 8, 3000, 0.35, marks=pytest.mark.thorough),
        pytest.param("lognormal, lognormal response", 8, 2000, 0.35, marks=pytest.mark.thorough),
        pytest.param("lognormal, lognormal response", 8, 5000, 1.0, marks=pytest.mark.thorough),
        ("24 columns: lognormal", 24, 5000, 1.0),
    ],
)
def test_no_more_is_found_than_was_said(label, columns, rows, epsilon):
    """Means over six tables; what is said is nearer to a bound than to a mean, as its docstring tells."""
    said = expected_false(recipe_for(rows, epsilon, columns))
    found = np.mean([expected_idle(SETTINGS[label](np.random.default_rng([31, t]), rows), epsilon) for t in range(6)])
    assert found <= 1.5 * said + 0.03
    assert said < 0.2


def test_it_falls_with_rows_and_is_less_by_permute_and_flip():
    by_rows = [expected_false(recipe_for(rows, 1.0)) for rows in (500, 2000, 10_000, 100_000)]
    assert by_rows == sorted(by_rows, reverse=True) and 0 < by_rows[-1] < 0.02
    flipped, plain = (
        expected_false(recipe_for(1000, 0.35, mechanism=each)) for each in ("permute-and-flip", "exponential")
    )
    assert flipped < plain < 2 * flipped + 1e-12


def test_many_columns_are_no_more_likely_to_be_found_than_few():
    """Their threshold rises with what the choice must overcome."""
    assert 0 <= expected_false(recipe_for(4000, 1.0, 100)) < 0.05


def test_where_nothing_can_be_said_or_found():
    study = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)], neighbors="add-remove-one")
    assert expected_false(make_recipe(study, Choice("pcls"), rows=None, epsilon=1)) is None
    stated = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)], neighbors="add-remove-one", rows=900)
    assert expected_false(make_recipe(stated, Choice("votes"), rows=None, epsilon=1)) > 0
    fixed = Choice("votes", candidates=Subsets(always=("x",)))
    assert expected_false(make_recipe(stated, fixed, rows=None, epsilon=1)) == 0


def test_the_longest_table_is_spoken_of_and_what_an_edited_report_makes_of_its_rows_is_not():
    longest = recipe_for(MAXIMUM_ROWS, 1.0)
    assert 0 < expected_false(longest) < 1e-9
    for rows in (0, 2**60):
        assert expected_false(replace(longest, rows=rows)) is None


@pytest.mark.parametrize("top", [2, 4])
def test_what_all_models_weigh_is_what_they_weigh_one_by_one(top):
    """Of four terms at most two are in a model, or all; by every set of places among the sorted leads."""
    rng, rate, price = np.random.default_rng(8), 0.25, 0.7
    leads = -np.sort(-np.abs(rng.normal(size=(3, 4))), axis=1)
    deviations, bars = rng.uniform(2, 3, top + 1), rng.uniform(2, 6, top + 1)
    found = _picked(leads, deviations, bars, price, rate)
    for own, (terms_in, weight) in zip(leads, found, strict=True):
        empty, weights, sizes = bars[0] - deviations[0] * own[0], [], []
        for size in range(1, top + 1):
            for places in combinations(range(4), size):
                score = min(deviations[size - 1] * own[places[-1]] - bars[size - 1], bars[min(size, top)])
                weights.append(math.exp(rate * (score - empty) - price * size))
                sizes.append(size)
        assert weight == pytest.approx(sum(weights))
        assert terms_in == pytest.approx(np.average(sizes, weights=weights))
