"""Whatever hands out Arrow streams, drivers of ADBC by their names, and ODBC: the same integers as from CSV."""

import sqlite3
import sys
from contextlib import closing
from importlib.abc import MetaPathFinder

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import count_rows, gather, require_repeatable
from dpselect.gather.sources.open import is_read_once
from dpselect.gather.sources.schema import read_schema
from dpselect.gather.sources.source import Database, parse_address

SECRET = "s3cret"
STUDY = Study(
    Numeric("y", 0, 1000),
    [Numeric("a", -1, 1), Numeric("count", 0, 2**62), Categorical("county", ["Marin", 'O\'Hara \\ "é"', "Napa"])],
    missing="zero-row",
)
WEIGHTED = Study(STUDY.response, STUDY.predictors, missing="zero-row", weights="w", weight_limit=2, population=100)


def frame() -> pd.DataFrame:
    """Ties, bounds, what lies beyond them, whole numbers beyond 2^53, and missing cells, at the top of the table too."""
    rng = np.random.default_rng(26)
    tie, rows = 0.5 / 2**20, 3000
    cells = [tie, -tie, 3 * tie, 1.0, -1.0, 1.0000001, 1e308, -1e308, 5e-324, -0.0]
    found = pd.DataFrame(
        {
            "y": rng.uniform(-100, 1100, rows),
            "a": [cells[i % 10] if i % 3 else rng.normal() for i in range(rows)],
            "count": pd.array(rng.integers(0, 2**62, rows), "Int64"),
            "county": np.array(["Marin", 'O\'Hara \\ "é"', "Napa", "napa", "other"], dtype=object)[
                rng.integers(0, 5, rows)
            ],
            "w": rng.choice([0.0, 2.0, 5.0], rows),
        }
    )
    missing = np.zeros((rows, 5), bool)
    missing[:1500, 1] = missing[:1500, 3] = True  # longer than a driver looks for a column's type
    missing[:20, 2] = True
    missing[rng.random((rows, 5)) < 0.02] = True
    return found.mask(missing)


@pytest.fixture(scope="module")
def table():
    return pa.Table.from_pandas(frame(), preserve_index=False)


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("drivers") / "t.csv"
    frame().to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def expected(csv):
    return gather(csv, STUDY).integers()


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    """A file of SQLite, its last row of text where numbers should be."""
    path = tmp_path_factory.mktemp("drivers") / "t.sqlite"
    plain = frame().astype(object)  # SQLite would keep a number of NumPy's as its bytes
    cells = [[None if pd.isna(cell) else cell for cell in row] for row in plain.itertuples(index=False)]
    with closing(sqlite3.connect(path)) as connection:
        types = '"y" DOUBLE, "a" DOUBLE, "count" BIGINT, "county" VARCHAR(40), "w" DOUBLE'
        connection.execute(f'CREATE TABLE "odd ""t" ({types})')
        connection.executemany('INSERT INTO "odd ""t" VALUES (?, ?, ?, ?, ?)', cells)
        connection.commit()
    return str(path)


def sums(source):
    """Of the rows that surely count, by weights that are 0 or at the limit and beyond."""
    return gather(source, WEIGHTED, BlockSummary(WEIGHTED, 3, 2)).sums.table.sum(axis=1)


def test_nanoarrow(table, expected, csv):
    nanoarrow = pytest.importorskip("nanoarrow")
    assert gather(nanoarrow.ArrayStream(table), STUDY).integers() == expected
    assert (sums(nanoarrow.ArrayStream(table)) == sums(csv)).all()
    stream = nanoarrow.ArrayStream(table)
    assert is_read_once(stream)
    gather(stream, STUDY)
    with pytest.raises(DataError, match=r"may have been read before|broke off"):
        gather(stream, STUDY)
    with pytest.raises(DataError, match="not read just to count its rows"):
        count_rows(nanoarrow.ArrayStream(table), STUDY)


