"""Claim: a bad source ends in two sentences at most; nothing is charged, and no secret and no private value is shown."""

import gzip
import os
import re
import traceback
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect
from dpselect.errors import DataError
from dpselect.gather.sources.source import Csv, Database

STUDY = dpselect.Study(
    dpselect.Numeric("y", 0, 100), [dpselect.Numeric("a", 0, 100), dpselect.Categorical("c", ["u", "v"])]
)
CELL, PASSWORD = 73.0625, "".join(["hun", "ter2"])  # split, so that a traceback's own source lines do not hold it


def rows(count: int = 400) -> dict:
    return {"y": [CELL] * count, "a": [CELL / 2] * count, "c": ["u"] * count}


def table(**changed) -> pa.Table:
    return pa.table({**rows(), **changed})


def parquet(folder, content=None):
    pq.write_table(content or table(), folder / "t.parquet")
    return folder / "t.parquet"


def cut_parquet(folder):
    os.truncate(parquet(folder), 300)
    return folder / "t.parquet"


def text(folder, content: str, name: str = "t.csv"):
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def cut_gzip(folder):
    packed = gzip.compress(("y,a,c\n" + f"{CELL},1,u\n" * 5000).encode())
    (folder / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    return folder / "t.csv.gz"


def database(folder, statement: str, **asked):
    with closing(duckdb.connect(str(folder / "t.duckdb"))) as connection:
        connection.execute(statement)
    return Database(folder / "t.duckdb", **asked)


def wrong_extension(folder):
    os.rename(parquet(folder), folder / "t.arrow")
    return folder / "t.arrow"


def spent_stream(folder):
    reader = pa.RecordBatchReader.from_batches(table().schema, table().to_batches())
    reader.read_all()
    return reader


def breaking_stream(folder):
    def batches():
        yield table().to_batches()[0]
        raise RuntimeError(f"lost at {CELL}")

    return pa.RecordBatchReader.from_batches(table().schema, batches())


BAD = {
    "no such file": (lambda f: f / "none.parquet", "There is no file"),
    "no file matches": (lambda f: str(f / "*.parquet"), "There is no file"),
    "an empty folder": (lambda f: f, "holds no data files"),
    "an unknown format": (lambda f: text(f, "?", "t.doc"), "cannot be told by its name"),
    "truncated Parquet": (cut_parquet, "damaged, cut short"),
    "Parquet named Arrow": (wrong_extension, "cannot be opened as an Arrow file"),
    "truncated gzip": (cut_gzip, "t.csv.gz"),
    "a short row": (lambda f: text(f, f"y,a,c\n{CELL},1,u\n{CELL},1\n"), "fields|unequal length"),
    "a long row": (lambda f: text(f, f"y,a,c\n{CELL},1,u\n{CELL},1,u,9\n"), "fields|unequal length"),
    "a column twice in CSV": (lambda f: text(f, f"y,a,c,a\n{CELL},1,u,1\n"), "'a' is in the table more than once"),
    "text for a number": (lambda f: text(f, f"y,a,c\n{CELL}x,1,u\n"), "'y' is text"),
    "text late in CSV": (
        lambda f: text(f, "y,a,c\n" + f"{CELL},1,u\n" * 200_000 + f"{CELL}x,1,u\n"),
        "'y' has missing",
    ),
    "the wrong delimiter": (lambda f: Csv(text(f, f"y;a;c\n{CELL};1;u\n")), "--delimiter ';'"),
    "not the encoding": (lambda f: Csv(text(f, "y,a,c\n1,1,é\n"), encoding="utf-16"), "t.csv"),
    "an empty file": (lambda f: text(f, ""), "empty"),
    "names and no rows": (lambda f: text(f, "y,a,c\n"), "no rows"),
    "a level with a trailing space": (lambda f: table(c=["u "] * 400), "'c' has missing"),
    "a NULL": (lambda f: parquet(f, table(a=[None, *[CELL] * 399])), "'a' has missing"),
    "an infinity": (lambda f: parquet(f, table(a=[np.inf, *[CELL] * 399])), "'a' has missing"),
    "a date": (lambda f: table(a=pa.array([0] * 400, pa.date32())), "days since a fixed day"),
    "a list": (lambda f: table(a=[[CELL]] * 400), "'a' is of the type list"),
    "a column missing": (lambda f: pd.DataFrame(rows()).drop(columns="a"), "'a' is not in the table"),
    "a column twice": (lambda f: pd.DataFrame([[CELL] * 4], columns=["y", "a", "a", "c"]), "more than once"),
    "mixed objects": (lambda f: pd.DataFrame({**rows(2), "a": [CELL, {"x": 1}]}), "'a' cannot be turned into"),
    "a stream read before": (spent_stream, "no rows"),
    "a stream that breaks": (breaking_stream, "broke off"),
    "no database": (lambda f: Database(f / "none.duckdb", table="t"), "cannot be opened"),
    "a missing table": (lambda f: database(f, "SELECT 1", table="t"), "refuses the table 't'"),
    "a query that fails on a cell": (
        lambda f: database(
            f, f"CREATE TABLE t AS SELECT '{CELL}x' AS y", query="SELECT y::DOUBLE AS y, 1 AS a, 'u' AS c FROM t"
        ),
        "stopped while the rows",
    ),
    "no server": (
        lambda f: f"postgresql://me:{PASSWORD}@127.0.0.1:1/base?table=t&password={PASSWORD}",
        "PostgreSQL at 127.0.0.1:1 cannot be reached",
    ),
    "an unknown engine": (
        lambda f: f"mysql://me:{PASSWORD}@host/base?table=t",
        "Rows cannot be read from 'mysql' addresses",
    ),
    "a number": (lambda f: 7, "cannot be read from a int"),
    "weights": (lambda f: (np.zeros((1, 2)), np.zeros(1), np.ones(1)), "not a table of this study"),
}


def everything_behind(error: BaseException | None) -> str:
    """What a log that ignores `from None` would print."""
    return "" if error is None else repr(error) + repr(vars(error)) + everything_behind(error.__context__)


def is_short(message: str) -> bool:
    """What is wrong, and what to do: two sentences at most, on one line."""
    return "\n" not in message and message.endswith(".") and len(re.findall(r"[.!?] [A-Z]", message)) <= 1


@pytest.mark.parametrize("name", BAD)
def test_a_bad_source_ends_in_two_sentences_at_most_and_costs_nothing(name, tmp_path):
    make, sentence = BAD[name]
    (tmp_path / "data").mkdir()
    source = make(tmp_path / "data")
    ledger = dpselect.Ledger(tmp_path / "ledger.db", epsilon=1)
    with pytest.raises(DataError, match=sentence) as caught:
        dpselect.select(source, STUDY, epsilon=1, method="pcls", ledger=ledger)
    shown = "".join(traceback.format_exception(caught.value)) + everything_behind(caught.value)
    assert str(CELL) not in shown and PASSWORD not in shown
    assert is_short(str(caught.value)), str(caught.value)
    assert ledger.spent().epsilon == 0 and ledger.entries() == ()


def test_there_are_more_than_twenty():
    assert len(BAD) > 20
