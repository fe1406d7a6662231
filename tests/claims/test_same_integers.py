"""Claim: where the rows live changes nothing. The same table gives the same integers from every container and engine."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.table import gather_table

STUDY = Assumptions(
    Numeric("price", 0, 1000),
    [Numeric("size", -1, 1), Numeric("count", 0, 2**62), Categorical("county", ["Marin", "Napa", "Sonoma"])],
    missing="zero-row",
)


def rows() -> list[dict]:
    """Ties, bounds, what lies beyond them, missing cells of every kind, unknown levels and integers beyond 2^53."""
    rng = np.random.default_rng(1607)
    sizes = [
        0.5 / 2**20,
        -0.5 / 2**20,
        1.5 / 2**20,
        1.0,
        -1.0,
        1.0000001,
        -7.0,
        1e308,
        -1e308,
        None,
        np.nan,
        np.inf,
        -np.inf,
    ]
    counts = [0, 1, 2**53 + 1, 2**53 + 3, 2**62 - 1, 2**63 - 1, -(2**63), None]
    counties = ["Marin", "Napa", "Sonoma", "Napa ", "napa", "", None]
    return [
        {
            "price": float(rng.uniform(-100, 1100)),
            "size": sizes[i % len(sizes)] if i % 3 else float(rng.normal()),
            "count": counts[i % len(counts)] if i % 2 else int(rng.integers(0, 2**62)),
            "county": counties[i % len(counties)],
        }
        for i in range(500)
    ]


def arrow(listed: list[dict]) -> pa.Table:
    kinds = {"price": pa.float64(), "size": pa.float64(), "count": pa.int64(), "county": pa.string()}
    return pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in kinds.items()})


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return arrow(rows())


@pytest.fixture(scope="module")
def expected(slow_moments):
    return slow_moments(rows(), STUDY)


def test_pandas(table, expected):
    assert gather_table(table.to_pandas(types_mapper=pd.ArrowDtype), STUDY).integers() == expected


def test_polars(table, expected):
    assert gather_table(pl.from_arrow(table), STUDY).integers() == expected


@pytest.mark.parametrize("size", [1, 7, 499, 500])
def test_arrow_in_batches_of_any_size_and_rows_in_any_order(table, expected, size):
    shuffled = table.take(np.random.default_rng(size).permutation(len(table)))
    empty = table.slice(0, 0)
    pieces = [shuffled.slice(start, size) for start in range(0, len(table), size)]
    assert gather_table(pa.concat_tables([empty, *pieces, empty]), STUDY).integers() == expected


def test_arrays(table, slow_moments):
    numeric = Assumptions(STUDY.response, STUDY.predictors[:2], missing="zero-row")
    frame = table.to_pandas()
    found = gather_table((frame[["size", "count"]].to_numpy(float), frame["price"].to_numpy()), numeric)
    assert found.integers() == slow_moments(rows(), numeric)
