"""scikit-learn's door: private selectors that stand in a pipeline. Bounds are parameters and are never learnt."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.subsets import Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import INTERCEPT
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.release.selection import Selection
from dpselect.use.select import select
from dpselect.use.selectors.complaints import quoting_nothing

try:
    from sklearn.base import BaseEstimator
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError("The selectors need scikit-learn: install dpselect[sklearn].") from missing


NOTHING = "nothing"
"""The name of the column of zeros that stands for an empty choice."""


class PrivateSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
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
        """Choose columns of X with a differential-privacy guarantee, spending epsilon.

        A fit that is refused leaves the selector as it was, with the choice that was paid for earlier, if any.
        """
        before = dict(self.__dict__)
        try:
            selection = self._select(*self._checked(X, y))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.selection_ = selection  # paid for, so that nothing below takes it away
        offset = 1 if self.fit_intercept else 0
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
        return quoting_nothing(lambda: super(PrivateSelector, self).transform(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The chosen columns; a single "nothing" where there are none."""
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        return names if len(names) else np.array([NOTHING], dtype=object)

    def _checked(self, X: Any, y: Any, *, numeric: bool = True) -> tuple[Any, Any]:
        checked: tuple[Any, Any] = quoting_nothing(
            lambda: validate_data(self, X, y, y_numeric=numeric, dtype=np.float64)
        )
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


def _per_column(selector: PrivateSelector, side: str, width: int) -> list[float]:
    value = getattr(selector, side)
    if np.ndim(value) == 0:
        return [value] * width
    listed = list(value)
    if len(listed) != width:
        raise AssumptionError(
            f"{side} has {len(listed)} bounds for {width} columns of X; give one number, or one a column."
        )
    return listed
