"""The exponential mechanism over more sets of terms than can be listed: drawn exactly, from weights by level and size.

Sort the free terms by how far their agreement A lies from the threshold t: h_1 <= h_2 <= ... Let M* be the set {A > t}. Its
score is h_1; a set whose farthest wrong term is the i-th has the score -h_i, whatever the nearer ones are. So all sets of one
level and size weigh the same, and there are as many as there are ways to pick the nearer terms: whole numbers times powers of
e, which are enclosed between decimals as narrow as a draw needs. Bits of the operating system's randomness are drawn until the
interval that they leave lies within one class; then a set of that class is picked evenly, by whole numbers alone.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from dpselect.assume.models.candidates import SubsetRule
from dpselect.penalize.margins import Margins

Counts = dict[tuple[int, int], int]
"""How many sets of some terms have so many terms and so many columns."""

DIGITS = 40
BITS = 128


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Class:
    """Private. Sets that weigh the same: of level `level`, with `terms` of the nearer terms that fill `columns` columns."""

    level: int
    terms: int
    columns: int
    count: int
    margin: int
    size: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Levels:
    """Private. All candidates of a rule, in classes; `order` are the terms from the nearest to the farthest."""

    order: tuple[int, ...]
    star: tuple[bool, ...]
    widths: tuple[int, ...]
    nearer: tuple[Counts, ...]
    classes: tuple[Class, ...]

    def __repr__(self) -> str:
        return "Levels(values=<private>)"


def levels_of(margins: Margins) -> Levels:
    """The classes of all candidates, none of them listed."""
    rule = margins.candidates
    assert isinstance(rule, SubsetRule)
    distance = np.abs(margins.agreement - margins.threshold)
    order = tuple(map(int, np.argsort(distance, kind="stable")))
    star = tuple(bool(margins.agreement[j] > margins.threshold) for j in order)
    # Columns are told apart only where they are limited.
    limited = rule.max_size is not None
    widths = tuple(rule.terms[j].bit_count() if limited else 0 for j in order)
    nearer: list[Counts] = [{(0, 0): 1}]
    for width in widths:
        nearer.append(_with_one_more(nearer[-1], width, rule.room))
    heights = [int(distance[j]) for j in order]
    classes = _classes(heights, star, widths, nearer, rule)
    return Levels(order, star, widths, tuple(nearer), tuple(classes))


def _with_one_more(counts: Counts, width: int, room: int) -> Counts:
    grown = dict(counts)
    for (terms, columns), count in counts.items():
        if columns + width <= room:
            key = terms + 1, columns + width
            grown[key] = grown.get(key, 0) + count
    return grown


def _classes(
    heights: list[int], star: tuple[bool, ...], widths: tuple[int, ...], nearer: list[Counts], rule: SubsetRule
) -> list[Class]:
    """Level 0 is M*; at level i the i-th nearest term is wrong, all farther ones are right, the nearer ones are anything."""
    found = []
    # Of the terms from the i-th on: how many are rightly in, and their columns.
    right = [(0, 0)]
    for inside, width in zip(reversed(star), reversed(widths), strict=True):
        terms, columns = right[-1]
        right.append((terms + inside, columns + inside * width))
    right.reverse()
    if right[0][1] <= rule.room:
        found.append(Class(0, 0, 0, 1, heights[0] if heights else 0, right[0][0]))
    for i, (height, inside) in enumerate(zip(heights, star, strict=True)):
        wrong = int(not inside)
        fixed, filled = right[i + 1][0] + wrong, right[i + 1][1] + wrong * widths[i]
        for (terms, columns), count in nearer[i].items():
            if filled + columns <= rule.room:
                found.append(Class(i + 1, terms, columns, count, -height, fixed + terms))
    return _without_empty(found) if rule.skipped else found


def _without_empty(classes: list[Class]) -> list[Class]:
    """The empty model is one of the sets of size 0, and the only one."""
    return [each for each in classes if each.size > 0]


def draw_set(margins: Margins, epsilon: Fraction) -> int:
    """A candidate as a mask, by the exponential mechanism at a pure price of epsilon, exactly.

    Formal guarantee: M is drawn with a chance in proportion to exp(-epsilon score(M) / range), score as in `Margins.scores`, so
    on neighbouring tables the chances differ by a factor of at most exp(epsilon); no number was rounded on the way.

    Tested: tests/randomize/test_levels.py
    """
    levels = levels_of(margins)
    rate = epsilon / Fraction(margins.range)
    picked = levels.classes[_draw_class(levels.classes, rate, margins.step)]
    chosen = _pick(levels, picked)
    rule = margins.candidates
    assert isinstance(rule, SubsetRule)
    mask = rule.always
    for place in chosen:
        mask |= rule.terms[levels.order[place]]
    return mask


def _draw_class(classes: tuple[Class, ...], rate: Fraction, step: Fraction) -> int:
    """The place of a class, with a chance in proportion to count * exp(rate (margin - step size))."""
    digits, bits, drawn = DIGITS, 0, 0
    while True:
        bits, drawn = bits + BITS, drawn << BITS | secrets.randbits(BITS)
        low, high = _enclosed(classes, rate, step, digits)
        place = _decided(low, high, drawn, bits)
        if place is not None:
            return place
        digits *= 2


def _enclosed(classes: tuple[Class, ...], rate: Fraction, step: Fraction, digits: int) -> tuple[list[int], list[int]]:
    """Whole numbers just below and just above every weight, all times one and the same factor."""
    top = max(rate * (each.margin - step * each.size) for each in classes)
    power = Context(prec=digits + 30)
    unit = 10**digits
    low, high = [], []
    for each in classes:
        exponent = rate * (each.margin - step * each.size) - top
        # Division and exp round in the last of so many digits; an exponent beyond a million has weight 0 in all of them.
        decimal = power.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        weight = int(power.multiply(power.exp(decimal), Decimal(unit))) if exponent > -(10**6) else 0
        low.append(max(weight - 1, 0) * each.count)
        high.append((weight + 2) * each.count)
    return low, high


def _decided(low: list[int], high: list[int], drawn: int, bits: int) -> int | None:
    """The class in which a number between drawn/2^bits and (drawn+1)/2^bits of the total surely lies, if one does."""
    least, most = drawn * sum(low), (drawn + 1) * sum(high)
    below_low = below_high = 0
    for place, (one_low, one_high) in enumerate(zip(low, high, strict=True)):
        if below_high << bits <= least and most <= (below_low + one_low) << bits:
            return place
        below_low, below_high = below_low + one_low, below_high + one_high
    return None


def _pick(levels: Levels, picked: Class) -> list[int]:
    """A set of the class, each with the same chance: the nearer terms one by one, by the number of ways to go on."""
    if picked.level == 0:
        return [place for place, inside in enumerate(levels.star) if inside]
    chosen = [place for place in range(picked.level, len(levels.star)) if levels.star[place]]
    if not levels.star[picked.level - 1]:
        chosen.append(picked.level - 1)
    terms, columns = picked.terms, picked.columns
    for place in range(picked.level - 2, -1, -1):
        without = levels.nearer[place].get((terms, columns), 0)
        ways = levels.nearer[place + 1][terms, columns]
        if secrets.randbelow(ways) >= without:
            chosen.append(place)
            terms, columns = terms - 1, columns - levels.widths[place]
    return chosen
