"""Custodian's eyes only. What a run would choose that was not made, and how that moves with its price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from dpselect.assume.budget import EXACT
from dpselect.assume.candidates import columns_of
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.rehearse.check.rehearsal import Explained, Rehearsal, terms_of

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
