"""Private. What the rounds of an estimate would find, rehearsed: the same path and the same sums, with noise that protects nothing.

Confidential: computed from the rows. Given made-up rows (`use.plan`) the same code is a forecast from public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np

from dpselect.assume.lemmas.rounds import query_sensitivity
from dpselect.assume.queries import Answer, Ask, Query
from dpselect.assume.study import Study
from dpselect.gather.rounds import RoundSummary, Sums
from dpselect.randomize.rounds_noise import Answered, Draw, noise_worth, released_numbers

REHEARSED_RELEASES = 20
"""Releases that chances are counted in: a chance of one half is off by .11 in most looks."""


class Found(Protocol):
    """Public. What a path ends in: names, and a finding with two ends for each."""

    names: tuple[str, ...]
    findings: tuple[Any, ...]


Path = Callable[[], Generator[Ask, Answer, Any]]
Again = Callable[[RoundSummary], Sums]


@dataclass(frozen=True, slots=True, repr=False)
class EffectPreview:
    """Private. What to expect of one coefficient: the chance that it is told from zero, and the middle of many intervals.

    `lower` and `upper` are medians over rehearsed releases, None where half of them had no end there.
    """

    name: str
    told: float
    lower: float | None
    upper: float | None

    def __repr__(self) -> str:
        return f"EffectPreview({self.name!r}, values=<private>)"

    @property
    def length(self) -> float | None:
        """Of the interval in the middle."""
        return None if self.lower is None or self.upper is None else self.upper - self.lower


@dataclass(frozen=True, slots=True, repr=False)
class Setting:
    """Private. What a run would give at a privacy cost of which the share `selection` pays for the selection.

    The `share` of R^2 that is kept, None where it was not computed, and how many of so many `slopes` are expected to be `clear`.
    """

    epsilon: float
    selection: float
    share: float | None
    clear: float
    slopes: int

    def __repr__(self) -> str:
        return "Setting(values=<private>)"


def rehearse_effects(
    path: Path,
    again: Again,
    study: Study,
    *,
    releases: int = REHEARSED_RELEASES,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> tuple[EffectPreview, ...]:
    """Walk the path again and again, each time with other noise; `again` gives what a summary of all rows comes to."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(releases):
        step()
        found.append(_walk(path, again, study, rng))
    return tuple(_preview(place, name, found) for place, name in enumerate(found[0].names))


def _walk(path: Path, again: Again, study: Study, rng: np.random.Generator) -> Found:
    walk = path()
    try:
        ask = next(walk)
        while True:
            sums = again(RoundSummary(study, [query for query, _ in ask]))
            answered = (_answer(query, own, study, mu, rng) for (query, mu), own in zip(ask, sums, strict=True))
            ask = walk.send(tuple(each.noisy() for each in answered))
    except StopIteration as end:
        result: Found = end.value
        return result


def _answer(query: Query, sums: tuple[int, ...], study: Study, mu: float, rng: np.random.Generator) -> Answered:
    """An answer with the noise of a release in its size, not in its source."""
    sensitivity = query_sensitivity(query, study)
    spread, rho = noise_worth(sensitivity, mu)
    numbers = released_numbers(query, sums, study)
    noise = rng.normal(0.0, spread, len(numbers)).tolist()
    values = tuple(number + round(each) for number, each in zip(numbers, noise, strict=True))
    return Answered(query, Draw(values, spread, sensitivity, rho))


def _preview(place: int, name: str, found: list[Found]) -> EffectPreview:
    ends = [(each.findings[place].lower, each.findings[place].upper) for each in found]
    told = sum(_excludes_zero(*pair) for pair in ends) / len(ends)
    lower, upper = (_middle([pair[side] for pair in ends]) for side in (0, 1))
    return EffectPreview(name, told, lower, upper)


def _excludes_zero(lower: float | None, upper: float | None) -> bool:
    return lower is not None and upper is not None and (lower > 0 or upper < 0)


def _middle(ends: list[float | None]) -> float | None:
    """The median, an end that is missing counting as infinite."""
    known = [math.inf if end is None or not math.isfinite(end) else end for end in ends]
    middle = median(known)
    return middle if math.isfinite(middle) else None
