"""Public. Linear coefficients from noisy moments, where rows cannot be read again: plan, draw, solution and verification."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dpselect.assume.budget import Budget, Guarantee, Price, exact_delta, exact_epsilon, float_below, plain
from dpselect.assume.lemmas.moments import MomentLayout, NoiseKind, moment_layout
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError, DpselectError, StudyError
from dpselect.gather.moments import Moments
from dpselect.randomize.noisy_moments import MomentNoise, NoisyMoments, moment_noise, noisy_moments
from dpselect.release.account import charge_about
from dpselect.release.checks import PRICE_TOLERANCE, Check, compared
from dpselect.release.drawn import Drawn, Solved, Term, terms_of
from dpselect.release.equations.findings import HIDDEN, Finding, Fit, findings, fit, unexplained
from dpselect.release.equations.problem import problem
from dpselect.release.ledger.entries import Charge
from dpselect.release.units import UserScale, user_scale

PREDICTION_SHRINKAGE = 2.0
"""For predictions slopes are expected to be so many times smaller: less error on short tables, next to none on long ones."""

MIN_SCALE_PRECISION = 4.0
"""A noisy variance counts as known if it is so many times the deviation of its noise."""

KNOWN = Finding(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""What does not move with the data: an intercept that follows from the bounds alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentPlan:
    """Public. Which moments are released, with which noise, at which price: from public values alone."""

    layout: MomentLayout
    noise: MomentNoise
    guarantee: Guarantee


def plan_moments(
    study: Study, columns: tuple[int, ...], *, epsilon: Price, delta: Price, noise: NoiseKind | None = None
) -> MomentPlan:
    """Check everything, and fix the noise and its price; of a model that is not selected yet, without columns, the price alone."""
    whole, slack = exact_epsilon(epsilon), exact_delta(delta)
    if slack:
        study.require_bounds(
            "An estimate", "estimate by rounds, from rows that can be read again and with Gaussian noise"
        )
    else:
        study.require_bounds("An estimate without a delta", "add --delta 1e-6 (delta=1e-6 in Python)")
    layout = moment_layout(study, columns)
    chosen = moment_noise(
        layout, float_below(whole), float_below(slack), noise=noise, rows_per_person=study.rows_per_person
    )
    # Whichever noise the columns call for, the price is the one that was asked for: columns that were selected from the rows must
    # not decide whether a charge is refused. Laplace noise that was asked for by name needs no delta.
    paid = Decimal(0) if noise == "laplace" else slack
    return MomentPlan(
        layout=layout, noise=chosen, guarantee=Guarantee(epsilon=whole, delta=paid, neighbors=study.neighbors)
    )


def settle_moments(plan: MomentPlan, study: Study, columns: tuple[int, ...], price: Budget) -> MomentPlan:
    """The plan of a model that was selected: which sums there are, and so their noise, depends on its columns."""
    return plan_moments(study, columns, epsilon=price.epsilon, delta=price.delta)


def moments_charge(study: Study, guarantee: Guarantee) -> Charge:
    """What the ledger is told: nothing that depends on the columns, which may be drawn together with the noise.

    Gaussian noise has a zCDP price besides; it is not stated, as the kind of noise depends on the columns.
    """
    return Charge(what="estimate", mechanism="noisy-moments", **charge_about(study, guarantee))


def require_moments(moments: Moments, study: Study) -> None:
    """Refuse moments of another study, before anything is drawn or charged."""
    if moments.study != study.hash:
        raise DataError("These moments were gathered under other assumptions: gather them again with these.")


def draw_moments(moments: Moments, plan: MomentPlan) -> NoisyMoments:
    """Draw the noisy moments, once, in memory: nothing of them may be shown before their charge is committed."""
    return noisy_moments(moments, plan.layout, plan.noise)


def solve_moments(
    noisy: NoisyMoments, study: Study, columns: tuple[int, ...], *, level: float, considered: int | None
) -> Solved:
    """Solve the model once, go back to the user's units, and put both intervals around each coefficient that can be seen."""
    if not set(columns) <= set(noisy.layout.columns):
        known = ", ".join(study.columns[place].name for place in noisy.layout.columns)
        raise StudyError(f"A submodel may have columns of the released moments only: {known}.")
    solved = fit(problem(noisy, columns)) if columns else None
    terms = _terms(solved, user_scale(study, columns), level, considered)
    deviation, share = (HIDDEN, HIDDEN) if solved is None else unexplained(solved, level)
    return {
        "terms": terms,
        "unadjusted": _one_at_a_time(noisy, study, columns, terms, (level, considered)),
        "residual_deviation": deviation.times(study.r),
        "r_squared": share,
        "rows": float(noisy.known_rows or 0) if solved is None else solved.problem.rows,
        "scales": {} if solved is None else moment_scales(noisy, study, solved.problem.rows),
    }


