"""Private. The losses of every subset of the columns, in one pass over the lattice of subsets, each with a certified bound.

By convexity column j is in the support of the solution for a subset M iff it violates M without it: its residual correlation
there exceeds the multiplier of the l1 bound. So the children of M (M without one column) tell its support and signs, and
what is left is one pivot and one division. A compiled kernel does this at some 10^7 subsets a second and core, its NumPy twin
some fifty times slower; both certify every subset by the proof in `lattice_certificate`, copies and singular ones included.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpselect.errors import StudyError
from dpselect.minimize.losses import lattice_compiled, lattice_numpy

Floats = NDArray[np.float64]
Backend = Literal["auto", "c", "numpy"]
ShareDone = Callable[[float], None]

ROUNDED_ONCE = 2.0**-53
"""The relative error of an entry that was rounded once to a double."""
BYTES_PER_SUBSET = 24
"""What a run needs at most: the value, its bound, and the marks or the wider bound that is handed back."""


def lattice_losses(
    products: ArrayLike,
    radius: float,
    *,
    max_size: int | None = None,
    error: float = ROUNDED_ONCE,
    backend: Backend = "auto",
    threads: int = 1,
    progress: ShareDone | None = None,
) -> tuple[Floats, Floats]:
    """The loss of every subset of d columns, and a certified bound on its error, in integer order of the masks.

    `products` (d+1, d+1) are those of `Moments.scaled()`, the response last, each entry off by at most `error` of itself.
    All masks 0 .. 2^d - 1, or those with at most `max_size` columns. Threads change nothing, to the last bit.
    Claim: |values - losses| <= bounds, whatever rounding did; a bound may be infinite. Why: `lattice_certificate`.

    Tested: tests/minimize/losses/test_lattice.py
    """
    table, limit = _table(products, 2), _radius(radius)
    width = table.shape[-1] - 1
    if max_size is not None and not max_size >= 0:
        raise StudyError(f"max_size is {max_size}; it must be 0 or more.")
    if not threads >= 1:
        raise StudyError(f"threads is {threads}; it must be 1 or more.")
    _affordable(width, max_size, 1)
    if _compiled(backend, width):
        values, narrow = lattice_compiled.solve_lattice(
            table, limit, error, max_size=max_size, threads=threads, progress=progress
        )
        return values, narrow.astype(np.float64)
    found, bounds = lattice_numpy.solve_lattices(table[None], np.array([limit]), error, max_size, progress)
    return found[0, 0], bounds[0, 0]


def batch_losses(
    products: ArrayLike, radii: ArrayLike, *, error: float = ROUNDED_ONCE, backend: Backend = "auto", threads: int = 1
) -> Floats:
    """The losses (B, K, 2^d) of many tables of products (B, d+1, d+1), each with every one of K radii."""
    return batch_bounds(products, radii, error=error, backend=backend, threads=threads)[0]


def batch_bounds(
    products: ArrayLike, radii: ArrayLike, *, error: float = ROUNDED_ONCE, backend: Backend = "auto", threads: int = 1
) -> tuple[Floats, Floats]:
    """As `batch_losses`, with the certified bounds on their errors."""
    tables, limits = _table(products, 3), _radii(radii)
    count = _affordable(tables.shape[-1] - 1, None, tables.shape[0] * limits.size)
    if not tables.shape[0] * limits.size:
        return np.empty((tables.shape[0], limits.size, count)), np.empty((tables.shape[0], limits.size, count))
    if _compiled(backend, tables.shape[-1] - 1):
        values, narrow = lattice_compiled.solve_batch(tables, limits, error, threads=threads)
        return values, narrow.astype(np.float64)
    return lattice_numpy.solve_lattices(tables, limits, error)


def _compiled(backend: Backend, width: int) -> bool:
    if backend == "c" and not lattice_compiled.is_available():
        raise StudyError('backend is "c", but the compiled kernel was not built here; use "auto" or "numpy".')
    return backend != "numpy" and lattice_compiled.is_available() and width <= lattice_compiled.WIDEST


def _affordable(width: int, max_size: int | None, problems: int) -> int:
    """How many subsets there are; refuse them before anything is allocated if memory cannot hold them."""
    count = lattice_compiled.count_of(width, width if max_size is None else max_size)
    have = _memory()
    if count * problems * BYTES_PER_SUBSET > have or width > 64:
        fits = max(int(have / BYTES_PER_SUBSET / max(problems, 1)).bit_length() - 1, 0)
        raise StudyError(
            f"{count * problems:,} subsets of {width} columns need {BYTES_PER_SUBSET} bytes each, and memory allows all subsets "
            f"of at most {fits} columns: set max_size, or give a shorter list of candidates."
        )
    return count


@lru_cache(maxsize=1)
def _memory() -> float:
    """Bytes that may be taken: the machine's memory, or no limit where it does not say."""
    try:
        return 0.75 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _table(products: ArrayLike, dimensions: int) -> Floats:
    table = np.ascontiguousarray(products, np.float64)
    if table.ndim != dimensions or table.shape[-1] != table.shape[-2] or table.shape[-1] < 1:
        raise StudyError(f"Products must be square with the response last, in an array of {dimensions} dimensions.")
    return table


def _radii(radii: ArrayLike) -> Floats:
    return np.array([_radius(radius) for radius in np.atleast_1d(radii)])


def _radius(radius: float) -> float:
    if not 0 <= radius < math.inf:
        raise StudyError(f"The radius is {radius:g}; it must be a finite number, 0 or more.")
    return float(radius)
