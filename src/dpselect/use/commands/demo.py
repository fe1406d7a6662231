"""`dpselect demo`: a complete run on public census data, in under a minute."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from dpselect.use.commands import analyze, budget, check, select, verify

DEMO_COMMANDS = {"analyze": analyze, "budget": budget, "check": check, "select": select, "verify": verify}


@click.command("demo", epilog="\b\nExample:\n  dpselect demo\n  dpselect demo -o somewhere")
@click.option("-o", "--output", metavar="FOLDER", default="demo", show_default=True, help="The folder to write to.")
def command(output: str) -> None:
    """Run everything on public census data at epsilon 1: check, analyze, verify, and a run that is refused.

    Writes a study file, a ledger, the public report and a confidential check to a folder. Each command is shown.
    """
    from dpselect.use.runs.demo import run_demo

    def run(name: str, *arguments: str) -> None:
        click.echo(click.style(f"$ dpselect {name} {shlex.join(arguments)}", dim=True))
        # In this process and not by a shell: what is imported for one command serves the next.
        DEMO_COMMANDS[name].command.main(list(arguments), prog_name=f"dpselect {name}", standalone_mode=False)

    run_demo(Path(output), run)
