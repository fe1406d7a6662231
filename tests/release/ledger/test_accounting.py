"""The laws of the accounting: exact, never falling, blind to order, and what is said to be left can be spent."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.errors import BudgetExceeded, StudyError
from dpselect.release.ledger import accounting
from dpselect.release.ledger.accounting import RHO_UNIT, EntryPrice, Total, convert, guess, price_of, total_price
from dpselect.release.ledger.entries import DELTA_UNIT, EPSILON_UNIT, Charge
from dpselect.release.ledger.ledger import Ledger
from tests.examples import examples

MILLIONTH = DELTA_UNIT // 10**6


def charge(mechanism, epsilon, delta="0", **more):
    return Charge(what="select", mechanism=mechanism, epsilon=epsilon, delta=delta, **more)


amounts = st.integers(1, 3000).map(lambda thousandths: str(Decimal(thousandths) / 1000))
charges = st.one_of(
    st.builds(charge, st.sampled_from(["permute-and-flip", "laplace", "exponential", "laplace-moments"]), amounts),
    st.builds(charge, st.just("pcpl/exponential"), amounts, st.sampled_from(["1e-8", "1e-7"])),
    st.builds(
        lambda epsilon, rho: charge("gaussian", epsilon, "1e-7", parameters={"rho": rho}),
        amounts,
        st.sampled_from(["0.001", "0.02", "0.3"]),
    ),
)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(charges, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_total_never_falls_and_is_blind_to_order(acts, shuffler):
    prices = [price_of(act) for act in acts]
    shuffled = prices.copy()
    shuffler.shuffle(shuffled)
    whole, before = total_price(prices, MILLIONTH), total_price(prices[:-1], MILLIONTH)
    assert total_price(shuffled, MILLIONTH) == whole
    # OpenDP's conversion is exact to about 1e-9 of its value
    if before.delta <= MILLIONTH and whole.delta <= MILLIONTH:
        assert whole.epsilon >= before.epsilon * (1 - 1e-8)
    assert whole.epsilon <= sum(price.epsilon for price in prices) or whole.delta <= MILLIONTH


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(charges, max_size=8), st.sampled_from(["0", "1e-6"]))
def test_what_is_left_can_be_spent(acts, delta):
    ledger = Ledger(epsilon=6, delta=delta, composition="zcdp")
    for act in acts:
        try:
            ledger.charge(act)
        except BudgetExceeded:
            continue
    left = ledger.remaining()
    assert ledger.spent().epsilon + left.epsilon == 6
    ledger.charge(charge("permute-and-flip", left.epsilon * Decimal("0.999999"), left.delta))
    ledger.charge(charge("exponential", ledger.remaining().epsilon * Decimal("0.999999")))
    assert ledger.spent().epsilon <= 6
    assert ledger.spent().delta <= Decimal(delta)


@given(charges, st.integers(1, 50))
def test_a_count_is_so_many_records(act, count):
    many = price_of(Charge(**(act.to_dict() | {"count": count})))
    one = price_of(act)
    assert many == EntryPrice(one.epsilon * count, one.delta * count, one.rho * count, one.delta_beside * count)
    assert total_price([many], 0) == total_price([one] * count, 0)


def test_without_delta_or_with_no_records_composition_is_basic():
    pure = [price_of(charge("exponential", "0.01"))] * 1000
    assert total_price(pure, 0) == Total(10 * EPSILON_UNIT, 0, "basic")
    assert total_price(pure, MILLIONTH).method == "zCDP"
    assert total_price([], MILLIONTH) == Total(0, 0, "basic")


def test_where_no_plan_keeps_within_delta_the_total_is_basic():
    price = price_of(charge("pcpl/laplace", 1, "2e-6"))
    assert total_price([price], MILLIONTH) == Total(EPSILON_UNIT, 2 * MILLIONTH, "basic")


def test_a_gaussian_is_taken_by_rho_where_its_own_delta_does_not_fit():
    prices = [price_of(charge("gaussian", 1, "1e-6", parameters={"rho": 0.01}))] * 3
    total = total_price(prices, MILLIONTH)
    assert (total.delta, total.method) == (MILLIONTH, "zCDP")
    assert total.epsilon == convert(3 * RHO_UNIT // 100, MILLIONTH)


@pytest.mark.parametrize("mechanism", ["laplace-moments", "laplace", "permute-and-flip", "something new"])
def test_pure_mechanisms_and_unknown_ones_are_priced_as_plain(mechanism):
    half = EPSILON_UNIT // 2
    assert price_of(charge(mechanism, "0.5", "1e-18")) == EntryPrice(half, 1, half**2 // 2, 1)


def test_the_exponential_mechanism_with_a_delta_is_priced_as_plain():
    assert price_of(charge("exponential", 1, "1e-6")) == price_of(charge("laplace", 1, "1e-6"))


def test_a_gaussian_without_rho_is_priced_as_plain():
    assert price_of(charge("gaussian", 1, "1e-6")) == price_of(charge("laplace", 1, "1e-6"))


def test_everything_is_rounded_up():
    third = price_of(charge("gaussian", 1, "1e-6", parameters={"rho": "1e-25"}))
    assert third.rho == 1
    assert price_of(charge("gaussian", 1, "1e-6", parameters={"rho": "1e-399"})).rho == 1
    assert price_of(charge("exponential", "1e-12")).rho == 1  # an eighth of a unit
    assert price_of(charge("pcpl/laplace", 1, 1, parameters={"bound_epsilon": 0.5})).delta_beside == DELTA_UNIT


@pytest.mark.parametrize(
    ("mechanism", "divisor"), [("pcpl/laplace", 2), ("pcpl/permute-and-flip", 2), ("pcpl/exponential", 8)]
)
@pytest.mark.parametrize("bound", ["0.25", "0.4", "0.9"])
def test_pcpl_pays_for_its_two_parts_to_the_last_unit(mechanism, divisor, bound):
    """(e1 + delta/(1-delta))^2/2 for the bound and e2^2/divisor for the choice, rounded up, and never more than as a whole."""
    delta, first = Fraction(1, 100), Fraction(bound)
    rho = (first + delta / (1 - delta)) ** 2 / 2 + (1 - first) ** 2 / divisor
    paid = price_of(charge(mechanism, 1, "0.01", parameters={"bound_epsilon": bound}))
    assert paid.rho == min(math.ceil(rho * RHO_UNIT), RHO_UNIT // 2)
    assert (paid.epsilon, paid.delta, paid.delta_beside) == (EPSILON_UNIT, DELTA_UNIT // 100, DELTA_UNIT // 100)
    assert price_of(charge(mechanism, 1, "0.01")).rho == RHO_UNIT // 2


@pytest.mark.parametrize("rho", ["much", -1, float("nan"), [1], "1e401", "1e-401"])
def test_a_parameter_that_is_no_number_is_refused(rho):
    with pytest.raises(StudyError, match=r"must be a number >= 0|plain finite values"):
        price_of(charge("gaussian", 1, "1e-6", parameters={"rho": rho}))


def test_acts_without_epsilon_have_a_place_in_the_order():
    nothing, leak = price_of(charge("laplace", 0)), price_of(charge("laplace", 0, "1e-8"))
    noise = price_of(charge("gaussian", 0, "1e-8", parameters={"rho": "0.0001"}))
    assert total_price([nothing, leak, noise], MILLIONTH) == Total(0, 2 * MILLIONTH // 100, "basic")


@given(st.floats(-16, 3), st.floats(-17, -1))
@settings(max_examples=examples(40), deadline=None)
def test_the_guess_is_what_opendp_returns(log_rho, log_delta):
    rho, delta = int(10**log_rho * RHO_UNIT), int(10**log_delta * DELTA_UNIT)
    converted = convert(rho, delta)
    assert converted is not None
    assert converted == pytest.approx(guess(rho, delta), rel=1e-6, abs=EPSILON_UNIT * 1e-7)


def test_the_conversion_is_rounded_up_and_never_below_the_exact_delta_of_a_gaussian():
    for rho in (1e-4, 0.01, 0.5, 3.0):
        for delta in (1e-3, 1e-6, 1e-9):
            epsilon = convert(int(rho * RHO_UNIT), int(delta * DELTA_UNIT)) / EPSILON_UNIT
            mean, spread = rho, math.sqrt(2 * rho)
            above = math.erfc((epsilon - mean) / spread / math.sqrt(2)) / 2
            below = math.erfc((epsilon + mean) / spread / math.sqrt(2)) / 2
            assert above - math.exp(epsilon) * below <= delta


def test_what_opendp_cannot_convert_is_left_to_basic_composition(monkeypatch):
    assert convert(10**6 * RHO_UNIT, MILLIONTH) is None  # it overflows
    monkeypatch.setattr(accounting, "guess", lambda rho, delta: 0.0)
    monkeypatch.setattr(accounting, "convert", lambda rho, delta: None)
    assert total_price([price_of(charge("laplace", 1))], MILLIONTH).method == "basic"


def test_an_infinite_conversion_is_no_price(monkeypatch):
    class Endless:
        def map(self, distance):
            return self

        def epsilon(self, delta):
            return math.inf

    gaussian, _, failure = accounting._gaussian()
    monkeypatch.setattr(accounting, "_gaussian", lambda: (gaussian, Endless(), failure))
    assert convert.__wrapped__(RHO_UNIT, MILLIONTH) is None


def test_the_distance_is_raised_until_it_covers_rho(monkeypatch):
    class Short:
        """A Gaussian whose map is a little short of the square."""

        def map(self, distance):
            return distance**2 / 2 * (1 - 1e-15)

    _, converted, failure = accounting._gaussian()
    monkeypatch.setattr(accounting, "_gaussian", lambda: (Short(), converted, failure))
    assert convert.__wrapped__(RHO_UNIT, MILLIONTH) >= convert(RHO_UNIT, MILLIONTH)


def test_many_records_are_priced_quickly():
    random.seed(5)
    prices = [price_of(charge("exponential", str(Decimal(random.randint(1, 999)) / 1000))) for _ in range(2000)]
    assert total_price(prices, MILLIONTH).method == "zCDP"
