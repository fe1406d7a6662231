"""The exit for odds ratios: check, charge once for all rounds, then read, draw and step, round by round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

from dpselect.assume.lemmas.logistic import count_sensitivity, extent_of, gradient_sensitivity, gram_sensitivity, links
from dpselect.assume.lemmas.logistic_pairs import gradient_residual
from dpselect.assume.models.budget import Guarantee, Price, exact_delta, exact_epsilon, float_below
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Binary
from dpselect.errors import AssumptionError
from dpselect.gather.add_up_logistic import LogisticSums
from dpselect.gather.logistic_sums import logistic_sums, require_rows
from dpselect.randomize.logistic_noise import gaussian_draw, rounded_gradient, rounded_gram, whole_mu
from dpselect.release.account import NO_ACCOUNT, Account, software_version
from dpselect.release.coefficients.intervals import USUAL, Intervals
from dpselect.release.ledger.records import Charge
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.odds.odds_terms import constant_of, odds_terms
from dpselect.release.odds.rounds import Round, about_rows, first_center, next_center

Scale = Literal["response", "odds"]
SCALES: tuple[Scale, ...] = get_args(Scale)

BASE = 0.02
"""The share of mu squared that buys the base rate, where Newton starts."""

SHARES = ((0.08, 0.6), (0.15, 0.6), (0.75, 0.85))
"""Of each round, and within it of the gradient; the Gram gets the rest. Measured in docs/ESTIMATES.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsPlan:
    """Public. All about odds ratios that is known before a row is read. `mu` is what the whole price buys."""

    assumptions: Assumptions
    columns: tuple[int, ...]
    mu: float
    guarantee: Guarantee
    intervals: Intervals
    selected: bool


def plan_odds(
    assumptions: Assumptions,
    columns: tuple[int, ...],
    *,
    epsilon: Price,
    delta: Price,
    intervals: Intervals = USUAL,
    selected: bool = False,
) -> OddsPlan:
    """Check everything from public values alone."""
    if not isinstance(assumptions.response, Binary):
        raise AssumptionError(
            f"Odds need a response of no and yes: state Binary({assumptions.response.name!r}, [no, yes]), or leave scale out."
        )
    assumptions.require_bounds("An estimate")
    if not columns:
        raise AssumptionError("The model has no columns, so there are no odds ratios to estimate.")
    exact = exact_epsilon(epsilon), exact_delta(delta)
    mu = whole_mu(float_below(exact[0]), float_below(exact[1]))
    guarantee = Guarantee(epsilon=exact[0], delta=exact[1], neighbors=assumptions.neighbors)
    return OddsPlan(
        assumptions=assumptions, columns=columns, mu=mu, guarantee=guarantee, intervals=intervals, selected=selected
    )


def odds_charge(plan: OddsPlan) -> Charge:
    """What the ledger is told: one price for all rounds. Each draw's rho is at most half the square of its part of mu."""
    return Charge(
        what="estimate",
        mechanism="gaussian",
        epsilon=plan.guarantee.epsilon,
        delta=plan.guarantee.delta,
        parameters={
            "neighbors": plan.guarantee.neighbors,
            "columns": list(plan.columns),
            "scale": "odds",
            "rounds": len(SHARES),
            "rho": str(Decimal(math.nextafter(plan.mu**2 / 2, math.inf))),
        },
        assumptions=plan.assumptions.hash,
    )


def release_odds(source: Any, plan: OddsPlan, account: Account = NO_ACCOUNT) -> OddsRatios:
    """Read the rows once, so that whatever is wrong with them comes out; charge; then the rounds."""
    require_rows(source)
    width, constant = len(plan.columns), constant_of(plan.assumptions, plan.columns)
    first = _read(source, plan, (0,) * width)
    receipt = account.charge(odds_charge(plan))
    counts = gaussian_draw(first.counts, *counts_needed(plan))
    rounds: list[Round] = []
    for place in range(len(SHARES)):
        center = next_center(rounds[-1], constant) if rounds else first_center(counts, width, constant)
        sums, (steep, gram) = _read(source, plan, center), round_needed(plan, place, center)
        gradient = gaussian_draw(rounded_gradient(sums), *steep)
        rounds.append(Round(center, gradient, gaussian_draw(rounded_gram(sums), *gram)))
    return OddsRatios(
        columns=plan.columns,
        terms=odds_terms(rounds[-1], about_rows(counts), plan.assumptions, plan.columns, plan.intervals),
        intervals=plan.intervals,
        selected=plan.selected,
        counts=counts,
        rounds=tuple(rounds),
        assumptions=plan.assumptions,
        guarantee=plan.guarantee,
        receipt=receipt,
        version=software_version(),
    )


def counts_needed(plan: OddsPlan) -> tuple[int, float]:
    """The sensitivity of the numbers of yes and no, and the mu that their noise is worth."""
    return count_sensitivity(plan.guarantee.neighbors, plan.assumptions.rows_per_person), plan.mu * math.sqrt(BASE)


def round_needed(plan: OddsPlan, place: int, center: tuple[int, ...]) -> tuple[tuple[int, float], tuple[int, float]]:
    """The same for the gradient and the Gram of a round; the sensitivity of the gradient is that at its center."""
    (share, part), neighbors, rows = SHARES[place], plan.guarantee.neighbors, plan.assumptions.rows_per_person
    extent = extent_of([plan.assumptions.columns[each] for each in plan.columns])
    residual = gradient_residual(center, constant_of(plan.assumptions, plan.columns), extent, neighbors)
    steep = gradient_sensitivity(extent, residual, neighbors, rows), plan.mu * math.sqrt(share * part)
    return steep, (gram_sensitivity(extent, neighbors, rows), plan.mu * math.sqrt(share * (1 - part)))


def _read(source: Any, plan: OddsPlan, center: tuple[int, ...]) -> LogisticSums:
    return logistic_sums(source, plan.assumptions, plan.columns, center, links(center))
