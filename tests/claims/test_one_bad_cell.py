"""Claim: with `midpoint` and `zero-row` no cell refuses a table, from any source: what is no number or level is missing.

And it is missing in the same way everywhere: a table with unreadable cells gives the integers of the one in which they are empty.
"""

import json
import math
import tempfile
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrays import numeric_array
from dpselect.gather.sources.source import Csv, Database
from dpselect.gather.sources.text import csv_stream
from dpselect.gather.sources.text_numbers import number_in, number_of, numbers_of
from dpselect.gather.sql import aggregate_query, moments_from_answer
from tests.examples import examples

POLICIES = ("midpoint", "zero-row")
UNREADABLE = ["x", "", "NA", "1_000", "0x10", "1,5", "12 kg", "2020-01-01", "--1", "é", "1e", "٣", "-", "1 2"]
CLEAN = {"y": [0.5, 1.5, 2.5, 3.5], "a": [1.0, -1.5, 0.25, 1.75], "c": ["u", "v", "u", "v"]}
EMPTY = {**CLEAN, "a": [1.0, None, 0.25, 1.75], "c": ["u", "v", None, "v"]}


def study(missing: str) -> Study:
    return Study(Numeric("y", 0, 4), [Numeric("a", -2, 2), Categorical("c", ["u", "v"])], missing=missing)


def expected(missing: str):
    kinds = pa.schema([("y", pa.float64()), ("a", pa.float64()), ("c", pa.string())])
    return gather(pa.table(EMPTY, kinds), study(missing)).integers()


def lines(bad: str, *, last: bool) -> str:
    cells = [("0.5", "1.0", "u"), ("1.5", f'"{bad}"', "v"), ("2.5", "0.25", f'"{bad}"'), ("3.5", "1.75", "v")]
    ordered = [*cells[:1], *cells[3:], *cells[1:3]] if last else cells
    return "y,a,c\n" + "".join(",".join(row) + "\n" for row in ordered)


@pytest.mark.parametrize("missing", POLICIES)
@pytest.mark.parametrize("bad", UNREADABLE)
def test_text_in_a_csv_file(tmp_path, bad, missing):
    for last in (False, True):
        (tmp_path / "t.csv").write_text(lines(bad, last=last), encoding="utf-8")
        assert gather(tmp_path / "t.csv", study(missing)).integers() == expected(missing)


@pytest.mark.parametrize("missing", POLICIES)
def test_text_in_a_csv_file_after_a_million_bytes(tmp_path, missing):
    """The types are guessed from the first block; the bad cell is in a later one."""
    many = "3.5,1.75,v\n" * 150_000
    (tmp_path / "t.csv").write_text(lines("x", last=True).replace("y,a,c\n", "y,a,c\n" + many), encoding="utf-8")
    (tmp_path / "u.csv").write_text(lines("", last=True).replace("y,a,c\n", "y,a,c\n" + many), encoding="utf-8")
    found = [gather(tmp_path / name, study(missing)).integers() for name in ("t.csv", "u.csv")]
    assert found[0] == found[1] and found[0][0] == 150_004


@pytest.mark.parametrize("missing", POLICIES)
def test_bytes_that_are_not_in_the_encoding(tmp_path, missing):
    for encoding, bad in (("utf-8", b"\xff\xfe"), ("cp1252", b"\x81"), ("ascii", b"\x80")):
        (tmp_path / "t.csv").write_bytes(lines("@@", last=False).encode().replace(b"@@", bad))
        assert gather(Csv(tmp_path / "t.csv", encoding=encoding), study(missing)).integers() == expected(missing)
    half = lines("@", last=False).encode("utf-16-le").replace("@".encode("utf-16-le"), b"\x00\xd8")
    (tmp_path / "t.csv").write_bytes(half)
    assert gather(Csv(tmp_path / "t.csv", encoding="utf-16-le"), study(missing)).integers() == expected(missing)


