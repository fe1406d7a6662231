from typing import Any

def add_leads(
    gram: Any,
    ridges: Any,
    steep: Any,
    mean: Any,
    weight: Any,
    members: Any,
    starts: Any,
    forced: Any,
    leads: Any,
    size: int,
    sweeps: int,
    fewest: int,
    /,
) -> None: ...
