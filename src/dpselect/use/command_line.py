"""The shell's door: `dpselect COMMAND`. A command is a module of use/commands, imported when it is called and not before."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from dpselect.errors import DpselectWarning, Interrupted
from dpselect.use.shell.failures import STOPPED, explain, ignore_signals, say_warning, stoppable
from dpselect.use.shell.help import with_help
from dpselect.use.shell.terminal import forgive_encodings, tell

GROUPS = {
    "Run": {
        "select": "Which variables explain the response, and in which direction.",
        "analyze": "The same, with effect sizes and a public report.",
    },
    "Before you spend": {
        "plan": "Estimate what a run would find, without reading the data.",
        "check": "Check the data and preview the result (confidential; spends nothing).",
        "init": "Write a study file: labels, units, ranges, categories. Optional.",
    },
    "Afterwards": {
        "report": "Write a released result as HTML, Word, LaTeX, Markdown, CSV or SVG.",
        "verify": "Verify a report independently.",
        "budget": "Show or open the privacy budget of a data set.",
        "resume": "Hand over a result that was paid for and did not arrive.",
        "registry": "Write an entry for the Differential Privacy Deployments Registry.",
    },
    "Other": {
        "studio": "Do the same in your browser.",
        "demo": "A complete run on public census data.",
    },
}
"""The commands of `dpselect --help`, and the purpose of each."""
NOT_LISTED = {
    "sql": "Print the aggregate query to run where rows may not leave the database.",
    "completion": "Tab completion for your shell.",
}
COMMANDS = {name: purpose for group in (*GROUPS.values(), NOT_LISTED) for name, purpose in group.items()}
"""Name and purpose of each command, so that `dpselect --help` has to import none of them."""


def _show_version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version  # a third of the time that --help takes

    try:
        click.echo(f"dpselect {version('dpselect')}")
    except PackageNotFoundError:
        click.echo("dpselect, not installed: run from its sources")
    context.exit()


def _python_code(name: str, options: dict[str, Any]) -> str:
    from dpselect.use.shell.code import python_code  # it imports all that a command needs

    return python_code(name, options)


class LazyGroup(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command from its own module."""
        if cmd_name not in COMMANDS:
            near = get_close_matches(cmd_name, COMMANDS, n=1)
            raise click.UsageError(f"No command {cmd_name!r}.{f' Did you mean {near[0]!r}?' if near else ''}", ctx)
        command: click.Command = import_module(f"dpselect.use.commands.{cmd_name}").command
        return with_help(cmd_name, command, _python_code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interrupt passes click, which would print a line of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted(STOPPED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table above."""
        for heading, group in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(8), purpose) for name, purpose in group.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND ...",
    options_metavar="",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Example:  dpselect analyze people.csv --response income --epsilon 1
Try it:   dpselect demo

Each command has --help, --json, --quiet and --show-code (prints the same in Python).
Exit codes: 0 done, 2 wrong usage or input, or not confirmed, 3 not enough budget, 4 check or verify found a
problem, 1 anything else.""",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def dpselect(context: click.Context) -> None:
    """Select and estimate a regression model from confidential data, with differential privacy."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every failure is one sentence on stderr and an exit code."""
    _fill_descriptors()
    forgive_encodings()
    code = run(arguments)
    ignore_signals()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of a command."""
    try:
        with stoppable(), warnings.catch_warnings():
            warnings.showwarning = say_warning
            # Ours are for whoever runs the command, whatever PYTHONWARNINGS makes of those of libraries.
            warnings.simplefilter("always", DpselectWarning)
            return _run(arguments)
    except KeyboardInterrupt as stop:  # in the last moment, after the command's own end
        return _failed(stop)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        dpselect.main(arguments, prog_name="dpselect", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except SystemExit as stop:  # shell completion ends this way
        return stop.code if isinstance(stop.code, int) else 1
    except BaseException as problem:
        return _failed(problem)
    return 0


def _failed(problem: BaseException) -> int:
    failure = explain(problem)
    if failure.sentence:
        try:
            tell(failure.sentence)
        except (OSError, ValueError):
            pass  # nobody reads; the exit code says it
    return failure.code


def _fill_descriptors() -> None:
    """An output that was closed gets a place of its own, or the next file that is opened would take its number.

    A library that prints would then write into that file, and it may be the ledger.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


if __name__ == "__main__":
    main()
