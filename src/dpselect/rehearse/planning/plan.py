"""Public. A plan of the paper's methods: the chance of the right model, and the settings to state, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dpselect.assume.budget import Neighbors
from dpselect.assume.candidates import Subsets, candidates_for
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.rehearse.planning.options import Option, Search
from dpselect.rehearse.planning.supposed import Facts, Supposed, suppose
from dpselect.rehearse.simulate import SEED

CLOSE = 0.97
"""Options with this share of the best chance are as good, and among them wide bounds need the least trust in what is supposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Public. The chances of every option, the recommended one, how it fares at other prices and sizes, and what is needed."""

    facts: Facts
    supposed: str
    recommended: Option
    defaults: Option
    options: tuple[Option, ...]
    by_epsilon: tuple[tuple[float, float], ...]
    by_rows: tuple[tuple[int, float], ...]
    wanted: float
    rows_needed: int | None
    epsilon_needed: float | None

    @property
    def works(self) -> bool:
        """Whether the recommended option reaches the wanted chance."""
        return self.recommended.chance >= self.wanted

    @property
    def verdict(self) -> str:
        """One sentence."""
        n, epsilon = self.facts.rows, self.facts.epsilon
        if self.works:
            chance = f"{self.recommended.chance:.2f}"
            return f"At n = {n:,} and epsilon = {epsilon:g} the right model is found with a chance of {chance}."
        rows = "no table is long enough" if self.rows_needed is None else f"you need n of about {self.rows_needed:,}"
        price = "" if self.epsilon_needed is None else f", or epsilon of about {self.epsilon_needed:.2g}"
        return (
            f"At n = {n:,} and epsilon = {epsilon:g} nothing works (a chance of {self.recommended.chance:.2f} at best): "
            f"{rows}{price}, for a chance of {self.wanted:g}."
        )

    def __str__(self) -> str:
        lines = [
            self.verdict,
            f"Supposed: {self.supposed}.",
            f"Recommended: {self.recommended}",
            f"Defaults:    {self.defaults}",
        ]
        return "\n".join([*lines, "All options:", *(f"  {option}" for option in self.options)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"verdict": self.verdict, "works": self.works}


def plan(
    *,
    rows: int,
    epsilon: float,
    columns: int | None = None,
    r: float = 1.0,
    supposed: Supposed | None = None,
    delta: float = 1e-6,
    neighbors: Neighbors = "replace-one",
    wanted: float = 0.8,
    seed: int = SEED,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """The chance of the right model for each method, mechanism, radius, bound and penalty, and the best of them.

    Nothing here reads private rows.

    Parameters
    ----------
    rows : int
        How many rows there will be.
    epsilon : float
        The price.
    columns : int, optional
        How many columns compete; not needed where something is supposed.
    r : float, optional
        Half the response's stated range.
    supposed : Supposed, optional
        From `suppose` (effects and noise) or `suppose_sample`; a standard one, if left out.
    delta : float, optional
        The delta of "pcpl".
    neighbors : "replace-one" or "add-remove-one", optional
        Which tables are neighbours.
    wanted : float, optional
        The chance of the right model that is enough.
    seed : int, optional
        Of the made-up rows.
    progress : callable, optional
        Told the share that is done.

    Returns
    -------
    Plan
    """
    facts = Facts(rows=rows, epsilon=epsilon, r=r, delta=delta, neighbors=neighbors)
    if supposed is None:
        if columns is None:
            raise StudyError("A plan needs the number of columns, or what is supposed about the rows.")
        supposed = suppose(columns, r)
    # If the right model is the empty one it must compete, or no method could ever be right.
    if supposed.truth == 0:
        facts = replace(facts, empty=True)
    tell = progress or (lambda share: None)
    search = Search(supposed, facts, seed)
    options = list(search.options(tell))
    best = recommended(options)
    short = best.chance < wanted
    # Each is a search of its own over whole plans, so it is begun only for who would be told the answer.
    more_rows = search.rows_needed(wanted) if short else None
    more_epsilon = search.epsilon_needed(wanted) if short else None
    tell(0.8)
    by_epsilon = tuple((e, search.chance(best, rows, e)) for e in _around(epsilon, more_epsilon))
    tell(0.9)
    sizes = sorted({min(2**32, max(10, round(n))) for n in _around(rows, more_rows)})
    by_rows = tuple((n, search.chance(best, n, epsilon)) for n in sizes)
    made = Plan(
        facts=facts,
        supposed=supposed.words,
        recommended=best,
        # The option without any advice: the penalty of the default formula, and the stated range as bound and radius.
        defaults=next(o for o in options if o.multiple is None and o.upper == o.radius == r),
        options=tuple(sorted(options, key=lambda option: -option.chance)),
        by_epsilon=by_epsilon,
        by_rows=by_rows,
        wanted=wanted,
        rows_needed=more_rows,
        epsilon_needed=more_epsilon,
    )
    tell(1.0)
    return made


def plan_study(
    study: Study,
    *,
    rows: int,
    epsilon: float,
    effects: Sequence[float] | None = None,
    deviation: float | None = None,
    delta: float = 1e-6,
    wanted: float = 0.8,
    seed: int = SEED,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """The plan for a study: its number of terms, the range of its response and its neighbours; effects on columns in [-1, 1].

    Parameters
    ----------
    study : Study
        What is stated.
    rows : int
        How many rows there will be.
    epsilon : float
        The price.
    effects : sequence of float, optional
        Supposed effects, in units of the response; see `suppose`.
    deviation : float, optional
        The supposed standard deviation of the noise.
    delta : float, optional
        The delta of "pcpl".
    wanted : float, optional
        The chance of the right model that is enough.
    seed : int, optional
        Of the made-up rows.
    progress : callable, optional
        Told the share that is done.

    Returns
    -------
    Plan
    """
    # Terms, not columns: a category's columns come and go together, so 2^terms models compete.
    terms = max(1, candidates_for(study, Subsets(empty=True)).count.bit_length() - 1)
    return plan(
        rows=rows,
        epsilon=epsilon,
        r=study.r,
        supposed=suppose(terms, study.r, effects, deviation),
        delta=delta,
        neighbors=study.neighbors,
        wanted=wanted,
        seed=seed,
        progress=progress,
    )


def recommended(options: list[Option]) -> Option:
    """Of the options that are nearly the best, the one with the widest bounds; then the one with the best chance."""
    best = max(option.chance for option in options)
    near = [option for option in options if option.chance >= CLOSE * best]
    return max(near, key=lambda option: (option.upper - option.lower, option.chance))


def _around(value: float, needed: float | None) -> list[float]:
    """Eleven values from an eighth to eight times the value, or to a little past what is needed; the value is one of them."""
    high = max(8 * value, 1.6 * (needed or 0.0))
    below = [value / 8 * 8 ** (k / 5) for k in range(5)]
    return [*below, *(value * (high / value) ** (k / 5) for k in range(6))]
