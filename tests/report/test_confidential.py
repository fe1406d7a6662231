"""What is remarkable is said, each in one sentence, and nothing remarkable is called a fit."""

import json

import pytest
from click.testing import CliRunner

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.gather.fit import FitSummary, TableFit, VariableFit
from dpselect.gather.rows import gather
from dpselect.rehearse.check.effects import EffectPreview
from dpselect.report.confidential import advice, fit_rows, hints, share
from dpselect.use.command_line import dpselect as program

GOOD = VariableFit("y", 0, 0, 0)


def said(*variables, missing="midpoint", twins=()):
    return advice(TableFit(1000, (GOOD, *variables), twins), missing)


def test_nothing_remarkable_is_a_fit():
    assert said(VariableFit("x", 10, 10, 3)) == []


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        (VariableFit("x", 30, 30, 0), "outside its range"),
        (VariableFit("x", 0, 0, 0, constant=True), "same in every row"),
        (VariableFit("x", 0, 0, 60), "no usable value"),
        (VariableFit("c", 0, 0, 320, unused=("Bachelor",)), "no row has the stated 'Bachelor'. Check its spelling"),
        (VariableFit("c", 0, 0, 1, unused=("Bachelor",)), "Check its spelling"),
        (VariableFit("c", 0, 0, 0, unused=("a", "b", "c", "d", "e", "f", "g")), "and 2 more"),
        (VariableFit("c", 0, 0, 0, constant=True, unused=("a",)), "same in every row"),
    ],
)
def test_each_remarkable_thing_has_one_sentence(variable, words):
    (sentence,) = said(variable)
    assert words in sentence
    assert variable.name in sentence


def test_a_single_missing_cell_matters_where_none_is_allowed():
    sentence, stop = said(VariableFit("x", 0, 0, 1), missing="error")
    assert "state the category" in sentence
    assert "A run would stop" in stop


def test_where_a_run_would_stop_it_is_said_also_of_a_misspelt_level():
    *_, stop = said(VariableFit("c", 0, 0, 320, unused=("Bachelor",)), VariableFit("x", 0, 0, 1), missing="error")
    assert "there is no preview" in stop
    assert not any("A run would stop" in each for each in said(VariableFit("x", 0, 0, 90)))


def effect(name, told):
    return EffectPreview(name, told, -1.0, 1.0)


def test_rare_categories_that_stay_hidden_are_offered_for_merging_and_other_effects_for_leaving_out():
    regions = Categorical("region", ["north", "south", "isles"])
    study = Study(Numeric("y", 0, 1), [regions, Numeric("x", 0, 1), Binary("b", ["no", "yes"])])
    seen = (GOOD, VariableFit("region", 0, 0, 0, rows_by_category=(500, 480, 20)), VariableFit("x", 0, 0, 0))
    fit = TableFit(1000, (*seen, VariableFit("b", 0, 0, 0, rows_by_category=(990, 10))))
    effects = [effect("region[south]", 0.9), effect("region[isles]", 0.2), effect("x", 0.95), effect("b", 0.1)]
    merge, leave = hints(study, fit, effects)
    assert "'isles' (2% of the rows)" in merge and "'south'" not in merge and "code book" in merge
    assert "Probably hidden by noise: b." in leave
    assert hints(study, fit, [effect("region[isles]", 0.8)]) == []
    assert hints(study, fit, []) == []


def test_a_rare_reference_category_is_named():
    study = Study(Numeric("y", 0, 1), [Categorical("region", ["isles", "north", "south"])])
    fit = TableFit(1000, (GOOD, VariableFit("region", 0, 0, 0, rows_by_category=(20, 500, 480))))
    sentences = hints(study, fit, [effect("region[north]", 0.2), effect("region[south]", 0.2)])
    assert any("The reference category of 'region', 'isles', has 2% of the rows." in each for each in sentences)


def test_twins_are_named():
    first, second = said(twins=(("a", "b"), ("a", "y")))
    assert "'a' and 'b' are nearly the same" in first
    assert "'a' is nearly the same as the response" in second


def test_shares_are_written_as_people_write_them():
    assert [share(count, 3000) for count in (0, 2, 70, 507, 3000)] == [
        "0", "2 (0.067%)", "70 (2.3%)", "507 (17%)", "3,000 (100%)"
    ]  # fmt: skip


def test_what_lies_below_and_above_a_range_is_told_apart(tmp_path):
    """Swapped, they once passed every test: the counts, the page's table and the command's JSON."""
    study = Study(Numeric("y", 0, 10), [Numeric("x", 0, 10)])
    rows = {"y": [-1.0] * 30 + [11.0] * 10 + [5.0] * 60, "x": [-1.0] * 20 + [12.0] * 5 + [5.0] * 75}
    fit = gather(rows, study, FitSummary(study))
    counted = {each.name: (each.below, each.above) for each in fit.variables}
    assert counted == {"y": (30, 10), "x": (20, 5)}
    assert {row[0]: (row[1], row[2]) for row in fit_rows(fit)} == {
        "y": ("30 (30%)", "10 (10%)"),
        "x": ("20 (20%)", "5 (5%)"),
    }
    lines = [f"{y},{x}" for y, x in zip(rows["y"], rows["x"], strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,x", *lines, ""]))
    study.write(tmp_path / "study.toml")
    words = ["check", str(tmp_path / "rows.csv"), "--study", str(tmp_path / "study.toml"), "--json"]
    found = json.loads(CliRunner().invoke(program, words).stdout)
    listed = {each["name"]: (each["below"], each["above"]) for each in found["variables"]}
    assert listed == counted
