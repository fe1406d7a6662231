"""Private. Dask data frames: a summary goes to every partition, and what they have added up is merged two by two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from dpselect.assume.study import Study
from dpselect.errors import DpselectError
from dpselect.gather.grid import Cells
from dpselect.gather.sources.arrow import checked_cells, kinds_of
from dpselect.gather.sources.frames import frame_stream
from dpselect.gather.sources.stream import one_sentence
from dpselect.gather.summary import Summary, add_all

Adding = TypeVar("Adding", bound=Summary[Any])
Answer = list[bytes] | DpselectError
"""Private. The pieces of a summary, or why there is none; as a value, for Dask would wrap what is raised."""


def add_in_dask(frame: Any, study: Study, summary: Adding) -> Adding:
    """The summary of a Dask data frame."""
    import dask

    plan = summary.empty()
    with one_sentence("Dask stopped while the rows were read: see its own log"):
        parts = [dask.delayed(_added)(part, study, plan) for part in _rows(frame, study, summary).to_delayed()]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [dask.delayed(_merged)(*pair, plan) for pair in pairs] + parts[len(parts) & ~1 :]
        (answer,) = dask.compute(*parts)
    if isinstance(answer, DpselectError):
        raise answer
    return summary.from_bytes(answer)


def _rows(frame: Any, study: Study, summary: Summary[Any]) -> Any:
    # The columns of an empty piece: names alone, for an empty column of objects has no type yet.
    names = summary.needs(study)
    known = [name for name in frame.columns if name in names]
    rows = frame[known]
    if summary.rows_together and study.together is not None and study.together in known:
        return rows.shuffle(on=study.together)
    return rows


def _added(frame: Any, study: Study, plan: Summary[Any]) -> Answer:
    """What one partition adds up to."""
    own = plan.empty()
    try:
        add_all(_cells(frame, study, plan.needs(study)), study, own)
        return list(own.to_bytes())
    except DpselectError as error:
        return error


def _merged(left: Answer, right: Answer, plan: Summary[Any]) -> Answer:
    if isinstance(left, DpselectError):
        return left
    if isinstance(right, DpselectError):
        return right
    return list(plan.from_bytes([*left, *right]).to_bytes())


def _cells(frame: Any, study: Study, names: list[str]) -> Iterator[Cells]:
    if len(frame) > 0:
        with frame_stream(frame, kinds_of(study)) as stream:
            yield from checked_cells(stream.read(stream.schema.names), study, names)
