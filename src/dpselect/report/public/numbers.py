"""Numbers as people read them: enough digits to act on, no more."""

from __future__ import annotations

import math
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 4) -> str:
    """Four significant digits, thousands separated from five digits on (a year is no thousand), a true minus sign."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 9:
        return f"{value:.{digits - 1}e}".replace("-", MINUS)
    text = f"{value:{',' if size >= 4 else ''}.{max(digits - 1 - size, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS)


def span(lower: float | None, upper: float | None) -> str:
    """An interval; an end that is None is open, and said to be."""
    if lower is None and upper is None:
        return "open on both sides"
    if lower is None or upper is None:
        return f"below {number(upper)}, open" if upper is not None else f"above {number(lower or 0.0)}, open"
    return f"{number(lower)} to {number(upper)}"


def significant(value: float, digits: int) -> float:
    """A value rounded to so many significant digits, for the ticks of an axis."""
    return float(f"{value:.{digits - 1}e}")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that cover [low, high]: multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    rough = span / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def ratio_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round ratios that cover [low, high] evenly by their logarithms: 1, 2 and 5 times powers of ten, or fewer; 1 among them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 1.2, 1.5, 2, 3, 5, 7), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return inside
    step = math.ceil((last - first + 1) / most)
    return [10.0**power for power in range(first, last + 1) if power % step == 0 and low <= 10.0**power <= high]


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
