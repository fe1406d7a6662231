"""Private. The loss of every candidate, each certified to the public tolerance or computed exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpselect.assume.candidates import LISTED_AT_MOST, Candidates, SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS, solver_tolerance
from dpselect.assume.recipe import Method, Recipe
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import StudyError
from dpselect.gather.blocks import BlockSums
from dpselect.gather.moments import Moments
from dpselect.gather.wide_rows import WideRows
from dpselect.minimize.losses.certificate import LARGEST_RADIUS, Floats
from dpselect.minimize.losses.exact import exact_double
from dpselect.minimize.losses.l1_ball import Masks, list_losses, solve_list
from dpselect.minimize.losses.lattice import lattice_losses
from dpselect.minimize.losses.lattice_compiled import count_of, is_available
from dpselect.minimize.losses.lattice_numpy import masks_of
from dpselect.minimize.losses.losses import Losses
from dpselect.minimize.losses.terms import suits, term_losses
from dpselect.minimize.votes.edges import EdgeLeads, count_edges
from dpselect.minimize.votes.second_look import LookedVotes, look_again
from dpselect.minimize.votes.votes import Votes, count_votes
from dpselect.minimize.votes.wide import count_wide

ShareDone = Callable[[float], None]
Gathered = Moments | BlockSums | tuple[BlockSums, ...] | WideRows
"""Private. Moments, the sums of blocks, those of every family of blocks, or the rows of a wide table."""

LATTICE_PAYS = 512 if is_available() else 8
"""Computing all subsets pays when they are at most this many times the candidates; one by one costs more than that."""

TERMS_PAY = 8
"""A set of terms costs about as much as this many subsets of the lattice."""

FINE_LOSS_SHARE = 2.0**-33
"""A share of y'y: losses are computed to this where it costs little, whatever larger error the tolerance allows."""

LITTLE_WORK = 2.0**20
"""Columns cubed, summed over candidates: about a second of the exact solver."""

ROUNDING = 2.0**-53 * MAXIMUM_ROWS
"""The most that rounding a loss to a double can move it: a loss is at most y'y <= n, and n <= MAXIMUM_ROWS."""


def minimize(
    gathered: Gathered, recipe: Recipe, progress: ShareDone | None = None
) -> Losses | Votes | EdgeLeads | LookedVotes:
    """The loss of every candidate to the tolerance that its range pays for; or, with votes, what every block says."""
    return MINIMIZERS[recipe.method](gathered, recipe, progress)


def _votes(sums: Any, recipe: Recipe, progress: ShareDone | None) -> Votes | EdgeLeads | LookedVotes:
    assert recipe.votes is not None
    if isinstance(recipe.votes, EdgeRule):
        return count_edges(sums, recipe.votes, recipe.candidates)
    if isinstance(recipe.votes, WideRule):
        return count_wide(sums, recipe.votes) if recipe.votes.second is None else look_again(sums, recipe.votes)
    return count_votes(sums, ridge=recipe.votes.ridge)


def _losses(gathered: Moments, recipe: Recipe, progress: ShareDone | None) -> Losses:
    rho = recipe.study.rho
    tolerance = solver_tolerance(1.0, rho, recipe.rows)
    return minimize_all(gathered, recipe.candidates, rho, tolerance=tolerance, progress=progress)


