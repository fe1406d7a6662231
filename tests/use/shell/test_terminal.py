"""What an analyst wrote in a label cannot act on the custodian's screen."""

import click
import pytest
from rich.console import Console

from dpselect.gather.sources.stream import Progress
from dpselect.use.shell import terminal
from dpselect.use.shell.terminal import heading, pairs, reading, show_table, together, visible

EVIL = "sales\x1b[2J\x1b]0;title\x07\n  2   a record that is none\u202e"


def test_control_characters_are_written_out(capsys):
    show_table(["no.", "data"], [["1", EVIL]], numbers=(0,))
    click.echo(heading(EVIL))
    click.echo(pairs([("data", EVIL)]))
    shown = click.unstyle(capsys.readouterr().out)
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert not any(line.lstrip().startswith("2 ") for line in shown.splitlines())


def test_other_text_stays_as_it_is():
    assert visible("Größe [m²] - 価格 ~ 1 + x") == "Größe [m²] - 価格 ~ 1 + x"


def test_what_is_said_of_several_names_alike_is_said_once():
    named = [("age", "0.1 of rent"), ("size", "2 of rent"), ("year", "0.1 of rent")]
    assert together(named) == [("age, year", "0.1 of rent"), ("size", "2 of rent")]
    assert together([("age", "0.1"), ("size", "0.1")]) == [("each of them", "0.1")]
    assert together([("age", "0.1")]) == [("age", "0.1")]
    many = [(f"variable{k}", "0.1") for k in range(9)]
    assert together([*many, ("size", "2")])[0][0] == "variable0, variable1, variable2 and 6 more"


@pytest.mark.parametrize("counts", [True, False])
def test_once_the_rows_are_read_a_terminal_says_what_is_done_with_them(monkeypatch, counts):
    said = []

    class Status:
        def __init__(self, what):
            said.append(what)

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            pass

        def update(self, what):
            said.append(what)

    monkeypatch.setattr(terminal, "_shows", lambda stream: True)
    monkeypatch.setattr(Console, "status", Status)
    with reading("Reading people.csv", False, counts=counts, then="Selecting variables") as tell:
        tell(Progress(1000, 0.5))
        tell(Progress(2000, 1.0, done=True))
    first, *between, last = said
    assert (first, last) == ("Reading people.csv", "Selecting variables")
    assert between == (["Reading people.csv: 1,000 rows, 2,000 a second"] if counts else [])
