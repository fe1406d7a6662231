"""The exits for settings that are chosen from the rows: each pays for itself through the ledger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.models.budget import Guarantee, Price, exact_epsilon, float_below
from dpselect.assume.models.penalty import balanced_penalty
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.models.tuning import DEFAULT_TUNING, Tuning, check_rows_are_persons, tuned_assumptions
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.responses import Beyond
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import of_these
from dpselect.penalize.scores import Scores
from dpselect.penalize.tuning_scores import penalty_scores, radius_scores
from dpselect.randomize.choice import choose
from dpselect.randomize.interval import edges, interval_scores, intervals
from dpselect.release.account import NO_ACCOUNT, Account
from dpselect.release.ledger.records import Charge, Receipt

RADII = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Radii to choose from, in units of the response's half range."""
PENALTIES = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 13.0, 20.0)
"""Penalties to choose from, in units of the default one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """Public. A setting that was chosen from the rows, and what it cost.

    Formal guarantee: `values` is the outcome of a `guarantee.epsilon` differentially private choice by permute-and-flip
    among public candidates. `assumptions` are the study's own with the setting put in, ready for what follows.
    """

    what: str
    values: tuple[float, ...]
    guarantee: Guarantee
    range: float
    assumptions: Assumptions
    receipt: Receipt | None

    def __str__(self) -> str:
        return f"{self.what} {' to '.join(f'{value:g}' for value in self.values)}  ({self.guarantee})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "what": self.what,
            "values": list(self.values),
            "guarantee": self.guarantee.to_dict(),
            "range": self.range,
            "assumptions": self.assumptions.to_dict(),
            "receipt": self.receipt.to_json() if self.receipt else None,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        promised = values["guarantee"]
        return cls(
            what=values["what"],
            values=tuple(values["values"]),
            guarantee=Guarantee(
                epsilon=Decimal(promised["epsilon"]), delta=Decimal(promised["delta"]), neighbors=promised["neighbors"]
            ),
            range=values["range"],
            assumptions=Assumptions.from_dict(values["assumptions"]),
            receipt=Receipt.from_json(values["receipt"]) if values["receipt"] else None,
        )


def tuning_charge(what: str, epsilon: Price, assumptions: Assumptions) -> Charge:
    """What the ledger is told."""
    return Charge(
        what=f"tune {what}",
        mechanism="permute-and-flip",
        epsilon=exact_epsilon(epsilon),
        parameters={"neighbors": assumptions.neighbors},
        assumptions=assumptions.hash,
    )


def release_bounds(
    beyond: Beyond,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    tuning: Tuning = DEFAULT_TUNING,
    account: Account = NO_ACCOUNT,
) -> Tuned:
    """Bounds for the response: two private quantiles; see `Tuning`. `beyond` counts over `edges` of the stated bounds."""
    check_rows_are_persons(assumptions)
    places = edges(*assumptions.response.bounds, tuning.steps)
    if beyond.below.size != places.size:
        raise AssumptionError("The responses were counted at other places than this tuning has: count them again.")
    for k in range(tuning.steps):  # the narrowest intervals must be possible bounds, whichever is drawn
        tuned_assumptions(assumptions, float(places[k]), float(places[k + 1]), tuning)
    scores = interval_scores(beyond, tuning.outside, assumptions.neighbors)
    charge = tuning_charge("bounds", epsilon, assumptions)
    index, receipt = _draw(scores, charge, account)
    first, last = intervals(tuning.steps)
    lower, upper = float(places[first[index]]), float(places[last[index]])
    return _tuned(
        "bounds", (lower, upper), scores, charge, tuned_assumptions(assumptions, lower, upper, tuning), receipt
    )


def release_radius(
    moments: Moments,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    choice_epsilon: Price,
    rhos: Sequence[float] = RADII,
    account: Account = NO_ACCOUNT,
) -> Tuned:
    """A radius for the coefficients: the one at which the full model's fit is no longer worth the noise of a later choice.

    `choice_epsilon` is what will be spent on that choice: its noise grows in proportion to the range over it, and matters
    times the logarithm of the number of candidates. The stated radius plays no part. This costs more than it brings unless
    the table is long: see docs/RESULTS.md.
    """
    if not (len(rhos) > 0 and all(0 < rho <= 1e6 for rho in rhos)):
        raise AssumptionError("Each radius to choose from must be above 0 and at most a million half ranges.")
    price = math.log(candidates_for(assumptions).count + 1) / float(exact_epsilon(choice_epsilon))
    scores = radius_scores(of_these(moments, assumptions), assumptions, rhos, price)
    charge = tuning_charge("radius", epsilon, assumptions)
    index, receipt = _draw(scores, charge, account)
    radius = rhos[index] * assumptions.r
    return _tuned("radius", (radius,), scores, charge, with_radius(assumptions, radius), receipt)


def release_penalty(
    moments: Moments,
    assumptions: Assumptions,
    *,
    epsilon: Price,
    choice_epsilon: Price,
    account: Account = NO_ACCOUNT,
) -> Tuned:
    """A penalty in the widest gap between what the columns are worth, in squared units of the response.

    The candidates are multiples of the noise of the later choice, public by their formula. This too costs more than it
    brings unless the table is long: see docs/RESULTS.md.
    """
    models = candidates_for(assumptions)
    once = loss_range(1.0, assumptions.rho, assumptions.neighbors, assumptions.rows_per_person)
    default = balanced_penalty(once / float(exact_epsilon(choice_epsilon)) + 0.5, None, models.count)
    scaled = [multiple * default for multiple in PENALTIES]
    free = [j for j in range(models.width) if not (assumptions.intercept == "always" and j == 0)]
    scores = penalty_scores(of_these(moments, assumptions), assumptions, scaled, free)
    charge = tuning_charge("penalty", epsilon, assumptions)
    index, receipt = _draw(scores, charge, account)
    return _tuned("penalty", (scaled[index] * assumptions.r**2,), scores, charge, assumptions, receipt)


def with_radius(assumptions: Assumptions, radius: float) -> Assumptions:
    """The same study with another radius."""
    return Assumptions.from_dict(assumptions.to_dict() | {"radius": radius})


def _draw(scores: Scores, charge: Charge, account: Account) -> tuple[int, Receipt | None]:
    """Charge, then draw."""
    receipt = account.charge(charge)
    return choose(scores, "permute-and-flip", float_below(charge.epsilon)), receipt


def _tuned(
    what: str,
    values: tuple[float, ...],
    scores: Scores,
    charge: Charge,
    assumptions: Assumptions,
    receipt: Receipt | None,
) -> Tuned:
    guarantee = Guarantee(epsilon=charge.epsilon, delta=charge.delta, neighbors=assumptions.neighbors)
    return Tuned(
        what=what, values=values, guarantee=guarantee, range=scores.range, assumptions=assumptions, receipt=receipt
    )
