"""`dpselect plan`: what to expect, from public facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpselect.assume.budget import exact_delta, plain, split_for_votes
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.rehearse.planning.forecast import Forecast
from dpselect.rehearse.planning.outlook import Outlook, percent
from dpselect.rehearse.planning.plan import Plan
from dpselect.report.plan_figure import outlook_figure, plan_figure, save_figure
from dpselect.use.plan import ExpectedIntervals, plan, two_digits
from dpselect.use.shell.confirm import proposal_lines
from dpselect.use.shell.files import require_apart, require_kind, require_writable
from dpselect.use.shell.help import DoorCommand, advanced
from dpselect.use.shell.options import CSV, DEFAULT_DELTA, EPSILON, JSON, METHOD, PLACES, QUIET, STATED_NAMES, STATING
from dpselect.use.shell.stating import Stated
from dpselect.use.shell.terminal import answer_json, heading, pairs, sharing, show_table, tell, together


@click.command(
    "plan",
    cls=DoorCommand,
    usage="DATA --response NAME --rows N --epsilon E [options]",
    epilog="""\b
Example:
  dpselect plan people.csv --response income --rows 5000 --epsilon 1
  dpselect plan people.csv --study study.toml --rows 5000 --epsilon 1 --r2 0.2 -o plan
  dpselect plan people.csv --study study.toml --rows 5000 --epsilon 1 --method pcls --effects 10,5,0 --deviation 8""",
)
@PLACES
@STATING
@CSV
@click.option(
    "--rows", type=click.IntRange(min=2), metavar="N", help="About how many rows there are, unless the study says so."
)
@EPSILON
@METHOD
@advanced(
    "--r2",
    section="Method",
    type=float,
    metavar="R2",
    help="Votes: the share of the response that is supposed to be explained.",
)
@advanced(
    "--choice-only", section="Method", is_flag=True, help="Votes: as `select` spends it, all of epsilon on the choice."
)
@click.option("--delta", metavar="D", default=DEFAULT_DELTA, show_default=True, help="Chance that the promise fails.")
@advanced(
    "--effects",
    section="Method",
    metavar="A,B,...",
    help="pcls, pcpl: supposed effects of the variables, each scaled to [-1, 1].",
)
@advanced(
    "--deviation",
    section="Method",
    type=float,
    metavar="S",
    help="pcls, pcpl: supposed standard deviation of the noise.",
)
@advanced(
    "--wanted",
    section="Method",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="pcls, pcpl: the chance to aim at.",
)
@click.option("-o", "--output", metavar="NAME", help="Also draw the curves: NAME.png and NAME.svg.")
@JSON
@QUIET
def command(
    places: tuple[str, ...],
    study: str | None,
    effects: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Estimate what a run with N rows would find, without reading the data; DATA may be left out.

    For votes: the share of R² that is kept, the smallest effect that is found, how long the intervals of the coefficients are, and
    what more rows or another epsilon would buy. For pcls and pcpl: the chance of the right model, and the best settings.
    """
    form: dict[str, Any] = {name: given.pop(name) for name in ("delimiter", "encoding", "decimal")}
    about = {name: given.pop(name) for name in STATED_NAMES}
    said = Stated.from_options(places, {"study": study, **about, **form})
    stated, study_file = said.study, said.file or "the study file"
    if said.proposal is not None and not (quiet or as_json):
        tell(pairs(proposal_lines(said.proposal)))
    target = Path(output).with_suffix("") if output is not None else None
    if target is not None:
        pictures = target.with_suffix(".png"), target.with_suffix(".svg")
        require_writable(*pictures)
        require_apart(pictures, said.files)
        for picture, mark in zip(pictures, (b"\x89PNG", b"<svg"), strict=True):
            require_kind(picture, mark, "a picture")
    with sharing("Planning", quiet or as_json) as progress:
        found = plan(stated, effects=_numbers(effects), progress=progress, **given)
    outlook, lengths = found.found, found.intervals
    if target is not None:
        curves = None if lengths is None else (lengths.shown, lengths.by_epsilon, lengths.by_rows)
        figure = outlook_figure(outlook, curves) if isinstance(outlook, Outlook) else plan_figure(outlook)
        save_figure(figure, target.parent, target.name)
    if as_json:
        answer_json(found.to_dict())
    elif quiet:
        click.echo(found.verdict)
    elif isinstance(outlook, Outlook):
        show_outlook(outlook, lengths, study_file, stated)
        if found.counted:
            click.echo(found.counted)
    else:
        _show(outlook)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise StudyError(f"--effects is {text!r}; give numbers with commas between them, such as 10,5,0.") from None


def _show(found: Plan) -> None:
    click.echo(heading(found.verdict))
    click.echo(
        pairs(
            [
                ("supposed", found.supposed),
                ("recommended", str(found.recommended).strip()),
                ("defaults", str(found.defaults).strip()),
            ]
        )
    )
    click.echo()
    show_table(
        ["epsilon", "chance", "rows", "chance"],
        [
            [f"{epsilon:.3g}", f"{one:.2f}", f"{rows:,}", f"{other:.2f}"]
            for (epsilon, one), (rows, other) in zip(found.by_epsilon, found.by_rows, strict=False)
        ],
        numbers=(0, 1, 2, 3),
    )


