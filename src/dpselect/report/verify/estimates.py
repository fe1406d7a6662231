"""Public. Checking released coefficients: they follow from the noisy moments, and the noise is worth its price."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpselect.assume.models.budget import plain
from dpselect.errors import DpselectError
from dpselect.randomize.moment_noise import MomentNoise
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.estimate import plan_estimate
from dpselect.release.select import software_version
from dpselect.release.selection import Selection
from dpselect.report.verify.answers import Check

CLOSE = 1e-6
"""Two machines solve the same equations to so many digits."""


def estimate_checks(coefficients: Coefficients, selection: Selection) -> Iterator[Check]:
    """All that can be checked without the rows."""
    same = coefficients.assumptions.hash == selection.assumptions.hash
    known = coefficients.noisy.known_rows == selection.recipe.rows
    model = set(coefficients.columns) <= set(selection.columns)
    yield Check("the coefficients belong to the model", same and model and known, coefficients.formula)
    # One report, one table: what was estimated was chosen before, and intervals that ignore it must say so.
    yield Check("the coefficients say that the model was chosen", coefficients.selected, coefficients.formula)
    yield Check(
        "the coefficients follow from the noisy moments", _follow(coefficients), f"{len(coefficients.terms)} terms"
    )
    yield _noise_check(coefficients)


def _follow(coefficients: Coefficients) -> bool:
    try:
        again = coefficients.with_intervals()
    except (DpselectError, ValueError, ArithmeticError):
        return False
    if len(again.terms) != len(coefficients.terms) or len(again.scaled) != len(coefficients.scaled):
        return False
    numbers = [(getattr(coefficients, part), getattr(again, part), 0.0) for part in ("residual_deviation", "rows")]
    numbers += [(stated, found, CLOSE) for stated, found in zip(coefficients.scaled, again.scaled, strict=True)]
    for stated, found in zip(coefficients.terms, again.terms, strict=True):
        parts = ("value", "error", "lower", "upper")
        numbers += [(getattr(stated, part), getattr(found, part), CLOSE * found.error) for part in parts]
        numbers.append((stated.privacy_share, found.privacy_share, CLOSE))
    same = [term.name for term in again.terms] == [term.name for term in coefficients.terms]
    close = all(math.isclose(stated, found, rel_tol=CLOSE, abs_tol=room) for stated, found, room in numbers)
    # Another version may word its caveats otherwise.
    worded = again.caveats == coefficients.caveats or coefficients.version != software_version()
    return same and close and worded


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
    enough = enough and (stated.epsilon, stated.delta) == (needed.epsilon, needed.delta)
    enough = enough and guarantee.neighbors == coefficients.assumptions.neighbors and _cheap(stated, needed)
    return Check(
        "the noise is worth its price", enough, f"epsilon {plain(guarantee.epsilon)}, {stated.scale.noise} noise"
    )


def _cheap(stated: MomentNoise, needed: MomentNoise) -> bool:
    """The stated zero-concentrated price is that of the noise: no less, and of Laplace noise there is none."""
    if stated.rho is None or needed.rho is None:
        return stated.rho is needed.rho
    return stated.rho >= needed.rho * (1 - CLOSE)
