"""A selection that tunes itself: part of epsilon buys bounds for the response, the rest the choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from dpselect.assume.models.budget import Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.choice import Choice, Mechanism
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.models.tuning import DEFAULT_TUNING, Tuning, check_rows_are_persons, split_for_tuning
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.gather.responses import count_responses
from dpselect.gather.table import gather_table
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.randomize.interval import edges
from dpselect.release.account import Account, LedgerPlace, account_of
from dpselect.release.ledger.records import Charge
from dpselect.release.select import release_selection, selection_charge
from dpselect.release.tune import Tuned, release_bounds, tuning_charge
from dpselect.release.tuned_selection import TunedSelection


def select_tuned(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    share: Price | None = None,
    tuning: Tuning = DEFAULT_TUNING,
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> TunedSelection:
    """Choose a model from loosely stated bounds; `epsilon` is the whole price, tuning included.

    Example: `select_tuned(frame, assumptions, epsilon=1)`. First the quartiles of the response are chosen privately, within
    its stated bounds, for `share` of epsilon (by default 150/(n epsilon), from a fiftieth to a fifth; a tenth where n is
    private); then the model is, with the response clipped to them, a radius of one and a half of their half distance, and
    the default penalty. The table is read twice. Nothing is charged unless the ledger has room for both.
    """
    choice, account = Choice("pcls", mechanism, candidates), account_of(ledger, data, analyst)
    return tune_and_choose(source, assumptions, choice, epsilon, account, share=share, tuning=tuning)


def tuning_charges(assumptions: Assumptions, choice: Choice, epsilon: Price, rows: int | None) -> tuple[Charge, Charge]:
    """What the ledger will be asked for, bounds and choice, supposing so many rows; refused if the settings cannot be run."""
    if choice.method != "pcls" or choice.penalty is not None:
        raise AssumptionError(
            "Tuning buys bounds for the method 'pcls' with its default penalty: ask for pcls, without a penalty."
        )
    check_tunable(assumptions)
    for_bounds, for_choice = split_for_tuning(epsilon, rows)
    recipe = make_recipe(assumptions, choice, rows=rows, epsilon=for_choice)
    return tuning_charge("bounds", for_bounds, assumptions), selection_charge(recipe)


def check_tunable(assumptions: Assumptions) -> None:
    """Refuse a study for whose response no bounds can be bought."""
    assumptions.require_bounds("Buying bounds")
    check_rows_are_persons(assumptions)
    if not isinstance(assumptions.response, Numeric):
        raise AssumptionError(
            f"{assumptions.response.name!r} is no or yes, so there are no bounds to buy for it: leave tuning out."
        )


def tune_and_choose(
    source: Any,
    assumptions: Assumptions,
    choice: Choice,
    epsilon: Price,
    account: Account,
    *,
    share: Price | None = None,
    tuning: Tuning = DEFAULT_TUNING,
    keep: Callable[[Tuned], None] = lambda bounds: None,
) -> TunedSelection:
    """Buy the bounds, then choose with them; both charged to one account. `keep` gets the bounds as soon as they are paid for."""
    check_tunable(assumptions)
    beyond = count_responses(source, assumptions, edges(*assumptions.response.bounds, tuning.steps))
    rows = assumptions.public_rows(beyond.n)
    for_bounds, for_choice = split_for_tuning(epsilon, rows, share)
    # Whatever is wrong with the public settings or the budget comes out here, before anything is spent.
    rehearsed = make_recipe(assumptions, choice, rows=rows, epsilon=for_choice)
    account.check(tuning_charge("bounds", for_bounds, assumptions), selection_charge(rehearsed))
    bounds = release_bounds(beyond, assumptions, epsilon=for_bounds, tuning=tuning, account=account)
    keep(bounds)
    recipe = make_recipe(bounds.assumptions, choice, rows=rows, epsilon=for_choice)
    losses = minimize(gather_table(source, bounds.assumptions), recipe)
    scores = penalize(losses, recipe)
    selection = release_selection(scores, replace(recipe, paid_before=for_bounds), account)
    return TunedSelection(bounds=bounds, selection=selection, stated=assumptions, tuning=tuning)
