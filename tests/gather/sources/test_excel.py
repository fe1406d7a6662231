"""Workbooks that another program wrote: the integers of the same rows as CSV, one sheet at a time."""

import io
import sys
import zipfile

import msgspec
import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import count_rows, gather
from dpselect.gather.sources.excel import MAX_SPARSE_CELLS as MOST_CELLS
from dpselect.gather.sources.excel import _column, require_readable
from dpselect.gather.sources.schema import read_schema
from dpselect.gather.sources.source import split_sheet

pytest.importorskip("python_calamine", reason="No python-calamine: pip install 'dpselect[excel]'.")
pytest.importorskip("openpyxl", reason="No openpyxl, which writes the workbooks of these tests.")

STUDY = Study(
    Numeric("y", -1, 1),
    [Numeric("a", -2, 2), Categorical("c", ["01", "2", "x"]), Numeric("smoker", 0, 1)],
    missing="midpoint",
    rows=300,
)
PERSONS = Study(Numeric("y", -1, 1), [Numeric("a", -2, 2)], person="who", max_rows_per_person=2, missing="zero-row")


def frame(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=rows) < 0.1, np.nan, rng.normal(size=rows)),
            "c": rng.choice(["01", "2", "x", "other"], rows),
            "y": rng.normal(size=rows),
            "smoker": rng.integers(0, 2, rows).astype(bool),
            "who": rng.integers(1, 100, rows),
            "day": pd.to_datetime(["2020-02-02"] * rows),
        }
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    with pd.ExcelWriter(folder / "t.xlsx", engine="openpyxl") as writer:
        frame().to_excel(writer, sheet_name="people", index=False)
        frame(10).to_excel(writer, sheet_name="few & more", index=False)
    frame().assign(smoker=lambda t: t["smoker"].astype(int)).to_csv(folder / "t.csv", index=False)
    return folder / "t.xlsx"


@pytest.mark.parametrize("study", [STUDY, PERSONS], ids=["all", "persons"])
def test_the_integers_are_those_of_the_same_rows_as_csv(book, study):
    assert gather(book, study).integers() == gather(book.with_suffix(".csv"), study).integers()


def test_another_sheet_is_named_after_a_question_mark(book):
    few = msgspec.structs.replace(STUDY, rows=10)
    assert gather(f"{book}?sheet=few & more", few).integers() == gather(frame(10), few).integers()
    with pytest.raises(DataError, match=r"no sheet 'none'\. It has 'people', 'few & more'\.$"):
        gather(f"{book}?sheet=none", STUDY)


def test_where_the_first_sheet_has_something_else_all_that_are_visible_are_named(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path, engine="openpyxl") as writer:
        pd.DataFrame({"secret": ["cell"]}).to_excel(writer, sheet_name="notes", index=False)
        frame(10).to_excel(writer, sheet_name="people", index=False)
        writer.book.create_sheet("Jane Doe").sheet_state = "hidden"
    few = msgspec.structs.replace(STUDY, rows=10)
    hint = r" Only the first sheet was read: to name another, add \?sheet=NAME\. It has 'notes', 'people'\.$"
    with pytest.raises(DataError, match=f"none of the columns that are asked for\\.{hint}") as caught:
        gather(path, few)
    assert "secret" not in str(caught.value) and "cell" not in str(caught.value)
    with pytest.raises(DataError, match=r"^The column 'a' is not in the table: "):
        gather(f"{path}?sheet=notes", few)
    with pd.ExcelWriter(path, engine="openpyxl") as writer:
        pd.DataFrame().to_excel(writer, sheet_name="notes", index=False)
        frame(10).to_excel(writer, sheet_name="people", index=False)
    with pytest.raises(DataError, match=f"is empty: its first row must have the names of the columns\\.{hint}"):
        gather(path, few)


def test_a_path_that_only_looks_like_an_address():
    assert split_sheet("a/b.xlsx") == ("a/b.xlsx", None)
    assert split_sheet("a/b.XLSX?sheet=2020") == ("a/b.XLSX", "2020")
    assert split_sheet("table?sheet=2020") == ("table?sheet=2020", None)


def test_types_are_those_of_the_cells(book):
    kinds = {column.name: column.kind for column in read_schema(book)}
    assert kinds == {"a": "number", "c": "text", "y": "number", "smoker": "boolean", "who": "number", "day": "date"}


