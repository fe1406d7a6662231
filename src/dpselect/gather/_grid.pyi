from typing import Any

def put_rows(
    columns: tuple[Any, ...], start: int, stop: int, middles: Any, scales: Any, grid: float, out: Any, /
) -> bool: ...
