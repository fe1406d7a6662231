"""Private. From batches of cells to the moments of a part of a table: what runs here, and on every worker of a cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import reduce
from itertools import chain, islice
from queue import SimpleQueue
from threading import Event
from typing import Any, Protocol

from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.sources.arrow import batch_cells, check_schema, needed_names
from dpselect.gather.sources.stream import Reporter
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments, pooled
from dpselect.gather.sums.persons import PersonAccumulator

MOST_THREADS = 8
MOST_COLUMNS = 64
"""Columns that are read at the same time by all threads, more or less: each column of each part needs some megabytes."""
GLANCE = 0.1
"""Seconds between two looks at the progress, and at Ctrl-C."""


def add_up(batches: Iterable[Cells], assumptions: Assumptions) -> Moments:
    """The moments of some rows, which may be none; with persons, all rows of a person must be among them."""
    accumulator = Accumulator(assumptions) if assumptions.person is None else PersonAccumulator(assumptions)
    for cells in batches:
        accumulator.add(cells)
    return accumulator.partial()


def add_up_here(parts: Iterable[Iterable[Cells]], assumptions: Assumptions, report: Reporter) -> Moments:
    """As `add_up`, with all cores of this machine: threads take a part each. Sums are exact, so their order is nothing.

    Few parts wait at a time, so memory is bounded. One thread does all of a small table, and of one with persons, whose
    rows have to meet in one accumulator.
    """
    parts = iter(parts)
    first = list(islice(parts, 2))
    parts = chain(first, parts)
    if len(first) < 2 or assumptions.person is not None:
        return add_up(reported(chain.from_iterable(parts), assumptions, report), assumptions)
    accumulators = [Accumulator(assumptions) for _ in range(thread_count(assumptions))]
    share_out(parts, accumulators, lambda: report(sum(each.rows for each in accumulators)))
    moments = reduce(pooled, [each.partial() for each in accumulators])
    report(moments.n, done=True)
    return moments


def thread_count(assumptions: Assumptions) -> int:
    """Threads that may read and add up at the same time."""
    return max(1, min(cores(), MOST_THREADS, MOST_COLUMNS // len(needed_names(assumptions))))


class Adding(Protocol):
    """Private. Whatever takes batches of cells."""

    def add(self, cells: Cells) -> None:
        """Add a batch of rows, of any length."""


def share_out(parts: Iterable[Iterable[Cells]], accumulators: Sequence[Adding], look: Callable[[], None]) -> None:
    """Add every part to an accumulator that is free, one thread each; `look` is called from this thread now and then."""
    free: SimpleQueue[Adding] = SimpleQueue()
    for each in accumulators:
        free.put(each)
    stopped = Event()

    def add_part(part: Iterable[Cells]) -> None:
        accumulator = free.get()
        try:
            for cells in part:
                if stopped.is_set():
                    break
                accumulator.add(cells)
        finally:
            _close(part)
            free.put(accumulator)

    waiting: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(len(accumulators))
    try:
        for part in parts:
            waiting.append(pool.submit(add_part, part))
            look()
            if len(waiting) > len(accumulators) + 1:
                _finish(waiting.popleft(), look)
        while waiting:
            _finish(waiting.popleft(), look)
    finally:
        stopped.set()  # after an error or Ctrl-C: the parts under way end with their batch
        pool.shutdown(cancel_futures=True)
        waiting.clear()


def _finish(future: Future[None], look: Callable[[], None]) -> None:
    try:
        while not future.done():
            wait([future], timeout=GLANCE)
            look()
        future.result()
    finally:
        del future  # it holds an error whose traceback holds this frame, and with it private batches


def _close(batches: Iterable[Any]) -> None:
    """Let go of the file behind some batches at once, not when memory is tidied up."""
    if isinstance(batches, Generator):
        batches.close()


def reported(batches: Iterable[Cells], assumptions: Assumptions, report: Reporter) -> Iterator[Cells]:
    """The same batches; after each one it is said how many rows there were so far."""
    rows = 0
    for cells in batches:
        yield cells
        rows += len(cells[assumptions.response.name])
        report(rows)
    report(rows, done=True)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_up_arrow(batches: Iterable[Any], assumptions: Assumptions) -> Moments:
    """The moments of some record batches."""
    return add_up(checked_cells(batches, assumptions), assumptions)


def checked_cells(batches: Iterable[Any], assumptions: Assumptions) -> Iterator[Cells]:
    """Cells of record batches; their types are checked again where they change, as they may from file to file."""
    checked = None
    try:
        for batch in batches:
            if batch.schema != checked:
                checked = batch.schema
                check_schema(checked, assumptions)
            yield batch_cells(batch, assumptions)
    finally:
        _close(batches)
