"""Public. Prices as exact decimals, what they promise to whom, and how they are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import reduce
from typing import Literal

from msgspec.structs import force_setattr

from dpselect.assume.records import Public
from dpselect.assume.variables import check_choice
from dpselect.errors import StudyError

Neighbors = Literal["replace-one", "add-remove-one"]
NEIGHBORS: tuple[Neighbors, ...] = ("replace-one", "add-remove-one")


def check_neighbors(neighbors: object) -> None:
    """Refuse a relation that no lemma covers."""
    check_choice("neighbors", neighbors, NEIGHBORS)


Price = Decimal | float | int | str
EPSILON_DIGITS, DELTA_DIGITS = 12, 18
"""Decimals that a ledger counts: its units of account are 1e-12 for epsilon and 1e-18 for delta."""

MOST_DIGITS = 40
"""A price has no more digits than this, so that its parts and sums are exact in `EXACT`."""

DEFAULT_DELTA = "1e-6"
"""Of an analysis whose delta nobody states: coefficients by rounds have Gaussian noise, which needs one."""

EXACT = Context(prec=200)
"""Python's own context rounds, to nearest and to a precision that any program may change: a price it touched could grow."""

_TWELVE_DIGITS = Context(prec=12, rounding=ROUND_DOWN)


def exact_decimal(value: Price, what: str) -> Decimal:
    """The decimal that a person wrote: 0.1 is one tenth, not the nearest double."""
    try:
        written = str(value)
        # Python also reads 1_0, and the digits of other scripts: nobody means to pay ten so.
        if "_" in written or not written.isascii():
            raise InvalidOperation
        decimal = value if isinstance(value, Decimal) else Decimal(written)
    except InvalidOperation:
        raise StudyError(f"{what} is {value!r}; it must be a number.") from None
    except ValueError:  # Python writes no whole number of thousands of digits
        raise StudyError(f"{what} has more than {MOST_DIGITS} digits; round it.") from None
    if not decimal.is_finite():
        raise StudyError(f"{what} is {value}; it must be a finite number.")
    if len(decimal.as_tuple().digits) > MOST_DIGITS:
        raise StudyError(f"{what} has more than {MOST_DIGITS} digits; round it.")
    return decimal


def exact_epsilon(value: Price, what: str = "epsilon") -> Decimal:
    """A positive exact epsilon."""
    epsilon = exact_decimal(value, what)
    if not Decimal("1e-9") <= epsilon <= Decimal("1e9"):
        if not epsilon > 0:
            raise StudyError(f"{what} is {value}. Give a number above 0: 1 is strong privacy, 3 moderate.")
        raise StudyError(f"{what} is {value}; it must be between 1e-9 and 1e9. 1 is strong privacy, 3 moderate.")
    return epsilon


def exact_delta(value: Price, what: str = "delta", *, positive: bool = False) -> Decimal:
    """An exact delta in [0, 1/2), or in (0, 1/2) where one is needed."""
    delta = exact_decimal(value, what)
    if not 0 <= delta < Decimal("0.5") or (positive and not delta >= Decimal("1e-100")):
        allowed = "above 0 and below 0.5" if positive else "at least 0 and below 0.5"
        raise StudyError(f"{what} is {value}; it must be {allowed} (1e-6 is usual).")
    return delta


