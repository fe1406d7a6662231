from typing import Any

def add_sums(
    lines: Any,
    places: Any,
    centers: Any,
    factors: Any,
    constant: bool,
    response: Any,
    shares: Any,
    means: Any,
    roots: Any,
    questions: tuple[tuple[Any, ...], ...],
    lanes: int,
    /,
) -> None: ...
def add_bins(
    lines: Any,
    places: Any,
    edges: Any,
    starts: Any,
    firsts: Any,
    inverses: Any,
    weights: Any,
    sums: Any,
    lanes: int,
    /,
) -> None: ...
