"""Many artificial tables at once: the same numbers for a seed, whatever the number of workers.

Simulations protect nothing, so their randomness comes from NumPy. Losses are in the response's units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.rehearse.simulate.settings import Setting, draw

Floats = NDArray[np.float64]
Reduce = Callable[[Floats, Floats, np.random.Generator], Any]
SEED = 160704204
_BATCH = 25


def spread(setting: Setting, count: int, reduce: Reduce, *, seed: int = SEED, jobs: int = 1) -> list[Any]:
    """`reduce(X, y, noise)` of each of `count` tables, in order; `noise` is a generator for what is done to the table.

    Every table has generators of its own, spawned from the seed, so how tables are dealt to workers changes nothing.

    Tested: tests/rehearse/simulate/test_tables.py
    """
    seeds = np.random.SeedSequence(seed).spawn(count)
    batches = [seeds[start : start + _BATCH] for start in range(0, count, _BATCH)]
    done = in_parallel(_some, [(setting, batch, reduce) for batch in batches], jobs)
    return [each for batch in done for each in batch]


def _some(setting: Setting, seeds: Iterable[np.random.SeedSequence], reduce: Reduce) -> list[Any]:
    return [_one(setting, seed, reduce) for seed in seeds]


def _one(setting: Setting, seed: np.random.SeedSequence, reduce: Reduce) -> Any:
    rows, noise = seed.spawn(2)
    return reduce(*draw(setting, rows), np.random.default_rng(noise))


def in_parallel(function: Callable[..., Any], calls: list[tuple[Any, ...]], jobs: int = 1) -> Iterator[Any]:
    """The results of the calls, in their order, each as soon as it and those before it are done."""
    if jobs == 1 or len(calls) <= 1:
        yield from (function(*call) for call in calls)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(*call) for call in calls)


def clipped_products(X: Floats, y: Floats, lower: float, upper: float) -> Floats:
    """Sums of products of the columns and the clipped response, centred at the middle of its bounds; the response last."""
    table = np.column_stack([X, np.clip(y, lower, upper) - (lower + upper) / 2])
    products: Floats = table.T @ table
    return products


def unclipped_products(X: Floats, y: Floats) -> tuple[Floats, float]:
    """Sums of products and r = max|y|: as in the paper, not private."""
    largest = float(np.abs(y).max())
    return clipped_products(X, y, -largest, largest), largest


def sizes_of(width: int) -> Floats:
    """The number of columns of masks 0 .. 2^width - 1."""
    masks = np.arange(1 << width)
    return np.array([int(mask).bit_count() for mask in masks], np.float64)
