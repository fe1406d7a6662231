"""Public. The families of estimates, in one table: what each is called, and how it plans, draws, solves and is verified.

Whoever needs to know what a family does asks its record here. A new family is a record, the functions that it names, and the kind
of what it releases in `drawn.Released`; where the formulas of a family stand by its name (`gather.round_views`, `rounds.steps`) an
unknown one is an error. All families are estimated by rounds where the rows can be read again; from moments alone (saved, pooled,
from SQL, or of a stream), or with Laplace noise, `BOX` has the gaussian one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpselect.assume.budget import Guarantee, Price, exact_delta
from dpselect.assume.lemmas.moments import NoiseKind
from dpselect.assume.queries import FamilyName, Floats
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Binary, Count
from dpselect.errors import DataError, StudyError
from dpselect.gather.moments import MomentSummary
from dpselect.gather.summary import Summary
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release import linear
from dpselect.release.checks import Check
from dpselect.release.drawn import Drawn, Solved
from dpselect.release.ledger.entries import Charge
from dpselect.release.rounds import checking, drawing


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
    gathers: Callable[[Study], Summary[Any]]
    """What is added up for it before anything is charged: moments, or the rows that are kept between rounds."""
    submodels: bool
    """Smaller models follow from the same release."""
    plan: Callable[..., Any]
    """(study, columns, epsilon=, delta=, noise=) -> which sums with which noise, and their `guarantee`; refuses what cannot be.

    Without columns it is the plan of a model that is not selected yet: the price is that of any model.
    """
    settle: Callable[..., Any]
    """(a plan without columns, study, columns, price) -> the plan of the model that was selected, at the same price."""
    charge: Callable[[Study, Guarantee], Charge]
    """What the ledger is told; it does not depend on the columns, which may be drawn together with the noise."""
    require_source: Callable[..., None]
    """(source, study): refuses moments of another study, or what cannot be read several times."""
    draw: Callable[..., Any]
    """(source, plan) -> the release, as far as it is drawn together with the charge."""
    draw_round: Callable[..., Any]
    """(source, study, plan, release so far) -> what one more round answers, if any is left (`drawn.is_done`)."""
    with_rounds: Callable[..., Any]
    """(release so far, plan, *what rounds have answered) -> the release with these rounds."""
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
    checks: Callable[[Drawn, Recipe], Iterator[Check]]
    """All that can be verified about a release without the rows."""

    @property
    def ratios(self) -> bool:
        """Whether its terms are logarithms of what people read."""
        return bool(self.words.quantity)


def _no_rounds(*known: Any) -> Any:
    raise DataError("A release from moments is drawn at once: it has no rounds.")


def _identity(linear: Floats) -> Floats:
    return linear


def _chance(linear: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-linear)))


def linear_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted LinearRegression with these coefficients, an intercept among them or none."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    model.intercept_ = values.get(INTERCEPT, 0.0)
    model.coef_ = np.array(_slopes(model, values))
    return model


def logistic_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted LogisticRegression with these log odds ratios, an intercept among them or none."""
    from sklearn.linear_model import LogisticRegression

    assert isinstance(study.response, Binary)
    model = LogisticRegression()
    model.classes_ = np.array(study.response.categories)
    model.intercept_ = np.array([values.get(INTERCEPT, 0.0)])
    model.coef_ = np.array([_slopes(model, values)])
    return model


def poisson_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted PoissonRegressor with these log rate ratios, an intercept among them or none."""
    from sklearn.linear_model import PoissonRegressor

    model = PoissonRegressor()
    model.intercept_ = values.get(INTERCEPT, 0.0)
    model.coef_ = np.array(_slopes(model, values))
    model._base_loss = model._get_loss()  # `fit` would have made it, and `predict` asks it for the link
    return model


def _slopes(model: Any, values: dict[str, float]) -> list[float]:
    slopes = {name: value for name, value in values.items() if name != INTERCEPT}
    model.n_features_in_ = len(slopes)
    model.feature_names_in_ = np.array(list(slopes), dtype=object)
    return list(slopes.values())


BOX = Family(
    name="gaussian",
    words=Words(one="coefficient", many="coefficients"),
    released=NoisyMoments,
    reads_rows=False,
    gathers=MomentSummary,
    submodels=True,
    plan=linear.plan_moments,
    settle=linear.settle_moments,
    charge=linear.moments_charge,
    require_source=linear.require_moments,
    draw=linear.draw_moments,
    draw_round=_no_rounds,
    with_rounds=_no_rounds,
    solve=linear.solve_moments,
    predictive=linear.predictive_slopes,
    mean=_identity,
    sklearn=linear_regression,
    noise=linear.moment_noise_words,
    planned=linear.planned_moments,
    checks=linear.moment_checks,
)
"""Coefficients from noisy moments in the box of the stated bounds."""


def _by_rounds(name: FamilyName, words: Words, mean: Callable[[Floats], Floats], sklearn: Callable[..., Any]) -> Family:
    return Family(
        name=name,
        words=words,
        released=Rounds,
        reads_rows=True,
        gathers=drawing.kept_between_rounds,
        submodels=False,
        plan=partial(drawing.plan_rounds, name),
        settle=drawing.settle_rounds,
        charge=partial(drawing.rounds_charge, name),
        require_source=drawing.require_rows,
        draw=drawing.begin_rounds,
        draw_round=drawing.draw_round,
        with_rounds=drawing.with_rounds,
        solve=partial(drawing.solve_rounds, name),
        predictive=partial(drawing.predictive_terms, name),
        mean=mean,
        sklearn=sklearn,
        noise=drawing.rounds_noise_words,
        planned=checking.planned_rounds,
        checks=checking.rounds_checks,
    )


FAMILIES: dict[FamilyName, Family] = {
    "gaussian": _by_rounds("gaussian", BOX.words, _identity, linear_regression),
    "binomial": _by_rounds(
        "binomial",
        Words(one="odds ratio", many="odds ratios", quantity="odds"),
        _chance,
        logistic_regression,
    ),
    "poisson": _by_rounds(
        "poisson", Words(one="rate ratio", many="rate ratios", quantity="rate"), np.exp, poisson_regression
    ),
}


def kind_of(drawn: Drawn) -> Family:
    """The record of what was drawn."""
    if drawn.family == BOX.name and isinstance(drawn.released, NoisyMoments):
        return BOX
    return FAMILIES[drawn.family]


def family_for(
    study: Study, name: FamilyName | None, *, delta: Price, rows_again: bool = True, noise: NoiseKind | None = None
) -> Family:
    """The family of an estimate. Unless it is named it follows from the response: odds ratios of no and yes, rate ratios of counts.

    Rounds need rows that can be read again (`rows_again`) and a delta, because their noise is Gaussian. Without them, or where
    Laplace noise is asked for, coefficients in the response's units come from moments.
    """
    by_rounds = rows_again and exact_delta(delta) > 0 and noise != "laplace"
    if name is None:
        response = study.response
        usual: FamilyName = "binomial" if isinstance(response, Binary) else "gaussian"
        name = "gaussian" if not by_rounds else "poisson" if isinstance(response, Count) else usual
    if name not in FAMILIES:
        raise StudyError(f"family is {name!r}; it must be one of {', '.join(map(repr, FAMILIES))}.")
    return BOX if name == BOX.name and not by_rounds else FAMILIES[name]
