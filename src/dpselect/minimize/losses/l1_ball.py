"""Private. Losses of any list of candidates in double precision: the lasso path of each, many candidates at a time.

The method is that of exact.py (read its docstring for the path, its pieces and events), on arrays: candidates of one size form
a batch whose tables are swept together, one exchange a step. Floats cannot tell ties from near-ties and lose digits
on nearly dependent columns, so three things are different:

- a column whose pivot has fallen below a share of its diagonal is taken as dependent on the support and never joins;
- the path only finds support and signs; the coefficients are then solved for afresh and refined (`_on_face`);
- nothing is trusted: certificate.py bounds the error of what comes out, whatever went wrong on the way.

Tested: tests/minimize/losses/test_l1_ball.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.losses.certificate import Floats, certify, into_ball

Masks = NDArray[np.uint64]

BATCH = 2**17
"""Floats in the tables of a batch: about what the processor's cache holds."""

_TRUSTED = 2.0**30
_RIDGE = 2.0**-44
_DEPENDENT = 2.0**-43


def list_losses(
    products: Floats, masks: Masks, radius: float, *, progress: Callable[[float], None] | None = None
) -> tuple[Floats, Floats]:
    """(values, bounds) of the candidates in the list's order, with |value - loss| <= bound; at most 64 columns.

    Why: certificate.py, whatever b the solver found. Tested: tests/minimize/losses/test_l1_ball.py
    """
    values, bounds = np.empty(masks.size), np.empty(masks.size)
    done = 0
    for some in _batches(masks):
        values[some], bounds[some], _ = solve_list(products, masks[some], radius)
        done += some.size
        if progress is not None:
            progress(done / masks.size)
    return values, bounds


def solve_list(products: Floats, masks: Masks, radius: float) -> tuple[Floats, Floats, Floats]:
    """(values, bounds, coefficients), one row a candidate: for lists short enough to keep the coefficients."""
    member = _members(masks, len(products) - 1)
    coefficients = np.zeros(member.shape)
    # Overflow and 0/0 end in a bound that is not small, and the candidate in the exact solver: nothing to tell.
    with np.errstate(all="ignore"):
        for some in _batches(masks):
            coefficients[some] = _solve(products, member[some], radius)
        coefficients = into_ball(coefficients, radius)
        return *certify(products, coefficients, member, radius), coefficients


def _members(masks: Masks, width: int) -> NDArray[np.bool_]:
    """Which columns each candidate has: a row each."""
    return (masks[:, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)).astype(bool)