@np.errstate(all="ignore")  # whatever the program has set: no exception may depend on the rows
def minimize_all(
    moments: Moments,
    candidates: Candidates,
    radius: float,
    *,
    tolerance: float | None = None,
    progress: ShareDone | None = None,
) -> Losses:
    """The losses of all candidates, in their order, columns and response in [-1, 1]; radius in units of the response.

    Claim: |value - loss| <= the tolerance stated in the result, for every candidate and every table of at most
    MAXIMUM_ROWS rows. That tolerance is public: `tolerance` (by default `solver_tolerance`), and no less than `ROUNDING`.
    Why: a value either carries a certified bound of at most `tolerance`, or is the exact loss rounded once, off by at most
    2^-53 of itself. Once the public arguments have passed the door nothing here raises, whatever the rows were.
    `progress` hears a share of public work, never how many candidates needed the exact solver.

    Tested: tests/minimize/test_minimize.py, tests/claims/test_losses.py
    """
    if not 0 <= radius <= LARGEST_RADIUS:
        raise StudyError(f"The radius is {radius:g}; it must be between 0 and 2^100: name a smaller one.")
    if candidates.width != len(moments.columns):
        raise StudyError(
            f"The candidates range over {candidates.width} columns and the moments have {len(moments.columns)}: "
            "build the candidates from the same assumptions."
        )
    wanted = solver_tolerance(1.0, radius) if tolerance is None else tolerance
    masks = candidates.masks()
    products = moments.scaled()
    values, bounds = _certified(products, candidates, masks, radius, progress)
    target = _target(wanted, bounds, masks, products[-1, -1])
    missed = np.flatnonzero(~(bounds <= target))
    if missed.size:
        values[missed] = _insist(moments, products, masks[missed], radius, target)
    return Losses(values, max(wanted, ROUNDING), candidates)


def _target(wanted: float, bounds: Floats, masks: Masks, square: float) -> float:
    """The bound to insist on: the tolerance, or, if that costs little, ten digits of y'y for a confidential preview."""
    fine = min(wanted, FINE_LOSS_SHARE * square)
    work = np.bitwise_count(masks[~(bounds <= fine)]).astype(np.float64) ** 3
    return fine if work.sum() <= LITTLE_WORK else wanted


def _certified(
    products: Floats, candidates: Candidates, masks: Masks, radius: float, progress: ShareDone | None
) -> tuple[Floats, Floats]:
    """(values, bounds): through all sets of terms, or the lattice of the columns in use, when that is cheaper, else one by one.

    The lattice is that of all subsets as large as the largest candidate: the losses of smaller ones come with them.
    """
    used = columns_of(int(np.bitwise_or.reduce(masks)))
    size = int(np.bitwise_count(masks).max())
    visited = count_of(len(used), size)
    if isinstance(candidates, SubsetRule) and suits(candidates) and visited > TERMS_PAY * masks.size:
        return term_losses(products, candidates, radius, progress=progress)
    if visited > min(LISTED_AT_MOST, LATTICE_PAYS * masks.size):
        return list_losses(products, masks, radius, progress=progress)
    kept = [*used, len(products) - 1]
    values, bounds = lattice_losses(products[np.ix_(kept, kept)], radius, max_size=size, progress=progress)
    if visited - masks.size <= int(masks[0] != 0) and (masks[1:] > masks[:-1]).all():
        return values[-masks.size :], bounds[-masks.size :]
    packed = _packed(masks, used)
    places = packed if visited == 2 ** len(used) else np.searchsorted(masks_of(len(used), size), packed)
    return values[places], bounds[places]


def _packed(masks: Masks, used: tuple[int, ...]) -> Masks:
    """The masks over the columns in use only: bit i for the i-th of them."""
    packed = np.zeros_like(masks)
    for i, j in enumerate(used):
        packed |= (masks >> np.uint64(j) & np.uint64(1)) << np.uint64(i)
    return packed


def _insist(moments: Moments, products: Floats, masks: Masks, radius: float, wanted: float) -> Floats:
    """Values for candidates that missed the tolerance: by a path of their own, and exactly if that misses it too."""
    values, bounds, coefficients = solve_list(products, masks, radius)
    integers = moments.integers()
    for i in np.flatnonzero(~(bounds <= wanted)):
        values[i] = exact_double(integers, int(masks[i]), radius, coefficients[i].tolist())
    return values


MINIMIZERS: dict[Method, Callable[[Any, Recipe, ShareDone | None], Losses | Votes | EdgeLeads | LookedVotes]] = {
    "votes": _votes,
    "pcls": _losses,
    "pcpl": _losses,
}
"""What each method makes of its sums; `use.methods` has the whole table."""
