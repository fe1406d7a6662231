"""One record decides nothing but its own row: whatever it holds, all other rows and their number are read as before.

Each source is written twice, once with one record replaced by a strange one, and everything else is compared cell by cell;
nothing may warn or refuse. What a source itself cannot hold (a list in a column of Parquet) is not written.
"""

import sqlite3
import warnings
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from html import escape

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Study
from dpselect.assume.subgroup import Only
from dpselect.assume.variables import Categorical, Count, Numeric
from dpselect.errors import DataError
from dpselect.gather.grid import needed_names
from dpselect.gather.rows import count_rows, gather, table_parts
from dpselect.gather.sources.open import is_read_once, open_stream
from dpselect.gather.sources.source import Csv, Database
from tests.gather.sources.test_excel import opendocument

ROWS = 30
RNG = np.random.default_rng(16070)
TABLE = {
    "y": [round(float(v), 6) for v in RNG.normal(size=ROWS)],
    "a": [round(float(v), 3) for v in 1e3 * RNG.normal(size=ROWS)],
    "b": [round(float(v), 6) for v in RNG.uniform(-2, 2, ROWS)],
    "c": [str(v) for v in RNG.choice(["u", "v", "é"], ROWS)],
    "note": ["nothing"] * ROWS,  # a column that nobody asks for
    "w": [round(float(v), 3) for v in RNG.uniform(0, 9, ROWS)],
    "k": [str(v) for v in RNG.choice(["k1", "k2", "k3"], ROWS)],
    "g": [str(v) for v in RNG.choice(["f", "m"], ROWS)],
    "v": [float(v) for v in RNG.poisson(2, ROWS)],
}
TEXT_COLUMNS = ("c", "note", "k", "g")
STUDY = Study(Numeric("y"), [Numeric("a"), Numeric("b", -2, 2), Categorical("c", ["u", "v", "é"])], missing="zero-row")
SURVEY = Study(  # of counts, in a subgroup, by weights and clusters
    Count("v"),
    [Numeric("b", -2, 2), Categorical("c", ["u", "v", "é"])],
    only=[Only("g", ["f"]), Only("a", lower=-1500)],
    weights="w",
    weight_limit=8,
    population=300,
    cluster="k",
    neighbors="add-remove-one",
    missing="zero-row",
)

TEXTS = [
    "",
    "x",
    "1e400",
    "-1e400",
    "1e308",
    "5e-324",
    "-0.0",
    "nan",
    "NaN",
    "NULL",
    "NA",
    "inf",
    "Infinity",
    "-infinity",
    "True",
    "FALSE",
    "1,5",
    "1.5",
    "+1.5",
    " 2",
    "2 ",
    "\t2",
    "0x1p3",
    "1_000",
    "é",
    "\U0001f600",
    "a'b",
    "٣",
    "1.#IND",
    "#N/A",
    "1d5",
    "1f",
    "1.e5",
    ".5",
    "5.",
    "1e5",
    "-nan",
    "u",
    "1" * 5000,
    "0." + "1" * 400,
    "9007199254740993",
    "18446744073709551616",
    "0.1",
    "#",
    "\\N",
    "%s",
    "{}",
    "2020-01-01",
    "12:00",
    "1e",
    "--1",
    "\ufeff1",
    "\u200b1",
    "\u20181\u2019",
    "\u22121",
]
QUOTED = ['a"b', "a,b", "a;b", "a\nb", '"', '""', "a\r\nb", ",", "\n"]
OBJECTS = [
    None,
    1e308,
    -1e308,
    5e-324,
    -0.0,
    float("inf"),
    float("nan"),
    2**53 + 1,
    2**63,
    2**64,
    2**200,
    True,
    False,
    Decimal("0.1"),
    Decimal("1e5000"),
    Decimal("NaN"),
    np.float32(0.1),
    np.int8(3),
    np.uint64(2**64 - 1),
    b"x",
    b"\xff",
    datetime(2020, 1, 1),
    date(2020, 1, 1),
    pd.NaT,
    pd.NA,
    [1, 2],
    {"a": 1},
    "\ud800",
    object(),
]
MISSING_WORDS = ("nan", "NaN", "NULL", "NA", "#N/A", "-nan", "1.#IND")
"""What pandas takes for a missing cell when it reads a text file."""
FLOATS = [None, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324, -0.0, 2.0**63, 1e22]
assert len(TEXTS) + len(QUOTED) + len(OBJECTS) >= 80


