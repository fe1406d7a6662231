"""Choose a model: the whole path in one screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dpselect.assume.models.budget import Budget, Price
from dpselect.assume.models.candidates import Candidates, vote_units
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.models.vote_rule import vote_rule
from dpselect.assume.study.assumptions import Assumptions
from dpselect.minimize.estimator_votes import FitBlock, estimator_votes
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.release.account import Account, LedgerPlace, account_of
from dpselect.release.select import release_selection
from dpselect.release.selection import Selection
from dpselect.use.gathering import Gathered, gather_for

ROWS_A_COLUMN = 4
"""Rows of a block for each column, at least, where any estimator may stand in it."""


def select(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    delta: Price = 0,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Selection:
    """Choose a model with a differential-privacy guarantee.

    Example: `select(frame, assumptions, epsilon=1.0)`. `source` is anything that `gather` reads; `epsilon` (and `delta` for
    method "pcpl") is the whole price. "votes" needs no bounds and works for binary responses and many columns; "pcls" and
    "pcpl" are the paper's methods, need every bound, and take moments too. `penalty` is the cost of a column: a number in
    squared units of the response (for "pcpl" in units of -2 log-likelihood), "aic", "bic", one number a column, or None for
    a public default that balances sampling noise and privacy noise; votes have a price of their own.
    """
    choice = Choice(method, mechanism, candidates, penalty)
    return choose_model(source, assumptions, choice, Budget(epsilon, delta), account_of(ledger, data, analyst))


def choose_model(source: Any, assumptions: Assumptions, choice: Choice, price: Budget, account: Account) -> Selection:
    """Every stage once, in the order of the folders."""
    table = gather_for(source, assumptions, choice, price)
    return choose_from(table, account)


def choose_from(table: Gathered, account: Account) -> Selection:
    """From what was gathered to a release, whatever the method."""
    losses = minimize(table.sums, table.recipe)
    scores = penalize(losses, table.recipe)
    return release_selection(scores, table.recipe, account)


def rule_for_estimators(recipe: Recipe) -> tuple[Recipe, int]:
    """The recipe where any estimator may stand in a block, and about how many rows a block has."""
    columns = recipe.assumptions.columns
    rows, terms = recipe.assumptions.rows or recipe.rows, max(len(vote_units(recipe.candidates)), 1)
    assert rows is not None
    smallest = ROWS_A_COLUMN * (len(columns) + 1)
    rule = vote_rule(rows, len(columns), terms, float(recipe.choice_epsilon), smallest)
    rule = replace(rule, ridge=0.0, statistic="the sign of an estimator's coefficient")
    return replace(recipe, votes=rule), rows // rule.blocks


def choose_by_estimator(fit: FitBlock, X: Any, y: Any, recipe: Recipe, account: Account) -> Selection:
    """The same path where any estimator with coefficients is fitted in each block."""
    rule = recipe.votes
    assert rule is not None
    intercept = recipe.assumptions.intercept != "none"
    votes = estimator_votes(
        fit,
        X,
        y,
        blocks=rule.blocks,
        partitions=rule.partitions,
        columns=tuple(column.name for column in recipe.assumptions.columns),
        intercept=intercept,
        assumptions=recipe.assumptions.hash,
    )
    return release_selection(penalize(votes, recipe), recipe, account)
