"""The paper's methods as selectors; bounds are parameters and are never learnt."""

from __future__ import annotations

from typing import Any

from dpselect.assume.study.neighbors import Neighbors
from dpselect.use.selectors.base import PrivateSelector


class PCLSSelector(PrivateSelector):
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


class PCPLSelector(PrivateSelector):
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
