"""Public. What to expect of a run before a row is read: what it would find, and how long its intervals would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import DEFAULT_DELTA, Budget, Price, exact_delta, exact_epsilon, split_for_votes
from dpselect.assume.false_findings import expected_false
from dpselect.assume.lemmas.rounds import query_sensitivity
from dpselect.assume.queries import Answer, Noisy, Query, RoundsPlan
from dpselect.assume.recipe import Choice, Method, make_recipe, too_short
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Binary, Count, Numeric
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import StudyError
from dpselect.gather.grid import MAX_CHUNK_ROWS, Cells, Chunk
from dpselect.gather.rounds import RoundSummary
from dpselect.randomize.noisy_moments import NoisyMoments, weighted_integers
from dpselect.randomize.rounds_noise import Answered, Draw, least_spread, released_numbers, whole_mu
from dpselect.rehearse.planning.outlook import STEPS, Outlook
from dpselect.rehearse.planning.plan import Plan
from dpselect.rehearse.planning.scenarios import (
    POOL,
    Floats,
    Scenario,
    layout_of,
    likely_models,
    supposed_lines,
    supposed_moments,
    supposed_products,
    typical,
)
from dpselect.rehearse.planning.supposed import three_digits
from dpselect.release.equations.findings import Finding, findings, fit
from dpselect.release.equations.problem import problem
from dpselect.release.families import family_for
from dpselect.release.linear import MomentPlan, plan_moments
from dpselect.release.rounds.found import Found
from dpselect.release.rounds.path import replay
from dpselect.release.units import beyond_range, user_scale
from dpselect.report.phrases import false_findings
from dpselect.use.methods import METHODS, Supposing
from dpselect.use.order import require_study

WIDE_COLUMNS = 12
"""Columns beyond which curves have fewer points: a plan is made in seconds."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Public. What a run is expected to find (`found`), and how long its intervals are expected to be, where it gives any."""

    study: Study
    found: Outlook | Plan
    intervals: ExpectedIntervals | None
    false: float | None = None
    """Variables that are expected to be selected where none is associated with the response."""
    short: str = ""
    """One sentence where there are too few rows for the columns."""

    @property
    def verdict(self) -> str:
        """One sentence."""
        return self.found.verdict

    @property
    def counted(self) -> str:
        """With weights, how many rows are expected to count; else nothing."""
        study = self.study
        if study.weights is None:
            return ""
        return (
            f"About {study.expected_rows:,} rows are expected to count in each random split: the population of "
            f"{study.population:,.0f} over the largest weight, {study.weight_limit:,g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        lengths = {"intervals": self.intervals and self.intervals.to_dict()} if isinstance(self.found, Outlook) else {}
        return self.found.to_dict() | lengths | ({} if self.false is None else {"expected_false": self.false})

    @property
    def notes(self) -> list[str]:
        """What goes with the verdict, one sentence each."""
        notes = [each for each in (self.short, self.counted) if each]
        return notes if self.false is None else [*notes, false_findings(self.false, self.study.response.name)]

    def __str__(self) -> str:
        words = () if self.intervals is None else self.intervals.words(self.study)
        return "\n".join(
            [self.verdict, *self.notes, *(f"Length of the interval of {name}: {length}" for name, length in words)]
        )


def plan(
    study: Study,
    *,
    rows: int | None = None,
    epsilon: Price,
    delta: Price | None = None,
    method: Method = "votes",
    r2: float | None = None,
    choice_only: bool = False,
    effects: Sequence[float] | None = None,
    deviation: float | None = None,
    wanted: float = 0.8,
    progress: Callable[[float], None] | None = None,
) -> Planned:
    """Estimate what `analyze` with its defaults would find, or with `choice_only` what `select` would. No row is read.

    Parameters
    ----------
    study : Study
        What is stated before the rows are read.
    rows : int, optional
        About how many rows there are; needed unless the study states it.
    epsilon : number or str
        The privacy cost of the run.
    delta : number or str, optional
        The delta of the run; left out, 1e-6 as in `analyze`.
    method : {"votes", "pcls", "pcpl"}, optional
        How variables are selected.
    r2 : float, optional
        Block votes: the share of the response's variance that is supposed to be explained.
    choice_only : bool, optional
        Block votes: plan a selection without effects.
    effects : list of float, optional
        "pcls" and "pcpl": the supposed effects of the variables, each scaled to [-1, 1].
    deviation : float, optional
        "pcls" and "pcpl": the supposed standard deviation of the noise.
    wanted : float, optional
        "pcls" and "pcpl": the chance of the right model to aim at.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    Planned
        What would be found, and how long the intervals would be.

    Examples
    --------
    >>> print(dpselect.plan(study, rows=5000, epsilon=1))  # doctest: +SKIP
    """
    require_study(study)
    rows = study.expected_rows if rows is None or study.weights is not None else rows
    if rows is None:
        raise StudyError("A plan needs to know about how many rows there are: give rows, such as rows=5000.")
    price = float(exact_epsilon(epsilon))
    supposed = Supposing(r2, choice_only, effects, deviation, wanted, None if delta is None else str(delta))
    found = METHODS[Choice(method).method].plan(study, rows, price, supposed, progress)
    if not isinstance(found, Outlook):
        return Planned(study, found, None)
    recipe = make_recipe(study, Choice(method), rows=rows, epsilon=str(found.choice_epsilon))
    false = expected_false(recipe)
    if choice_only or study.is_sample or isinstance(found.rule, WideRule):
        return Planned(study, found, None, false, too_short(recipe) or "")
    slack = float(exact_delta(DEFAULT_DELTA if delta is None else delta))
    return Planned(
        study,
        found,
        expected_intervals(study, rows=rows, epsilon=price, delta=slack, r2=r2),
        false,
        too_short(recipe) or "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedIntervals:
    """Public. The lengths of 95% intervals to expect in the typical scenario, if as many terms are selected as have an effect.

    `terms` has each slope's name and its length in the user's units; None where the price could not show it, and then the size that
    could have been seen, or None where none could.
    `by_rows` and `by_epsilon` have the length of the slope `shown` at other numbers of rows and prices.
    """

    epsilon: float
    delta: float
    noise: str
    supposed: str
    terms: tuple[tuple[str, float | None, float | None], ...]
    shown: str
    by_rows: tuple[tuple[float, float | None], ...]
    by_epsilon: tuple[tuple[float, float | None], ...]

    @property
    def seen(self) -> float:
        """The share of the slopes that would be estimated."""
        return sum(length is not None for _, length, _ in self.terms) / max(len(self.terms), 1)

    def words(self, study: Study) -> tuple[tuple[str, str], ...]:
        """Each slope's name and the length of its interval, as people read them."""
        response = study.response
        unit = f" of {response.name}" if isinstance(response, Numeric) else f" in the chance of {response.name}"
        if self.delta > 0 and isinstance(response, Binary):
            unit = f" in the log odds of {response.name}"

        def length_words(name: str, length: float | None, visible: float | None) -> str:
            if length is not None:
                return f"{two_digits(length)}{unit}"
            if visible is None or beyond_range(study, name, visible):
                return "hidden by noise"
            return f"hidden by noise unless above {two_digits(visible)}{unit}"

        return tuple((name, length_words(name, length, visible)) for name, length, visible in self.terms)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        terms = [{"term": name, "length": length, "visible": visible} for name, length, visible in self.terms]
        return asdict(self) | {"terms": terms, "seen": self.seen}


def two_digits(value: float) -> str:
    """A forecast is no better than that."""
    return three_digits(float(f"{value:.2g}"))


def expected_intervals(
    study: Study, *, rows: int, epsilon: float, delta: float = 0.0, r2: float | None = None
) -> ExpectedIntervals | None:
    """What `analyze` with its defaults would show; None where a bound is not stated, without which there is no unit.

    The intervals are those of a release whose noise happened to be zero: the law of the noise makes their length, not the draw.
    """
    try:
        study.require_bounds("An estimate")
    except StudyError:
        return None
    if isinstance(study.response, Count):
        return None  # rates depend on how large counts are, which limits do not say
    scenario = typical(layout_of(study), r2)
    columns, others = _with_slopes(study, *likely_models(study, scenario))
    here = _Supposed(study, columns, scenario, delta)
    found = here.found(rows, epsilon)
    if others:
        idle = {study.columns[place].name for place in others if place not in columns}
        found |= replace(here, columns=others).found(rows, epsilon, idle)
    places = {column.name: place for place, column in enumerate(study.columns)}
    found = {name: found[name] for name in sorted(found, key=lambda name: places.get(name, -1))}
    terms = tuple(
        (name, None if each.value is None else each.upper - each.lower, each.visible)
        for name, each in found.items()
        if name != INTERCEPT
    )
    if not terms:
        return None
    steps = STEPS if len(columns) <= WIDE_COLUMNS else STEPS[1:-1]
    slopes = [each for each in terms if places[each[0]] in columns]
    shown, now = slopes[0][:2]

    def length(count: int, price: float) -> float | None:
        if (count, price) == (rows, epsilon):
            return now
        one = here.found(count, price, {shown})[shown]
        return None if one.value is None else one.upper - one.lower

    return ExpectedIntervals(
        epsilon=here.price(rows, epsilon),
        delta=delta,
        noise="gaussian" if here.by_rounds else here.plan(rows, epsilon).noise.scale.noise,
        supposed=scenario.words,
        terms=terms,
        shown=shown,
        by_rows=tuple((round(rows * k), length(round(rows * k), epsilon)) for k in steps if rows * k >= 2),
        by_epsilon=tuple((epsilon * k, length(rows, epsilon * k)) for k in steps),
    )


def _with_slopes(
    study: Study, columns: tuple[int, ...], others: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """An intercept that competes may be all that acts, and has no slope: the other model takes its place."""
    if others and all(study.columns[place].name == INTERCEPT for place in columns):
        return others, ()
    return columns, others


@dataclass(frozen=True)
class _Supposed:
    """Public. A study and what is supposed about its rows."""

    study: Study
    columns: tuple[int, ...]
    scenario: Scenario
    delta: float

    @property
    def by_rounds(self) -> bool:
        """Whether `analyze` would estimate by rounds."""
        return self.delta > 0

    def price(self, rows: int, epsilon: float) -> float:
        """What of epsilon `analyze` leaves for the estimate by default."""
        study = self.study
        split = split_for_votes(rows=study.expected_rows, columns=len(study.columns), epsilon=str(epsilon))
        return float(Budget(str(epsilon), 0).split(*split)[1].epsilon)

    def plan(self, rows: int, epsilon: float) -> MomentPlan:
        """All about the estimate of the terms with an effect, from moments."""
        price = str(self.price(rows, epsilon))
        return plan_moments(self.study, self.columns, epsilon=price, delta=str(self.delta))

    def found(self, rows: int, epsilon: float, only: set[str] | None = None) -> dict[str, Finding]:
        """What would be found of each coefficient, or of some, in the user's units."""
        if self.by_rounds:
            found = self._rounds(rows, epsilon)
            named = zip(found.names, found.findings, strict=True)
            return {name: each for name, each in named if only is None or name in only}
        plan, columns = self.plan(rows, epsilon), self.columns
        sums = supposed_moments(self.study, supposed_products(self.study, self.scenario), rows)
        noisy = NoisyMoments(
            layout=plan.layout,
            noise=plan.noise,
            values=tuple(weighted_integers(sums, plan.layout, plan.noise.scale)),
            known_rows=rows if plan.layout.neighbors == "replace-one" else None,
        )
        scale = user_scale(self.study, columns)
        kept = [k for k, name in enumerate(scale.names) if scale.matrix[k].any() and (only is None or name in only)]
        made = findings(fit(problem(noisy, columns)), scale.matrix[kept], level=0.95)
        return {scale.names[k]: each for k, each in zip(kept, made, strict=True)}

    def _rounds(self, rows: int, epsilon: float) -> Found:
        """The path of rounds, answered from the supposed rows as if there were so many of them."""
        mu = whole_mu(self.price(rows, epsilon), self.delta)
        kind = family_for(self.study, None, delta=str(self.delta))
        plan = RoundsPlan(study=self.study, columns=self.columns, family=kind.name, rows=rows, mu=mu)
        answers: list[Answer] = []
        while not isinstance(ask := replay(plan, answers), Found):
            summary = RoundSummary(self.study, [query for query, _ in ask])
            for start in range(0, POOL, MAX_CHUNK_ROWS):
                own = self._lines[:, start : start + MAX_CHUNK_ROWS]
                summary.add(Chunk({}, own.shape[1], _Lines(own)))
            sums = zip(ask, summary.result(), strict=True)
            answers.append(tuple(self._expected(query, own, mu, rows) for (query, mu), own in sums))
        return ask

    @cached_property
    def _lines(self) -> Floats:
        return supposed_lines(self.study, self.scenario)

    def _expected(self, query: Query, sums: tuple[int, ...], mu: float, rows: int) -> Noisy:
        """An answer whose noise happens to be zero, and has the law that it would have."""
        many = tuple(round(each * rows / POOL) for each in sums)
        sensitivity = query_sensitivity(query, self.study)
        spread, rho = least_spread(sensitivity, mu)
        return Answered(query, Draw(tuple(released_numbers(query, many)), spread, sensitivity, rho)).noisy()


class _Lines:
    """Public. Supposed rows in the place of a design."""

    def __init__(self, lines: Floats) -> None:
        self._lines, self.order = lines, np.arange(len(lines))
        self.left_out: NDArray[np.bool_] | None = None

    def chunk(self, cells: Cells, start: int, stop: int) -> Floats:
        """The rows as they are."""
        return self._lines[:, start:stop]
