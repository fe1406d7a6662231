"""The exit for coefficients: check, charge, draw, hand over, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from dpselect.assume.lemmas.moment_layout import MomentLayout, moment_layout
from dpselect.assume.lemmas.moment_sensitivity import NoiseKind
from dpselect.assume.models.budget import Guarantee, Price, exact_delta, exact_epsilon, float_below
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.sums.moments import Moments
from dpselect.randomize.moment_noise import MomentNoise, moment_noise
from dpselect.randomize.noisy_moments import noisy_moments
from dpselect.release.account import NO_ACCOUNT, Account, software_version
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.drawn import Drawn
from dpselect.release.coefficients.intervals import USUAL, Intervals
from dpselect.release.ledger.records import Charge


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatePlan:
    """Public. All about an estimate that is known before it is drawn."""

    assumptions: Assumptions
    layout: MomentLayout
    noise: MomentNoise
    guarantee: Guarantee
    intervals: Intervals
    selected: bool


def plan_estimate(
    assumptions: Assumptions,
    columns: tuple[int, ...],
    *,
    epsilon: Price,
    delta: Price,
    noise: NoiseKind | None = None,
    intervals: Intervals = USUAL,
    selected: bool = False,
) -> EstimatePlan:
    """Check everything, and fix the noise and its price, from public values alone."""
    assumptions.require_bounds("An estimate")
    whole, slack = exact_epsilon(epsilon), exact_delta(delta)
    layout = moment_layout(assumptions, columns)
    chosen = moment_noise(
        layout, float_below(whole), float_below(slack), noise=noise, rows_per_person=assumptions.rows_per_person
    )
    # Laplace noise needs no delta, so none is charged.
    paid = slack if chosen.delta > 0 else Decimal(0)
    return EstimatePlan(
        assumptions=assumptions,
        layout=layout,
        noise=chosen,
        guarantee=Guarantee(epsilon=whole, delta=paid, neighbors=assumptions.neighbors),
        intervals=intervals,
        selected=selected,
    )


def release_estimate(
    moments: Moments,
    plan: EstimatePlan,
    account: Account = NO_ACCOUNT,
    keep: Callable[[Drawn], None] = lambda drawn: None,
) -> Coefficients:
    """Draw the noisy moments once, after the ledger has the charge on disk, and solve from them.

    `keep` is given what was drawn before the equations are solved: it is paid for, whatever becomes of them.
    """
    if moments.assumptions != plan.assumptions.hash:
        raise DataError("These moments were gathered under other assumptions: gather them again with these.")
    receipt = account.charge(estimate_charge(plan.layout, plan.noise, plan.guarantee, plan.assumptions))
    drawn = Drawn(
        columns=plan.layout.columns,
        noisy=noisy_moments(moments, plan.layout, plan.noise),
        assumptions=plan.assumptions,
        intervals=plan.intervals,
        selected=plan.selected,
        guarantee=plan.guarantee,
        receipt=receipt,
        version=software_version(),
    )
    keep(drawn)
    return drawn.solved()


def estimate_charge(
    layout: MomentLayout,
    noise: MomentNoise,
    guarantee: Guarantee,
    assumptions: Assumptions,
) -> Charge:
    """What the ledger is told."""
    # The exact decimal of the double that OpenDP's map returned: its shortest text could be a little below it.
    price = {} if noise.rho is None else {"rho": str(Decimal(noise.rho))}
    return Charge(
        what="estimate",
        mechanism="laplace-moments" if noise.rho is None else "gaussian",
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        parameters={
            "neighbors": guarantee.neighbors,
            "columns": list(layout.columns),
            "sensitivity": noise.scale.sensitivity,
            "spread": noise.spread,
            **price,
        },
        assumptions=assumptions.hash,
    )
