import math
from decimal import ROUND_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpselect
from dpselect.assume.budget import Budget, Guarantee, about, exact_delta, exact_epsilon, float_below, plain
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import StudyError


def test_a_tenth_is_a_tenth():
    assert exact_epsilon(0.1) == Decimal("0.1") == exact_epsilon("0.1") == exact_epsilon(Decimal("0.1"))
    assert exact_epsilon(1) == 1


@pytest.mark.parametrize(
    "value", [0, -1, math.nan, math.inf, -math.inf, "x", None, True, 1e10, "nan", [1], "1_0", "0_1", "\uff11"]
)
def test_an_epsilon_that_is_no_price_is_refused(value):
    with pytest.raises(StudyError, match="epsilon is"):
        exact_epsilon(value)


@pytest.mark.parametrize("value", [-1e-9, 0.5, 1, math.nan, "x"])
def test_a_delta_that_is_no_chance_is_refused(value):
    with pytest.raises(StudyError, match="delta is"):
        exact_delta(value)


def test_a_needed_delta_may_not_be_zero():
    assert exact_delta(0) == 0
    with pytest.raises(StudyError, match="above 0"):
        exact_delta(0, positive=True)


@settings(derandomize=True)
@given(st.decimals(Decimal("1e-9"), Decimal("1e9"), places=12))
def test_the_double_that_is_spent_never_exceeds_the_decimal_that_is_charged(value):
    spent = float_below(value)
    assert Fraction(spent) <= Fraction(value)
    assert math.nextafter(spent, math.inf) > value or Fraction(spent) == Fraction(value)


@settings(derandomize=True)
@given(st.decimals(Decimal("1e-6"), Decimal("1e6"), places=9), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_the_parts_of_a_budget_add_up_exactly(epsilon, shares):
    parts = [part.epsilon for part in Budget(epsilon).split(*shares)]
    assert sum(map(Fraction, parts)) == Fraction(epsilon)
    for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
        fair, most = Fraction(epsilon) * share / sum(shares), Fraction(len(shares), 10**12)
        assert 0 <= Fraction(part) - fair < most if place == len(shares) - 1 else 0 <= fair - Fraction(part) < most


@settings(derandomize=True)
@given(
    st.decimals(Decimal("0.001"), Decimal("1e6"), places=30),
    st.decimals(Decimal("1e-30"), Decimal("0.4"), places=30),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_the_charges_for_the_parts_add_up_to_the_charge_for_the_whole(epsilon, delta, shares):
    """A ledger of 0.1 refused an analysis of 0.1 that was divided 1 to 2: each part was rounded up by itself."""
    epsilon, delta = (Decimal(f"{value:.39g}") for value in (epsilon, delta))
    parts = Budget(epsilon, delta).split(*shares)
    assert sum(Fraction(part.delta) for part in parts) == Fraction(delta)
    charged = [math.ceil(Fraction(part.epsilon) * 10**12) for part in parts]
    assert sum(charged) == math.ceil(Fraction(epsilon) * 10**12)
    if delta >= Decimal("1e-15"):
        charged = [math.ceil(Fraction(part.delta) * 10**18) for part in parts]
        assert sum(charged) == math.ceil(Fraction(delta) * 10**18)
    assert all(part.delta > 0 for part in parts)


@pytest.mark.parametrize("split", [(1, 2), (3, 2), (1, 1), None])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "0.35", "0.123456789"])
def test_an_analysis_fits_a_ledger_of_its_own_price(epsilon, split):
    numbers = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    study = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    ledger = dpselect.Ledger(epsilon=epsilon, delta="1e-6")
    dpselect.analyze((numbers[:, :1], numbers[:, 1]), study, epsilon=epsilon, split=split, ledger=ledger)
    assert ledger.remaining().epsilon == 0


def test_all_parts_but_the_last_have_twelve_decimals_rounded_down():
    """They are printed, and read by people."""
    assert [str(part.epsilon) for part in Budget(2).split(1, 1, 1)] == [
        "0.666666666666",
        "0.666666666666",
        "0.666666666668",
    ]


@pytest.mark.parametrize("shares", [(), (0, 1), (-1, 2)])
def test_shares_must_be_positive(shares):
    with pytest.raises(StudyError, match="positive"):
        Budget(1).split(*shares)


@settings(derandomize=True)
@given(st.decimals(Decimal("1e-9"), Decimal("0.4"), places=30), st.integers(1, 5))
def test_delta_is_divided_as_exactly_whatever_decimal_context_a_program_has_set(delta, precision):
    with localcontext(prec=precision):
        halves = Budget(1, delta).split(3, 2)
        left = Budget(1, delta).split(1, 1, delta=(0, 1))
    assert sum(Fraction(part.delta) for part in halves) == Fraction(delta)
    assert [part.delta for part in left] == [0, delta]
    assert sum(part.epsilon for part in halves) == 1


@pytest.mark.parametrize("shares", [(0, 0), (1,), (-1, 1)])
def test_shares_of_delta_must_fit(shares):
    with pytest.raises(StudyError, match="shares of delta"):
        Budget(1, "1e-6").split(1, 1, delta=shares)


def test_a_guarantee_reads_like_a_sentence():
    pure = Guarantee(epsilon=Decimal("1.0"), delta=Decimal(0), neighbors="replace-one")
    assert str(pure) == "epsilon=1, replace-one"
    approximate = Guarantee(epsilon=0.5, delta=1e-6, neighbors="replace-one")
    assert str(approximate) == "epsilon=0.5, delta=1e-6, replace-one"
    assert pure.to_dict() == {"epsilon": "1.0", "delta": "0", "neighbors": "replace-one"}
    with pytest.raises(StudyError, match="neighbors"):
        Guarantee(epsilon=1, delta=0, neighbors="twins")


@pytest.mark.parametrize(("value", "text"), [("1.50", "1.5"), ("100", "100"), ("1e-9", "1e-9"), ("0.001", "0.001")])
def test_decimals_print_as_people_write_them(value, text):
    assert plain(Decimal(value)) == text


@pytest.mark.parametrize("precision", [3, 28])
@pytest.mark.parametrize("epsilon", ["0.9996", "0.123456789", "0." + "9" * 40])
def test_no_setting_of_pythons_decimals_makes_a_price_grow(precision, epsilon):
    study = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1)])
    with localcontext() as context:
        context.prec = precision
        for method, delta in (("pcls", 0), ("pcpl", "1e-6")):
            recipe = make_recipe(study, Choice(method), rows=9, epsilon=epsilon, delta=delta)
            parts = Fraction(recipe.bound_epsilon), Fraction(recipe.choice_epsilon)
            spent = float_below(recipe.bound_epsilon), float_below(recipe.choice_epsilon)
            assert sum(parts) == Fraction(epsilon)
            assert sum(map(Fraction, spent)) <= Fraction(epsilon)
            assert str(recipe.guarantee).startswith(f"epsilon={epsilon}")


def test_a_price_of_endless_digits_is_refused():
    with pytest.raises(StudyError, match="more than 40 digits"):
        Budget("0." + "3" * 41)
    with pytest.raises(StudyError, match="more than 40 digits"):
        exact_epsilon(10**5000)


def test_what_is_left_is_never_shown_as_more_than_it_is_nor_what_is_spent_as_less():
    left = Decimal("9.03244047351")
    assert about(left) == "9.032"
    assert about(Decimal("0.99999999")) == "0.9999"
    assert about(left, ROUND_UP) == "9.033"
    assert about(Decimal(10)) == "10"
