"""Private coefficients of a model that was chosen, or settled without looking at the rows."""

from __future__ import annotations

from typing import Any

from dpselect.assume.lemmas.moment_sensitivity import NoiseKind
from dpselect.assume.models.budget import Price
from dpselect.assume.models.candidates import columns_of
from dpselect.assume.models.subsets import Model, candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.table import gather_table
from dpselect.release.account import Account
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.intervals import IntervalKind, Intervals
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection


def estimate(
    source: Any,
    selection: Selection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    assumptions: Assumptions | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "plain",
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
        intervals=Intervals(level, intervals),
        selected=selected,
    )
    return release_estimate(gather_table(source, stated), plan, Account(ledger, data, analyst))