def csv_text(table, delimiter=",", decimal="."):
    def cell(value):
        text = "" if value is None else str(value)
        if isinstance(value, float):
            text = text.replace(".", decimal)
        if any(mark in text for mark in ('"', delimiter, "\n", "\r")):
            text = '"' + text.replace('"', '""') + '"'
        return text

    lines = [delimiter.join(table), *(delimiter.join(map(cell, row)) for row in zip(*table.values(), strict=True))]
    return "\n".join(lines) + "\n"


def plain_csv(table, folder):
    (folder / "t.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    return folder / "t.csv", STUDY


def german_csv(table, folder):
    (folder / "t.csv").write_text(csv_text(table, ";", ","), encoding="latin-1", errors="replace", newline="")
    form = SourceForm(delimiter=";", decimal=",", encoding="latin-1")
    return folder / "t.csv", Study.from_dict({**STUDY.to_dict(), "source": form})


def utf16_csv(table, folder):
    (folder / "t.csv").write_text(csv_text(table), encoding="utf-16", newline="")
    return Csv(folder / "t.csv", encoding="utf-16"), STUDY


def japanese_csv(table, folder):
    (folder / "t.csv").write_text(csv_text(table), encoding="cp932", errors="replace", newline="")
    return Csv(folder / "t.csv", encoding="cp932"), STUDY


def workbook(table, folder):
    """It stores no empty rows, so that the study states how many there are."""
    import openpyxl

    if any("\ud800" in str(cell) for cells in table.values() for cell in cells):
        raise ValueError("half a character is not XML, and no program writes it")
    book = openpyxl.Workbook()
    for row in [list(table), *zip(*table.values(), strict=True)]:
        book.active.append(list(row))
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx", replace(STUDY, rows=ROWS)


def open_document(table, folder):
    kinds = {type(cell) for cells in table.values() for cell in cells}
    if not kinds <= {str, int, float, type(None)} or any("\ud800" in str(c) for cells in table.values() for c in cells):
        raise ValueError("a cell holds text or a number")
    rows = [
        tuple(escape(cell) if isinstance(cell, str) else cell for cell in row)
        for row in zip(*table.values(), strict=True)
    ]
    return opendocument(folder / "t.ods", [tuple(table), *rows]), replace(STUDY, rows=ROWS)


def frame_of_objects(table, folder):
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()}), STUDY


def polars_objects(table, folder):
    return pl.DataFrame({name: pl.Series(name, cells, dtype=pl.Object) for name, cells in table.items()}), STUDY


def lists(table, folder):
    return {name: list(cells) for name, cells in table.items()}, STUDY


def arrow(table):
    return pa.table(
        {name: pa.array(cells, pa.string() if name in TEXT_COLUMNS else pa.float64()) for name, cells in table.items()}
    )


def arrow_table(table, folder):
    return arrow(table), STUDY


def parquet(table, folder):
    pq.write_table(arrow(table), folder / "t.parquet", row_group_size=7)
    return folder / "t.parquet", STUDY


def feather(table, folder):
    pa.feather.write_feather(arrow(table), folder / "t.feather", chunksize=7)
    return folder / "t.feather", STUDY


def typed_pandas(table, folder):
    return arrow(table).to_pandas(), STUDY


def typed_polars(table, folder):
    return pl.from_arrow(arrow(table)), STUDY


def duckdb_table(table, folder):
    import duckdb

    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        rows = arrow(table)  # noqa: F841
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return f"{path}?table=t", STUDY


def duckdb_query(table, folder):
    address, study = duckdb_table(table, folder)
    return Database(
        f"duckdb:{address.partition('?')[0]}", query="SELECT * FROM t WHERE y IS NOT NULL OR y IS NULL"
    ), study


def c_stream(table, folder):
    """Rows by Arrow's C stream, as ADBC, nanoarrow, DataFusion and others hand them out: read once."""
    return Handed(arrow(table)), STUDY


class Handed:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def arrow_dataset(table, folder):
    return pyarrow.dataset.dataset(parquet(table, folder)[0]), STUDY


