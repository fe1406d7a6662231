"""Public. A plan of block votes in a wide table: what a selection would give with a few effects among thousands of columns.

Each effect's lead is its expected one, blurred by the sample; idle columns lead by what chance makes of so many. Of the models that
matter, those of the j largest effects for j = 0, 1, .., each has the score of the release and its price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.power import visible_in_wide
from dpselect.assume.wide_rule import WideRule, mean_vote, speaking_blocks, wide_deviation
from dpselect.rehearse.planning.forecast import DRAWS, Forecast

SUPPOSED_SHARES = (0.1, 0.3, 0.6, 0.83)
USUAL_SHARE = 0.3
EFFECT_COUNTS = (1, 5, 20)
USUAL_COUNT = 5


@dataclass(frozen=True, slots=True)
class WideScenario:
    """Public. So many independent effects of one size that explain `r2` of the response together, among idle columns."""

    r2: float
    effects: int

    @property
    def words(self) -> str:
        """One line."""
        count = "1 effect" if self.effects == 1 else f"{self.effects} effects of similar size"
        return f"R² = {self.r2:g}, {count}, independent predictors"


def wide_scenarios(terms: int, r2: float | None) -> tuple[WideScenario, ...]:
    """The scenarios of a plan: for several R^2, or the one that was stated, one, five or 20 effects."""
    counts = [count for count in EFFECT_COUNTS if count <= terms]
    return tuple(WideScenario(share, count) for share in (SUPPOSED_SHARES if r2 is None else (r2,)) for count in counts)


def typical_wide(terms: int, r2: float | None) -> WideScenario:
    """One of them, for what is said of a single scenario."""
    return WideScenario(USUAL_SHARE if r2 is None else r2, min(USUAL_COUNT, terms))


@dataclass(frozen=True, slots=True)
class WideHeld:
    """Public. How the votes of a supposed wide table are held, in `equal` blocks or not."""

    rule: WideRule
    terms: int
    epsilon: float
    equal: bool


def wide_forecast(scenario: WideScenario, held: WideHeld) -> Forecast:
    """The forecast of one scenario."""
    rule = held.rule
    rng = np.random.default_rng(7)
    speaking, deviation = speaking_blocks(rule, equal=held.equal), wide_deviation(rule, equal=held.equal)
    bar, count = rule.threshold / (WHOLE_VOTE * rule.partitions), scenario.effects
    lead = speaking * mean_vote(math.sqrt(scenario.r2 / count), rule.size)
    chance = deviation * math.sqrt(2 * math.log(max(held.terms, 2)))
    again = _Again(scenario, rule)
    sizes, marks = np.arange(count + 1), np.zeros(2)
    for noise in rng.standard_normal((DRAWS, count)):
        leads = -np.sort(-np.minimum(lead + deviation * noise, speaking))
        weakest = np.concatenate([[np.inf], leads])  # of those that are in
        next_one = np.maximum(np.concatenate([leads, [0.0]]), chance)  # of those that are out
        scores = again.scores(np.minimum(weakest - bar, bar - next_one), noise)
        logs = held.epsilon / 4 * scores - rule.price * sizes
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        marks += np.array([weights[-1], weights @ sizes / count])
    right, found = (marks / DRAWS).tolist()
    return Forecast(right, found, found, 0.0)


class _Again:
    """What a second look makes of the scores of a scenario's models, where there is one.

    Every effect has its lead beside the others too, and a model is worth no less than the floor; those of all sizes but the whole
    one leave out what stands, so they are worth that.
    """

    def __init__(self, scenario: WideScenario, rule: WideRule) -> None:
        self._effects, self._second = scenario.effects, rule.second
        if rule.second is None:
            return
        unit, blocks, count = WHOLE_VOTE * rule.partitions, rule.second.blocks, scenario.effects
        size = rule.blocks * rule.size / blocks
        own, rest = scenario.r2 / count, max(1 - scenario.r2, 1e-9)
        beside = mean_vote(math.sqrt(own / (own + rest)), max(size - count, 2.0))
        self._lead, self._deviation = blocks * beside, math.sqrt(blocks * (1 - beside**2))
        self._bar, self._floor = rule.second.threshold / unit, rule.second.floor / unit

    def scores(self, scores: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of the models of the j strongest effects, j = 0, 1, .., by both looks; some have too many terms to compete."""
        if self._second is None:
            return scores
        found = np.maximum(scores, -self._floor)
        if self._effects > 1:
            inside = self._lead + self._deviation * float(noise.min()) - self._bar
            found[1:-1] = -self._floor
            found[-1] = max(min(scores[-1], inside), -self._floor)
        found[self._second.top + 1 :] = -np.inf
        return found


def smallest_in_wide(held: WideHeld) -> float | None:
    """The effect of one variable, in standard deviations of what is left unexplained, that is found with a chance of .8."""
    share = visible_in_wide(held.rule, held.terms, held.epsilon, equal=held.equal)
    return math.sqrt(share / (1 - share)) if share < 1 else None
