"""Public. Fitted scikit-learn estimators with coefficients that rounds have found: what `to_sklearn` gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Binary


def logistic_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted LogisticRegression with these log odds ratios, an intercept among them or none."""
    from sklearn.linear_model import LogisticRegression

    assert isinstance(study.response, Binary)
    model = LogisticRegression()
    model.classes_ = np.array(study.response.categories)
    model.intercept_ = np.array([values.get(INTERCEPT, 0.0)])
    model.coef_ = np.array([_slopes(model, values)])
    return model


def poisson_regression(values: dict[str, float], study: Study) -> Any:
    """A fitted PoissonRegressor with these log rate ratios, an intercept among them or none."""
    from sklearn.linear_model import PoissonRegressor

    model = PoissonRegressor()
    model.intercept_ = values.get(INTERCEPT, 0.0)
    model.coef_ = np.array(_slopes(model, values))
    model._base_loss = model._get_loss()  # `fit` would have made it, and `predict` asks it for the link
    return model


def _slopes(model: Any, values: dict[str, float]) -> list[float]:
    slopes = {name: value for name, value in values.items() if name != INTERCEPT}
    model.n_features_in_ = len(slopes)
    model.feature_names_in_ = np.array(list(slopes), dtype=object)
    return list(slopes.values())
