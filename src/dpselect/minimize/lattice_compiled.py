"""Private. The C kernel's door: which blocks of subsets are solved together, in which order and by which thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.lattice_certificate import PIVOT, SLACK, norm_factor, rounding_shares

try:
    from dpselect.minimize import _lattice
except ImportError:  # no compiler was there; the NumPy twin serves
    _lattice = None  # type: ignore[assignment]

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Progress = Callable[[float], None]

LANES = 4
"""Blocks that the kernel solves side by side."""
NARROW = 32
"""Up to this many columns a subset's marks fit one word."""
WIDEST = 63
TURN = 2**19
"""About how many subsets are solved between two looks at the clock and at Ctrl-C."""

_NONE = np.empty(0, np.uint64)


def is_available() -> bool:
    """Whether the compiled kernel was built."""
    return _lattice is not None


def ways_of(width: int, max_size: int) -> Words:
    """ways[t, c]: how many sets of the first t columns have at most c of them, for c up to max_size + 1."""
    ways = np.ones((width + 1, max_size + 2), np.uint64)
    for t in range(width):
        ways[t + 1, 1:] = ways[t, 1:] + ways[t, :-1]
    return ways


@lru_cache(maxsize=64)
def count_of(width: int, max_size: int) -> int:
    """How many subsets of at most `max_size` of `width` columns there are."""
    return sum(comb(width, size) for size in range(min(width, max_size) + 1))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """Public. The blocks of a lattice: which go together, in which order, and where their numbers are kept.

    A block is all subsets with the same top columns. The four blocks of a group have tops of the same size, so none needs
    another one of them; a level is all groups whose tops have the same size, and needs only the level before.
    """

    low: int
    tops: Words  # (groups, LANES)
    levels: tuple[tuple[int, int], ...]  # first and last group of each
    starts: Words  # (2^tops,)
    sizes: NDArray[np.int64]  # (groups,)
    total: int


@lru_cache(maxsize=8)
def plan_lattice(width: int, max_size: int, split: int | None = None) -> Plan:
    """Split the lattice on its top columns, far enough that the four lanes are seldom idle."""
    top_bits = (min(8, width // 2) if max_size >= width else min(12, width // 2)) if split is None else split
    low = width - top_bits
    ways = ways_of(width, max_size)
    masks = np.arange(1 << top_bits, dtype=np.uint64)
    popcounts = np.bitwise_count(masks).astype(np.int64)
    rooms = np.clip(max_size - popcounts, 0, max_size)
    block_sizes = np.where(popcounts <= max_size, ways[low, rooms], np.uint64(0))
    starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(block_sizes)[:-1]])
    levels = [_groups(masks[popcounts == size]) for size in range(min(top_bits, max_size) + 1)]
    tops = np.concatenate(levels)
    ends = np.cumsum([len(level) for level in levels]).tolist()
    sizes = block_sizes[tops[:, 0]].astype(np.int64)
    return Plan(low, tops << np.uint64(low), tuple(zip([0, *ends], ends)), starts, sizes, int(sizes.sum()))


def _groups(level: Words) -> Words:
    """Tops of one size by fours that share many columns: the kernel goes through all columns of the four. (groups, LANES)"""
    groups = np.empty((-(-level.size // LANES), LANES), np.uint64)
    for group in groups:
        group[:] = level[0]  # idle lanes repeat it
        for lane in range(min(LANES, level.size)):
            nearest = np.argmin(np.bitwise_count(level | np.bitwise_or.reduce(group)))
            group[lane] = level[nearest]
            level = np.delete(level, nearest)
    return groups


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Run:
    """Private. One call's arrays, as the kernel wants them."""

    arrays: tuple[NDArray[np.generic], ...]
    numbers: tuple[int, int, int, int, float, float, float]
    plain: bool  # without what newer processors can do

    def __call__(self, first: int, last: int) -> None:
        _lattice.run(self.arrays, *self.numbers, (first, last), int(self.plain))


def solve_lattice(
    products: Floats,
    radius: float,
    error: float,
    *,
    max_size: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    plain: bool = False,
) -> tuple[Floats, NDArray[np.float32]]:
    """Values and certified bounds of every subset (of at most `max_size` columns), in the order of the masks."""
    width = products.shape[-1] - 1
    largest = width if max_size is None else min(max_size, width)
    plan = plan_lattice(width, largest)
    full = largest == width
    words = 1 if width <= NARROW else 2
    count = count_of(width, largest)
    values, bounds = np.empty(count), np.empty(count, np.float32)
    marks = np.empty(count * words, np.uint64)
    ways = _NONE if full else ways_of(width, largest)
    arrays = (
        products, np.array([radius], np.float64), values, bounds, marks, rounding_shares(width, error), ways,
        plan.tops, np.zeros_like(plan.tops), plan.starts,
    )  # fmt: skip
    run = _Run(arrays, (width, plan.low, largest, 32 * words, SLACK, PIVOT, norm_factor(error)), plain)
    _in_turns(run, plan, threads, progress)
    return values, bounds


def _in_turns(run: _Run, plan: Plan, threads: int, progress: Progress | None) -> None:
    """Level by level; inside a level the groups are shared out. Python looks for Ctrl-C between the turns."""
    total = plan.total
    if threads == 1:
        # Groups stand in an order in which none needs a later one, so that one thread may run through all levels.
        for first, last in _turns(plan, 0, len(plan.sizes), 1):
            run(first, last)
            if progress is not None:
                progress(int(plan.sizes[:last].sum()) / total)
        return
    with ThreadPoolExecutor(threads) as pool:
        for first, last in plan.levels:
            for waiting in [pool.submit(run, *turn) for turn in _turns(plan, first, last, threads)]:
                waiting.result()
            if progress is not None:
                progress(int(plan.sizes[:last].sum()) / total)


def _turns(plan: Plan, first: int, last: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut some groups into runs: short enough to interrupt, and for several threads three each, so that none waits long."""
    share = last - first if threads == 1 else -(-(last - first) // (3 * threads))
    each = max(1, min(TURN // max(1, LANES * int(plan.sizes[first])), share))
    for start in range(first, last, each):
        yield start, min(start + each, last)


def solve_batch(
    products: Floats, radii: Floats, error: float, *, threads: int = 1, plain: bool = False
) -> tuple[Floats, NDArray[np.float32]]:
    """Values and certified bounds (B, K, 2^d): four tables side by side."""
    tables, width = products.shape[0], products.shape[-1] - 1
    groups = -(-tables // LANES)
    lanes = np.minimum(np.arange(groups * LANES, dtype=np.uint64), np.uint64(tables - 1)).reshape(-1, LANES)
    values = np.empty((tables, radii.size, 1 << width))
    bounds = np.empty(values.shape, np.float32)
    shares = rounding_shares(width, error)

    def part(first: int, last: int) -> None:
        arrays = (products, radii, values, bounds, _NONE, shares, _NONE, np.zeros_like(lanes), lanes, _NONE)
        _Run(arrays, (width, width, width, NARROW, SLACK, PIVOT, norm_factor(error)), plain)(first, last)

    step = max(1, TURN // (LANES * radii.size << width))
    turns = [(first, min(first + step, groups)) for first in range(0, groups, step)]
    if threads == 1:
        for turn in turns:
            part(*turn)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for waiting in [pool.submit(part, *turn) for turn in turns]:
                waiting.result()
    return values, bounds
