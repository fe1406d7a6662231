"""Public. The families of estimates, in one table: what each is called, and how it plans, draws, solves and is verified.

Whoever needs to know what a family does asks its record here; nobody asks which family it is. A new family is a record, the
functions that it names, and the kind of what it releases in `drawn.Released`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Guarantee
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.randomize.logistic_noise import OddsRounds
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release import linear, odds
from dpselect.release.checks import Check
from dpselect.release.drawn import Drawn, FamilyName, Solved
from dpselect.release.ledger.entries import Charge

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Public. How a family is spoken of: `one` of its numbers, `many`, and the `quantity` that ratios are ratios of.

    A family without a quantity has differences in the response's own units.
    """

    one: str
    many: str
    quantity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Public. All that the rest of the program needs to know about a kind of estimate."""

    name: FamilyName
    words: Words
    released: type
    """What it releases."""
    reads_rows: bool
    """It reads the rows again in each round; else one set of moments is enough."""
    submodels: bool
    """Smaller models follow from the same release."""
    plan: Callable[..., Any]
    """(study, columns, epsilon=, delta=, noise=) -> which sums with which noise, and their `guarantee`; refuses what cannot be."""
    plan_any: Callable[..., Any]
    """(study, epsilon=, delta=) -> the same for a model that is not selected yet, at the price of any model."""
    charge: Callable[[Study, Guarantee], Charge]
    """What the ledger is told; it does not depend on the columns, which may be drawn together with the noise."""
    check_source: Callable[..., None]
    """(source, study): refuses moments of another study, or what cannot be read several times."""
    draw: Callable[..., Any]
    """(source, plan) -> the release, as far as it is drawn together with the charge."""
    draw_more: Callable[..., Any]
    """(source, study, plan, release so far) -> the release with one more round."""
    complete: Callable[..., bool]
    """(release so far) -> whether nothing is left to draw."""
    solve: Callable[..., Solved]
    """(release, study, columns, level=, considered=) -> the fields of an estimate that follow from it."""
    predictive: Callable[..., dict[str, float]]
    """(release, study, columns) -> the coefficients that predict best, by name in the user's units."""
    mean: Callable[[Floats], Floats]
    """The expected response where the linear predictor is this."""
    sklearn: Callable[..., Any]
    """(coefficients by name, study) -> a fitted scikit-learn estimator that predicts with them."""
    noise: Callable[..., str]
    """(release) -> how it was drawn, in words."""
    planned: Callable[[Drawn], Any]
    """The plan that a release must have had."""
    check: Callable[[Drawn, Recipe], Iterator[Check]]
    """All that can be verified about a release without the rows."""

    @property
    def ratios(self) -> bool:
        """Whether its terms are logarithms of what people read."""
        return bool(self.words.quantity)


def _nothing_more(source: Any, study: Study, plan: Any, released: Any) -> Any:
    return released


def _at_once(released: Any) -> bool:
    return True


def _identity(linear: Floats) -> Floats:
    return linear


def _chance(linear: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-linear)))


FAMILIES: dict[FamilyName, Family] = {
    "gaussian": Family(
        name="gaussian",
        words=Words(one="coefficient", many="coefficients"),
        released=NoisyMoments,
        reads_rows=False,
        submodels=True,
        plan=linear.plan_moments,
        plan_any=linear.plan_any_moments,
        charge=linear.moments_charge,
        check_source=linear.check_moments_of,
        draw=linear.draw_moments,
        draw_more=_nothing_more,
        complete=_at_once,
        solve=linear.solve_moments,
        predictive=linear.predictive_slopes,
        mean=_identity,
        sklearn=linear.linear_regression,
        noise=linear.moment_noise_words,
        planned=linear.planned_moments,
        check=linear.check_moments,
    ),
    "binomial": Family(
        name="binomial",
        words=Words(one="odds ratio", many="odds ratios", quantity="odds"),
        released=OddsRounds,
        reads_rows=True,
        submodels=False,
        plan=odds.plan_odds,
        plan_any=odds.plan_any_odds,
        charge=odds.odds_charge,
        check_source=odds.check_rows,
        draw=odds.no_rounds,
        draw_more=odds.draw_round,
        complete=odds.all_rounds,
        solve=odds.solve_odds,
        predictive=odds.predictive_odds,
        mean=_chance,
        sklearn=odds.logistic_regression,
        noise=odds.odds_noise_words,
        planned=odds.planned_odds,
        check=odds.check_odds,
    ),
}


def family_of(name: object) -> Family:
    """The record of a family, or a refusal that lists those that there are."""
    for family in FAMILIES.values():
        if family.name == name:
            return family
    raise StudyError(f"family is {name!r}; it must be one of {', '.join(map(repr, FAMILIES))}.")
