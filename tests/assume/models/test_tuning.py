import math
from decimal import Decimal, localcontext

import pytest

from dpselect.assume.models.tuning import (
    Tuning,
    check_rows_are_persons,
    split_for_tuning,
    tuned_assumptions,
    tuning_share,
)
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError


def test_a_long_table_needs_a_smaller_share():
    assert tuning_share(1000, 1) == pytest.approx(0.15)
    assert tuning_share(10**6, 1) == 0.02
    assert tuning_share(100, 1) == 0.2
    assert tuning_share(None, 1) == 0.1


@pytest.mark.parametrize(("epsilon", "rows", "share"), [(1, 1000, None), ("0.7", None, None), (0.1, 10, "0.3")])
def test_the_parts_add_up_to_the_whole_exactly(epsilon, rows, share):
    bounds, choice = split_for_tuning(epsilon, rows, share)
    assert bounds > 0
    assert bounds + choice == Decimal(str(epsilon))


def test_a_share_of_its_own_has_four_digits():
    assert split_for_tuning(1, 1100) == (Decimal("0.1364"), Decimal("0.8636"))


@pytest.mark.parametrize("precision", [1, 3])
def test_the_share_is_as_stated_whatever_decimal_context_a_program_has_set(precision):
    expected = split_for_tuning(1, 1000, "0.2345")
    with localcontext(prec=precision):
        assert split_for_tuning(1, 1000, "0.2345") == expected == (Decimal("0.2345"), Decimal("0.7655"))


@pytest.mark.parametrize("share", [0, 1, -0.1, "nan"])
def test_a_share_that_leaves_nothing_is_refused(share):
    with pytest.raises(AssumptionError, match="The tuning's share"):
        split_for_tuning(1, 100, share)


@pytest.mark.parametrize(
    "wrong",
    [
        {"outside": 0.3},
        {"outside": 0.5},
        {"radius": 0.0},
        {"radius": 1.1e6},
        {"radius": math.nan},
        {"steps": 1},
        {"steps": 1025},
    ],
)
def test_impossible_tunings_are_refused(wrong):
    with pytest.raises(AssumptionError):
        Tuning(**wrong)
    assert Tuning(radius=1e6, steps=1024).steps == 1024


def test_bounds_are_not_bought_where_persons_are_protected():
    """Their price is for rows: a person of three rows would move the bounds three times as far."""
    study = Assumptions(Numeric("y", 0, 100), [Numeric("x", 0, 1)], person="id", max_rows_per_person=3)
    with pytest.raises(AssumptionError, match="protects whole persons"):
        check_rows_are_persons(study)
    check_rows_are_persons(Assumptions(study.response, study.predictors))


def test_released_bounds_take_the_place_of_the_stated_ones_and_nothing_else_changes():
    study = Assumptions(Numeric("y", 0, 100), [Numeric("x", 0, 1)], intercept="candidate", neighbors="add-remove-one")
    tuned = tuned_assumptions(study, 10, 30)
    assert (tuned.response.lower, tuned.response.upper) == (10, 30)
    assert (tuned.radius, tuned.r, tuned.rho) == (15, 10, 1.5)
    assert (tuned.predictors, tuned.intercept, tuned.neighbors) == (study.predictors, "candidate", "add-remove-one")


def test_terms_and_persons_stay_as_stated():
    study = Assumptions(
        Numeric("y", 0, 100),
        [Numeric("x", 0, 1), Numeric("z", 0, 1)],
        terms=["x", ["x", "z"]],
        person="id",
        max_rows_per_person=3,
    )
    tuned = tuned_assumptions(study, 10, 30)
    assert tuned.columns == study.columns
    assert (tuned.person, tuned.rows_per_person) == ("id", 3)
