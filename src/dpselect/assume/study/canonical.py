"""Public. One text for one meaning, so that what was stated can be hashed, charged and compared."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

MARKUP = re.compile("<(?=[A-Za-z/!?])")
"""What a browser takes for the beginning of markup."""


def canonical_json(values: Any) -> str:
    """Sorted keys, no white space, shortest numbers: the same on every machine."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def readable_json(values: Any) -> str:
    """JSON for people and programs alike. Names and titles in it are never markup, even if its file is opened as a page."""
    return MARKUP.sub(r"\\u003c", json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False))


def sha256_of(values: Any) -> str:
    """The SHA-256 of plain values in canonical JSON."""
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()
