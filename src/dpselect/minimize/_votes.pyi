from typing import Any

def votes_of(
    sums: Any,
    votes: Any,
    width: int,
    centred: bool,
    with_intercept: bool,
    least: float,
    dead_zone: float,
    ridge: float,
    /,
) -> None: ...
