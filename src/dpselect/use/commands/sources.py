"""From the DATA of a command line to a source that `gather` reads. The one place where commands open data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpselect.assume.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.arrow import batch_cells, check_schema, is_number, is_text, needed_names
from dpselect.gather.frames import frame_table
from dpselect.gather.grid import Cells


def open_source(data: str) -> Any:
    """What `gather` takes, for a path."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    path = Path(data)
    if path.is_dir():
        raise DataError(f"{data!r} is a folder; give a file.")
    if not path.exists():
        raise DataError(f"There is no file {data!r}; check the path.")
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        return pyarrow.csv.read_csv(path)
    except pa.ArrowInvalid:
        raise DataError(f"{data!r} cannot be read as a table: check its format and encoding.") from None


def column_kinds(data: str) -> list[tuple[str, str]]:
    """Names and kinds ("number", "text" or another type) of a source's columns."""
    schema = open_source(data).schema
    return [(field.name, _kind(field.type)) for field in schema]


def _kind(kind: Any) -> str:
    return "number" if is_number(kind) else "text" if is_text(kind) else str(kind)


def label(data: str) -> str:
    """What the ledger calls the data: the file's name; never a folder, a host or a password."""
    return Path(data.split("?", maxsplit=1)[0]).name


def source_cells(source: Any, assumptions: Assumptions) -> Iterator[Cells]:
    """The cells of a source, batch by batch, for the custodian's check."""
    table = frame_table(source, needed_names(assumptions))
    check_schema(table.schema, assumptions)
    return (batch_cells(batch, assumptions) for batch in table.to_batches())
