"""Public. What a choice can find, from public facts: the share of variance that it takes, and how much it finds where nothing is.

The recipe says how a choice is made; this file says what that is worth. Nothing here enters a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule, vote_units
from dpselect.assume.edge_rule import EdgeRule, idle_deviation
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, loss_range
from dpselect.assume.recipe import Method, Recipe
from dpselect.assume.vote_rule import deals_equally, expected_nats, spread
from dpselect.assume.wide_rule import SOMETIMES_WIDE, SUPPOSED, WideRule, mean_vote, speaking_blocks, wide_deviation

Floats = NDArray[np.float64]

CHANCE = 0.8
"""Of being found."""
CHANCE_DEVIATIONS = 0.84
"""Four fifths of a normal law lie above minus so many standard deviations."""
ODDS = math.log(CHANCE / (1 - CHANCE))


def visible_share(recipe: Recipe, width: float, beside: int = 0) -> float | None:
    """The share of the response's variance that a variable must explain to be in the chosen model with chance .8, about.

    `width` is the range that the choice was paid for; `beside` is how many other variables are in the model, which counts in
    votes beside sets of them. 1 where nothing could be seen, None where no number of rows is public.

    Where all other variables are idle, one that raises the score by g is in with the odds exp(g / scale), scale = range/epsilon,
    under the exponential mechanism, and about as often under the others: so g is log 4 scales, and its penalty. How a share
    raises the score is for the method to say.

    Source: ours; measured for votes at 1,000 to 30,000 rows, where the chance was near .8, between .63 and .97 by the table
    (tests/assume/models/test_visible.py).
    """
    rows = recipe.rows if recipe.study.expected_rows is None else recipe.study.expected_rows
    if rows is None:
        return None
    return _VISIBLE[recipe.method](recipe, rows, width, beside)


HOPELESS_SHARE = 0.9
"""Of the variance: a variable that would have to explain more is not found."""


def too_short(recipe: Recipe) -> str | None:
    """One sentence where a table of many columns has too few rows for them, from public facts alone; else None.

    Of a wide table: where five variables that explain the response together could not be found. Of others: where none could. A
    table of few columns that is short for its price is one of which a report says so.
    """
    rows, rule = recipe.study.expected_rows or recipe.rows, recipe.votes
    if rule is None or rows is None or len(recipe.study.columns) < SOMETIMES_WIDE:
        return None
    columns, price = len(recipe.study.columns), float(recipe.choice_epsilon)
    facts = f"{rows:,} rows are too few for {columns:,} columns at epsilon {price:g} for the selection"
    alone = _VISIBLE[recipe.method](recipe, rows, float(rule.range), 0)
    if alone >= HOPELESS_SHARE:
        return f"{facts}: expect to find nothing. Use more rows, fewer columns or a larger epsilon."
    if isinstance(rule, WideRule):
        terms, equal = max(len(vote_units(recipe.candidates)), 1), deals_equally(recipe.study, recipe.rows)
        if 5 * visible_in_wide(rule, terms, price, equal=equal, effects=5) > 1:
            return (
                f"{facts} to find several effects: only a variable that explains {alone:.0%} of the variance or more is likely to "
                "be found. Use more rows, fewer columns or a larger epsilon."
            )
    return None


def _visible_to_losses(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """The share q lowers the loss by q times the response's squares, n r^2/4 of a response whose deviation is half its bound."""
    study = recipe.study
    scale = loss_range(1.0, study.rho, study.neighbors, study.rows_per_person) / float(recipe.choice_epsilon)
    return min((_cheapest(recipe) / study.r**2 + ODDS * scale) / (rows / 4), 1.0)