def sqlite_file(table, folder):
    path = folder / "t.sqlite"
    path.unlink(missing_ok=True)
    types = ", ".join(f"{name} {'TEXT' if name in TEXT_COLUMNS else 'REAL'}" for name in table)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({types})")
        marks = ", ".join("?" * len(table))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", list(zip(*table.values(), strict=True)))
        connection.commit()
    return path


def adbc(table, folder):
    pytest.importorskip("adbc_driver_sqlite")
    return Database(f"adbc:sqlite:{sqlite_file(table, folder)}", table="t"), STUDY


def odbc(table, folder):
    try:
        import arrow_odbc

        arrow_odbc.read_arrow_batches_from_odbc("SELECT 1", "Driver={SQLite3};Database=:memory:")
    except Exception:
        pytest.skip("No ODBC driver to try: install unixodbc and libsqliteodbc.")
    return Database(f"odbc:Driver={{SQLite3}};Database={sqlite_file(table, folder)}", table="t"), STUDY


def stata(table, folder):
    frame = arrow(table).to_pandas().astype({name: object for name in TEXT_COLUMNS})
    frame.to_stata(folder / "t.dta", write_index=False, version=118)
    return folder / "t.dta", STUDY


def spss(table, folder):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(arrow(table).to_pandas(), str(folder / "t.sav"))
    return folder / "t.sav", STUDY


def sas_transport(table, folder):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_xport(arrow(table).to_pandas(), str(folder / "t.xpt"), file_format_version=8)
    return folder / "t.xpt", STUDY


def read_by_pandas(table, folder):
    return pd.read_csv(plain_csv(table, folder)[0]), STUDY


def read_by_polars(table, folder):
    return pl.read_csv(plain_csv(table, folder)[0], infer_schema_length=None), STUDY


def read_by_arrow(table, folder):
    written_lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return pyarrow.csv.read_csv(plain_csv(table, folder)[0], parse_options=written_lines), STUDY


BY_TEXT = (plain_csv, german_csv, utf16_csv, japanese_csv)
BY_OBJECT = (workbook, open_document, frame_of_objects, polars_objects, lists)
BY_TYPE = (arrow_table, parquet, feather, typed_pandas, typed_polars, c_stream, arrow_dataset, adbc)
SLOWLY = (duckdb_table, duckdb_query, odbc, stata, spss, sas_transport)
READ_BEFORE = (read_by_pandas, read_by_polars, read_by_arrow)
"""Frames in memory that their own package read from a text file: one cell of text makes text of a column of numbers."""


def cells_of(source, study):
    names = needed_names(study)
    found = {}
    for part in table_parts(source, study, names):
        for batch in part:
            for name, cells in batch.items():
                found.setdefault(name, []).append(np.asarray(cells))
    return {name: np.concatenate(pieces) for name, pieces in found.items()}


def same_cells(one, other):
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")


def strange_records():
    """(place, {column: cell}) of one cell each, and of a whole record of them; first, middle and last row."""
    for cell in [*TEXTS, *QUOTED]:
        for column in ("b", "c", "note", "*"):
            yield cell, column
    for cell in OBJECTS:
        for column in ("y", "c", "*"):
            yield cell, column


def replaced(cell, column, place):
    table = {name: list(cells) for name, cells in TABLE.items()}
    for name in table if column == "*" else [column]:
        table[name][place] = cell
    return table


def compare(make, cases, folder, study=None):
    """How many cases were compared, and refused for a type; any difference is an error. `study` replaces the source's own."""
    source, own = make(TABLE, folder)
    study = study or own
    before, compared, refused = cells_of(source, study), 0, 0
    for number, (cell, column) in enumerate(cases):
        place = ROWS - 1 if column == "*" else (0, 13, ROWS - 1)[number % 3]  # an empty last record is easily lost
        try:
            source, _ = make(replaced(cell, column, place), folder)
        except Exception:  # the source's own writer cannot hold it
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                after = cells_of(source, study)
                count = ROWS if is_read_once(source) else count_rows(source, study)
            except DataError:
                refused += 1
                continue
        others = np.arange(ROWS) != place
        assert count == ROWS, (make.__name__, cell, column, count)
        assert before.keys() == after.keys()
        for name in before:
            assert len(after[name]) == ROWS, (make.__name__, cell, column, name)
            assert same_cells(before[name][others], after[name][others]), (make.__name__, cell, column, name)
        compared += 1
    COUNTED[make.__name__, study is SURVEY] = compared, refused
    return compared, refused


