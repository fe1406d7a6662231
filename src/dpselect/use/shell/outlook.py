"""What `dpselect plan` says on the screen about a choice by votes."""

from __future__ import annotations

import click

from dpselect.assume.models.budget import exact_delta, plain
from dpselect.assume.models.split import default_split
from dpselect.assume.study.assumptions import Assumptions
from dpselect.rehearse.planning.forecast import Forecast
from dpselect.rehearse.planning.outlook import Outlook, percent
from dpselect.use.interval_plan import ExpectedIntervals, two_digits
from dpselect.use.shell.terminal import heading, pairs, show_table, together

NEAR = 0.05
"""Shares of epsilon that are the same for all that a plan can say."""


def show_outlook(found: Outlook, lengths: ExpectedIntervals | None, study: str, assumptions: Assumptions) -> None:
    """The verdict, the worlds, what could be found, and what more rows or another epsilon would buy; `study` names the file."""
    click.echo(heading(found.verdict))
    if lengths is not None and (share := _unplanned(found, assumptions)) is not None:
        click.echo(
            f"For this, write rows = {found.rows} at the top of {study}: as it stands, analyze would give the choice {share:.3g} "
            f"of epsilon instead of {found.choice_epsilon:.3g}."
        )
    click.echo()
    _show_worlds(found)
    _show_smallest(found)
    click.echo()
    if lengths is not None:
        _show_lengths(lengths, assumptions)
    _show_curves(found, lengths)
    click.echo("R² kept here and the verdict's first number are the mean of the worlds with a *; what is said of one")
    click.echo(f"variable supposes: {found.typical}.")
    if assumptions.person is not None:
        click.echo(
            "The rows of a person count here as if they had nothing in common: where they are alike, expect what fewer rows "
            "would give."
        )
    if found.recommended != "votes":
        click.echo(
            f"In all worlds {found.recommended} keeps more: dpselect analyze {study} DATA --epsilon {found.epsilon:g} "
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


def _unplanned(found: Outlook, assumptions: Assumptions) -> float | None:
    """What `analyze` would give to the choice with the rows that the study states, if that is not what was planned."""
    choice, rest = default_split(
        "votes", rows=assumptions.rows, columns=len(assumptions.columns), epsilon=str(found.epsilon)
    )
    share = found.epsilon * choice / (choice + rest)
    return None if abs(share - found.choice_epsilon) < NEAR * found.epsilon else share


def _show_lengths(lengths: ExpectedIntervals, assumptions: Assumptions) -> None:
    """Each slope's interval, in the variable's own units."""
    click.echo("How long 95% intervals are expected to be, for one unit or a level against its reference")
    slack = f" and delta {plain(exact_delta(lengths.delta))}" if lengths.noise == "gaussian" else ""
    click.echo(f"(epsilon {lengths.epsilon:.3g}{slack} for the coefficients, {lengths.noise} noise):")
    click.echo(pairs(together(lengths.words(assumptions))))
    click.echo()
