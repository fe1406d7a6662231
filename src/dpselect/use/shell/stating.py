"""Public. What a command is about: a study file, or what was stated in its place, or a proposal for a person to confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import click

from dpselect.assume.budget import Budget
from dpselect.assume.candidates import Subsets
from dpselect.assume.recipe import Choice, Mechanism, Method
from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Study
from dpselect.assume.subgroup import Only
from dpselect.gather.sources.open import plain_form
from dpselect.use.init import named_columns
from dpselect.use.proposal import Proposal, propose
from dpselect.use.shell.options import (
    SETTING_NAMES,
    categories_in,
    group_of,
    names_in,
    penalty_of,
    stated_options,
    study_and_data,
)
from dpselect.use.shell.sources import csv_form, guessed_form, label, source_of

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
                raise click.UsageError(f"The study file states --{given[0].replace('_', '-')} already: leave it out.")
            return cls(Study.read(file), data, file)
        if said["response"] is None:
            raise click.UsageError(NO_STUDY if data is not None else f"Give DATA. {NO_STUDY}")
        if data is None:
            raise click.UsageError("Give DATA, the table that the response is in.")
        form = guessed_form(data, csv_form(options))
        options |= dict.fromkeys(("delimiter", "encoding", "decimal"))
        stated = None
        if form:
            stated = SourceForm(**{"delimiter": plain_form(data).delimiter, **form})
        proposal = propose(
            named_columns(source_of(data, {"delimiter": plain_form(data).delimiter, **form} if form else {})),
            said["response"],
            predictors=names_in(said["predictors"]),
            categories=categories_in(said["categories"] or ()),
            form=stated,
            where=label(data),
            count=bool(said["count"]),
            **{name: _setting(name, said[name]) for name in SETTING_NAMES if said[name] not in (None, ())},
        )
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

    @property
    def choice(self) -> Choice:
        """All but the cost."""
        groups = tuple(group_of(each) for each in self.one_of)
        models = Subsets(max_size=self.max_size, always=self.always, at_least=self.at_least, one_of=groups)
        return Choice(self.method, self.mechanism, models, penalty_of(self.penalty))

    @property
    def budget(self) -> Budget:
        """The privacy cost of the run."""
        return Budget(self.epsilon, self.delta or 0)
