"""Public. What can be verified of rounds without the rows: asks follow from the answers before, and noise is worth its price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from dpselect.assume.budget import plain
from dpselect.assume.lemmas.rounds import answer_size, query_sensitivity
from dpselect.assume.queries import Ask
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.errors import DpselectError
from dpselect.randomize.rounds_noise import Answered, Rounds, noise_worth
from dpselect.release.checks import PRICE_TOLERANCE, Check, compared
from dpselect.release.drawn import Drawn
from dpselect.release.rounds.drawing import RoundsDraws, counts_are_public, plan_rounds, require_within, what_follows
from dpselect.release.rounds.intervals import Found

QUERY_TOLERANCE = 1e-4
"""Two machines come to the same queries up to the steps of their grids, and a few of their last digits."""


def planned_rounds(drawn: Drawn) -> RoundsDraws:
    """The plan that this release must have had: computed anew from its public statements."""
    price = drawn.guarantee
    return plan_rounds(drawn.family, drawn.study, drawn.columns, epsilon=price.epsilon, delta=price.delta)


def rounds_checks(drawn: Drawn, recipe: Recipe) -> Iterator[Check]:
    """All that can be checked about the rounds without the rows."""
    rounds = drawn.released
    assert isinstance(rounds, Rounds)
    what, in_order = "noise scale matches the cost", "each round asks what follows from the one before it"
    asked = f"{len(rounds.asks)} rounds"
    same = not counts_are_public(drawn.study) or recipe.study.rows is not None or rounds.rows == recipe.rows
    if drawn.study.weights is not None:  # the sum of shares that was stated, however many rows there are
        same = rounds.rows == drawn.study.expected_rows
    yield Check("the coefficients are of as many rows as the selection", same, f"{rounds.rows or 'private'}")
    try:
        sizes = all(len(each.draw.values) == answer_size(each.query, drawn.study) for each in rounds.draws)
        yield Check("there are as many noisy sums as were asked for", sizes, f"{len(rounds.draws)} draws")
        if not sizes:
            return
        plan = planned_rounds(drawn)
        priced = drawn.guarantee == plan.guarantee and math.isclose(rounds.mu, plan.mu, rel_tol=PRICE_TOLERANCE)
        wanted = list(_asks(replace(rounds, mu=plan.mu), plan))
    except LookupError:  # an answer is missing that the next round needs
        yield compared(in_order, False, asked, drawn.version)
        return
    except (DpselectError, ValueError, ArithmeticError) as problem:
        yield compared(what, False, f"it cannot be computed ({type(problem).__name__})", drawn.version)
        return
    in_turn = rounds.done and len(wanted) == len(rounds.asks) and all(map(_is_asked, wanted, rounds.asks))
    yield compared(in_order, in_turn, asked, drawn.version)
    worth = priced and in_turn and all(_is_worth(each, mu, drawn.study) for each, mu in _pairs(wanted, rounds))
    draws = f"epsilon {plain(drawn.guarantee.epsilon)}, Gaussian noise on {len(rounds.draws)} draws"
    try:
        require_within(list(rounds.draws), plan.guarantee)
    except (DpselectError, ArithmeticError, ValueError):
        yield Check(what, False, draws)  # by their own statements they cost more, or nothing that can be added up
        return
    yield compared(what, worth, draws, drawn.version)


def _asks(rounds: Rounds, plan: RoundsDraws) -> Iterator[Ask]:
    """What had to be asked each time, until nothing more is."""
    for place in range(len(rounds.asks) + 1):
        ask = what_follows(plan.family, replace(rounds, asks=rounds.asks[:place]), plan.study, plan.columns)
        if isinstance(ask, Found):
            return
        yield ask


def _is_asked(ask: Ask, answered: tuple[Answered, ...]) -> bool:
    return len(ask) == len(answered) and all(
        near(query.to_dict(), each.query.to_dict()) for (query, _), each in zip(ask, answered, strict=True)
    )


def near(wanted: Any, stated: Any) -> bool:
    """Whether two plain values are the same up to the last digits of their numbers."""
    if isinstance(wanted, float) and isinstance(stated, float | int):
        return math.isclose(wanted, stated, rel_tol=QUERY_TOLERANCE, abs_tol=QUERY_TOLERANCE)
    if isinstance(wanted, dict) and isinstance(stated, dict):
        return wanted.keys() == stated.keys() and all(near(wanted[key], stated[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(stated, list):
        return len(wanted) == len(stated) and all(map(near, wanted, stated))
    return type(wanted) is type(stated) and bool(wanted == stated)


def _pairs(wanted: list[Ask], rounds: Rounds) -> Iterator[tuple[Answered, float]]:
    for ask, answered in zip(wanted, rounds.asks, strict=True):
        yield from ((each, mu) for (_, mu), each in zip(ask, answered, strict=True))


def _is_worth(answered: Answered, mu: float, study: Study) -> bool:
    """The stated sensitivity is the query's, and the stated noise and its price are those that its share of mu buys."""
    stated, sensitivity = answered.draw, query_sensitivity(answered.query, study)
    spread, rho = noise_worth(sensitivity, mu)
    near_price = math.isclose(stated.rho, rho, rel_tol=PRICE_TOLERANCE)
    return stated.sensitivity == sensitivity and stated.spread >= spread * (1 - PRICE_TOLERANCE) and near_price
