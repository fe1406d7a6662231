"""The line between the two pages: a public template accepts public records made of plain values, and nothing else."""

from __future__ import annotations

from typing import Any

from dpselect.assume.records import Public

_PLAIN = (str, int, float, bool, type(None))


def require_public(value: Any) -> None:
    """Refuse a value that is not plain, not a tuple of such, and not a public record of such.

    A class of another kind, an array, moments, scores or a data frame is a programming error, and it is named by its type alone.
    The type is the mark, so that a program without docstrings (python -OO) draws the same line.

    Tested: tests/report/public/test_guard.py
    """
    if type(value) in _PLAIN:
        return
    if type(value) is tuple:
        for each in value:
            require_public(each)
        return
    kind = type(value)
    if issubclass(kind, Public):
        for name in kind.__struct_fields__:
            require_public(getattr(value, name))
        return
    raise TypeError(f"A {kind.__name__} may not reach a public page: only public facts made of plain values may.")
