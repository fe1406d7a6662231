"""Private. NumPy arrays to cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric, Variable
from dpselect.errors import DataError, StudyError
from dpselect.gather.grid import Cells
from dpselect.gather.sources.arrow import level_places, zeros_and_ones
from dpselect.gather.sources.stream import BATCH_ROWS
from dpselect.gather.sources.text_numbers import number_in

MANY_COLUMNS = 128


def named_matrix(table: Any, names: Sequence[str] | None = None) -> tuple[NDArray[np.float64], list[str]]:
    """A matrix and the names of its columns: those given, a data frame's own, or x0, x1, ..."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = frame.columns if names is None else names
        table = _frame_array(frame)
    matrix = numeric_array(table, "The predictors")
    if matrix.ndim != 2:
        raise DataError(
            f"The predictors have {matrix.ndim} dimension(s); give a table with one row for each person or unit."
        )
    if names is None:
        names = [f"x{j}" for j in range(matrix.shape[1])]
    if len(names) != matrix.shape[1]:
        raise StudyError(f"There are {len(names)} names and another number of columns in X; give one a column.")
    return matrix, [str(name) for name in names]


def array_cells(predictors: Any, response: Any, study: Study, weights: Any = None) -> Cells:
    """Cells of a matrix whose columns are the predictors as stated, and of vectors: the response, and weights where stated."""
    for name, called in ((study.person, "persons"), (study.cluster, "clusters")):
        if name is not None:
            raise DataError(f"Arrays have no column of {called} {name!r}: use a data frame.")
    if study.only:
        raise DataError("Arrays have no names by which a subgroup could be found: use a data frame.")
    tolerant = study.missing != "error"
    matrix = numeric_array(predictors, "The predictors", tolerant=tolerant)
    vector = numeric_array(response, "The response", tolerant=tolerant)
    if matrix.ndim != 2:
        raise DataError(
            f"The predictors have {matrix.ndim} dimension(s); give a table with one row for each person or unit."
        )
    vectors = {"The response": vector}
    if study.weights is not None:
        vectors["The weights"] = numeric_array(weights, "The weights", tolerant=tolerant)
    for what, each in vectors.items():
        if each.ndim != 1:
            raise DataError(f"{what} has {each.ndim} dimension(s); give one number for each row.")
    if matrix.shape[1] != len(study.predictors):
        raise DataError(
            f"The table has another number of columns than the {len(study.predictors)} predictors that are stated: "
            "state each column."
        )
    if any(len(matrix) != len(each) for each in vectors.values()):
        raise DataError(
            "The predictors and the response have different numbers of rows; give one response for each row."
        )
    cells = {variable.name: _cells(matrix[:, j], variable) for j, variable in enumerate(study.predictors)}
    cells[study.response.name] = _cells(vector, study.response)
    if study.weights is not None:
        cells[study.weights] = vectors["The weights"]
    return cells


def pieces(cells: Cells) -> Iterator[Cells]:
    """The same cells, some rows at a time; nothing is copied."""
    rows = max(map(len, cells.values()))
    for start in range(0, rows, BATCH_ROWS):
        yield {name: values[start : start + BATCH_ROWS] for name, values in cells.items()}


def numeric_array(values: Any, what: str, *, tolerant: bool = False) -> NDArray[np.float64]:
    """Floats; strings, objects, dates and complex numbers are refused by type, before any value is looked at.

    Where no cell may refuse the table (`tolerant`), strings and objects become numbers one by one, NaN where they are none. A
    list of numbers in which some are None is an array of objects too; one in which NumPy finds a single type for numbers and
    something else is taken cell by cell, for that type would change the others or refuse them.
    """
    masked = isinstance(values, np.ma.MaskedArray)
    if hasattr(values, "tocsr"):
        raise DataError(f"{what} are a sparse matrix: give an ordinary one, values.toarray().")
    array = _as_array(values)
    if tolerant and isinstance(values, list | tuple) and (array is None or array.dtype.kind not in "biufO"):
        array = _as_array(values, dtype=object)
    if array is None:
        raise DataError(f"{what} cannot be made into an array: give rows of equal length.")
    if array.dtype.kind in "OUS" and (tolerant or _numbers_and_none(array)):
        found = np.frompyfunc(number_in, 1, 1)(array)
        array = np.asarray(found, dtype=np.float64)
    if array.dtype.kind not in "biuf":
        # Not dtype.name, which tells how long the longest text is.
        kind = array.dtype.type.__name__.rstrip("_")
        raise DataError(f"{what} have the type {kind!r}; give numbers (integers, floats or booleans).")
    # Of thousands of columns each is read by itself: one after the other in memory, not a row apart.
    order: Literal["F", "K"] = "F" if array.ndim == 2 and array.shape[1] > MANY_COLUMNS else "K"
    with np.errstate(all="ignore"):
        doubles = array.astype(np.float64, order=order)
    if masked:
        doubles[np.ma.getmaskarray(values)] = np.nan
    return doubles


def _numbers_and_none(array: NDArray[Any]) -> bool:
    numbers = (int, float, np.bool_, np.integer, np.floating)
    return array.dtype.kind == "O" and all(
        cell is None or cell is np.ma.masked or isinstance(cell, numbers) for cell in array.flat
    )


def _frame_array(frame: nw.DataFrame[Any]) -> NDArray[Any]:
    try:
        return frame.to_numpy()
    except Exception as error:  # the library's own message may quote a cell
        failed = type(error).__name__
    raise DataError(f"The predictors cannot be made into an array ({failed}): give each column one type.")


def _as_array(values: Any, dtype: Any = None) -> NDArray[Any] | None:
    """An array, or None where NumPy refuses; its sentence may quote a cell, so it is forgotten here.

    NumPy warns where it makes a number of a masked cell, so a list with such cells stays one of objects.
    """
    try:
        return np.asarray(values, object if _has_masked(values) else dtype)
    except Exception:
        return None


def _has_masked(values: Any) -> bool:
    return values is np.ma.masked or (isinstance(values, list | tuple) and any(map(_has_masked, values)))


def _cells(values: NDArray[np.float64], variable: Variable) -> NDArray[Any]:
    if isinstance(variable, Numeric):
        return values
    places = level_places(values, variable)
    return zeros_and_ones(places) if isinstance(variable, Binary) else places
