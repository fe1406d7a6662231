"""The custodian's preview: the leading models with their exact chances, and curves that pass through them."""

import numpy as np
import pytest

from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.gather.table import gather_table, table_cells
from dpselect.rehearse.check.fit import measure_fit
from dpselect.rehearse.check.preview import curve_steps, model_names, preview
from dpselect.rehearse.check.probabilities import recipe_probabilities

ASSUMPTIONS = Assumptions(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(4)])


@pytest.fixture(scope="module")
def moments():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (400, 4))
    return gather_table((X, X[:, 0] + 0.4 * X[:, 1] + 0.5 * rng.normal(size=400)), ASSUMPTIONS)


@pytest.mark.parametrize(("method", "delta"), [("pcls", 0), ("pcpl", "1e-6")])
def test_the_leading_models_and_the_middle_of_every_curve_are_the_exact_chances(moments, method, delta):
    recipe = make_recipe(ASSUMPTIONS, Choice(method), rows=moments.n, epsilon=2, delta=delta)
    steps = []
    seen = preview(moments, recipe, leading=3, step=steps.append)
    exact = recipe_probabilities(moments, recipe)
    assert np.allclose(seen.chances, np.sort(exact)[::-1][:3], atol=1e-12)
    assert len(steps) == curve_steps(recipe)
    assert [curve.name for curve in seen.curves] == ["epsilon", "penalty", "radius"]
    for curve in seen.curves:
        middle = len(curve.settings) // 2
        assert np.allclose(curve.chances[middle], seen.chances, atol=1e-9)
    prices = seen.curves[0]
    assert prices.settings[middle] == 2
    # With ten times the price the first model is surer, with a tenth all come closer to a lottery.
    if method == "pcls":
        assert prices.chances[-1][0] > seen.chances[0] > prices.chances[0][0]


def test_many_candidates_are_varied_less_finely_or_not_at_all():
    def recipe(width):
        assumptions = Assumptions(Numeric("y", -2, 2), [Numeric(f"x{j}", -1, 1) for j in range(width)])
        return make_recipe(assumptions, Choice("pcls"), rows=100, epsilon=1)

    assert [curve_steps(recipe(width)) for width in (4, 14, 15, 17)] == [22, 22, 16, 1]


def test_nothing_private_is_printed(moments):
    seen = preview(moments, make_recipe(ASSUMPTIONS, Choice("pcls"), rows=moments.n, epsilon=2))
    assert repr(seen) == "Preview(values=<private>)"
    assert repr(seen.curves[0]) == "Curve(name='epsilon', values=<private>)"


def test_models_read_as_formulas():
    assert model_names([("intercept", "a"), (), ("b",)]) == ["1 + a", "0", "b"]


def test_the_fit_counts_what_is_beyond_and_what_is_missing():
    pa = pytest.importorskip("pyarrow")
    assumptions = Assumptions(Numeric("y", 0, 1), [Numeric("x", 0, 1), Categorical("c", ["a", "b"])])
    table = pa.table(
        {
            "y": [0.0, 1.0, -0.1, 1.1, float("nan"), 0.5],
            "x": [0.5, None, float("inf"), 2.0, -2.0, 0.5],
            "c": ["a", "b", "z", None, "a", "a "],
        }
    )
    fit = measure_fit(table_cells(table, assumptions), assumptions)
    assert fit.rows == 6
    assert {each.name: (each.below, each.above, each.missing) for each in fit.variables} == {
        "y": (1, 1, 1),
        "x": (1, 1, 2),
        "c": (0, 0, 3),
    }
    assert repr(fit) == "Fit(values=<private>)"