NEAR = 0.05
"""Shares of epsilon that are the same for all that a plan can say."""


def show_outlook(found: Outlook, lengths: ExpectedIntervals | None, study_file: str, study: Study) -> None:
    """The verdict, the worlds, what could be found, and what more rows or another epsilon would buy; `study` names the file."""
    click.echo(heading(found.verdict))
    if lengths is not None and (share := _unplanned(found, study)) is not None:
        click.echo(
            f"For this, write rows = {found.rows} at the top of {study_file}: as it stands, analyze would give the choice "
            f"{share:.3g} of epsilon instead of {found.choice_epsilon:.3g}."
        )
    click.echo()
    _show_worlds(found)
    _show_smallest(found)
    click.echo()
    if lengths is not None:
        _show_lengths(lengths, study)
    _show_curves(found, lengths)
    click.echo("R² kept here and the verdict's first number are the mean of the worlds with a *; what is said of one")
    click.echo(f"variable supposes: {found.typical}.")
    if study.person is not None:
        click.echo(
            "The rows of a person count here as if they had nothing in common: where they are alike, expect what fewer rows "
            "would give."
        )
    if found.recommended != "votes":
        click.echo(
            f"In all worlds {found.recommended} keeps more: dpselect analyze {study_file} DATA --epsilon {found.epsilon:g} "
            f"--method {found.recommended}"
        )


def _show_smallest(found: Outlook) -> None:
    """What could be found, in the variables' own units."""
    if found.smallest is None:
        click.echo("No effect of a single variable, however large, is found with a chance of 80%.")
    else:
        click.echo(
            "The smallest effect found with a chance of 80%: one standard deviation more of a variable moves the response by "
            f"{found.smallest:.2g}\nstandard deviations of its noise. Supposing that stated bounds span four standard deviations, "
            "that is:"
        )
        click.echo(pairs(together(found.units)))


def _show_worlds(found: Outlook) -> None:
    """Everything about the worlds of one R²; of several R² what is kept, side by side."""
    kinds: dict[str, list[tuple[str, Forecast, bool]]] = {}
    for words, each in found.worlds:
        supposed, _, kind = words.partition(", ")
        kinds.setdefault(kind, []).append((supposed, each, words in found.middle))
    several = [supposed for supposed, *_ in next(iter(kinds.values()))]
    if len(several) == 1:
        show_table(
            ["supposed world", "R² kept", "best terms found", "others taken", "exactly the best"],
            [
                [kind + " *" * star, *map(percent, (each.kept, each.found, each.others, each.right))]
                for kind, ((_, each, star),) in kinds.items()
            ],
            numbers=(1, 2, 3, 4),
        )
    else:
        show_table(
            ["R² kept in a world of", *several],
            [[kind, *(percent(each.kept) + " *" * star for _, each, star in row)] for kind, row in kinds.items()],
            numbers=tuple(range(1, len(several) + 1)),
        )
    click.echo(f"Exactly the best model: a chance of {percent(found.chance)} in the mean of these worlds.")
    click.echo()


def _show_curves(found: Outlook, lengths: ExpectedIntervals | None) -> None:
    """What more rows or another epsilon would buy."""
    rows = [[f"{n:,}", percent(kept)] for n, kept in found.by_rows[-len(found.by_epsilon) :]]
    prices = [[f"{epsilon:.3g}", percent(kept)] for epsilon, kept in found.by_epsilon]
    head = ["rows", "R² kept", "epsilon", "R² kept"]
    if lengths is not None:
        head = ["rows", "R² kept", f"interval of {lengths.shown}", "epsilon", "R² kept", f"interval of {lengths.shown}"]
        for table, points, curve in (
            (rows, found.by_rows[-len(found.by_epsilon) :], lengths.by_rows),
            (prices, found.by_epsilon, lengths.by_epsilon),
        ):
            known = {x: "not seen" if length is None else two_digits(length) for x, length in curve}
            for row, (x, _) in zip(table, points, strict=True):
                row.append(known.get(x, "\N{EN DASH}"))
    show_table(head, [[*one, *two] for one, two in zip(rows, prices, strict=False)], numbers=tuple(range(len(head))))


def _unplanned(found: Outlook, study: Study) -> float | None:
    """What `analyze` would give to the choice with the rows that the study states, if that is not what was planned."""
    choice, rest = split_for_votes(rows=study.expected_rows, columns=len(study.columns), epsilon=str(found.epsilon))
    share = found.epsilon * choice / (choice + rest)
    return None if abs(share - found.choice_epsilon) < NEAR * found.epsilon else share


def _show_lengths(lengths: ExpectedIntervals, study: Study) -> None:
    """Each slope's interval, in the variable's own units."""
    click.echo("How long 95% intervals are expected to be, for one unit or a level against its reference")
    slack = f" and delta {plain(exact_delta(lengths.delta))}" if lengths.noise == "gaussian" else ""
    click.echo(f"(epsilon {lengths.epsilon:.3g}{slack} for the coefficients, {lengths.noise} noise):")
    click.echo(pairs(together(lengths.words(study))))
    click.echo()
