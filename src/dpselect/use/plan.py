"""Public. What to expect of a run before a row is read: what it would find, and how long its intervals would be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dpselect.assume.budget import DEFAULT_DELTA, Budget, Price, exact_delta, exact_epsilon, split_for_votes
from dpselect.assume.power import expected_false, too_short
from dpselect.assume.queries import FamilyName, RoundsPlan
from dpselect.assume.recipe import Choice, Method, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT, Column
from dpselect.assume.variables import Binary, Count, Numeric
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import StudyError
from dpselect.randomize.noisy_moments import NoisyMoments, weighted_integers
from dpselect.randomize.rounds_noise import whole_mu
from dpselect.rehearse.planning.outlook import STEPS, Outlook
from dpselect.rehearse.planning.plan import Plan
from dpselect.rehearse.planning.scenarios import Scenario, layout_of, typical
from dpselect.rehearse.planning.study_scale import likely_models, spread_of, supposed_moments, supposed_products
from dpselect.rehearse.planning.supposed import three_digits
from dpselect.release.equations.findings import Finding, findings, fit
from dpselect.release.equations.problem import problem
from dpselect.release.families import family_for
from dpselect.release.linear import MomentPlan, plan_moments
from dpselect.release.rounds.facts import MIN_NU, ExpectedLength, expected_length, facts_of
from dpselect.release.units import beyond_range, user_scale
from dpselect.report.phrases import are_long, false_findings, length_sentence, no_directions, other_lengths
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
    directions: str = ""
    """One sentence where a selection by votes tells no directions."""

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
        notes = [each for each in (self.short, self.counted, self.directions) if each]
        if self.intervals is not None and self.intervals.sentence:
            notes.append(self.intervals.sentence)
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
    split: tuple[Price, Price] | None = None,
    family: FamilyName | None = None,
    effects: Sequence[float] | None = None,
    deviation: float | None = None,
    wanted: float = 0.8,
    progress: Callable[[float], None] | None = None,
) -> Planned:
    """Estimate what `analyze` would find, or with `choice_only` what `select` would. No row is read.

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
    split, family : optional
        As in `analyze`.
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
    shares = None if split is None else (float(split[0]), float(split[1]))
    supposed = Supposing(r2, choice_only, effects, deviation, wanted, None if delta is None else str(delta), shares)
    found = METHODS[Choice(method).method].plan(study, rows, price, supposed, progress)
    if not isinstance(found, Outlook):
        return Planned(study, found, None)
    recipe = make_recipe(study, Choice(method), rows=rows, epsilon=str(found.choice_epsilon))
    about: dict[str, Any] = {"false": expected_false(recipe), "short": too_short(recipe) or ""}
    about["directions"] = "" if recipe.directions else no_directions(estimated=not choice_only)
    if choice_only or study.is_sample or isinstance(found.rule, WideRule):
        return Planned(study, found, None, **about)
    slack = float(exact_delta(DEFAULT_DELTA if delta is None else delta))
    asked: dict[str, Any] = {"r2": r2, "split": shares, "family": family, "selected": found.selected}
    lengths = expected_intervals(study, rows=rows, epsilon=price, delta=slack, **asked)
    return Planned(study, found, lengths, **about)


