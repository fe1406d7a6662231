"""Claims about block votes that the proof needs: from every source, a block's result is a function of the set of its own rows.

Blocks are assigned by the keyed hash of a column that is in every table, with the same key, so that runs can be compared.
"""

from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather
from scipy.stats import f as f_distribution

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.dealing import PersonAssigner
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import gather
from dpselect.gather.sources.source import Database
from dpselect.gather.summary import Both
from dpselect.minimize.votes.votes import block_votes

BLOCKS, PARTITIONS, ROWS = 11, 3, 700
FALSE_ALARM = 1e-6
STRANGE = [1e308, -1e308, np.nan, np.inf, -np.inf]
STUDIES = {
    "bounds": Study(
        Numeric("y", -3, 3),
        [Numeric("a", -2, 2), Numeric("b", 1900, 2100), Categorical("c", ["u", "v", "w"])],
        missing="zero-row",
        person="id",
        max_rows_per_person=1,
    ),
}
STUDIES["no bounds"] = Study(
    Numeric("y"),
    [Numeric("a"), Numeric("b"), Categorical("c", ["u", "v", "w"])],
    missing="zero-row",
    person="id",
    max_rows_per_person=1,
)


def assigner():
    return PersonAssigner(BLOCKS, PARTITIONS, "id", key=b"the same in every run")


def make(seed=3):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=ROWS), rng.integers(1950, 2030, ROWS).astype(float)
    y = 0.3 * a + 0.01 * (b - 1990) + rng.normal(size=ROWS)
    levels = rng.choice(["u", "v", "w"], ROWS)
    return pa.table({"id": np.arange(ROWS), "a": a, "b": b, "c": levels, "y": y})


def with_row(table, row, value):
    """The table with every number of one row replaced."""
    for name in ("a", "b", "y"):
        column = table[name].to_numpy().copy()
        column[row] = value
        table = table.set_column(table.column_names.index(name), name, pa.array(column, from_pandas=False))
    return table


def as_pandas(table, folder):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(table, folder):
    return pl.from_arrow(table)


def as_batches(table, folder):
    return pa.concat_tables([table.slice(start, 37) for start in range(0, ROWS, 37)])


def as_csv(table, folder):
    csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def as_parquet(table, folder):
    for i in range(4):
        pq.write_table(table.slice(200 * i, 200), folder / f"{i}.parquet", row_group_size=70)
    return folder


def as_feather(table, folder):
    feather.write_feather(table, str(folder / "t.feather"), chunksize=99)
    return folder / "t.feather"


def as_duckdb(table, folder):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(folder / "t.duckdb"))) as connection:
        connection.register("here", table)
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM here")
    return Database(folder / "t.duckdb", table="t")


def as_dask(table, folder):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    return dask.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=5)


STORES = [as_pandas, as_polars, as_batches, as_csv, as_parquet, as_feather, as_duckdb, as_dask]


def gathered(source, study):
    return gather(source, STUDIES[study], BlockSummary(STUDIES[study], BLOCKS, PARTITIONS, assigner()))


def arrays(sums):
    return [getattr(sums.sums, name) for name in sums.sums.__slots__]


def votes(sums, backend=None):
    return block_votes(sums, ridge=0.01, backend=backend)


