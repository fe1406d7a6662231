"""Private coefficients of a model that was chosen, or settled without looking at the rows."""

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
    """Coefficients of a model with intervals, with a differential-privacy guarantee.

    Example: `estimate(frame, selection, epsilon=1.0, delta=1e-6)`. `source` is anything that `gather` reads. `selection` is what
    `select` returned, or a model settled without looking at the rows: names of columns or variables, and then `study` too.
    `epsilon` and `delta` are the whole price. `family` is "gaussian" (differences in the response's units, of a `Binary` response
    of chances), "binomial" (odds ratios) or "poisson" (rate ratios); without it the response decides.

    The rows are read again for a few rounds of noisy sums under the one price, which need a delta and no bounds. Where they cannot
    be read again (moments that `gather` returned, or a stream), with delta 0 or with noise="laplace", coefficients come from
    noisy moments, which need all bounds; their noise is Laplace with delta 0, else whichever of Laplace and Gaussian disturbs the
    coefficients less, unless `noise` says.
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