OBJECTS = ["x", None, float("nan"), b"x", [1], {"a": 1}, 1 + 2j, pd.NaT, pd.Timestamp(0), 10**400, object(), "\ud800"]
OBJECTS += [
    np.timedelta64(1),
    np.timedelta64(1, "D"),
    pd.Timedelta(1),
    pd.Period("2020"),
    pd.Interval(0, 1),
    Decimal("sNaN"),
]


@pytest.mark.parametrize("missing", POLICIES)
@pytest.mark.parametrize("bad", OBJECTS, ids=range(len(OBJECTS)))
def test_objects_in_memory(bad, missing):
    columns = {**CLEAN, "a": [1.0, bad, 0.25, 1.75], "c": ["u", "v", bad, "v"]}
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    assert gather(frame, study(missing)).integers() == expected(missing)
    assert gather(columns, study(missing)).integers() == expected(missing)
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    unsent = (dict, list, np.timedelta64, Decimal, pd.Period)  # which Dask itself cannot send, or sends as text
    if not isinstance(bad, unsent) and bad != "\ud800":
        whole = dask.from_pandas(frame, npartitions=2)
        assert gather(whole, study(missing)).integers() == expected(missing)


CATEGORIES = ["x", b"x", (1, 2), pd.Timestamp(0), pd.Timedelta(1), pd.Period("2020"), pd.Interval(0, 1), 10**400]


@pytest.mark.parametrize("missing", POLICIES)
@pytest.mark.parametrize("bad", CATEGORIES, ids=range(len(CATEGORIES)))
def test_categories_and_objects_of_frames(bad, missing):
    """One cell makes the categories of pandas objects; what polars holds as objects says no more of its cells."""
    columns = {"a": [1.0, bad, 0.25, 1.75], "c": ["u", "v", bad, "v"]}
    for ordered in (False, True):
        kinds = {name: pd.CategoricalDtype(list(dict.fromkeys(cells)), ordered) for name, cells in columns.items()}
        frame = pd.DataFrame(
            {name: pd.Series(cells, dtype=object).astype(kinds[name]) for name, cells in columns.items()}
        )
        assert gather(frame.assign(y=CLEAN["y"]), study(missing)).integers() == expected(missing)
    objects = {name: pl.Series(cells, dtype=pl.Object) for name, cells in columns.items()}
    assert gather(pl.DataFrame({"y": CLEAN["y"], **objects}), study(missing)).integers() == expected(missing)


@pytest.mark.parametrize("missing", POLICIES)
def test_categories_of_text_as_pandas_reads_them(tmp_path, missing):
    (tmp_path / "t.csv").write_text(lines("x", last=False), encoding="utf-8")
    frame = pd.read_csv(tmp_path / "t.csv", dtype={"a": "category", "c": "category"})
    assert gather(frame, study(missing)).integers() == expected(missing)


@pytest.mark.parametrize("missing", POLICIES)
def test_a_frame_of_text_as_pandas_reads_it_when_one_cell_is_bad(tmp_path, missing):
    (tmp_path / "t.csv").write_text(lines("x", last=False), encoding="utf-8")
    frame = pd.read_csv(tmp_path / "t.csv")
    assert not pd.api.types.is_numeric_dtype(frame["a"])
    assert gather(frame, study(missing)).integers() == expected(missing)


@pytest.mark.parametrize("missing", POLICIES)
def test_categories_of_text_as_arrow_reads_them_when_one_cell_is_bad(missing):
    options = pyarrow.csv.ConvertOptions(auto_dict_encode=True)
    table = pyarrow.csv.read_csv(pa.py_buffer(lines("x", last=False).encode()), convert_options=options)
    assert pa.types.is_dictionary(table["a"].type)
    assert gather(table, study(missing)).integers() == expected(missing)


def test_a_number_of_many_digits_as_polars_reads_it():
    """One cell of thirty digits makes whole numbers of 128 bits of a column, which Arrow has not."""
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)], missing="midpoint")
    frame = pl.read_csv(b"y,a\n1,1\n2,-1\n3," + b"9" * 30)
    assert gather(frame, numeric).integers() == gather(([[1], [-1], [2]], [1, 2, 3]), numeric).integers()


