"""Private. Which sources stay where they are, and what is sent to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.gather.add_up_blocks import BlockPlan, BothSums
from dpselect.gather.add_up_logistic import LogisticPlan, LogisticSums
from dpselect.gather.clusters.dask_frames import dask_blocks, dask_logistic, dask_moments
from dpselect.gather.clusters.spark import spark_moments
from dpselect.gather.clusters.spark_blocks import spark_blocks
from dpselect.gather.clusters.spark_logistic import spark_logistic
from dpselect.gather.sources.source import Database, parse_address
from dpselect.gather.sums.moments import Moments


def cluster_moments(source: Any) -> Callable[[Assumptions], Moments] | None:
    """How to gather from a cluster's data frame or table; None for anything else."""
    kind, source = _cluster(source)
    if kind == "spark":
        return lambda assumptions: spark_moments(source, assumptions)
    return (lambda assumptions: dask_moments(source, assumptions)) if kind == "dask" else None


def cluster_blocks(source: Any) -> Callable[[Assumptions, BlockPlan], BothSums] | None:
    """The same for block sums."""
    kind, source = _cluster(source)
    if kind == "spark":
        return lambda assumptions, plan: spark_blocks(source, assumptions, plan)
    return (lambda assumptions, plan: dask_blocks(source, assumptions, plan)) if kind == "dask" else None


def cluster_logistic(source: Any) -> Callable[[Assumptions, LogisticPlan], LogisticSums] | None:
    """The same for the sums of a round of Newton's method."""
    kind, source = _cluster(source)
    if kind == "spark":
        return lambda assumptions, plan: spark_logistic(source, assumptions, plan)
    return (lambda assumptions, plan: dask_logistic(source, assumptions, plan)) if kind == "dask" else None


def _cluster(source: Any) -> tuple[str, Any]:
    if isinstance(source, str):
        source = parse_address(source) or source
    package = type(source).__module__.partition(".")[0]
    if package == "pyspark" or (isinstance(source, Database) and source.engine == "spark"):
        return "spark", source
    return "dask" if package in ("dask", "dask_expr") else "", source
