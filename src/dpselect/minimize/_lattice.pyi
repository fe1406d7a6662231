from collections.abc import Sequence
from typing import Any

def run(
    arrays: Sequence[Any],
    width: int,
    low: int,
    max_size: int,
    mark_bits: int,
    slack: float,
    pivot: float,
    norm_factor: float,
    groups: tuple[int, int],
    plain: int,
    /,
) -> None: ...
