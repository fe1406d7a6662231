"""Private. Confidential: the exact chance of every model, term and direction where a wide table has a second look.

Candidates of a class (`penalize.second_look`) all have the same chance: that of `chances.scores` for listed candidates, in which a
class of N counts N times.
"""

from __future__ import annotations

from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.recipe import Mechanism
from dpselect.penalize.second_look import ALIVE, DEAD, LAST, WRONG, LookedMargins, Model
from dpselect.rehearse.chances.edges import class_chances

Floats = NDArray[np.float64]


class LookedChances:
    """Private. What a choice with a second look would give, for one random split of the rows; right to about 1e-9."""

    def __init__(self, margins: LookedMargins, epsilon: float, mechanism: Mechanism = "permute-and-flip") -> None:
        self.margins = margins
        self._each, self._mass = class_chances(margins, epsilon, mechanism)

    def __repr__(self) -> str:
        return "LookedChances(values=<private>)"

    @cached_property
    def _alive(self) -> dict[Model, float]:
        """The chance of every model that is alive, its own directions or none."""
        own = self.margins.classes.kinds == ALIVE
        return dict(zip(self.margins.standing.models, self._each[own].tolist(), strict=True))

    @cached_property
    def _of_class(self) -> dict[tuple[int, ...], float]:
        """The chance of one candidate of every other class, by its kind, what it stands for and its terms."""
        classes = self.margins.classes
        keys = zip(*(each.tolist() for each in (classes.kinds, classes.which, classes.sizes)), strict=True)
        return dict(zip(keys, self._each.tolist(), strict=True))

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place of each term in the order of their leads."""
        return {term: place for place, term in enumerate(self.margins.order.tolist())}

    def chance_of(self, mask: int) -> float:
        """The chance of one model, by its mask, whichever the directions."""
        rule = self.margins.candidates
        assert isinstance(rule, SubsetRule)
        if mask & ~sum(rule.terms) != rule.always:
            return 0.0
        model = tuple(term for term, own in enumerate(rule.terms) if mask & own)
        if any(mask & rule.terms[term] != rule.terms[term] for term in model):
            return 0.0
        wrong: float = (2 ** len(model) - 1) * self._of_class.get((WRONG, 0, len(model)), 0.0)
        if model in self._alive:
            return self._alive[model] + wrong
        last = max(self._places[term] for term in model)
        inner = last < len(self.margins.standing.leaders)
        return wrong + self._of_class.get((DEAD, 0, len(model)) if inner else (LAST, last, len(model)), 0.0)

    def listed(self) -> Floats:
        """The chance of every candidate, in the order of the candidates."""
        return np.array([self.chance_of(mask) for mask in self.margins.candidates])

    def leading(self, most: int) -> list[tuple[int, float]]:
        """The likeliest models as masks, with their chances: of those that are alive, and of one term each."""
        margins = self.margins
        models = [*margins.standing.models, *((term,) for term in margins.order[:most].tolist())]
        masks = dict.fromkeys(self._mask(model) for model in models)
        found = [(mask, self.chance_of(mask)) for mask in masks]
        return sorted(found, key=lambda each: -each[1])[:most]

    def _mask(self, model: Model) -> int:
        return self.margins.common | sum(self.margins.masks[term] for term in model)

    @cached_property
    def _right(self) -> Floats:
        """The chance of every term, in the direction in which it leads."""
        margins, classes = self.margins, self.margins.classes
        standing, terms = margins.standing, len(margins.terms)
        found, inner = np.zeros(terms), list(standing.leaders)
        for model, chance in self._alive.items():
            found[list(model)] += chance
        for place in np.flatnonzero(classes.kinds == DEAD).tolist():
            size = int(classes.sizes[place])
            alive = np.zeros(terms)
            for model in standing.models:
                if len(model) == size:
                    alive[list(model)] += 1
            found[inner] += self._each[place] * (comb(len(inner) - 1, size - 1) - alive[inner])
        own = classes.kinds == LAST
        last, mass, others = classes.which[own], self._mass[own], classes.sizes[own] - 1
        in_order = np.bincount(last, weights=mass, minlength=terms)
        # The other terms of such a model are any of those before its last.
        shares = np.bincount(last, weights=mass * others / np.maximum(last, 1), minlength=terms)
        in_order += shares.sum() - np.cumsum(shares)
        found[margins.order] += in_order
        return found

    @cached_property
    def _wrong(self) -> tuple[float, float]:
        """The chances of any one term to be in beside a wrong direction: in its own one, and in the other."""
        classes, terms, right, wrong = self.margins.classes, len(self.margins.terms), 0.0, 0.0
        for place in np.flatnonzero(classes.kinds == WRONG).tolist():
            size, each = int(classes.sizes[place]), float(self._each[place])
            models = comb(terms - 1, size - 1)
            right += each * models * (2 ** (size - 1) - 1)
            wrong += each * models * 2 ** (size - 1)
        return right, wrong

    @cached_property
    def inclusion(self) -> Floats:
        """The chance of every term of the rule."""
        return self._right + sum(self._wrong)

    @cached_property
    def directions(self) -> Floats:
        """The chances of every column to be told to go up, and those to be told to go down."""
        margins = self.margins
        found = np.zeros((2, margins.candidates.width))
        if not margins.directions:
            return found
        right, wrong = self._wrong
        for term, (own,) in enumerate(margins.terms):
            down = int(margins.signs[term] < 0)
            found[down, own] = self._right[term] + right
            found[1 - down, own] = wrong
        return found
