"""Wide tables as they come: long files, thousands of columns, persons, clusters, weights, and where the rule begins."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from dpselect import Categorical, Ledger, Numeric, Study, analyze, check, plan, select, verify
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.vote_rule import VoteRule
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import ShortTableWarning
from dpselect.report.page import report_page

FOUND = ("intercept", "x1", "x3", "x5")


def a_study(p, **more):
    return Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)], **more)


def a_table(seed, n, p):
    X = np.random.default_rng(seed).standard_normal((n, p), np.float32)
    return X, X[:, [1, 3, 5]].sum(axis=1) + np.random.default_rng(seed + 1).normal(size=n)


def as_table(X, y, **more):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y} | more)


@pytest.mark.parametrize("columns", [400, pytest.param(1500, marks=pytest.mark.thorough)])
def test_a_csv_file_of_many_columns_is_charged_once(tmp_path, columns):
    X, y = a_table(1, 2500, columns)
    csv.write_csv(as_table(X.round(3), y.round(3)), tmp_path / "wide.csv")
    ledger = Ledger(tmp_path / "ledger.db", epsilon=3)
    selection = select(tmp_path / "wide.csv", a_study(columns), epsilon=2, ledger=ledger)
    assert selection.variables == FOUND
    assert ledger.remaining().epsilon == 1


@pytest.mark.thorough
def test_20000_columns_of_an_array():
    selection = select(a_table(2, 2500, 20_000), a_study(20_000), epsilon=2)
    assert selection.variables == FOUND


@pytest.mark.parametrize(
    "kind", ["weights", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("person", "cluster"))]
)
def test_blocks_of_rows_that_go_together_or_count_by_weight(kind):
    """Persons have one to five rows, clusters five; half of the rows have a weight of 1, the others of 2."""
    n, p = 6000, 300
    X, y = a_table(3, n, p)
    who = np.random.default_rng(4).integers(0, n // 3, n) if kind == "person" else np.arange(n) // 5
    more = {
        "person": {"person": "who", "rows": n},
        "cluster": {"cluster": "who", "neighbors": "add-remove-one", "rows": n},
        "weights": {"weights": "w", "weight_limit": 2, "population": 1.5 * n, "neighbors": "add-remove-one", "rows": n},
    }[kind]
    study = a_study(p, **more)
    selection = select(as_table(X, y, who=who, w=1.0 + np.arange(n) % 2), study, epsilon=2)
    assert isinstance(selection.recipe.votes, WideRule)
    assert selection.variables == FOUND


@pytest.mark.parametrize("always", [(), ("x7",)])
def test_where_all_columns_lead_the_report_says_that_none_is_selected_then(always):
    """It said only that whatever explains 9% would have been found, of 120 columns that explain 64% each."""
    common, *own = np.random.default_rng(7).normal(size=(122, 2000))
    X = common[:, None] + 0.5 * np.array(own[1:]).T
    analysis = analyze(as_table(X, common + 0.5 * own[0]), a_study(120, rows=2000, always=always), epsilon=3)
    assert analysis.selection.variables == ("intercept", *always)
    said = "If 24 or more variables go along with the response, none is selected either"
    assert said in " ".join(str(analysis).split())
    assert said in " ".join(report_page(analysis).split())


def test_a_long_table_is_thinned(monkeypatch):
    """A quarter of the rows is kept, by coins: about so many, and enough to find what there is."""
    n, p = 12_000, 250
    monkeypatch.setattr("dpselect.assume.wide_rule.KEPT_CELLS", n * (p + 1) / 4)
    X, y = a_table(5, n, p)
    selection = select((X, y), a_study(p), epsilon=2)
    rule = selection.recipe.votes
    assert rule.share == pytest.approx(0.25)
    assert rule.blocks * rule.size == pytest.approx(n / 4, abs=rule.size)
    assert selection.variables == FOUND


@pytest.mark.parametrize(
    ("columns", "rows", "kind"),
    [
        (49, 300, VoteRule),
        (50, 300, WideRule),
        (50, 3000, VoteRule),
        (199, 3000, WideRule),
        pytest.param(199, 5000, VoteRule, marks=pytest.mark.thorough),
        (200, 300, WideRule),
        (200, 3000, WideRule),
    ],
)
def test_where_the_rule_begins_a_table_has_one(columns, rows, kind):
    """The intercept is one of the columns; nothing warns but of short tables, in selecting and estimating."""
    study = a_study(columns - 1)
    assert isinstance(make_recipe(study, Choice(), rows=rows, epsilon=1).votes, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortTableWarning)
        analysis = analyze(a_table(6, rows, columns - 1), study, epsilon=2, split=(1, 1))
    assert analysis.selection.variables[0] == "intercept"
    assert isinstance(analysis.selection.recipe.votes, kind)


@pytest.mark.parametrize("rows", [300, 3000])
def test_a_plan_of_a_wide_table(rows):
    assert plan(a_study(199), rows=rows, epsilon=1)


def test_companions_are_told_from_what_matters(tmp_path):
    """Neighbours have the correlation .7: all five columns and none of their neighbours, and the report says nothing of these."""
    rng = np.random.default_rng(12)
    n, p = 4000, 250
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    truth = [1, 3, 5, 7, 9]
    analysis = analyze((X, X[:, truth].sum(axis=1) + rng.normal(size=n)), a_study(p), epsilon=3)
    assert analysis.selection.recipe.votes.second is not None
    assert analysis.selection.variables == ("intercept", *(f"x{j}" for j in truth))
    assert set(analysis.selection.directions.values()) == {"up"}
    page = " ".join(report_page(analysis).split())
    assert "companions" not in page and "are looked at again, up to 40" in page
    assert "may still stand for another that is much like it" in page
    (tmp_path / "report.html").write_text(report_page(analysis))
    checks = verify(tmp_path / "report.html").checks
    assert checks and not [each for each in checks if each.answer == "failed"]


def test_categories_have_a_second_look_without_directions():
    rng = np.random.default_rng(13)
    n, p = 5000, 220
    levels = ["a", "b", "c"]
    own = rng.integers(0, 3, (n, p))
    y = (own[:, 2] == 1) * 2.0 + (own[:, 4] == 2) * 2.0 + rng.normal(size=n)
    table = pa.table({f"x{j}": np.array(levels)[own[:, j]] for j in range(p)} | {"y": y})
    study = Study(Numeric("y"), [Categorical(f"x{j}", levels) for j in range(p)])
    selection = select(table, study, epsilon=2)
    assert selection.recipe.votes.second is not None and not selection.recipe.directions
    assert {name.partition("[")[0] for name in selection.variables} == {"intercept", "x2", "x4"}


def test_a_preview_has_the_chances_of_a_second_look():
    X, y = a_table(14, 3000, 250)
    seen = check((X, y), a_study(250), epsilon=2, run="select").preview
    assert seen.recipe.votes.second is not None
    assert seen.models[0] == FOUND and seen.chances[0] > 0.9
    chances = dict(zip(seen.terms, seen.inclusion, strict=True))
    assert min(chances[name] for name in FOUND[1:]) > 0.9 and chances["x2"] < 0.1
    assert seen.directions["x1"][0] > 0.9


def test_where_too_many_matter_beside_each_other_the_report_says_that_none_is_selected_then():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((6000, 250))
    analysis = analyze((X, X[:, :60].sum(axis=1) + rng.normal(size=6000)), a_study(250), epsilon=6)
    assert analysis.selection.recipe.votes.second is not None
    assert analysis.selection.variables == ("intercept",)
    assert "If more than 12 variables matter beside each other, or 41 or more" in " ".join(
        report_page(analysis).split()
    )