def test_truth_values_in_words_are_one_and_zero():
    words = ["true", "True", "TRUE", "false", "False", "FALSE"]
    assert [number_in(word) for word in words] == [number_of(word) for word in words] == [1, 1, 1, 0, 0, 0]
    assert math.isnan(number_of("tRUE")) and math.isnan(number_of("yes"))


PLANS = {
    "polars": lambda file: pl.scan_csv(file).filter(pl.col("a") > -9).select("y", "a"),
    "polars, json": lambda file: pl.scan_ndjson(file.with_suffix(".json")),
    "arrow": lambda file: ds.dataset(file, format="csv"),
    "arrow, json": lambda file: ds.dataset(file.with_suffix(".json"), format="json"),
    "arrow, of two": lambda file: ds.dataset([ds.dataset(file, format="csv"), ds.dataset(pa.table({"z": [1.0]}))]),
    "duckdb": lambda file: duckdb.read_csv(str(file)),
    "duckdb, query": lambda file: Database("duckdb:", query=f"SELECT y, a FROM '{file}' WHERE a IS NOT NULL"),
    "duckdb, table": lambda file: Database("duckdb:", table=f"{file.name}"),
    "duckdb, view": lambda file: f"{file.with_name('v.duckdb')}?table=rows",
    "adbc": lambda file: Database("adbc:duckdb:", query=f"SELECT * FROM '{file}'"),
}


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_that_reads_text_is_refused_whatever_its_cells(tmp_path, monkeypatch, plan):
    """Whoever runs it takes the types of columns from cells, so that one of them would decide whether there is a release."""
    monkeypatch.chdir(tmp_path)
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)], missing="zero-row")
    with duckdb.connect("v.duckdb") as connection:
        Path("t.csv").write_text("y,a\n1,1\n", encoding="utf-8")
        connection.execute("CREATE VIEW rows AS SELECT * FROM 't.csv'")
    found = set()
    for cell in ("1", "x", ""):
        Path("t.csv").write_text("y,a\n1,1\n2,-1\n" + f"3,{cell}\n", encoding="utf-8")
        Path("t.json").write_text(json.dumps({"y": 1, "a": cell or None}) + "\n", encoding="utf-8")
        with pytest.raises(DataError) as refused:
            gather(PLANS[plan](tmp_path / "t.csv"), numeric)
        found.add(str(refused.value))
    assert len(found) == 1 and "give the path of the CSV file itself" in found.pop()


def test_a_plan_that_reads_files_with_types_is_taken(tmp_path):
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)])
    file = tmp_path / "csv.parquet"
    pl.DataFrame({"y": [1.0, 2.0], "a": [1.0, -1.0]}).write_parquet(file)
    wanted = gather(file, numeric).integers()
    for plan in (pl.scan_parquet(file), ds.dataset(file), duckdb.read_parquet(str(file))):
        assert gather(plan, numeric).integers() == wanted


def test_a_column_whose_memory_ends_within_a_number():
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)], missing="midpoint")
    memory = pa.py_buffer(np.array([0.5, 1.0, -1.0]).tobytes() + b"x")
    table = pa.table({"y": [1.0, 2.0], "a": pa.Array.from_buffers(pa.float64(), 3, [None, memory])[1:]})
    assert gather(table, numeric).integers() == gather(([[1], [-1]], [1, 2]), numeric).integers()


@pytest.mark.parametrize("missing", POLICIES)
def test_lists_and_arrays(missing):
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)], missing=missing)
    right = gather(([[1.0], [math.nan], [0.25]], [0.5, 1.5, math.nan]), numeric).integers()
    for bad in (None, "x", "inf", "nan", 10**400, pd.NaT, 1 + 2j, [1], np.datetime64("2020-01-01")):
        assert gather(([[1.0], [bad], [0.25]], [0.5, 1.5, bad]), numeric).integers() == right
    # As text a float of 32 bits would be another number: 0.1, not 0.100000001.
    narrow = [np.float32(0.1), np.float32(0.7)]
    assert numeric_array([*narrow, "x"], "y", tolerant=True)[:2].tolist() == [float(each) for each in narrow]
    assert gather((np.array([["1.0"], ["?"], ["0.25"]]), np.array(["0.5", "1.5", "?"])), numeric).integers() == right


