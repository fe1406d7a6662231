"""Public. Numbers as people read them: rounded to their error, never to zero, with a sign, a true minus, and one unit or many."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
MIN_EFFECT = 0.1
"""A unit is scaled by tens until the effect is at least this."""
MIN_LOG_RATIO = 0.03
"""The same for the logarithm of a ratio: 3% higher or lower."""
MAX_DECIMALS = 7
"""A number that needs more of them is written with a power of ten."""
_WIDE = Context(prec=800)  # a double has at most 767 digits, and an edited release may hold any of them
_SUPERSCRIPTS = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")


def error_place(half: float) -> int:
    """The power of ten of the last digit that an interval of this half length supports.

    Two digits of the half length are shown if its first digit is 1 or 2, else one.
    """
    power = max(math.floor(math.log10(half)), -300)
    return power - 1 if half / 10.0**power < 3 else power


def interval_place(value: float | None, lower: float | None, upper: float | None) -> int:
    """The same for an interval that may lack ends: half of what there is of it, or else two digits of its only number."""
    if lower is not None and upper is not None and upper > lower:
        return error_place((upper - lower) / 2)
    end = lower if upper is None else upper
    if value is not None and end is not None and end != value:
        return error_place(abs(end - value))
    only = end if value is None else value
    return math.floor(math.log10(abs(only))) - 1 if only else 0


def rounded(value: float, place: int, way: str = ROUND_HALF_EVEN, *, ratio: bool = False) -> Decimal:
    """A number rounded at a power of ten; never to zero or across it unless it is zero: then one more digit is kept.

    A ratio is not rounded to 1 or across it either, where no effect is; only if it is closer than any digit that is written.
    """
    exact = Decimal(repr(float(value)))  # 0.6 is six tenths, not the double below it
    while True:
        found = exact.quantize(Decimal(1).scaleb(place, _WIDE), way, _WIDE)
        signed = not exact or (found and (found > 0) == (exact > 0))
        beside = not ratio or found.compare(1) == exact.compare(1) or -place >= MAX_DECIMALS
        if signed and beside:
            return found
        place -= 1


def written(number: Decimal, *, sign: bool = False) -> str:
    """A rounded number with all its digits, thousands separated, and a plus if asked for."""
    places = max(-int(number.as_tuple().exponent), 0)
    if places > MAX_DECIMALS or abs(number) >= Decimal("1e12"):
        digits, _, power = f"{number:.1e}".partition("e")
        text = f"{digits} {TIMES} 10{str(int(power)).translate(_SUPERSCRIPTS)}"
    else:
        text = f"{number:,.{places}f}"
    plus = "+" if sign and number > 0 else ""
    return f"{plus}{text}".replace("-", MINUS)


def estimate_text(
    value: float, lower: float | None, upper: float | None, *, sign: bool = True, ratio: bool = False
) -> str:
    """An estimate, rounded to its error."""
    return written(rounded(value, interval_place(value, lower, upper), ratio=ratio), sign=sign)


def interval_text(
    lower: float | None,
    upper: float | None,
    value: float | None = None,
    place: int | None = None,
    *,
    ratio: bool = False,
) -> str:
    """An interval whose ends are rounded outward, so that rounding never makes it shorter."""
    place = interval_place(value, lower, upper) if place is None else place
    low = None if lower is None else written(rounded(lower, place, ROUND_FLOOR, ratio=ratio))
    high = None if upper is None else written(rounded(upper, place, ROUND_CEILING, ratio=ratio))
    if low is None or high is None:
        return f"above {low}" if low else f"below {high}" if high else "unbounded"
    return f"{low} to {high}"


def unit_power(size: float, most: float | None, least: float = MIN_EFFECT) -> int:
    """By how many tens a unit is scaled so that an effect of this size is at least `least`; a unit is at most `most`."""
    power = 0
    while 0 < size * 10.0**power < least * (1 - 1e-9) and power < 12:
        if most is not None and 10.0 ** (power + 1) > most:
            break
        power += 1
    return power


def percent(share: float) -> str:
    """A share in words: whole percentages below 99%, and never 0% or 100% for what is neither."""
    if share >= 0.999:
        return "over 99.9%"
    if share >= 0.99:
        return "over 99%"
    if 0 < share < 0.001:
        return "under 0.1%"
    return f"{100 * share:.0f}%" if share >= 0.095 or share == 0 else f"{100 * share:.2g}%"


def power_of_ten(text: str) -> str:
    """A small amount as reports have it: 1e-6 as 10⁻⁶."""
    digits, _, power = text.partition("e")
    if not power:
        return text
    ten = f"10{str(int(power)).translate(_SUPERSCRIPTS)}"
    return ten if digits == "1" else f"{digits} {TIMES} {ten}"


def number(value: float, digits: int = 4) -> str:
    """A public number, such as a stated limit: so many significant digits, thousands separated from five digits on."""
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


def significant(value: float, digits: int) -> float:
    """A value rounded to so many significant digits, for the ticks of an axis."""
    return float(f"{value:.{digits - 1}e}")


def two_digits(value: float) -> str:
    """An amount that is only roughly known: two digits, thousands separated."""
    return written(Decimal(repr(significant(value, 2))).normalize(_WIDE))


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


# A unit may itself be an amount, such as $1,000: then it is counted in what it is an amount of.

_IRREGULAR = {"children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot"}
_NEVER_PLURAL = ("ss", "us", "is", "ics", "news", "series", "species", "diabetes")


def is_plural(label: str) -> bool:
    """Whether a stated label takes a plural verb: Weeks worked, Doctor visits; not Length of stay."""
    head = re.split(r" (?:of|per|in|at|for|from|on|by|with|to|a|an|the)\b|[(,:]", label)[0].lower().split()
    if len(head) > 1 and head[-1].endswith("ed"):
        head = head[:-1]
    if head and head[-1] in _IRREGULAR:
        return True
    return bool(head) and len(head[-1]) > 3 and head[-1].endswith("s") and not head[-1].endswith(_NEVER_PLURAL)


def response_unit(study: Study) -> str:
    """The unit of differences in the response; of a yes or no they are differences of chances."""
    return "percentage points" if isinstance(study.response, Binary) else study.response.unit


def range_text(limits: str, unit: str) -> str:
    """A stated range with its unit; of a unit that is itself an amount, in that."""
    if not unit:
        return limits
    return f"{limits} {unit}" if _amount_in(unit) is None else f"{limits} (in {unit})"


def with_unit(amount: str, unit: str) -> str:
    """4.6 weeks, $1,930, 12%; of a unit that is itself an amount, so many times it, as in 0.52 times $1,000."""
    if not unit:
        return amount
    if _amount_in(unit) is not None:
        return f"{amount} {TIMES} {unit}"
    if unit[0].isalpha() or unit[0] == "°":
        return f"{amount} {unit}"
    return f"{amount}{unit}" if unit == "%" else f"{unit}{amount}"


def _amount_in(unit: str) -> tuple[str, int, str] | None:
    """The parts of a unit that is itself an amount, such as $1,000."""
    found = re.match(r"(\D*?)(\d[\d,]*)(.*)", unit)
    return None if found is None else (found[1], int(found[2].replace(",", "")), found[3])


def steps_text(amount: float, unit: str) -> str:
    """An amount to two digits with its unit: 7.2 years, $37,000."""
    parts = _amount_in(unit)
    if parts is not None:
        return f"{parts[0]}{two_digits(amount * parts[1])}{parts[2]}"
    steps = two_digits(amount)
    return with_unit(steps, unit_text(unit) if steps == "1" else unit or "units")


def unit_text(unit: str, power: int = 0) -> str:
    """One unit, or ten to the power of them: year, 10 years, $10,000."""
    parts = _amount_in(unit)
    if parts is not None:
        return f"{parts[0]}{parts[1] * 10**power:,}{parts[2]}"
    if power:
        return with_unit(f"{10**power:,}", unit or "units")
    if not unit:
        return "unit"
    first, _, rest = unit.partition(" ")
    return f"{singular(first)}{f' {rest}' if rest else ''}" if unit[0].isalpha() else with_unit("1", unit)


def singular(noun: str) -> str:
    """One of what a unit names: year, for years."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if not is_plural(noun):
        return noun
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("ches", "shes", "xes")) else noun[:-1]
