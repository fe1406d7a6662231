"""Which estimators may vote: those of which every block gets a fresh copy, and which can fit a block at all."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ARDRegression,
    ElasticNetCV,
    GammaRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    RANSACRegressor,
    RidgeClassifierCV,
    SGDClassifier,
    TheilSenRegressor,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

import dpselect
from dpselect.errors import StudyError
from dpselect.use.selectors.estimators import check_fits, check_fresh, unfitted

RNG = np.random.default_rng(4)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + RNG.normal(size=300)
LABELS = (Y > 0).astype(int)
WORDS = np.where(Y > 0, "yes", "no")


class Scaled(Pipeline):
    """A pipeline that says the coefficients of its last step."""

    @property
    def coef_(self):
        return self[-1].coef_


class CopiesItself(Lasso):
    """Its clone remembers all that it saw."""

    def __sklearn_clone__(self):
        return copy.deepcopy(self)


class IsItself(Lasso):
    """Its clone is itself: not fitted yet, the second block would find what the first has left."""

    def __sklearn_clone__(self):
        return self


class Holds(BaseEstimator):
    """It has parts where scikit-learn does not look for any."""

    def __init__(self, parts=None):
        self.parts = parts

    def fit(self, X, y):
        self.coef_ = self.parts["of it"].coef_
        return self


FITTED = Lasso(alpha=0.01).fit(X, Y)
REMEMBERING = {
    "frozen": FrozenEstimator(FITTED),
    "copied": CopiesItself(alpha=0.01).fit(X, Y),
    "the same": IsItself(alpha=0.01),
    "a frozen step": Scaled([("first", StandardScaler()), ("last", FrozenEstimator(FITTED))]),
    "a frozen first step": Scaled([("first", FrozenEstimator(StandardScaler().fit(X))), ("last", Lasso())]),
    "a frozen step of a step": Scaled([("last", Scaled([("last", FrozenEstimator(FITTED))]))]),
    "one of several": VotingRegressor([("a", LinearRegression()), ("b", FrozenEstimator(FITTED))]),
    "in a dictionary": Holds({"of it": FrozenEstimator(FITTED)}),
    "in a list": Holds([IsItself()]),
}


@pytest.mark.parametrize("kind", REMEMBERING)
def test_an_estimator_whose_clone_remembers_is_refused_before_the_charge(kind):
    """One record decided by a frozen estimator, fitted on all rows, what every block said."""
    ledger = dpselect.Ledger(epsilon=3)
    with pytest.raises(StudyError, match="remembers what it was fitted on"):
        dpselect.PrivateSelector(REMEMBERING[kind], ledger=ledger).fit(X, Y)
    assert ledger.spent().epsilon == 0


def test_an_estimator_that_was_fitted_and_forgets_may_vote():
    check_fresh(FITTED)
    assert not hasattr(unfitted(FITTED), "coef_")


REGRESSORS = [
    LassoCV(cv=5),
    ElasticNetCV(),
    PoissonRegressor(),
    GammaRegressor(),
    LinearSVR(),
    TheilSenRegressor(),
    ARDRegression(),
    Scaled([("first", StandardScaler()), ("last", Lasso(alpha=0.01))], verbose=True),
    Scaled([("first", FunctionTransformer(np.log)), ("last", LassoCV(verbose=2))]),
    Scaled([("first", PowerTransformer("box-cox")), ("last", LinearRegression())]),
]
CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegressionCV(),
    LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga"),
    RidgeClassifierCV(),
    LinearSVC(),
    SVC(kernel="linear"),
    Perceptron(),
    SGDClassifier(early_stopping=True),
    Scaled([("first", StandardScaler()), ("last", LogisticRegression(verbose=1))]),
]


@pytest.mark.parametrize("width", [1, 3, pytest.param(40, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=lambda each: type(each).__name__)
def test_what_can_fit_a_block_is_let_in(estimator, width, capfd):
    check_fresh(estimator)
    check_fits(estimator, 50, width, text=False)
    if estimator in CLASSIFIERS:
        check_fits(estimator, 50, width, text=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("estimator", "response"),
    [
        (LogisticRegression(C=-1), LABELS),
        (LogisticRegression(l1_ratio=1.0, solver="lbfgs", penalty="l1"), LABELS),
        (KNeighborsClassifier(), LABELS),
        (RANSACRegressor(), Y),
        (LinearRegression(), WORDS),
        (LinearRegression(), WORDS.tolist()),
        (SVC(kernel="rbf"), WORDS),
        (Pipeline([("last", LogisticRegression())]), LABELS),
        (LassoCV(cv=1000), Y),
    ],
)
def test_what_no_block_can_fit_is_refused_before_the_charge(estimator, response):
    """Each was charged, and chose the empty model without a word."""
    ledger = dpselect.Ledger(epsilon=3)
    with pytest.raises(StudyError, match=r"^The estimator (fails on|finds) [^\n]*\.$"):
        dpselect.PrivateSelector(estimator, ledger=ledger).fit(X, response)
    assert ledger.spent().epsilon == 0


def test_a_pipeline_votes():
    model = Scaled([("first", StandardScaler()), ("last", LogisticRegression())])
    assert unfitted(model).verbose is False
    selector = dpselect.PrivateSelector(model, epsilon=1e6).fit(X, LABELS)
    assert selector.get_support().tolist() == [True, False, False]


SEEN = []


class Sees(BaseEstimator):
    """Tells every block that a copy of it was given."""

    def fit(self, X, y):
        SEEN.append((X.copy(), y.copy()))
        self.coef_ = np.zeros(X.shape[1])
        return self


def first_seen(table, response):
    SEEN.clear()
    dpselect.PrivateSelector(Sees(), epsilon=1, ledger=dpselect.Ledger(epsilon=1)).fit(table, response)
    return SEEN[0]


@pytest.mark.parametrize(("response", "other"), [(Y, LABELS), (WORDS, np.full(300, "a longer word"))])
def test_the_trial_knows_the_number_of_columns_and_whether_the_response_is_text(response, other):
    """Two tables that share no cell, one of labels and one of reals: a trial that saw rows would tell them apart."""
    for one, another in zip(first_seen(X, response), first_seen(X * 1e9 + 7, other), strict=True):
        assert np.array_equal(one, another)


def test_labels_are_numbers_too_so_no_cell_decides_whether_a_classifier_is_refused():
    selector = dpselect.PrivateSelector(LogisticRegression(), epsilon=1e6)
    assert not selector.fit(X, Y).get_support().any()  # every block abstains, as the documents say
    selector.fit(X, np.where(np.arange(300) == 7, 0.5, LABELS))


class HidesItsFit(BaseEstimator):
    """What it learnt has a name of its own; scikit-learn asks it, and its coefficients can be read."""

    def fit(self, X, y):
        self._model = LinearRegression().fit(X, y)
        return self

    def __sklearn_clone__(self):
        return copy.deepcopy(self)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")


class ShowsItsCoefficients(HidesItsFit):
    __sklearn_is_fitted__ = None

    @property
    def coef_(self):
        return self._model.coef_


class Penalized(BaseEstimator):
    """A parameter that ends in an underscore, because its name alone is a word of Python's."""

    def __init__(self, lambda_=1.0):
        self.lambda_ = lambda_

    def fit(self, X, y):
        self.coef_ = Lasso(self.lambda_ / 100).fit(X, y).coef_
        return self


@pytest.mark.parametrize("kind", [HidesItsFit, ShowsItsCoefficients])
def test_a_fit_under_any_name_is_refused_once_it_is_one(kind):
    check_fresh(kind())
    with pytest.raises(StudyError):
        check_fresh(kind().fit(X, Y))


def test_a_parameter_is_no_fit():
    check_fresh(Penalized())
    check_fits(Penalized(), 40, 3, text=False)
