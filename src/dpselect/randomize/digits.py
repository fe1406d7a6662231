"""Exact chance: random digits are drawn, and numbers enclosed between decimals, until what is asked of them is certain.

A chance such as exp(-2/3) has endlessly many digits. A number drawn evenly between 0 and 1 lies below it or above it, and as a
rule a few digits of both tell which: only where they do not are there more digits of both. No rounding is left in the answer.
All randomness comes from the operating system.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

DIGITS = 40
"""Of an enclosure at first; twice as many whenever they do not decide."""
BITS_A_DIGIT = 4
"""Random bits that are drawn for each of them: a digit is 3.3 bits."""

T = TypeVar("T")
Between = tuple[Decimal, Decimal]
"""A number, not negative, at least as large as the first and at most as large as the second."""
ZERO = Decimal(0)
NOTHING: Between = ZERO, ZERO
ONE: Between = Decimal(1), Decimal(1)


class Arithmetic:
    """Arithmetic to so many digits whose results enclose the true ones: lower ends are rounded down, upper ends up."""

    def __init__(self, digits: int) -> None:
        self.digits = digits
        # Without traps: what is too small for any exponent is between 0 and the smallest number.
        self.down, self.up = (
            Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
            for rounding in (ROUND_FLOOR, ROUND_CEILING)
        )

    def times(self, one: Between, other: Between) -> Between:
        """The product."""
        return self.down.multiply(one[0], other[0]), self.up.multiply(one[1], other[1])

    def scaled(self, one: Between, times: int, over: int = 1) -> Between:
        """A number times a whole number, over another."""
        if over == 1:
            return self.down.multiply(one[0], times), self.up.multiply(one[1], times)
        return (
            self.down.divide(self.down.multiply(one[0], times), over),
            self.up.divide(self.up.multiply(one[1], times), over),
        )

    def over(self, one: Between, other: Between) -> Between:
        """The quotient."""
        return self.down.divide(one[0], other[1]), self.up.divide(one[1], other[0])

    def sum(self, parts: Iterable[Between]) -> Between:
        """The sum."""
        low = high = ZERO
        for part in parts:
            low, high = self.down.add(low, part[0]), self.up.add(high, part[1])
        return low, high

    def less(self, one: Between, other: Between) -> Between:
        """The difference of a number and a smaller one."""
        return max(self.down.subtract(one[0], other[1]), ZERO), self.up.subtract(one[1], other[0])

    def exp(self, exponent: Fraction) -> Between:
        """E to that power. Python rounds it to the nearest decimal, so the neighbours of that enclose it."""
        top, bottom = Decimal(exponent.numerator), Decimal(exponent.denominator)
        low, high = self.down.exp(self.down.divide(top, bottom)), self.up.exp(self.up.divide(top, bottom))
        return max(self.down.next_minus(low), ZERO), self.up.next_plus(high)

    def minus_log(self, part: Between) -> Between:
        """-log of a number between 0 and 1."""
        low, high = self.down.ln(part[1]), self.up.ln(part[0])
        return max(self.up.next_plus(low).copy_negate(), ZERO), self.down.next_minus(high).copy_negate()


class Chance:
    """Private. A number drawn evenly between 0 and 1; its digits are drawn when they are asked for, and then stay."""

    def __init__(self, bits: int = 0, drawn: int = 0) -> None:
        self._bits, self._drawn = bits, drawn  # what is known of it already

    def between(self, arithmetic: Arithmetic) -> Between:
        """The number, as far as it is known."""
        if (more := BITS_A_DIGIT * arithmetic.digits - self._bits) > 0:
            self._bits, self._drawn = self._bits + more, self._drawn << more | secrets.randbits(more)
        whole = Decimal(1 << self._bits)
        return arithmetic.down.divide(self._drawn, whole), arithmetic.up.divide(self._drawn + 1, whole)


class Shares:
    """Private. Weights among which one is picked, in a fixed order."""

    def __init__(self, weights: Sequence[Between], arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._low = list(accumulate((low for low, _ in weights), arithmetic.down.add))
        self._high = list(accumulate((high for _, high in weights), arithmetic.up.add))

    @property
    def total(self) -> Between:
        """Of all weights."""
        return self._low[-1], self._high[-1]

    def holding(self, chance: Chance) -> int | None:
        """The weight in which that share of the total surely lies, if it surely lies in one."""
        low, high = self._arithmetic.times(chance.between(self._arithmetic), self.total)
        place = bisect_left(self._low, high)
        if place == len(self._low) or (place and self._high[place - 1] > low):
            return None
        return place


def certain(answer: Callable[[int], T | None]) -> T:
    """The answer of a question that is asked with more and more digits until there is one."""
    digits = DIGITS
    while (found := answer(digits)) is None:
        digits *= 2
    return found


def picked(shares: Callable[[int], Shares]) -> int:
    """A place with a chance in proportion to its weight; `shares` are the weights to so many digits."""
    chance = Chance()
    return certain(lambda digits: shares(digits).holding(chance))


def one_of(things: Sequence[T]) -> T:
    """One of several, each with the same chance."""
    return things[secrets.randbelow(len(things))] if len(things) > 1 else things[0]


def some_of(things: Sequence[T], count: int) -> list[T]:
    """So many of them, each set of so many with the same chance."""
    left = list(things)
    for place in range(count):
        other = place + secrets.randbelow(len(left) - place)
        left[place], left[other] = left[other], left[place]
    return left[:count]