def _batches(masks: Masks) -> Iterator[NDArray[np.intp]]:
    """The places of the candidates, in batches of one size whose tables fit the cache."""
    sizes = np.bitwise_count(masks)
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        step = max(1, BATCH // (int(size) + 1) ** 2)
        for begin in range(0, places.size, step):
            yield places[begin : begin + step]


def _solve(products: Floats, member: NDArray[np.bool_], radius: float) -> Floats:
    """Coefficients for candidates of one size, one row each, zero outside the candidate."""
    coefficients = np.zeros(member.shape)
    if radius == 0 or not member.any():
        return coefficients
    columns = np.nonzero(member)[1].reshape(member.shape[0], -1)
    indices = np.column_stack([columns, np.full(len(columns), len(products) - 1)])
    tables = products[indices[:, :, None], indices[:, None, :]]
    gram, cross = tables[:, :-1, :-1], tables[:, :-1, -1]
    diagonal = np.einsum("ijj->ij", gram)
    everything = np.where(diagonal > 0, 1.0, 0.0)
    inverse = _inverse(gram, everything)
    solution = _on_face(gram, cross, everything, np.inf, inverse)
    # Least squares inside the ball is the answer; nearly dependent columns have better solutions at the end of the path.
    independent = (np.einsum("ijj->ij", inverse) * diagonal <= _TRUSTED).all(axis=1)
    rest = np.flatnonzero(~(independent & (np.abs(solution).sum(axis=1) <= radius)))
    if rest.size:
        signs = _follow(tables[rest], radius)
        some = gram[rest]
        solution[rest] = _on_face(some, cross[rest], signs, radius, _inverse(some, signs))
    np.put_along_axis(coefficients, columns, solution, axis=1)
    return coefficients


def _follow(tables: Floats, radius: float) -> Floats:
    """The signs (0 outside the support) of the pieces of the paths that hold the norm `radius` or end at theta = 0."""
    count, size = tables.shape[0], tables.shape[1] - 1
    found, signs = np.zeros((count, size)), np.zeros((count, size))
    live = np.arange(count)
    smallest_pivot = _DEPENDENT * np.einsum("ijj->ij", tables)[:, :-1]
    for _ in range(4 * size + 8):
        residual, slopes = tables[:, :-1, -1], _times(tables[:, :-1, :-1], signs)
        free = (signs != 0) | (np.einsum("ijj->ij", tables)[:, :-1] > smallest_pivot)
        theta, chosen, direction = _next_events(residual, slopes, signs, free)
        norms = -np.einsum("ij,ij->i", signs, residual + theta[:, None] * slopes)
        over = (norms >= radius) | (theta <= 0)
        found[live[over]] = signs[over]
        on = np.flatnonzero(~over)
        if on.size == 0:
            return found
        if on.size < over.size:
            live, tables, signs, smallest_pivot = live[on], tables[on], signs[on], smallest_pivot[on]
            chosen, direction = chosen[on], direction[on]
        row = np.arange(on.size)
        signs[row, chosen] = np.where(signs[row, chosen] == 0, direction, 0.0)
        _exchange(tables, chosen)
    found[live] = signs
    return found


def _next_events(
    residual: Floats, slopes: Floats, signs: Floats, free: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """For each path (theta, column, sign) of its next event among the columns that are free; theta = 0 if there is none."""
    outside = signs == 0
    best, direction = np.zeros_like(residual), np.zeros_like(residual)
    for sign in (1.0, -1.0):
        rate, gain = outside - sign * slopes, sign * residual
        possible = free & (rate > 0) & (gain > 0) & (outside | (signs == sign))
        theta = np.divide(gain, rate, out=np.zeros_like(rate), where=possible)
        better = theta > best
        best, direction = np.where(better, theta, best), np.where(better, sign, direction)
    chosen = best.argmax(axis=1)
    row = np.arange(len(chosen))
    return best[row, chosen], chosen, direction[row, chosen]


def _exchange(tables: Floats, pivots: NDArray[np.intp]) -> None:
    """One principal pivot in each table, in place."""
    each = np.arange(len(pivots))
    row, column = tables[each, pivots], tables[each, :, pivots]
    pivot = row[each, pivots][:, None]
    row = row / pivot
    tables -= column[:, :, None] * row[:, None, :]
    column /= pivot
    tables[each, :, pivots] = column
    tables[each, pivots] = -row
    tables[each, pivots, pivots] = 1.0 / pivot[:, 0]


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """Each matrix times its vector."""
    result: Floats = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return result


def _inverse(gram: Floats, signs: Floats) -> Floats:
    """The inverses of the blocks of the supports, with a ridge that makes each exist; 1 on the rest of the diagonal."""
    inside = signs != 0
    matrix = np.where(inside[:, :, None] & inside[:, None, :], gram, 0.0)
    place = np.arange(signs.shape[1])
    matrix[:, place, place] = np.where(inside, matrix[:, place, place] * (1 + _RIDGE), 1.0)
    try:
        inverse: Floats = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:  # one exactly singular after all: give the batch up to the exact solver
        return np.full_like(matrix, np.nan)
    return inverse


def _on_face(gram: Floats, cross: Floats, signs: Floats, radius: float, inverse: Floats) -> Floats:
    """The coefficients with the given support and signs: G b + theta s = c, and s'b = radius or theta = 0.

    Two steps of refinement on the true equations take the ridge's effect away.
    """
    inside = signs != 0
    unit = _times(inverse, signs)
    steepness = np.einsum("ij,ij->i", signs, unit)
    solution, theta = np.zeros_like(signs), np.zeros(len(signs))
    for _ in range(3):
        left = np.where(inside, cross - _times(gram, solution) - theta[:, None] * signs, 0.0)
        change = _times(inverse, left)
        excess = np.einsum("ij,ij->i", signs, solution + change) - radius
        shift = np.maximum(np.where(steepness > 0, excess / steepness, 0.0), -theta)
        solution += change - shift[:, None] * unit
        theta += shift
    agrees = (signs * solution >= 0) | (theta == 0)[:, None]
    return np.where(agrees & np.isfinite(solution), solution, 0.0)
