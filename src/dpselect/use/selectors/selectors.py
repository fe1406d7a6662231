"""scikit-learn's door: private selectors that stand in a pipeline. Bounds are parameters and are never learned from rows."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Self

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dpselect.assume.budget import Budget
from dpselect.assume.candidates import Subsets, vote_units
from dpselect.assume.recipe import Choice, Mechanism, Recipe, tells_directions
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Numeric
from dpselect.assume.vote_rule import vote_rule
from dpselect.errors import ManyFitsWarning, StudyError
from dpselect.release.account import account_of
from dpselect.release.selection import Selection
from dpselect.use.methods import votes_by
from dpselect.use.order import order_selection
from dpselect.use.select import choose_model, select
from dpselect.use.selectors.estimators import cell_by_cell, check_fits, check_fresh, one_kind, quoting_nothing, unfitted
from dpselect.use.spend import spend

try:
    from sklearn.base import BaseEstimator
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError("The selectors need scikit-learn: install dpselect[sklearn].") from missing


EMPTY_COLUMN = "nothing"
"""The name of the column of zeros that stands for an empty choice."""


class BaseSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What all selectors share: the fit, the support, and what scikit-learn asks of both.

    A ledger given to a selector is the same ledger in its clones, so cross-validation pays for every fit.
    """

    neighbors: Any = "replace-one"
    delta: Any = 0.0
    """Of a selector that has no such parameter."""

    def _keep(self, parameters: dict[str, Any]) -> None:
        """Each parameter becomes the attribute of its name, unchanged, as scikit-learn has it."""
        self.__dict__.update({name: value for name, value in parameters.items() if name != "self"})

    def _select(self, X: Any, y: Any) -> Selection:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns of X with a differential-privacy guarantee, spending epsilon.

        A fit that is refused leaves the selector as it was, with the choice that was paid for earlier, if any.
        """
        before = dict(self.__dict__)
        _warn_of_many_fits(self.epsilon)
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
        return quoting_nothing(lambda: super(BaseSelector, self).transform(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The chosen columns; a single "nothing" where there are none."""
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        return names if len(names) else np.array([EMPTY_COLUMN], dtype=object)

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


def _warn_of_many_fits(epsilon: float) -> None:
    """Warn, once, that a search or a cross-validation of scikit-learn fits a selector again and again, and what that costs."""
    frame = sys._getframe(2)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection"):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None or _warned:
        return
    _warned.append(True)
    while frame.f_back is not None and frame.f_code.co_name != "evaluate_candidates":
        frame = frame.f_back
    fits = frame.f_locals.get("n_candidates", 0) * frame.f_locals.get("n_splits", 0) + 1
    total = f": epsilon {fits * epsilon:g} in all, for {fits} fits" if fits > 1 else ""
    warnings.warn(
        f"Cross-validation fits this selector anew for every fold and setting, and each fit spends epsilon {epsilon:g}{total}. To "
        "pay once, fit the selector before, and search on what it selected. This is said once.",
        ManyFitsWarning,
        stacklevel=3,
    )


_warned: list[bool] = []


def _per_column(selector: BaseSelector, side: str, width: int) -> list[float]:
    value = getattr(selector, side)
    if np.ndim(value) == 0:
        return [value] * width
    listed = list(value)
    if len(listed) != width:
        raise StudyError(f"{side} has {len(listed)} limits for {width} columns of X; give one number, or one a column.")
    return listed


class PaperSelector(BaseSelector):
    """What the selectors of the paper's methods share: bounds that are stated in public, and the selection.

    `X_lower`, `X_upper`, `y_lower` and `y_upper` are numbers that hold for every column, or one a column.
    """

    _method: Any

    def _select(self, X: Any, y: Any) -> Selection:
        names = [f"x{j}" for j in range(X.shape[1])]
        lower, upper = (_per_column(self, side, X.shape[1]) for side in ("X_lower", "X_upper"))
        study = Study(
            Numeric("y", self.y_lower, self.y_upper),
            [Numeric(name, low, high) for name, low, high in zip(names, lower, upper, strict=True)],
            intercept="always" if self.fit_intercept else "none",
            radius=self.radius,
            neighbors=self.neighbors,
        )
        return select(
            (X, y),
            study,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self._method,
            mechanism=self.mechanism,
            candidates=Subsets(max_size=self.max_size, empty=True),
            penalty=self.penalty,
            ledger=self.ledger,
        )


class PCLSSelector(PaperSelector):
    """Select columns by penalized constrained least squares, with pure epsilon-differential privacy. Each fit is charged.

    Parameters
    ----------
    epsilon : float, optional
        The privacy cost of each fit.
    X_lower, X_upper : float or array, optional
        The limits of the columns; values outside are moved to the nearest one.
    y_lower, y_upper : float, optional
        The limits of the response.
    radius : float, optional
        The limit on the sum of absolute coefficients on columns scaled to [-1, 1]; by default half the response's range.
    penalty : number, "aic", "bic" or list, optional
        What a column costs; by default a public formula decides.
    mechanism : str, optional
        How the selection is drawn.
    neighbors : {"replace-one", "add-remove-one"}, optional
        Which tables are neighbors.
    max_size : int, optional
        At most so many columns.
    fit_intercept : bool, optional
        Whether models have an intercept.
    ledger : Ledger or path, optional
        The ledger to charge.

    Examples
    --------
    >>> dpselect.PCLSSelector(epsilon=1, y_lower=0, y_upper=100).fit(X, y)  # doctest: +SKIP
    """

    _method = "pcls"

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
        self._keep(locals())


