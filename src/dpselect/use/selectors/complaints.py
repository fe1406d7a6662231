"""scikit-learn's complaints about a table, without the cells and the counts that it quotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from dpselect.errors import DataError, DpselectError

Result = TypeVar("Result")

_REPEATED = (
    "Input X contains NaN",
    "Input y contains NaN",
    "Input X contains infinity or a value too large for dtype('float64')",
    "Input y contains infinity or a value too large for dtype('float64')",
)
"""What may be said again word for word."""

_REPLACED = {
    "inconsistent numbers of samples": "X and y have different numbers of rows; give one response a record.",
    "Expected 2D array": "X must have two dimensions, one row a record. Reshape your data: array.reshape(-1, 1) is one column.",
    "Complex data not supported": "Complex data not supported; give real numbers.",
    "0 sample(s)": "The table has no rows, or 0 sample(s) as scikit-learn says; give at least one.",
    # scikit-learn's own checks look for these words; between the brackets it says the number of rows.
    "0 feature(s)": "Found 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    "y should be a 1d array": "y should be a 1d array; give one response a record.",
    "Found array with dim": "X must have two dimensions; give one row a record.",
    "the target y is None": "This selector requires y to be passed, but the target y is None; give one response a record.",
}

_SPARSE = "Sparse tables are not taken; give X.toarray()."
_NO_NUMBER = "X and y cannot be read as tables of numbers: each argument must be a string or a real number."


class WrongType(DataError, TypeError):
    """A table or a cell of a kind that has no numbers: a `TypeError` too, as scikit-learn's users expect."""


def quoting_nothing(ask: Callable[[], Result]) -> Result:
    """The answer; or a `DataError` in words that are known beforehand, since scikit-learn prints arrays, cells and shapes.

    NumPy would warn where a sum of cells, which is how scikit-learn asks whether all are finite, passes every double. Its
    warnings are turned off for this thread alone, as those of Python could not be.

    Tested: tests/claims/test_no_private_values.py
    """
    complaint: DataError
    try:
        with np.errstate(all="ignore"):
            return ask()
    except (DpselectError, NotFittedError):
        raise
    except TypeError as error:
        complaint = WrongType(_SPARSE if "parse data was passed" in str(error) else _NO_NUMBER)
    except Exception as error:  # a cell's own conversion may raise anything
        complaint = DataError(_known(str(error)))
    # Raised out here, where no other exception is being handled: not even __context__ remembers the cells.
    raise complaint


def _known(text: str) -> str:
    for part in _REPEATED:
        if part in text:
            return f"{part}; correct the table."
    for part, sentence in _REPLACED.items():
        if part in text:
            return sentence
    if text.startswith("The feature names should match") or text.endswith("features as input."):
        return text  # names and numbers of columns are public
    return "X and y cannot be read as tables of numbers; give real numbers, one row a record."
