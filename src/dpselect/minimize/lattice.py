"""Private. The losses of every subset of the columns in one pass over the lattice of subsets, each with a certified bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpselect.errors import AssumptionError
from dpselect.minimize.lattice_numpy import solve_lattices

Floats = NDArray[np.float64]
Backend = Literal["auto", "c", "numpy"]
EXACT = 2.0**-53
"""The relative error of an entry that was rounded once to a double."""

WIDTH_AT_MOST = 28
"""No lattice of more columns is listed."""


def lattice_losses(
    products: ArrayLike,
    radius: float,
    *,
    error: float = EXACT,
    backend: Backend = "auto",
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> tuple[Floats, Floats]:
    """The loss of every subset of d columns, and a certified bound on its error, for masks 0 .. 2^d - 1 in integer order.

    `products` (d+1, d+1) are those of `Moments.scaled()`, the response last, each entry off by at most `error` of itself.
    Claim: |values - losses| <= bounds, whatever rounding did; a bound may be infinite. Why: `lattice_certificate`.

    Tested: tests/minimize/test_lattice.py
    """
    table = _table(products, 2)
    values, bounds = solve_lattices(table[None], _radii([radius]), error, progress)
    return values[0, 0], bounds[0, 0]


def batch_losses(
    products: ArrayLike,
    radii: ArrayLike,
    *,
    error: float = EXACT,
    backend: Backend = "auto",
    threads: int = 1,
) -> Floats:
    """The losses (B, K, 2^d) of many tables of products (B, d+1, d+1), each with every one of K radii."""
    return batch_bounds(products, radii, error=error, backend=backend, threads=threads)[0]


def batch_bounds(
    products: ArrayLike,
    radii: ArrayLike,
    *,
    error: float = EXACT,
    backend: Backend = "auto",
    threads: int = 1,
) -> tuple[Floats, Floats]:
    """As `batch_losses`, with the certified bounds on their errors."""
    tables, limits = _table(products, 3), _radii(radii)
    shape = (tables.shape[0], limits.size, 1 << (tables.shape[-1] - 1))
    values, bounds = np.empty(shape), np.empty(shape)
    # A piece of 2^14 subsets keeps its tableaus in the cache.
    step = max(1, (1 << 14) // (shape[1] * shape[2]))
    for start in range(0, shape[0], step):
        piece = slice(start, start + step)
        values[piece], bounds[piece] = solve_lattices(tables[piece], limits, error)
    return values, bounds


def _table(products: ArrayLike, dimensions: int) -> Floats:
    table = np.ascontiguousarray(products, np.float64)
    if table.ndim != dimensions or table.shape[-1] != table.shape[-2] or table.shape[-1] < 1:
        raise AssumptionError(
            f"Products must be square with the response last, in an array of {dimensions} dimensions."
        )
    if table.shape[-1] - 1 > WIDTH_AT_MOST:
        raise AssumptionError(
            f"All subsets of {table.shape[-1] - 1} columns are too many to list, at most {WIDTH_AT_MOST} columns are allowed: "
            "set max_size, or give a shorter list of candidates."
        )
    return table


def _radii(radii: ArrayLike) -> Floats:
    limits = np.atleast_1d(np.asarray(radii, np.float64))
    for radius in limits:
        if not (radius >= 0 and math.isfinite(radius)):
            raise AssumptionError(f"The radius is {radius:g}; it must be a finite number, 0 or more.")
    return limits
