"""The custodian's preview: the leading models with their exact chances, and curves that pass through them."""

from decimal import Decimal

import numpy as np
import pytest

from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.fit import FitSummary, near_twins
from dpselect.gather.rows import gather
from dpselect.rehearse.check.listed import Listed, factors_for, recipe_probabilities
from dpselect.rehearse.check.preview import model_names, names_of, preview, terms_of

STUDY_STATED = Study(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(4)])


@pytest.fixture(scope="module")
def moments():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (400, 4))
    return gather((X, X[:, 0] + 0.4 * X[:, 1] + 0.5 * rng.normal(size=400)), STUDY_STATED)


def recipes(method="pcls", delta=0, study=STUDY_STATED, rows=400):
    return lambda epsilon: make_recipe(study, Choice(method), rows=rows, epsilon=epsilon, delta=delta)


def look(moments, at, epsilon, **more):
    return preview(Listed(moments, at, Decimal(epsilon)), Decimal(epsilon), **more)


@pytest.mark.parametrize(("method", "delta"), [("pcls", 0), ("pcpl", "1e-6")])
def test_all_that_is_shown_follows_from_the_exact_chances(moments, method, delta):
    steps = []
    at = recipes(method, delta)
    seen = look(moments, at, 2, leading=3, asked=[0b00111], step=steps.append)
    recipe = at(2)
    exact = recipe_probabilities(moments, recipe)
    masks = recipe.candidates.masks()
    assert np.allclose(seen.chances, np.sort(exact)[::-1][:3], atol=2e-4)
    assert seen.terms == ("x0", "x1", "x2", "x3")
    inside = [exact[masks >> np.uint64(j) & np.uint64(1) == 1].sum() for j in range(1, 5)]
    assert np.allclose(seen.inclusion, inside, atol=2e-4)
    ((model, chance),) = seen.asked
    assert model == ("intercept", "x0", "x1")
    assert chance == pytest.approx(exact[masks == 0b00111][0], abs=2e-4)
    assert len(steps) == 1 + len(factors_for(recipe)) == 8


@pytest.mark.parametrize(("method", "delta"), [("pcls", 0), ("pcpl", "1e-6")])
def test_at_every_price_the_curve_has_the_defaults_of_that_price(moments, method, delta):
    at = recipes(method, delta)
    seen = look(moments, at, 2)
    (curve,) = seen.curves
    assert curve.settings == (0.2, 0.4, 1, 2, 4, 10, 20)
    names = {model: place for place, model in enumerate(seen.models)}
    for setting, row, inside in zip(curve.settings, curve.chances, curve.inclusion, strict=True):
        fresh = look(moments, at, str(setting), leading=31)
        chances = dict(zip(fresh.models, fresh.chances, strict=True))
        assert np.allclose(row, [chances[model] for model in names], atol=1e-9)
        assert np.allclose(inside, fresh.inclusion, atol=1e-9)
    middle = len(curve.settings) // 2
    assert curve.chances[middle] == seen.chances
    assert curve.shares[middle] == seen.share


def test_the_share_of_r2_is_that_of_least_squares(moments):
    seen = look(moments, recipes(), 2)
    products = moments.scaled()
    centred = (products - np.outer(products[0], products[0]) / products[0, 0])[1:, 1:]

    def r2(columns):
        gram, cross = centred[np.ix_(columns, columns)], centred[columns, -1]
        return cross @ np.linalg.solve(gram, cross) / centred[-1, -1] if columns else 0.0

    recipe = recipes()(2)
    exact = recipe_probabilities(moments, recipe)
    expected = sum(
        p * r2([j for j in range(4) if mask >> j + 1 & 1]) for p, mask in zip(exact, recipe.candidates, strict=True)
    )
    model, best = seen.best
    assert model == ("intercept", "x0", "x1")
    assert best == pytest.approx(r2([0, 1]), rel=1e-6)
    assert seen.share == pytest.approx(expected / best, rel=1e-4)


def test_where_nothing_explains_anything_there_is_no_share():
    rng = np.random.default_rng(4)
    noise = gather((rng.uniform(-1, 1, (400, 4)), np.zeros(400)), STUDY_STATED)
    seen = look(noise, recipes(), 2)
    assert (seen.share, seen.best) == (None, (("intercept",), 0.0))


def test_many_candidates_are_varied_less_finely_or_not_at_all():
    def recipe(width, method="pcls", delta=0):
        study = Study(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(width)])
        return make_recipe(study, Choice(method), rows=100, epsilon=1, delta=delta)

    assert [len(factors_for(recipe(width))) for width in (4, 16, 17, 20)] == [7, 7, 5, 0]
    assert [len(factors_for(recipe(width, "pcpl", "1e-6"))) for width in (4, 10, 13, 14)] == [7, 7, 5, 0]


def test_a_category_is_one_variable():
    study = Study(Numeric("y", -2, 2), [Numeric("x", -1, 1), Categorical("c", ["a", "b", "d"])])
    assert terms_of(study) == {"x": 0b10, "c": 0b1100}
    assert names_of(0b1101, study) == ("intercept", "c")
    assert names_of(0b0111, study) == ("intercept", "x", "c[b]")
    competing = Study(Numeric("y", -2, 2), [Numeric("x", -1, 1)], intercept="candidate")
    assert terms_of(competing) == {"intercept": 0b01, "x": 0b10}


def test_nothing_private_is_printed(moments):
    seen = look(moments, recipes(), 2)
    assert repr(seen) == "Preview(values=<private>)"
    assert repr(seen.curves[0]) == "Curve(name='epsilon', values=<private>)"


def test_models_read_as_formulas():
    assert model_names([("intercept", "a"), (), ("b",)]) == ["1 + a", "0", "b"]


def test_the_fit_counts_what_is_beyond_and_what_is_missing():
    pa = pytest.importorskip("pyarrow")
    study = Study(Numeric("y", 0, 1), [Numeric("x", 0, 1), Categorical("c", ["a", "b"])])
    table = pa.table(
        {
            "y": [0.0, 1.0, -0.1, 1.1, float("nan"), 0.5],
            "x": [0.5, None, float("inf"), 2.0, -2.0, 0.5],
            "c": ["a", "b", "z", None, "a", "a "],
        }
    )
    fit = gather(table, study, FitSummary(study))
    assert fit.rows == 6
    assert {each.name: (each.below, each.above, each.missing) for each in fit.variables} == {
        "y": (1, 1, 1),
        "x": (1, 1, 2),
        "c": (0, 0, 3),
    }
    assert repr(fit) == "TableFit(values=<private>)"


def test_the_fit_sees_constants_unused_levels_and_twins():
    study = Study(
        Numeric("y", 0, 1),
        [Numeric("x", 0, 1), Numeric("z", 0, 10), Numeric("far", 0, 1), Categorical("c", ["a", "b", "B"])],
    )
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 50)
    table = {"y": rng.uniform(0, 1, 50), "x": x, "z": 10 * x, "far": 5 + x, "c": ["a", "b"] * 25}
    fit = gather(table, study, FitSummary(study))
    found = {each.name: (each.constant, each.unused) for each in fit.variables}
    assert found == {
        "y": (False, ()),
        "x": (False, ()),
        "z": (False, ()),
        "far": (True, ()),  # all of it is clipped to one bound
        "c": (False, ("B",)),
    }
    moments = gather(table, study)
    assert near_twins(moments, study) == (("x", "z"),)
    copied = gather(table | {"y": x}, study)
    assert near_twins(copied, study) == (("x", "z"), ("x", "y"), ("z", "y"))
