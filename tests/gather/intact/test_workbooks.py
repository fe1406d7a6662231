"""Workbooks that killed their reader, or kept it busy for ever."""

import io
import zipfile

import pytest

from dpselect.errors import DataError
from dpselect.gather.intact.workbooks import MOST_CELLS, require_readable
from dpselect.gather.sources.open import read_schema

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


def test_cells_that_are_not_so_far_and_full_sheets_are_read(tmp_path):
    assert [column.name for column in read_schema(written(tmp_path / "t.xlsx", "E9000"))][:2] == ["y", "a"]
    rows = b"".join(b'<row r="%d">' % i + b'<c r="ALL%d"/>' % i * 1000 + b"</row>" for i in range(1, 1 << 15))
    (tmp_path / "full.xlsx").write_bytes(_packed({SHEET: rows}))
    assert 1000 * (1 << 15) > MOST_CELLS
    require_readable(str(tmp_path / "full.xlsx"))


def _packed(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


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
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        f"<manifest:manifest {spaces.replace('office', 'manifest')}><manifest:file-entry manifest:full-path='/' "
        f"manifest:media-type='{kind}'/></manifest:manifest>"
    )
    parts = {"mimetype": kind.encode(), "META-INF/manifest.xml": manifest.encode()}
    for content, is_read in ((whole, True), (whole.replace("</table:table>", "</table:tab>"), False)):
        (tmp_path / "t.ods").write_bytes(_packed({**parts, "content.xml": content.encode()}))
        if is_read:
            assert len(read_schema(tmp_path / "t.ods")) == 1
        else:
            with pytest.raises(DataError, match="cannot be read as a workbook"):
                read_schema(tmp_path / "t.ods")
