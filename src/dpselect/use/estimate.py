"""Private coefficients of a model that was chosen, or settled without looking at the rows."""

from __future__ import annotations

from typing import Any, Literal, overload

from dpselect.assume.lemmas.moment_sensitivity import NoiseKind
from dpselect.assume.models.budget import Price
from dpselect.assume.models.candidates import columns_of
from dpselect.assume.models.subsets import Model, candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.table import gather_table
from dpselect.release.account import LedgerPlace, account_of
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.intervals import IntervalKind, Intervals
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.odds.release import SCALES, Scale, plan_odds, release_odds
from dpselect.release.selection import Selection
from dpselect.release.tuned_selection import TunedSelection


@overload
def estimate(
    source: Any,
    selection: Selection | TunedSelection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    assumptions: Assumptions | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "plain",
    noise: NoiseKind | None = None,
    scale: Literal["response"] = "response",
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Coefficients: ...


@overload
def estimate(
    source: Any,
    selection: Selection | TunedSelection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    assumptions: Assumptions | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "plain",
    noise: NoiseKind | None = None,
    scale: Literal["odds"],
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> OddsRatios: ...


def estimate(
    source: Any,
    selection: Selection | TunedSelection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    assumptions: Assumptions | None = None,
    level: float = 0.95,
    intervals: IntervalKind = "plain",
    noise: NoiseKind | None = None,
    scale: Scale = "response",
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Coefficients | OddsRatios:
    """Coefficients of a model with intervals, with a differential-privacy guarantee.

    Example: `estimate(moments, selection, epsilon=1.0, delta=1e-6)`. `source` is moments that `gather` returned, or anything that
    `gather` reads. `selection` is what `select` or `select_tuned` returned (under the bounds that were stated, not bought),
    or a model settled without looking at the rows: names of columns or variables, and then `assumptions` too. `epsilon` and
    `delta` are the whole price; with delta 0 the noise is Laplace, else whichever of Laplace and Gaussian disturbs the
    coefficients less, unless `noise` says. For a `Binary` response the coefficients are differences of chances; with scale="odds"
    odds ratios come instead, from rows that are read again for a few noisy rounds of Newton's method under the one price.
    """
    stated, columns = _model(selection, assumptions)
    account, selected = account_of(ledger, data, analyst), isinstance(selection, Selection | TunedSelection)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "intervals": Intervals(level, intervals)}
    if scale == "odds":
        if noise == "laplace":
            raise AssumptionError("noise is 'laplace'; the rounds of odds ratios have Gaussian noise: leave noise out.")
        return release_odds(source, plan_odds(stated, columns, selected=selected, **asked), account)
    if scale not in SCALES:
        raise AssumptionError(f"scale is {scale!r}; it must be 'response' or 'odds'.")
    plan = plan_estimate(stated, columns, noise=noise, selected=selected, **asked)
    return release_estimate(gather_table(source, stated), plan, account)


def _model(
    selection: Selection | TunedSelection | Model, assumptions: Assumptions | None
) -> tuple[Assumptions, tuple[int, ...]]:
    """The assumptions to estimate under, and the columns."""
    if isinstance(selection, TunedSelection):
        stated, columns = selection.stated, selection.columns
    elif isinstance(selection, Selection):
        stated, columns = selection.assumptions, selection.columns
        if selection.recipe.paid_before:
            # Bought bounds clip the response, which is good for choosing and false for estimating.
            if assumptions is None or assumptions.columns != stated.columns:
                raise AssumptionError(
                    "The bounds of this selection were bought for the choice; estimate with what select_tuned returned, or with "
                    "assumptions= as they were stated."
                )
            stated = assumptions
    elif assumptions is None:
        raise AssumptionError("A model given by names needs assumptions as well: estimate(..., assumptions=...).")
    else:
        return assumptions, columns_of(candidates_for(assumptions, [selection]).mask(0))
    if assumptions is not None and assumptions.hash != stated.hash:
        raise AssumptionError("The selection was made under other assumptions; leave assumptions out, or select again.")
    return stated, columns