@pytest.mark.parametrize("name", ["c", "day"])
def test_text_and_dates_are_not_numbers(book, name):
    with pytest.raises(DataError, match="not a number"):
        gather(book, Study(Numeric("y", -1, 1), [Numeric(name, 0, 1)], rows=300))


def test_whole_numbers_may_be_stated_as_text(tmp_path):
    pd.DataFrame({"y": [0.5, 0.25], "code": [1, 2]}).to_excel(tmp_path / "t.xlsx", index=False)
    as_text = Study(Numeric("y", -1, 1), [Categorical("code", ["1", "2"])], rows=2)
    as_codes = Study(Numeric("y", -1, 1), [Categorical("code", [1, 2])], rows=2)
    assert gather(tmp_path / "t.xlsx", as_text).integers() == gather(tmp_path / "t.xlsx", as_codes).integers()


def test_what_is_no_workbook_is_one_sentence(tmp_path, monkeypatch, book):
    (tmp_path / "t.xlsx").write_text("y,a\nsecret,1\n")
    with pytest.raises(DataError, match="cannot be read as a workbook") as caught:
        gather(tmp_path / "t.xlsx", STUDY)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="one at a time"):
        gather([book, tmp_path / "t.xlsx"], STUDY)
    pd.DataFrame().to_excel(tmp_path / "empty.xlsx", index=False)
    with pytest.raises(DataError, match="empty"):
        gather(tmp_path / "empty.xlsx", STUDY)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match=r"dpselect\[excel\]"):
        gather(book, STUDY)


pytest.importorskip("python_calamine", reason="No python-calamine: pip install 'dpselect[excel]'.")
openpyxl = pytest.importorskip("openpyxl", reason="No openpyxl, which writes the workbooks of these tests.")


def written(path, *more):
    """A small table, and cells elsewhere."""
    book = openpyxl.Workbook()
    for row in (["y", "a"], [1.5, 2], [2.5, 3]):
        book.active.append(row)
    for place in more:
        book.active[place] = 1
    book.save(path)
    return path


