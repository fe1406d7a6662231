"""What a command is about: its rows (the one place where commands open data), and its study.

The study is a file, or what was stated in its place, or a proposal for a person to confirm.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any, Self

import click

from dpselect.assume.budget import Budget
from dpselect.assume.candidates import Subsets
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Study
from dpselect.assume.subgroup import Only
from dpselect.errors import DataError, LedgerError
from dpselect.gather.formats import COMPRESSIONS, FORMATS
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrow import check_schema, kinds_of
from dpselect.gather.sources.open import moments_files, open_stream, plain_form
from dpselect.gather.sources.source import Csv, DataPlace, data_place, parse_address, rows_address, split_sheet
from dpselect.gather.sources.stream import Progress, one_sentence
from dpselect.gather.sources.text_form import guess_form, stated_form
from dpselect.gather.sql import moments_from_answer
from dpselect.release.account import ledger_of
from dpselect.use.init import named_and_unnamed
from dpselect.use.order import Order, rows_beforehand
from dpselect.use.proposal import NO_NAME, Proposal, propose
from dpselect.use.shell.options import (
    SETTING_NAMES,
    TEXT_FORM,
    categories_in,
    group_of,
    names_in,
    penalty_of,
    stated_options,
    study_and_data,
)
from dpselect.use.shell.terminal import reading


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

    def check(self, study: Study) -> None:
        """Refuse what cannot be opened, or lacks a column, before anything is asked, read or charged."""
        if self.answer is not None:
            moments_from_answer(self.answer, study)
            return
        if moments_files(self.source):
            gather(self.source, study)
            return
        if self.engine == "spark":
            return  # a session takes many seconds to start; it is opened once, for the rows
        with open_stream(self.source, kinds_of(study), study.source) as stream:
            check_schema(stream.schema, study)

    def count(self, order: Order) -> int | None:
        """The number of rows, where an order's method has to know it; what is wrong with the table's head is refused on the way."""
        study, method = order.study, order.method
        if study.expected_rows is not None or study.person is not None or method is None or not method.rule.counts_rows:
            self.check(study)
        return rows_beforehand(self.table(study), order)

    @property
    def engine(self) -> str:
        """The database that holds the rows, if one does."""
        database = parse_address(self.source) if isinstance(self.source, str) else None
        return database.engine if database is not None else ""

    @property
    def address(self) -> list[Any]:
        """All that tells these rows from others, wherever a command is given, but no password; plain values."""
        text = self.source if isinstance(self.source, Csv) else None
        form = [] if text is None else [text.delimiter, text.encoding, text.decimal]
        if self.answer is not None:
            return ["answer", os.path.abspath(self.answer)]
        return [*(rows_address(self.source) or ()), *form]

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files and folders of the rows, as far as the address names them, for what is written to keep away from."""
        given = self.source.path if isinstance(self.source, Csv) else self.source
        path = str(given if self.answer is None else self.answer)
        database = parse_address(path) if self.answer is None else None
        if database is not None:
            listed = [database.path] if database.engine == "duckdb" and database.path else []
        else:
            listed = [path, split_sheet(path)[0], *glob(path, recursive=True)]
        return [(each, "where the rows are") for each in listed]

    def require_rows(self) -> None:
        """Refuse sums, from which nobody can tell what was clipped or missing."""
        if self.answer is not None or moments_files(self.source) or self.engine == "spark":
            raise DataError("A check looks at the rows one by one: give a file, DuckDB or PostgreSQL as DATA.")

    def table(self, study: Study) -> Any:
        """What `gather` takes: the source, or the moments in an answer."""
        return self.source if self.answer is None else moments_from_answer(self.answer, study)

    def reading(
        self, study: Study, quiet: bool, then: str = ""
    ) -> AbstractContextManager[Callable[[Progress], None] | None]:
        """A word on a terminal about how far the reading is; the number of rows is told only where it is public."""
        counts = study.neighbors == "replace-one" and study.person is None
        return reading(f"Reading {self.label}", quiet, counts=counts, then=then)


def csv_form(options: dict[str, Any]) -> dict[str, str]:
    """What was stated about CSV files; it is taken out of the options."""
    form = {name: options.pop(name, None) for name in TEXT_FORM}
    stated = {name: value for name, value in form.items() if value is not None}
    if stated.get("delimiter") in ("tab", "\\t"):
        stated["delimiter"] = "\t"
    return stated


def source_of(data: str, form: dict[str, str]) -> Any:
    """What `gather` takes, from a path or an address."""
    if form and not _may_be_text(data):
        options = " and ".join(f"--{name}" for name in form)
        raise click.UsageError(f"{options} is for text files, and {label(data)!r} is none by its name: leave it out.")
    return Csv(data, **form) if form else data


def _may_be_text(data: str) -> bool:
    """Whether a name leaves it open that this is a text file."""
    return parse_address(data) is None and FORMATS.get(unpacked_ending(data), "csv") == "csv"


