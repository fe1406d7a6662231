"""`dpselect.estimate`: the coefficients of a model that was selected, or settled without looking at the rows."""

from __future__ import annotations

from typing import Any

from dpselect.assume.budget import Budget, Price
from dpselect.assume.candidates import Model, candidates_for, columns_of
from dpselect.assume.lemmas.moments import NoiseKind
from dpselect.assume.queries import FamilyName
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.gather.rows import has_rows_again
from dpselect.release.account import LedgerPlace, account_of
from dpselect.release.drawn import as_level
from dpselect.release.estimate import Estimate
from dpselect.release.families import family_for
from dpselect.release.selection import Selection
from dpselect.use.order import Estimating, order_estimate
from dpselect.use.spend import spend


def estimate(
    source: Any,
    selection: Selection | Model,
    *,
    epsilon: Price,
    delta: Price = 0,
    study: Study | None = None,
    level: float = 0.95,
    noise: NoiseKind | None = None,
    family: FamilyName | None = None,
    ledger: LedgerPlace | None = None,
    data: str = "",
    analyst: str = "",
) -> Estimate:
    """Estimate the coefficients of a model, with intervals and a differential-privacy guarantee.

    The rows are read again for a few rounds of noisy sums, which need a delta and no ranges. Where they cannot be read again
    (moments, or a stream), with delta 0 or with noise="laplace", coefficients come from noisy moments, which need all ranges.

    Parameters
    ----------
    source : table, path, address or Moments
        Anything that `gather` reads, or the moments that it returned.
    selection : Selection or list of str
        What `select` returned; or the names of columns or variables of a model that was settled without looking at the rows.
    epsilon : number or str
        The privacy cost of this call.
    delta : number or str, optional
        The chance that the promise fails; with 0 all noise is Laplace.
    study : Study, optional
        Needed where the model is given by names.
    level : float, optional
        The level of the intervals.
    noise : {"laplace", "gaussian"}, optional
        Of noisy moments; by default whichever disturbs the coefficients less.
    family : {"gaussian", "binomial", "poisson"}, optional
        Effects in the response's units, odds ratios or rate ratios. By default the response decides.
    ledger : Ledger or path, optional
        The ledger to charge.
    data, analyst : str, optional
        What the ledger entry says about the data and about who ran this.

    Returns
    -------
    Estimate
        Coefficients and intervals.

    Examples
    --------
    >>> dpselect.estimate("people.csv", selection, epsilon=1, delta=1e-6)  # doctest: +SKIP
    """
    stated, columns = _model(selection, study)
    budget = Budget(epsilon, delta)
    asked = Estimating(
        price=budget,
        level=as_level(level),
        family=family_for(stated, family, delta=delta, rows_again=has_rows_again(source), noise=noise),
        noise=noise,
        columns=columns,
        selected=isinstance(selection, Selection),
        directions=selection.directions if isinstance(selection, Selection) else None,
    )
    found = spend(
        order_estimate(stated, budget, asked, source=source), source, account_of(ledger, data, analyst)
    ).coefficients
    assert found is not None
    return found


def _model(selection: Selection | Model, study: Study | None) -> tuple[Study, tuple[int, ...]]:
    """The study to estimate under, and the columns."""
    if isinstance(selection, Selection):
        if study is not None and study.hash != selection.study.hash:
            raise StudyError("The selection was made under another study; leave study out, or select again.")
        return selection.study, selection.columns
    if study is None:
        raise StudyError("A model given by names needs a study as well: estimate(..., study=...).")
    return study, columns_of(candidates_for(study, [selection]).mask(0))
