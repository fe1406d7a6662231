"""Private. The columns of a source, by name and type, as a person is shown them before a study is stated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpselect.assume.source_form import SourceForm
from dpselect.gather.listed import listed_files
from dpselect.gather.sources.arrow import is_number, is_text
from dpselect.gather.sources.frames import guessed_names
from dpselect.gather.sources.open import open_stream, package_of
from dpselect.gather.sources.source import Csv, Database, format_of, is_path, parse_address, split_sheet
from dpselect.gather.sources.stream import LABEL, LEVELS, Stream, one_sentence


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Public. The name of a column and what it holds, by its type alone.

    `label` and `categories` (codes and their labels) are what the dictionary of a file of Stata, SPSS or SAS says, rows apart.
    `stated` is whether the type is the source's own word: in a text file, a workbook or a list it is a guess from the first rows,
    and so it is in SQLite, in a query of DuckDB, and wherever a table in memory holds something else than numbers. `zero_one` is
    such a guess too: the first rows of a text file hold 0 and 1 alone. A person confirms a guess, or nothing is released.
    `in_memory` is whether the table is: what then is no number is text, whatever the other columns are.
    """

    name: str
    kind: Literal["number", "text", "boolean", "date", "other"]
    type: str
    label: str = ""
    categories: tuple[tuple[str | int, str], ...] = ()
    stated: bool = True
    zero_one: bool = False
    in_memory: bool = False


def read_schema(source: Any, form: SourceForm | None = None) -> tuple[ColumnType, ...]:
    """The columns of a table, by name and type; no row is summed and no value is kept. For a CSV file the types are a guess.

    Example: `read_schema("houses.parquet")`.
    """
    guessed = _guessed_columns(source)
    with (
        open_stream(source, form=form) as stream,
        one_sentence("The types of the columns hold a name that is not text"),
    ):
        flags = _zero_one(stream) if _is_text(source) else set()
        columns = [
            _column(field, stated=not (stream.by_look or guessed(field.name)), zero_one=field.name in flags)
            for field in stream.schema
        ]
    if _has_its_own_schema(source):
        return tuple(columns)
    # Whoever read a table into memory may have taken its types from cells: one of them makes text of a column of numbers, and the
    # only one of a column makes it a date. Numbers and truth values hold nothing else; any other type says nothing.
    return tuple(
        replace(each, stated=each.stated and each.kind in ("number", "boolean"), in_memory=True) for each in columns
    )


def _has_its_own_schema(source: Any) -> bool:
    """Whether something else than cells stated the types: a catalog, or a file that has its schema in it."""
    return isinstance(source, Csv | Database) or is_path(source) or isinstance(source, str)


def _is_text(source: Any) -> bool:
    """Whether a source is text files; a workbook or a database is not asked for its first rows."""
    if isinstance(source, Csv):
        return True
    if not is_path(source) or (isinstance(source, str) and parse_address(source) is not None):
        return False
    paths = [split_sheet(os.fspath(path))[0] for path in (source if isinstance(source, list) else [source])]
    return format_of(listed_files(paths)) == "csv"


def _zero_one(stream: Stream) -> set[str]:
    """The columns of whole numbers whose first rows hold 0 and 1 alone, both of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    listed = stream.schema.names
    names = [each.name for each in stream.schema if pa.types.is_integer(each.type) and listed.count(each.name) == 1]
    batch = next(stream.read(names), None) if names else None
    if batch is None:
        return set()
    ends = {name: pc.min_max(batch.column(name)).as_py() for name in names}
    return {name for name, end in ends.items() if (end["min"], end["max"]) == (0, 1)}


def _guessed_columns(source: Any) -> Callable[[str], bool]:
    """Which columns of a source have a type that is no more than what their first cells look like; a database's stream says it."""
    if isinstance(source, Csv) or package_of(source) == "duckdb":  # its relations are queries
        return lambda name: True
    if isinstance(source, Database) or (isinstance(source, str) and parse_address(source) is not None):
        return lambda name: False
    if is_path(source):
        paths = source if isinstance(source, list) else [source]
        textual = format_of(listed_files([split_sheet(os.fspath(path))[0] for path in paths])) in ("csv", "excel")
        return lambda name: textual
    names = guessed_names(source)
    return lambda name: name in names


def _column(field: Any, *, stated: bool, zero_one: bool) -> ColumnType:
    said = {
        key.decode(): value.decode() for key, value in (field.metadata or {}).items() if key.startswith(b"dpselect:")
    }
    coded = json.loads(said.get(LEVELS, "[]"))
    levels = tuple((code, text) for code, text in coded if isinstance(code, str | int))
    return ColumnType(field.name, _kind(field.type), str(field.type), said.get(LABEL, ""), levels, stated, zero_one)


def _kind(kind: Any) -> Literal["number", "text", "boolean", "date", "other"]:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return "boolean"
    if is_number(kind):
        return "number"
    if is_text(kind):
        return "text"
    return "date" if pa.types.is_temporal(kind) else "other"
