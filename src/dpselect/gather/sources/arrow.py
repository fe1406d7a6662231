"""Private. Arrow record batches to cells: the one form that frames, files, databases and clusters are turned into."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.study import Study
from dpselect.assume.subgroup import Only
from dpselect.assume.variables import Binary, Categorical, Numeric, Variable, shown
from dpselect.errors import DataError
from dpselect.gather.grid import OUTSIDE, Cells, needed_names
from dpselect.gather.sources.stream import NUMBER_CELLS, TEXTS, Kinds, as_bytes, as_large_binary, as_numpy, is_utf8

EXACT_DIGITS = 15
"""A decimal of so many digits is a whole double over a power of ten, so that one division rounds it correctly."""


def kinds_of(study: Study) -> Kinds:
    """What each needed column holds; with the policies that refuse no cell, wherever it holds such a thing."""
    variables = (*study.predictors, study.response)
    texts = {v.name for v in variables if not isinstance(v, Numeric) and isinstance(v.categories[0], str)}
    number, text = (NUMBER_CELLS[1], TEXTS[1]) if study.missing != "error" else (NUMBER_CELLS[0], TEXTS[0])
    kinds = {name: text if name in texts else number for name in needed_names(study)}
    # A row whose cell says nothing is outside the subgroup, whatever the policy.
    known = {variable.name for variable in variables}
    kinds |= {o.name: TEXTS[1] if o.is_text else NUMBER_CELLS[1] for o in study.only or () if o.name not in known}
    # A row without a person cannot be bounded, so a person's cell is never allowed to be missing.
    return kinds | {name: TEXTS[0] for name in _units(study)}


def _units(study: Study) -> dict[str, str]:
    """The columns whose cells tell units apart, and what each is called."""
    stated = {study.cluster: "clusters", study.person: "persons"}
    return {name: called for name, called in stated.items() if name is not None}


def check_schema(schema: Any, study: Study, names: Sequence[str] | None = None) -> None:
    """Refuse missing, doubled and mistyped columns by the schema alone, before a row is looked at; all needed, or those named."""
    import pyarrow as pa

    needed = needed_names(study) if names is None else names
    for name in needed:
        require_named(name, schema.names)
    for variable in (*study.predictors, study.response):
        if variable.name in needed:
            _check_type(schema.field(variable.name).type, variable)
    if study.weights is not None and study.weights in needed:
        kind = schema.field(study.weights).type
        if not (pa.types.is_null(kind) or is_number(kind.value_type if pa.types.is_dictionary(kind) else kind)):
            raise DataError(f"The column of weights {study.weights!r} has the type {kind}: store weights as numbers.")
    for each in study.only or ():
        if each.name in needed:
            kind = schema.field(each.name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not (pa.types.is_null(kind) or (is_text(kind) if each.is_text else is_number(kind))):
                wanted = "text, as its categories are" if each.is_text else "a number"
                raise DataError(
                    f"The column {each.name!r} of the subgroup has the type {kind}, and {wanted} is needed."
                )
    for name, called in _units(study).items():
        if name in needed:
            _check_unit(schema.field(name).type, name, called)


def require_named(name: str, names: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has it twice; a column whose name looks like it is told.

    Others are not listed: where a file has no line of names, what stands there are the cells of a person.
    """
    count = names.count(name)
    if count == 1:
        return
    by_look = {each.strip().casefold(): each for each in reversed(names) if isinstance(each, str)}  # pandas has others
    close = get_close_matches(name.strip().casefold(), by_look, n=1, cutoff=0.7)
    there = f"; there is {shown(by_look[close[0]])}" if close else ""
    reason = f"is not in the table{there}" if count == 0 else "is in the table more than once"
    raise DataError(f"The column {name!r} {reason}: correct the study or the table.")


def _check_unit(kind: Any, name: str, called: str) -> None:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    # A table without rows has no type there, and with one row it has: that must not decide whether it is read.
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"The column of {called} {name!r} has the type {kind}: store {called} as whole numbers or as text. (pandas turns whole "
            "numbers into decimal ones where a cell is missing: every row needs one.)"
        )


def _check_type(kind: Any, variable: Variable) -> None:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return
    if not isinstance(variable, Numeric):
        as_text = isinstance(variable.categories[0], str)
        if is_text(kind) if as_text else is_number(kind):
            return
        wanted = "text" if as_text else "whole numbers"
        hint = (
            "state the categories as text"
            if is_text(kind)
            else "state the categories as whole numbers, or store it as text"
        )
        raise DataError(f"{variable.name!r} is {_called(kind)}, and its stated categories are {wanted}: {hint}.")
    if is_number(kind):
        return
    if pa.types.is_temporal(kind):
        hint = "store a date as a number, such as days since a fixed day"
    else:
        hint = (
            f"state its categories (--categories {variable.name}=A,B), or store it as a number (of a text file "
            "with decimal commas, add --decimal ,)"
        )
    raise DataError(f"{variable.name!r} is {_called(kind)}, not a number: {hint}.")


