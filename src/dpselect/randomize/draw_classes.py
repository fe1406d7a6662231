"""The private choice among classes of equal scores, of edge votes and where a wide table has a second look, drawn exactly.

Permute-and-flip is the largest of all scores with exponential noise added (Ding et al. 2021), and the exponential mechanism the
largest with Gumbel noise. Of N candidates with the same score only the largest noise can win, and each of them has it with the
same chance; it is -log(1 - U^(1/N)), or log N - log(-log U), with an even U between 0 and 1. So one number is drawn for each class,
however many candidates it has, and then one of them. Models of a dozen of thousands of terms are far too many to be listed; but all
that a second look leaves behind are of some thousand classes (`penalize.second_look`).

Nothing is rounded. 64 binary digits of every U enclose every class's noisy score between two doubles, wider than any error of the
arithmetic; as a rule one class is then surely ahead. Where it is not, those that may be ahead get more digits, in decimals that
enclose the true values (`randomize.digits`), until one is. All randomness comes from the operating system.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.recipe import Mechanism
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.second_look import ALIVE, DEAD, LAST, WRONG, LookedMargins, Model
from dpselect.randomize.digits import ONE, Arithmetic, Between, Chance, certain, some_of

Floats = NDArray[np.float64]

WORD_BITS = 64
ENCLOSURE_SLACK = 1e-10
"""Share of a number, and of one, by which enclosures in doubles are wider than they would have to be without rounding.

