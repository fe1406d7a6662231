"""The figure: what it shows whole, and what it says where an interval goes on beyond it."""

import math
import re

import pytest

from dpselect.report.facts import facts_of
from dpselect.report.figure import Axis, _side, axis_of, effects_figure, row_cell, runs_out
from dpselect.report.table import Bar, Row, Table


def row(name: str, value: float | None, lower: float | None, upper: float | None, text: str = "") -> Row:
    bar = Bar(value=value, lower=lower, upper=upper, adjusted_lower=lower, adjusted_upper=upper, text=text)
    words = dict.fromkeys(("note", "effect", "per", "interval", "adjusted", "clash"), "")
    return Row(
        term=name, label=name, stated=True, kind="number", direction="up", hidden=value is None, bar=bar, **words
    )


def table(rows: list[Row], *, ratios: bool = False, adjusted: bool = True) -> Table:
    return Table(
        rows=tuple(rows),
        constant=None,
        ratios=ratios,
        compared=True,
        adjusted=adjusted,
        level="95%",
        one="effect",
        measure="days",
    )


# Of 9,275 households: the largest effect is six times the middle one, and was once cut without a word.
ASSETS = [
    row("income", 96.24, 67.27, 124.9),
    row("age", 22.74, 11.62, 33.54),
    row("size", None, -44.58, 18.96),
    row("pension", None, -6.552, 14.49),
    row("eligible", None, -4.008, 13.4),
    row("account", 22.54, 16.45, 28.06),
]


def heads(rows: list[Row], **how: bool) -> int:
    """Arrowheads in the cells of a table."""
    shown = table(rows, **how)
    axis = axis_of(shown)
    return sum(row_cell(each, axis, adjusted=shown.adjusted).count("<path") for each in rows)


def test_an_interval_that_is_large_but_not_wild_is_shown_whole():
    assert not runs_out(table(ASSETS), axis_of(table(ASSETS)))
    assert heads(ASSETS) == 0


def test_a_wild_interval_is_cut_with_an_arrowhead_at_each_end():
    wild = [*ASSETS, row("noise", None, -5000.0, 5000.0)]
    assert runs_out(table(wild), axis_of(table(wild)))
    assert heads(wild) == 2


def test_an_unbounded_end_has_an_arrowhead():
    half = [*ASSETS, row("half", 5.0, None, 9.0)]
    assert runs_out(table(half), axis_of(table(half)))
    assert heads(half, adjusted=True) == heads(half, adjusted=False) == 1


def test_an_interval_that_is_not_drawn_runs_out_of_nothing():
    bar = Bar(value=1.0, lower=0.5, upper=1.5, adjusted_lower=None, adjusted_upper=None, text="")
    narrow = [Row(**{name: getattr(ASSETS[0], name) for name in Row.__struct_fields__} | {"bar": bar})]
    assert runs_out(table(narrow, adjusted=True), axis_of(table(narrow)))
    assert not runs_out(table(narrow, adjusted=False), axis_of(table(narrow)))


def test_ratios_have_one_as_their_center_and_logarithms_as_their_scale():
    shown = table([row("age", math.log(4), math.log(2), math.log(8)), row("sex", None, -0.1, 0.1)], ratios=True)
    axis = axis_of(shown)
    assert (0.0, "\N{MULTIPLICATION SIGN} 1") in axis.ticks
    steps = [axis.at(math.log(2 * value)) - axis.at(math.log(value)) for value in (2, 4)]
    assert steps[0] == pytest.approx(steps[1])


def test_nothing_is_drawn_outside():
    axis = Axis(-1.0, 2.0, False)
    assert (axis.at(-5.0), axis.at(0.5), axis.at(9.0)) == (0.0, 0.5, 1.0)


def test_the_figure_by_itself_is_whole_and_says_its_numbers(crafted, document):
    drawing = effects_figure(facts_of(crafted))
    assert drawing.startswith("<svg ") and drawing.count("<svg") == drawing.count("</svg>")
    assert "&lt;south&gt;" in drawing and "<south>" not in drawing
    assert re.search(r'aria-label="[^"]*age \+0\.41 per unit \(0\.38 to 0\.45\)', drawing)
    assert "hidden by noise" in drawing
    directions = effects_figure(facts_of(document))
    assert "age" in directions and directions.startswith("<svg ")


@pytest.mark.parametrize(
    ("left", "right", "zero", "anchor"),
    [
        (0.2, 0.3, 0.9, "start"),  # there is room on the right
        (0.6, 0.7, 0.8, "end"),  # to the right it would stand across zero
        (0.85, 0.95, 0.1, "end"),  # to the right it would leave the figure
        (0.05, 0.5, 0.55, "start"),  # across zero, rather than outside
        (0.05, 0.95, 0.5, None),  # no room at all
    ],
)
def test_the_number_of_a_bar_stands_where_it_can_be_read(left, right, zero, anchor):
    found = _side(left, right, zero, 0.15)
    assert (None if found is None else found[1]) == anchor
    assert found is None or found[0] == (right if anchor == "start" else left)
