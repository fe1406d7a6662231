"""Public. A plan of block votes: what a run would find in several scenarios, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from dpselect.assume.budget import split_for_votes
from dpselect.assume.candidates import candidates_for
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.penalty import loss_penalty
from dpselect.assume.recipe import held_votes
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import VoteRule, deals_equally, vote_rule
from dpselect.assume.wide_rule import WideRule, looks_again, wide_rule
from dpselect.errors import StudyError
from dpselect.rehearse.chances.scores import selection_probabilities
from dpselect.rehearse.planning.forecast import (
    DRAWS,
    Forecast,
    Held,
    Worth,
    bic_model,
    blur,
    expected_forecast,
    forecast,
    lone_votes,
    mean_votes,
    votes_to_chances,
)
from dpselect.rehearse.planning.scenarios import (
    Layout,
    Scenario,
    layout_of,
    scenarios_of,
    typical,
)
from dpselect.rehearse.planning.study_scale import in_own_units
from dpselect.rehearse.planning.wide_forecast import (
    WideHeld,
    WideScenario,
    smallest_in_wide,
    typical_wide,
    wide_forecast,
    wide_scenarios,
)

MAX_PLANNED_TERMS = 300
MANY_TERMS = 10
"""Terms beyond which curves have fewer points: a plan is made in seconds."""
R2_MATTERS = 0.15
"""By so much the share that is kept must differ between the usual values of R^2 for a plan to ask for it."""
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
FOUND_CHANCE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Public. Forecasts in every supposed scenario, and what follows from them.

    `kept` is the share of the R^2 of the model that BIC would choose without privacy which the chosen model is expected to keep:
    `expected` in the second lowest of the `usual` scenarios, which have the R^2 `supposed`, `low` to `high` in all of them, rounded
    outwards to five hundredths. `smallest` is the effect of one standard deviation of a variable, in standard deviations of what
    is left unexplained, that is found with a chance of 0.8 in the `typical` one.
    """

    rows: int
    epsilon: float
    choice_epsilon: float
    rule: VoteRule | EdgeRule | WideRule
    scenarios: tuple[tuple[str, Forecast], ...]
    supposed: str
    usual: tuple[str, ...]
    typical: str
    expected: Forecast
    low: float
    high: float
    smallest: float | None
    units: tuple[tuple[str, str], ...]
    by_rows: tuple[tuple[float, float], ...]
    by_epsilon: tuple[tuple[float, float], ...]
    rows_needed: int | None
    recommended: str

    @property
    def works(self) -> bool:
        """Whether the selection is expected to be clearly better than a random one."""
        return self.expected.informed

    @property
    def selected(self) -> float:
        """How many terms are expected to be selected: the mean of the usual scenarios, since those that keep little select few."""
        return float(np.mean([each.selected for words, each in self.scenarios if words in self.usual]))

    @property
    def chance(self) -> float:
        """The chance of exactly the model that BIC would choose, in the mean of the scenarios: about what comes true."""
        return float(np.mean([each.right for _, each in self.scenarios]))

    @property
    def r2_matters(self) -> bool:
        """Whether the share that is kept depends much on R^2, where several were supposed."""
        by_r2: dict[str, list[float]] = {}
        for words, each in self.scenarios:
            by_r2.setdefault(words.partition(",")[0], []).append(each.kept)
        means = [sum(kept) / len(kept) for kept in by_r2.values()]
        return max(means) - min(means) > R2_MATTERS

    @property
    def verdict(self) -> str:
        """What to expect, and what that supposes."""
        facts = f"With {self.rows:,} rows and epsilon {self.epsilon:g}"
        spread = f"{percent(self.low)} to {percent(self.high)}, depending on the scenario"
        supposed = f"This supposes that {self.supposed}."
        if self.r2_matters:
            supposed += " If a report on similar data gives R², state it: it matters here."
        kept = percent(self.expected.kept)
        kept = kept if "more" in kept else f"about {kept}"
        if self.works:
            return f"{facts}, the selected model should explain {kept} of what the best model explains ({spread}). {supposed}"
        needed = (
            "no number of rows is enough" if self.rows_needed is None else f"about {self.rows_needed:,} rows are needed"
        )
        little = "the selection is close to random" if self.expected.others > 0.25 else "little will be found"
        return (
            f"{facts}, {little}: the selected model should explain {kept} of what the best model explains ({spread}). "
            f"To reach 80%, {needed}. {supposed}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values | {
            "verdict": self.verdict,
            "works": self.works,
            "chance": self.chance,
            "r2_matters": self.r2_matters,
        }


