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
    turn: int,
    plain: bool,
    /,
) -> bool: ...
