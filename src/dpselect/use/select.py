"""The whole path in one screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpselect.assume.models.budget import Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.recipe import Mechanism, Method, make_recipe
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table
from dpselect.penalize.penalize import score
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.select import release_selection
from dpselect.release.selection import Selection


def select(
    source: Any,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    delta: Price = 0,
    method: Method = "pcls",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    ledger: Ledger | None = None,
    data: str = "",
    analyst: str = "",
) -> Selection:
    """Choose a model with a differential-privacy guarantee.

    Example: `select(frame, assumptions, epsilon=1.0)`. `source` is anything that `gather` reads, or moments that it returned;
    `epsilon` (and `delta` for method "pcpl") is the whole price. `penalty` is the cost of a column: a number in squared
    units of the response (for "pcpl" in units of -2 log-likelihood), "aic", "bic", one number a column, or None for a public
    default that balances sampling noise and privacy noise.
    """
    moments = moments_of(source, assumptions)
    recipe = make_recipe(
        assumptions,
        rows=moments.n if assumptions.neighbors == "replace-one" else None,
        epsilon=epsilon,
        delta=delta,
        method=method,
        mechanism=mechanism,
        candidates=candidates,
        penalty=penalty,
    )
    return release_selection(score(moments, recipe), recipe, ledger, data=data, analyst=analyst)


def moments_of(source: Any, assumptions: Assumptions) -> Moments:
    """Moments that belong to the assumptions, gathered if they are not yet."""
    if isinstance(source, Moments):
        if source.assumptions != assumptions.hash:
            raise DataError("These moments were gathered under other assumptions: gather them again with these.")
        return source
    return gather_table(source, assumptions)
