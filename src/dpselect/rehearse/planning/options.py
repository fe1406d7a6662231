"""Public. A plan of the paper's methods: every way to run them, on the same supposed tables, and the chance of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from dpselect.assume.penalty import profile_penalty
from dpselect.assume.recipe import MECHANISMS, Mechanism
from dpselect.rehearse.planning.supposed import Bench, Drawn, Facts, Supposed, bench, draw_supposed, three_digits

CLIPS = (1.0, 0.5, 0.25, 0.125)
RADII = (0.5, 1.0, 1.5, 2.0)
MULTIPLES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Public. One way to run the selection, and the chance that it finds the right model if what is supposed is so.

    Bounds, radius and penalty are in units of the response, the bounds about the middle of the stated ones.
    """

    method: str
    mechanism: Mechanism
    lower: float
    upper: float
    radius: float
    penalty: float
    multiple: float | None
    chance: float

    def __str__(self) -> str:
        clip = f"{three_digits(self.lower)} to {three_digits(self.upper)}"
        penalty = "default" if self.multiple is None else three_digits(self.penalty)
        how = f"{self.method} {self.mechanism:16}  clip {clip}, radius {three_digits(self.radius)}, penalty {penalty}"
        return f"{self.chance:5.2f}  {how}"


class Search:
    """Public. Rehearses options on the same supposed tables."""

    def __init__(self, supposed: Supposed, facts: Facts, seed: int) -> None:
        self._facts = facts
        # About 2^14 losses a radius: seconds at any number of columns.
        self._count = min(100, max(16, (1 << 14) >> supposed.width))
        self._tables = cache(lambda rows: draw_supposed(supposed, rows, self._count, seed))

    def options(self, tell: Callable[[float], None]) -> Iterator[Option]:
        """Every option: bounds, radii and penalties with permute-and-flip, then the best one's variants."""
        facts, drawn = self._facts, self._tables(self._facts.rows)
        found: list[Option] = []
        for k, clip in enumerate(CLIPS):
            bounds = (-clip * facts.r, clip * facts.r)
            for each in bench(drawn, facts, *bounds, RADII):
                found += self._penalties(each, bounds)
            tell(0.7 * (k + 1) / (len(CLIPS) + 1))
        yield from found
        yield from self._variants(max(found, key=lambda option: option.chance), drawn)
        tell(0.7)

    def _penalties(self, each: Bench, bounds: tuple[float, float]) -> list[Option]:
        """The option with the default penalty, and the one with the best multiple of the noise."""
        best = max(MULTIPLES, key=lambda multiple: each.pcls(self._facts.epsilon, multiple))
        return [self._option(each, bounds, multiple) for multiple in (None, best)]

    def _option(self, each: Bench, bounds: tuple[float, float], multiple: float | None) -> Option:
        epsilon, half = self._facts.epsilon, (bounds[1] - bounds[0]) / 2
        return Option(
            method="pcls",
            mechanism="permute-and-flip",
            lower=bounds[0],
            upper=bounds[1],
            radius=each.rho * half,
            penalty=each.penalty(epsilon, multiple) * half**2,
            multiple=multiple,
            chance=each.pcls(epsilon, multiple),
        )

    def _variants(self, best: Option, drawn: Drawn) -> Iterator[Option]:
        """The best option with the other mechanisms, and with Algorithm 2."""
        half = (best.upper - best.lower) / 2
        (each,) = bench(drawn, self._facts, best.lower, best.upper, (best.radius / half,))
        for mechanism in MECHANISMS:
            if mechanism != best.mechanism:
                chance = each.pcls(self._facts.epsilon, best.multiple, mechanism)
                yield replace(best, mechanism=mechanism, chance=chance)
        if self._facts.neighbors == "replace-one":
            yield from self._profiles(best, drawn)

    def _profiles(self, best: Option, drawn: Drawn) -> Iterator[Option]:
        n, delta, epsilon = self._facts.rows, self._facts.delta, self._facts.epsilon
        half = (best.upper - best.lower) / 2
        for each in bench(drawn, self._facts, best.lower, best.upper, RADII):
            default = profile_penalty(each.rho, each.sizes.size, epsilon / 2, n, delta)
            for penalty, multiple in ((default, None), (math.log(n), 0.0)):
                chance = each.pcpl(epsilon, delta, penalty)
                yield replace(
                    best, method="pcpl", radius=each.rho * half, penalty=penalty, multiple=multiple, chance=chance
                )

    def chance(self, option: Option, rows: int, epsilon: float) -> float:
        """The chance of an option like this one at another size and price, or of a typical one if that is better there."""
        return max(self._like(option, rows, epsilon), self.best(rows, epsilon))

    def _like(self, option: Option, rows: int, epsilon: float) -> float:
        """The option's own method, mechanism, bounds and radius; its penalty, or another multiple if that is better there."""
        facts, half = replace(self._facts, rows=rows, epsilon=epsilon), (option.upper - option.lower) / 2
        (each,) = bench(self._tables(rows), facts, option.lower, option.upper, (option.radius / half,))
        if option.method == "pcpl":
            default = profile_penalty(each.rho, each.sizes.size, epsilon / 2, rows, facts.delta)
            return each.pcpl(epsilon, facts.delta, default if option.multiple is None else math.log(rows))
        multiples = {None, option.multiple, *MULTIPLES[2::2]}
        return max(each.pcls(epsilon, multiple, option.mechanism) for multiple in multiples)

    def _chance(self, rows: int, epsilon: float, bounds: tuple[float, float], rho: float) -> float:
        facts = replace(self._facts, rows=rows, epsilon=epsilon)
        (each,) = bench(self._tables(rows), facts, *bounds, (rho,))
        return max(each.pcls(epsilon, multiple) for multiple in (None, *MULTIPLES[2::2]))

    def best(self, rows: int, epsilon: float) -> float:
        """The best chance among a few typical options."""
        r = self._facts.r
        typical = [((-r, r), 1.0), ((-r / 4, r / 4), 1.5)]
        return max(self._chance(rows, epsilon, *each) for each in typical)

    def rows_needed(self, wanted: float) -> int | None:
        """Rows, to two digits, from which some option reaches the wanted chance."""
        rows = _least(lambda n: self.best(round(n), self._facts.epsilon) >= wanted, self._facts.rows, 2.0**32)
        return None if rows is None else int(round(rows, 1 - math.floor(math.log10(rows))))

    def epsilon_needed(self, wanted: float) -> float | None:
        """Epsilon from which some option reaches the wanted chance; None if 100 is too little."""
        return _least(lambda e: self.best(self._facts.rows, e) >= wanted, self._facts.epsilon, 100.0)


def _least(enough: Callable[[float], bool], low: float, most: float) -> float | None:
    """The least value above `low` that is enough, to five in a hundred; None if none up to `most` is."""
    high = low
    while not enough(high):
        low, high = high, high * 2
        if high > most:
            return None
    while high / low > 1.05:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
