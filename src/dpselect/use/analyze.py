"""Both halves of the paper's motive: choose a model, then estimate it, each privately, from one budget."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpselect.assume.lemmas.moment_sensitivity import NoiseKind
from dpselect.assume.models.budget import Budget, Price, exact_delta, exact_epsilon
from dpselect.assume.models.candidates import Candidates, columns_of
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.recipe import Mechanism, Method
from dpselect.assume.models.subsets import Model, Subsets, candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError, BudgetExceeded, DataError
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.intervals import IntervalKind
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge
from dpselect.release.selection import Selection
from dpselect.use.select import moments_of, select

FORMAT = "dpselect analysis 1"

SPLIT = (3, 2)
"""Shares of epsilon for the choice and for the estimate: never far from the best in docs/ESTIMATES.md, where others are."""


def estimate(
    source: Any,
    selection: Selection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    assumptions: Assumptions | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "bootstrap",
    noise: NoiseKind | None = None,
    ledger: Ledger | None = None,
    data: str = "",
    analyst: str = "",
) -> Coefficients:
    """Coefficients of a model with intervals, with a differential-privacy guarantee.

    Example: `estimate(moments, selection, epsilon=1.0, delta=1e-6)`. `source` is moments that `gather` returned, or anything that
    `gather` reads. `selection` is what `select` returned, or a model settled without looking at the rows: names of columns or
    variables, and then `assumptions` too. `epsilon` and `delta` are the whole price; with delta 0 the noise is Laplace, else
    whichever of Laplace and Gaussian disturbs the coefficients less, unless `noise` says.
    """
    if isinstance(selection, Selection):
        stated, columns, selected = selection.assumptions, selection.columns, True
        if assumptions is not None and assumptions.hash != stated.hash:
            raise AssumptionError(
                "The selection was made under other assumptions; leave assumptions out, or select again."
            )
    else:
        if assumptions is None:
            raise AssumptionError("A model given by names needs assumptions as well: estimate(..., assumptions=...).")
        stated, selected = assumptions, False
        columns = columns_of(candidates_for(stated, [selection]).mask(0))
    plan = plan_estimate(
        stated,
        columns,
        epsilon=epsilon,
        delta=delta,
        noise=noise,
        level=level,
        intervals=intervals,
        selected=selected,
    )
    return release_estimate(moments_of(source, stated), plan, ledger, data=data, analyst=analyst)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Public. A choice and the coefficients of what was chosen; each carries its price and its receipt.

    Formal guarantee: both together cost no more than `budget`, by basic composition; a ledger may find less.
    """

    selection: Selection
    coefficients: Coefficients
    budget: Budget

    def __str__(self) -> str:
        return f"{self.selection}\n{self.coefficients}"

    def _repr_html_(self) -> str:
        return self.selection._repr_html_() + self.coefficients._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "format": FORMAT,
            "selection": self.selection.to_dict(),
            "coefficients": self.coefficients.to_dict(),
            "budget": {"epsilon": str(self.budget.epsilon), "delta": str(self.budget.delta)},
        }

    def to_json(self) -> str:
        """Both releases as a JSON text that `from_json` reads back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Analysis:
        """An analysis from its JSON text."""
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise DataError(f"This is a {values['format']!r}, and a {FORMAT!r} is needed.")
            return cls(
                selection=Selection.from_dict(values["selection"]),
                coefficients=Coefficients.from_dict(values["coefficients"]),
                budget=Budget(**values["budget"]),
            )
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise DataError("This is not the JSON text of a dpselect analysis.") from None


def analyze(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    delta: Price = 0,
    split: tuple[Price, Price] = SPLIT,
    method: Method = "pcls",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "bootstrap",
    ledger: Ledger | None = None,
    data: str = "",
    analyst: str = "",
) -> Analysis:
    """Choose a model and estimate it, from one budget.

    Example: `analyze(frame, assumptions, epsilon=2, delta=1e-6)`. `split` are the shares of epsilon for the choice and for the
    estimate. Method "pcls" leaves all of delta to the estimate, "pcpl" half of it. The rows are read once. The ledger must
    have room for the whole before the first half is drawn, so that a choice is not paid for and left without coefficients.
    """
    budget = Budget(exact_epsilon(epsilon), exact_delta(delta))
    choice, rest = budget.split(*split)
    slack = budget.delta / 2 if method == "pcpl" else Decimal(0)
    # Before any row is read: is what will be asked of the estimate allowed at all?
    plan_estimate(assumptions, (), epsilon=rest, delta=budget.delta - slack, level=level, intervals=intervals)
    if ledger is not None:
        chosen = mechanism if method == "pcls" else f"pcpl/{mechanism}"
        ledger.check(
            Charge(what="select", mechanism=chosen, epsilon=choice, delta=slack),
            Charge(what="estimate", mechanism="laplace-moments", epsilon=rest, delta=budget.delta - slack),
        )
    moments = moments_of(source, assumptions)
    selection = select(
        moments,
        assumptions,
        epsilon=choice,
        delta=slack,
        method=method,
        mechanism=mechanism,
        candidates=candidates,
        penalty=penalty,
        ledger=ledger,
        data=data,
        analyst=analyst,
    )
    try:
        coefficients = estimate(
            moments,
            selection,
            epsilon=rest,
            delta=budget.delta - slack,
            level=level,
            intervals=intervals,
            ledger=ledger,
            data=data,
            analyst=analyst,
        )
    except BudgetExceeded as refused:  # somebody else has spent in between
        refused.add_note(f"The choice was drawn and is paid for: {selection}.")
        raise
    return Analysis(selection=selection, coefficients=coefficients, budget=budget)
