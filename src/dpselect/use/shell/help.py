"""The help of a command: a few options at first, the rest under `--help-advanced`, and `--show-code` for its Python.

Nothing heavy is imported here, so that help takes less than a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

SECTIONS = ("Privacy", "Model", "Input", "Method", "Output")
"""The headings of `--help-advanced`, in order."""

WITH_CODE = ("init", "check", "plan", "select", "analyze", "budget", "resume", "verify", "sql", "report")
"""The commands that have an equivalent in Python."""


class DoorCommand(click.Command):
    """A command whose usage line shows the options that are always needed."""

    def __init__(self, *arguments: Any, usage: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.usage = usage

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The usage line."""
        if self.usage:
            formatter.write_usage(ctx.command_path, self.usage)
        else:
            super().format_usage(ctx, formatter)


class AdvancedOption(click.Option):
    """An option that `--help` does not list."""

    def __init__(self, *arguments: Any, section: str = "Method", **options: Any) -> None:
        super().__init__(*arguments, **{**options, "hidden": True})
        self.section = section

    def record(self, context: click.Context) -> tuple[str, str] | None:
        """Its names and its help, as click formats them for options that are listed."""
        self.hidden = False
        try:
            return self.get_help_record(context)
        finally:
            self.hidden = True


def advanced(*names: str, section: str, **options: Any) -> Decorator[Any]:
    """An option under `--help-advanced`."""
    return click.option(*names, cls=AdvancedOption, section=section, **options)


def together(*decorators: Decorator[Any]) -> Callable[[Command], Command]:
    """Several options as one, in reading order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def with_help(name: str, command: click.Command, python_code: Callable[[str, dict[str, Any]], str]) -> click.Command:
    """The same command with `--show-code`, if it has an equivalent in Python, and `--help-advanced`, if it has more options."""
    if any(each.name in ("show_code", "help_advanced") for each in command.params):
        return command
    if name in WITH_CODE:
        _add_code(name, command, python_code)
    hidden = [each for each in command.params if isinstance(each, AdvancedOption)]
    if hidden:
        more = f"Show {len(hidden)} more options." if len(hidden) > 1 else "Show one more option."
        command.params.append(
            click.Option(
                ["--help-advanced"], is_flag=True, is_eager=True, expose_value=False, callback=_show_advanced, help=more
            )
        )
    return command


def _add_code(name: str, command: click.Command, python_code: Callable[[str, dict[str, Any]], str]) -> None:
    run = command.callback
    assert run is not None

    def run_or_show(*, show_code: bool, **options: Any) -> None:
        if show_code:
            click.echo(python_code(name, options))
        else:
            run(**options)

    option = {"is_flag": True, "help": "Print the same in Python, and do nothing."}
    command.params.append(AdvancedOption(["--show-code"], section="Output", **option))
    command.callback = run_or_show


def _show_advanced(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    click.echo(advanced_help(context))
    context.exit()


def advanced_help(context: click.Context) -> str:
    """The options that `--help` does not list, by section; empty where there are none."""
    formatter, found = context.make_formatter(), False
    context.command.format_usage(context, formatter)
    for section in SECTIONS:
        listed = [
            each for each in context.command.params if isinstance(each, AdvancedOption) and each.section == section
        ]
        records = [record for each in listed if (record := each.record(context)) is not None]
        if records:
            found = True
            with formatter.section(section):
                formatter.write_dl(records)
    return formatter.getvalue().rstrip("\n") if found else ""
