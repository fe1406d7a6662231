"""Public. The binomial family: odds ratios by rounds of Newton's method under one price; plan, draw, solution, verification."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dpselect.assume.budget import Guarantee, Price, exact_delta, exact_epsilon, float_below, plain
from dpselect.assume.lemmas.logistic import (
    count_sensitivity,
    extent_of,
    gradient_residual,
    gradient_sensitivity,
    gram_sensitivity,
    links,
)
from dpselect.assume.lemmas.moments import NoiseKind, moment_layout
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Binary
from dpselect.errors import DpselectError, StudyError
from dpselect.gather.logistic import LogisticSummary, LogisticSums
from dpselect.gather.rows import gather, require_repeatable
from dpselect.randomize.logistic_noise import (
    Draw,
    OddsRounds,
    Round,
    gaussian_draw,
    least_spread,
    rounded_gradient,
    rounded_gram,
    whole_mu,
)
from dpselect.release.account import charge_about
from dpselect.release.checks import Check
from dpselect.release.drawn import Drawn, Solved, Term, terms_of
from dpselect.release.equations.findings import HIDDEN, findings
from dpselect.release.equations.rounds import close_together, first_center, last_fit, next_center
from dpselect.release.ledger.entries import Charge
from dpselect.release.units import constant_place, user_scale

BASE_SHARE = 0.02
"""The share of mu squared that buys the base rate, where Newton starts."""

ROUND_SHARES = ((0.08, 0.6), (0.15, 0.6), (0.75, 0.85))
"""Of each round, and within it of the gradient; the Gram gets the rest. Measured in docs/ESTIMATES.md."""

CENTER_TOLERANCE = 2
"""Two machines find the same center up to so many steps of 2^-20: the last digits of a solution may differ."""

PRICE_TOLERANCE = 1e-6
"""Prices are computed to more digits than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsPlan:
    """Public. All about odds ratios that is known before a row is read. `mu` is what the whole price buys."""

    study: Study
    columns: tuple[int, ...]
    mu: float
    guarantee: Guarantee

    def counts_needed(self) -> tuple[int, float]:
        """The sensitivity of the numbers of yes and no, and the mu that their noise is worth."""
        sensitivity = count_sensitivity(self.guarantee.neighbors, self.study.rows_per_person)
        return sensitivity, self.mu * math.sqrt(BASE_SHARE)

    def round_needed(self, place: int, center: tuple[int, ...]) -> tuple[tuple[int, float], tuple[int, float]]:
        """The same for the gradient and the Gram of a round; the sensitivity of the gradient is that at its center."""
        (share, part), neighbors, rows = ROUND_SHARES[place], self.guarantee.neighbors, self.study.rows_per_person
        extent = extent_of([self.study.columns[each] for each in self.columns])
        residual = gradient_residual(center, constant_place(self.study, self.columns), extent, neighbors)
        steep = gradient_sensitivity(extent, residual, neighbors, rows), self.mu * math.sqrt(share * part)
        return steep, (gram_sensitivity(extent, neighbors, rows), self.mu * math.sqrt(share * (1 - part)))


def plan_odds(
    study: Study, columns: tuple[int, ...], *, epsilon: Price, delta: Price, noise: NoiseKind | None = None
) -> OddsPlan:
    """Check everything from public values alone."""
    if not isinstance(study.response, Binary):
        raise StudyError(
            f"Odds need a response of no and yes: state Binary({study.response.name!r}, [no, yes]), or leave family out."
        )
    if noise == "laplace":
        raise StudyError("noise is 'laplace'; the rounds of odds ratios have Gaussian noise: leave noise out.")
    study.require_bounds("An estimate")
    if not columns:
        raise StudyError("The model has no columns, so there are no odds ratios to estimate.")
    exact = exact_epsilon(epsilon), exact_delta(delta)
    mu = whole_mu(float_below(exact[0]), float_below(exact[1]))
    guarantee = Guarantee(epsilon=exact[0], delta=exact[1], neighbors=study.neighbors)
    return OddsPlan(study=study, columns=columns, mu=mu, guarantee=guarantee)