def assert_only_its_own_blocks_change(usual, changed, row):
    """The row's blocks aside, every sum and every vote of both twins is the same to the last bit."""
    own = assigner().draw({"id": np.array([row])}, 1)[:, 0]
    others = np.ones((PARTITIONS, BLOCKS), dtype=bool)
    others[np.arange(PARTITIONS), own] = False
    for left, right in zip(arrays(usual), arrays(changed), strict=True):
        np.testing.assert_array_equal(left[others], right[others])
    for backend in (None, "numpy"):
        np.testing.assert_array_equal(votes(usual, backend)[others], votes(changed, backend)[others])


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("store", STORES)
def test_a_strange_row_stays_in_its_blocks(store, study, tmp_path):
    table = make()
    usual = gathered(table, study)
    assert votes(usual).any(axis=2).all()
    for row, value in enumerate(STRANGE):
        changed = gathered(store(with_row(table, 100 * row, value), tmp_path), study)
        assert_only_its_own_blocks_change(usual, changed, 100 * row)
        assert changed.n == ROWS


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("store", STORES)
def test_every_source_gives_the_same_sums_in_any_order(store, study, tmp_path):
    table = make()
    usual = gathered(table, study)
    shuffled = table.take(np.random.default_rng(1).permutation(ROWS))
    for each in (table, shuffled, table.sort_by("y")):
        found = gathered(store(each, tmp_path), study)
        assert found.n == ROWS
        for left, right in zip(arrays(usual), arrays(found), strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.postgres
@pytest.mark.parametrize("study", STUDIES)
def test_postgresql(postgres, study):
    psycopg = pytest.importorskip("psycopg")
    table = make()
    usual = gathered(table, study)
    for row, value in ((0, None), (300, 1e308), (500, np.nan)):
        with psycopg.connect(postgres) as connection:
            connection.execute("DROP TABLE IF EXISTS blocks")
            connection.execute("CREATE TABLE blocks (id int8, a float8, b float8, c text, y float8)")
            with connection.cursor().copy("COPY blocks FROM STDIN") as copy:
                for each in (table if value is None else with_row(table, row, value)).to_pylist():
                    copy.write_row(list(each.values()))
        found = gathered(Database(postgres, table="blocks"), study)
        if value is not None:
            assert_only_its_own_blocks_change(usual, found, row)
            continue
        for left, right in zip(arrays(usual), arrays(found), strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.spark
@pytest.mark.parametrize("study", STUDIES)
def test_spark(spark, study):
    table = make()
    usual = gathered(table, study)
    found = gathered(spark.createDataFrame(table).repartition(5), study)
    assert found.n == ROWS
    for left, right in zip(arrays(usual), arrays(found), strict=True):
        np.testing.assert_array_equal(left, right)
    for row, value in ((300, 1e308), (500, np.nan)):
        changed = gathered(spark.createDataFrame(with_row(table, row, value)), study)
        assert_only_its_own_blocks_change(usual, changed, row)


@pytest.mark.spark
def test_spark_draws_and_adds_up_moments_in_one_pass(spark):
    table, study = make().drop_columns("id"), STUDIES["bounds"]
    alone = Study(study.response, study.predictors, missing="zero-row")
    both = Both(BlockSummary(alone, 20, 2), MomentSummary(alone))
    sums, moments = gather(spark.createDataFrame(table).repartition(4), alone, both)
    here, expected = gather(table, alone, both)
    assert moments.integers() == expected.integers() and sums.n == ROWS
    np.testing.assert_array_equal(sums.sums.table.sum(axis=1), here.sums.table.sum(axis=1))


@pytest.mark.parametrize("store", [as_parquet, as_dask, as_batches])
def test_all_rows_of_a_person_are_in_one_block(store, tmp_path):
    table = make()
    table = table.set_column(0, "id", pa.array(np.arange(ROWS) % 10))
    study = STUDIES["bounds"]
    sums, moments = gather(store(table, tmp_path), study, Both(BlockSummary(study, 5000, 2), MomentSummary(study)))
    counts = sums.sums.table[..., 0]
    assert ((counts > 0).sum(axis=1) <= 10).all()  # each of ten persons in one block
    assert (counts.sum(axis=1) == ROWS).all()
    assert moments.n == 10  # of which the moments take one row each, as stated


def between_blocks(y, sums):
    """The chance that block means of y lie farther apart than they do, if rows were assigned at random."""
    count, total = sums.sums.table[0, :, 0], sums.sums.table[0, :, sums.width - 1] / 2.0**20
    mean = y.mean()
    between = (count * (total / count - mean) ** 2).sum() / (BLOCKS - 1)
    within = (((y - mean) ** 2).sum() - between * (BLOCKS - 1)) / (len(y) - BLOCKS)
    return f_distribution.sf(between / within, BLOCKS - 1, len(y) - BLOCKS)


class ByPlace:
    """The mistake: blocks of rows that stand together, or of every so-and-so-manieth row."""

    def __init__(self, *, together):
        self.together = together

    def draw(self, cells, rows):
        places = np.arange(rows) * BLOCKS // rows if self.together else np.arange(rows) % BLOCKS
        return places.astype(np.uint32)[None]


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_a_table_sorted_by_the_response_is_assigned_like_a_shuffled_one(order):
    rng = np.random.default_rng(5)
    y = np.sort(rng.uniform(-1, 1, 20_000)) if order == "sorted" else rng.uniform(-1, 1, 20_000)
    study = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    source = (rng.uniform(-1, 1, (20_000, 1)), y)
    for _ in range(3):
        chance = between_blocks(y, gather(source, study, BlockSummary(study, BLOCKS, 1)))
        assert FALSE_ALARM < chance < 1 - FALSE_ALARM


@pytest.mark.parametrize("together", [True, False])
def test_an_assignment_by_place_would_be_caught(together):
    y = np.sort(np.random.default_rng(5).uniform(-1, 1, 20_000))
    study = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    sums = gather((np.zeros((20_000, 1)), y), study, BlockSummary(study, BLOCKS, 1, ByPlace(together=together)))
    assert not FALSE_ALARM < between_blocks(y, sums) < 1 - FALSE_ALARM
