from collections.abc import Sequence
from typing import Any

def run(
    arrays: Sequence[Any],
    width: int,
    max_size: int,
    radius: float,
    slack: float,
    pivot: float,
    norm_factor: float,
    start: int,
    end: int,
    /,
) -> None: ...
