"""Private. Dask data frames: each partition is added up where it is, and only sums come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, cast

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DpselectError
from dpselect.gather.add_up import add_up, checked_cells
from dpselect.gather.add_up_blocks import BlockPlan, BothSums, add_up_blocks
from dpselect.gather.add_up_logistic import LogisticPlan, LogisticSums, add_up_logistic, no_rows
from dpselect.gather.sources.arrow import kinds_of, needed_names
from dpselect.gather.sources.frames import frame_stream
from dpselect.gather.sources.stream import one_sentence
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments, pooled

STOPPED = "Dask stopped while the rows were read: see its own log"


def dask_moments(frame: Any, assumptions: Assumptions) -> Moments:
    """The moments of a Dask data frame."""
    rows = _rows(frame, assumptions, persons_together=True)
    answers = _computed([(_moments, part, assumptions) for part in rows.to_delayed()])
    return reduce(pooled, answers, Accumulator(assumptions).partial())


def dask_blocks(frame: Any, assumptions: Assumptions, plan: BlockPlan) -> BothSums:
    """The block sums of a Dask data frame, and its moments if they are wanted; merged on the workers, two by two."""
    import dask

    rows = _rows(frame, assumptions, persons_together=plan.moments)
    with one_sentence(STOPPED):
        parts = [dask.delayed(_blocks)(part, assumptions, plan) for part in rows.to_delayed()]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [dask.delayed(_merged)(*pair) for pair in pairs] + parts[len(parts) & ~1 :]
        (found,) = dask.compute(*parts)
    if isinstance(found, DpselectError):
        raise found
    return cast(BothSums, found)


def dask_logistic(frame: Any, assumptions: Assumptions, plan: LogisticPlan) -> LogisticSums:
    """The sums of a round of Newton's method of a Dask data frame."""
    rows = _rows(frame, assumptions, persons_together=True)
    answers = _computed([(_logistic, part, assumptions, plan) for part in rows.to_delayed()])
    return reduce(add, answers, no_rows(len(plan.columns)))


def _rows(frame: Any, assumptions: Assumptions, *, persons_together: bool) -> Any:
    names = needed_names(assumptions)
    # The columns of an empty piece: names alone, for an empty column of objects has no type yet.
    known = [name for name in frame.columns if name in names]
    rows = frame[known]
    if persons_together and assumptions.person is not None and assumptions.person in known:
        return rows.shuffle(on=assumptions.person)
    return rows


def _computed(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    import dask

    with one_sentence(STOPPED):
        answers = dask.compute(*[dask.delayed(function)(*arguments) for function, *arguments in calls])
    for answer in answers:
        if isinstance(answer, DpselectError):
            raise answer
    return list(answers)


def _moments(frame: Any, assumptions: Assumptions) -> Moments | DpselectError:
    """The moments of one partition, or why there are none; as a value, for Dask would wrap what is raised."""
    try:
        return add_up(_cells(frame, assumptions), assumptions)
    except DpselectError as error:
        return error


def _blocks(frame: Any, assumptions: Assumptions, plan: BlockPlan) -> BothSums | DpselectError:
    """The block sums of one partition, or why there are none."""
    try:
        return add_up_blocks(_cells(frame, assumptions), assumptions, plan)
    except DpselectError as error:
        return error


def _logistic(frame: Any, assumptions: Assumptions, plan: LogisticPlan) -> LogisticSums | DpselectError:
    """The sums of a round of one partition, or why there are none."""
    try:
        return add_up_logistic(_cells(frame, assumptions), assumptions, plan)
    except DpselectError as error:
        return error


def _merged(left: BothSums | DpselectError, right: BothSums | DpselectError) -> BothSums | DpselectError:
    if isinstance(left, DpselectError):
        return left
    if isinstance(right, DpselectError):
        return right
    moments = None if left[1] is None or right[1] is None else pooled(left[1], right[1])
    return left[0] + right[0], moments


def _cells(frame: Any, assumptions: Assumptions) -> Iterator[Cells]:
    if len(frame) > 0:
        with frame_stream(frame, kinds_of(assumptions)) as stream:
            yield from checked_cells(stream.read(stream.schema.names), assumptions)
