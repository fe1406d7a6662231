"""Theorems 4.1 and 4.2 of the paper as calculators: an upper bound on the chance of a wrong model, and its conditions.

What the paper prints and what its proofs support differ in places; here is what is supported:

- The first term. A rival loses by at least phi/2, so it wins with the chance of the difference of two noises exceeding
  x = phi/(2 scale): exp(-x)(2+x)/4 for Laplace noise (the printed exp(-x) is too small for x > 2), 1/(1+exp(x)) for the
  exponential mechanism, exp(-x)/2 for permute-and-flip. Theorem 4.2 prints 64 in the exponent, its proof gives 32, and the tail
  itself 16, which is never more than half of the proof's because (2+x)/4 <= exp(x/2)/2.
- Claims 2 and 3 bound a chi-squared variable by the tails of normal ones, which have two sides: 2 d in place of d, hence
  1 + 4d in place of 1 + 2d in the second term.
- Claim 3 gives Delta(M) >= kappa b^2 n/2, without the printed sigma^2 (Theorem 4.2 has it right); so the largest phi of
  Theorem 4.1 is kappa b^2 n / max(4, 1 + 2 d0). Only sigma^2, not max(1, sigma^2), is needed in the smallest.
- Inequality (1) lacks the factor A in its second member, and Claim 4 needs 8 A max(d, 4) in its third.

The bounds are also turned round: how many rows, how much epsilon, and which penalties a wanted error asks for.

The noise is Gaussian and yet |y| <= r (A0 and A3): both are taken as assumed. The constant c > 0 is free, and the bound falls with
it: it is the largest one that the conditions allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dpselect.assume.lemmas.sensitivity import loss_sensitivity
from dpselect.assume.recipe import Mechanism
from dpselect.errors import StudyError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Public. What the theorems assume to be known.

    `count` candidates of at most `largest` columns; `active` columns have effects of at least `effect`; every `largest` +
    `active` columns have a Gram matrix over n with eigenvalues of at least `eigenvalue`; the noise has the standard
    deviation `deviation`; |y| <= r and ||b||_1 <= R.
    """

    rows: int
    count: int
    largest: int
    active: int
    effect: float
    eigenvalue: float
    deviation: float
    r: float
    R: float

    def __post_init__(self) -> None:
        if not (self.rows >= 2 and self.count >= 1 and self.largest >= 1 and 0 <= self.active <= self.largest):
            raise StudyError("A problem needs two rows, a candidate, and no more active columns than the largest has.")
        if not all(value > 0 for value in (self.effect, self.eigenvalue, self.deviation, self.r, self.R)):
            raise StudyError("The effect, the eigenvalue, the deviation, r and R must be above 0.")

    @property
    def sensitivity(self) -> float:
        """B = (r+R)^2."""
        return loss_sensitivity(self.r, self.R)

    @property
    def alpha(self) -> float:
        """The candidates are n^alpha."""
        return math.log(self.count) / math.log(self.rows)


@dataclass(frozen=True, slots=True)
class Condition:
    """Public. One condition: `have` must be at least `need`; `margin` is have/need, at least 1 if it is met."""

    name: str
    have: float
    need: float

    @property
    def margin(self) -> float:
        """By what factor it is met (1 or more) or missed (below 1)."""
        return math.inf if self.need <= 0 else self.have / self.need

    @property
    def met(self) -> bool:
        """Whether it holds."""
        return self.have >= self.need

    def __str__(self) -> str:
        return f"{'met' if self.met else 'NOT met'} by a factor of {self.margin:.3g}: {self.name}"


ASSUMED = (
    "A0: a linear model with Gaussian noise",
    "A1: the right model is a candidate",
    "A2: the design is fixed, its sparse eigenvalues at least kappa",
    "A3: |x| <= 1 and |y| <= r",
)
"""What cannot be checked from public facts."""


