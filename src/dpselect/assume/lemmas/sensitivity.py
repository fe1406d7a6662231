"""Public. How far one record can move what is computed from the table: each lemma once, with its proof.

The setting of every lemma: a record is x in [-1,1]^d and y in [-r,r]; a candidate's loss is

    loss(M) = min { sum_i (y_i - x_i.b)^2 :  b = 0 outside M,  ||b||_1 <= R }.

Neighbouring tables differ by replacing one record ("replace-one") or by adding or removing one ("add-remove-one").
All results are rounded up, so that no formula is short by its last bit.
"""

from __future__ import annotations

import math

from dpselect.assume.study.neighbors import Neighbors

MAXIMUM_ROWS = 2**32
"""No table may have more rows; rounding errors below are bounded with it where n is private."""

TOLERANCE = 2.0**-20
"""The solver's tolerance tau, as a share of (r+R)^2.

Not smaller, because a loss of MAXIMUM_ROWS rows, up to 2^32 r^2, is off by up to 2^-21 r^2 when it is rounded to a double.
"""


def round_up(value: float) -> float:
    """A little above `value`, by more than a few floating-point operations can have lost."""
    return value * (1 + 2.0**-48)


def loss_sensitivity(r: float, R: float, records: int = 1) -> float:
    """How far one record can move the least loss of any one candidate: (r+R)^2; a person with k records, k times as far.

    Why: by Hoelder |x.b| <= ||x||_inf ||b||_1 <= R, so no residual exceeds r+R and one record adds between 0 and
    (r+R)^2 to the sum, whatever b is; two functions within D of each other have minima within D of each other.
    Replacing, adding and removing are all covered, and adding a record never lowers a loss. k records are changed one after
    the other.

    Source: Lei et al., arXiv:1607.04204, Lemma 3.1 (there without proof).
    Tested: tests/claims/test_sensitivity.py
    """
    return round_up(records * (r + R) ** 2)


def loss_range(r: float, R: float, neighbors: Neighbors, records: int = 1) -> float:
    """The range w of the change of the losses over candidates: max minus min of loss(M; D') - loss(M; D).

        w = w0 (add-remove-one) or 2 w0 (replace-one),   w0 = (r+R)^2 - max(r-R, 0)^2;   k w for a person with k records.

    Why: a record with response y has residuals of size between max(|y|-R, 0) and |y|+R. Adding it therefore raises every
    candidate's loss by at least the square of the first and at most the square of the second, and the difference of the
    two squares grows with |y|, so it is at most w0. Replacing is removing and adding. A choice that ignores a shift common
    to all candidates has to pay for this range only, never more than 2 (r+R)^2, and 8rR when R <= r. There w0 is computed as
    4rR, because the difference of the squares would lose all digits of a small R. A person's k records are changed one after
    the other, and the range of a sum is at most the sum of the ranges.

    Source: ours; Lei et al. pay 2 (r+R)^2.
    Tested: tests/claims/test_sensitivity.py
    """
    once = 4 * r * R if R <= r else (r + R) ** 2
    return round_up(records * (2 * once if neighbors == "replace-one" else once))


MANY_ROWS = 2**24
"""Beyond so many rows doubles lose digits faster than a fixed tolerance allows, and tau grows with a public n."""


def solver_tolerance(r: float, R: float, rows: int | None = None) -> float:
    """The public tau: every computed loss is within tau of the true one.

    Stated before rows are read and the same for every table of its size, so it can be paid for in advance; the solver
    certifies each loss to within it and computes exactly what it cannot certify. Where n is public (`rows`) tau grows with
    it beyond 2^24 rows, so that long tables do not send every candidate to the exact solver; where n is private it cannot.
    """
    return TOLERANCE * max(1.0, (rows or 0) / MANY_ROWS) * (r + R) ** 2


def certified_range(exact_range: float, error: float) -> float:
    """The range of the computed scores' change when each is within `error` of the true score: w + 4 error.

    Why: the change of a computed score differs from that of the true one by at most 2 error (one on each table); the
    difference of two changes by at most 4.

    Source: ours.
    Tested: tests/claims/test_sensitivity.py
    """
    return round_up(exact_range + 4 * error)


def score_rounding(largest_loss: float, largest_penalty: float) -> float:
    """How far floating point can move the sum loss + penalty, for losses and penalties up to these sizes.

    Why: one addition of doubles is off by at most 2^-53 of its result. The penalty of a candidate is a public number, the
    same for every table, so what rounding did to it before does not matter. Twice that is taken.

    Source: ours.
    Tested: tests/claims/test_sensitivity.py
    """
    return 2.0**-52 * (largest_loss + largest_penalty)


def profile_change(least_loss: float, n: int, sensitivity: float, *, as_printed: bool = False) -> float:
    """A bound G on the change of n log(loss(M)/n), for every candidate, from a lower bound on the least loss.

        G = -n log(1 - B/m)   if m > B, else infinity;       as printed in the paper: n B/(m - B).

    Why: let every loss be at least m > B and move by at most B. Then log(loss/loss') <= log(loss/(loss - B)) =
    -log(1 - B/loss) <= -log(1 - B/m), and log(loss'/loss) <= log(1 + B/m), which is smaller. The printed form is
    larger, because -log(1-x) <= x/(1-x). Changes in [-G, G] have a range of at most 2G.

    Source: Lei et al., Lemma 3.2 and Algorithm 2; the tighter form is ours.
    Tested: tests/claims/test_profile_bound.py
    """
    if not least_loss > sensitivity:
        return math.inf
    odds = sensitivity / (least_loss - sensitivity)
    # log1p(odds) is -log(1 - B/m) without the cancellation that m near B would bring.
    return round_up(n * odds if as_printed else n * math.log1p(odds))


def profile_rounding(n: int, sensitivity: float, largest_penalty: float) -> float:
    """How far floating point can move n log(max(loss, B)/n) + penalty, for losses of at most max(n, B).

    Why: the quotient is off by a relative 2^-53, which moves n log by 2^-53 n; the logarithm (within two units in the last
    place), the product and the sum are each off by a relative 2^-52 at most of a value of at most n |log(B/n)| plus the
    penalty. 2^-49 of n (1 + |log(B/n)|) plus the penalty covers them all.

    Source: ours.
    Tested: tests/claims/test_profile_bound.py
    """
    return 2.0**-49 * (n * (1 + abs(math.log(sensitivity / n))) + largest_penalty)


def profile_shift(delta: float) -> float:
    """By how many noise scales the noisy least loss is lowered, so that it is above the true one with chance delta only.

    Why: a standard Laplace Z has P(Z > t) = exp(-t)/2 for t >= 0, which is delta at t = log(1/(2 delta)).

    Source: Lei et al., section 3.2.2.
    Tested: tests/claims/test_profile_bound.py
    """
    # Not log(1/(2 delta)): rounding the quotient would eat the digits of a t near 0.
    return round_up(-math.log(2 * delta))
