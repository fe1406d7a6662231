from typing import Any

def votes_of(
    sums: Any,
    votes: Any,
    width: int,
    centred: bool,
    with_intercept: bool,
    least: float,
    ridge: float,
    /,
) -> None: ...