@dataclass(frozen=True, slots=True)
class UtilityBound:
    """Public. The chance of a wrong model is at most `error` if all conditions are met; else nothing is claimed."""

    theorem: str
    error: float
    from_noise: float
    from_sample: float
    c: float
    conditions: tuple[Condition, ...]
    assumed: tuple[str, ...] = ASSUMED

    @property
    def holds(self) -> bool:
        """Whether all conditions are met."""
        return all(condition.met for condition in self.conditions)

    def __str__(self) -> str:
        verdict = f"P(wrong model) <= {self.error:.3g}" if self.holds else "nothing is claimed"
        lines = [f"Theorem {self.theorem}: {verdict}", *(f"  {condition}" for condition in self.conditions)]
        return "\n".join([*lines, *(f"  assumed: {each}" for each in self.assumed)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = [asdict(each) | {"met": each.met, "margin": each.margin} for each in self.conditions]
        return asdict(self) | {"conditions": plain, "holds": self.holds}


def rival_tail(x: float, mechanism: Mechanism) -> float:
    """The chance that a rival x noise scales behind is preferred to the best: the tail of the difference of two noises."""
    if mechanism == "laplace":
        return math.exp(-x) * (2 + x) / 4 if x >= 0 else 1.0
    if mechanism == "exponential":
        return 1 / (1 + math.exp(min(x, 700.0)))
    return math.exp(-x) / 2 if x >= 0 else 1.0


def pcls_bound(
    problem: Problem,
    epsilon: float,
    penalty: float,
    *,
    range: float | None = None,
    mechanism: Mechanism = "laplace",
    c: float | None = None,
) -> UtilityBound:
    """Theorem 4.1, for Algorithm 1. `range` is 2 (r+R)^2 as printed unless a smaller one is given; c is the best unless given.

    Tested: tests/paper/test_theorems.py, tests/claims/test_paper_theorems.py
    """
    p, log_n = problem, math.log(problem.rows)
    A = _largest_A(p, penalty / (2 * p.deviation**2 * log_n), c)
    conditions = (
        *_common(p, A),
        Condition("phi >= 2 A sigma^2 log n", penalty, 2 * A * p.deviation**2 * log_n),
        Condition(UPPER + "kappa b^2 n / max(4, 1 + 2 d0)", _signal(p) / max(4, 1 + 2 * p.active), penalty),
    )
    width = 2 * p.sensitivity if range is None else range
    from_noise = (p.count - 1) * rival_tail(penalty * epsilon / (2 * width), mechanism)
    return _bound("4.1", p, A, (from_noise, _sample_term(p, A)), conditions)


def pcpl_bound(
    problem: Problem,
    epsilon: float,
    delta: float,
    penalty: float,
    *,
    mechanism: Mechanism = "laplace",
    c: float | None = None,
) -> UtilityBound:
    """Theorem 4.2, for Algorithm 2. `epsilon` is the whole price, half for the bound on the sensitivity (the paper's is a half).

    Tested: tests/paper/test_theorems.py, tests/claims/test_paper_theorems.py
    """
    p, log_n, half = problem, math.log(problem.rows), epsilon / 2
    highest = p.rows * math.log1p(p.eigenvalue * p.effect**2 / (4 * p.deviation**2)) / (p.active + 0.5)
    room, shift = p.rows * p.deviation**2 / 4 - p.sensitivity, math.log(1 / (2 * delta))
    A = _largest_A(p, min(penalty / 4, 2 * (half * room / p.sensitivity - shift)) / log_n, c)
    # (3) as half * room >= ..., so that a room below 0 is a condition that is not met.
    need = p.sensitivity * (A / 2 * log_n + shift)
    conditions = (
        *_common(p, A),
        Condition(
            "(3): epsilon/2 (n sigma^2/4 - B) >= B (A/2 log n + log(1/(2 delta))), B = (r+R)^2", half * room, need
        ),
        Condition("phi >= 4 A log n", penalty, 4 * A * log_n),
        Condition(UPPER + "n log(1 + kappa b^2 / (4 sigma^2)) / (d0 + 1/2)", highest, penalty),
    )
    # G <= 4 B / sigma^2 where the conditions hold, and the noise has the scale 2G/epsilon.
    scale = 2 * 4 * p.sensitivity / p.deviation**2 / half
    from_noise = (p.count - 1) * rival_tail(penalty / (2 * scale), mechanism)
    from_sample = _sample_term(p, A) + 2.5 * p.rows ** (-A / 2)
    return _bound("4.2", p, A, (from_noise, from_sample), conditions)


UPPER = "phi <= "


def _signal(p: Problem) -> float:
    return p.eigenvalue * p.effect**2 * p.rows


def _largest_A(p: Problem, limit: float, c: float | None) -> float:
    """A = 2 (alpha + c), c the largest that inequality (1) and the given limit allow, or as given; at least 0."""
    if c is not None:
        return 2 * (p.alpha + c)
    over_log = p.rows / math.log(p.rows)
    signal = p.eigenvalue * p.effect**2 / p.deviation**2
    A = min(limit, over_log * signal / 64, over_log * signal / (4 * p.largest), over_log / (8 * max(p.largest, 4)))
    return max(A * (1 - 1e-12), 2 * p.alpha)


def _common(p: Problem, A: float) -> tuple[Condition, ...]:
    over_log, signal = p.rows / math.log(p.rows), p.eigenvalue * p.effect**2 / p.deviation**2
    return (
        Condition("A = 2 (alpha + c) with c > 0", A, 2 * p.alpha * (1 + 1e-9) + 1e-12),
        Condition("R >= r sqrt(d / kappa)", p.R, p.r * math.sqrt(p.largest / p.eigenvalue)),
        Condition("(1): n / log n >= 64 A sigma^2 / (kappa b^2)", over_log, 64 * A / signal),
        Condition("(1): n / log n >= 4 A d sigma^2 / (kappa b^2)", over_log, 4 * A * p.largest / signal),
        Condition("(1): n / log n >= 8 A max(d, 4)", over_log, 8 * A * max(p.largest, 4)),
        Condition("(2): n >= 8 d0", p.rows, 8 * p.active),
    )


def _sample_term(p: Problem, A: float) -> float:
    if not A > 0:
        return math.inf
    power: float = p.rows ** (p.alpha - A / 2)
    return (1 + 4 * p.largest) / math.sqrt(2 * math.pi * A * math.log(p.rows)) * power


def _bound(
    theorem: str, p: Problem, A: float, terms: tuple[float, float], conditions: tuple[Condition, ...]
) -> UtilityBound:
    met = all(condition.met for condition in conditions)
    error = min(1.0, sum(terms)) if met else 1.0
    return UtilityBound(theorem, error, *terms, A / 2 - p.alpha, conditions)


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
