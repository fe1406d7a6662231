"""Public. Units and nouns in the sentences of a result: one or many, with an amount, by tens.

A unit may itself be an amount, such as $1,000: then it is counted in what it is an amount of.
"""

from __future__ import annotations

import re

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary
from dpselect.report.numbers import TIMES, two_digits

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
