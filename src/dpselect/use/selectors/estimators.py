"""Checks of what a selector is given: tables, responses of one kind, and estimators that may vote.

An estimator may vote if every block gets a fresh copy of it, and if it can fit a block at all. Both are asked before anything is
charged, and no row is needed for either: it is tried on a block that is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpselect.errors import DataError, DpselectError, StudyError
from dpselect.minimize.votes.estimator_votes import fit_unheard

Result = TypeVar("Result")

_REPEATED = (
    "Input X contains NaN",
    "Input y contains NaN",
    "Input X contains infinity or a value too large for dtype('float64')",
    "Input y contains infinity or a value too large for dtype('float64')",
)
"""What may be said again word for word."""

_REPLACED = {
    "inconsistent numbers of samples": "X and y have different numbers of rows; give one response for each row.",
    "Expected 2D array": "X must have two dimensions, one row a record. Reshape your data: array.reshape(-1, 1) is one column.",
    "Complex data not supported": "Complex data not supported; give real numbers.",
    "0 sample(s)": "The table has no rows, or 0 sample(s) as scikit-learn says; give at least one.",
    # scikit-learn's own checks look for these words; between the brackets it says the number of rows.
    "0 feature(s)": "Found 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    "y should be a 1d array": "y should be a 1d array; give one response for each row.",
    "Found array with dim": "X must have two dimensions; give one row a record.",
    "the target y is None": "This selector requires y to be passed, but the target y is None; give one response for each row.",
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


NUMBER_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)


def cell_by_cell(y: Any) -> Any:
    """A list as an array in which every cell is what it was; anything else has types of its own."""
    return np.array(y, dtype=object) if isinstance(y, list | tuple) else y


def one_kind(y: NDArray[Any]) -> NDArray[Any]:
    """Numbers as doubles, or text; a mixture is refused, as cells that are missing are."""
    if y.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a long double beyond every double would be told
            return y.astype(np.float64)
    if y.dtype.kind == "U":
        return y
    if y.dtype.kind != "O":
        raise DataError("y must hold numbers or text, and its type is of neither; correct it.")
    cells = y.tolist()
    if all(isinstance(cell, NUMBER_TYPES) for cell in cells):
        return np.array([_double(cell) for cell in cells])
    if all(isinstance(cell, str) for cell in cells):
        return y
    raise DataError("y must hold numbers alone, or text alone; correct it.")


def _double(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return float("inf")


FEWEST_ROWS = 40
"""Rows of the made-up block, at least: enough for five folds with both labels in each."""


def unfitted(estimator: Any) -> Any:
    """The same estimator as if it had never seen a row, and silent: what compiled code prints passes every other guard."""
    fresh = clone(estimator)
    loud = {
        name: False if isinstance(value, bool) else 0
        for name, value in fresh.get_params().items()
        if name.rpartition("__")[2] == "verbose"
    }
    return fresh.set_params(**loud) if loud else fresh


def check_fresh(estimator: Any) -> None:
    """Refuse what cannot be cloned, and what its clone remembers: one row would reach every block by it."""
    try:
        remembers = _remembers(estimator, clone(estimator))
        fits = remembers or callable(unfitted(estimator).fit)
    except Exception:
        remembers = fits = False
    if remembers:
        raise StudyError(
            "The estimator, or a part of it, remembers what it was fitted on when it is cloned, as a frozen one does, and each "
            "block needs a fresh copy; give one that forgets, such as LogisticRegression()."
        )
    if not fits:
        raise StudyError(
            "The estimator cannot be cloned and fitted; give one of scikit-learn's kind, such as LogisticRegression()."
        )


def check_fits(estimator: Any, rows: int, width: int, *, text: bool) -> None:
    """Refuse what cannot fit a block that was made up, with as many columns and a response of the same type.

    Whether numbers are labels is a matter of cells, so that both are tried, and one that can be fitted is enough.
    """
    X, responses = _made_up_block(max(rows, FEWEST_ROWS), width, text=text)
    failure: Exception | None = None
    for y in responses:
        try:
            found = fit_unheard(lambda X, y: unfitted(estimator).fit(X, y), X, y)
        except Exception as error:
            failure = error
            continue
        if found.shape == (width,) and np.isfinite(found).all():
            return
    if failure is None:
        raise StudyError(
            "The estimator finds something else than one coefficient a column in a block that was made up; give one whose "
            "coef_ has a number for each, such as LogisticRegression()."
        )
    kind = "text" if text else "numbers"
    raise StudyError(
        f"The estimator fails on a block that was made up, with as many columns and a response of {kind} "
        f"({type(failure).__name__}); correct its parameters, or give one for such responses, such as LogisticRegression()."
    ) from failure


def _made_up_block(rows: int, width: int, *, text: bool) -> tuple[NDArray[np.float64], list[NDArray[Any]]]:
    """Columns between 0 and 1, in the order of a block's rows, and what their sum and chance make of a response.

    Nothing is 0 or negative but labels, so that logarithms and positive responses can be fitted too.
    """
    drawn = np.random.default_rng(0).uniform(0.05, 0.95, (rows, width + 1))  # noqa: TID251
    drawn = drawn[np.lexsort(drawn.T[::-1])]
    places = np.argsort(np.argsort(drawn.sum(axis=1)))
    upper = places >= rows // 2
    if text:
        return drawn[:, :width], [np.where(upper, "yes", "no")]
    return drawn[:, :width], [np.where(upper, 1.0, 0.0), np.where(upper, 1.0, -1.0), (places + 0.5) / rows]


def _remembers(estimator: Any, fresh: Any) -> bool:
    """Whether a clone shares a part with its origin, or has a part that counts as fitted by scikit-learn's signs."""
    origin = {id(part) for part in _parts(estimator)}
    return any(id(part) in origin or _is_fitted(part) for part in _parts(fresh))


def _parts(value: Any) -> Iterator[Any]:
    """An estimator and all those among its parameters, in lists and dictionaries too."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _parts(each)
    elif not isinstance(value, type) and (hasattr(value, "get_params") or hasattr(value, "__sklearn_clone__")):
        yield value
        if hasattr(value, "get_params"):
            yield from _parts(value.get_params(deep=False))


def _is_fitted(part: Any) -> bool:
    """What fitting finds has a name that ends in an underscore; or coefficients can be read; or the part itself says so."""
    stated = _parameters(part)
    found = [
        value
        for name, value in getattr(part, "__dict__", {}).items()
        if name.endswith("_") and not name.startswith("__") and name not in stated
    ]
    return any(value is not None and value is not False for value in found) or _tells(part, stated)


def _tells(part: Any, stated: dict[str, Any]) -> bool:
    """Whether a part has coefficients, or says that it is fitted where one that is made anew from its parameters does not."""
    try:
        if part.coef_ is not None:
            return True
    except Exception:  # as it should be: nothing is fitted
        pass
    try:
        return bool(part.__sklearn_is_fitted__()) and not type(part)(**stated).__sklearn_is_fitted__()
    except Exception:
        return False


def _parameters(part: Any) -> dict[str, Any]:
    return part.get_params(deep=False) if hasattr(part, "get_params") else {}
