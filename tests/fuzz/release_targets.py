"""Reports and ledgers."""

from __future__ import annotations

from collections.abc import Sequence

from target import Target

RELEASE_TARGETS: Sequence[Target] = ()
