"""Public. How much a variable must explain to be found at a price: from public facts, for reports and plans."""

from __future__ import annotations

import math
from statistics import NormalDist

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.models.candidates import SubsetRule
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.models.vote_rule import VoteRule, expected_nats, spread

CHANCE = 0.8
"""Of being found."""
ODDS = math.log(CHANCE / (1 - CHANCE))


def visible_share(recipe: Recipe, width: float) -> float | None:
    """The share of the response's variance that a variable must explain to be in the chosen model with chance .8, about.

    `width` is the range that the choice was paid for. 1 where nothing could be seen, None where no number of rows is public.

    Where all other variables are idle, one that raises the score by g is in with the odds exp(g / scale), scale = range/epsilon,
    under the exponential mechanism, and about as often under the others: so g is log 4 scales, and its penalty. A variable that
    explains the share q lowers the loss by q times the response's squares, n r^2/4 of a response whose deviation is half its
    bound, and -2 log-likelihoods by -n log(1 - q). For votes see `_votes`.

    Source: ours; measured for votes at 1,000 to 30,000 rows, where the chance was near .8, between .63 and .97 by the table
    (tests/assume/models/test_visible.py).
    """
    rows = recipe.rows if recipe.assumptions.rows is None else recipe.assumptions.rows
    if rows is None:
        return None
    epsilon = float(recipe.choice_epsilon)
    if recipe.votes is not None:
        return _votes(recipe.votes, rows, recipe, epsilon)
    if recipe.method == "pcpl":
        return 1.0 if math.isinf(width) else -math.expm1(-(_cheapest(recipe) + ODDS * width / epsilon) / rows)
    assumptions = recipe.assumptions
    scale = loss_range(1.0, assumptions.rho, assumptions.neighbors, assumptions.rows_per_person) / epsilon
    return min((_cheapest(recipe) / assumptions.r**2 + ODDS * scale) / (rows / 4), 1.0)


def _cheapest(recipe: Recipe) -> float:
    """What the cheapest term costs."""
    if not isinstance(recipe.candidates, SubsetRule):
        return min(recipe.penalties)
    terms = recipe.candidates.terms or (1,)
    return min(sum(price for j, price in enumerate(recipe.penalties) if term >> j & 1) for term in terms)


def _votes(rule: VoteRule, rows: int, recipe: Recipe, epsilon: float) -> float:
    """A column whose effect is tau residual deviations wins a block of k rows with the chance Phi(tau sqrt(k')), k' = k^2/(k + d).

    Its mean vote must lie above the threshold by what the choice blurs, for its own odds and for half of the nats that other
    sets weigh, and by .84 deviations of the sample.
    """
    columns = len(recipe.assumptions.columns)
    terms = len(recipe.candidates.terms) if isinstance(recipe.candidates, SubsetRule) else columns
    _, nats = expected_nats(max(terms, 1))
    votes, size = rule.blocks * rule.partitions, rows / rule.blocks
    blur = (ODDS + nats / 2) / (epsilon * rule.blocks)
    sample = NormalDist().inv_cdf(CHANCE) * spread(rows, columns, rule.blocks, rule.partitions)
    mean = rule.threshold / votes + blur + sample
    if not mean < 1:
        return 1.0
    tau = NormalDist().inv_cdf((1 + mean) / 2) / (size / math.sqrt(size + columns))
    return tau**2 / (1 + tau**2)
