"""The private choice where a wide table has a second look: a class of equal candidates, then one of them, drawn exactly.

Models of up to a dozen of thousands of terms are far too many to be listed; but all that are not alive are of some thousand classes
of one score (`penalize.second_look`), of which all candidates are as likely.
"""

from __future__ import annotations

import secrets
from fractions import Fraction

from dpselect.assume.recipe import Mechanism
from dpselect.penalize.second_look import ALIVE, DEAD, LAST, WRONG, LookedMargins, Model
from dpselect.randomize.digits import some_of
from dpselect.randomize.draw_edges import draw_priced_class


def draw_looked_candidate(
    margins: LookedMargins, epsilon: Fraction, mechanism: Mechanism = "permute-and-flip"
) -> tuple[int, dict[int, int]]:
    """A candidate drawn at a pure price of epsilon, exactly: its columns as a mask, and with directions 1 for up or -1 for down.

    Formal guarantee: as of `draw_class`, among all candidates; so on neighbouring tables the chances of any outcome differ by a
    factor of at most exp(epsilon).

    Tested: tests/randomize/test_draw_second_look.py
    """
    classes = margins.classes
    drawn = draw_priced_class(classes, margins.step, epsilon / Fraction(margins.range), mechanism)
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
