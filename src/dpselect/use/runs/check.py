"""What `check` does: read the rows, preview, and show what is confidential."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from dpselect.errors import LedgerError, ProblemFound
from dpselect.gather.fit import TableFit
from dpselect.rehearse.check.preview import Preview
from dpselect.report.confidential import (
    EFFECTS,
    FITS,
    NOTHING_REMARKABLE,
    SETTINGS,
    WATERMARK,
    chosen_rows,
    direction_words,
    effect_rows,
    model_rows,
    price_sentence,
    remarkable_rows,
    setting_rows,
    share_sentence,
)
from dpselect.report.phrases import first_of
from dpselect.use.check import Checked, Rehearsal, budget_of, look_at
from dpselect.use.shell.files import require_apart, require_kind, require_writable, write_text
from dpselect.use.shell.ledgers import LedgerOptions
from dpselect.use.shell.options import parse_split
from dpselect.use.shell.sources import Rows, Settings, Stated, ledger_beside
from dpselect.use.shell.terminal import answer_json, counting, heading, show_table, tell, waiting


def run_check(
    places: tuple[str, ...],
    run: str,
    split: str | None,
    models: tuple[str, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """`dpselect check`."""
    said = Stated.from_options(places, options)
    stated, data = said.study, said.data
    rows = Rows.from_options(data, options)
    rehearsal = None
    if options["epsilon"] is not None:
        settings = Settings(**options)
        budget = budget_of(settings.epsilon, settings.delta, run)
        rehearsal = Rehearsal(stated, settings.choice, budget, parse_split(split), run, models)
    # Before the rows are read: a check of a long table should not end with "cannot write".
    if output is not None:
        require_writable(output)
        kept_away = [*said.files, *rows.files]
        with suppress(LedgerError):  # of several, or of none that is known, a check charges none
            kept_away += LedgerOptions(str(ledger_beside(str(data)))).files
        require_apart([output], kept_away)
        require_kind(output, f"<title>{WATERMARK}".encode(), "a confidential page")
    rows.require_rows()
    with waiting(f"Reading {rows.label}", quiet):
        found = look_at(rows.source, stated, rehearsal, looks=lambda count: counting("Previewing", count, quiet))
    if output is not None:
        # Written before anything is shown, and for its owner's eyes: a terminal that is closed meanwhile loses nothing.
        write_text(output, found.page(), mode=0o600)
    _show(found, as_json, quiet)
    if output is not None and not (as_json or quiet):
        tell(f"Wrote {output}. Confidential: keep it where you keep the rows.")
    # Last, so that the reasons are on the screen; by an exit code, so that a script does not go on to spend.
    if found.stops:
        raise ProblemFound(f"{rows.label} does not fit the study: a run would stop. Nothing was spent.")


def _show(found: Checked, as_json: bool, quiet: bool) -> None:
    fit, seen, sentences = found.fit, found.preview, found.advice
    if as_json:
        short = {"too_short": found.too_short} if found.too_short else {}
        answer_json(_values(fit, seen, sentences) | short | _effect_values(found))
        return
    if quiet:
        click.echo("does not fit" if sentences else "fits")
        return
    click.echo(heading(f"{WATERMARK.upper()}. Computed from the rows without noise. Nothing was spent."))
    if found.too_short:
        click.echo(found.too_short)
    remarkable = remarkable_rows(fit)
    click.echo(f"Data: {fit.rows:,} rows. {'' if remarkable else NOTHING_REMARKABLE}".strip())
    if remarkable:
        _show_first(["variable", "below its range", "above", "missing or unknown"], remarkable, numbers=(1, 2, 3))
    _echo_first(sentences or [FITS])
    if seen is not None:
        click.echo()
        click.echo(heading("What would be selected (confidential)"))
        click.echo(price_sentence(seen))
        _show_first(
            ["chance", "variable", *(["direction"] if seen.directions else [])], chosen_rows(seen), numbers=(0,)
        )
        show_table(["chance", "model"], model_rows(seen), numbers=(0,))
        click.echo("\n".join(line for line in (direction_words(seen), seen.how, share_sentence(seen)) if line))
    if found.effects:
        click.echo()
        click.echo(heading("Effects to expect (confidential)"))
        click.echo(EFFECTS)
        _show_first(
            ["coefficient", "chance that it is clear", "95% interval"], effect_rows(found.effects), numbers=(1,)
        )
        _echo_first(found.hints)
    if found.settings:
        click.echo()
        click.echo(heading("Other settings (confidential)"))
        click.echo(SETTINGS)
        heads = ["total epsilon", "for the selection", "R² explained", "clear effects"]
        show_table(heads, setting_rows(found.settings), numbers=(0, 1, 2, 3))


def _show_first(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int]) -> None:
    """A table, or the first rows of a very long one."""
    first, more = first_of(rows)
    show_table(columns, first, numbers=numbers)
    if more:
        click.echo(f"{more}; all are on the page that -o FILE writes.")


def _echo_first(sentences: Sequence[str]) -> None:
    """Sentences, or the first of very many."""
    first, more = first_of(sentences)
    for sentence in (*first, f"{more} such sentences; all are on the page that -o FILE writes." if more else ""):
        if sentence:
            click.echo(sentence)


def _values(fit: TableFit, seen: Preview | None, sentences: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "warning": WATERMARK,
        "rows": fit.rows,
        "variables": [
            {"name": each.name, "below": each.below, "above": each.above, "missing": each.missing}
            for each in fit.variables
        ],
        "advice": sentences,
    }
    return values if seen is None else values | _rehearsed_values(seen)


def _effect_values(found: Checked) -> dict[str, Any]:
    effects = [
        {"term": each.name, "told": each.told, "conf_low": each.lower, "conf_high": each.upper}
        for each in found.effects
    ]
    settings = [
        {
            "epsilon": each.epsilon,
            "for_selection": each.selection,
            "share_of_r2": each.share,
            "clear": each.clear,
            "slopes": each.slopes,
        }
        for each in found.settings
    ]
    return {"effects": effects, "hints": found.hints, "settings": settings} if effects else {}


def _rehearsed_values(seen: Preview) -> dict[str, Any]:
    def one(model: tuple[str, ...], chance: float) -> dict[str, Any]:
        return {"variables": list(model), "chance": chance}

    return {
        "epsilon": {"whole": str(seen.epsilon), "choice": str(seen.recipe.guarantee.epsilon)},
        "models": [one(*pair) for pair in zip(seen.models, seen.chances, strict=True)],
        "asked": [one(*pair) for pair in seen.asked],
        "inclusion": dict(zip(seen.terms, seen.inclusion, strict=True)),
        "directions": {name: {"up": up, "down": down} for name, (up, down) in seen.directions.items()},
        "share_of_r2": seen.share,
        "best_by_bic": None if seen.best is None else {"variables": list(seen.best[0]), "r2": seen.best[1]},
        "curves": {
            curve.name: {
                "settings": list(curve.settings),
                "chances": [list(row) for row in curve.chances],
                "inclusion": [list(row) for row in curve.inclusion],
                "shares_of_r2": list(curve.shares),
            }
            for curve in seen.curves
        },
    }