def changed(path, name, old, new):
    """The same workbook, one part of it changed."""
    with zipfile.ZipFile(path) as packed:
        parts = {each: packed.read(each) for each in packed.namelist()}
    assert old in parts[name]
    parts[name] = parts[name].replace(old, new)
    with zipfile.ZipFile(path, "w") as packed:
        for each, content in parts.items():
            packed.writestr(each, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize("place", ["XFD1048576", "AZZ900000", "BC700000"])
def test_a_cell_far_away_from_the_table_is_one_sentence(tmp_path, place):
    """The reader asks for all the cells between, and its process ends where there is no memory for them."""
    path = written(tmp_path / "t.xlsx", place)
    with pytest.raises(DataError, match="has a cell far away from all others"):
        read_schema(path)


@pytest.mark.parametrize("reference", [b'r="B4294967295"', b"r = 'xfd1048576'", b'r="ZZZZZZZ3"'])
def test_references_that_no_sheet_has_are_one_sentence(tmp_path, reference):
    path = changed(written(tmp_path / "t.xlsx"), SHEET, b'r="B3"', reference)
    with pytest.raises(DataError):
        read_schema(path)


@pytest.mark.thorough
def test_cells_that_are_not_so_far_and_full_sheets_are_read(tmp_path):
    assert [column.name for column in read_schema(written(tmp_path / "t.xlsx", "E9000"))][:2] == ["y", "a"]
    rows = b"".join(b'<row r="%d">' % i + b'<c r="ALL%d"/>' % i * 1000 + b"</row>" for i in range(1, 1 << 15))
    (tmp_path / "full.xlsx").write_bytes(_packed({SHEET: rows}))
    assert 1000 * (1 << 15) > MOST_CELLS
    require_readable(str(tmp_path / "full.xlsx"))


def test_a_short_sheet_that_is_mostly_empty_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append([f"c{place}" for place in range(40)])
    for place in range(60):
        book.active.cell(row=2 + place, column=1 + place % 40, value=1.0)
    book.save(tmp_path / "t.xlsx")
    assert len(read_schema(tmp_path / "t.xlsx")) == 40


def test_columns_are_counted_as_their_letters_are():
    assert [_column(letters) for letters in (b"A", b"Z", b"AA", b"ab", b"XFD")] == [1, 26, 27, 28, 16384]


def _packed(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


ODS_KIND = "application/vnd.oasis.opendocument.spreadsheet"
ODS_PARTS = {
    "mimetype": ODS_KIND.encode(),
    "META-INF/manifest.xml": (
        "<manifest:manifest xmlns:manifest='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'><manifest:file-entry "
        f"manifest:full-path='/' manifest:media-type='{ODS_KIND}'/></manifest:manifest>"
    ).encode(),
}


def test_an_opendocument_table_without_an_end_is_one_sentence(tmp_path):
    """The reader waits for that end for ever."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table")
    )
    whole = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name='one'><table:table-row>"
        "<table:table-cell office:value-type='float' office:value='1'/></table:table-row></table:table></office:spreadsheet>"
        "</office:body></office:document-content>"
    )
    for content, is_read in ((whole, True), (whole.replace("</table:table>", "</table:tab>"), False)):
        (tmp_path / "t.ods").write_bytes(_packed({**ODS_PARTS, "content.xml": content.encode()}))
        if is_read:
            assert len(read_schema(tmp_path / "t.ods")) == 1
        else:
            with pytest.raises(DataError, match="cannot be read as a workbook"):
                read_schema(tmp_path / "t.ods")


EMPTY_LAST = Study(Numeric("y", -5, 5), [Numeric("a", -5, 5)], missing="zero-row")


@pytest.mark.parametrize("corner", [(1, 1), (3, 1), (4, 3)])
def test_empty_rows_above_the_names_are_no_records(tmp_path, corner):
    """The reader leaves them out, and a sheet numbers them: two more records were counted than there are."""
    for last in ((4.0, 4.0), (None, None)):
        book = openpyxl.Workbook()
        for down, row in enumerate((("y", "a"), (1.0, 2.0), (2.0, 3.0), last)):
            for right, cell in enumerate(row):
                book.active.cell(row=corner[0] + down, column=corner[1] + right, value=cell)
        book.save(tmp_path / "t.xlsx")
        assert count_rows(tmp_path / "t.xlsx", msgspec.structs.replace(EMPTY_LAST, rows=3)) == 3


def opendocument(path, rows):
    """A table as OpenDocument, written by hand."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )

    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, str):
            return f"<table:table-cell office:value-type='string'><text:p>{value}</text:p></table:table-cell>"
        return f"<table:table-cell office:value-type='float' office:value='{value!r}'/>"

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name='one'>{lines}</table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    path.write_bytes(_packed({**ODS_PARTS, "content.xml": content.encode()}))
    return path


@pytest.mark.parametrize("last", [(0.5, 0.5), (None, None)])
def test_a_workbook_that_stores_no_empty_rows_has_as_many_as_are_stated(tmp_path, last):
    """Whether the last record holds anything once decided n, and how many above it count that hold nothing."""
    path = opendocument(tmp_path / "t.ods", [("y", "a"), (1.0, 2.0), (2.0, 1.0), (None, None), last])
    stated = msgspec.structs.replace(EMPTY_LAST, rows=4)
    for named in (path, [path], tmp_path, str(tmp_path / "*.ods")):
        with pytest.raises(DataError, match="does not store empty rows"):
            count_rows(named, EMPTY_LAST)
        assert count_rows(named, stated) == 4
    assert dpselect.select(path, stated, method="pcls", epsilon=1, ledger=None).recipe.rows == 4
    table = {"y": [1.0, 2.0, None, last[0]], "a": [2.0, 1.0, None, last[1]]}
    for policy in ("zero-row", "midpoint"):
        study = msgspec.structs.replace(stated, missing=policy)
        assert gather(path, study).integers() == gather(pd.DataFrame(table), study).integers()


def test_more_rows_than_are_stated_of_such_a_workbook_are_refused(tmp_path):
    path = opendocument(tmp_path / "t.ods", [("y", "a"), (1.0, 2.0), (2.0, 1.0)])
    assert count_rows(path, msgspec.structs.replace(EMPTY_LAST, rows=2)) == 2
    with pytest.raises(DataError, match="more than the 1 rows"):
        count_rows(path, msgspec.structs.replace(EMPTY_LAST, rows=1))


@pytest.mark.parametrize("rows", [5, 7])
@pytest.mark.parametrize("empty", [None, 1, 3, 5])
def test_as_many_rows_as_are_stated_whichever_record_excel_left_out(tmp_path, empty, rows):
    """By one empty record n was 5 as stored, 4 where it was the last, or 7 as stated where it stood between others."""
    book = openpyxl.Workbook()
    for place, row in enumerate([("y", "a"), *[(1.0, 2.0)] * 5]):
        for right, cell in enumerate(row if place != empty else ()):
            book.active.cell(row=1 + place, column=1 + right, value=cell)
    book.save(tmp_path / "t.xlsx")
    assert count_rows(tmp_path / "t.xlsx", msgspec.structs.replace(EMPTY_LAST, rows=rows)) == rows


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("empty", [1, 3, 5])
def test_an_empty_record_that_excel_left_out_is_refused_as_a_stored_one_is(tmp_path, empty, stored):
    """With missing = "error" it once made n one less, at the end of a sheet, where a stored one stopped the run."""
    book = openpyxl.Workbook()
    for place, row in enumerate([("y", "a"), *[(1.0, 2.0)] * 5]):
        for right, cell in enumerate(row if place != empty else ("", "") if stored else ()):
            book.active.cell(row=1 + place, column=1 + right, value=cell)
    book.save(tmp_path / "t.xlsx")
    for rows in (5, 7) if stored else (5, 6, 7):
        refusing = msgspec.structs.replace(EMPTY_LAST, rows=rows, missing="error")
        with pytest.raises(DataError, match=f"fewer than the {rows} rows|missing"):
            gather(tmp_path / "t.xlsx", refusing)


def test_a_workbook_with_all_its_rows_is_read_where_nothing_may_be_missing(tmp_path):
    exactly = msgspec.structs.replace(EMPTY_LAST, rows=4, missing="error")
    book = openpyxl.Workbook()
    for row in [("y", "a"), *[(1.0, 2.0)] * 4]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert gather(tmp_path / "t.xlsx", exactly).n == 4
    with pytest.raises(DataError, match="more than the 3 rows"):
        gather(tmp_path / "t.xlsx", msgspec.structs.replace(exactly, rows=3))


WHOLE = [("y", "a"), *[(1.0, 2.0)] * 5]


@pytest.mark.parametrize("missing", ["error", "midpoint", "zero-row"])
@pytest.mark.parametrize("empty", [None, 1, 3, 5])
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_public_number_of_rows_is_stated_whatever_the_workbook_stores(tmp_path, kind, empty, missing):
    """Else a last record without a cell, which Excel does not store, made the number one less, and reports print it."""
    path = tmp_path / f"t.{kind}"
    table = [row if place != empty else (None, None) for place, row in enumerate(WHOLE)]
    if kind == "ods":
        opendocument(path, table)
    else:
        book = openpyxl.Workbook()
        for down, row in enumerate(table, 1):
            for right, cell in enumerate(row, 1):
                if cell is not None:
                    book.active.cell(row=down, column=right, value=cell)
        book.save(path)
    unstated = msgspec.structs.replace(EMPTY_LAST, missing=missing)
    for read in (count_rows, gather):
        with pytest.raises(DataError, match="its number of rows must be stated: add rows = 3000 to the study"):
            read(path, unstated)
    with pytest.raises(DataError, match="must be stated"):
        dpselect.select(path, unstated, epsilon=1, ledger=None)


@pytest.mark.parametrize("empty", [None, 1, 3, 5])
@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
def test_of_a_secret_number_of_rows_an_empty_one_is_none_wherever_it_stands(tmp_path, empty, missing):
    """Else the last record decided whether empty ones above it are rows, and moved the number by more than one."""
    secret = msgspec.structs.replace(EMPTY_LAST, neighbors="add-remove-one", missing=missing)
    table = [row if place != empty else (None, None) for place, row in enumerate(WHOLE)]
    held = pd.DataFrame(table[1:], columns=["y", "a"], dtype=float).dropna()
    assert gather(opendocument(tmp_path / "t.ods", table), secret).integers() == gather(held, secret).integers()


def test_rows_that_excel_itself_left_out_are_noticed(tmp_path):
    path = changed(written(tmp_path / "t.xlsx"), SHEET, b'<row r="3"', b'<row r="4"')
    changed(path, SHEET, b'r="A3"', b'r="A4"')
    changed(path, SHEET, b'r="B3"', b'r="B4"')
    with pytest.raises(DataError, match="does not store empty rows"):
        count_rows(path, EMPTY_LAST)
    assert count_rows(path, msgspec.structs.replace(EMPTY_LAST, rows=5)) == 5
