"""A rehearsal of a run is about that very run: same split, same defaults, and its chances come true."""

from collections import Counter
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpselect
import dpselect.use.check as check_module
from dpselect import Categorical, Numeric, Study
from dpselect.assume.budget import Budget
from dpselect.assume.recipe import Choice
from dpselect.errors import StudyError
from dpselect.gather.rows import gather
from dpselect.release.account import Account
from dpselect.report.confidential import direction_text, direction_words
from dpselect.use.check import Rehearsal
from dpselect.use.order import divided
from dpselect.use.select import choose_model

DRAWS = 2000
STUDY = Study(Numeric("y", -2, 2), [Numeric("a", -1, 1), Numeric("b", -1, 1), Categorical("c", ["no", "some", "yes"])])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(20261116)
    a, b, c = rng.uniform(-1, 1, 900), rng.uniform(-1, 1, 900), rng.integers(0, 3, 900)
    y = 0.8 * a + 0.3 * b + 0.5 * (c == 2) + rng.normal(0, 0.5, 900)
    return {"y": y, "a": a, "b": b, "c": [["no", "some", "yes"][k] for k in c]}


def seen_before(table, *settings, dealings=None, **more):
    rehearsal = Rehearsal(STUDY, *settings, **more)
    return rehearsal.preview(rehearsal.rehearse(table, rows=900, dealings=dealings))


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "delta"), [("pcls", 0), ("pcpl", "1e-6"), ("votes", 0)])
@pytest.mark.parametrize("run", ["analyze", "select"])
def test_the_chances_come_true_in_two_thousand_draws(table, method, delta, run):
    choice, budget, dealings = Choice(method), Budget(2, delta), 200
    seen = seen_before(table, choice, budget, run=run, models=["a+c", "1 + b"], dealings=dealings)
    price = budget if run == "select" else divided(STUDY, choice, budget)[0]
    source = table if method == "votes" else gather(table, STUDY)
    drawn = [choose_model(source, STUDY, choice, price, Account()) for _ in range(DRAWS)]
    assert seen.recipe == drawn[0].recipe
    models = Counter(tuple(sorted({name.split("[")[0] for name in each.variables})) for each in drawn)

    def holds(chance, count):
        # the average over the dealings is off as well: no more than as many draws would be
        spread = np.sqrt(chance * (1 - chance) * (1 / DRAWS + (method == "votes") / dealings))
        return abs(count / DRAWS - chance) <= 4.5 * spread + 1e-3

    for model, chance in [*zip(seen.models, seen.chances, strict=True), *seen.asked]:
        assert holds(chance, models[tuple(sorted(model))]), (model, chance)
    for term, chance in zip(seen.terms, seen.inclusion, strict=True):
        assert holds(chance, sum(count for model, count in models.items() if term in model)), (term, chance)


@pytest.mark.parametrize("method", ["pcls", pytest.param("votes", marks=pytest.mark.thorough)])
def test_an_analysis_gives_the_choice_the_part_that_its_plan_says(table, method):
    choice, budget = Choice(method), Budget(1)
    seen = seen_before(table, choice, budget)
    assert seen.recipe.guarantee.epsilon == divided(STUDY, choice, budget)[0].epsilon < 1
    assert str(seen.epsilon) == "1"
    other = seen_before(table, choice, budget, split=(1, 3))
    assert str(other.recipe.guarantee.epsilon) == "0.25"
    whole = seen_before(table, choice, budget, run="select")
    assert str(whole.recipe.guarantee.epsilon) == "1"


def test_votes_need_no_bounds_to_be_rehearsed(table):
    free = Study(Numeric("y"), [Numeric("a"), Numeric("b")])
    rehearsal = Rehearsal(free, Choice("votes"), Budget(2), run="select")
    seen = rehearsal.preview(rehearsal.rehearse(table, rows=900))
    assert seen.inclusion[0] > 0.9
    assert (seen.share, seen.best) == (None, None)
    assert "random splits" in seen.how


def test_many_columns_are_rehearsed_by_levels():
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (3000, 20))
    table = {"y": x[:, 0] + 0.5 * rng.normal(size=3000)} | {f"x{j}": x[:, j] for j in range(20)}
    study = Study(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(20)])
    rehearsal = Rehearsal(study, Choice("votes"), Budget(4), run="select", models=["x0"])
    seen = rehearsal.preview(rehearsal.rehearse(table, rows=3000, dealings=1))
    assert seen.models[0][:2] == ("intercept", "x0")
    assert seen.inclusion[0] > 0.95 > max(seen.inclusion[1:]) + 0.4
    assert seen.asked[0][1] <= seen.chances[0]


