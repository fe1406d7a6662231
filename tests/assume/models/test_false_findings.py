"""How many findings are expected where there is nothing: said from public facts, and held by the program."""

import numpy as np
import pytest

from benchmarks.null import SETTINGS, expected_idle
from dpselect import Numeric, Study
from dpselect.assume.candidates import Subsets
from dpselect.assume.false_findings import expected_false
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
