"""Private. Arrow record batches to cells: the one form that frames, files, databases and clusters are turned into."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.assumptions import Assumptions
from dpselect.assume.variables import Categorical, Numeric, Variable
from dpselect.errors import DataError
from dpselect.gather.grid import Cells


def needed_names(assumptions: Assumptions) -> list[str]:
    """The columns to read, and no others."""
    return [*(variable.name for variable in assumptions.predictors), assumptions.response.name]


def check_schema(schema: Any, assumptions: Assumptions) -> None:
    """Refuse missing, doubled and mistyped columns by the schema alone, before a row is looked at."""
    for variable in (*assumptions.predictors, assumptions.response):
        found = schema.names.count(variable.name)
        if found != 1:
            reason = "is not in the table" if found == 0 else "is in the table more than once"
            raise DataError(f"The column {variable.name!r} {reason}: correct the assumptions or the table.")
        _check_type(schema.field(variable.name).type, variable)


def _check_type(kind: Any, variable: Variable) -> None:
    import pyarrow as pa

    is_number = _is_number(kind)
    text = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(text) or pa.types.is_large_string(text) or pa.types.is_string_view(text)
    whole = pa.types.is_integer(text) or pa.types.is_null(text)
    if isinstance(variable, Numeric) and not (is_number or pa.types.is_null(kind)):
        hint = " (state a date as a number, such as days since a fixed day)" if pa.types.is_temporal(kind) else ""
        raise DataError(f"The column {variable.name!r} has the type {kind}, and a number is needed{hint}.")
    if isinstance(variable, Categorical) and not (is_text or whole or is_number):
        raise DataError(f"The column {variable.name!r} has the type {kind}, and levels are text or whole numbers.")


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def batch_cells(batch: Any, assumptions: Assumptions) -> Cells:
    """Cells of a record batch whose schema was checked."""
    return {
        variable.name: _cells(batch.column(variable.name), variable)
        for variable in (*assumptions.predictors, assumptions.response)
    }


def _cells(array: Any, variable: Variable) -> NDArray[np.float64]:
    if isinstance(variable, Numeric):
        values = _doubles(array)
        return np.where(np.isfinite(values), values, np.nan)
    return _places(array, variable)


def _doubles(array: Any) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(array.type):
        array = pc.cast(array, pa.uint8())
    numbers = pc.cast(array, pa.float64(), safe=False)
    values: NDArray[np.float64] = pc.fill_null(numbers, float("nan")).to_numpy(zero_copy_only=False)
    return values


def _places(array: Any, variable: Categorical) -> NDArray[np.float64]:
    """The place of each cell's level, NaN where it is none of them.

    Numbers are compared as numbers when the levels are whole numbers; everything else as text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(variable.levels[0], int) and _is_number(array.type):
        numbers = _doubles(array)
        found = np.full(len(numbers), np.nan)
        for place, level in enumerate(variable.levels):
            found[numbers == level] = place
        return found
    levels = pa.array([str(level) for level in variable.levels], pa.string())
    places = pc.index_in(pc.cast(array, pa.string()), value_set=levels)
    values: NDArray[np.float64] = pc.fill_null(pc.cast(places, pa.float64()), float("nan")).to_numpy(
        zero_copy_only=False
    )
    return values
