"""Public. Checking released coefficients: they follow from the noisy moments, and the noise is worth its price."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpselect.assume.budget import plain
from dpselect.errors import DpselectError
from dpselect.release.coefficients import Coefficients
from dpselect.release.estimate import plan_estimate
from dpselect.release.selection import Selection
from dpselect.report.checks import Check

CLOSE = 1e-6
"""Two machines solve the same equations to so many digits."""


def estimate_checks(coefficients: Coefficients, selection: Selection) -> Iterator[Check]:
    """All that can be checked without the rows."""
    same = coefficients.assumptions.hash == selection.assumptions.hash
    model = set(coefficients.columns) <= set(selection.columns)
    yield Check("the coefficients belong to the model", same and model, coefficients.formula)
    yield Check(
        "the coefficients follow from the noisy moments", _follow(coefficients), f"{len(coefficients.terms)} terms"
    )
    yield _noise_check(coefficients)


def _follow(coefficients: Coefficients) -> bool:
    try:
        again = coefficients.with_intervals()
    except (DpselectError, ValueError, ArithmeticError):
        return False
    pairs = zip(coefficients.terms, again.terms, strict=False)
    return len(again.terms) == len(coefficients.terms) and all(
        math.isclose(getattr(stated, part), getattr(found, part), rel_tol=CLOSE, abs_tol=CLOSE * stated.error)
        and stated.name == found.name
        for stated, found in pairs
        for part in ("value", "lower", "upper")
    )


def _noise_check(coefficients: Coefficients) -> Check:
    """The noise must be at least what the stated price buys, computed anew from the public statements."""
    stated, guarantee = coefficients.noisy.noise, coefficients.guarantee
    try:
        plan = plan_estimate(
            coefficients.assumptions,
            coefficients.noisy.layout.columns,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            noise=stated.scale.noise,
        )
    except DpselectError as problem:
        return Check("the noise is worth its price", False, str(problem))
    needed = plan.noise
    enough = stated.scale == needed.scale and stated.spread >= needed.spread * (1 - CLOSE)
    return Check(
        "the noise is worth its price", enough, f"epsilon {plain(guarantee.epsilon)}, {stated.scale.noise} noise"
    )
