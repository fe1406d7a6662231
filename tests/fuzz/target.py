"""What is fuzzed: a name, some good inputs, and a function that reads a file of them, well changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """A reader under test.

    `seeds()` gives good inputs, as small as they can be, so that a change hits what matters. `run(path)` reads the changed input
    and may return anything or raise a DpselectError in one sentence; whatever else happens is a fault. No message
    may hold one of the `secrets`, which stand in the cells of the seeds.
    """

    name: str
    suffix: str
    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[Path], object]
    secrets: Sequence[str] = ()
