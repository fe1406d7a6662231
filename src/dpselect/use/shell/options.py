"""Options that several commands share, so that one word means one thing in all of them. Nothing heavy is imported here."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dpselect.errors import StudyError
from dpselect.use.shell.help import Decorator, advanced, together

METHOD_CHOICES = ("votes", "pcls", "pcpl")
MECHANISM_CHOICES = ("permute-and-flip", "exponential", "laplace")
FAMILY_CHOICES = ("gaussian", "binomial", "poisson")
NEIGHBOR_CHOICES = ("replace-one", "add-remove-one")
MISSING_CHOICES = ("error", "midpoint", "zero-row")
RUN_CHOICES = ("analyze", "select")
EXPORT_CHOICES = ("html", "md", "tex", "csv", "svg", "json", "docx", "png")
"""As the rest of dpselect has them, without importing them; a test compares."""

DEFAULT_DELTA = "1e-6"

PLACES: Decorator[Any] = together(
    click.argument("places", nargs=-1, metavar="DATA"),
    click.option("--response", metavar="NAME", default=None, help="The variable to explain."),
)
"""DATA and the response, or a study about it; the order STUDY DATA is taken too."""

STATING: Decorator[Any] = together(
    click.option(
        "--predictors", metavar="A,B", default=None, help="Variables to consider.  [default: all usable columns]"
    ),
    click.option(
        "--categories",
        metavar="NAME=A,B",
        multiple=True,
        help="All categories of a text column, a common one first; may be repeated.",
    ),
    click.option("--without", metavar="A,B", default=None, help="Columns to leave out."),
    click.option("--weights", metavar="NAME", default=None, help="Column with survey weights."),
    click.option(
        "--study", metavar="FILE", default=None, help="Labels, units, ranges and categories, in a study file."
    ),
    advanced(
        "--person", section="Privacy", metavar="NAME", default=None, help="Protect persons: the column that names them."
    ),
    advanced(
        "--weight-limit",
        section="Model",
        type=float,
        metavar="W",
        default=None,
        help="With --weights: a public number near the largest weight.",
    ),
    advanced(
        "--population",
        section="Model",
        type=float,
        metavar="N",
        default=None,
        help="With --weights: what all weights add up to, as the survey publishes it.",
    ),
    advanced(
        "--cluster", section="Model", metavar="NAME", default=None, help="Column of sampling clusters, such as schools."
    ),
    advanced(
        "--only",
        section="Model",
        multiple=True,
        metavar="COLUMN=...",
        help="A subgroup: sex=f, region=north|south, age=18..65. Needs --rows.",
    ),
    advanced("--count", section="Model", is_flag=True, help="The response counts something: visits, days, accidents."),
    advanced(
        "--max-rows-per-person",
        section="Privacy",
        type=click.IntRange(min=1),
        metavar="K",
        default=None,
        help="With --person: rows of each person that count, at most.",
    ),
    advanced(
        "--neighbors",
        section="Privacy",
        type=click.Choice(NEIGHBOR_CHOICES),
        default=None,
        help="add-remove-one: the number of rows is secret too.  [default: replace-one]",
    ),
    advanced(
        "--missing",
        section="Input",
        type=click.Choice(MISSING_CHOICES),
        default=None,
        help="What becomes of missing values: stop, use the middle of the range, or leave the row out.  [default: error]",
    ),
)
"""What may be stated without a study file."""
ROWS = advanced(
    "--rows",
    section="Model",
    type=click.IntRange(min=1),
    metavar="N",
    default=None,
    help="About how many rows there are, or are in the subgroup, from public knowledge; of a workbook exactly.",
)

SETTING_NAMES = (
    "person",
    "max_rows_per_person",
    "cluster",
    "weights",
    "weight_limit",
    "population",
    "only",
    "rows",
    "neighbors",
    "missing",
)
"""The options that are settings of a study, by the same names."""
STATED_NAMES = ("response", "predictors", "categories", "without", "count", *SETTING_NAMES)
"""The names of the options of `PLACES` and `STATING`, but for the study file itself."""

JSON = advanced("--json", "as_json", section="Output", is_flag=True, help="Answer in JSON.")
QUIET = advanced("-q", "--quiet", section="Output", is_flag=True, help="The answer alone, in one line.")
YES = click.option("-y", "--yes", is_flag=True, help="Spend without asking.")
EPSILON = click.option(
    "--epsilon", required=True, metavar="E", help="Privacy cost of this run: 1 is strong, 3 moderate."
)
RUN = click.option(
    "--run",
    type=click.Choice(RUN_CHOICES),
    default="analyze",
    show_default=True,
    help="Which run to preview; select spends all of epsilon on the selection.",
)
DELTA = advanced(
    "--delta", section="Privacy", default=None, metavar="D", help="Chance that the promise fails; only for pcpl."
)
METHOD = advanced(
    "--method",
    section="Method",
    type=click.Choice(METHOD_CHOICES),
    default="votes",
    show_default=True,
    help="How variables are selected: see Methodology, PCLS and PCPL. Votes alone tell directions, and only where a public rule "
    "says that they cost no accuracy.",
)
MODEL: Decorator[Any] = together(
    METHOD,
    advanced(
        "--mechanism",
        section="Method",
        type=click.Choice(MECHANISM_CHOICES),
        default="permute-and-flip",
        show_default=True,
        help="How the selection is drawn.",
    ),
    advanced(
        "--penalty",
        section="Method",
        metavar="PHI",
        default=None,
        help="pcls, pcpl: what a column costs: a number, aic or bic. By default a public formula decides.",
    ),
    advanced(
        "--max-size",
        section="Model",
        type=click.IntRange(min=0),
        metavar="K",
        default=None,
        help="At most K columns besides those always in.",
    ),
    advanced(
        "--at-least",
        section="Model",
        type=click.IntRange(min=0),
        metavar="K",
        default=0,
        help="The best K variables whether they pass the threshold or not, and more if they do.",
    ),
    advanced(
        "--always", section="Model", metavar="NAME", multiple=True, help="A variable of every model; may be repeated."
    ),
    advanced(
        "--one-of",
        section="Model",
        metavar="A,B",
        multiple=True,
        help="Variables of which exactly one is selected; may be repeated.",
    ),
    advanced(
        "--hierarchy",
        section="Model",
        is_flag=True,
        help="A product only with its parts: age:school with age and school.",
    ),
)
"""What decides which model is selected, its cost apart."""

LEDGER: Decorator[Any] = together(
    advanced(
        "--ledger",
        section="Privacy",
        metavar="FILE",
        default=None,
        help="The ledger to charge.  [default: beside the data, people.budget.db for people.csv]",
    ),
    advanced(
        "--total-epsilon",
        section="Privacy",
        metavar="E",
        default=None,
        help="Privacy budget of the data set, set by its first run.  [default: the cost of that run]",
    ),
    advanced("--total-delta", section="Privacy", metavar="D", default=None, help="The same for delta."),
)
TEXT_FORM = ("delimiter", "encoding", "decimal")
"""How a text file is written: the names of these options."""
CSV: Decorator[Any] = together(
    advanced("--delimiter", section="Input", metavar="C", default=None, help="CSV delimiter.  [default: comma]"),
    advanced("--encoding", section="Input", metavar="NAME", default=None, help="CSV encoding.  [default: utf-8]"),
    advanced("--decimal", section="Input", metavar="C", default=None, help="CSV decimal point.  [default: point]"),
)

MOMENTS = advanced(
    "--moments",
    section="Input",
    metavar="FILE",
    default=None,
    help="Instead of DATA: the answer to the query of `dpselect sql`, as CSV.",
)
SHARES = advanced(
    "--split",
    section="Privacy",
    metavar="A:B",
    default=None,
    help="Shares of epsilon for the selection and for the effects, such as 35:65.  [default: by a public rule]",
)


def study_and_data(places: Sequence[str], study: str | None) -> tuple[str | None, str | None]:
    """The study file and DATA, each if it was given, from the arguments of a command in either order."""
    listed = list(places)
    # Nothing is opened to tell them apart: the ending decides, and of two words without one the first is the study.
    if study is None:
        files = [each for each in listed if Path(each).suffix == ".toml"] or listed[: len(listed) // 2]
        if files:
            study = files[0]
            listed.remove(study)
    if len(listed) > 1:
        raise click.UsageError(f"Give one DATA; here are {len(listed)}: {', '.join(map(repr, listed))}.")
    return study, listed[0] if listed else None


def names_in(text: str | None, option: str = "--predictors") -> list[str] | None:
    """Names from a text such as age,school."""
    if text is None:
        return None
    names = _listed(text)
    if not names:
        raise StudyError(f"{option} is {text!r}. Give names with commas between them, such as age,school.")
    return names


def categories_in(texts: Sequence[str]) -> dict[str, list[str]]:
    """Categories from texts such as region=north,south; one with a comma in it is quoted: "north, far"."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, mark, rest = text.partition("=")
        listed = _listed(rest)
        if not (mark and name.strip() and listed):
            raise StudyError(f"--categories is {text!r}. Write a name and its categories, such as region=north,south.")
        found[name.strip()] = listed
    return found


def _listed(text: str) -> list[str]:
    """What commas separate, as in a line of a CSV file."""
    # By the csv module, so that categories with a comma can be quoted as in the file they come from.
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return [part.strip() for part in parts if part.strip()]


# Shares stay text: a budget is divided in exact decimals, and a float in between would not be what was typed.
def parse_split(text: str | None) -> tuple[str, str] | None:
    """Two shares from a text such as 35:65."""
    if text is None:
        return None
    first, mark, second = text.partition(":")
    if not mark:
        raise StudyError(f"split is {text!r}; it must be two shares with a colon between them, such as 35:65.")
    return first, second


def group_of(text: str) -> tuple[str, ...]:
    """The names in a group such as "income, wealth"."""
    return tuple(name.strip() for name in text.split(","))


def penalty_of(text: str | None) -> float | str | None:
    """A penalty as `select` takes it."""
    if text is None or text in ("aic", "bic"):
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor aic nor bic.", param_hint="'--penalty'") from None


def stated_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `STATING` and `PLACES`, which are taken out."""
    return {name: options.pop(name, None) for name in STATED_NAMES}