class Stranger:
    """A class that nobody has heard of, with the one method."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_whatever_has_the_one_method(table, expected):
    assert gather(Stranger(table), STUDY).integers() == expected
    assert [each.name for each in read_schema(Stranger(table))] == ["y", "a", "count", "county", "w"]
    with pytest.raises(DataError, match="a stream can be read once"):
        require_repeatable(Stranger(table), "Odds")


def test_datafusion_runs_its_plan_anew_each_time(table, expected, csv):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_record_batches("t", [table.to_batches(max_chunksize=500)])
    plan = context.sql("SELECT * FROM t")
    assert not is_read_once(plan) and count_rows(plan, STUDY) == 3000
    assert gather(plan, STUDY).integers() == gather(plan, STUDY).integers() == expected
    assert (sums(plan) == sums(csv)).all()


def test_adbc_by_the_name_of_its_driver(sqlite, expected, csv):
    """SQLite has no types of columns: what the study says holds, whatever the first cells are."""
    pytest.importorskip("adbc_driver_sqlite")
    source = Database(f"adbc:sqlite:{sqlite}", table='odd "t')
    assert gather(source, STUDY).integers() == expected
    assert gather(f'adbc:sqlite:{sqlite}?query=SELECT * FROM "odd ""t";', STUDY).integers() == expected
    assert (sums(source) == sums(csv)).all() and count_rows(source, STUDY) == 3000
    assert [each.name for each in read_schema(source)] == ["y", "a", "count", "county", "w"]
    with closing(sqlite3.connect(sqlite)) as connection:  # would be locked if a connection were still open
        connection.execute("CREATE TABLE more AS SELECT 1 AS y")


def test_text_where_numbers_should_be_is_missing_in_sqlite(tmp_path):
    pytest.importorskip("adbc_driver_sqlite")
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (y, a, count, county)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)", [("1", 0.5, 1, "Napa"), (2, b"\x00", 1, 7), (3, 0.5, 1, "Napa")]
        )
        connection.commit()
    whole = Study(STUDY.response, STUDY.predictors)
    found = gather(f"adbc:sqlite:{path}?table=t", STUDY)
    assert found.n == 3 and found.integers()[1][0][0] == 2**40  # one row of three counts
    with pytest.raises(DataError, match="'y' has missing"):
        gather(f"adbc:sqlite:{path}?query=SELECT * FROM t WHERE y = '1'", whole)


def arrow_odbc():
    """The package, or one line that says what is missing; its library needs the system's driver manager."""
    try:
        return pytest.importorskip("arrow_odbc", reason="No arrow-odbc: pip install 'dpselect[odbc]'.")
    except OSError:
        pytest.skip("No ODBC driver manager: install unixodbc and libsqliteodbc.")


def test_odbc(sqlite, csv):
    """This driver writes doubles with 15 digits on their way, so the one tie that has 16 is left out on both sides."""
    odbc = arrow_odbc()
    address = f"odbc:Driver={{SQLite3}};Database={sqlite}"
    try:
        odbc.read_arrow_batches_from_odbc("SELECT 1", address.removeprefix("odbc:"))
    except odbc.Error:
        pytest.skip("No ODBC driver to try: install unixodbc and libsqliteodbc.")
    known = frame()
    expected = gather(known[known.a != 1.5 / 2**20], STUDY).integers()
    rest = 'SELECT * FROM "odd ""t" WHERE a IS NULL OR NOT (a BETWEEN 1.4e-6 AND 1.5e-6)'
    assert gather(Database(address, query=rest), STUDY).integers() == expected
    assert gather(f"{address}?query={rest};", STUDY).integers() == expected
    source = Database(address, table='odd "t')
    assert sums(source)[:, 0].tolist() == sums(csv)[:, 0].tolist() and count_rows(source, STUDY) == 3000


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (f"adbc:sqlite:/nowhere/{SECRET}/t.db?table=t", "The ADBC driver 'sqlite' cannot be reached"),
        ("adbc:sqlite::memory:?table=missing", "refuses the table 'missing'"),
        (f"adbc:nothing_of_the_kind:user:{SECRET}@host?table=t", "'nothing_of_the_kind' cannot be reached"),
        (f"odbc:Driver={{None of the kind}};PWD={SECRET}?table=t", "The ODBC source (cannot be reached|refuses)"),
    ],
)
def test_what_a_driver_refuses_ends_in_one_sentence(address, sentence):
    if address.startswith("odbc"):
        arrow_odbc()
    else:
        pytest.importorskip("adbc_driver_sqlite")
    with pytest.raises(DataError, match=sentence) as caught:
        gather(address, STUDY)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("address", "bare"),
    [
        ("odbc:DSN=people;UID=me;PWD={s;3}cret", "odbc:DSN=people;UID=;PWD="),
        ("odbc:Driver={X};Server=h;Password=s3cret;Database=d", "odbc:Driver={X};Server=h;Password=;Database=d"),
        ("adbc:flightsql:grpc://me:s3cret@host:31337", "adbc:flightsql:grpc://host:31337"),
        ("adbc:snowflake:me:s3cret@account/base", "adbc:snowflake:account/base"),
    ],
)
def test_an_address_without_its_password(address, bare):
    source = parse_address(f"{address}?table=t")
    assert source is not None and source.bare == bare
    assert "s3cret" not in repr(source) + source.place


def test_odbc_without_the_systems_driver_manager_is_one_sentence(monkeypatch):
    """On a bare Debian the package is there and its library cannot be loaded: an OSError while it is imported."""

    class Finder(MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if name == "arrow_odbc":
                raise OSError("cannot load library 'libarrow_odbc.so'")

    monkeypatch.delitem(sys.modules, "arrow_odbc", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(DataError, match=r"needs unixODBC.*install libodbc2"):
        gather("odbc:Driver=SQLite3?table=t", STUDY)
