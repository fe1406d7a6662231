"""Public. What the entries of a ledger cost together: by basic composition, or by zCDP composition where a ledger asks for it.

An entry is priced twice, by the function registered for its mechanism (`price_of`), and the cheapest way to add up all
entries is found by `total_price`, whose docstring holds the theorem and its proof. OpenDP converts zCDP to (epsilon, delta).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpselect.errors import StudyError
from dpselect.randomize.opendp_door import opendp
from dpselect.release.ledger.entries import DELTA_UNIT, EPSILON_UNIT, Charge

RHO_UNIT = EPSILON_UNIT**2
"""So many units of rho are 1: the unit is the square of that of epsilon, so that epsilon^2 is a whole number of them as well."""


@dataclass(frozen=True, slots=True)
class EntryPrice:
    """Public. Two true statements about one act, in units; either may be used.

    The act is (epsilon, delta)-DP. The act is also delta_beside-approximate rho-zCDP: on neighbouring tables its two
    output distributions are mixtures (1 - delta_beside) P + delta_beside (anything) with P's that are rho-zCDP.
    """

    epsilon: int
    delta: int
    rho: int
    delta_beside: int

    def times(self, count: int) -> EntryPrice:
        """The price of `count` such acts: all four amounts add up."""
        return EntryPrice(count * self.epsilon, count * self.delta, count * self.rho, count * self.delta_beside)


PRICED_BY = ("bound_epsilon", "rho")
"""The parameters of a charge that may decide its price; all others are facts for people."""

LARGEST_EXPONENT = 400
"""A number of a charge is not written with a larger power of ten, so that nobody can make a ledger compute for years."""

Pricing = Callable[[Charge], EntryPrice]
_PRICING: dict[str, Pricing] = {}


def prices(*mechanisms: str) -> Callable[[Pricing], Pricing]:
    """Register a pricing function for entries of these mechanisms."""

    def register(pricing: Pricing) -> Pricing:
        for mechanism in mechanisms:
            _PRICING[mechanism] = pricing
        return pricing

    return register


def price_of(charge: Charge) -> EntryPrice:
    """The price of an entry: its mechanism's pricing function, times its count.

    A mechanism without a pricing function of its own is priced by `plain`, which holds for everything.
    """
    return _PRICING.get(charge.mechanism, plain)(charge).times(charge.count)


@prices("permute-and-flip", "laplace", "noisy-moments")
def plain(charge: Charge) -> EntryPrice:
    """Any (epsilon, delta)-DP act is also delta-approximate (epsilon^2/2)-zCDP.

    Why: let p, q be its densities on neighbouring tables and p1 = min(p, e^epsilon q), q1 = min(q, e^epsilon p). Then
    p1 <= e^epsilon q1 and q1 <= e^epsilon p1, and their masses are at least 1-delta. If p1 has more mass than q1, move it
    towards e^-epsilon q1, which lies below it, until the masses agree (and the same with the roles exchanged); scale both
    to 1-delta. So p and q are mixtures (1-delta) p' + delta (anything) with p', q' epsilon-indistinguishable, and
    epsilon-DP implies (epsilon^2/2)-zCDP.

    Permute-and-flip and report-noisy-min with Laplace noise are priced here: neither is bounded-range, so neither may be
    charged epsilon^2/8.

    Source: Bun and Steinke, arXiv:1605.02065, Proposition 1.4; the mixture is Kairouz, Oh and Viswanath's, arXiv:1311.0776.
    Tested: tests/claims/test_ledger_prices.py
    """
    epsilon, delta = charge.epsilon_units, charge.delta_units
    return EntryPrice(epsilon, delta, _up(epsilon**2, 2), delta)


@prices("exponential")
def exponential(charge: Charge) -> EntryPrice:
    """The exponential mechanism at epsilon is (epsilon^2/8)-zCDP.

    Why: the log of a candidate's weight changes by -epsilon/w times the change of its score, and these changes have a
    range of at most w; so the privacy loss L lies in an interval of length epsilon. Hoeffding's lemma then bounds
    log E exp(sL) by s E L + s^2 epsilon^2/8. At s = -1 the left side is 0, so E L <= epsilon^2/8; at s = alpha-1 it is
    (alpha-1) times the Renyi divergence, which is therefore at most alpha epsilon^2/8.

    A charge with a delta of its own is more than the exponential mechanism and is priced as `plain`.

    Source: Cesar and Rogers, arXiv:2004.07223.
    Tested: tests/claims/test_ledger_prices.py
    """
    if charge.delta_units:
        return plain(charge)
    return EntryPrice(charge.epsilon_units, 0, _up(charge.epsilon_units**2, 8), 0)


@prices("pcpl/permute-and-flip", "pcpl/laplace")
def profile_choice(charge: Charge) -> EntryPrice:
    """PCPL with a choice that is only known to be pure: see `_profile`."""
    return _profile(charge, divisor=2)


@prices("pcpl/exponential")
def profile_choice_in_bounded_range(charge: Charge) -> EntryPrice:
    """PCPL with the exponential mechanism: see `_profile`."""
    return _profile(charge, divisor=8)


def _profile(charge: Charge, divisor: int) -> EntryPrice:
    """PCPL is delta-approximate rho-zCDP with rho = (e1 + delta/(1-delta))^2/2 + e2^2/divisor.

    e1 (`bound_epsilon`) pays for the noisy least loss m~ and e2, the rest of epsilon, for the choice.

    Why: let E be the event that m~ is at most the larger of the two tables' true least losses. On each table E has chance
    at least 1-delta, by the choice of the shift. Given m~ in E the bound G holds between the two tables, so the choice
    is e2-DP, hence e2^2/2-zCDP, and e2^2/8-zCDP if it is the exponential mechanism's. E is the same event about m~ on
    both tables, so conditioning on it changes the e1-DP ratio of densities by P(E)/P'(E) <= 1/(1-delta) only: given E,
    m~ is (e1 - log(1-delta))-DP, and -log(1-delta) <= delta/(1-delta). The two steps compose, and E is thinned by an
    independent coin to a chance of exactly 1-delta on both tables. An entry without e1 is priced as `plain`.

    Source: ours. Tested: tests/claims/test_ledger_prices.py
    """
    whole, bound, delta = plain(charge), _number(charge, "bound_epsilon"), Fraction(charge.delta)
    if bound is None or not bound <= Fraction(charge.epsilon) or not delta < 1:
        return whole
    rho = (bound + delta / (1 - delta)) ** 2 / 2 + (Fraction(charge.epsilon) - bound) ** 2 / divisor
    return EntryPrice(
        whole.epsilon, whole.delta, min(whole.rho, _up(rho.numerator * RHO_UNIT, rho.denominator)), whole.delta
    )


@prices("gaussian")
def gaussian(charge: Charge) -> EntryPrice:
    """A Gaussian release is rho-zCDP with rho = sensitivity^2 / (2 sigma^2), which its entry states as `rho`.

    Its (epsilon, delta) is what its calibration states. An entry without rho is priced as `plain`.

    Source: Bun and Steinke, arXiv:1605.02065; for the discrete Gaussian Canonne, Kamath and Steinke, arXiv:2004.00010.
    Tested: tests/claims/test_ledger_prices.py
    """
    rho = _number(charge, "rho")
    if rho is None:
        return plain(charge)
    return EntryPrice(
        charge.epsilon_units, charge.delta_units, _up(rho.numerator * RHO_UNIT, rho.denominator), delta_beside=0
    )


@dataclass(frozen=True, slots=True)
class Total:
    """Public. The price of many entries together, in units, and the composition theorem that gives it."""

    epsilon: int
    delta: int
    method: str


def total_price(entries: Iterable[EntryPrice] | Counter[EntryPrice], delta: int) -> Total:
    """The least epsilon at which all entries together are (epsilon, delta')-DP with delta' <= delta.

    A *plan* puts some entries in a group Z and the others in N, and claims

        epsilon = sum over N of epsilon_i  +  c(sum over Z of rho_i, delta_z)
        delta'  = sum over N of delta_i  +  sum over Z of delta_beside_i  +  delta_z,

    c converting zCDP at delta_z. Z empty (then c = 0 and delta_z = 0) is basic composition. Tried are the plans
    Z = {i: rho_i <= t epsilon_i} for every t, with delta_z all that is left of delta. As c is a minimum of lines in rho,
    no other Z is better, unless entries trade one delta for the other. The least epsilon wins, basic composition if equal;
    if no plan keeps within delta, basic composition is returned. So the total never falls when an entry is added.

    Why each plan holds, for acts chosen adaptively, at prices settled beforehand: fix neighbouring tables. Every act's
    two output distributions, given what came before, are mixtures whose good parts have the same weight 1 - d_i (d_i =
    delta_i in N, see `plain`; delta_beside_i in Z, see `EntryPrice`) and are epsilon_i-indistinguishable in N and
    rho_i-zCDP in Z. So the transcripts are mixtures whose good parts P, Q have weight W = prod(1-d_i) >= 1 - sum d_i on
    both. Let L = L_N + L_Z be the privacy loss between P and Q, summed over the acts. Always L_N <= a, the sum of
    epsilon_i over N. And exp((alpha-1) L_Z) has a mean of at most exp((alpha-1) alpha rho) under P: given what came
    before, an act in Z multiplies it by at most exp((alpha-1) alpha rho_i) on average and an act in N by 1. So the excess
    E_P max(0, 1 - exp(a + c - L))  <=  E_P max(0, 1 - exp(c - L_Z))  is at most delta_z, because the conversion's proof
    uses those means alone. Hence P(S) <= exp(a+c) Q(S) + delta_z for every S, and for the whole
    (1-W) + W P(S)  <=  sum d_i + exp(a+c) W Q(S) + delta_z.

    Not covered: prices that are themselves chosen in view of earlier releases, where a plan with c wins; with basic
    composition they are covered (L <= a on every path). docs/LEDGER.md says what to do.

    Tested: tests/claims/test_ledger_prices.py, tests/release/ledger/test_accounting.py
    """
    kinds = [price.times(count) for price, count in Counter(entries).items()]  # entries are many, their kinds are few
    best = Total(sum(price.epsilon for price in kinds), sum(price.delta for price in kinds), "basic")
    for guessed, epsilon, rho, delta_z in sorted(_plans(kinds, best, delta)):
        room = best.epsilon - epsilon if best.delta <= delta else math.inf
        if not guessed - epsilon < room * (1 + 1e-6):
            break  # nor is any plan after it worth the milliseconds of its conversion
        converted = convert(rho, delta_z)
        if converted is not None and converted < room:
            best = Total(epsilon + converted, delta, "zCDP")
    return best


def _plans(entries: list[EntryPrice], basic: Total, delta: int) -> Iterator[tuple[float, int, int, int]]:
    """Each plan with a conversion: about its epsilon, the epsilon of N, the rho of Z, and delta_z."""
    epsilon, used, rho = basic.epsilon, basic.delta, 0
    for _, same in itertools.groupby(sorted(entries, key=_ratio), key=_ratio):
        for price in same:
            epsilon, rho = epsilon - price.epsilon, rho + price.rho
            used += price.delta_beside - price.delta
        if used < delta:
            yield epsilon + guess(rho, delta - used), epsilon, rho, delta - used


def _ratio(price: EntryPrice) -> Fraction | float:
    """What an act costs in Z for what it costs in N; the less, the sooner it belongs to Z."""
    return Fraction(price.rho, price.epsilon) if price.epsilon else math.inf if price.rho else 0.0


def _number(charge: Charge, name: str) -> Fraction | None:
    """A parameter that must be a non-negative number, exactly as it is written; None if it is not there."""
    assert name in PRICED_BY
    value = charge.parameters.get(name)
    if value is None:
        return None
    try:
        written = Decimal(repr(value) if isinstance(value, float) else str(value))
        small = written.is_finite() and abs(written.adjusted()) <= LARGEST_EXPONENT
        number = Fraction(written) if small or not written else Fraction(-1)
    except (ArithmeticError, ValueError):
        number = Fraction(-1)
    if not number >= 0:
        raise StudyError(f"{name} of a {charge.mechanism} charge must be a number >= 0, not {value!r}.")
    return number


def _up(numerator: int, denominator: int) -> int:
    """A quotient rounded up to a whole number."""
    return -(-numerator // denominator)


def guess(rho: int, delta: int) -> float:
    """About what `convert` will return, in units, a hundred times faster: it decides which plans are worth converting.

    The least over alpha > 1 of  rho alpha + (log(1/delta) + (alpha-1) log(1-1/alpha) - log alpha) / (alpha-1), found by
    golden section over log(alpha-1). No price rests on it.

    Source: Canonne, Kamath and Steinke, arXiv:2004.00010.
    Tested: tests/release/ledger/test_accounting.py
    """
    rate, need = rho / RHO_UNIT, math.log(DELTA_UNIT / delta)

    def epsilon(log_order: float) -> float:
        above = math.exp(log_order)  # alpha - 1
        order = 1 + above
        return rate * order + (need - math.log(order)) / above - math.log1p(1 / above)

    low, high, golden = -30.0, 60.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
    return max(0.0, epsilon((low + high) / 2)) * EPSILON_UNIT


@lru_cache(maxsize=4096)
def convert(rho: int, delta: int) -> int | None:
    """The epsilon, in units, at which a rho-zCDP mechanism is (epsilon, delta)-DP; None if it is out of OpenDP's reach.

    OpenDP converts what one of its measurements satisfies, so the measurement is a Gaussian of scale 1 whose input
    distance d has d^2/2 at least rho; that rho is read back from OpenDP and compared. Roundings: rho up, delta down,
    epsilon up.
    """
    gaussian, converted, failure = _gaussian()
    rate = math.nextafter(rho / RHO_UNIT, math.inf)
    distance = math.sqrt(2 * rate)
    while not gaussian.map(distance) >= rate:
        distance = math.nextafter(distance, math.inf)
    try:
        epsilon: float = converted.map(distance).epsilon(math.nextafter(delta / DELTA_UNIT, 0.0))
    except failure:
        return None
    if not 0 <= epsilon < math.inf:
        return None
    numerator, denominator = epsilon.as_integer_ratio()
    return -(-numerator * EPSILON_UNIT // denominator)


@lru_cache(maxsize=1)
def _gaussian() -> tuple[Any, Any, type[Exception]]:
    """OpenDP's Gaussian of scale 1, the same with its price converted, and the error that OpenDP raises."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=1.0)
    return gaussian, dp.c.make_zCDP_to_approxDP(gaussian), dp.OpenDPException
