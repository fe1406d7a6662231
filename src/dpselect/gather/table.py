"""Private. One door for every kind of table: rows in, exact moments out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.add_up import add_up_here, checked_cells
from dpselect.gather.clusters.cluster import cluster_moments
from dpselect.gather.saved.moments_file import moments_files, pool_files
from dpselect.gather.sources.arrays import array_cells, pieces
from dpselect.gather.sources.arrow import check_schema, kinds_of, needed_names
from dpselect.gather.sources.open import open_stream
from dpselect.gather.sources.stream import Progress, Reporter
from dpselect.gather.sums.accumulate import checked
from dpselect.gather.sums.grid import Cells
from dpselect.gather.sums.moments import Moments, require_sound


def gather_table(source: Any, assumptions: Assumptions, progress: Callable[[Progress], None] | None = None) -> Moments:
    """The exact moments of a table, clipped to the assumptions.

    `source` is a pair of arrays (predictors in the order stated, response); a pandas, polars, Dask or Spark data frame; an
    Arrow table, stream or dataset; a path ("table.parquet", "folder/", "part-*.csv.gz", "file.duckdb?table=t") or a list of
    paths; a database's address with a table ("postgresql://host/base?table=t", "spark:?table=t"); `Csv` or `Database`; or
    moments gathered before under the same assumptions, saved or not. `progress` is called with what was read so far.
    """
    assumptions.require_bounds("Adding up moments")
    if isinstance(source, Moments):
        return of_these(source, assumptions)
    if saved := moments_files(source):
        return pool_files(saved, assumptions)
    cluster = cluster_moments(source)
    if cluster is not None:
        # Workers send sums, so these are asked too whether a table has them.
        return checked(require_sound(cluster(assumptions), assumptions), assumptions)
    # Closed at once when anything goes wrong or Ctrl-C is pressed, so that no connection outlives the call.
    with closing(table_parts(source, assumptions)) as parts:
        return checked(add_up_here(parts, assumptions, Reporter(progress)), assumptions)


def table_cells(source: Any, assumptions: Assumptions) -> Generator[Cells]:
    """The table in batches of cells."""
    with closing(table_parts(source, assumptions)) as parts:
        for part in parts:
            yield from part


def table_parts(source: Any, assumptions: Assumptions) -> Generator[Iterable[Cells]]:
    """The table in pieces, each of batches of cells, which several threads may go through at the same time."""
    if isinstance(source, tuple):
        yield from ([piece] for piece in pieces(array_cells(*_pair(source), assumptions)))
        return
    with open_stream(source, kinds_of(assumptions)) as stream:
        check_schema(stream.schema, assumptions)
        for part in stream.in_parts(needed_names(assumptions)):
            yield checked_cells(part, assumptions)


def of_these(moments: Moments, assumptions: Assumptions) -> Moments:
    """Moments, refused if they were gathered under other assumptions, or made by a hand that added up no rows."""
    if moments.assumptions != assumptions.hash:
        raise DataError("These moments were gathered under other assumptions: gather them again with these.")
    return require_sound(moments, assumptions)


def _pair(source: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(source) != 2:
        raise DataError(
            "A tuple that is not a pair is not a table: give (X, y); weights are not taken, for a row that counts twice would "
            "need twice the noise."
        )
    return source[0], source[1]
