"""Private. From whatever a person calls a table to a stream of record batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
from msgspec.structs import replace

from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Study
from dpselect.errors import DataError
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
from dpselect.gather.sources.databases import duckdb_stream, postgres_stream
from dpselect.gather.sources.drivers import driver_stream
from dpselect.gather.sources.excel import excel_stream
from dpselect.gather.sources.files import file_stream
from dpselect.gather.sources.frames import frame_stream
from dpselect.gather.sources.source import MOMENTS_SUFFIX, Csv, Database, format_of, is_path, parse_address, split_sheet
from dpselect.gather.sources.statistics import statistics_stream
from dpselect.gather.sources.stream import (
    BATCH_ROWS,
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
    # An address is a text too, and a text that is no address is a path: so addresses are looked for first.
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
        if package_of(source) == "duckdb":
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
        # A file that changes while it is read would give sums that are those of no table.
        before = states_of(files)
        with one_sentence("The Arrow dataset cannot be read to its end: a file may be damaged"):
            for batch in dataset.scanner(columns=list(names), batch_size=BATCH_ROWS).to_batches():
                yield require_whole(batch, "The Arrow dataset")
            require_same(files, before)

    return Stream(dataset.schema, scan)


def is_read_once(source: Any) -> bool:
    """Whether the rows may be gone once they were read: of whatever hands out streams, unless it runs a plan anew for each."""
    return _hands_out_streams(source) and package_of(source) not in RUN_ANEW


def package_of(source: Any) -> str:
    """The name of the package that a source's type is from."""
    return type(source).__module__.partition(".")[0].lstrip("_")
