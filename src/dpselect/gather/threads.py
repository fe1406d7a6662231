"""Private. Parts of a table on all cores of this machine, whatever is added up; and a clean end, whatever happens."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import reduce
from itertools import chain, islice
from queue import SimpleQueue
from threading import Event
from typing import Any, Generic, TypeVar

from dpselect.assume.study import Study
from dpselect.gather.grid import Cells, Chunks
from dpselect.gather.sources.stream import Reporter
from dpselect.gather.summary import Summary, add_all

MAX_THREADS = 8
MAX_COLUMNS_AT_ONCE = 64
"""Columns that are read at the same time by all threads, more or less: each column of each part needs some megabytes."""
LOOK_SECONDS = 0.1
"""Between two looks at the progress, and at Ctrl-C."""

Adding = TypeVar("Adding", bound=Summary[Any])


def add_here(parts: Iterable[Iterable[Cells]], study: Study, summary: Adding, report: Reporter) -> Adding:
    """The summary of all parts of a table: threads take a part each. Sums are exact, so their order is nothing.

    Few parts wait at a time, so memory is bounded. One thread does all of a small table, and of one with persons or clusters
    whose rows have to meet.
    """
    parts = iter(parts)
    first = list(islice(parts, 2))
    parts = chain(first, parts)
    if len(first) < 2 or (summary.rows_together and study.together is not None):
        add_all(_reported(chain.from_iterable(parts), report), study, summary)
        return summary
    adders = [_Adder(each, study) for each in summary.for_threads(thread_count(summary, study))]
    share_out(parts, adders, lambda: report(sum(each.rows for each in adders)))
    with ThreadPoolExecutor(len(adders)) as pool:
        list(pool.map(lambda each: each.summary.finish(), adders))
    report(sum(each.rows for each in adders), done=True)
    return reduce(lambda one, other: one.merge(other), [each.summary for each in adders])


def thread_count(summary: Summary[Any], study: Study) -> int:
    """Threads that may read and add up at the same time."""
    return max(1, min(cores(), MAX_THREADS, MAX_COLUMNS_AT_ONCE // len(summary.needs(study))))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Adder(Generic[Adding]):
    """Private. A summary, with the memory in which its rows are put on the grid; for one thread at a time."""

    def __init__(self, summary: Adding, study: Study) -> None:
        self.summary, self._chunks = summary, Chunks(study)
        self.rows = 0

    def add(self, cells: Cells) -> None:
        for chunk in self._chunks.of(cells):
            self.summary.add(chunk)
            self.rows += chunk.count


def share_out(parts: Iterable[Iterable[Cells]], adders: Sequence[_Adder[Any]], look: Callable[[], None]) -> None:
    """Add every part to a summary that is free, one thread each; `look` is called from this thread now and then."""
    free: SimpleQueue[_Adder[Any]] = SimpleQueue()
    for each in adders:
        free.put(each)
    stopped = Event()

    def add_part(part: Iterable[Cells]) -> None:
        adder = free.get()
        try:
            for cells in part:
                if stopped.is_set():
                    break
                adder.add(cells)
        finally:
            if isinstance(part, Generator):
                part.close()  # let go of the file behind it at once, not when memory is tidied up
            free.put(adder)

    waiting: deque[Future[None]] = deque()
    pool = ThreadPoolExecutor(len(adders))
    try:
        for part in parts:
            waiting.append(pool.submit(add_part, part))
            look()
            if len(waiting) > len(adders) + 1:
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
            wait([future], timeout=LOOK_SECONDS)
            look()
        future.result()
    finally:
        del future  # it holds an error whose traceback holds this frame, and with it private batches


def _reported(batches: Iterable[Cells], report: Reporter) -> Iterator[Cells]:
    """The same batches; after each one it is said how many rows there were so far."""
    rows = 0
    for cells in batches:
        yield cells
        rows += len(next(iter(cells.values())))
        report(rows)
    report(rows, done=True)