def moment_scales(noisy: NoisyMoments, study: Study, rows: float) -> dict[str, float]:
    """The standard deviation of each column that is a number by itself, in the user's units, where noise leaves it known."""
    layout, entries, errors = noisy.layout, noisy.entries, noisy.deviations
    place = {cell: k for k, cells in enumerate(layout.entries) for cell in cells}
    halves = {each.name: each.half_width for each in study.predictors if isinstance(each, Numeric)}
    constant, found = layout.constant, {}
    for column, design in enumerate(layout.columns):
        name = study.columns[design].name
        if name not in halves or constant is None or not rows > 0:
            continue
        square, first = place[column, column], place[min(column, constant), max(column, constant)]
        mean = entries[first] / rows
        variance = entries[square] / rows - mean**2
        error = math.hypot(errors[square], 2 * mean * errors[first]) / rows
        if variance > MIN_SCALE_PRECISION * error:
            found[name] = float(math.sqrt(variance) * halves[name])
    return found


def _terms(solved: Fit | None, scale: UserScale, level: float, considered: int | None) -> tuple[Term, ...]:
    moving = np.asarray(scale.matrix.any(axis=1))
    found = iter(
        findings(solved, scale.matrix[moving], level=level, considered=considered) if solved and moving.any() else ()
    )
    return terms_of(scale.names, scale.offsets.tolist(), [next(found) if moves else KNOWN for moves in moving])


def _one_at_a_time(
    noisy: NoisyMoments,
    study: Study,
    columns: tuple[int, ...],
    terms: Sequence[Term],
    asked: tuple[float, int | None],
) -> tuple[Term, ...]:
    """Slopes one variable at a time, from the same noisy moments, where the whole model's are drowned."""
    drowned = {term.name for term in terms if not term.determined}
    if not drowned:
        return ()
    design = {place: study.columns[place] for place in columns}
    constants = [place for place, column in design.items() if not column.factors]
    groups: dict[int, list[int]] = {}
    for place, column in design.items():
        if column.factors:
            groups.setdefault(column.term, []).append(place)
    if not constants or len(groups) < 2:
        return ()
    found: list[Term] = []
    for members in groups.values():
        if drowned.isdisjoint(design[place].name for place in members):
            continue
        small = (*constants, *members)
        solved = fit(problem(noisy, small))
        if not solved.quiet:
            continue  # too loud for any slope: nothing would be said
        found += [one for one in _terms(solved, user_scale(study, small), *asked) if one.name != INTERCEPT]
    return tuple(found)


def predictive_slopes(noisy: NoisyMoments, study: Study, columns: tuple[int, ...]) -> dict[str, float]:
    """The coefficients that predict best, by name in the user's units: shrunk where noise is large, not to be read one by one."""
    scale = user_scale(study, columns)
    scaled = fit(problem(noisy, columns).expecting_less(PREDICTION_SHRINKAGE)).scaled if columns else np.zeros(0)
    return dict(zip(scale.names, map(float, scale.offsets + scale.matrix @ scaled), strict=True))


def moment_noise_words(noisy: NoisyMoments) -> str:
    """How they were drawn."""
    return f"{noisy.noise.scale.noise} noise on the moments"


def planned_moments(drawn: Drawn) -> MomentPlan:
    """The plan that this release must have had: computed anew from its public statements."""
    noisy, price = drawn.released, drawn.guarantee
    assert isinstance(noisy, NoisyMoments)
    kind = noisy.noise.scale.noise
    return plan_moments(drawn.study, noisy.layout.columns, epsilon=price.epsilon, delta=price.delta, noise=kind)


def moment_checks(drawn: Drawn, recipe: Recipe) -> Iterator[Check]:
    """All that can be checked about noisy moments without the rows."""
    noisy, guarantee = drawn.released, drawn.guarantee
    assert isinstance(noisy, NoisyMoments)
    same = _same_rows(noisy.known_rows, recipe)
    yield Check("coefficients and selection have the same number of rows", same, f"{noisy.known_rows or 'private'}")
    what, stated = "noise scale matches the cost", noisy.noise
    try:
        plan = planned_moments(drawn)
    except DpselectError as problem:
        yield compared(what, False, str(problem), drawn.version)
        return
    needed, found = plan.noise, f"epsilon {plain(guarantee.epsilon)}, {stated.scale.noise} noise"
    if not (noisy.layout == plan.layout and stated.scale == needed.scale):  # of another rule
        yield compared(what, False, found, drawn.version)
        return
    enough = stated.spread >= needed.spread * (1 - PRICE_TOLERANCE) and _priced(stated, needed)
    enough = enough and guarantee.neighbors == drawn.study.neighbors
    yield Check(what, enough, found)


def _same_rows(known: int | None, recipe: Recipe) -> bool:
    """One report, one table. But votes go by the rows that a study states, an estimate by those that there are."""
    stated = recipe.study.expected_rows
    if recipe.votes is not None and stated is not None and known is not None:
        return recipe.rows == stated
    return known == recipe.rows


def _priced(stated: MomentNoise, needed: MomentNoise) -> bool:
    """The stated prices are those of the noise; the zero-concentrated one is no less, and of Laplace noise there is none."""
    if (stated.epsilon, stated.delta) != (needed.epsilon, needed.delta):
        return False
    if stated.rho is None or needed.rho is None:
        return stated.rho is needed.rho
    return stated.rho >= needed.rho * (1 - PRICE_TOLERANCE)
