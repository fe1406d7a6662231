"""What an analyst wrote in a label cannot act on the custodian's screen."""

import click

from dpselect.use.shell.terminal import heading, pairs, show_table, together, visible

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
