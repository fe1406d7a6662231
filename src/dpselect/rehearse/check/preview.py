"""Private. Confidential: what a run would select, how that moves with its privacy cost, and what it keeps of R^2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import EXACT
from dpselect.assume.candidates import Candidates, columns_of
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.gather.moments import Moments
from dpselect.minimize.minimize import minimize_all

Floats = NDArray[np.float64]

LEAST_SHOWN_CHANCE = 1e-6
"""Chances are shown to a tenth of a hundredth, and computed to a hundredth of that."""
UNBOUND_RADIUS = 2.0**10
"""A radius that binds no model whose columns are not nearly dependent: least squares."""


@dataclass(frozen=True, slots=True, repr=False)
class Rehearsal:
    """Private. The likeliest models with their chances, the chance of each term, and of models that were asked for.

    `share` is the R^2 to be expected of what is chosen over that of the best model by BIC, None where that explains nothing.
    `directions` are the chances of columns to be told to go up, and down, by their names; none where directions are not told.
    """

    models: tuple[int, ...]
    chances: tuple[float, ...]
    inclusion: tuple[float, ...]
    asked: tuple[float, ...]
    share: float | None
    recipe: Recipe
    directions: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Rehearsal(values=<private>)"


def terms_of(study: Study) -> dict[str, int]:
    """The terms that compete or are always in, by name, each with its columns as a mask; the intercept only if it competes."""
    found: dict[str, int] = {}
    for place, column in enumerate(study.columns):
        if column.name == INTERCEPT and study.intercept == "always":
            continue
        name = ":".join(factor.variable for factor in column.factors) or INTERCEPT
        found[name] = found.get(name, 0) | 1 << place
    return found


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Explained:
    """Private. The R^2 of every candidate by least squares, and that of the best one by BIC."""

    each: Floats
    best: float
    model: int

    def __repr__(self) -> str:
        return "Explained(values=<private>)"

    def share(self, chances: Floats) -> float | None:
        """What is to be expected over the best."""
        if not self.best > 0:
            return None
        # BIC's model is not the one with the largest R^2, so a mean may lie above it: no more than all is claimed.
        return min(float(chances @ self.each) / self.best, 1.0)


def explained(moments: Moments, candidates: Candidates, study: Study) -> Explained:
    """The R^2 of every candidate: over the response's spread about its mean if there is an intercept, else about the middle."""
    products = moments.scaled()
    whole = float(products[-1, -1])
    if study.columns[0].name == INTERCEPT and products[0, 0] > 0:
        whole -= float(products[0, -1] ** 2 / products[0, 0])
    losses = minimize_all(moments, candidates, UNBOUND_RADIUS).values
    with np.errstate(all="ignore"):
        each = np.clip(1 - losses / whole, 0.0, 1.0) if whole > 0 else np.zeros(losses.size)
        prices = np.log(max(moments.n, 2)) * candidates.sizes()
        # A perfect fit has a loss of 0; its logarithm is a large negative number here and not infinite, or prices could not part
        # two perfect fits.
        best = int(np.argmin(moments.n * np.log(np.maximum(losses, 1e-300)) + prices))
    return Explained(each, float(each[best]), candidates.mask(best))


def rehearsal_of(
    chances: Floats, recipe: Recipe, r2: Explained | None, *, leading: int | Sequence[int], asked: Sequence[int] = ()
) -> Rehearsal:
    """The rehearsal of a choice among listed candidates; `leading` is how many models to show, or which ones, as masks."""
    masks = recipe.candidates.masks()
    if isinstance(leading, int):
        leading = [int(masks[i]) for i in np.argsort(-chances, kind="stable")[:leading]]
    return Rehearsal(
        models=tuple(leading),
        chances=tuple(float(chances[recipe.candidates.index(mask)]) for mask in leading),
        inclusion=tuple(_inclusion(chances, masks, mask) for mask in terms_of(recipe.study).values()),
        asked=tuple(float(chances[recipe.candidates.index(mask)]) for mask in asked),
        share=None if r2 is None else r2.share(chances),
        recipe=recipe,
    )


def _inclusion(chances: Floats, masks: NDArray[np.uint64], term: int) -> float:
    return float(min(chances[masks & np.uint64(term) != 0].sum(), 1.0))


