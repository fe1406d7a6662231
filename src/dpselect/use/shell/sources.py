"""From the DATA of a command line to moments. The one place where commands open data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.saved.answers import moments_from_answer
from dpselect.gather.saved.moments_file import moments_files
from dpselect.gather.sources.arrow import check_schema
from dpselect.gather.sources.open import open_stream, read_schema
from dpselect.gather.sources.source import Csv, parse_address
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table, kinds_of
from dpselect.use.shell.terminal import reading

KINDS = {"number": "number", "text": "text", "boolean": "number"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Public. Where the rows are: something that `gather` reads, or the answer to the query of `dpselect sql`."""

    source: Any
    label: str
    answer: str | None = None

    @classmethod
    def from_options(cls, data: str | None, options: dict[str, Any]) -> Self:
        """From DATA and the options about it, which are taken out."""
        answer, form = options.pop("moments", None), csv_form(options)
        source = None if data is None else source_of(data, form)
        if (source is None) == (answer is None):
            raise click.UsageError("Give DATA, or --moments with the answer to `dpselect sql`, and not both.")
        return cls(source, label(data) if data is not None else Path(answer).name, answer)

    def check(self, assumptions: Assumptions) -> None:
        """Refuse what cannot be opened, or lacks a column, before anything is asked, read or charged."""
        if self.answer is not None:
            moments_from_answer(self.answer, assumptions)
            return
        if moments_files(self.source):
            gather_table(self.source, assumptions)
            return
        if self.engine == "spark":
            return  # a session takes many seconds to start; it is opened once, for the rows
        with open_stream(self.source, kinds_of(assumptions)) as stream:
            names = stream.schema.names
            if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
                raise DataError(
                    "The table has a single column: state what stands between its cells, such as --delimiter ';'."
                )
            check_schema(stream.schema, assumptions)

    @property
    def engine(self) -> str:
        """The database that holds the rows, if one does."""
        database = parse_address(self.source) if isinstance(self.source, str) else None
        return database.engine if database is not None else ""

    def require_rows(self) -> None:
        """Refuse sums, from which nobody can tell what was clipped or missing."""
        if self.answer is not None or moments_files(self.source) or self.engine == "spark":
            raise DataError("A check looks at the rows one by one: give a file, DuckDB or PostgreSQL as DATA.")

    def moments(self, assumptions: Assumptions, quiet: bool) -> Moments:
        """Gather, with a word on a terminal about how far it is; the number of rows is told only where it is public."""
        if self.answer is not None:
            return moments_from_answer(self.answer, assumptions)
        with reading(f"Reading {self.label}", quiet, counts=assumptions.neighbors == "replace-one") as progress:
            return gather_table(self.source, assumptions, progress)


def csv_form(options: dict[str, Any]) -> dict[str, str]:
    """What was stated about CSV files; it is taken out of the options."""
    form = {name: options.pop(name) for name in ("delimiter", "encoding", "decimal")}
    stated = {name: value for name, value in form.items() if value is not None}
    if stated.get("delimiter") in ("tab", "\\t"):
        stated["delimiter"] = "\t"
    return stated


def source_of(data: str, form: dict[str, str]) -> Any:
    """What `gather` takes, from a path or an address."""
    return Csv(data, **form) if form else data


def column_kinds(source: Any) -> list[tuple[str, str]]:
    """Names and kinds ("number", "text" or another type) of a source's columns."""
    return [(column.name, KINDS.get(column.kind, column.type)) for column in read_schema(source)]


def label(data: str) -> str:
    """What the ledger calls the data: a file's or a table's name; never a folder, a host or a password."""
    database = parse_address(data)
    if database is None:
        return Path(data).name
    return database.table or f"query of {database.engine}"