def test_directions_are_rehearsed_where_they_are_told():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 2))
    c = rng.choice(["u", "v", "w"], 4000)
    table = {
        "y": x[:, 0] - x[:, 1] + 2.0 * (c == "w") + 0.5 * rng.normal(size=4000),
        "a": x[:, 0],
        "b": x[:, 1],
        "c": c,
    }
    study = Study(Numeric("y"), [Numeric("a"), Numeric("b"), Categorical("c", ["u", "v", "w"])])
    rehearsal = Rehearsal(study, Choice("votes"), Budget(4), run="select")
    seen = rehearsal.preview(rehearsal.rehearse(table, rows=4000, dealings=2))
    assert set(seen.directions) == {"a", "b", "c[v]", "c[w]"}
    assert seen.directions["a"][0] > 0.99
    assert seen.directions["b"][1] > 0.99
    # Each column of a category is judged against all other categories: w stands above them, and so v below.
    assert seen.directions["c[w]"][0] + seen.directions["c[v]"][1] > 0.9 and seen.directions["c[w]"][0] > 0.3
    assert (
        direction_words(seen) == "In brackets: the direction of that category, against all other categories together."
    )
    assert direction_text("a", seen).startswith("up ")
    assert direction_text("c", seen).startswith(("[w] up ", "[v] down "))
    for term, chance in zip(seen.terms, seen.inclusion, strict=True):
        told = sum(sum(each) for name, each in seen.directions.items() if name.split("[")[0] == term)
        assert told == pytest.approx(chance, abs=1e-6)
    short = Rehearsal(study, Choice("votes"), Budget("0.1"), run="select")
    assert not (untold := short.preview(short.rehearse(table, rows=4000, dealings=1))).directions
    assert direction_words(untold) == ""


@pytest.mark.parametrize(
    ("rows", "epsilon", "begins"),
    [
        (
            40,
            1,
            "With 40 rows and epsilon 1, expect nothing: no variable, however strong, is likely to be found. More rows, ",
        ),
        (200, 1, "With 200 rows and epsilon 1, expect hardly anything: only a variable that explains "),
        (200, 8, ""),
        (3000, 1, ""),
    ],
)
def test_a_table_that_is_far_too_short_is_told_first(rows, epsilon, begins):
    rng = np.random.default_rng(1)
    table = {f"x{j}": rng.normal(size=rows) for j in range(10)}
    table["y"] = table["x0"] / 2 + rng.normal(size=rows)
    study = Study(Numeric("y", -5, 5), [Numeric(f"x{j}", -3, 3) for j in range(10)])
    found = dpselect.check(table, study, epsilon=epsilon)
    assert found.too_short.startswith(begins) and bool(found.too_short) == bool(begins)
    page, said = found.page(), found.too_short
    assert str(found).splitlines()[1].startswith(begins or "The data fit")
    assert not said or page.index(said) < page.index("Computed from the rows")
    assert dpselect.check(table, study).too_short == ""  # without a privacy cost nothing is too short


def test_of_private_rows_the_stated_number_is_told():
    rng = np.random.default_rng(1)
    table = {"x": rng.normal(size=40), "y": rng.normal(size=40)}
    study = Study(Numeric("y", -5, 5), [Numeric("x", -3, 3)], neighbors="add-remove-one", rows=50)
    assert dpselect.check(table, study, epsilon="0.5").too_short.startswith(
        "With 50 rows and epsilon 0.5, expect nothing"
    )


def test_a_check_reads_its_file_once_and_compares_settings(table, tmp_path, monkeypatch):
    path, opened = tmp_path / "rows.csv", []
    pd.DataFrame(table).to_csv(path, index=False)
    monkeypatch.setattr(check_module, "gather", lambda *given: opened.append(given) or gather(*given))
    found = dpselect.check(path, STUDY, epsilon=4)
    assert len(opened) == 1
    assert [(each.epsilon, round(each.selection, 2)) for each in found.settings] == [
        (2, 0.35),
        (4, 0.35),
        (4, 0.6),
        (8, 0.35),
    ]
    asked = found.settings[1]
    assert asked.share == found.preview.share
    slopes = [each.told for each in found.effects if each.name != "intercept"]
    assert (asked.clear, asked.slopes) == (pytest.approx(sum(slopes)), len(slopes))
    assert found.settings[0].clear <= found.settings[3].clear
    assert "Other settings" in found.page()


def test_a_row_that_stops_a_run_leaves_the_fit_alone(table):
    holed = table | {"a": [float("nan"), *table["a"][1:]]}
    found = dpselect.check(holed, STUDY, epsilon=4)
    assert found.stops and found.preview is None and found.settings == ()
    assert (found.fit.rows, found.fit.variables[1].missing) == (900, 1)
    assert found.fit.variables[3].rows_by_category == tuple(table["c"].count(each) for each in ("no", "some", "yes"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"models": ["a+nothing"]}, "not a column"),
        ({"models": ["a+c[yes]"]}, "whole variables"),
        ({"run": "select", "split": (1, 1)}, "leave it out"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_a_sentence(more, words):
    with pytest.raises(StudyError, match=words):
        Rehearsal(STUDY, Choice("pcls"), Budget(1), **more)


@pytest.mark.parametrize(("split", "other"), [((35, 65), (60, 40)), ((60, 40), (35, 65)), ((50, 50), (35, 65))])
def test_a_run_is_compared_with_half_and_twice_its_cost_and_another_split(split, other):
    rehearsal = Rehearsal(STUDY, Choice("votes"), Budget(2, Decimal("1e-6")), split)
    others = rehearsal.others(SimpleNamespace(factors=(1.0,)))
    assert [(each._budget.epsilon, each._budget.delta, each._split) for each in others] == [
        (1, Decimal("1e-6"), split),
        (2, Decimal("1e-6"), other),
        (4, Decimal("1e-6"), split),
    ]
    assert rehearsal.others(SimpleNamespace(factors=())) == []
