"""What the terminal shows of a release: the answer first, then what was considered, found and spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from dpselect.assume.budget import about, plain
from dpselect.assume.recipe import visible_share
from dpselect.assume.terms import INTERCEPT
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.selection import Selection
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.text import (
    analysis_lines,
    coefficient_columns,
    coefficient_rows,
    estimate_remarks,
)
from dpselect.use.shell.confirm import found_sentence, strength
from dpselect.use.shell.terminal import answer_json, heading, hint, pairs, show_table, visible


def show_selection(selection: Selection) -> None:
    """Which variables were selected, in which direction, and what that cost."""
    study, recipe = selection.study, selection.recipe
    chosen = _variables(selection)
    offered = [each.name for each in study.predictors]
    counted = "No variable was selected" if not chosen else f"Selected {len(chosen)} of {len(offered)} variables"
    rows = f" ({recipe.rows:,} rows)" if recipe.rows is not None and study.rows is None else ""
    that = f" that explain {study.response.name}" if chosen else f" to explain {study.response.name}"
    click.echo(heading(f"{counted}{that}{rows}"))
    click.echo()
    if chosen:
        click.echo(pairs(_direction_lines(selection, chosen)))
        click.echo()
    others = [name for name in offered if name not in chosen]
    if others:
        click.echo(visible(f"Considered, not selected: {', '.join(others)}"))
    share = visible_share(recipe, selection.range)
    if share is not None:
        click.echo(_afterwards(share))
    click.echo(spent_line(selection))


def _afterwards(share: float) -> str:
    if not share < 0.9:
        return "This table is small for its privacy level: no variable could have been found."
    return found_sentence(share, "would have been found")


def _variables(selection: Selection) -> list[str]:
    """The variables behind the selected columns, once each, in the order of the study."""
    columns = [selection.study.columns[place] for place in selection.columns]
    found = {factor.variable for column in columns for factor in column.factors if column.name != INTERCEPT}
    return [each.name for each in selection.study.predictors if each.name in found]


def _direction_lines(selection: Selection, chosen: list[str]) -> list[tuple[str, str]]:
    """Up, down, and the rest: a category's columns are told one by one, where they are."""
    known = {name: way for name, way in selection.directions.items() if way is not None}
    lines = [(way, [name for name in chosen if known.get(name) == way]) for way in ("up", "down")]
    rest = [name for name in chosen if name not in known]
    told = [_with_columns(name, known) for name in rest]
    return [(way, ", ".join(names)) for way, names in [*lines, ("differs by" if rest else "", told)] if names]


def _with_columns(name: str, known: Mapping[str, str]) -> str:
    columns = [f"{each[len(name) + 1 : -1]} {way}" for each, way in known.items() if each.startswith(f"{name}[")]
    return f"{name} ({', '.join(columns)})" if columns else name


def spent_line(release: Selection | AnalysisRecord) -> str:
    """What was spent and what remains, in one line."""
    guarantee = release.guarantee
    delta = f", delta {plain(guarantee.delta)}" if guarantee.delta else ""
    line = f"Privacy: epsilon {plain(guarantee.epsilon)}{delta} ({strength(guarantee.epsilon)})."
    last = release if isinstance(release, Selection) else release.releases[-1]
    receipt = last.receipt
    return line if receipt is None else f"{line} Remaining budget: epsilon {about(receipt.remaining.epsilon)}."


def show_report(analysis: AnalysisRecord, ledger: str, page: Path, as_json: bool, quiet: bool) -> None:
    """The answer of a command: what was selected, each effect, if there are any, and what that cost."""
    selection, coefficients = analysis.selection, analysis.coefficients
    if as_json:
        answer_json(analysis.to_dict())
        return
    if quiet:
        click.echo(selection.formula)
        return
    if coefficients is None:
        show_selection(selection)
    else:
        click.echo(heading(selection.formula))
        click.echo(pairs([*analysis_lines(analysis), ("ledger", ledger)]))
        click.echo()
        facts = estimate_facts(coefficients)
        show_table(coefficient_columns(facts), coefficient_rows(facts), numbers=(1, 2, 3))
        for remark in estimate_remarks(facts):
            click.echo(remark)
        click.echo(spent_line(analysis))
    click.echo(f"Wrote {page}, {page.with_suffix('.json')} (both public).")
    hint(f"dpselect verify {page}")