class PCPLSelector(PaperSelector):
    """Select columns by penalized constrained profile likelihood, with (epsilon, delta)-differential privacy. Each fit is charged.

    Parameters
    ----------
    epsilon : float, optional
        The privacy cost of each fit.
    delta : float, optional
        The chance that the promise fails.
    X_lower, X_upper : float or array, optional
        The limits of the columns; values outside are moved to the nearest one.
    y_lower, y_upper : float, optional
        The limits of the response.
    radius : float, optional
        The limit on the sum of absolute coefficients on columns scaled to [-1, 1]; by default half the response's range.
    penalty : number, "aic", "bic" or list, optional
        What a column costs; by default a public formula decides.
    mechanism : str, optional
        How the selection is drawn.
    max_size : int, optional
        At most so many columns.
    fit_intercept : bool, optional
        Whether models have an intercept.
    ledger : Ledger or path, optional
        The ledger to charge.

    Examples
    --------
    >>> dpselect.PCPLSelector(epsilon=1, delta=1e-6, y_lower=0, y_upper=100).fit(X, y)  # doctest: +SKIP
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
        self._keep(locals())


ROWS_PER_COLUMN = 4
"""Of a block, at least, where any estimator may stand in it."""


class PrivateSelector(BaseSelector):
    """Select columns by block votes, with pure epsilon-differential privacy and without any ranges.

    Each fit is charged. What is fitted behind it in a pipeline is not private.

    Without an estimator the votes of the blocks are corrected for skewness: a column that has nothing to do with the response is
    not selected, however skewed both are. The signs of an estimator's coefficients are not: where a column and the response are
    both rare or long-tailed, such signs may agree on a column that is idle. Leave the estimator out, or transform such columns.

    Parameters
    ----------
    estimator : estimator, optional
        Anything with one coefficient per column, such as `LogisticRegression()`; it is fitted in each of many small blocks of rows.
    epsilon : float, optional
        The privacy cost of each fit.
    mechanism : str, optional
        How the selection is drawn.
    neighbors : {"replace-one", "add-remove-one"}, optional
        Which tables are neighbors.
    rows : int, optional
        About how many rows there are, where "add-remove-one" makes their number private.
    max_size : int, optional
        At most so many columns.
    fit_intercept : bool, optional
        Whether models have an intercept.
    ledger : Ledger or path, optional
        The ledger to charge; it survives `clone`.

    Examples
    --------
    >>> dpselect.PrivateSelector(epsilon=1).fit(X, y).get_support()  # doctest: +SKIP
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
        self._keep(locals())

    def _select(self, X: Any, y: Any) -> Selection:
        study = Study(
            Numeric("y"),
            [Numeric(f"x{j}") for j in range(X.shape[1])],
            intercept="always" if self.fit_intercept else "none",
            neighbors=self.neighbors,
            missing="zero-row",
            rows=self.rows,
        )
        mechanism: Mechanism = self.mechanism
        choice = Choice("votes", mechanism, Subsets(max_size=self.max_size, empty=True))
        price, account = Budget(self.epsilon), account_of(self.ledger)
        if self.estimator is None:
            return choose_model((X, y), study, choice, price, account)

        def adapt(recipe: Recipe) -> Recipe:
            recipe, size = rule_for_estimators(recipe)
            check_fits(self.estimator, size, X.shape[1], text=y.dtype.kind != "f")
            return recipe

        order = order_selection(study, choice, price, method=votes_by(self._fit_block, adapt))
        selection = spend(order, (X, y), account).selection
        assert selection is not None
        return selection

    def _fit_block(self, X: Any, y: Any) -> Any:
        return unfitted(self.estimator).fit(X, y)

    def _checked(self, X: Any, y: Any, *, numeric: bool = True) -> tuple[Any, Any]:
        if self.estimator is None:
            return super()._checked(X, y, numeric=True)
        check_fresh(self.estimator)
        X, y = super()._checked(X, quoting_nothing(lambda: cell_by_cell(y)), numeric=False)
        return X, one_kind(y)


def rule_for_estimators(recipe: Recipe) -> tuple[Recipe, int]:
    """The recipe where any estimator may stand in a block, and about how many rows a block has."""
    columns = len(recipe.study.columns)
    rows, terms = recipe.study.expected_rows or recipe.rows, max(len(vote_units(recipe.candidates)), 1)
    assert rows is not None
    rule = vote_rule(rows, columns, terms, float(recipe.choice_epsilon), ROWS_PER_COLUMN * (columns + 1))
    rule = replace(rule, ridge=0.0, statistic="the sign of an estimator's coefficient")
    recipe = replace(recipe, votes=rule)
    return replace(recipe, directions=tells_directions(recipe)), rows // rule.blocks