def little_is_seen(planned: Planned) -> bool:
    """Whether a run of both parts would show little: a poor selection, or intervals that mostly hide effects."""
    lengths = planned.intervals
    if not isinstance(planned.found, Outlook) or lengths is None or lengths.noise != "gaussian":
        return False
    return not planned.found.works or are_long(lengths.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedIntervals:
    """Public. The lengths of 95% intervals to expect, in a model of so many `coefficients`.

    `times` is how many times as long as without privacy they would be, in quartiles, if about `selected` terms were selected; None
    where nothing would be estimated, or where moments answer. `by_selected` has its middle for every number of terms: that of a run
    is known only afterwards, and matters most. `terms` has each slope's name and its length in the user's units; None where the
    price could not show it, and then the size that could have been seen, or None where none could. `by_rows` and `by_epsilon` have
    the length of the slope `shown` at other numbers of rows and prices. Without stated ranges there is no unit, and no term.
    """

    epsilon: float
    delta: float
    noise: str
    supposed: str
    times: ExpectedLength | None
    coefficients: int
    terms: tuple[tuple[str, float | None, float | None], ...]
    shown: str
    by_rows: tuple[tuple[float, float | None], ...]
    by_epsilon: tuple[tuple[float, float | None], ...]
    selected: int | None = None
    by_selected: tuple[tuple[int, float | None], ...] = ()

    @property
    def sentence(self) -> str:
        """How long intervals would be, for people: in the model that is expected, in one of half its terms, and in that of all."""
        if self.noise != "gaussian":
            return ""
        return " ".join(each for each in (length_sentence(self.times, self.selected), self._others) if each)

    @property
    def _others(self) -> str:
        if self.selected is None or self.times is None:
            return ""
        middles = dict(self.by_selected)
        half, every = self.selected // 2, max(middles)
        fewer = None if half < 1 or (length := middles[half]) is None else (half, length)
        return other_lengths(fewer, None if every == self.selected else (every, middles[every]))

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
        times = self.times and {"times": self.times.middle, "times_low": self.times.low, "times_high": self.times.high}
        return asdict(self) | {"terms": terms, "seen": self.seen} | (times or {})


def two_digits(value: float) -> str:
    """A forecast is no better than that."""
    return three_digits(float(f"{value:.2g}"))


def price_of_estimate(study: Study, epsilon: float, split: tuple[float, float] | None = None) -> float:
    """What of epsilon `analyze` leaves for the estimate."""
    if split is None:
        split = split_for_votes(rows=study.expected_rows, columns=len(study.columns), epsilon=str(epsilon))
    return float(Budget(str(epsilon), 0).split(*map(str, split))[1].epsilon)


def expected_intervals(
    study: Study,
    *,
    rows: int,
    epsilon: float,
    delta: float = 0.0,
    r2: float | None = None,
    split: tuple[float, float] | None = None,
    family: FamilyName | None = None,
    selected: float | None = None,
) -> ExpectedIntervals | None:
    """How long the intervals of `analyze` would be, if about so many terms were `selected`; None where it would give none.

    By rounds they are what real tables had at the same nu (`release.rounds.facts`) times what the same rows would give without
    privacy. Without a delta they are those of a release from moments whose noise happened to be zero: the law of the noise makes
    their length, not the draw.
    """
    kind = family_for(study, family, delta=str(delta))
    scenario = typical(layout_of(study), r2)
    if kind.reads_rows:
        return _by_rounds(study, scenario, rows, epsilon, delta, split, kind.name, selected)
    return _from_moments(study, scenario, rows, epsilon, split)


def _by_rounds(
    study: Study,
    scenario: Scenario,
    rows: int,
    epsilon: float,
    delta: float,
    split: tuple[float, float] | None,
    family: FamilyName,
    selected: float | None,
) -> ExpectedIntervals:
    expected = None if selected is None else max(1, round(selected))
    columns = _likely_columns(study, scenario, expected)
    plain = {
        column.name: own
        for column in study.columns
        if (own := length_without_privacy(study, column, scenario.r2, family)) is not None
    }

    def times(count: float, price: float, places: tuple[int, ...] = columns) -> ExpectedLength | None:
        part = price_of_estimate(study, price, split)
        plan = RoundsPlan(study=study, columns=places, family=family, rows=round(count), mu=whole_mu(part, delta))
        return None if facts_of(plan).nu < MIN_NU else expected_length(plan)

    by_selected = []
    for terms in range(1, len(scenario.layout.widths) + 1):
        found = times(rows, epsilon, _likely_columns(study, scenario, terms))
        by_selected.append((terms, found and found.middle))

    def length(name: str, count: float, price: float) -> float | None:
        factor = times(count, price)
        return None if factor is None else factor.middle * plain[name] / math.sqrt(count)

    shown = next(iter(plain), "")
    return ExpectedIntervals(
        epsilon=price_of_estimate(study, epsilon, split),
        delta=delta,
        noise="gaussian",
        supposed=scenario.words,
        times=times(rows, epsilon),
        coefficients=len(columns),
        terms=tuple((name, length(name, rows, epsilon), None) for name in plain),
        shown=shown,
        by_rows=tuple((round(rows * k), length(shown, rows * k, epsilon)) for k in STEPS if shown and rows * k >= 2),
        by_epsilon=tuple((epsilon * k, length(shown, rows, epsilon * k)) for k in STEPS if shown),
        selected=expected,
        by_selected=tuple(by_selected),
    )


def _likely_columns(study: Study, scenario: Scenario, selected: int | None) -> tuple[int, ...]:
    """The columns of a model of so many terms, or of as many as have an effect; what is always in is in."""
    acting, others = likely_models(study, scenario)
    every = tuple(dict.fromkeys([*acting, *others]))
    if selected is None:
        return acting
    widths = layout_of(study).widths
    always = len(every) - sum(widths)
    count = always + max(1, round(selected * sum(widths) / max(len(widths), 1)))
    return tuple(sorted(every[:count]))


ALONG = 1.15
"""By so much intervals are longer than those of independent columns, as correlations of .3 make them."""
RARE_ODDS = 1 / math.sqrt(0.25 * 0.75)
"""What a log odds' deviation is to a column's where a quarter says yes."""


def length_without_privacy(study: Study, column: Column, r2: float, family: FamilyName) -> float | None:
    """The length of a 95% interval of one row; of n rows it is that over sqrt n. None where no range says what a unit is."""
    variables = {variable.name: variable for variable in study.predictors}
    spreads = [spread_of(variables[factor.variable]) for factor in column.factors]
    if not spreads or any(spread is None for spread in spreads) or family == "poisson":
        return None  # rates depend on how large counts are, which limits do not say
    noise = RARE_ODDS if family == "binomial" else spread_of(study.response)
    if noise is None:
        return None
    spread = math.prod(each for each in spreads if each is not None)
    return 2 * 1.96 * ALONG * noise * (1.0 if family == "binomial" else math.sqrt(1 - r2)) / spread


def _from_moments(
    study: Study, scenario: Scenario, rows: int, epsilon: float, split: tuple[float, float] | None
) -> ExpectedIntervals | None:
    if study.unbounded or isinstance(study.response, Count):
        return None
    columns, others = _with_slopes(study, *likely_models(study, scenario))
    here = _Supposed(study, columns, scenario, split)
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
        epsilon=price_of_estimate(study, epsilon, split),
        delta=0.0,
        noise=here.plan(epsilon).noise.scale.noise,
        supposed=scenario.words,
        times=None,
        coefficients=len(columns),
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
    split: tuple[float, float] | None

    def plan(self, epsilon: float) -> MomentPlan:
        """All about the estimate of the terms with an effect, from moments."""
        price = str(price_of_estimate(self.study, epsilon, self.split))
        return plan_moments(self.study, self.columns, epsilon=price, delta="0")

    def found(self, rows: int, epsilon: float, only: set[str] | None = None) -> dict[str, Finding]:
        """What would be found of each coefficient, or of some, in the user's units."""
        plan, columns = self.plan(epsilon), self.columns
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
