"""The line between the two pages: a public template accepts public facts made of plain values, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any

_PLAIN = (str, int, float, bool, type(None))


def require_public(value: Any) -> None:
    """Refuse a value that is not plain, not a tuple of such, and not a dataclass whose docstring opens with "Public.".

    A dataclass that says nothing, a private one, an array, moments, scores or a data frame is a programming error, and
    it is named by its type alone.

    Tested: tests/report/public/test_guard.py
    """
    if type(value) in _PLAIN:
        return
    if type(value) is tuple:
        for each in value:
            require_public(each)
        return
    kind = type(value)
    if dataclasses.is_dataclass(kind) and (kind.__doc__ or "").startswith("Public."):
        for field in dataclasses.fields(kind):
            require_public(getattr(value, field.name))
        return
    raise TypeError(f"A {kind.__name__} may not reach a public page: only public facts made of plain values may.")
