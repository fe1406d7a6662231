"""Private. From whatever a person calls a table to a stream of record batches."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_other
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import narwhals as nw
from msgspec.structs import replace

from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS
from dpselect.gather.listed import (
    dataset_files,
    dataset_formats,
    listed_files,
    refuse_managed,
    refuse_twice,
    refuse_twins,
    require_same,
    states_of,
)
from dpselect.gather.sources.arrow import is_number, is_text
from dpselect.gather.sources.databases import duckdb_stream, postgres_stream
from dpselect.gather.sources.drivers import driver_stream
from dpselect.gather.sources.excel import excel_stream
from dpselect.gather.sources.files import file_stream
from dpselect.gather.sources.frames import frame_stream, guessed_names
from dpselect.gather.sources.source import (
    MOMENTS_SUFFIX,
    Csv,
    Database,
    DataPlace,
    format_of,
    is_path,
    parse_address,
    split_sheet,
)
from dpselect.gather.sources.statistics import statistics_stream
from dpselect.gather.sources.stream import (
    BATCH_ROWS,
    LABEL,
    LEVELS,
    Kinds,
    Stream,
    one_sentence,
    refuse_untyped_scan,
    require_whole,
)
from dpselect.gather.sources.text import csv_stream

RUN_ANEW = frozenset({"datafusion"})
"""Packages whose objects run their plan again whenever a stream is asked for; each was tried."""


def open_stream(source: Any, kinds: Kinds | None = None, form: SourceForm | None = None) -> Stream:
    """Open a table without reading a row. `kinds` says what columns hold where the source itself only looks like it.

    `form` is how the study says that the file is written; a plain path without one is UTF-8, commas and decimal points.
    """
    stream = _opened(source, kinds or {}, form)
    try:
        with one_sentence("The name of a column is not UTF-8 text: rename it"):
            _ = stream.schema.names
    except DataError:
        stream.close()
        raise
    return stream


def _opened(source: Any, kinds: Kinds, form: SourceForm | None) -> Stream:
    if isinstance(source, str) and (address := parse_address(source)) is not None:
        source = address
    if isinstance(source, Database):
        if source.engine in ("adbc", "odbc"):
            return driver_stream(source, kinds)
        return duckdb_stream(source) if source.engine == "duckdb" else postgres_stream(source, kinds)
    if isinstance(source, Csv):
        if form is not None and source != _csv(source.path, form):
            raise DataError("The study states another form of the file ([source]): state it once, in the study.")
        return csv_stream(listed_files([source.path]), source, kinds)
    if is_path(source):
        return _path_stream(source if isinstance(source, list) else [source], kinds, form)
    return _memory_stream(source, kinds)


def _csv(path: str | os.PathLike[str], form: SourceForm) -> Csv:
    return Csv(path, delimiter=form.delimiter, encoding=form.encoding, decimal=form.decimal)


def _path_stream(paths: Sequence[str | os.PathLike[str]], kinds: Kinds, form: SourceForm | None) -> Stream:
    path, sheet = split_sheet(os.fspath(paths[0]))
    if form is not None and form.sheet is not None:
        if sheet not in (None, form.sheet):
            raise DataError("The study states another sheet of the workbook ([source]): state it once, in the study.")
        sheet = form.sheet
    files = listed_files([path] if sheet is not None and len(paths) == 1 else paths)
    kind = format_of(files)
    if kind == "excel":
        if len(files) > 1:
            raise DataError("Several workbooks are not one table: give one at a time, or save them as CSV or Parquet.")
        return excel_stream(files[0], sheet, kinds)
    if kind == "statistics":
        return statistics_stream(files, kinds)
    if kind == "csv":
        return csv_stream(files, plain_form(files[0]) if form is None else _csv(files[0], form), kinds)
    root = os.fspath(paths[0]) if len(paths) == 1 and os.path.isdir(paths[0]) else None
    return file_stream(files, root, kinds)


def with_form_of(source: Any, study: Study) -> Study:
    """The study that is released: with the form that the source itself states, where the study states none.

    `Csv(...)`, a sheet in a path or a name that ends in .tsv decide how every row is read, so they belong to what is hashed and
    printed. A study that states a form is left as it is: a source that says otherwise is refused where it is opened.
    """
    if study.source is not None:
        return study
    sheet = None
    if is_path(source):
        path, sheet = split_sheet(os.fspath(source[0] if isinstance(source, list) else source))
        source = plain_form(path)
    if not isinstance(source, Csv) or (sheet is None and source == Csv(source.path)):
        return study
    form = SourceForm(delimiter=source.delimiter, encoding=source.encoding, decimal=source.decimal, sheet=sheet)
    return replace(study, source=form)


def rows_address(source: Any) -> list[Any] | None:
    """All that tells where rows are from where others are, in plain values without a password; None of what is in memory alone.

    Links are followed, so a file has one address however it is called; how it is read is for the study to say. A file that was
    moved has another, and so has a copy: whether they hold the same rows cannot be known.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    database = parse_address(source) if isinstance(source, str) else source
    if isinstance(database, Database):
        here = [os.getcwd()] if database.engine == "duckdb" else []  # its queries may name files
        return [*here, *_without_password(database), database.table, database.query]
    if not is_path(source):
        return None
    return ["rows", *map(_real_path, source if isinstance(source, list) else [source])]


def _real_path(path: str | os.PathLike[str]) -> str:
    file, sheet = split_sheet(os.fspath(path))
    return os.path.realpath(file) + ("" if sheet is None else f"#{sheet}")


