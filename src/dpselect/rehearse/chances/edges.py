"""Private. Confidential: the exact chance of every model, term and direction in a selection by edge votes.

Candidates of one model with the same score are one class (`penalize.edges`), and all of a class have the same chance: that of
`chances.scores` for listed candidates, in which a class of N counts N times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.recipe import Mechanism
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.second_look import LookedMargins
from dpselect.rehearse.chances.scores import require_votes_law, survival_integrals

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-12
"""The chance of a model whose directions are not worth their time."""


SHARE: dict[Mechanism, Callable[[Floats, Floats], Floats]] = {
    "permute-and-flip": survival_integrals,
    "exponential": lambda weights, counts: 1 / (counts @ weights),
}
"""By how much a candidate's weight becomes its chance."""


def class_chances(margins: EdgeMargins | LookedMargins, epsilon: float, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """The chance of one candidate of each class, and that of the whole class."""
    require_votes_law(mechanism)
    classes = margins.classes
    nets = classes.margins - float(margins.step) * classes.sizes
    weights = np.exp(epsilon / margins.range * (nets - nets.max()))
    counts = np.array(classes.counts, dtype=np.float64)
    each = weights * SHARE[mechanism](weights, counts)
    return each, each * counts


class EdgeChances:
    """Private. What a choice by edge votes would give, for one random split of the rows; right to about 1e-9."""

    def __init__(self, margins: EdgeMargins, epsilon: float, mechanism: Mechanism = "permute-and-flip") -> None:
        self.margins = margins
        self._each, whole = class_chances(margins, epsilon, mechanism)
        self._models = np.bincount(margins.classes.models, weights=whole, minlength=len(margins.models))

    def __repr__(self) -> str:
        return "EdgeChances(values=<private>)"

    @cached_property
    def by_model(self) -> dict[int, float]:
        """The chance of every model that competes, by its mask, whichever the directions."""
        return dict(zip(self.margins.masks, self._models.tolist(), strict=True))

    def chance_of(self, mask: int) -> float:
        """The chance of one model."""
        return self.by_model.get(mask, 0.0)

    def listed(self) -> Floats:
        """The chance of every candidate, in the order of the candidates; 0 of those with more terms than may be chosen."""
        if self.margins.candidates.width <= 64:
            masks = self.margins.candidates.masks().tolist()
        else:
            masks = list(self.margins.candidates)
        return np.array([self.chance_of(mask) for mask in masks])

    def leading(self, most: int) -> list[tuple[int, float]]:
        """The likeliest models as masks, with their chances."""
        return sorted(self.by_model.items(), key=lambda each: -each[1])[:most]

    @cached_property
    def inclusion(self) -> Floats:
        """The chance of every term that is voted on."""
        sets = self.margins.leads.sets[self.margins.models]
        return np.array([self._models[(sets >> term & 1) == 1].sum() for term in range(len(self.margins.leads.terms))])

    def simulate(self, rng: np.random.Generator, count: int) -> list[int]:
        """Models drawn from these chances, as masks, spread evenly over what is likely: a simulation, which protects nothing."""
        ends = np.cumsum(self._models)
        places = np.searchsorted(ends, (np.arange(count) + rng.uniform()) / count * ends[-1])
        return [self.margins.masks[place] for place in places.tolist()]

    @cached_property
    def directions(self) -> Floats:
        """The chances of every column to be told to go up, and those to be told to go down."""
        margins, found = self.margins, np.zeros((2, self.margins.candidates.width))
        if not margins.directions:
            return found
        starts = np.searchsorted(margins.classes.models, np.arange(len(margins.models) + 1))
        for model in np.flatnonzero(self._models > NEGLIGIBLE).tolist():
            levels, fitting = margins.levels(model)
            chances = self._each[starts[model] : starts[model + 1]]
            reach = fitting.astype(np.float64)
            above = np.concatenate([np.zeros((1, reach.shape[1])), reach[:-1]])
            for place, (columns, values) in enumerate(
                zip(margins.terms_of(model), margins.options(model), strict=True)
            ):
                if len(values) == 1:
                    continue  # no direction is told
                # Of the candidates at a level those with this option: the others reach the level, less those all of whose do more.
                rest, beyond = (np.delete(each, place, axis=1).prod(axis=1) for each in (reach, above))
                ways = (values >= levels[:, None]) * rest[:, None] - (values > levels[:, None]) * beyond[:, None]
                told = chances @ ways
                found[0, list(columns)] += told[: len(columns)]
                found[1, list(columns)] += told[len(columns) :]
        return found
