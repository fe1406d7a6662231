"""What a person sees: answers on stdout, everything else on stderr, colors and bars only on a terminal."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from dpselect.assume.records import readable_json
from dpselect.errors import NotShown

if TYPE_CHECKING:
    from dpselect.gather.sources.stream import Progress as Reading

WIDTH = 110


def on_terminal() -> bool:
    """Whether a person sits at both ends."""
    return _shows(sys.stdin) and _shows(sys.stderr)


def _shows(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed before the program began is None."""
    return stream is not None and stream.isatty()


def tell(message: str) -> None:
    """A remark that is no part of the answer; where stderr was closed, it is for nobody."""
    if sys.stderr is not None:
        click.echo(message, err=True)


def hint(command: str) -> None:
    """The one next command that makes sense, for a person at a terminal."""
    if on_terminal():
        tell(f"Next: {visible(command)}")


def show_answer(show: Callable[[], None], otherwise: str) -> None:
    """Show an answer to the last letter; where nobody can see it, `NotShown` says what becomes of it."""
    try:
        _flushed()  # an output that was closed is found here, whatever click's version makes of it
        show()
        _flushed()
    except (OSError, ValueError, SystemExit):  # rich makes a SystemExit of a broken pipe
        silence()
        raise NotShown(f"The answer could not be shown. {otherwise}") from None


def _flushed() -> None:
    if sys.stdout is None:
        raise ValueError("There is no standard output.")
    sys.stdout.flush()


def silence() -> None:
    """Let what Python would flush at its end go nowhere instead of failing once more."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    except OSError:
        pass


def answer_json(values: Any) -> None:
    """The whole answer as JSON."""
    click.echo(in_this_encoding(readable_json(values)))


def in_this_encoding(text: str) -> str:
    """JSON as the output can take it: a letter that its encoding lacks is written as JSON writes it in ASCII."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    return text


def forgive_encodings() -> None:
    """In an old locale a letter that cannot be shown is shown as its code, a minus as a hyphen, and no answer is lost for it."""
    codecs.register_error("dpselect", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dpselect")


PLAIN_LETTERS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "▲": "^", "▼": "v", "²": "2", "…": "..."})
"""What to write for marks that an old locale lacks."""


def _spelled(problem: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(problem, UnicodeEncodeError)
    letters = problem.object[problem.start : problem.end].translate(PLAIN_LETTERS)
    return letters.encode("ascii", "backslashreplace").decode("ascii"), problem.end


def visible(text: str) -> str:
    """Text whose control characters are written out: a label in a ledger could otherwise hide or forge a line on a screen."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def heading(text: str) -> str:
    """A line that opens something."""
    return click.style(visible(text), bold=True)


def pairs(rows: Iterable[tuple[str, str]], indent: int = 2) -> str:
    """Aligned names and values."""
    listed = list(rows)
    width = max((len(name) for name, _ in listed), default=0)
    return "\n".join(
        f"{' ' * indent}{click.style(name.ljust(width), dim=True)}  {visible(value)}" for name, value in listed
    )


def together(named: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and what is said of them, those of which the same is said in one line."""
    names: dict[str, list[str]] = {}
    for name, words in named:
        names.setdefault(words, []).append(name)
    if len(names) == 1 < len(named):
        return [("each of them", named[0][1])]
    return [(_joined(each), words) for words, each in names.items()]


def _joined(names: Sequence[str], most: int = 40) -> str:
    """Names with commas between them; those that make the line too long are counted."""
    kept = len(names)
    while kept > 1 and len(", ".join(names[:kept])) > most:
        kept -= 1
    return ", ".join(names[:kept]) + (f" and {len(names) - kept} more" if kept < len(names) else "")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> None:
    """A table; the columns at the places `numbers` stand to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if _shows(sys.stdout) else WIDTH)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for place, name in enumerate(columns):
        number = place in numbers
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[None]:
    """A spinner on a terminal while something takes its time; nothing elsewhere."""
    if quiet or not _shows(sys.stderr):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def reading(what: str, quiet: bool, *, counts: bool, then: str = "") -> Iterator[Callable[[Reading], None] | None]:
    """A spinner on a terminal while rows are read, with their number and speed where `counts` allows it.

    `then` is what it says after the last row.
    """
    if quiet or not _shows(sys.stderr):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:

        def tell_progress(progress: Reading) -> None:
            if progress.done and then:
                status.update(then)
            elif counts:
                status.update(f"{what}: {progress.rows:,} rows, {progress.rows_per_second:,.0f} a second")

        yield tell_progress


@contextmanager
def counting(what: str, total: int, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal for work in known steps; what it yields is called at each step."""
    if quiet or not _shows(sys.stderr):
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda name: progress.advance(task)


@contextmanager
def sharing(what: str, quiet: bool = False) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal for work that reports the share that is done."""
    if quiet or not _shows(sys.stderr):
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)