@pytest.mark.parametrize("missing", POLICIES)
def test_text_that_is_not_utf8_in_parquet_and_arrow(tmp_path, missing):
    offsets = pa.py_buffer(np.array([0, 1, 2, 4, 5], np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 4, [None, offsets, pa.py_buffer(b"uv\xff\xfev")])
    table = pa.table({"y": CLEAN["y"], "a": pa.array(EMPTY["a"]), "c": text})
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    for source in (table, tmp_path / "t.parquet", tmp_path / "t.arrow"):
        assert gather(source, study(missing)).integers() == expected(missing)


@pytest.mark.parametrize("missing", POLICIES)
def test_a_folder_that_names_no_number(tmp_path, missing):
    for value, rows in (("1.0", [0]), ("x", [1]), ("0.25", [2]), ("1.75", [3])):
        (tmp_path / "by" / f"a={value}").mkdir(parents=True)
        part = pa.table({name: [EMPTY[name][i] for i in rows] for name in ("y", "c")}, pa.schema(KINDS))
        pq.write_table(part, tmp_path / "by" / f"a={value}" / "t.parquet")
    assert gather(tmp_path / "by", study(missing)).integers() == expected(missing)


KINDS = [("y", pa.float64()), ("c", pa.string())]


@pytest.mark.parametrize("missing", POLICIES)
def test_a_sheet_with_a_word_or_a_date_among_numbers(tmp_path, missing):
    openpyxl = pytest.importorskip("openpyxl", reason="No Excel: pip install openpyxl.")
    import datetime

    stated = msgspec.structs.replace(study(missing), rows=4)
    for bad in ("x", "NA", datetime.datetime(2020, 1, 1)):
        book = openpyxl.Workbook()
        for row in [("y", "a", "c"), (0.5, 1.0, "u"), (1.5, bad, "v"), (2.5, 0.25, bad), (3.5, 1.75, "v")]:
            book.active.append(row)
        book.save(tmp_path / "t.xlsx")
        assert gather(tmp_path / "t.xlsx", stated).integers() == expected(missing)


@pytest.mark.postgres
@pytest.mark.parametrize("missing", POLICIES)
def test_numbers_beyond_every_double_in_postgresql(postgres, missing):
    """The server calls them an error, while it reads the rows."""
    values = "(VALUES (0.5, 1.0, 'u'), (1.5, 1e400, 'v'), (2.5, 0.25, NULL), (3.5, 1.75, 'v'), (2.0, -1e-400, 'u')) AS t (y, a, c)"
    found = gather(Database(postgres, query=f"SELECT * FROM {values}"), study(missing))
    rows = {name: [*EMPTY[name], more] for name, more in (("y", 2.0), ("a", -0.0), ("c", "u"))}
    kinds = pa.schema([("y", pa.float64()), ("a", pa.float64()), ("c", pa.string())])
    right = gather(pa.table(rows, kinds), study(missing)).integers()
    assert found.integers() == right
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection:
        query = aggregate_query(study(missing), f"(SELECT * FROM {values})", "postgres").partition("SELECT")
        answered = connection.execute(query[1] + query[2])
        answer = dict(zip([column.name for column in answered.description], answered.fetchone(), strict=True))
    assert moments_from_answer(answer, study(missing)).integers() == right


def test_where_a_cell_may_be_refused_its_column_is_named_and_nothing_else(tmp_path):
    secret = "7342.1234"
    (tmp_path / "t.csv").write_text(lines(f"x{secret}", last=False) + "1,1,u\n" * 200_000, encoding="utf-8")
    frame = pd.DataFrame({**CLEAN, "a": pd.Series([1.0, f"x{secret}", 0.25, 1.75], dtype=object)})
    numeric = Study(Numeric("y", 0, 4), [Numeric("a", -2, 2)])
    for source, stated in (
        (tmp_path / "t.csv", study("error")),
        (frame, study("error")),
        (dict(frame), study("error")),
        (([[1.0], [None]], [0.5, 1.5]), numeric),
    ):
        with pytest.raises(DataError, match="'a'") as caught:
            gather(source, stated)
        assert secret not in str(caught.value)


def test_types_that_a_source_declares_are_public_and_still_refused(tmp_path):
    as_text = pa.table({**CLEAN, "a": ["1", "2", "3", "4"]})
    pq.write_table(as_text, tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'a' is text"):
        gather(tmp_path / "t.parquet", study("midpoint"))
    # In memory one cell may have made text of the column, when somebody read it: no cell may refuse it then.
    for read in (as_text, pl.from_arrow(as_text)):
        assert gather(read, study("midpoint")).integers() == gather(as_text.to_pandas(), study("midpoint")).integers()
        with pytest.raises(DataError, match="'a' is text"):
            gather(read, study("error"))
    dates = pd.DataFrame({**CLEAN, "a": pd.to_datetime(["2020-01-01"] * 4)})
    for declared in (dates, dates.astype({"a": "category"})):
        with pytest.raises(DataError, match="'a' is a date"):
            gather(declared, study("midpoint"))


TEXTS = (
    st.text(alphabet="0123456789.eE+-_, \tnaifNAtrueFALSExé", max_size=8)
    | st.floats().map(repr)
    | st.integers().map(str)
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(".,"))
@settings(max_examples=examples(500))
def test_a_cells_number_does_not_depend_on_the_cells_beside_it(texts, point):
    together = numbers_of(pa.array(texts, pa.string()), point)
    alone = np.array([numbers_of(pa.array([text]), point)[0] for text in texts], dtype=np.float64)
    one_by_one = np.array([number_of(text, point) for text in texts], dtype=np.float64)
    assert np.array_equal(together, alone, equal_nan=True) and np.array_equal(together, one_by_one, equal_nan=True)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(".,"))
@settings(max_examples=examples(75))
def test_a_cell_of_a_csv_file_is_the_same_number_whichever_way_its_block_is_read(texts, point):
    """A block goes the quick way where all its cells look like numbers, and by hand where one does not."""
    expected = [number_of(text, point) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        for last in ("1", "x"):
            path = Path(folder, "t.csv")
            path.write_text("a\n" + "".join(f'"{text}"\n' for text in (*texts, last)), encoding="utf-8")
            stream = csv_stream([str(path)], Csv(path, delimiter=";", decimal=point), {"a": "number or missing"})
            found = [number for batch in stream.read(["a"]) for number in batch.column("a").to_pylist()]
            finite = [number if number is not None and math.isfinite(number) else math.nan for number in found[:-1]]
            assert np.array_equal(finite, expected, equal_nan=True)


@pytest.mark.parametrize("place", [0, 1, 150_000, 299_999])
def test_each_row_of_a_csv_file_counts_once_wherever_the_bad_cell_is(tmp_path, place):
    """The blocks before it were read the quick way, and are not read to the sums again."""
    rows = [f"{i % 5 - 1},{(i % 7) / 4}\n" for i in range(300_000)]
    found = []
    for bad in ("", "x"):
        rows[place] = f"1.25,{bad}\n"
        (tmp_path / "t.csv").write_text("y,a\n" + "".join(rows), encoding="utf-8")
        plain = Study(Numeric("y", -2, 4), [Numeric("a", -2, 2)], missing="zero-row")
        found.append(gather(tmp_path / "t.csv", plain).integers())
    assert found[0] == found[1] and found[0][0] == 300_000


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_itself_however_it_is_written(number):
    assert number_of(f" {number!r}\t") == number == number_in(number) == number_of(repr(number).replace(".", ","), ",")


def test_duckdb_reads_the_same_table(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(tmp_path / "t.duckdb"))) as connection:
        connection.register("here", pa.table({"y": EMPTY["y"], "a": pa.array(EMPTY["a"]), "c": pa.array(EMPTY["c"])}))
        connection.execute("CREATE TABLE t AS SELECT * FROM here")
    found = gather(Database(tmp_path / "t.duckdb", table="t"), study("midpoint"))
    assert found.integers() == expected("midpoint")
