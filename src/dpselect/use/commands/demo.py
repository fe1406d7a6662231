"""`dpselect demo`: the whole path on real data, as a custodian would type it, in under a minute."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpselect.assume.study.study_file import write_assumptions
from dpselect.errors import BudgetExceeded, DpselectError
from dpselect.use.commands import analyze, budget, check, select, verify
from dpselect.use.example.demo_data import ASSUMPTIONS, FEW, SOURCE, TITLE, load_rows
from dpselect.use.example.demo_folder import mark, prepare
from dpselect.use.shell.terminal import heading, pairs

EPSILON, DELTA = "1", "1e-6"
COMMANDS = {"analyze": analyze, "budget": budget, "check": check, "select": select, "verify": verify}
TABLES = {"study": "mothers.csv", "few": "few.csv"}
"""Study files, without their ending, and the tables they are about."""
FILES = (
    *(f"{study}{ending}" for study in TABLES for ending in (".toml", ".budget.db")),
    *TABLES.values(),
    *("report.html", "report.json", "custodian.html", "few.html", "few.json"),
)
"""All that the demo writes."""
BESIDE = tuple(f"{study}.budget.db-{ending}" for study in TABLES for ending in ("wal", "shm"))
"""What stands beside a ledger that is in use."""


@click.command("demo", epilog="\b\nExample:\n  dpselect demo\n  dpselect demo -o somewhere")
@click.option("-o", "--output", default="demo", show_default=True, help="The folder to write to.")
def command(output: str) -> None:
    """Run the whole path on real data at epsilon 1 in all: assume, check, analyze, verify, and a request that is refused.

    Writes a study file, a ledger, the public report and the custodian's page to a folder. Every command is shown as it would be
    typed.
    """
    folder, rows = Path(output), load_rows()
    prepare(folder, [*FILES, *BESIDE])
    try:
        _path(folder, rows)
    finally:
        mark(folder, FILES)


def _path(folder: Path, rows: Any) -> None:
    _assume(folder, rows)
    study, mothers, ledger = (str(folder / name) for name in ("study.toml", "mothers.csv", "study.budget.db"))
    _step("2. Open a ledger", f"Epsilon {EPSILON} in all: what is spent from it cannot be spent again.")
    _run("budget", ledger, "--open", "--epsilon", EPSILON, "--delta", DELTA)
    _step("3. Check", "What would be chosen? For the custodian's eyes, and free: nothing is drawn.")
    _run("check", study, mothers, "--epsilon", EPSILON, "-o", str(folder / "custodian.html"))
    _step("4. Analyze", "Choose a model, estimate it, write the report. Charged first, then drawn.")
    _analyze(folder, "study", TITLE, "report.html")
    _step("5. Verify", "As a stranger would, from the report; and the custodian, with the ledger.")
    _run("verify", str(folder / "report.html"), "--ledger", ledger)
    _step("6. Once more?", "The ledger is empty, so the next request is refused, however small.")
    _refused("select", study, mothers, "--epsilon", "0.1", "--yes")
    _few(folder, rows)
    _close(folder)


def _assume(folder: Path, rows: Any) -> None:
    from pyarrow import csv

    csv.write_csv(rows, folder / "mothers.csv")
    csv.write_csv(rows.slice(0, FEW), folder / "few.csv")
    for study in TABLES:
        write_assumptions(ASSUMPTIONS, folder / f"{study}.toml")
    _step("1. Assume", f"{SOURCE}.")
    click.echo(
        f"   Ten variables may explain the weeks they worked in a year. Bounds and their reasons are in {folder}/study.toml."
    )


def _analyze(folder: Path, study: str, title: str, report: str) -> None:
    files = str(folder / f"{study}.toml"), str(folder / TABLES[study])
    _run(
        "analyze", *files, "--epsilon", EPSILON, "--delta", DELTA, "--title", title, "-o", str(folder / report), "--yes"
    )


def _few(folder: Path, rows: Any) -> None:
    _step(
        "7. Fewer rows",
        f"{len(rows):,} is a long table. The same question to {FEW:,} of its rows, with a ledger of their own:",
    )
    _run("budget", str(folder / "few.budget.db"), "--open", "--epsilon", EPSILON, "--delta", DELTA)
    _analyze(folder, "few", f"{TITLE} ({FEW:,} rows)", "few.html")
    click.echo("   Privacy costs rows: what a long table shows at this price, a short one hides.")


def _run(name: str, *arguments: str) -> None:
    """Type a command and run it."""
    click.echo(click.style(f"$ dpselect {name} {shlex.join(arguments)}", dim=True))
    COMMANDS[name].command.main(list(arguments), prog_name=f"dpselect {name}", standalone_mode=False)


def _refused(name: str, *arguments: str) -> None:
    try:
        _run(name, *arguments)
    except BudgetExceeded as refused:
        click.echo(f"{refused} [exit code 3]")
        return
    raise DpselectError("The ledger let a request pass that it should have refused: please report this.")


def _close(folder: Path) -> None:
    _step("Now look at", "")
    click.echo(
        pairs(
            [
                (str(folder / "report.html"), "the public page: the model, how much, the promise, the receipt"),
                (str(folder / "custodian.html"), "the custodian's page, which must not be released"),
                (str(folder / "few.html"), f"what {FEW:,} rows gave at the same price"),
                (f"dpselect budget {folder / 'study.toml'}", "what was spent, when and on what"),
            ],
            indent=3,
        )
    )


def _step(name: str, what: str) -> None:
    click.echo(f"\n{heading(name)}  {what}".rstrip())
