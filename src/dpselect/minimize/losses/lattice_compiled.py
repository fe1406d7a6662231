"""Private. The C kernel's door: which blocks of subsets are solved together, in which order and by which thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.losses.lattice_certificate import PIVOT, SLACK, norm_factor, rounding_shares

try:
    from dpselect.minimize.losses import _lattice
except ImportError:  # no compiler was there; the NumPy twin serves
    _lattice = None  # type: ignore[assignment]

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
ShareDone = Callable[[float], None]

LANES = 4
"""Blocks that the kernel solves side by side."""
NARROW = 32
"""Up to this many columns a subset's marks fit one word."""
WIDEST = 63
SUBSETS_PER_LOOK = 2**19
"""About how many subsets a thread solves between two looks at Ctrl-C."""

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
class WalkPlan:
    """Public. The blocks of a lattice: which go together, in which order, and where their numbers are kept.

    A block is all subsets with the same top columns. The four blocks of a group have tops of the same size, so none needs
    another one of them, and a group needs earlier groups only: those with the tops that lack one column of its own.
    """

    low: int
    tops: Words  # (groups, LANES)
    tables: Words  # (groups, LANES)
    needs: Words  # (groups,) how many groups, from the first, must be finished before
    starts: Words  # (2^tops,) where a block's values start
    turn: int  # groups that are solved between two looks at Ctrl-C


@lru_cache(maxsize=8)
def plan_lattice(width: int, max_size: int) -> WalkPlan:
    """Split the lattice on its top columns, far enough that the four lanes are seldom idle."""
    top_bits = min(8 if max_size >= width else 12, width // 2)
    low = width - top_bits
    ways = ways_of(width, max_size)
    masks = np.arange(1 << top_bits, dtype=np.uint64)
    popcounts = np.bitwise_count(masks).astype(np.int64)
    rooms = np.clip(max_size - popcounts, 0, max_size)
    sizes = np.where(popcounts <= max_size, ways[low, rooms], np.uint64(0))
    starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(sizes)[:-1]])
    groups = np.concatenate([_groups(top_bits, size) for size in range(min(top_bits, max_size) + 1)])
    turn = max(1, SUBSETS_PER_LOOK // (LANES * int(sizes[0])))
    return WalkPlan(low, groups << np.uint64(low), np.zeros_like(groups), _needs(groups, top_bits), starts, turn)


def _groups(top_bits: int, size: int) -> Words:
    """Tops of one size by fours (groups, LANES); idle lanes repeat the last one."""
    level = _revolving_door(top_bits, size)
    return np.concatenate([level, np.repeat(level[-1:], -level.size % LANES)]).reshape(-1, LANES)


@lru_cache(maxsize=256)
def _revolving_door(columns: int, size: int) -> Words:
    """All sets of `size` of the first columns, each a swap away from the one before.

    So four in a row share most of their columns, which is what the kernel wants: it goes through all columns of the four.
    Source: Nijenhuis and Wilf 1978, Combinatorial Algorithms, chapter 3.
    """
    if size in (0, columns):
        return np.array([(1 << size) - 1], np.uint64)
    without, with_last = _revolving_door(columns - 1, size), _revolving_door(columns - 1, size - 1)
    return np.concatenate([without, with_last[::-1] | np.uint64(1 << columns - 1)])


def _needs(groups: Words, top_bits: int) -> Words:
    """One more than the last group with a top that lacks one column of the group's own."""
    places = np.zeros(1 << top_bits, np.uint64)
    places[groups] = np.arange(1, len(groups) + 1, dtype=np.uint64)[:, None]
    children = groups[..., None] & ~(np.uint64(1) << np.arange(top_bits, dtype=np.uint64))
    before: Words = np.max(places[children], axis=(1, 2), where=children != groups[..., None], initial=0)
    return before


def solve_lattice(
    products: Floats,
    radius: float,
    error: float,
    *,
    max_size: int | None = None,
    threads: int = 1,
    progress: ShareDone | None = None,
    plain: bool = False,
) -> tuple[Floats, NDArray[np.float32]]:
    """Values and certified bounds of every subset (of at most `max_size` columns), in the order of the masks."""
    width = products.shape[-1] - 1
    largest = width if max_size is None else min(max_size, width)
    plan = plan_lattice(width, largest)
    words = 1 if width <= NARROW else 2
    count = count_of(width, largest)
    values, bounds, marks = np.empty(count), np.empty(count, np.float32), np.empty(count * words, np.uint64)
    ways = _NONE if largest == width else ways_of(width, largest)
    shared = np.zeros(len(plan.needs) + 1, np.uint64)
    arrays = (
        products, np.array([radius], np.float64), values, bounds, marks, rounding_shares(width, error), ways,
        plan.tops, plan.tables, plan.starts, plan.needs, shared,
    )  # fmt: skip
    numbers = (width, plan.low, largest, 32 * words, SLACK, PIVOT, norm_factor(error), plan.turn, plain)
    _together(partial(_lattice.run, arrays, *numbers), shared, threads, progress)
    return values, bounds


def solve_batch(
    products: Floats, radii: Floats, error: float, *, threads: int = 1, plain: bool = False
) -> tuple[Floats, NDArray[np.float32]]:
    """Values and certified bounds (B, K, 2^d): four tables side by side."""
    tables, width = products.shape[0], products.shape[-1] - 1
    groups = -(-tables // LANES)
    lanes = np.minimum(np.arange(groups * LANES, dtype=np.uint64), np.uint64(tables - 1)).reshape(-1, LANES)
    values = np.empty((tables, radii.size, 1 << width))
    bounds = np.empty(values.shape, np.float32)
    shared = np.zeros(groups + 1, np.uint64)
    arrays = (
        products, radii, values, bounds, _NONE, rounding_shares(width, error), _NONE,
        np.zeros_like(lanes), lanes, _NONE, np.zeros(groups, np.uint64), shared,
    )  # fmt: skip
    turn = max(1, SUBSETS_PER_LOOK // (LANES * radii.size << width))
    numbers = (width, width, width, NARROW, SLACK, PIVOT, norm_factor(error), turn, plain)
    _together(partial(_lattice.run, arrays, *numbers), shared, threads, None)
    return values, bounds


def _together(run: Callable[[], bool], shared: Words, threads: int, progress: ShareDone | None) -> None:
    """Solve all groups; each thread takes the next one that nobody has. Python looks for Ctrl-C between the turns."""

    def work(progress: ShareDone | None) -> None:
        more = True
        while more:
            more = run()
            if progress is not None:
                progress(float(shared[1:].mean()))

    if threads == 1:
        return work(progress)
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, None) for _ in range(threads - 1)]
        try:
            work(progress)
        finally:
            shared[0] = shared.size  # whatever happened, nobody takes another group
            for other in others:
                other.result()
    return None