LEADING = 5

Step = Callable[[str], None]


class Rehearsed(Protocol):
    """Private. A run that can be looked at, at any whole price."""

    r2: Explained | None
    factors: tuple[str, ...]
    how: str

    def at(self, price: Decimal, *, leading: int | Sequence[int], asked: Sequence[int] = ()) -> Rehearsal:
        """What would be chosen; `leading` is how many models to show, or which ones, as masks."""


@dataclass(frozen=True, slots=True, repr=False)
class Curve:
    """Private. As the price moves: the chances of the leading models and of the terms, a row a price, and the share of R^2."""

    name: str
    settings: tuple[float, ...]
    chances: tuple[tuple[float, ...], ...]
    inclusion: tuple[tuple[float, ...], ...]
    shares: tuple[float | None, ...]

    def __repr__(self) -> str:
        return f"Curve(name={self.name!r}, values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """Private. The models most likely to be chosen, the terms, the models asked for, with their chances; and a curve.

    `best` is the best model by BIC with its R^2, None where that was not computed; `directions` are as in `Rehearsal`.
    """

    models: tuple[tuple[str, ...], ...]
    chances: tuple[float, ...]
    terms: tuple[str, ...]
    inclusion: tuple[float, ...]
    directions: dict[str, tuple[float, float]]
    asked: tuple[tuple[tuple[str, ...], float], ...]
    share: float | None
    best: tuple[tuple[str, ...], float] | None
    curves: tuple[Curve, ...]
    how: str
    epsilon: Decimal
    recipe: Recipe

    def __repr__(self) -> str:
        return "Preview(values=<private>)"


def preview(
    rehearsed: Rehearsed,
    epsilon: Decimal,
    *,
    asked: Sequence[int] = (),
    leading: int = LEADING,
    step: Step = lambda name: None,
) -> Preview:
    """What a run at this whole price would choose; nothing is drawn and nothing is spent.

    `asked` are models as masks; `step` is called before each of the looks, one and as many as there are factors.
    """
    step("chances")
    now = rehearsed.at(epsilon, leading=leading, asked=asked)
    study, r2 = now.recipe.study, rehearsed.r2
    return Preview(
        models=tuple(names_of(mask, study) for mask in now.models),
        chances=now.chances,
        terms=tuple(terms_of(study)),
        inclusion=now.inclusion,
        directions=now.directions,
        asked=tuple((names_of(mask, study), chance) for mask, chance in zip(asked, now.asked, strict=True)),
        share=now.share,
        best=None if r2 is None else (names_of(r2.model, study), r2.best),
        curves=_curves(rehearsed, now, epsilon, step),
        how=rehearsed.how,
        epsilon=epsilon,
        recipe=now.recipe,
    )


def _curves(rehearsed: Rehearsed, now: Rehearsal, epsilon: Decimal, step: Step) -> tuple[Curve, ...]:
    """The curve over the price, if there is time for one."""
    prices = [EXACT.multiply(epsilon, Decimal(factor)) for factor in rehearsed.factors]
    found = []
    for price in prices:
        step("epsilon")
        # The same models at every price, those that lead now: lines of a chart, not a new ranking at each point.
        found.append(now if price == epsilon else rehearsed.at(price, leading=now.models))
    if not found:
        return ()
    chances, inclusion = (tuple(getattr(each, name) for each in found) for name in ("chances", "inclusion"))
    return (Curve("epsilon", tuple(map(float, prices)), chances, inclusion, tuple(each.share for each in found)),)


def names_of(mask: int, study: Study) -> tuple[str, ...]:
    """A model by the names of its terms; of a term that is in by half, the columns."""
    columns, terms = study.columns, terms_of(study)
    names = [columns[0].name] if mask & 1 and columns[0].name not in terms and not columns[0].factors else []
    for name, term in terms.items():
        inside = mask & term
        names += [name] if inside == term else [columns[j].name for j in columns_of(inside)]
    return tuple(names)


def model_names(models: Sequence[tuple[str, ...]]) -> list[str]:
    """The models as people write them."""
    return [" + ".join("1" if name == "intercept" else name for name in model) or "0" for model in models]
