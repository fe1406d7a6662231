"""What `plan` does: compute what a run would find, and show it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dpselect.assume.budget import exact_delta, plain
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.rehearse.planning.forecast import Forecast
from dpselect.rehearse.planning.outlook import Outlook, percent
from dpselect.rehearse.planning.plan import Plan
from dpselect.report.phrases import BETTER, first_of, names_with_more
from dpselect.report.plan_figure import outlook_figure, plan_figure, save_figure
from dpselect.use.plan import ExpectedIntervals, Planned, little_is_seen, plan, two_digits
from dpselect.use.shell.confirm import proposal_lines
from dpselect.use.shell.files import require_apart, require_kind, require_writable
from dpselect.use.shell.options import STATED_NAMES, TEXT_FORM, parse_split
from dpselect.use.shell.sources import Stated
from dpselect.use.shell.terminal import answer_json, heading, pairs, sharing, show_table, tell, together


def run_plan(
    places: tuple[str, ...],
    study: str | None,
    effects: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    details: bool,
    split: str | None,
    run: str,
    **given: Any,
) -> None:
    """`dpselect plan`."""
    form: dict[str, Any] = {name: given.pop(name) for name in TEXT_FORM}
    about = {name: given.pop(name) for name in STATED_NAMES}
    given["rows"] = about["rows"]
    if not about["only"]:  # a study of all rows need not say how many they are
        about["rows"] = None
    said = Stated.from_options(places, {"study": study, **about, **form})
    stated = said.study
    if given["rows"] is None and stated.rows is None:
        raise click.UsageError("Add --rows N, about how many rows there are: a plan reads none.")
    if said.proposal is not None and not (quiet or as_json):
        tell(pairs(proposal_lines(said.proposal, names_with_more)))
    target = Path(output).with_suffix("") if output is not None else None
    if target is not None:
        pictures = target.with_suffix(".png"), target.with_suffix(".svg")
        require_writable(*pictures)
        require_apart(pictures, said.files)
        for picture, mark in zip(pictures, (b"\x89PNG", b"<svg"), strict=True):
            require_kind(picture, mark, "a picture")
    with sharing("Planning", quiet or as_json) as progress:
        asked: dict[str, Any] = {
            "choice_only": run == "select",
            "effects": _numbers(effects),
            "split": parse_split(split),
        }
        found = plan(stated, progress=progress, **asked, **given)
    outlook, lengths = found.found, found.intervals
    if target is not None:
        curves = (lengths.shown, lengths.by_epsilon, lengths.by_rows) if lengths is not None and lengths.terms else None
        figure = outlook_figure(outlook, curves) if isinstance(outlook, Outlook) else plan_figure(outlook)
        save_figure(figure, target.parent, target.name)
    if as_json:
        answer_json(found.to_dict())
    elif quiet:
        click.echo(found.verdict)
    elif isinstance(outlook, Outlook):
        show_outlook(found, details=details)
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


def show_outlook(planned: Planned, *, details: bool) -> None:
    """The verdict and what goes with it; with `details` every scenario, and what more rows or another epsilon would give."""
    found, lengths, study = planned.found, planned.intervals, planned.study
    assert isinstance(found, Outlook)
    click.echo(heading(found.verdict))
    if found.smallest is not None:
        click.echo(f"Smallest detectable effect (80% power): {found.smallest:.2g} residual SD per SD of the variable.")
    else:
        click.echo("No effect of a single variable, however large, would be found with probability 80%.")
    for note in planned.notes:
        click.echo(note)
    if study.person is not None:
        click.echo("If the rows of a person are alike, expect what fewer rows would give.")
    if little_is_seen(planned):
        click.echo(BETTER)
    if found.recommended != "votes":
        click.echo(f"In every scenario {found.recommended} explains more: add --method {found.recommended} to analyze.")
    if lengths is not None and lengths.terms:
        click.echo()
        _show_lengths(lengths, study)
    if not details:
        click.echo("Every scenario, other numbers of rows and other values of epsilon: add --details.")
        return
    _show_scenarios(found)
    if found.units:
        click.echo("The smallest detectable effect in the variables' own units, if the stated ranges span 6.5 SD:")
        _show_named(found.units)
    _show_curves(found, lengths)
    click.echo(
        f"These are the second lowest of the scenarios with a *. Effects of one variable suppose: {found.typical}."
    )


def _show_scenarios(found: Outlook) -> None:
    """Everything about the scenarios of one R²; of several R² what is kept, side by side."""
    kinds: dict[str, list[tuple[str, Forecast, bool]]] = {}
    for words, each in found.scenarios:
        supposed, _, kind = words.partition(", ")
        kinds.setdefault(kind, []).append((supposed, each, words in found.usual))
    several = [supposed for supposed, *_ in next(iter(kinds.values()))]
    if len(several) == 1:
        show_table(
            ["scenario", "R² kept", "variables found", "others selected", "exactly the best"],
            [
                [kind + " *" * star, *map(percent, (each.kept, each.found, each.others, each.right))]
                for kind, ((_, each, star),) in kinds.items()
            ],
            numbers=(1, 2, 3, 4),
        )
    else:
        show_table(
            ["R² kept in a scenario of", *several],
            [[kind, *(percent(each.kept) + " *" * star for _, each, star in row)] for kind, row in kinds.items()],
            numbers=tuple(range(1, len(several) + 1)),
        )
    click.echo(f"Exactly the best model: probability {percent(found.chance)}, the mean of these scenarios.")
    click.echo()


def _show_curves(found: Outlook, lengths: ExpectedIntervals | None) -> None:
    """What more rows or another epsilon would give."""
    rows = [[f"{n:,}", percent(kept)] for n, kept in found.by_rows[-len(found.by_epsilon) :]]
    prices = [[f"{epsilon:.3g}", percent(kept)] for epsilon, kept in found.by_epsilon]
    head = ["rows", "R² kept", "epsilon", "R² kept"]
    if lengths is not None and lengths.terms:
        head = ["rows", "R² kept", f"interval of {lengths.shown}", "epsilon", "R² kept", f"interval of {lengths.shown}"]
        for table, points, curve in (
            (rows, found.by_rows[-len(found.by_epsilon) :], lengths.by_rows),
            (prices, found.by_epsilon, lengths.by_epsilon),
        ):
            known = {x: "hidden" if length is None else two_digits(length) for x, length in curve}
            for row, (x, _) in zip(table, points, strict=True):
                row.append(known.get(x, "\N{EN DASH}"))
    show_table(head, [[*one, *two] for one, two in zip(rows, prices, strict=False)], numbers=tuple(range(len(head))))


def _show_lengths(lengths: ExpectedIntervals, study: Study) -> None:
    """Each slope's interval, in the variable's own units."""
    slack = f" and delta {plain(exact_delta(lengths.delta))}" if lengths.noise == "gaussian" else ""
    click.echo(f"Length of 95% intervals, for one unit or one category (epsilon {lengths.epsilon:.3g}{slack}):")
    _show_named(lengths.words(study))


def _show_named(named: Sequence[tuple[str, str]]) -> None:
    """What is said of variables, those of which the same is said in one line; of very many lines the first."""
    lines, more = first_of(together(named))
    click.echo(pairs([*lines, (more, "")] if more else lines))
    click.echo()
