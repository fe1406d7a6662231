"""Public. Checking released odds ratios: they follow from the noisy rounds, and the noise is worth its price."""

from __future__ import annotations

from collections.abc import Iterator

from dpselect.assume.models.budget import plain
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DpselectError
from dpselect.randomize.logistic_noise import Draw, least_spread
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.odds.odds_terms import constant_of
from dpselect.release.odds.release import SHARES, OddsPlan, counts_needed, plan_odds, round_needed
from dpselect.release.odds.rounds import first_center, next_center
from dpselect.release.selection import Selection
from dpselect.report.verify.answers import Check
from dpselect.report.verify.estimates import EXACT, same_term

NEAR = 2
"""Two machines find the same center up to so many steps of 2^-20: the last digits of a solution may differ."""


def odds_checks(odds: OddsRatios, selection: Selection, stated: Assumptions) -> Iterator[Check]:
    """All that can be checked without the rows."""
    same = odds.assumptions.hash == stated.hash and odds.columns == selection.columns
    yield Check("the odds ratios belong to the model", same, odds.formula)
    # One report, one table: what was estimated was chosen before, and intervals that ignore it must say so.
    yield Check("the odds ratios say that the model was chosen", odds.selected, odds.formula)
    sizes = _sizes(odds)
    yield Check("there are as many noisy sums as the model needs", sizes, f"{len(odds.rounds)} rounds")
    if not sizes:
        return
    yield Check("each round starts where the one before it ended", _in_turn(odds), f"{len(odds.rounds)} rounds")
    yield Check("the odds ratios follow from the last noisy round", _follow(odds), f"{len(odds.terms)} terms")
    yield _noise_check(odds)


def plan_of(odds: OddsRatios) -> OddsPlan:
    """The plan that this release must have had."""
    return plan_odds(
        odds.assumptions,
        odds.columns,
        epsilon=odds.guarantee.epsilon,
        delta=odds.guarantee.delta,
        intervals=odds.intervals,
        selected=odds.selected,
    )


def _sizes(odds: OddsRatios) -> bool:
    width = len(odds.columns)
    whole = len(odds.counts.values) == 2 and len(odds.rounds) == len(SHARES)
    return whole and all(
        len(each.center) == len(each.gradient.values) == width and len(each.gram.values) == width * (width + 1) // 2
        for each in odds.rounds
    )


def _in_turn(odds: OddsRatios) -> bool:
    constant = constant_of(odds.assumptions, odds.columns)
    centers = [first_center(odds.counts, len(odds.columns), constant)]
    centers += [next_center(each, constant) for each in odds.rounds[:-1]]
    return all(
        abs(found - stated) <= NEAR
        for center, one in zip(centers, odds.rounds, strict=True)
        for found, stated in zip(center, one.center, strict=True)
    )


def _follow(odds: OddsRatios) -> bool:
    try:
        again = odds.with_intervals()
    except (DpselectError, ValueError, ArithmeticError):
        return False
    return len(again.terms) == len(odds.terms) and all(map(same_term, odds.terms, again.terms))


def _noise_check(odds: OddsRatios) -> Check:
    """The noise of every draw must be at least what its share of the stated price buys."""
    what, guarantee = "the noise is worth its price", odds.guarantee
    try:
        plan = plan_of(odds)
    except DpselectError as problem:
        return Check(what, False, str(problem))
    pairs = [(odds.counts, counts_needed(plan))]
    for place, each in enumerate(odds.rounds):
        pairs += zip((each.gradient, each.gram), round_needed(plan, place, each.center), strict=True)
    enough = guarantee == plan.guarantee and all(_worth(draw, *needed) for draw, needed in pairs)
    return Check(what, enough, f"epsilon {plain(guarantee.epsilon)}, gaussian noise on {len(pairs)} draws")


def _worth(stated: Draw, sensitivity: int, mu: float) -> bool:
    spread, rho = least_spread(sensitivity, mu)
    near = abs(stated.rho - rho) <= EXACT * rho
    return stated.sensitivity == sensitivity and stated.spread >= spread * (1 - EXACT) and near