def plan_any_odds(study: Study, *, epsilon: Price, delta: Price) -> OddsPlan:
    """The plan of a model that is not selected yet: the price is that of any model, if it is never empty."""
    plan = plan_odds(study, (0,), epsilon=epsilon, delta=delta)
    if study.intercept != "always":
        raise StudyError(
            f"Odds need an intercept in every model, and it is {study.intercept!r} here: state 'always', or leave family out."
        )
    return plan


def odds_charge(study: Study, guarantee: Guarantee) -> Charge:
    """What the ledger is told: one price for all rounds. Each draw's rho is at most half the square of its part of mu."""
    mu = whole_mu(float_below(guarantee.epsilon), float_below(guarantee.delta))
    return Charge(
        what="estimate",
        mechanism="gaussian",
        parameters={
            "family": "binomial",
            "rounds": len(ROUND_SHARES),
            "rho": str(Decimal(math.nextafter(mu**2 / 2, math.inf))),
        },
        **charge_about(study, guarantee),
    )


def check_rows(source: Any, study: Study) -> None:
    """Refuse what cannot be read once for each round."""
    require_repeatable(source, "Odds ratios")


def no_rounds(source: Any, plan: OddsPlan) -> OddsRounds:
    """Nothing is drawn together with the charge: each round reads the rows, and is kept before the next one uses it."""
    return OddsRounds(counts=None, rounds=())


def draw_round(source: Any, study: Study, plan: OddsPlan, drawn: OddsRounds) -> OddsRounds:
    """What was drawn, and what comes next: the base rate, then round after round, each of rows that are read again."""
    width, constant = len(plan.columns), constant_place(study, plan.columns)
    if drawn.counts is None:
        sums = _read(source, study, plan, (0,) * width)
        return replace(drawn, counts=gaussian_draw(sums.counts, *plan.counts_needed()))
    # The next center follows from what is released already, so that a stranger can compute it too.
    last = drawn.rounds[-1:]
    center = next_center(last[0], constant) if last else first_center(drawn.counts, width, constant)
    sums, (steep, gram) = _read(source, study, plan, center), plan.round_needed(len(drawn.rounds), center)
    gradient = gaussian_draw(rounded_gradient(sums), *steep)
    made = Round(center, gradient, gaussian_draw(rounded_gram(sums), *gram))
    return replace(drawn, rounds=(*drawn.rounds, made))


def all_rounds(drawn: OddsRounds) -> bool:
    """Whether nothing is left to draw."""
    return drawn.counts is not None and len(drawn.rounds) >= len(ROUND_SHARES)


def _read(source: Any, study: Study, plan: OddsPlan, center: tuple[int, ...]) -> LogisticSums:
    return gather(source, study, LogisticSummary(study, plan.columns, center, links(center)))


def solve_odds(
    drawn: OddsRounds, study: Study, columns: tuple[int, ...], *, level: float, considered: int | None
) -> Solved:
    """Log odds ratios in the user's units, from the last round and about how many rows there are."""
    last = drawn.rounds[-1]
    constant = constant_place(study, columns)
    names, matrix = _directions(study, columns)
    kinds = moment_layout(study, columns).kinds[: len(columns)]
    if close_together(last, constant, [place for place, kind in enumerate(kinds) if kind == "number"]):
        terms = tuple(Term(name, *(None,) * 8) for name in names)
    else:
        found = findings(last_fit(last, constant, drawn.rows), matrix, level=level, considered=considered)
        terms = terms_of(names, (matrix @ last.at).tolist(), found)  # the last round counts from its center
    return {
        "terms": terms,
        "unadjusted": (),
        "residual_deviation": HIDDEN,
        "r_squared": HIDDEN,
        "rows": drawn.rows,
    }


def _directions(study: Study, columns: tuple[int, ...]) -> tuple[list[str], NDArray[np.float64]]:
    """Names and combinations of the scaled columns' log odds ratios that are the user's; what never moves is left out."""
    scale = user_scale(study, columns)
    moving = np.asarray(scale.matrix.any(axis=1))
    kept = [name for name, moves in zip(scale.names, moving, strict=True) if moves]
    return kept, scale.matrix[moving] / study.response.half_width