COUNTED = {}
"""Cases compared and refused, by source and whether a survey was read: for whoever asks."""


def every(makes, each):
    """Each source with one case in `each`, and all as a thorough test; `each` shares no factor with the number of columns."""
    return [*((make, each) for make in makes), *(pytest.param(make, 1, marks=pytest.mark.thorough) for make in makes)]


@pytest.mark.parametrize(("make", "each"), [*every([plain_csv], 5), *every(BY_TEXT[1:], 11)])
def test_a_strange_record_of_a_text_file_touches_only_itself(make, each, tmp_path):
    cases = [(cell, column) for cell, column in strange_records() if isinstance(cell, str) and "\ud800" not in cell]
    compared, refused = compare(make, cases[::each], tmp_path)
    assert compared > 200 / each
    assert refused == 0


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("place", [0, 13, ROWS - 1])
@pytest.mark.parametrize("make", BY_TEXT)
def test_an_empty_line_is_a_row_of_empty_cells(make, place, end, tmp_path):
    """It was once passed over: one record decided how many rows there are."""
    source, study = make(TABLE, tmp_path)
    path = tmp_path / "t.csv"
    encoding = "utf-16" if make is utf16_csv else "cp932" if make is japanese_csv else "latin-1"
    lines = path.read_bytes().decode(encoding).splitlines()
    for last in (end, ""):  # the last line may have an end or not, and that is no row
        path.write_bytes((end.join(lines) + last).encode(encoding))
        assert count_rows(source, study) == ROWS
    before = cells_of(source, study)
    lines[1 + place] = ""
    path.write_bytes((end.join(lines) + end).encode(encoding))
    assert count_rows(source, study) == ROWS
    others = np.arange(ROWS) != place
    for name, cells in cells_of(source, study).items():
        assert len(cells) == ROWS
        assert same_cells(before[name][others], cells[others]), name
    assert np.isnan(cells_of(source, study)["y"][place])


@pytest.mark.parametrize("place", [0, 13, ROWS - 1])
def test_an_empty_line_of_a_single_column_is_an_empty_cell(place, tmp_path):
    cells = ["0.5"] * ROWS
    cells[place] = ""
    (tmp_path / "t.csv").write_text("\n".join(["y", *cells]) + "\n", encoding="utf-8")
    with open_stream(tmp_path / "t.csv", {"y": "number or missing"}) as stream:
        found = [cell for part in stream.in_parts(["y"]) for batch in part for cell in batch.column(0).to_pylist()]
    assert found == [None if at == place else 0.5 for at in range(ROWS)]


# A workbook is written and read anew for each case.
@pytest.mark.parametrize(
    ("make", "each"),
    [(lists, 1), *every([make for make in BY_OBJECT if make is not lists], 11)],
)
def test_a_strange_object_touches_only_its_own_record(make, each, tmp_path):
    compared, refused = compare(make, list(strange_records())[::each], tmp_path)
    assert compared > 180 / each
    assert refused == 0


def typed_cases():
    cases = [(cell, column) for cell in FLOATS for column in ("y", "a", "b")]
    return cases + [(cell, column) for cell in [*TEXTS, *QUOTED, None] for column in ("c", "note")]


# A database file takes as long as all cases of another source do, so all of its cases are thorough.
@pytest.mark.parametrize(
    ("make", "each"),
    [
        (arrow_table, 1),
        *every(BY_TYPE[1:], 11),
        *every(SLOWLY, 23),
    ],
)
def test_a_strange_cell_of_a_typed_column_touches_only_itself(make, each, tmp_path):
    compared, refused = compare(make, typed_cases()[::each], tmp_path)
    assert compared > 100 / each
    assert refused <= (make is odbc)  # a text beyond 4,096 bytes, which ODBC hands over to nobody


