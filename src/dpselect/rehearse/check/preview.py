"""Custodian's eyes only. The leading models of a selection that was not drawn, and how they move with its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import float_below
from dpselect.assume.models.candidates import columns_of
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.sums.moments import Moments
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.votes import vote_chances
from dpselect.rehearse.check.curves import with_epsilon
from dpselect.rehearse.check.probabilities import recipe_probabilities

FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Each setting is varied from a tenth to ten times its value, the others held fixed; with many candidates less finely."""

SECONDS, MINUTE = 2**14, 2**16
"""Candidates up to which the curves take seconds, and a minute; beyond there are none. One of PCPL counts as 32."""

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True, repr=False)
class Curve:
    """Private. The chances of the leading models as one setting moves: one row a setting, one column a model."""

    name: str
    settings: tuple[float, ...]
    chances: tuple[tuple[float, ...], ...]

    def __repr__(self) -> str:
        return f"Curve(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """Private. The models most likely to be chosen, with their exact chances, and curves around the settings."""

    models: tuple[tuple[str, ...], ...]
    chances: tuple[float, ...]
    curves: tuple[Curve, ...]
    recipe: Recipe

    def __repr__(self) -> str:
        return "Preview(values=<private>)"


def preview(moments: Moments, recipe: Recipe, leading: int = 5, step: Step = lambda name: None) -> Preview:
    """What would be chosen, exactly; nothing is drawn and nothing is spent.

    `step` is called before each of the computations of `curve_steps`, for a progress bar.
    """
    step("chances")
    chances = recipe_probabilities(moments, recipe)
    order = np.argsort(-chances, kind="stable")[:leading]
    curves = [
        Curve(name, tuple(settings), tuple(_rows(moments, recipes, order, name, step)))
        for name, settings, recipes in _variations(recipe)
    ]
    names = [column.name for column in recipe.assumptions.columns]
    models = tuple(tuple(names[j] for j in columns_of(recipe.candidates.mask(int(i)))) for i in order)
    return Preview(models, tuple(map(float, chances[order])), tuple(curves), recipe)


def preview_votes(margins: Margins, recipe: Recipe, leading: int = 5) -> Preview:
    """The same for votes, given one assignment of rows to blocks."""
    found = vote_chances(margins, float_below(recipe.choice_epsilon), recipe.mechanism).leading(leading)
    names = [column.name for column in recipe.assumptions.columns]
    models = tuple(tuple(names[j] for j in columns_of(mask)) for mask, _ in found)
    return Preview(models, tuple(chance for _, chance in found), (), recipe)


def curve_steps(recipe: Recipe) -> int:
    """How many computations `preview` makes."""
    return 1 + sum(len(settings) for _, settings, _ in _variations(recipe))


def _rows(
    moments: Moments, recipes: Iterable[Recipe], order: NDArray[np.int64], name: str, step: Step
) -> Iterable[tuple[float, ...]]:
    for recipe in recipes:
        step(name)
        yield tuple(map(float, recipe_probabilities(moments, recipe)[order]))


def _factors(recipe: Recipe) -> tuple[float, ...]:
    effort = recipe.candidates.count * (32 if recipe.method == "pcpl" else 1)
    return FACTORS if effort <= SECONDS else FACTORS[1:-1] if effort <= MINUTE else ()


def _variations(recipe: Recipe) -> Iterable[tuple[str, list[float], list[Recipe]]]:
    factors = _factors(recipe)
    if recipe.votes is not None or not factors:
        return
    epsilon, penalty, radius = recipe.guarantee.epsilon, max(recipe.penalties), recipe.assumptions.radius
    prices = [epsilon * Decimal(str(factor)) for factor in factors]
    yield "epsilon", list(map(float, prices)), [with_epsilon(recipe, price) for price in prices]
    if penalty > 0:
        scaled = [replace(recipe, penalties=tuple(value * f for value in recipe.penalties)) for f in factors]
        yield "penalty", [penalty * f for f in factors], scaled
    if radius:
        yield "radius", [radius * f for f in factors], [_with_radius(recipe, radius * f) for f in factors]


def _with_radius(recipe: Recipe, radius: float) -> Recipe:
    values = recipe.assumptions.to_dict() | {"radius": radius}
    return replace(recipe, assumptions=Assumptions.from_dict(values))


def model_names(models: Sequence[tuple[str, ...]]) -> list[str]:
    """The models as people write them."""
    return [" + ".join("1" if name == "intercept" else name for name in model) or "0" for model in models]
