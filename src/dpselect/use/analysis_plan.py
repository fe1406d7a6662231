"""Public. All about an analysis that is known before a row is read: refused here if anything is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpselect.assume.models.budget import Budget, Price
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.split import default_split
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.release.coefficients.intervals import USUAL, Intervals
from dpselect.release.estimate import estimate_charge, plan_estimate
from dpselect.release.ledger.records import Charge
from dpselect.release.odds.release import SCALES, Scale, odds_charge, plan_odds
from dpselect.release.select import selection_charge
from dpselect.use.gathering import require_study
from dpselect.use.select_tuned import tuning_charges

SOME_ROWS = 1000
"""A number of rows for checks that do not depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPlan:
    """Public. The whole price and its two parts, how the model is chosen, and which intervals it gets.

    The first part buys bounds too, if `tune`. `charges` are what the ledger will be asked for; where the number of rows is not
    known yet they differ from the records in the hash of the recipe alone, which costs nothing.
    """

    assumptions: Assumptions
    choice: Choice
    intervals: Intervals
    scale: Scale
    budget: Budget
    for_choice: Budget
    for_estimate: Budget
    charges: tuple[Charge, ...]
    tune: bool = False

    @property
    def asked(self) -> list[Any]:
        """All that is asked for, as plain values, to tell one request from another; the charges have the recipe's hash."""
        price = [str(self.budget.epsilon), str(self.budget.delta)]
        wanted = [self.intervals.level, self.intervals.kind, self.scale, self.tune]
        return [self.assumptions.hash, self.choice.method, *price, *wanted, [each.to_json() for each in self.charges]]


def rows_to_suppose(assumptions: Assumptions, choice: Choice) -> int | None:
    """Some number of rows where a public one will be there, so that what is refused without one is refused now."""
    if choice.method == "votes" and assumptions.person is not None:
        return None
    return assumptions.public_rows(assumptions.rows or SOME_ROWS)


def plan_analysis(
    assumptions: Assumptions,
    *,
    budget: Budget,
    split: tuple[Price, Price] | None = None,
    choice: Choice,
    intervals: Intervals = USUAL,
    scale: Scale = "response",
    tune: bool = False,
) -> AnalysisPlan:
    """Divide the price, and refuse now whatever the choice or the estimate would refuse later.

    `split` are the shares of epsilon for the choice and for the estimate; without it public facts decide. Only "pcpl" needs delta
    for the choice, and gets half of it; all other methods leave it to the estimate.
    """
    require_study(assumptions)
    if split is None:
        split = default_split(
            choice.method, rows=assumptions.rows, columns=len(assumptions.columns), epsilon=budget.epsilon
        )
    elif not (isinstance(split, tuple | list) and len(split) == 2):
        raise AssumptionError(f"split is {split!r}; it must be two shares of epsilon, such as (1, 1).")
    slack = (1, 1) if choice.method == "pcpl" else (0, 1)
    for_choice, for_estimate = budget.split(*split, delta=slack)
    rows = rows_to_suppose(assumptions, choice)
    choosing: tuple[Charge, ...]
    if tune:
        choosing = tuning_charges(assumptions, choice, for_choice.epsilon, rows)
    else:
        recipe = make_recipe(assumptions, choice, rows=rows, epsilon=for_choice.epsilon, delta=for_choice.delta)
        choosing = (selection_charge(recipe),)
    return AnalysisPlan(
        assumptions=assumptions,
        choice=choice,
        intervals=intervals,
        scale=scale,
        budget=budget,
        for_choice=for_choice,
        for_estimate=for_estimate,
        charges=(*choosing, _estimating(assumptions, for_estimate, intervals, scale)),
        tune=tune,
    )


def _estimating(assumptions: Assumptions, price: Budget, intervals: Intervals, scale: Scale) -> Charge:
    """The charge for an estimate of a model that is not known yet: its price is that of any model."""
    if scale not in SCALES:
        raise AssumptionError(f"scale is {scale!r}; it must be 'response' or 'odds'.")
    if scale == "odds":
        odds = plan_odds(assumptions, (0,), epsilon=price.epsilon, delta=price.delta, intervals=intervals)
        if assumptions.intercept != "always":
            raise AssumptionError(
                f"Odds need an intercept in every model, and it is {assumptions.intercept!r} here: state 'always', or leave "
                "scale out."
            )
        return odds_charge(odds)
    plan = plan_estimate(assumptions, (), epsilon=price.epsilon, delta=price.delta, intervals=intervals)
    return estimate_charge(plan.layout, plan.noise, plan.guarantee, assumptions)
