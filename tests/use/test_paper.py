import math
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpselect
from dpselect.errors import BudgetExceeded, DataError, DpselectError, StudyError

GENERATOR = np.random.default_rng(7)
X = GENERATOR.uniform(-1, 1, (400, 4))
Y = 2 * X[:, 0] - 1.5 * X[:, 2] + 0.1 * GENERATOR.normal(size=400)
SETTINGS = {"epsilon": 1000, "r": 4, "R": 4, "phi": 10.0}


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace"])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_with_hardly_any_privacy_pcls_finds_the_model(mechanism, neighbors):
    selection = dpselect.pcls(X, Y, mechanism=mechanism, neighbors=neighbors, **SETTINGS)
    assert selection.variables == ("x0", "x2")
    assert selection.columns == (0, 2)
    assert selection.guarantee.epsilon == 1000
    assert selection.guarantee.delta == 0
    assert selection.guarantee.neighbors == neighbors


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace"])
def test_with_hardly_any_privacy_pcpl_finds_the_model(mechanism):
    y = 2 * X[:, 0] - 1.5 * X[:, 2] + GENERATOR.normal(size=400)
    selection = dpselect.pcpl(X, y, epsilon=5000, delta=1e-6, r=6, R=4, phi=20.0, mechanism=mechanism)
    assert selection.variables == ("x0", "x2")
    assert math.isfinite(selection.range)
    assert selection.recipe.bound_epsilon == selection.recipe.choice_epsilon == 2500


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_bring_their_names(convert):
    frame = convert({name: X[:, j] for j, name in enumerate("abcd")})
    assert dpselect.pcls(frame, Y, **SETTINGS).variables == ("a", "c")
    assert dpselect.pcls(frame, Y, names=["p", "q", "s", "t"], **SETTINGS).variables == ("p", "s")


def test_candidates_can_be_listed():
    selection = dpselect.pcls(X, Y, candidates=[(1,), (1, 3), ()], **SETTINGS)
    assert selection.columns == ()
    assert selection.formula == "y ~ 0"


def test_a_selection_carries_its_whole_recipe_through_json():
    ledger = dpselect.Ledger(None, epsilon=2000)
    selection = dpselect.pcls(X, Y, ledger=ledger, **SETTINGS)
    again = dpselect.Selection.from_json(selection.to_json())
    assert again == selection
    assert again.study.hash == selection.recipe.study.hash
    assert str(selection).startswith("y ~ x0 + x2") and "epsilon 1000" in str(selection)
    assert pickle.loads(pickle.dumps(selection)) == selection
    uniform = dpselect.pcpl(X[:3], Y[:3], epsilon=1, delta=1e-6, r=4, R=4, phi=1)
    assert uniform.range == math.inf
    assert dpselect.Selection.from_json(uniform.to_json()) == uniform


def test_a_list_of_candidates_survives_json():
    selection = dpselect.pcls(X, Y, candidates=[(0,), (0, 2)], **SETTINGS)
    assert dpselect.Selection.from_json(selection.to_json()) == selection


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": "other"}', "3"])
def test_what_is_no_selection_is_refused(text):
    with pytest.raises(DataError):
        dpselect.Selection.from_json(text)


def test_the_ledger_is_charged_the_whole_price_and_refuses_without_drawing():
    ledger = dpselect.Ledger(None, epsilon=1.5, delta=1e-5)
    selection = dpselect.pcls(X, Y, epsilon=1, r=4, R=4, phi=10, ledger=ledger)
    assert ledger.spent().epsilon == 1
    assert selection.receipt.index == ledger.entries()[-1].index
    with pytest.raises(BudgetExceeded):
        dpselect.pcpl(X, Y, epsilon=0.6, delta=1e-6, r=4, R=4, phi=10, ledger=ledger)
    assert ledger.spent().epsilon == 1
    dpselect.pcpl(X, Y, epsilon=0.5, delta=1e-6, r=4, R=4, phi=10, ledger=ledger)
    assert ledger.spent().epsilon == Decimal("1.5")


def test_bad_input_charges_nothing():
    ledger = dpselect.Ledger(None, epsilon=1)
    broken = X.copy()
    broken[3, 1] = math.nan
    with pytest.raises(DataError):
        dpselect.pcls(broken, Y, epsilon=1, r=4, R=4, phi=10, ledger=ledger)
    assert ledger.spent().epsilon == 0


