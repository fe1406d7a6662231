"""The researcher's door: both algorithms of Lei et al., in the paper's symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dpselect.assume.models.budget import Price
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.penalty import Penalty
from dpselect.assume.models.recipe import Mechanism, make_recipe
from dpselect.assume.models.subsets import Model, Subsets
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.gather.sources.arrays import named_matrix
from dpselect.gather.table import gather_table
from dpselect.penalize.penalize import score
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.select import release_selection
from dpselect.release.selection import Selection


def pcls(
    X: Any,
    y: Any,
    *,
    epsilon: Price,
    r: float,
    R: float,
    phi: Penalty,
    mechanism: Mechanism = "permute-and-flip",
    neighbors: Neighbors = "replace-one",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    names: Sequence[str] | None = None,
    ledger: Ledger | None = None,
) -> Selection:
    """Algorithm 1, penalized constrained least squares: a model with pure epsilon-differential privacy.

    Example: `pcls(X, y, epsilon=1, r=4, R=3, phi=100)`. Entries of X outside [-1, 1] and of y outside [-r, r] are clipped; r, R
    and phi must be stated without looking at the data. The candidates are all non-empty sets of columns unless given.
    """
    matrix, listed = named_matrix(X, names)
    assumptions = plain_assumptions(listed, r=r, R=R, neighbors=neighbors)
    moments = gather_table((matrix, y), assumptions)
    rows = moments.n if neighbors == "replace-one" else None
    recipe = make_recipe(
        assumptions, rows=rows, epsilon=epsilon, mechanism=mechanism, candidates=candidates, penalty=phi
    )
    return release_selection(score(moments, recipe), recipe, ledger)


def pcpl(
    X: Any,
    y: Any,
    *,
    epsilon: Price,
    delta: Price,
    r: float,
    R: float,
    phi: Penalty,
    mechanism: Mechanism = "permute-and-flip",
    neighbors: Neighbors = "replace-one",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    names: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    as_printed: bool = False,
) -> Selection:
    """Algorithm 2, penalized constrained profile likelihood: a model with (epsilon, delta)-differential privacy.

    Example: `pcpl(X, y, epsilon=1, delta=1e-6, r=4, R=3, phi="bic")`. Half of epsilon buys the bound on the score's
    sensitivity, half pays for the choice; `as_printed` uses the paper's looser form of that bound.
    """
    matrix, listed = named_matrix(X, names)
    assumptions = plain_assumptions(listed, r=r, R=R, neighbors=neighbors)
    moments = gather_table((matrix, y), assumptions)
    recipe = make_recipe(
        assumptions,
        rows=moments.n,
        epsilon=epsilon,
        delta=delta,
        method="pcpl",
        mechanism=mechanism,
        candidates=candidates,
        penalty=phi,
        as_printed=as_printed,
    )
    return release_selection(score(moments, recipe), recipe, ledger)
