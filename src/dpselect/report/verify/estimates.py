"""Public. Checking released coefficients: they follow from the noisy moments, and the noise is worth its price."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpselect.assume.models.budget import plain
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DpselectError
from dpselect.randomize.moment_noise import MomentNoise
from dpselect.release.account import software_version
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.terms import Term
from dpselect.release.estimate import plan_estimate
from dpselect.release.selection import Selection
from dpselect.report.verify.answers import Check

CLOSE = 1e-3
"""Two machines come so near each other, as a share of an interval: descents end where another step would gain next to nothing."""

EXACT = 1e-6
"""Prices are computed to more digits than that."""


def estimate_checks(coefficients: Coefficients, selection: Selection, stated: Assumptions) -> Iterator[Check]:
    """All that can be checked without the rows. Bought bounds are for the choice alone: an estimate goes by the stated ones."""
    same = coefficients.assumptions.hash == stated.hash
    known = _same_rows(coefficients.noisy.known_rows, selection.recipe)
    model = set(coefficients.columns) <= set(selection.columns)
    yield Check("the coefficients belong to the model", same and model and known, coefficients.formula)
    # One report, one table: what was estimated was chosen before, and intervals that ignore it must say so.
    yield Check("the coefficients say that the model was chosen", coefficients.selected, coefficients.formula)
    yield Check(
        "the coefficients follow from the noisy moments", _follow(coefficients), f"{len(coefficients.terms)} terms"
    )
    yield _notes_check(coefficients)
    yield _noise_check(coefficients)


def _same_rows(known: int | None, recipe: Recipe) -> bool:
    """One report, one table. But votes go by the rows that a study states, an estimate by those that there are."""
    if recipe.votes is not None and recipe.assumptions.rows is not None and known is not None:
        return recipe.rows == recipe.assumptions.rows
    return known == recipe.rows


def _follow(coefficients: Coefficients) -> bool:
    try:
        again = coefficients.with_intervals()
    except (DpselectError, ValueError, ArithmeticError):
        return False
    pairs = [(coefficients.terms, again.terms), (coefficients.alone, again.alone)]
    if any(len(stated) != len(found) for stated, found in pairs):
        return False
    same = all(same_term(one, two) for stated, found in pairs for one, two in zip(stated, found, strict=True))
    for part in ("residual_deviation", "r_squared"):
        stated, found = getattr(coefficients, part), getattr(again, part)
        room = CLOSE * abs((found.upper or 0.0) - (found.lower or 0.0))
        same = same and all(
            _close(getattr(stated, end), getattr(found, end), room) for end in ("value", "lower", "upper")
        )
    return same and _close(coefficients.rows, again.rows, 0.0)


def _notes_check(coefficients: Coefficients) -> Check:
    """Another version may word its notes otherwise, and then nobody here knows whether they are its own."""
    what, same = "the notes are those that belong to the coefficients", False
    try:
        same = coefficients.with_intervals().caveats == coefficients.caveats
    except (DpselectError, ValueError, ArithmeticError):
        pass
    if not same and coefficients.version != software_version():
        return Check(what, None, f"version {coefficients.version} may have worded them otherwise")
    return Check(what, same, f"{len(coefficients.caveats)} notes")


def same_term(stated: Term, found: Term) -> bool:
    """Whether a stated term is the one that was found, as near as two machines come."""
    size = max((abs(end) for end in (found.lower, found.upper) if end is not None), default=0.0)
    room = CLOSE * (size if found.visible is None else found.visible)
    parts = ("value", "error", "lower", "upper", "visible")
    close = all(_close(getattr(stated, part), getattr(found, part), room) for part in parts)
    return close and stated.name == found.name and _close(stated.privacy_share, found.privacy_share, CLOSE)


def _close(stated: float | None, found: float | None, room: float) -> bool:
    if stated is None or found is None:
        return stated is found
    return math.isclose(stated, found, rel_tol=1e-9, abs_tol=room)


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
    enough = stated.scale == needed.scale and stated.spread >= needed.spread * (1 - EXACT)
    enough = enough and (stated.epsilon, stated.delta) == (needed.epsilon, needed.delta)
    enough = enough and guarantee.neighbors == coefficients.assumptions.neighbors and _cheap(stated, needed)
    return Check(
        "the noise is worth its price", enough, f"epsilon {plain(guarantee.epsilon)}, {stated.scale.noise} noise"
    )


def _cheap(stated: MomentNoise, needed: MomentNoise) -> bool:
    """The stated zero-concentrated price is that of the noise: no less, and of Laplace noise there is none."""
    if stated.rho is None or needed.rho is None:
        return stated.rho is needed.rho
    return stated.rho >= needed.rho * (1 - EXACT)
