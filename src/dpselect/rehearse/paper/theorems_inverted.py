"""The theorems turned round: how many rows, how much epsilon, and which penalties a wanted error asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpselect.rehearse.paper.theorems import UPPER, Problem, UtilityBound

BoundOf = Callable[[Problem, float, float], UtilityBound]
"""The bound for a problem, an epsilon and a penalty; `pcls_bound`, or `pcpl_bound` with its delta filled in."""


def best_penalty(bound: BoundOf, problem: Problem, epsilon: float) -> tuple[float, UtilityBound]:
    """The penalty with the least bound: the largest that the conditions allow, because both terms fall with it."""
    low, high = 0.0, problem.rows * (problem.eigenvalue * problem.effect**2 + 1.0) * 4
    upper = [each.name.startswith(UPPER) for each in bound(problem, epsilon, 1.0).conditions].index(True)
    for _ in _STEPS:
        middle = (low + high) / 2
        low, high = (middle, high) if bound(problem, epsilon, middle).conditions[upper].met else (low, middle)
    return low, bound(problem, epsilon, low)


_STEPS = range(200)


def least_rows(bound: BoundOf, problem: Problem, epsilon: float, error: float, most: int = 10**15) -> int | None:
    """The least n for which the best penalty's bound is at most `error`; None if even `most` rows are too few."""

    def enough(rows: int) -> bool:
        found = best_penalty(bound, replace(problem, rows=rows), epsilon)[1]
        return found.holds and found.error <= error

    if not enough(most):
        return None
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_epsilon(bound: BoundOf, problem: Problem, error: float, most: float = 1e6) -> float | None:
    """The least epsilon for which the best penalty's bound is at most `error`; None if none up to `most` is enough."""

    def enough(epsilon: float) -> bool:
        found = best_penalty(bound, problem, epsilon)[1]
        return found.holds and found.error <= error

    if not enough(most):
        return None
    low, high = 0.0, most
    for _ in _STEPS:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def penalty_interval(
    bound: BoundOf, problem: Problem, epsilon: float, error: float = 1.0
) -> tuple[float, float] | None:
    """The penalties that meet the conditions with a bound of at most `error`: from the first to the second; None if none does."""

    def enough(penalty: float) -> bool:
        found = bound(problem, epsilon, penalty)
        return found.holds and found.error <= error

    highest = best_penalty(bound, problem, epsilon)[0]
    if not enough(highest):
        return None
    low, high = 0.0, highest
    for _ in _STEPS:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high, highest
