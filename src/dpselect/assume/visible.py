"""Public. What a choice can find: the share of variance that a variable must explain, as public facts tell it."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from dpselect.assume.candidates import SubsetRule, vote_units
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, loss_range
from dpselect.assume.recipe import Method, Recipe
from dpselect.assume.vote_rule import deals_equally, expected_nats, spread
from dpselect.assume.wide_rule import SOMETIMES_WIDE, SUPPOSED, WideRule, mean_vote, speaking_blocks, wide_deviation

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