def percent(share: float) -> str:
    """A share as people read it; a forecast is never quite certain."""
    return "99% or more" if share > 0.99 else f"{share:.0%}"


def outlook_study(
    study: Study,
    *,
    rows: int,
    epsilon: float,
    r2: float | None = None,
    choice_only: bool = False,
    split: tuple[float, float] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Outlook:
    """The outlook of `analyze`, or with `choice_only` of `select`, at this price; `split` are shares of it, as in `analyze`.

    Nothing here reads a row.

    Parameters
    ----------
    study : Study
        What is stated.
    rows : int
        How many rows there will be.
    epsilon : float
        The price.
    r2 : float, optional
        What the variables are supposed to explain of the response; several, if left out.
    choice_only : bool, optional
        Whether all of epsilon buys the choice.
    split : tuple of float, optional
        Shares of epsilon for the choice and for the estimate, as in `analyze`.
    progress : callable, optional
        Told the share that is done.

    Returns
    -------
    Outlook
    """
    layout = layout_of(study)
    _check(layout, rows, epsilon, r2)
    tell = progress or (lambda share: None)
    stated = study.expected_rows  # as `analyze` divides its price: by rows that the study states

    def part_of(price: float) -> float:
        if choice_only:
            return price
        return price * (_share(layout, stated, price) if split is None else split[0] / (split[0] + split[1]))

    table = _table_of(replace(study, rows=None), layout, rows, part_of(epsilon), r2)
    one = table.typical
    now = table.held(rows, part_of(epsilon))
    found: list[tuple[Any, Forecast]] = []
    for scenario in table.scenarios:
        found.append((scenario, table.forecast(scenario, now)))
        tell(0.4 * len(found) / len(table.scenarios))
    shares, smallest = [each.kept for _, each in found], table.smallest(now)
    tell(0.5)
    usual = [scenario for scenario, _ in found if scenario.r2 == one.r2]
    expected = expected_forecast([each for scenario, each in found if scenario in usual])

    def expected_at(n: float, price: float) -> Forecast:
        if (n, price) == (rows, epsilon):
            return expected
        held = table.held(n, part_of(price))
        return expected_forecast([table.forecast(scenario, held) for scenario in usual])

    needed = None if _enough(expected) else _needed(rows, lambda n: expected_at(n, epsilon))
    tell(0.7)
    made = Outlook(
        rows=rows,
        epsilon=epsilon,
        choice_epsilon=part_of(epsilon),
        rule=now.rule,
        scenarios=tuple((scenario.words, each) for scenario, each in found),
        supposed=f"the variables explain {one.r2:.0%} of the variance",
        usual=tuple(scenario.words for scenario in usual),
        typical=one.words,
        expected=expected,
        low=math.floor(20 * min(shares)) / 20,
        high=math.ceil(20 * max(shares)) / 20,
        smallest=smallest,
        units=() if smallest is None else table.units(smallest),
        by_rows=tuple((round(rows * k), expected_at(rows * k, epsilon).kept) for k in table.steps if rows * k >= 2),
        by_epsilon=tuple((epsilon * k, expected_at(rows, epsilon * k).kept) for k in table.steps),
        rows_needed=needed,
        recommended=table.better_method(found, now),
    )
    tell(1.0)
    return made


class _Table(Protocol):
    """Public. What is supposed of one kind of table, how its votes are held, and what they would give."""

    typical: Any
    scenarios: Sequence[Any]
    steps: Sequence[float]
    """Multiples of the rows and of the price at which curves have points."""

    def held(self, rows: float, epsilon: float) -> Any:
        """How the votes of so many rows are held, where the choice costs epsilon."""

    def forecast(self, scenario: Any, held: Any) -> Forecast:
        """What they would give in one scenario."""

    def smallest(self, held: Any) -> float | None:
        """The smallest effect that is found with a chance of 0.8, in standard deviations."""

    def units(self, smallest: float) -> tuple[tuple[str, str], ...]:
        """The same in units of each variable and of the response."""

    def better_method(self, found: list[tuple[Any, Forecast]], held: Any) -> str:
        """The name of the method that is recommended."""


def _table_of(study: Study, layout: Layout, rows: int, epsilon: float, r2: float | None) -> _Table:
    if isinstance(held_votes(study, candidates_for(study, None), rows, epsilon), WideRule):
        return _WideTable(study, layout, rows, r2)
    if len(layout.widths) > MAX_PLANNED_TERMS:
        raise StudyError(f"{len(layout.widths)} terms are considered; a plan takes from 1 to {MAX_PLANNED_TERMS}.")
    return _PlainTable(study, layout, r2)


RIVAL_MARGIN, MAX_RIVAL_TERMS = 0.05, 8
"""By so much more of R^2 must PCLS keep than votes, and terms up to which that is looked at."""
SPREAD = 0.5
"""The response's standard deviation is supposed to be half the half range of its stated bounds."""


class _PlainTable(_Table):
    """Public. A table of which blocks fit all columns, or edge votes some: scenarios of several kinds of columns."""

    def __init__(self, study: Study, layout: Layout, r2: float | None) -> None:
        self._study, self._layout, self._models = study, layout, candidates_for(study, None)
        self.typical, self.scenarios = typical(layout, r2), scenarios_of(layout, r2)
        self.steps = STEPS if len(layout.widths) <= MANY_TERMS else STEPS[1:-1]

    def held(self, rows: float, epsilon: float) -> Held:
        rule = held_votes(self._study, self._models, round(rows), epsilon)
        if isinstance(rule, WideRule):  # of fewer rows; forecasts are compared within one way to judge
            rule = vote_rule(round(rows), self._layout.columns, len(self._layout.widths), epsilon)
        return Held(rule, round(rows), epsilon)

    def forecast(self, scenario: Scenario, held: Held) -> Forecast:
        return forecast(scenario, held)

    def smallest(self, held: Held) -> float | None:
        return smallest_effect(self.typical, held)

    def units(self, smallest: float) -> tuple[tuple[str, str], ...]:
        return in_own_units(self._study, self._layout, smallest, self.typical.r2)

    def better_method(self, found: list[tuple[Scenario, Forecast]], held: Held) -> str:
        """PCLS where it says more than votes by a margin in all scenarios, looked at up to a few terms."""
        study, terms = self._study, len(self._layout.widths)
        if study.unbounded or terms > MAX_RIVAL_TERMS or study.neighbors != "replace-one":
            return "votes"
        for scenario, ours in sorted(found, key=lambda pair: -pair[1].kept):
            theirs = forecast_losses(scenario, held.rows, held.epsilon)
            if not (theirs.informed and theirs.kept >= ours.kept + RIVAL_MARGIN):
                return "votes"
        return "pcls"


def forecast_losses(scenario: Scenario, rows: int, epsilon: float) -> Forecast:
    """What PCLS gives with its defaults, were every loss its expectation: a little more than in a sample."""
    worth, bic = Worth(scenario), bic_model(scenario, rows)
    sets = np.array(list(product((False, True), repeat=len(scenario.layout.widths))), dtype=bool)
    shares = np.array([worth(taken) for taken in sets])
    width = loss_range(1.0, 1.0, "replace-one")
    price = loss_penalty(width / epsilon, rows, len(sets))
    scores = rows * SPREAD**2 * (1 - scenario.r2 * shares) + price * sets.sum(axis=1)
    chances = selection_probabilities(scores, width, epsilon, "permute-and-flip")
    inside = chances @ sets
    others = inside[~bic].mean() if (~bic).any() else 0.0
    right = chances[(sets == bic).all(axis=1)].sum()
    return Forecast(*map(float, (right, min(chances @ shares / worth(bic), 1.0), inside[bic].mean(), others)))


class _WideTable(_Table):
    """Public. A table of more columns than a block has rows: a few effects among idle columns."""

    def __init__(self, study: Study, layout: Layout, rows: int, r2: float | None) -> None:
        self._columns, self._terms, self.steps = layout.columns, len(layout.widths), STEPS
        self._equal, self._again = deals_equally(study, rows), looks_again(study, candidates_for(study, None))
        self.typical, self.scenarios = typical_wide(self._terms, r2), wide_scenarios(self._terms, r2)

    def held(self, rows: float, epsilon: float) -> WideHeld:
        equal = self._equal
        rule = wide_rule(round(rows), self._columns, self._terms, epsilon, equal=equal, again=self._again)
        return WideHeld(rule, self._terms, epsilon, equal)

    def forecast(self, scenario: WideScenario, held: WideHeld) -> Forecast:
        return wide_forecast(scenario, held)

    def smallest(self, held: WideHeld) -> float | None:
        return smallest_in_wide(held)

    def units(self, smallest: float) -> tuple[tuple[str, str], ...]:
        return ()

    def better_method(self, found: list[tuple[WideScenario, Forecast]], held: WideHeld) -> str:
        return "votes"


def _check(layout: Layout, rows: int, epsilon: float, r2: float | None) -> None:
    if not layout.widths:
        raise StudyError("No term is considered, so there is nothing to plan.")
    if not (2 <= rows <= 2**40 and 0 < epsilon < math.inf):
        raise StudyError("A plan needs from 2 to 2^40 rows, and an epsilon above 0.")
    if r2 is not None and not 0 < r2 < 1:
        raise StudyError(f"The supposed R^2 is {r2}; it must be between 0 and 1, such as 0.2.")


def _share(layout: Layout, rows: int | None, epsilon: float) -> float:
    choice, rest = split_for_votes(rows=rows, columns=layout.columns, epsilon=str(epsilon))
    return choice / (choice + rest)


def smallest_effect(scenario: Scenario, held: Held) -> float | None:
    """The effect of a term that is found with a chance of 0.8, the others being as the scenario has them; None if none is."""
    rng = np.random.default_rng(11)
    means = mean_votes(scenario, held, rng)
    term = int(np.argmin(np.abs(scenario.weights)))
    columns = np.nonzero(scenario.layout.first == term)[0]
    noises = rng.standard_normal((DRAWS, means.shape[-1]))

    def found(effect: float) -> float:
        votes = means.copy()
        votes[..., columns] = 0.0
        votes[..., columns[:1]] = lone_votes(effect, scenario, held)
        votes, spreads = blur(votes, scenario, held)
        return float(
            np.mean([votes_to_chances(votes + spreads * noise, scenario, held).inclusion[term] for noise in noises])
        )

    low, high = 1e-4, 10.0
    if found(high) < FOUND_CHANCE:
        return None
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if found(middle) >= FOUND_CHANCE else (middle, high)
    return high


def _enough(one: Forecast) -> bool:
    return one.informed and one.kept >= FOUND_CHANCE


def _needed(rows: int, mean: Callable[[float], Forecast]) -> int | None:
    """Rows, to two digits, from which four fifths are expected to be kept; None if a billion are too few."""
    low, high = float(rows), float(rows)
    while not _enough(mean(high)):
        low, high = high, 3 * high
        if high > 1e9:
            return None
    for _ in range(4):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _enough(mean(middle)) else (middle, high)
    return int(round(high, 1 - math.floor(math.log10(high))))
