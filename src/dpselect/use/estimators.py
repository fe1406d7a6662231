"""scikit-learn's door: private selectors that stand in a pipeline. Bounds are parameters and are never learnt."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.budget import Budget
from dpselect.assume.models.choice import Choice, Mechanism
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.subsets import Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.release.account import account_of
from dpselect.release.selection import Selection
from dpselect.use.complaints import quoting_nothing
from dpselect.use.select import choose_by_estimator, choose_model, select

try:
    from sklearn.base import BaseEstimator, clone
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError("The selectors need scikit-learn: install dpselect[sklearn].") from missing


NOTHING = "nothing"
"""The name of the column of zeros that stands for an empty choice."""


class _PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What both selectors share: the bounds, the fit and the support.

    `X_lower`, `X_upper`, `y_lower` and `y_upper` are public statements: numbers that hold for every column, or one a
    column. A ledger given to a selector is the same ledger in its clones, so cross-validation pays for every fit.
    """

    _method: Any = "pcls"

    def _select(self, X: Any, y: Any) -> Selection:
        names = [f"x{j}" for j in range(X.shape[1])]
        lower, upper = (_per_column(self, side, X.shape[1]) for side in ("X_lower", "X_upper"))
        assumptions = Assumptions(
            Numeric("y", self.y_lower, self.y_upper),
            [Numeric(name, low, high) for name, low, high in zip(names, lower, upper, strict=True)],
            intercept="always" if self.fit_intercept else "none",
            radius=self.radius,
            neighbors=self._relation(),
        )
        return select(
            (X, y),
            assumptions,
            epsilon=self.epsilon,
            delta=self._delta(),
            method=self._method,
            mechanism=self.mechanism,
            candidates=Subsets(max_size=self.max_size, empty=True),
            penalty=self.penalty,
            ledger=self.ledger,
        )

    def _relation(self) -> Neighbors:
        return "replace-one"

    def _delta(self) -> float:
        return 0.0

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns of X with a differential-privacy guarantee, spending epsilon."""
        X, y = self._checked(X, y)
        self.selection_ = self._select(X, y)
        offset = int(self.fit_intercept)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        chosen = [
            j - offset
            for j, name in zip(self.selection_.columns, self.selection_.variables, strict=True)
            if name != INTERCEPT
        ]
        self.support_[chosen] = True
        return self

    def transform(self, X: Any) -> Any:
        """X with the chosen columns only; where none was chosen one column of zeros, so that a pipeline goes on."""
        if hasattr(self, "support_") and not self.support_.any():
            checked = quoting_nothing(lambda: validate_data(self, X, dtype=None, reset=False))
            return np.zeros((checked.shape[0], 1))
        return quoting_nothing(lambda: super(_PrivateSelector, self).transform(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The chosen columns; a single "nothing" where there are none."""
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        return names if len(names) else np.array([NOTHING], dtype=object)

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        checked: tuple[Any, Any] = quoting_nothing(lambda: validate_data(self, X, y, y_numeric=True, dtype=np.float64))
        return checked

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support: NDArray[np.bool_] = self.support_
        return support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # The noise has no seed, by design: a seed would undo the guarantee.
        tags.non_deterministic = True
        return tags