def _visible_to_profiles(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """The share q lowers -2 log-likelihood by -n log(1 - q)."""
    if math.isinf(width):
        return 1.0
    return -math.expm1(-(_cheapest(recipe) + ODDS * width / float(recipe.choice_epsilon)) / rows)


def _cheapest(recipe: Recipe) -> float:
    """What the cheapest term costs."""
    if not isinstance(recipe.candidates, SubsetRule):
        return min(recipe.penalties)
    terms = recipe.candidates.terms or (1,)
    return min(sum(price for j, price in enumerate(recipe.penalties) if term >> j & 1) for term in terms)


def _visible_to_votes(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """A column whose effect is tau residual deviations wins a block of k rows with the chance Phi(tau sqrt(k')), k' = k^2/(k + d).

    Its mean vote must lie above the threshold by what the choice blurs, for its own odds and for half of the nats that other
    sets weigh, and by .84 deviations of the sample. Where each set of terms has blocks of its own, those beside as many terms as
    are in the model count; d is 2 there, the column and an intercept, and what these terms have. A pair of rows, where nothing is
    beside, counts as two thirds of one.
    """
    rule, columns, epsilon = recipe.votes, len(recipe.study.columns), float(recipe.choice_epsilon)
    assert rule is not None
    if isinstance(rule, WideRule):
        equal = deals_equally(recipe.study, recipe.rows)
        return visible_in_wide(rule, max(len(vote_units(recipe.candidates)), 1), epsilon, equal=equal)
    terms = len(recipe.candidates.terms) if isinstance(recipe.candidates, SubsetRule) else columns
    _, nats = expected_nats(max(terms, 1))
    if isinstance(rule, EdgeRule):
        place = min(beside, rule.top)
        fitted = 4 if place == 0 else 2 + place * columns / max(terms, 1)
        blocks, bar = rule.blocks[place], rule.thresholds[place]
    else:
        blocks, bar, fitted = rule.blocks, rule.threshold, float(columns)
    size = rows / blocks
    blur = (ODDS + nats / 2) / (epsilon * blocks)
    sample = NormalDist().inv_cdf(CHANCE) * spread(rows, fitted, blocks, rule.partitions)
    mean = bar / (WHOLE_VOTE * blocks * rule.partitions) + blur + sample
    if not mean < 1:
        return 1.0
    tau = NormalDist().inv_cdf((1 + mean) / 2) / (size / math.sqrt(size + fitted))
    return tau**2 / (1 + tau**2)


def needed_correlation(vote: float, size: int) -> float:
    """The correlation of which this is the mean vote; 1 where none is enough."""
    if not vote < 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_vote(middle, size) < vote else (low, middle)
    return high


def visible_in_wide(rule: WideRule, terms: int, epsilon: float, *, equal: bool, effects: int = 1) -> float:
    """The share of the response's variance that a variable must explain to be selected with a chance of .8, about.

    Where there are so many effects of one size. Their lead must lie above the threshold by .84 deviations, and by so much that the
    model outweighs the one without them and what chance makes of others: its price and its odds, in nats, at epsilon/2 a vote.
    """
    speaking, deviation = speaking_blocks(rule, equal=equal), wide_deviation(rule, equal=equal)
    bar = rule.threshold / (WHOLE_VOTE * rule.partitions)
    few = min(SUPPOSED, terms / 2)
    nats = effects * rule.price + few / math.e + math.log(4)
    spare = bar - deviation * math.sqrt(2 * math.log(max(terms, 2)))  # of the threshold above chance
    # The model scores min(lead - bar, spare), the one without its terms bar - lead, but with a second look not below the floor.
    if rule.second is not None:
        spare = min(spare, rule.second.floor / (WHOLE_VOTE * rule.partitions))
    above = max(2 * nats / epsilon, 4 * nats / epsilon - spare)
    vote = (bar + above + CHANCE_DEVIATIONS * deviation) / speaking
    return needed_correlation(vote, rule.size) ** 2


_VISIBLE: dict[Method, Callable[[Recipe, int, float, int], float]] = {
    "votes": _visible_to_votes,
    "pcls": _visible_to_losses,
    "pcpl": _visible_to_profiles,
}


NULL_TABLES = 400
"""Tables without any association over which the mean is taken."""
MAX_LISTED_TERMS = 64
"""Of more terms only those that chance has favoured most are looked at; the others weigh nothing."""


def expected_false(recipe: Recipe) -> float | None:
    """How many terms a choice by votes is expected to select where the response has nothing to do with any of them.

    None where the recipe holds no votes, or no number of rows is known. An estimate from public facts, not a bound: leads of idle
    columns are taken for normal with the deviations that the rules are made with. For a table of such leads, sorted by size, all
    models of k terms whose weakest is the r-th, C(r - 1, k - 1) of them, score at most what the r-th lead allows; the empty model
    scores what the largest leaves of the threshold. Permute-and-flip takes another model than the best with about W/(2 + W) where
    those others weigh W times as much, the exponential mechanism with W/(1 + W).

    It is a mean over tables, and a single table may be far above: chance can favour an idle column in all dealings, as for BIC
    (.25 in one of 17 lognormal tables of 2,000 rows at epsilon 1, where this says .04). Measured by exact laws at 2,000 rows, 12
    tables of 8 columns a setting, epsilon 1 and .35: means were a third of this or less (docs/VOTES.md).

    Source: ours.
    Tested: tests/assume/models/test_false_findings.py
    """
    rule, rows = recipe.votes, recipe.study.expected_rows or recipe.rows
    terms = [unit.bit_count() for unit in vote_units(recipe.candidates)]
    if rule is None or rows is None:
        return None
    if not terms:
        return 0.0
    if not 0 < rows < 2**60:  # of an edited report
        return None
    if isinstance(rule, EdgeRule):
        mean_width = sum(terms) / len(terms)
        deviations = [
            idle_deviation(blocks, rows / blocks, 2 + k * mean_width, rule.partitions)
            for k, blocks in enumerate(rule.blocks)
        ]
        bars = [bar / (WHOLE_VOTE * rule.partitions) for bar in rule.thresholds]
    elif isinstance(rule, WideRule):
        sizes = min(len(terms), MAX_LISTED_TERMS) + 1
        deviations = [wide_deviation(rule, equal=deals_equally(recipe.study, recipe.rows))] * sizes
        bars = [rule.threshold / (WHOLE_VOTE * rule.partitions)] * sizes
    else:
        size, columns, sizes = rows / rule.blocks, len(recipe.study.columns), min(len(terms), MAX_LISTED_TERMS) + 1
        # A block of fewer rows than columns has little but the ridge to tell them apart: it votes as if on each alone.
        fitted = columns if size >= columns else 2
        deviations = [idle_deviation(rule.blocks, size, fitted, rule.partitions)] * sizes
        bars = [rule.threshold / (WHOLE_VOTE * rule.partitions)] * sizes
    leads = _sorted_leads(terms)[:, :MAX_LISTED_TERMS]
    rate = float(recipe.choice_epsilon) / 4
    with np.errstate(all="ignore"):  # an edited report may hold any number
        found = _picked(leads, np.array(deviations), np.array(bars), rule.price, rate)
        best = 1.0 if recipe.mechanism == "exponential" else 2.0
        expected = float(np.mean([terms_in * weight / (best + weight) for terms_in, weight in found]))
    return expected if math.isfinite(expected) else None


def _sorted_leads(widths: list[int]) -> Floats:
    """The largest |normal| of the columns of each term, in every table, sorted: from points that fill the cube evenly."""
    columns = sum(widths)
    steps = np.sqrt(_primes(columns)) % 1
    points = (np.arange(1, NULL_TABLES + 1)[:, None] * steps + 0.5) % 1
    grid = np.linspace(0.5 / 2**12, 1 - 0.5 / 2**12, 2**12)
    normal = NormalDist()
    quantiles = np.array([normal.inv_cdf((1 + float(each)) / 2) for each in grid])
    sizes = np.interp(points, grid, quantiles)
    starts = np.cumsum([0, *widths[:-1]])
    return np.asarray(-np.sort(-np.maximum.reduceat(sizes, starts, axis=1), axis=1))


def _primes(count: int) -> Floats:
    """So many primes, whose square roots have nothing to do with each other."""
    most = max(16, int(count * (math.log(count + 1) + math.log(math.log(count + 3)) + 2)))
    sieve = np.ones(most, bool)
    sieve[:2] = False
    for each in range(2, math.isqrt(most) + 1):
        sieve[each * each :: each] &= not sieve[each]
    return np.flatnonzero(sieve)[:count].astype(np.float64)


def _picked(leads: Floats, deviations: Floats, bars: Floats, price: float, rate: float) -> list[tuple[float, float]]:
    """For every table: how many terms the models that are not empty have on average, and what they weigh beside the empty one."""
    most = leads.shape[1]
    sizes = np.arange(1, min(most, len(bars) - 1) + 1)
    ways = np.array([[_log_choose(rank - 1, size - 1) for rank in range(1, most + 1)] for size in sizes])
    found = []
    for own in leads:
        empty = bars[0] - deviations[0] * own[0]
        scores = deviations[sizes - 1][:, None] * own[None, :] - bars[sizes - 1][:, None]
        # Terms that are out, the largest of which is the first unless it is in, leave at most the next threshold.
        scores = np.minimum(scores, bars[np.minimum(sizes, len(bars) - 1)][:, None])
        logs = ways + rate * (scores - empty) - price * sizes[:, None]
        weights = np.exp(np.minimum(logs, 50.0))
        total = float(weights.sum())
        found.append((float((weights.sum(axis=1) @ sizes) / total) if total > 0 else 1.0, total))
    return found


def _log_choose(total: int, some: int) -> float:
    if some > total:
        return -math.inf
    return math.lgamma(total + 1) - math.lgamma(some + 1) - math.lgamma(total - some + 1)