def _called(kind: Any) -> str:
    """A type as people call it."""
    import pyarrow as pa

    if is_text(kind):
        return "text"
    if is_number(kind):
        return "a number"
    return "a date" if pa.types.is_temporal(kind) else f"of the type {kind}"


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is a number for us: integers, floats, decimals and booleans are."""
    import pyarrow as pa

    types = pa.types
    if types.is_decimal(kind):
        # A damaged file may say more places than a decimal has, which Arrow itself cannot write out.
        return bool(abs(kind.scale) <= (76 if types.is_decimal256(kind) else 38))
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def checked_cells(batches: Iterable[Any], study: Study, names: Sequence[str]) -> Iterator[Cells]:
    """Cells of record batches; their types are checked again where they change, as they may from file to file."""
    variables = {variable.name: variable for variable in (*study.predictors, study.response)}
    if study.weights is not None:
        variables[study.weights] = Numeric(study.weights)
    units = _units(study)
    checked = None
    try:
        for batch in batches:
            if batch.schema != checked:
                checked = batch.schema
                check_schema(checked, study, names)
            if batch.num_rows == 0:
                continue  # no rows are nothing, whoever adds up
            cells = {
                name: _cells(batch.column(name), variables[name])
                if name in variables
                else _names_of_units(batch.column(name), name, units[name])
                for name in names
                if name in variables or name in units
            }
            yield _of_subgroup(cells, batch, study, variables)
    finally:
        if isinstance(batches, Generator):
            batches.close()  # let go of the file behind it at once, not when memory is tidied up


def _of_subgroup(cells: dict[str, NDArray[Any]], batch: Any, study: Study, variables: Iterable[str]) -> Cells:
    """The cells, and which rows are outside the subgroup: these have zeros in place of whatever stood there."""
    if not study.only or not all(each.name in batch.schema.names for each in study.only):  # rows are only counted
        return cells
    inside = np.ones(batch.num_rows, dtype=bool)
    with np.errstate(all="ignore"):
        for each in study.only:
            column = batch.column(each.name)
            if each.categories is not None:
                inside &= (_text_places(column, each) if each.is_text else level_places(_doubles(column), each)) >= 0
                continue
            values = _doubles(column)
            inside &= values >= (-np.inf if each.lower is None else each.lower)
            inside &= values <= (np.inf if each.upper is None else each.upper)
            inside &= np.isfinite(values)
    for name in variables:
        if name in cells:
            cells[name] = np.where(inside, cells[name], 0)
    return {**cells, OUTSIDE: ~inside}


def _cells(array: Any, variable: Variable) -> NDArray[Any]:
    if isinstance(variable, Numeric):
        return _doubles(array)
    as_text = isinstance(variable.categories[0], str)
    places = _text_places(array, variable) if as_text else level_places(_doubles(array), variable)
    return zeros_and_ones(places) if isinstance(variable, Binary) else places


def _names_of_units(array: Any, name: str, called: str) -> NDArray[Any]:
    """Whole numbers or text; each row must have a person (or a cluster), for one without could not be bounded.

    An empty cell of a text file is blank text, not NULL, so blank text is no person either.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    blank = False
    if is_text(array.type):
        array = pc.cast(array, pa.large_string())
        if not is_utf8(array):
            raise DataError(f"The column of {called} {name!r} has cells that are not UTF-8 text: correct them.")
        # Not pc.if_else: on slices of text it gave wrong bytes before pyarrow 24, and so wrong persons.
        blank = pc.any(pc.equal(pc.utf8_trim_whitespace(array), "")).as_py()
    if array.null_count or blank:
        raise DataError(f"The column of {called} {name!r} has missing cells: give every row its {called[:-1]}.")
    keys: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return keys


def _doubles(array: Any) -> NDArray[np.float64]:
    """The nearest double of every cell, NaN for NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        return _decimal_doubles(array)
    if pa.types.is_boolean(array.type):
        array = pc.cast(array, pa.uint8())
    if not pa.types.is_float64(array.type):
        array = pc.cast(array, pa.float64(), safe=False)
    return as_numpy(array, np.nan)


def _decimal_doubles(array: Any) -> NDArray[np.float64]:
    """Decimals correctly rounded, as every database does it; Arrow's own cast is often off by one in the last bit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_decimal128(kind) and kind.precision <= EXACT_DIGITS and 0 <= kind.scale <= EXACT_DIGITS:
        # The low half of each 128-bit number holds all of it, as a signed whole number.
        halves = np.frombuffer(array.buffers()[1] or b"", dtype=np.int64)[2 * array.offset :: 2][: len(array)]
        values: NDArray[np.float64] = halves / 10.0**kind.scale
        if array.null_count:
            values[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return values
    return _doubles(pc.cast(pc.cast(array, pa.string()), pa.float64()))


def _text_places(array: Any, variable: Categorical | Binary | Only) -> NDArray[np.int64]:
    """The place of each cell's level, -1 where it is none of them; text is compared to the letter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        # The categories once, then the cells by their index.
        known = _text_places(array.dictionary, variable)
        indices = as_numpy(pc.cast(array.indices, pa.int64()), len(known))
        places: NDArray[np.int64] = np.append(known, -1)[indices]
        return places
    if pa.types.is_null(array.type):
        return np.full(len(array), -1)
    # Bytes against bytes: a cell that is not UTF-8 is no level, and refuses nothing.
    levels = as_large_binary([str(level) for level in variable.categories or ()])
    found = pc.index_in(as_bytes(pc.cast(array, pa.large_string())), value_set=levels)
    return as_numpy(pc.cast(found, pa.int64()), -1)


def zeros_and_ones(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """A binary variable as numbers: 0 for no, 1 for yes, NaN where it is neither."""
    return np.where(places < 0, np.nan, places)


def level_places(values: NDArray[np.float64], variable: Categorical | Binary | Only) -> NDArray[np.int64]:
    """The place of each number among levels that are whole numbers, -1 where it is none of them."""
    places = np.full(len(values), -1)
    for place, level in enumerate(variable.categories or ()):
        if isinstance(level, str):
            raise DataError(
                f"{variable.name!r} has categories that are text, and arrays hold numbers: use a data frame."
            )
        places[values == level] = place
    return places