def test_rows_outside_the_bounds_are_clipped():
    far = X.copy()
    far[0] = 1e300
    clipped = np.clip(far, -1, 1)
    settings = {"epsilon": 1, "r": 2, "R": 1, "phi": 3.0, "mechanism": "exponential"}
    here = dpselect.rehearse.probabilities(far, Y * 1e3, **settings)
    there = dpselect.rehearse.probabilities(clipped, np.clip(Y * 1e3, -2, 2), **settings)
    assert np.array_equal(here, there)


def test_one_row_and_one_column_are_enough():
    assert dpselect.pcls([[0.5]], [1.0], epsilon=1, r=1, R=1, phi=0).columns == (0,)


def test_without_rows_replace_one_refuses_and_add_remove_one_still_answers():
    with pytest.raises(DataError, match="no rows"):
        dpselect.pcls(np.empty((0, 2)), [], epsilon=1, r=1, R=1, phi=0)
    selection = dpselect.pcls(np.empty((0, 2)), [], epsilon=1, r=1, R=1, phi=0, neighbors="add-remove-one")
    assert len(selection.columns) in (1, 2)


BAD_CALLS = [
    ({"epsilon": 0}, "epsilon is 0"),
    ({"epsilon": -1}, "epsilon is -1"),
    ({"epsilon": math.nan}, "epsilon is nan"),
    ({"epsilon": math.inf}, "epsilon is inf"),
    ({"epsilon": "much"}, "epsilon is 'much'"),
    ({"r": 0}, "r is 0"),
    ({"r": -1}, "r is -1"),
    ({"r": math.nan}, "r is nan"),
    ({"R": -1}, "R is -1"),
    ({"R": math.nan}, "R is nan"),
    ({"R": "wide"}, "R is 'wide'"),
    ({"phi": -1}, "penalty is -1"),
    ({"phi": math.nan}, "penalty is nan"),
    ({"phi": "cp"}, "'cp'"),
    ({"phi": [1, 2]}, "2 penalties for 4 columns"),
    ({"mechanism": "gumbel"}, "'gumbel'"),
    ({"neighbors": "twins"}, "'twins'"),
    ({"candidates": [(7,)]}, "7 is not a column"),
    ({"candidates": []}, "empty"),
    ({"names": ["a"]}, "1 names and another number of columns"),
    ({"names": ["a", "a", "b", "c"]}, "named twice"),
]


@pytest.mark.parametrize(("change", "message"), BAD_CALLS)
def test_wrong_settings_get_one_sentence(change, message):
    with pytest.raises(StudyError, match=message) as caught:
        dpselect.pcls(X, Y, **{**SETTINGS, **change})
    assert "\n" not in str(caught.value)


BAD_TABLES = [
    (X[:, 0], Y),
    (X, Y[:-1]),
    (X, Y[:, None]),
    ([["a", "b"]], [1.0]),
    (np.array([[1.0, "x"]], dtype=object), [1.0]),
    (X.astype(complex), Y),
    ([[1.0], [1.0, 2.0]], [1.0, 2.0]),
    (np.full((3, 2), math.inf), [0.0, 0.0, 0.0]),
    (np.zeros((3, 2)), [0.0, math.nan, 0.0]),
    (np.array([["2020-01-01"]], dtype="datetime64[D]"), [1.0]),
    (np.empty((3, 0)), [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("table", "response"), BAD_TABLES)
def test_wrong_tables_get_one_sentence(table, response):
    with pytest.raises(DpselectError) as caught:
        dpselect.pcls(table, response, **SETTINGS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float16, np.float32, np.longdouble])
def test_booleans_integers_and_all_floats_are_numbers(kind):
    table = (X > 0).astype(kind)
    same = (X > 0).astype(float)
    settings = {"epsilon": 1, "r": 4, "R": 1, "phi": 3.0, "mechanism": "exponential"}
    here, there = (dpselect.rehearse.probabilities(each, Y, **settings) for each in (table, same))
    assert np.array_equal(here, there)


def test_pcpl_needs_replace_one_and_a_delta():
    with pytest.raises(StudyError, match="replace-one"):
        dpselect.pcpl(X, Y, epsilon=1, delta=1e-6, r=4, R=4, phi=1, neighbors="add-remove-one")
    for delta in (0, -1, 0.5, math.nan):
        with pytest.raises(StudyError, match="delta is"):
            dpselect.pcpl(X, Y, epsilon=1, delta=delta, r=4, R=4, phi=1)


def test_bic_is_a_criterion_of_both():
    for chosen in (
        dpselect.pcls(X, Y, epsilon=1, r=4, R=4, phi="bic"),
        dpselect.pcpl(X, Y, epsilon=1, delta=1e-6, r=4, R=4, phi="bic"),
    ):
        assert chosen.recipe.penalties == pytest.approx((math.log(400),) * 4)
