"""Private, or public where n is: how many rows a table has, before its rows are read for anything else."""

from __future__ import annotations

from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.saved.moments_file import moments_files
from dpselect.gather.sources.arrow import kinds_of
from dpselect.gather.sources.open import is_read_once, open_stream
from dpselect.gather.sources.source import Database, parse_address
from dpselect.gather.sums.moments import Moments


def count_rows(source: Any, assumptions: Assumptions) -> int:
    """The number of rows, from the source's own word where it has one, else by reading one column through.

    Refused where a source can be read only once, because then the rows themselves would be gone.
    """
    refuse_sums(source)
    if isinstance(source, tuple):  # what is no pair is refused where it is read
        return len(source[-1]) if source and hasattr(source[-1], "__len__") else 0
    if isinstance(source, str):
        source = parse_address(source) or source
    package = type(source).__module__.partition(".")[0]
    if package == "pyspark":
        return int(source.count())
    if package in ("dask", "dask_expr"):
        return len(source)
    if is_read_once(source) or (isinstance(source, Database) and source.engine == "spark"):
        raise DataError(
            "This source is not read just to count its rows: state about how many there are, rows in the study, such as "
            "rows = 20000."
        )
    with open_stream(source, kinds_of(assumptions)) as stream:
        name = assumptions.response.name
        if name not in stream.schema.names:
            return 0  # whoever reads the rows says it better
        return sum(batch.num_rows for part in stream.in_parts([name]) for batch in part)


def refuse_sums(source: Any) -> None:
    """Votes need rows."""
    if isinstance(source, Moments) or moments_files(source):
        raise DataError(
            "Votes read rows, and moments no longer hold them: give the table itself, or choose with method='pcls' or 'pcpl'."
        )
