"""Private. Numbers that are written as text: what is none becomes missing, cell by cell, whatever stands in the others.

A number is one of the decimal system, perhaps with an exponent and with white space around it, or true or false, for 1 and 0.
Everything else is missing: an empty cell, NA, a word, 1_000, 0x10, bytes that are no text, an infinity.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.gather.sources.stream import as_bytes, as_numpy

_NUMBER = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
_SPACE = " \t\n\r\v\f"


def number_of(text: str, point: str = ".") -> float:
    """The nearest double, or NaN where there is none."""
    bare = text.strip(_SPACE)
    if point != ".":
        bare = bare.replace(".", "?").replace(point, ".")
    if re.fullmatch(_NUMBER, bare):
        number = float(bare)
        return number if math.isfinite(number) else math.nan
    return _WORDS.get(bare, math.nan)


def numbers_of(texts: Any, point: str = ".") -> NDArray[np.float64]:
    """The same for a column of text, which may hold bytes that are none."""
    import pyarrow.compute as pc

    whole = _plain_numbers(texts) if point == "." else None
    if whole is not None:
        return whole
    # Most cells are plain numbers all the same: those go the fast way, and only the rest is looked at one by one.
    pattern = _NUMBER.replace(r"\.", re.escape(point))
    plain = pc.fill_null(pc.match_substring_regex(texts, f"^(?:{pattern})$"), False)
    found = _plain_numbers(pc.replace_substring(texts.filter(plain), point, "."))
    if found is None:
        return _one_by_one(texts, point)
    numbers = np.empty(len(texts))
    places = plain.to_numpy(zero_copy_only=False)
    numbers[places] = found
    numbers[~places] = _one_by_one(texts.filter(pc.invert(plain)), point)
    return numbers


def _plain_numbers(texts: Any) -> NDArray[np.float64] | None:
    """For columns in which every cell is plainly a number; None where one is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        array = pc.cast(texts, pa.float64())
    except pa.ArrowException:
        return None
    values: NDArray[np.float64] = as_numpy(array, math.nan)
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, math.nan)


def _one_by_one(texts: Any, point: str) -> NDArray[np.float64]:
    """Each different cell once."""
    import pyarrow as pa

    coded = as_bytes(texts).dictionary_encode()
    cells = [number_of(cell.decode("utf-8", "replace"), point) for cell in coded.dictionary.to_pylist()]
    places = coded.indices.fill_null(len(cells)).cast(pa.int64())
    numbers: NDArray[np.float64] = np.array([*cells, math.nan])[places.to_numpy(zero_copy_only=False)]
    return numbers


def number_in(cell: Any) -> float:
    """The nearest double of any object, or NaN where it is no number: a word, a date, nothing."""
    if isinstance(cell, str):
        return number_of(cell)
    if isinstance(cell, bytes):
        return number_of(cell.decode("utf-8", "replace"))
    if isinstance(cell, np.timedelta64):  # an integer, as NumPy has it, and a length of time
        return math.nan
    if isinstance(cell, complex | np.complexfloating):  # one such cell makes NumPy call all others so
        cell = cell.real if cell.imag == 0 else math.nan
    if not isinstance(cell, int | float | np.bool_ | np.integer | np.floating | Decimal | Fraction):
        return math.nan
    try:
        number = float(cell)
    except (OverflowError, ValueError):  # beyond every double, or a NaN that signals
        return math.nan
    return number if math.isfinite(number) else math.nan
