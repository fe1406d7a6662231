"""scikit-learn's own checks in full, and what they do not ask."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpselect
from dpselect.errors import BudgetExceeded, DataError, ManyFitsWarning, StudyError

# What a private estimator cannot promise, with the reason. Checks that scikit-learn itself leaves out for an estimator
# with the tag `non_deterministic` are listed by it as skipped.
EXPECTED = {
    "check_fit_idempotent": "the noise has no seed, so two fits may choose different columns; a seed would undo the guarantee",
    "check_methods_subset_invariance": "the noise has no seed, so two fits may choose different columns",
    "check_methods_sample_order_invariance": "the noise has no seed, so two fits may choose different columns",
}


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        dpselect.PCLSSelector(),
        dpselect.PCPLSelector(),
        dpselect.PCLSSelector(neighbors="add-remove-one", fit_intercept=False),
        dpselect.PrivateSelector(),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


X, Y = load_diabetes(return_X_y=True, as_frame=True)
BOUNDS = {"X_lower": -0.2, "X_upper": 0.2, "y_lower": 0, "y_upper": 400}


def test_with_hardly_any_privacy_the_strong_columns_are_found():
    selector = dpselect.PCLSSelector(epsilon=1000, penalty=60_000, **BOUNDS).fit(X, Y)
    assert {"bmi", "s5"} <= set(selector.get_feature_names_out())
    assert selector.transform(X).shape == (442, selector.get_support().sum())
    assert selector.selection_.guarantee.epsilon == 1000


def test_frames_stay_frames():
    selector = dpselect.PCPLSelector(epsilon=1000, penalty="bic", **BOUNDS).set_output(transform="pandas").fit(X, Y)
    assert list(selector.transform(X).columns) == list(selector.get_feature_names_out())


def test_it_stands_in_a_pipeline_and_pickles():
    model = make_pipeline(dpselect.PCLSSelector(epsilon=1000, penalty=60_000, **BOUNDS), LinearRegression()).fit(X, Y)
    assert model.score(X, Y) > 0.3
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_bounds_may_be_given_per_column_and_are_never_learnt():
    bounds = {**BOUNDS, "X_lower": [-0.2] * 10, "X_upper": np.full(10, 0.2)}
    selector = dpselect.PCLSSelector(epsilon=1, **bounds)
    before = dict(selector.get_params())
    selector.fit(X, Y)
    assert all(selector.get_params()[name] is value for name, value in before.items())
    with pytest.raises(StudyError, match="2 limits for 10 columns"):
        dpselect.PCLSSelector(epsilon=1, X_lower=[0, 0]).fit(X, Y)


@pytest.mark.filterwarnings("ignore::dpselect.errors.ManyFitsWarning")
def test_a_clone_pays_from_the_same_ledger_so_cross_validation_cannot_dodge_it():
    ledger = dpselect.Ledger(None, epsilon=3)
    model = make_pipeline(dpselect.PCLSSelector(epsilon=1, penalty=0.0, ledger=ledger, **BOUNDS), LinearRegression())
    assert clone(model)[0].ledger is ledger
    cross_val_score(model, X, Y, cv=3, error_score="raise")
    assert ledger.spent().epsilon == 3
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)


def test_different_lengths_are_refused_without_a_count():
    with pytest.raises(DataError, match="different numbers of rows") as caught:
        dpselect.PCLSSelector().fit(np.zeros((12, 2)), np.zeros(13))
    assert "12" not in str(caught.value)
    assert "13" not in str(caught.value)


def some_rows(n=3000, seed=5):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 5)) * [1, 100, 0.01, 1, 1] + [0, 1e6, 0, 0, 0]
    return table, table[:, 0] + (table[:, 1] - 1e6) / 100 + rng.normal(size=n)


def test_votes_need_no_bounds_and_no_scale():
    table, response = some_rows()
    selector = dpselect.PrivateSelector(epsilon=1).fit(table, response)
    assert selector.get_support().tolist() == [True, True, False, False, False]
    assert selector.selection_.guarantee.epsilon == 1


@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(),
        *(pytest.param(each, marks=pytest.mark.thorough) for each in (LogisticRegression(), HuberRegressor())),
    ],
)
def test_any_estimator_with_coefficients_may_vote(estimator):
    table, response = some_rows(700)
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    answer = response if estimator.__class__.__name__ == "HuberRegressor" else np.where(response > 0, "yes", "no")
    selector = dpselect.PrivateSelector(estimator, epsilon=20).fit(scaled, answer)
    assert selector.get_support().tolist() == [True, True, False, False, False]


def test_an_estimator_that_fails_abstains_and_tells_nothing():
    class Failing(LinearRegression):
        def fit(self, X, y):
            if X.max() > 1:
                raise ValueError(f"the secret is {y[0]}")
            return super().fit(X, y)

    table, response = some_rows(400)
    selector = dpselect.PrivateSelector(Failing(), epsilon=1000).fit(table, response)
    assert not selector.get_support().any()


def test_an_empty_choice_does_not_break_a_pipeline():
    table, _ = some_rows(300)
    idle = np.random.default_rng(0).normal(size=300)
    model = make_pipeline(dpselect.PrivateSelector(epsilon=1e6, max_size=0), LinearRegression()).fit(table, idle)
    assert model.predict(table) == pytest.approx(np.full(300, idle.mean()))
    assert list(model[0].get_feature_names_out()) == ["nothing"]


@pytest.mark.filterwarnings("ignore::dpselect.errors.ManyFitsWarning")
def test_a_ledger_pays_for_every_fold():
    table, response = some_rows(300)
    ledger = dpselect.Ledger(epsilon=2)
    model = make_pipeline(dpselect.PrivateSelector(epsilon=1, ledger=ledger), LinearRegression())
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, table, response, cv=3, error_score="raise")
    assert ledger.spent().epsilon == 2


class NoParameters:
    """It can be fitted, and not cloned."""

    def fit(self, X, y):
        return self


@pytest.mark.parametrize("estimator", [NoParameters(), "lasso", LinearRegression, 7])
def test_an_estimator_that_no_block_could_fit_is_refused_before_the_charge(estimator):
    ledger = dpselect.Ledger(epsilon=3)
    with pytest.raises(StudyError, match="cannot be cloned and fitted"):
        dpselect.PrivateSelector(estimator, ledger=ledger).fit(X, Y)
    assert ledger.spent().epsilon == 0


def test_a_cell_that_is_no_number_at_all_is_not_described():
    """scikit-learn names the type of the cell, and remembers the cell."""
    cells = np.array(X, dtype=object)
    cells[3, 4] = {"secret": 1}
    with pytest.raises(TypeError, match="must be a string or a real number") as refused:
        dpselect.PrivateSelector().fit(cells, Y)
    assert isinstance(refused.value, DataError)
    assert refused.value.__context__ is None
    assert "dict" not in str(refused.value)


def test_a_sparse_table_is_refused_in_a_sentence():
    with pytest.raises(DataError, match=r"give X.toarray\(\)"):
        dpselect.PrivateSelector().fit(csr_array(np.array(X)), Y)


@pytest.mark.parametrize("selector", [dpselect.PCLSSelector, dpselect.PrivateSelector])
@pytest.mark.parametrize("intercept", [True, 1, 2, 0.5, "yes", np.True_])
def test_whatever_is_true_is_an_intercept(selector, intercept):
    """2 shifted the columns by two and chose a wrong one; "yes" was charged, and then failed."""
    table = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    selector = selector(epsilon=1e6, fit_intercept=intercept).fit(table, table[:, 1])
    chosen = selector.selection_.variables
    assert selector.get_support().tolist() == [f"x{j}" in chosen for j in range(3)]
    assert "x1" in chosen


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_a_refused_fit_leaves_a_selector_as_it_was(estimator):
    table, response = some_rows(300)
    selector = dpselect.PrivateSelector(estimator, epsilon=1, ledger=dpselect.Ledger(epsilon="0.5"))
    with pytest.raises(BudgetExceeded):
        selector.fit(table, response)
    for ask in (selector.get_support, selector.get_feature_names_out, lambda: selector.transform(table)):
        with pytest.raises(NotFittedError):
            ask()
    selector.set_params(ledger=dpselect.Ledger(epsilon=1)).fit(table, response)
    paid = selector.selection_
    with pytest.raises(BudgetExceeded):
        selector.fit(table[:, :2], response)
    assert selector.selection_ is paid
    assert selector.transform(table).shape == (300, max(selector.get_support().sum(), 1))


def test_an_interrupt_after_the_charge_takes_no_choice_away(monkeypatch):
    table, response = some_rows(300)
    selector = dpselect.PrivateSelector(epsilon=1, ledger=dpselect.Ledger(epsilon=1))
    drawn = type(selector)._select

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    def draw(*given):
        released.append(drawn(*given))
        monkeypatch.setattr("dpselect.use.selectors.selectors.np.zeros", interrupted)
        return released[0]

    released = []
    with monkeypatch.context() as patch:
        patch.setattr(type(selector), "_select", draw)
        with pytest.raises(KeyboardInterrupt):
            selector.fit(table, response)
    monkeypatch.undo()
    assert selector.selection_ is released[0]


def test_a_response_of_unequal_tables_is_not_described():
    """NumPy says the shapes of cells."""
    table, _ = some_rows(60)
    unequal = [np.zeros((2, 2))] * 30 + [np.zeros((2, 3))] * 30
    with pytest.raises(DataError, match="cannot be read as tables of numbers") as refused:
        dpselect.PrivateSelector(LinearRegression()).fit(table, unequal)
    assert refused.value.__context__ is None


def test_a_search_is_told_what_it_costs_in_all_once(monkeypatch):
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    from dpselect.use.selectors import selectors

    monkeypatch.setattr(selectors, "_warned", [])
    generator = np.random.default_rng(3)
    X = generator.uniform(-1, 1, (120, 3))
    ledger = dpselect.Ledger(epsilon=10)
    pipeline = make_pipeline(dpselect.PrivateSelector(epsilon=0.5, ledger=ledger), LinearRegression())
    search = GridSearchCV(pipeline, {"linearregression__fit_intercept": [True, False]}, cv=3)
    with pytest.warns(ManyFitsWarning, match="epsilon 3.5 in all, for 7 fits") as told:
        search.fit(X, X[:, 0])
    assert len([each for each in told if each.category is ManyFitsWarning]) == 1
    assert len(ledger.entries()) == 7
