"""Real data for the demo: 442 people with diabetes, from scikit-learn; bounds as a clinician would state them beforehand."""

from __future__ import annotations

from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric

LABEL = "diabetes"
SOURCE = "scikit-learn's diabetes data (Efron, Hastie, Johnstone and Tibshirani, 2004)"

ASSUMPTIONS = Assumptions(
    Numeric("progression", 40, 320),
    [
        Numeric("age", 18, 80),
        Categorical("sex", (1, 2)),
        Numeric("bmi", 15, 45),
        Numeric("pressure", 60, 130),
        Numeric("cholesterol", 80, 320),
        Numeric("ldl", 30, 260),
        Numeric("hdl", 20, 100),
        Numeric("triglycerides_log", 3, 6.5),
        Numeric("glucose", 50, 130),
    ],
)
"""Stated without the rows: what adult patients have, and the part of the scale where the progression score tells patients apart.
Units as in the data: years, code, kg/m^2, mmHg, mg/dl, mg/dl, mg/dl, log mg/dl, mg/dl; disease progression after a year."""

_NAMES = {
    "age": "age",
    "sex": "sex",
    "bmi": "bmi",
    "bp": "pressure",
    "s1": "cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s5": "triglycerides_log",
    "s6": "glucose",
}


def load_rows() -> Any:
    """The rows as an Arrow table; needs scikit-learn, which carries them in its wheel."""
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise ImportError("The demo's data comes with scikit-learn: install dpselect[sklearn].") from None
    import pyarrow as pa

    bunch = load_diabetes(scaled=False)
    table = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
    columns = {name: table[short] for short, name in _NAMES.items()}
    return pa.table({**columns, "progression": bunch.target})
