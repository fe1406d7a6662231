"""The forest plot: what it shows whole, and what it says where an interval goes on beyond it."""

import re

from dpselect.report.public.facts import CoefficientFact, IntervalFact
from dpselect.report.public.forest import forest_plot, runs_out


def effect(name: str, value: float | None, lower: float | None, upper: float | None) -> CoefficientFact:
    fact = IntervalFact(value=value, lower=lower, upper=upper, adjusted_lower=lower, adjusted_upper=upper)
    return CoefficientFact(name=name, coefficient=fact, effect=fact)


# Of 9,275 households: the largest effect is six times the middle one, and was cut without a word.
ASSETS = [
    effect("income", 96.24, 67.27, 124.9),
    effect("age", 22.74, 11.62, 33.54),
    effect("size", -10.23, -44.58, 18.96),
    effect("pension", 4.447, -6.552, 14.49),
    effect("eligible", 4.554, -4.008, 13.4),
    effect("account", 22.54, 16.45, 28.06),
]


def slanted(drawing: str) -> int:
    """How many lines of a drawing are neither upright nor level: two an arrowhead."""
    ends = re.findall(r'<line x1="([^"]+)" y1="([^"]+)" x2="([^"]+)" y2="([^"]+)"', drawing)
    return sum(x1 != x2 and y1 != y2 for x1, y1, x2, y2 in ends)


def test_an_interval_that_is_large_but_not_wild_is_shown_whole():
    assert not runs_out(ASSETS)
    assert slanted(forest_plot(ASSETS, "assets")) == 0


def test_a_wild_interval_is_cut_with_an_arrowhead_at_each_end():
    wild = [*ASSETS, effect("noise", 1.0, -5000.0, 5000.0)]
    assert runs_out(wild)
    assert slanted(forest_plot(wild, "assets", adjusted=False)) == 4


def test_an_open_end_has_an_arrowhead():
    half = [*ASSETS, effect("half", 5.0, None, 9.0)]
    assert runs_out(half)
    assert slanted(forest_plot(half, "assets", adjusted=False)) == 2
    assert slanted(forest_plot(half, "assets", adjusted=True)) == 4


def test_an_interval_that_is_not_drawn_runs_out_of_nothing():
    fact = IntervalFact(value=1.0, lower=0.5, upper=1.5)
    narrow = [CoefficientFact(name="x", coefficient=fact, effect=fact)]
    assert runs_out(narrow, adjusted=True)
    assert not runs_out(narrow, adjusted=False)