def predictive_odds(drawn: OddsRounds, study: Study, columns: tuple[int, ...]) -> dict[str, float]:
    """The likeliest log odds ratios, by name in the user's units."""
    last, (names, matrix) = drawn.rounds[-1], _directions(study, columns)
    scaled = last.at + last_fit(last, constant_place(study, columns), drawn.rows).scaled
    return dict(zip(names, map(float, matrix @ scaled), strict=True))


def logistic_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted scikit-learn LogisticRegression with these log odds ratios, an intercept among them or none."""
    from sklearn.linear_model import LogisticRegression

    assert isinstance(study.response, Binary)
    slopes = {name: value for name, value in values.items() if name != INTERCEPT}
    model = LogisticRegression()
    model.classes_ = np.array(study.response.categories)
    model.intercept_ = np.array([values.get(INTERCEPT, 0.0)])
    model.coef_ = np.array([list(slopes.values())])
    model.n_features_in_ = len(slopes)
    model.feature_names_in_ = np.array(list(slopes), dtype=object)
    return model


def odds_noise_words(drawn: OddsRounds) -> str:
    """How they were drawn."""
    return f"gaussian noise on the sums of {len(drawn.rounds)} rounds"


def planned_odds(drawn: Drawn) -> OddsPlan:
    """The plan that this release must have had: computed anew from its public statements."""
    price = drawn.guarantee
    return plan_odds(drawn.study, drawn.columns, epsilon=price.epsilon, delta=price.delta)


def check_odds(drawn: Drawn, recipe: Recipe) -> Iterator[Check]:
    """All that can be checked about the rounds without the rows."""
    odds = drawn.released
    assert isinstance(odds, OddsRounds)
    width, rounds = len(drawn.columns), f"{len(odds.rounds)} rounds"
    counts = odds.counts
    whole = counts is not None and len(counts.values) == 2 and len(odds.rounds) == len(ROUND_SHARES)
    whole = whole and all(
        len(each.center) == len(each.gradient.values) == width and len(each.gram.values) == width * (width + 1) // 2
        for each in odds.rounds
    )
    yield Check("there are as many noisy sums as the model needs", whole, rounds)
    if not whole or counts is None:
        return
    constant = constant_place(drawn.study, drawn.columns)
    centers = [first_center(counts, width, constant)]
    centers += [next_center(each, constant) for each in odds.rounds[:-1]]
    in_turn = all(
        np.abs(np.subtract(center, one.center)).max() <= CENTER_TOLERANCE
        for center, one in zip(centers, odds.rounds, strict=True)
    )
    yield Check("each round starts where the one before it ended", in_turn, rounds)
    yield _noise_check(drawn, counts, odds.rounds)


def _noise_check(drawn: Drawn, counts: Draw, rounds: tuple[Round, ...]) -> Check:
    """The noise of every draw must be at least what its share of the stated price buys."""
    what, guarantee = "noise scale matches the cost", drawn.guarantee
    try:
        plan = planned_odds(drawn)
    except DpselectError as problem:
        return Check(what, False, str(problem))
    pairs = [(counts, plan.counts_needed())]
    for place, one in enumerate(rounds):
        pairs += zip((one.gradient, one.gram), plan.round_needed(place, one.center), strict=True)
    enough = guarantee == plan.guarantee and all(_worth(draw, *needed) for draw, needed in pairs)
    return Check(what, enough, f"epsilon {plain(guarantee.epsilon)}, gaussian noise on {len(pairs)} draws")


def _worth(stated: Draw, sensitivity: int, mu: float) -> bool:
    spread, rho = least_spread(sensitivity, mu)
    near = abs(stated.rho - rho) <= PRICE_TOLERANCE * rho
    return stated.sensitivity == sensitivity and stated.spread >= spread * (1 - PRICE_TOLERANCE) and near
