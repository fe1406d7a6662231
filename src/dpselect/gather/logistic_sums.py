"""Private. What a round of Newton's method needs of the rows, as exact whole numbers: they are read again for each round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from dpselect.assume.lemmas.logistic import Links
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.add_up_logistic import LogisticPlan, LogisticSums, add_up_logistic
from dpselect.gather.clusters.cluster import cluster_logistic
from dpselect.gather.saved.moments_file import moments_files
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import table_cells


def require_rows(source: Any) -> None:
    """Refuse what cannot be read several times, row by row."""
    if isinstance(source, Moments) or moments_files(source):
        raise DataError(
            "Odds ratios read the rows again for each round: give a table, a path or an address, not moments."
        )
    if hasattr(source, "read_next_batch") or type(source).__module__.partition(".")[0].lstrip("_") == "duckdb":
        raise DataError(
            "Odds ratios read the table several times, and a stream can be read once: give a table, a path or an address."
        )


def logistic_sums(
    source: Any, assumptions: Assumptions, columns: Sequence[int], center: Sequence[int], table: Links
) -> LogisticSums:
    """Read the rows once and add up at public coefficients `center`, in whole numbers of 2^-20."""
    plan = LogisticPlan(tuple(columns), tuple(center), table)
    cluster = cluster_logistic(source)
    if cluster is not None:
        sums = cluster(assumptions, plan)
    else:
        with closing(table_cells(source, assumptions)) as batches:
            sums = add_up_logistic(batches, assumptions, plan)
    if sum(sums.counts) == 0 and assumptions.neighbors == "replace-one":
        raise DataError("The table has no rows; give at least one.")
    return sums