@pytest.mark.parametrize(("make", "each"), every(READ_BEFORE, 9))
def test_a_strange_record_that_another_reader_read_touches_only_itself(make, each, tmp_path):
    cases = [(cell, column) for cell in TEXTS for column in ("y", "a", "b", "c", "note")]
    compared, refused = compare(make, cases[::each], tmp_path)
    assert compared > 200 / each
    assert refused == 0


@pytest.mark.parametrize("make", [plain_csv, workbook, frame_of_objects, lists, stata, spss, *BY_TYPE, *READ_BEFORE])
@pytest.mark.parametrize("each", [11, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_strange_weight_cluster_group_or_count_touches_only_itself(make, each, tmp_path):
    """A row without a cluster is refused whatever is stated, so that cells of clusters are not blank here."""
    words, numbers = [*TEXTS, *QUOTED], FLOATS if make in (*BY_TYPE, *SLOWLY) else [*FLOATS, *TEXTS]
    cases = [(cell, column) for cell in numbers for column in ("w", "v", "a")]
    cases += [(cell, "g") for cell in words]
    cases += [(cell, "k") for cell in words if cell.strip(" \n") and cell not in MISSING_WORDS]
    slow = make in (workbook, adbc, stata, spss, read_by_pandas)
    compared, refused = compare(make, cases[:: each * (2 if slow else 1)], tmp_path, SURVEY)
    assert compared > 40 / each
    assert refused == 0


def sent_cases():
    """Cells of typed columns, those that a column of objects holds, and whole records of nothing."""
    cases = [*typed_cases(), *((cell, name) for cell in SENT for name in ("b", "c", "*"))]
    return [case for case in cases if case[1] != "note"]


SENT = [None, True, 2**53 + 1, "x", "", "1,5", b"x", datetime(2020, 1, 1), date(2020, 1, 1), pd.NaT, float("inf")]


@pytest.mark.parametrize("each", [19, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_strange_cell_of_a_dask_frame_touches_only_itself(each):
    """Its sums are those of the same rows as lists, which are compared cell by cell above."""
    import dask.dataframe as dd

    for number, (cell, column) in enumerate(sent_cases()[::each]):
        table = replaced(cell, column, (0, 13, ROWS - 1)[number % 3])
        frame = frame_of_objects(table, None)[0]
        moments = gather(dd.from_pandas(frame, npartitions=3), bounded())
        assert moments.integers() == gather(table, bounded()).integers(), (cell, column)


@pytest.mark.spark
@pytest.mark.parametrize("each", [19, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_strange_cell_of_a_spark_frame_touches_only_itself(spark, each):
    """Its columns have types, so that only what is of that type can be sent; the sums are those of the same rows as lists."""

    def frame_of(table):
        return spark.createDataFrame(
            list(zip(*table.values(), strict=True)),
            ", ".join(f"{name} {'string' if name in TEXT_COLUMNS else 'double'}" for name in table),
        )

    cases = [
        *((cell, "y") for cell in FLOATS[:: min(each, 3)]),
        *[(cell, name) for cell, name in typed_cases() if name == "c"][::each],
        (None, "*"),
    ]
    for number, (cell, column) in enumerate(cases):
        table = replaced(cell, column, (0, 13, ROWS - 1)[number % 3])
        assert gather(frame_of(table), bounded()).integers() == gather(table, bounded()).integers(), (cell, column)


@pytest.mark.postgres
@pytest.mark.parametrize("each", [23, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_strange_cell_of_postgresql_touches_only_itself(postgres, each):
    import psycopg

    address = Database(postgres, table="strange")

    def load(table):
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS strange")
            types = ", ".join(f"{name} {'text' if name in TEXT_COLUMNS else 'float8'}" for name in table)
            connection.execute(f"CREATE TABLE strange ({types})")
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO strange VALUES ({', '.join(['%s'] * len(table))})",
                    list(zip(*table.values(), strict=True)),
                )

    def make(table, folder):
        load(table)
        return address, STUDY

    compared, refused = compare(make, typed_cases()[::each], None)
    assert compared > 100 / each
    assert refused == 0


def bounded():
    return Study(
        Numeric("y", -2, 2),
        [Numeric("a", -3000, 3000), Numeric("b", -2, 2), Categorical("c", ["u", "v", "é"])],
        missing="zero-row",
    )
