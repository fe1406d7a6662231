"""Block votes as a selector: no bounds, and any estimator with coefficients in the blocks."""

from __future__ import annotations

from typing import Any

from dpselect.assume.models.budget import Budget
from dpselect.assume.models.choice import Choice, Mechanism
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.models.subsets import Subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.neighbors import Neighbors
from dpselect.assume.study.variables import Numeric
from dpselect.release.account import account_of
from dpselect.release.selection import Selection
from dpselect.use.select import choose_by_estimator, choose_model, rule_for_estimators
from dpselect.use.selectors.base import PrivateSelector
from dpselect.use.selectors.complaints import quoting_nothing
from dpselect.use.selectors.estimators import check_fits, check_fresh, unfitted
from dpselect.use.selectors.responses import cell_by_cell, one_kind


class VotesSelector(PrivateSelector):
    """Private feature selection by block votes (pure epsilon-differential privacy), without any bounds.

    Example: `VotesSelector(epsilon=1.0).fit(X, y).get_support()`, or with any estimator that has one coefficient a column:
    `VotesSelector(LogisticRegression(), epsilon=1.0)`. The estimator is fitted in each of many small blocks of rows, and a
    column is chosen where enough blocks agree on its sign; one that cannot fit a made-up block is refused. `rows` says about
    how many rows there are, where neighbors="add-remove-one" makes their number private.
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
        recipe, size = rule_for_estimators(make_recipe(assumptions, choice, rows=rows, epsilon=price.epsilon))
        check_fits(self.estimator, size, X.shape[1], text=y.dtype.kind != "f")
        return choose_by_estimator(self._fit_block, X, y, recipe, account)

    def _relation(self) -> Neighbors:
        relation: Neighbors = self.neighbors  # type: ignore[assignment]
        return relation

    def _fit_block(self, X: Any, y: Any) -> Any:
        return unfitted(self.estimator).fit(X, y)

    def _checked(self, X: Any, y: Any, *, numeric: bool = True) -> tuple[Any, Any]:
        if self.estimator is None:
            return super()._checked(X, y, numeric=True)
        check_fresh(self.estimator)
        X, y = super()._checked(X, quoting_nothing(lambda: cell_by_cell(y)), numeric=False)
        return X, one_kind(y)