POSTGRES_ENVIRONMENT = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSERVICEFILE")
"""What the driver takes from the environment where an address does not say it."""


def _without_password(database: Database) -> list[Any]:
    """The address of a database in parts, of which none is its password."""
    if database.engine != "postgresql":
        return [database.bare if database.engine in ("adbc", "odbc") else database.uri]
    try:
        parts = urlsplit(database.uri)
    except ValueError:  # it will not be opened either
        return [database.place]
    options = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if "password" not in pair[0].lower()]
    # What an address leaves open the environment says: under another one it means another server.
    around = [os.environ.get(name, "") for name in POSTGRES_ENVIRONMENT]
    return [database.place, parts.username, parts.path, options, around]


def data_place(source: Any) -> DataPlace | None:
    """Where a source is at home; None for what has no place, such as a frame, a list of files, a query or a table on a server.

    A link is followed, and neither compression nor format counts: people.csv, people.csv.gz and a link to one of them are the
    same data. So are p*.csv and the folder, as far as they mean the same files. A table of DuckDB is at home beside its file, by
    its name without the usual schema and whatever the case of its letters.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    database = parse_address(source) if isinstance(source, str) else source
    if isinstance(database, Database):
        if database.engine != "duckdb" or not database.path or not database.table:
            return None
        *schemas, table = database.table.casefold().replace('"', "").split(".")
        usual = not schemas or schemas[-1] == "main"
        return DataPlace(Path(os.path.realpath(database.path)).parent, table if usual else f"{schemas[-1]}.{table}")
    if not isinstance(source, str) or not source:
        return None
    path = split_sheet(source)[0]
    several = os.path.isdir(path) or not os.path.exists(path)
    try:
        files = listed_files([path]) if several else []
    except DataError:  # it will be said when they are opened
        files = []
    if len(files) == 1 and not os.path.isdir(path):
        return _file_place(files[0])
    whole = _file_place(path)
    return DataPlace(whole.folder, whole.name, tuple(dict.fromkeys(map(_file_place, files))))


def _file_place(file: str) -> DataPlace:
    path = Path(file)
    if path.name in ("", ".."):  # the folder where one is, or the one above: called as it is from elsewhere
        path = Path(os.path.abspath(path))
    if path.is_symlink():  # a link among the folders above it leads to the same folder either way
        path = Path(os.path.realpath(path))
    if path.name.endswith(COMPRESSIONS):
        path = path.with_suffix("")
    name = path.stem.replace("*", "").replace("?", "").strip("-_. ") or path.absolute().parent.name
    return DataPlace(path.parent, name)


def moments_files(source: Any) -> list[str]:
    """The files meant by a source, if all of them are moments."""
    if not is_path(source):
        return []
    paths = source if isinstance(source, list) else [source]
    if not all(os.fspath(path).endswith(MOMENTS_SUFFIX) or os.path.isdir(path) for path in paths):
        return []
    files = listed_files(paths)
    return files if all(file.endswith(MOMENTS_SUFFIX) for file in files) else []


def plain_form(file: str) -> Csv:
    """How a text file is read when nothing is stated about it."""
    tabs = ".tsv" in os.path.basename(file).lower()
    return Csv(file, delimiter="\t" if tabs else ",")


def _memory_stream(source: Any, kinds: Kinds) -> Stream:
    """Data frames and Arrow tables; streams and datasets of Arrow, read once and never held whole."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        return _dataset_stream(source)
    if _hands_out_streams(source):
        if _package(source) == "duckdb":
            refuse_untyped_scan(source.explain(), "The DuckDB relation")
        with one_sentence("The Arrow stream cannot be opened: it may have been read before"):
            batches = pa.RecordBatchReader.from_stream(source)

        def drain(names: Sequence[str]) -> Iterator[Any]:
            with one_sentence("The Arrow stream broke off while it was read"):
                for batch in batches:
                    yield require_whole(batch.select(list(names)), "The Arrow stream")

        return Stream(batches.schema, drain)
    return frame_stream(source, kinds)


def _hands_out_streams(source: Any) -> bool:
    """Whether rows come by Arrow's C stream (nanoarrow, DataFusion, Daft, Ibis, ...) and are not those of a frame in memory."""
    return hasattr(type(source), "__arrow_c_stream__") and not nw.dependencies.is_into_dataframe(source)


def _dataset_stream(dataset: Any) -> Stream:
    """An Arrow dataset; what is asked of files is asked of its files too, where they are on this machine."""
    files = dataset_files(dataset)
    refuse_untyped_scan(" ".join(f"{name} scan" for name in dataset_formats(dataset)), "The Arrow dataset")
    refuse_twice(files)
    refuse_twins(files)
    refuse_managed(files)

    def scan(names: Sequence[str]) -> Iterator[Any]:
        before = states_of(files)
        with one_sentence("The Arrow dataset cannot be read to its end: a file may be damaged"):
            for batch in dataset.scanner(columns=list(names), batch_size=BATCH_ROWS).to_batches():
                yield require_whole(batch, "The Arrow dataset")
            require_same(files, before)

    return Stream(dataset.schema, scan)


def is_read_once(source: Any) -> bool:
    """Whether the rows may be gone once they were read: of whatever hands out streams, unless it runs a plan anew for each."""
    return _hands_out_streams(source) and _package(source) not in RUN_ANEW


def _package(source: Any) -> str:
    return type(source).__module__.partition(".")[0].lstrip("_")


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
        with_other(each, stated=each.stated and each.kind in ("number", "boolean"), in_memory=True) for each in columns
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
    if isinstance(source, Csv) or _package(source) == "duckdb":  # its relations are queries
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
