"""Releases read back from text that anybody may have edited: a value, or one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from dpselect.errors import DataError, DpselectError

Release = TypeVar("Release")


def read_release(text: str, build: Callable[[dict[str, Any]], Release], what: str) -> Release:
    """What `build` makes of a JSON text. Whether its numbers belong together is for `dpselect verify` to say.

    It is printed once, since a part of the wrong kind shows itself there at the latest: what reads, prints.
    """
    try:
        release = build(json.loads(text))
        str(release)
    except DpselectError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise DataError(f"This is not the JSON text of {what}.") from None
    return release
