"""Private. Dask data frames: each partition is added up where it is, and only sums come back."""

from __future__ import annotations

from functools import reduce
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DpselectError
from dpselect.gather.add_up import add_up_arrow
from dpselect.gather.sources.arrow import needed_names
from dpselect.gather.sources.frames import frame_stream
from dpselect.gather.sources.stream import one_sentence
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.moments import Moments, pooled


def dask_moments(frame: Any, assumptions: Assumptions) -> Moments:
    """The moments of a Dask data frame."""
    import dask

    names = needed_names(assumptions)
    # The columns of an empty piece: names alone, for an empty column of objects has no type yet.
    known = [name for name in frame.columns if name in names]
    rows = frame[known]
    if assumptions.person is not None and assumptions.person in known:
        rows = rows.shuffle(on=assumptions.person)  # all rows of a person in one place
    with one_sentence("Dask stopped while the rows were read: see its own log"):
        parts = [dask.delayed(_partition)(part, assumptions) for part in rows.to_delayed()]
        answers = dask.compute(*parts)
    for answer in answers:
        if isinstance(answer, DpselectError):
            raise answer
    return reduce(pooled, answers, Accumulator(assumptions).partial())


def _partition(frame: Any, assumptions: Assumptions) -> Moments | DpselectError:
    """The moments of one partition, or why there are none; as a value, for Dask would wrap what is raised."""
    try:
        if len(frame) == 0:
            return Accumulator(assumptions).partial()
        with frame_stream(frame, dict.fromkeys(needed_names(assumptions), "number")) as stream:
            return add_up_arrow(stream.read(stream.schema.names), assumptions)
    except DpselectError as error:
        return error
