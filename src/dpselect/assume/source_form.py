"""Public. How a file of rows is written: what decides how every row is read is stated, and no row decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from dpselect.assume.records import Public
from dpselect.assume.variables import is_printable, shown
from dpselect.errors import StudyError

MAX_SHEET_LENGTH = 300


class SourceForm(Public, frozen=True):
    """The form of a text file, or the sheet of a workbook, as `[source]` of a study states it.

    Example: `SourceForm(delimiter=";", decimal=",", encoding="latin-1")`. It is hashed with the study and printed in the report,
    because it decides how all rows are read: a form that was found out from the rows would let one record change the others.
    """

    delimiter: Annotated[str, msgspec.Meta(description="What stands between the cells of a text file.")] = ","
    encoding: Annotated[str, msgspec.Meta(description="The encoding of a text file.")] = "utf-8"
    decimal: Annotated[str, msgspec.Meta(description="The decimal point of a text file.")] = "."
    sheet: Annotated[str | None, msgspec.Meta(description="The sheet of a workbook; the first if none is named.")] = (
        None
    )

    def __post_init__(self) -> None:
        for what in ("delimiter", "decimal"):
            value = getattr(self, what)
            if not (isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n'):
                raise StudyError(f"The {what} is {shown(value)}; it must be one character, such as ',' or ';'.")
        if self.delimiter == self.decimal:
            raise StudyError(f"The delimiter and the decimal point are both {self.decimal!r}; they must differ.")
        if not (isinstance(self.encoding, str) and self.encoding.isascii() and is_printable(self.encoding)):
            raise StudyError(f"The encoding is {shown(self.encoding)}; it must be a name such as 'utf-8' or 'latin-1'.")
        if self.sheet is not None and not (
            isinstance(self.sheet, str) and 0 < len(self.sheet) <= MAX_SHEET_LENGTH and is_printable(self.sheet)
        ):
            raise StudyError(f"The sheet is {shown(self.sheet)}; it must be the name of a sheet.")


def form_from_dict(values: Any) -> SourceForm:
    """A form from plain values, as people write them."""
    if isinstance(values, SourceForm):
        return values
    if not isinstance(values, Mapping):
        raise StudyError(
            f"source is {shown(values)}; it must have a delimiter, an encoding, a decimal point or a sheet."
        )
    known = SourceForm.__struct_fields__
    if extra := sorted(map(str, set(values) - set(known))):
        raise StudyError(f"source has the unknown entry {shown(extra[0])}; known are {', '.join(known)}.")
    return SourceForm(**values)