All of the operations below lose less than 2^-45 (3e-14) together, if the library's log, log1p and expm1 are right to 16 units in
the last place; they are right to one or two.
"""


SCORE_UNIT = 2**20
"""Scores are whole multiples of one over this: leads are whole numbers, and the price of a term is rounded to it."""


def draw_edge_candidate(
    margins: EdgeMargins, epsilon: Fraction, mechanism: Mechanism = "permute-and-flip"
) -> tuple[int, dict[int, int]]:
    """A candidate drawn at a pure price of epsilon, exactly: its columns as a mask, and of some of them 1 for up or -1 for down.

    Formal guarantee: as of `draw_class`, among all candidates; so on neighbouring tables the chances of any outcome differ by a
    factor of at most exp(epsilon).

    Tested: tests/randomize/test_draw_classes.py
    """
    classes, drawn = margins.classes, draw_priced_class(margins, epsilon, mechanism)
    model = int(classes.models[drawn])
    signs = _directions(margins, model, int(classes.margins[drawn])) if margins.directions else {}
    return margins.mask(model), signs


def _directions(margins: EdgeMargins, model: int, level: int) -> dict[int, int]:
    """The directions of one of the candidates of a model whose score is just this, each with the same chance."""
    terms = margins.terms_of(model)
    options = [each.tolist() for each in margins.options(model)]
    reach = [sum(value >= level for value in each) for each in options]
    above = [sum(value > level for value in each) for each in options]
    met, signs = False, {}
    for place, (term, values) in enumerate(zip(terms, options, strict=True)):
        rest, beyond = prod(reach[place + 1 :]), prod(above[place + 1 :])
        # After an option that is worth just the level all others may follow that reach it; after a better one, not if all are.
        ways = [0 if value < level else rest if met or value == level else rest - beyond for value in values]
        at, taken = secrets.randbelow(sum(ways)), 0
        while at >= ways[taken]:
            at, taken = at - ways[taken], taken + 1
        met |= values[taken] == level
        if len(values) > 1:  # else no direction is told
            signs[term[taken % len(term)]] = 1 if taken < len(term) else -1
    return signs


def draw_looked_candidate(
    margins: LookedMargins, epsilon: Fraction, mechanism: Mechanism = "permute-and-flip"
) -> tuple[int, dict[int, int]]:
    """A candidate drawn at a pure price of epsilon, exactly: its columns as a mask, and with directions 1 for up or -1 for down.

    Formal guarantee: as of `draw_class`, among all candidates; so on neighbouring tables the chances of any outcome differ by a
    factor of at most exp(epsilon).

    Tested: tests/randomize/test_draw_second_look.py
    """
    classes, drawn = margins.classes, draw_priced_class(margins, epsilon, mechanism)
    kind, which, size = (int(each[drawn]) for each in (classes.kinds, classes.which, classes.sizes))
    model = _one_of(margins, kind, which, size)
    mask = margins.common | sum(margins.masks[term] for term in model)
    if not margins.directions:
        return mask, {}
    signs = margins.signs[list(model)].tolist()
    if kind == WRONG:
        turned = 1 + secrets.randbelow(2**size - 1)  # any of them, but not none
        signs = [-sign if turned >> place & 1 else sign for place, sign in enumerate(signs)]
    return mask, {margins.terms[term][0]: sign for term, sign in zip(model, signs, strict=True)}


def _one_of(margins: LookedMargins, kind: int, which: int, size: int) -> Model:
    """One of the models of a class, each with the same chance."""
    standing, order = margins.standing, margins.order
    if kind == ALIVE:
        return list(standing.models)[which]
    if kind == LAST:
        return (int(order[which]), *some_of(order[:which].tolist(), size - 1))
    if kind == WRONG:
        return tuple(some_of(range(len(margins.terms)), size))
    assert kind == DEAD
    while (model := tuple(sorted(some_of(standing.leaders, size)))) in standing.models:
        pass
    return model


def draw_priced_class(margins: EdgeMargins | LookedMargins, epsilon: Fraction, mechanism: Mechanism) -> int:
    """As `draw_class`, at a price of epsilon, where a score is a margin less `step` for each term."""
    classes, price = margins.classes, int(margins.step * SCORE_UNIT)
    assert price == margins.step * SCORE_UNIT
    values = classes.margins * SCORE_UNIT - price * classes.sizes
    return draw_class(values, classes.counts, epsilon / Fraction(margins.range) / SCORE_UNIT, mechanism)


def draw_class(
    values: NDArray[np.int64], counts: Sequence[int], rate: Fraction, mechanism: Mechanism = "permute-and-flip"
) -> int:
    """The class of the private maximum; each of its candidates is it with the same chance.

    `values` are the scores of the candidates of each class, high is good, `counts` how many each has, and `rate` is epsilon over
    the range of the scores' change. Formal guarantee: a candidate of class i is chosen with the chance that permute-and-flip (or
    the exponential mechanism) gives it among all candidates of all classes, exactly.

    Tested: tests/randomize/test_draw_classes.py
    """
    words = np.frombuffer(os.urandom(8 * len(values)), dtype=np.uint64)
    behind = values.max() - values
    low, high = (each - behind * float(rate) for each in _noise(words, np.array(counts, dtype=np.float64), mechanism))
    wider = ENCLOSURE_SLACK * (1 + behind * float(rate))
    ahead = np.flatnonzero(high + wider >= (low - wider).max())
    if ahead.size == 1:
        return int(ahead[0])
    chances = [Chance(WORD_BITS, int(words[place])) for place in ahead.tolist()]
    return int(ahead[certain(lambda digits: _ahead(ahead, behind, counts, chances, rate, mechanism, digits))])


def _noise(words: NDArray[np.uint64], counts: Floats, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """What encloses the noise of each class where its U has these 64 digits, and then others."""
    low, high = (_minus_log(words, more) for more in (1, 0))  # of the upper end of U, and of the lower
    largest = _LARGEST_NOISE[mechanism]
    with np.errstate(all="ignore"):
        ends = largest(high, counts), largest(low, counts)
    wider = ENCLOSURE_SLACK * (1 + np.abs(ends[0])), ENCLOSURE_SLACK * (1 + np.abs(ends[1]))
    return ends[0] - wider[0], ends[1] + wider[1]


_LARGEST_NOISE: dict[Mechanism, Callable[[Floats, Floats], Floats]] = {
    "permute-and-flip": lambda logs, counts: -np.log(-np.expm1(-logs / counts)),
    "exponential": lambda logs, counts: np.log(counts) - np.log(logs),
}
"""The largest noise of so many candidates, of -log U."""


def _minus_log(words: NDArray[np.uint64], more: int) -> Floats:
    """-log of (word + more) / 2^64, right in all digits near 0 and near 1."""
    unit = 2.0**-WORD_BITS
    with np.errstate(all="ignore"):
        small = -np.log((words.astype(np.float64) + more) * unit)
        # What is missing from 2^64, as a whole number: ~word is 2^64 - 1 - word.
        large = -np.log1p(-((~words).astype(np.float64) + (1 - more)) * unit)
    return np.where(words < np.uint64(2 ** (WORD_BITS - 1)), small, large)


def _ahead(
    places: NDArray[np.intp],
    behind: NDArray[np.int64],
    counts: Sequence[int],
    chances: list[Chance],
    rate: Fraction,
    mechanism: Mechanism,
    digits: int,
) -> int | None:
    """Which of some classes is surely ahead to so many digits, if one is."""
    arithmetic = Arithmetic(digits)
    last = max(behind[places].tolist())
    found = []
    for place, chance in zip(places.tolist(), chances, strict=True):
        head = rate * (last - int(behind[place]))
        low, high = _exact_noise(chance.between(arithmetic), counts[place], mechanism, arithmetic)
        ends = Decimal(head.numerator), Decimal(head.denominator)
        found.append(
            (
                arithmetic.down.add(low, arithmetic.down.divide(*ends)),
                arithmetic.up.add(high, arithmetic.up.divide(*ends)),
            )
        )
    first = max(range(len(found)), key=lambda each: found[each][0])
    others = (high for each, (_, high) in enumerate(found) if each != first)
    return first if all(high < found[first][0] for high in others) else None


def _exact_noise(chance: Between, count: int, mechanism: Mechanism, arithmetic: Arithmetic) -> Between:
    """The noise of a class, enclosed."""
    part = arithmetic.scaled(arithmetic.minus_log(chance), 1, count)
    return _EXACT_NOISE[mechanism](part, arithmetic)


def _exact_gumbel(part: Between, arithmetic: Arithmetic) -> Between:
    """log(count) - log(-log U) = -log(-log(U)/count), of a number that may be above 1: the noise may be negative."""
    low, high = arithmetic.up.ln(part[1]), arithmetic.down.ln(part[0])
    return arithmetic.up.next_plus(low).copy_negate(), arithmetic.down.next_minus(high).copy_negate()


def _exact_exponential(part: Between, arithmetic: Arithmetic) -> Between:
    """-log(1 - U^(1/count))."""
    low, high = arithmetic.down.exp(part[1].copy_negate()), arithmetic.up.exp(part[0].copy_negate())
    root = max(arithmetic.down.next_minus(low), Decimal(0)), min(arithmetic.up.next_plus(high), Decimal(1))
    return arithmetic.minus_log(arithmetic.less(ONE, root))


_EXACT_NOISE: dict[Mechanism, Callable[[Between, Arithmetic], Between]] = {
    "permute-and-flip": _exact_exponential,
    "exponential": _exact_gumbel,
}
