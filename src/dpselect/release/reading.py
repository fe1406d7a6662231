"""Releases read back from text that anybody may have edited: a value, or one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from dpselect.errors import DataError, DpselectError


class Readable(Protocol):
    """Public. What every release can be turned into."""

    def to_json(self) -> str:
        """Its JSON text."""

    def _repr_html_(self) -> str: ...


Release = TypeVar("Release", bound=Readable)


def read_release(text: str, build: Callable[[dict[str, Any]], Release], what: str) -> Release:
    """What `build` makes of a JSON text. Whether its numbers belong together is for `dpselect verify` to say.

    It is shown once in each way, since a part of the wrong kind shows itself there at the latest: what reads, prints and writes.
    """
    try:
        release = build(json.loads(text, parse_constant=_refused, parse_float=_finite))
        for shown in (str(release), release._repr_html_(), release.to_json()):
            shown.encode()  # half a character cannot be written
    except DpselectError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        raise DataError(f"This is not the JSON text of {what}.") from None
    return release


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _refused(name: str) -> float:
    raise ValueError(name)  # NaN and infinity are not JSON, and no release holds them
