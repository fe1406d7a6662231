"""A selection that tunes itself: part of epsilon buys bounds for the response, the rest the choice."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dpselect.assume.models.budget import EXACT, Guarantee, Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.choice import Choice, Mechanism
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.models.tuning import DEFAULT_TUNING, Tuning, split_for_tuning
from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.responses import count_responses
from dpselect.gather.table import gather_table
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.randomize.interval import edges
from dpselect.release.account import LedgerPlace, account_of
from dpselect.release.select import release_selection, selection_charge
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned, release_bounds, tuning_charge


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedSelection:
    """Public. The bounds that were bought, the model that was chosen with them, and what both cost together.

    The choice was made with the response clipped to the bought bounds, which is good for choosing and bad for estimating:
    `estimate(table, tuned, ...)` does so under the bounds that were stated.
    """

    bounds: Tuned
    selection: Selection
    stated: Assumptions

    @property
    def guarantee(self) -> Guarantee:
        """Of both releases together."""
        parts = (self.bounds.guarantee, self.selection.guarantee)
        epsilon = EXACT.add(parts[0].epsilon, parts[1].epsilon)
        return Guarantee(epsilon=epsilon, delta=parts[1].delta, neighbors=self.stated.neighbors)

    @property
    def variables(self) -> tuple[str, ...]:
        """The chosen columns, by name."""
        return self.selection.variables

    @property
    def columns(self) -> tuple[int, ...]:
        """The chosen columns, by place."""
        return self.selection.columns

    def __str__(self) -> str:
        low, high = self.bounds.values
        return f"{self.selection.formula}  ({self.guarantee}; response clipped to {low:g} to {high:g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "bounds": self.bounds.to_dict(),
            "selection": self.selection.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "stated": self.stated.to_dict(),
        }

    def to_json(self) -> str:
        """The release as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


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
    assumptions.require_bounds("Buying bounds")
    beyond = count_responses(source, assumptions, edges(*assumptions.response.bounds, tuning.steps))
    rows = assumptions.public_rows(beyond.n)
    for_bounds, for_choice = split_for_tuning(epsilon, rows, share)
    choice, account = Choice("pcls", mechanism, candidates), account_of(ledger, data, analyst)
    # Whatever is wrong with the public settings or the budget comes out here, before anything is spent.
    rehearsed = make_recipe(assumptions, choice, rows=rows, epsilon=for_choice)
    account.check(tuning_charge("bounds", for_bounds, assumptions), selection_charge(rehearsed))
    bounds = release_bounds(beyond, assumptions, epsilon=for_bounds, tuning=tuning, account=account)
    recipe = make_recipe(bounds.assumptions, choice, rows=rows, epsilon=for_choice)
    losses = minimize(gather_table(source, bounds.assumptions), recipe)
    scores = penalize(losses, recipe)
    selection = release_selection(scores, replace(recipe, paid_before=for_bounds), account)
    return TunedSelection(bounds=bounds, selection=selection, stated=assumptions)