class VotesSelector(_PrivateSelector):
    """Private feature selection by block votes (pure epsilon-differential privacy), without any bounds.

    Example: `VotesSelector(epsilon=1.0).fit(X, y).get_support()`, or with any estimator that has one coefficient a column:
    `VotesSelector(LogisticRegression(), epsilon=1.0)`. The estimator is fitted in each of many small blocks of rows, and a
    column is chosen where enough blocks agree on its sign. `rows` says about how many rows there are, where
    neighbors="add-remove-one" makes their number private.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        epsilon: float = 1.0,
        mechanism: str = "permute-and-flip",
        neighbors: str = "replace-one",
        rows: int | None = None,
        max_size: int | None = None,
        fit_intercept: bool = True,
        ledger: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.rows = rows
        self.max_size = max_size
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    def _select(self, X: Any, y: Any) -> Selection:
        assumptions = Assumptions(
            Numeric("y"),
            [Numeric(f"x{j}") for j in range(X.shape[1])],
            intercept="always" if self.fit_intercept else "none",
            neighbors=self._relation(),
            missing="zero-row",
            rows=self.rows,
        )
        mechanism: Mechanism = self.mechanism  # type: ignore[assignment]
        choice = Choice("votes", mechanism, Subsets(max_size=self.max_size, empty=True))
        price, account = Budget(self.epsilon), account_of(self.ledger)
        if self.estimator is None:
            return choose_model((X, y), assumptions, choice, price, account)
        rows = assumptions.public_rows(len(X))
        recipe = make_recipe(assumptions, choice, rows=rows, epsilon=price.epsilon)
        return choose_by_estimator(self._fit_block, X, y, recipe, account)

    def _relation(self) -> Neighbors:
        relation: Neighbors = self.neighbors  # type: ignore[assignment]
        return relation

    def _fit_block(self, X: Any, y: Any) -> Any:
        return clone(self.estimator).fit(X, y)

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        numeric = self.estimator is None
        checked: tuple[Any, Any] = quoting_nothing(
            lambda: validate_data(self, X, y, y_numeric=numeric, dtype=np.float64)
        )
        return checked


class PCLSSelector(_PrivateSelector):
    """Private feature selection by penalized constrained least squares (pure epsilon-differential privacy).

    Example: `PCLSSelector(epsilon=1.0, y_lower=0, y_upper=100).fit(X, y).get_support()`. Values outside the bounds are
    clipped. `radius` bounds the sum of absolute coefficients on columns scaled to [-1, 1] (default: half the response's
    range); `penalty` is the cost of a column in squared units of y (default: from public facts).
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        X_lower: Any = -1.0,
        X_upper: Any = 1.0,
        y_lower: float = -1.0,
        y_upper: float = 1.0,
        radius: float | None = None,
        penalty: Any = None,
        mechanism: str = "permute-and-flip",
        neighbors: str = "replace-one",
        max_size: int | None = None,
        fit_intercept: bool = True,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.X_lower = X_lower
        self.X_upper = X_upper
        self.y_lower = y_lower
        self.y_upper = y_upper
        self.radius = radius
        self.penalty = penalty
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.max_size = max_size
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    def _relation(self) -> Neighbors:
        relation: Neighbors = self.neighbors  # type: ignore[assignment]
        return relation


class PCPLSelector(_PrivateSelector):
    """Private feature selection by penalized constrained profile likelihood ((epsilon, delta)-differential privacy).

    Example: `PCPLSelector(epsilon=1.0, delta=1e-6, y_lower=0, y_upper=100).fit(X, y).get_support()`. As `PCLSSelector`,
    but the noise variance need not be known: `penalty` is in units of -2 log-likelihood, "aic" or "bic".
    """

    _method = "pcpl"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        X_lower: Any = -1.0,
        X_upper: Any = 1.0,
        y_lower: float = -1.0,
        y_upper: float = 1.0,
        radius: float | None = None,
        penalty: Any = None,
        mechanism: str = "permute-and-flip",
        max_size: int | None = None,
        fit_intercept: bool = True,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.X_lower = X_lower
        self.X_upper = X_upper
        self.y_lower = y_lower
        self.y_upper = y_upper
        self.radius = radius
        self.penalty = penalty
        self.mechanism = mechanism
        self.max_size = max_size
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    def _delta(self) -> float:
        delta: float = self.delta
        return delta


def _per_column(selector: _PrivateSelector, side: str, width: int) -> list[float]:
    value = getattr(selector, side)
    if np.ndim(value) == 0:
        return [value] * width
    listed = list(value)
    if len(listed) != width:
        raise AssumptionError(
            f"{side} has {len(listed)} bounds for {width} columns of X; give one number, or one a column."
        )
    return listed