def unpacked_ending(file: str) -> str:
    """The ending of a file's name that says how rows are written: .csv of people.csv.gz too."""
    return Path(file.removesuffix(Path(file).suffix) if file.endswith(COMPRESSIONS) else file).suffix.lower()


def guessed_form(data: str, form: dict[str, str]) -> dict[str, str]:
    """What was stated about a text file, and for the rest what its form looks like, where that is not the usual."""
    if not (_may_be_text(data) and Path(data).is_file()):
        return form
    with one_sentence(f"{data!r} cannot be read as text: it may be damaged or something else"):
        seems = guess_form(data)
    usual = plain_form(data)
    found = stated_form(seems, usual) | form
    # A name that does not say what it is needs something stated, or it is not read as text.
    return found if found or unpacked_ending(data) in FORMATS else {"delimiter": seems.delimiter}


def label(data: str) -> str:
    """What the ledger calls the data: a file's or a table's name; never a folder, a host or a password."""
    database = parse_address(data)
    if database is None:
        return Path(data).name
    return database.table or f"query of {database.engine}"


def ledger_beside(data: str) -> Path:
    """Where the ledger of some data stands: people.csv has people.budget.db beside it, unless its registry knows another.

    Rows on a server have nothing beside them: the ledger of a table there is looked for in this folder.
    """
    if not data:
        raise click.UsageError("Give DATA, or name the ledger with --ledger.")
    place, database = data_place(data), parse_address(data)
    if place is None:
        if database is None or not database.table:
            raise LedgerError("A query has no name of its own: name its ledger with --ledger.")
        place = DataPlace(Path(), database.table)
    return ledger_of(place)


NO_STUDY = "Give --response NAME, the variable to explain, or --study FILE."


@dataclass(frozen=True, slots=True)
class Stated:
    """Public. The study of a command, where it comes from (a file, or a proposal), and DATA if any was given."""

    study: Study
    data: str | None
    file: str | None = None
    proposal: Proposal | None = None

    @classmethod
    def from_options(cls, places: tuple[str, ...], options: dict[str, Any]) -> Self:
        """From the arguments of a command and its options, of which those about a study are taken out.

        Without a study file, how a text file is written becomes part of the study that is proposed.
        """
        file, data = study_and_data(places, options.pop("study", None))
        said = stated_options(options)
        if file is not None:
            if given := [name for name, value in said.items() if value]:
                option = given[0].replace("_", "-")
                raise click.UsageError(f"With a study file, --{option} has no effect. State it in {file}.")
            return cls(Study.read(file), data, file)
        if said["response"] is None:
            raise click.UsageError(NO_STUDY if data is not None else f"Give DATA. {NO_STUDY}")
        if data is None:
            raise click.UsageError("Give DATA, the table that the response is in.")
        form = guessed_form(data, csv_form(options))
        options |= dict.fromkeys(TEXT_FORM)
        stated = None
        if form:
            stated = SourceForm(**{"delimiter": plain_form(data).delimiter, **form})
        columns, unnamed = named_and_unnamed(
            source_of(data, {"delimiter": plain_form(data).delimiter, **form} if form else {})
        )
        proposal = propose(
            columns,
            said["response"],
            predictors=names_in(said["predictors"]),
            without=names_in(said["without"], "--without"),
            categories=categories_in(said["categories"] or ()),
            form=stated,
            where=label(data),
            count=bool(said["count"]),
            **{name: _setting(name, said[name]) for name in SETTING_NAMES if said[name] not in (None, ())},
        )
        if proposal.by_look:
            nameless = tuple((f"column {place}", NO_NAME) for place in unnamed)
            proposal = replace(proposal, left_out=(*proposal.left_out, *nameless))
        return cls(proposal.study, data, None, proposal)

    @property
    def files(self) -> list[tuple[str, str]]:
        """The study file, for what is written to keep away from."""
        return [] if self.file is None else [(self.file, "the study")]


def _setting(name: str, said: Any) -> Any:
    return [Only.parse(each) for each in said] if name == "only" else said


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Public. The options that decide what is selected and what it costs."""

    epsilon: str
    delta: str | None
    method: Method
    mechanism: Mechanism
    penalty: str | None
    max_size: int | None
    at_least: int = 0
    always: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    hierarchy: bool = False

    @property
    def choice(self) -> Choice:
        """All but the cost."""
        groups = tuple(group_of(each) for each in self.one_of)
        models = Subsets(
            max_size=self.max_size,
            always=self.always,
            at_least=self.at_least,
            one_of=groups,
            hierarchy=self.hierarchy,
        )
        return Choice(self.method, self.mechanism, models, penalty_of(self.penalty))

    @property
    def budget(self) -> Budget:
        """The privacy cost of the run."""
        return Budget(self.epsilon, self.delta or 0)