def float_below(value: Decimal) -> float:
    """The nearest double that does not exceed the decimal: what a sampler may spend."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > Fraction(value) else nearest


def plain(value: Decimal) -> str:
    """The decimal as people write it: 1, 0.5, 1e-06."""
    normal = value.normalize(EXACT)
    return f"{normal:f}" if -5 < normal.adjusted() < 12 else f"{normal:e}"


def about(value: Decimal, rounding: str = ROUND_DOWN) -> str:
    """The same in four digits, for eyes: what is left is rounded down, so that it is never shown as more than it is."""
    return plain(Context(prec=4, rounding=rounding).plus(value))


class Guarantee(Public, frozen=True, kw_only=True):
    """What was promised: (epsilon, delta)-differential privacy for tables that are neighbours.

    Formal guarantee: for all neighbouring tables D, D' and every set A of outcomes,
    P(outcome of D in A) <= exp(epsilon) P(outcome of D' in A) + delta.

    Attributes
    ----------
    epsilon, delta : Decimal
        The two numbers of the promise, exact.
    neighbors : "replace-one" or "add-remove-one"
        Which tables are neighbours: those that differ in the values of one row, or in whether it is there.
    """

    epsilon: Decimal
    delta: Decimal
    neighbors: Neighbors

    def __post_init__(self) -> None:
        force_setattr(self, "epsilon", exact_epsilon(self.epsilon))
        force_setattr(self, "delta", exact_delta(self.delta))
        check_neighbors(self.neighbors)

    def __str__(self) -> str:
        price = f"epsilon={plain(self.epsilon)}" + (f", delta={plain(self.delta)}" if self.delta else "")
        return f"{price}, {self.neighbors}"


@dataclass(frozen=True, slots=True)
class Budget:
    """Public. A whole price, and how it is divided.

    Parameters
    ----------
    epsilon : number or str
        As a person writes it: 0.1 is one tenth, not the nearest double.
    delta : number or str, optional
        The same; 0 for pure epsilon.

    Examples
    --------
    >>> [str(part.epsilon) for part in Budget(1).split(3, 1)]
    ['0.75', '0.25']
    """

    epsilon: Decimal
    delta: Decimal

    def __init__(self, epsilon: Price, delta: Price = 0) -> None:
        """A price as a person writes it, made exact."""
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        object.__setattr__(self, "delta", exact_delta(delta))

    def split(self, *shares: Price, delta: Sequence[Price] | None = None) -> tuple[Budget, ...]:
        """Parts in proportion to `shares`, adding up to the whole exactly; delta by shares of its own where they are given.

        Parameters
        ----------
        *shares : number or str
            The parts, in proportion; each above 0.
        delta : sequence of number or str, optional
            The same for delta, where a share may be 0 for a part that needs none.

        Returns
        -------
        tuple of Budget
        """
        weights = [exact_decimal(share, "A share of the budget") for share in shares]
        if not (len(weights) > 0 and all(weight > 0 for weight in weights)):
            raise StudyError("The shares of a budget must be positive numbers.")
        slack = weights if delta is None else [exact_decimal(share, "A share of delta") for share in delta]
        if not (len(slack) == len(weights) and all(weight >= 0 for weight in slack) and any(slack)):
            raise StudyError("The shares of delta must be as many as those of epsilon, none below 0 and one above.")
        parts = zip(
            _divided(self.epsilon, weights, EPSILON_DIGITS), _divided(self.delta, slack, DELTA_DIGITS), strict=True
        )
        return tuple(Budget(*part) for part in parts)


def _divided(whole: Decimal, weights: Sequence[Decimal], digits: int) -> list[Decimal]:
    """Whole units of account, rounded down, and the rest to the last part that has a share: so the charges add up to the whole too.

    A part of less than a unit keeps twelve digits: it is charged as one unit in any case.
    """
    total, unit = reduce(EXACT.add, weights), Decimal((0, (1,), -digits))
    parts = []
    for weight in weights:
        product = EXACT.multiply(whole, weight)
        cut = EXACT.divide(product, total).quantize(unit, ROUND_DOWN, EXACT)
        parts.append((cut or _TWELVE_DIGITS.divide(product, total)).normalize(EXACT))
    last = max(place for place, weight in enumerate(weights) if weight)
    parts[last] = reduce(EXACT.subtract, parts[:last], whole)
    return parts


ENOUGH = 300
"""Votes are nearly always right where rows times epsilon is so many times .69 columns + 1 (docs/ESTIMATES.md)."""

MAX_VOTES_PERCENT, MIN_VOTES_PERCENT = 35, 15
"""Hundredths of epsilon for a choice by votes: more helps it little and costs the coefficients much; less saves them little."""


def split_for_votes(rows: int | None, columns: int, epsilon: Price) -> tuple[int, int]:
    """Shares of epsilon for a choice by votes and for the coefficients: what makes votes nearly certain, at most 35 hundredths.

    `rows` is a public number, or None where there is none.
    """
    if rows is None or rows < 1:
        return (MAX_VOTES_PERCENT, 100 - MAX_VOTES_PERCENT)
    needed = 100 * ENOUGH * (0.69 * columns + 1) / (rows * float(exact_epsilon(epsilon)))
    share = min(max(round(needed), MIN_VOTES_PERCENT), MAX_VOTES_PERCENT)
    return (share, 100 - share)


def split_for_scores(rows: int | None, columns: int, epsilon: Price) -> tuple[int, int]:
    """The same for the scores of the paper, which need three fifths for the choice."""
    return (3, 2)
