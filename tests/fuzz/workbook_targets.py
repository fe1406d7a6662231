"""Where workbooks enter: Excel's and OpenDocument's, changed as files and, so that no checksum stands before it, part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from data_targets import ROWS, read_table
from target import Target


@cache
def _excel() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for row in ([*ROWS], *zip(*ROWS.values(), strict=True)):
        sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@cache
def _opendocument() -> bytes:
    def cell(value: object) -> str:
        if value is None:
            return "<table:table-cell/>"
        kind = (
            f'value-type="string"><text:p>{value}</text:p'
            if isinstance(value, str)
            else f'value-type="float" office:value="{value:g}"'
        )
        return f"<table:table-cell office:{kind}" + ("></table:table-cell>" if isinstance(value, str) else "/>")

    rows = ([*ROWS], *zip(*ROWS.values(), strict=True))
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="one">{lines}<table:table-row table:number-rows-repeated="2"><table:table-cell '
        'table:number-columns-repeated="3"/></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>'
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    return _packed(
        {"mimetype": kind.encode(), "META-INF/manifest.xml": manifest.encode(), "content.xml": content.encode()}
    )


def _parts(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def _packed(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def part_of(
    book: Callable[[], bytes], names: Sequence[str], suffix: str
) -> tuple[Callable[[], list[bytes]], Callable[[Path], None]]:
    """Seeds and reader of single parts: the changed one takes its place in a sound workbook, by the name in its first line."""

    def seeds() -> list[bytes]:
        parts = _parts(book())
        return [name.encode() + b"\n" + parts[name] for name in names]

    def run(path: Path) -> None:
        name, _, content = path.read_bytes().partition(b"\n")
        place = next((each for each in names if each.encode() == name), names[-1])
        whole = path.with_suffix(suffix)
        whole.write_bytes(_packed({**_parts(book()), place: content}))
        read_table(whole)

    return seeds, run


EXCEL_PARTS = (
    "xl/workbook.xml",
    "xl/styles.xml",
    "xl/_rels/workbook.xml.rels",
    *["xl/worksheets/sheet1.xml"] * 4,
)
WORKBOOK_TARGETS: Sequence[Target] = (
    (
        Target("excel", ".xlsx", lambda: [_excel()], read_table),
        Target("sheet", ".part", *part_of(_excel, EXCEL_PARTS, ".xlsx")),
        Target("opendocument", ".ods", lambda: [_opendocument()], read_table),
        Target("table", ".part", *part_of(_opendocument, ("content.xml",), ".ods")),
    )
    if find_spec("python_calamine") and find_spec("openpyxl")
    else ()
)
