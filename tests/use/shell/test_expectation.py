"""Before a charge: what to expect from public facts, and what is better where little can be seen."""

import pytest

from dpselect.assume.budget import Budget
from dpselect.assume.recipe import Choice
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.report.phrases import BETTER, no_directions
from dpselect.use import command_line
from dpselect.use.order import order_analysis, order_selection
from dpselect.use.plan import plan
from dpselect.use.shell.confirm import expected

STUDY = Study(Numeric("y"), [*(Numeric(f"x{j}") for j in range(6)), Binary("b", [0, 1])])


def analysis(epsilon, study=STUDY):
    return order_analysis(study, Choice("votes"), Budget(epsilon, "1e-6"))


def test_a_long_table_is_told_what_it_would_show_and_nothing_else():
    words = expected(analysis(1), 30_000)
    assert "would be found with probability 80%" in words
    assert "times as long as without privacy (half of them " in words and BETTER not in words


@pytest.mark.parametrize(
    ("rows", "epsilon", "lengths"),
    [
        (900, "0.35", "Noise would hide all effects if many variables are selected."),
        (700, 1, "hide most effects"),
    ],
)
def test_a_short_table_is_told_what_is_better(rows, epsilon, lengths):
    words = expected(analysis(epsilon), rows)
    assert lengths in words and words.endswith(BETTER)


def test_odds_of_a_short_table_are_said_to_be_far_longer():
    odds = Study(Binary("y", [0, 1]), STUDY.predictors)
    assert "a quarter of them far longer" in expected(analysis(1, odds), 3500)


def test_a_selection_has_no_intervals_to_speak_of():
    words = expected(order_selection(STUDY, Choice("votes"), Budget(1)), 30_000)
    assert "probability 80%" in words and "intervals" not in words


def test_a_selection_without_directions_is_said_to_be_one_beforehand():
    """By the public rule, 30,000 rows at epsilon 1 tell directions, and 700 rows at .1 do not."""
    few, many = (order_selection(STUDY, Choice("votes"), Budget(epsilon)) for epsilon in ("0.1", 1))
    assert not few.recipe(700).directions and many.recipe(30_000).directions
    assert no_directions(estimated=False) in expected(few, 700)
    assert "directions" not in expected(many, 30_000)
    assert no_directions(estimated=True) in expected(analysis("0.1"), 700)


@pytest.mark.parametrize("choice_only", [True, False])
def test_a_plan_says_that_directions_are_left_out(choice_only):
    without = plan(STUDY, rows=700, epsilon="0.1", choice_only=choice_only)
    assert no_directions(estimated=not choice_only) in without.notes
    assert not any("directions" in note for note in plan(STUDY, rows=30_000, epsilon=1, choice_only=choice_only).notes)


def test_the_help_of_a_selection_says_when_directions_are_left_out(capsys):
    assert command_line.run(["select", "--help-advanced"]) == 0
    assert "Votes alone tell directions" in capsys.readouterr().out
