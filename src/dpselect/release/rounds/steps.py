"""Public. The start from a first Gram, and the coarse Newton steps from there: each asks, and returns where the next one stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import numpy as np

from dpselect.assume.queries import (
    Answer,
    Ask,
    FamilyName,
    Floats,
    Gradient,
    Gram,
    Noisy,
    Standard,
    center_of,
    rows_of,
    yes_variance,
)
from dpselect.release.rounds.facts import Facts
from dpselect.release.rounds.scales import Scales

SEEN_NOISE = 0.5
"""An eigenvalue below so many deviations of the noise times the root of the width is raised to it."""
LEAST_START_EIGENVALUE = 0.02
"""Of n: eigenvalues of the first Gram are raised to it."""
LEAST_EIGENVALUE, LEAST_CURVED_EIGENVALUE = 0.03, 0.1
"""The same of the Hessian at a step's start; of a curved link few rows have most of the weight, so less of it is sure."""
SHORT_PARTS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""How much of rare dummies' shortness is kept: the first of these that leaves enough in every direction."""
ENOUGH_LEFT = 0.5
"""Of what the shortest dummy has left by itself: enough to be left in every direction."""
LEAST_LEFT = 0.05
"""Of n: what is left of a sum of squares in a direction of rare dummies, at least."""
RESPONSE_LENGTH = 0.7
"""Of the response in a row of the first Gram, as a share of the row's own."""
MAX_RESPONSE_TOP = 6.0
"""Deviations at which a response of numbers is cut in the first Gram, however long its tail: the last gradient is cut later."""
USUAL_CORRELATION = 0.15
"""Of two columns: what the first Gram's noise is weighed against."""
LEAST_DIAGONAL = 0.3
"""Of n: a sum of squares in the first Gram; what is less is noise, for columns are standardized."""
LEAST_LENGTHENING, MAX_LENGTHENING = 0.1, 3.0
"""How far a diagonal of the first Gram may differ from the first look's, to be moved half of the way there (of its logarithm)."""
SURE_DIAGONAL_NU = 100.0
"""Above it a diagonal is only made longer: noise explains little of it, shortened rows the rest."""
START_SHRINKAGE = 3.0
"""The first slopes are divided by one plus so many times the variance of their noise, which makes no long first step then."""
DROWNED_NU, MAX_DROWNED_START = 12.0, 3.0
"""Below this nu first slopes are mostly noise, and together they are made no longer than that."""
MAX_START = 1.5
"""Of the length of the first slopes of a curved link, in standardized columns."""
START_DOUBT, CURVED_START_DOUBT = 0.05, 0.3
"""Of n: how far the first Gram may be from the Hessian beside its noise; of a curved link, whose weights it has all at one mean."""
LEAST_RESIDUAL_VARIANCE, MAX_RESIDUAL_VARIANCE = 0.15, 1.2
"""Of the response's: the least and the most that the first slopes may seem to leave of it; beyond them noise speaks."""
USUAL_RESIDUAL_VARIANCE, RESIDUAL_DOUBT = 0.9, 0.3
"""What is supposed of it beforehand, and the deviation of its logarithm around that."""
COARSE_RADIUS, COARSE_TAIL_SHARE = 2.0, 0.6
"""Where a coarse gradient is cut: so many usual lengths, or this share of the response's tail where that is more."""
MAX_STEP = 1.5
"""Of a step of a curved link: how far linear predictors may move, in the root of their mean square."""
STAYING_DOUBT, MOVING_DOUBT = 0.15, 0.3
"""Of n: how far the Hessian at the end of a step may be from the one at its start; more for each unit that a curved link moves."""
SMALL_NOISE, DIAGONAL_DOUBT = 0.05, 0.3
"""Of n: below this noise of a new look, diagonals that come from the first look's scales may be wrong by so much."""
ROOT2 = math.sqrt(2.0)


def link_of(family: FamilyName, mean: float) -> float:
    """The linear predictor whose mean this is."""
    return _LINKS[family](mean)


def weight_of(family: FamilyName, mean: float) -> float:
    """The variance of a response with this mean, as the family has it; one for the gaussian, whose residuals have a scale."""
    return _WEIGHTS[family](mean)


_LINKS: dict[FamilyName, Callable[[float], float]] = {
    "gaussian": lambda mean: mean,
    "binomial": lambda mean: math.log(mean / (1 - mean)),
    "poisson": math.log,
}
_WEIGHTS: dict[FamilyName, Callable[[float], float]] = {
    "gaussian": lambda _: 1.0,
    "binomial": yes_variance,
    "poisson": lambda mean: mean,
}


def whitening(gram: Floats, rows: float, noise: float, least: float) -> Floats:
    """The symmetric M with M gram M = rows I, where eigenvalues that noise drowns, or that are below `least` rows, are raised.

    It depends smoothly on the Gram, whatever its eigenvectors, so that another machine finds the same to the last digits.
    """
    values, vectors = np.linalg.eigh(gram)
    floor = max(least * rows, SEEN_NOISE * noise * np.sqrt(len(gram)))
    return np.asarray((vectors * np.sqrt(rows / np.maximum(values, floor))) @ vectors.T)


@dataclass(frozen=True, slots=True)
class Tamed:
    """Public. A whitening in which rare dummies stay short: `short` is how much, in the coordinates before it.

    `hessian` is what a sum of squares is in the new coordinates, and `inverse` its inverse.
    """

    matrix: Floats
    short: Floats
    hessian: Floats
    inverse: Floats


def tamed(gram: Floats, short: Floats, rows: float, noise: float, least: float) -> Tamed:
    """The whitening of `gram` and as much of `short` as leaves enough in every direction.

    A rare dummy that a whitening made as long as any other column would have rows that are cut first, and its sum of squares would
    be wrong by factors. Where levels are collinear less must be added, or a direction would be left with next to nothing.
    """
    for part in SHORT_PARTS:  # pragma: no branch
        matrix = whitening(gram + part * short, rows, noise, least)
        left = rows * np.eye(len(gram)) - part * matrix.T @ short @ matrix
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        if values[0] >= ENOUGH_LEFT * (rows - part * short.max()):  # surely where nothing is added
            break
    values = np.maximum(values, LEAST_LEFT * rows)
    return Tamed(matrix, part * short, (vectors * values) @ vectors.T, (vectors / values) @ vectors.T)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """Public. Coefficients of the standardized columns, and the coordinates in which the next round looks around from there.

    `matrix` takes a standardized row to whitened coordinates. There the Hessian is `hessian`, as far as was seen, with its inverse;
    `exact` is the same without what was raised, `short` how much rare dummies are short, and `doubt` the variance of its entries
    that the next Gram is weighed with. `deviation` is that of residuals, in units of the standardized response, and
    `weight` a usual row's.
    """

    standard: Standard
    center: Floats
    matrix: Floats
    hessian: Floats
    inverse: Floats
    exact: Floats
    short: Floats
    doubt: Floats
    deviation: float
    weight: float
    turn: Floats
    """From the coordinates in which the Hessian was asked for to those of now."""
    variance: Floats
    """Of the noise in the Hessian's entries, in the coordinates in which it was asked for."""
    wandered: Floats
    """The covariance of what the noise of the gradient has made of the center, in the coordinates of now; of a curved link that of
    the Hessian too."""
    spread: Floats
    """The mean product of two standardized columns, as far as the first Gram shows it."""
    moved: float
    """How far the step to here has moved linear predictors, in the root of their mean square."""

    @property
    def moved_for_sure(self) -> float:
        """The same without what noise explains of it."""
        noise = float(np.trace(self.matrix.T @ self.spread @ self.matrix @ self.wandered))
        return math.sqrt(max(self.moved**2 - noise, 0.0))

    def hessian_noise(self, step: Floats) -> Floats:
        """The covariance of what the Hessian's noise makes of a step, as a gradient."""
        return _hessian_noise(self.turn, self.variance, step)


def _hessian_noise(turn: Floats, variance: Floats, step: Floats) -> Floats:
    before = turn @ step
    apart = np.diag(variance @ before**2) + variance * np.outer(before, before)
    return np.asarray(turn.T @ apart @ turn)


def start(facts: Facts, scales: Scales) -> Generator[Ask, Answer, Standpoint]:
    """Ask for the Gram of standardized rows and the response; whiten, and make the first step from the mean response."""
    rows, gaussian = facts.rows, facts.gaussian
    standard = scales.standard(facts)
    width = standard.width
    squared = facts.row_length * width
    top = _response_top(facts, scales)
    scale = RESPONSE_LENGTH * math.sqrt(squared) / top
    query = Gram(
        family=facts.family,
        standard=standard,
        matrix=rows_of(np.eye(width)),
        radius=math.sqrt(squared),
        response_top=top,
        response_scale=scale,
    )
    (reply,) = yield ((query, facts.mu * math.sqrt(facts.shares.start_gram)),)
    sums = reply.sums.copy()
    sums[width] /= scale
    sums[:, width] /= scale
    noise = reply.deviation / ROOT2
    shrink = USUAL_CORRELATION**2 / (USUAL_CORRELATION**2 + (noise / rows) ** 2)
    gram = _plausible_gram(facts, scales, sums[:width, :width], shrink)
    short = rows * np.diag(scales.shortness)
    spread = gram / rows
    products, center, weight = sums[:width, width].copy(), np.zeros(width), 1.0
    if not gaussian:  # one step from the mean response
        weight = weight_of(facts.family, scales.mean)
        if facts.intercept:
            products -= scales.mean * sums[:width, 0]
            center[0] = link_of(facts.family, scales.mean)
        gram, short = gram * weight, short * weight
    found = tamed(gram, short, rows, noise * math.sqrt(shrink) * weight, LEAST_START_EIGENVALUE * weight)
    slopes = found.matrix @ (found.matrix.T @ products) / rows / (1 + START_SHRINKAGE * (noise / scale / rows) ** 2)
    if not gaussian:
        slopes *= min(1.0, MAX_START / max(float(np.linalg.norm(slopes[int(facts.intercept) :])), 1e-9))
    elif facts.nu < DROWNED_NU:
        slopes *= min(1.0, MAX_DROWNED_START / max(float(np.linalg.norm(slopes)), 1e-9))
    residual = _residual_deviation(facts, scales, sums, slopes, reply.deviation / scale**2 / rows)
    entry = noise**2 * shrink * np.outer(*2 * [np.diag(found.matrix.T @ found.matrix) * weight])
    doubt = (START_DOUBT if gaussian else CURVED_START_DOUBT) * rows
    counted = (scales.count_noise * (scales.shortness > 0)) ** 2
    variance = entry + doubt**2 + (found.matrix**2).T @ np.diag(counted) @ found.matrix**2
    short = found.matrix.T @ found.short @ found.matrix
    hessian = rows * np.eye(width) - short
    return Standpoint(
        standard=standard,
        center=np.array(center_of(center + slopes)),
        matrix=np.array(rows_of(found.matrix)),
        hessian=hessian,
        inverse=found.inverse,
        exact=hessian,
        short=short,
        doubt=variance,
        deviation=residual,
        weight=weight,
        turn=np.eye(width),
        variance=variance,
        wandered=np.zeros((width, width)),
        spread=spread,
        moved=math.inf,
    )


def _response_top(facts: Facts, scales: Scales) -> float:
    """Where the response is clipped in the first Gram: nowhere if it is yes or no."""
    if facts.family == "binomial":
        return 1.0
    if facts.family == "poisson":
        return scales.mean + scales.long_tail * scales.response_deviation
    return scales.long_tail if facts.response == "yes or no" else min(scales.long_tail, MAX_RESPONSE_TOP)


def _plausible_gram(facts: Facts, scales: Scales, sums: Floats, shrink: float) -> Floats:
    """The first Gram with noise shrunk off the diagonal, and a diagonal that agrees with the first look's scales.

    Shortened rows take from heavy tails, so diagonals go half the way back to n; a rare dummy's is known from its count.
    """
    rows = facts.rows
    diagonal = np.maximum(np.diag(sums), LEAST_DIAGONAL * rows)
    gram = shrink * (sums - np.diag(np.diag(sums))) + np.diag(diagonal)
    least = 1.0 if facts.nu > SURE_DIAGONAL_NU else LEAST_LENGTHENING
    longer = np.clip(rows * scales.relative / diagonal, least, MAX_LENGTHENING)
    gram = gram * np.outer(*2 * [longer**0.25])  # half of the way: a diagonal has the factor twice
    short = scales.shortness
    factor = np.where(short > 0, np.sqrt(rows * (1 - short) / np.diag(gram)), 1.0)
    return np.asarray(gram * np.outer(factor, factor))


def _residual_deviation(facts: Facts, scales: Scales, sums: Floats, slopes: Floats, noise: float) -> float:
    """Of residuals where the response has deviation one; its logarithm is shrunk to the usual one's as far as noise hides it."""
    if not facts.gaussian:
        return math.sqrt(scales.dispersion)
    vector = np.append(slopes, -1.0)
    seen = float(vector @ sums @ vector) / facts.rows
    variance = min(max(seen, LEAST_RESIDUAL_VARIANCE), MAX_RESIDUAL_VARIANCE)
    known, error = RESIDUAL_DOUBT**2, 2 * noise**2
    return math.exp((math.log(variance) * known + math.log(USUAL_RESIDUAL_VARIANCE) * error) / (known + error) / 2)


def coarse_step(facts: Facts, scales: Scales, here: Standpoint, part: float) -> Generator[Ask, Answer, Standpoint]:
    """Ask for the Gram in whitened coordinates and a coarse gradient, with a `part` of their price; make a Newton step."""
    width = here.matrix.shape[1]
    gradient = Gradient(
        family=facts.family,
        standard=here.standard,
        matrix=rows_of(here.matrix),
        center=center_of(here.center),
        radius=max(COARSE_RADIUS, COARSE_TAIL_SHARE * scales.tail) * math.sqrt(width) * here.deviation,
        balanced=facts.family == "binomial",
    )
    replies = yield (
        (gram_around(facts, here), facts.mu * math.sqrt(facts.shares.gram * part)),
        (gradient, facts.mu * math.sqrt(facts.shares.coarse * part)),
    )
    found, seen, variance = _weighed(facts, here, replies[0])
    onward = np.array(rows_of(here.matrix @ found.matrix))
    step = found.inverse @ found.matrix.T @ replies[1].sums
    move = onward @ step
    moved = math.sqrt(max(float(move @ here.spread @ move), 0.0))
    doubt = STAYING_DOUBT
    wandered = replies[1].deviation ** 2 * found.matrix.T @ found.matrix
    if not facts.gaussian:
        # Steps are long here, and a long one is as wrong as the Hessian; what is sure of it decides whether another one is needed.
        wandered = wandered + _hessian_noise(found.matrix, variance, step)
        move *= min(1.0, MAX_STEP / max(moved, 1e-12))
        moved = min(moved, MAX_STEP)
        doubt += MOVING_DOUBT * moved
    return Standpoint(
        standard=here.standard,
        center=np.array(center_of(here.center + move)),
        matrix=onward,
        hessian=found.hessian,
        inverse=found.inverse,
        exact=found.matrix.T @ seen @ found.matrix,
        short=found.matrix.T @ found.short @ found.matrix,
        doubt=np.full((width, width), (doubt * facts.rows) ** 2 + float(variance.mean())),
        deviation=here.deviation,
        weight=here.weight,
        turn=found.matrix,
        variance=variance,
        wandered=found.inverse @ wandered @ found.inverse,
        spread=here.spread,
        moved=moved,
    )


def gram_around(facts: Facts, here: Standpoint) -> Gram:
    """The query for the Hessian where one stands."""
    return Gram(
        family=facts.family,
        standard=here.standard,
        matrix=rows_of(here.matrix),
        radius=math.sqrt(facts.row_length * here.matrix.shape[1]),
        center=None if facts.gaussian else center_of(here.center),
    )


def _weighed(facts: Facts, here: Standpoint, reply: Noisy) -> tuple[Tamed, Floats, Floats]:
    """The Hessian of a new look, averaged with what was known by precision; and what was seen, with the variance of its entries."""
    rows, width = facts.rows, len(here.hessian)
    noise = reply.deviation / ROOT2
    known = here.doubt
    if (
        noise < SMALL_NOISE * rows
    ):  # scales may be wrong: where the noise is small, diagonals from them are little trusted
        known = known + (DIAGONAL_DOUBT * rows) ** 2 * np.eye(width)
    # Where two looks differ by more than both allow for, as they do where columns go along, the first counts for less.
    # (The noise of a diagonal has twice the variance.)
    apart = float(((reply.sums - here.hessian) ** 2).mean()) / (1 + 1 / width) - noise**2
    known = known * max(1.0, apart / float(known.mean()))
    seen = (known * reply.sums + noise**2 * here.hessian) / (known + noise**2)
    variance = known * noise**2 / (known + noise**2)
    least = LEAST_EIGENVALUE if facts.gaussian else LEAST_CURVED_EIGENVALUE
    found = tamed(seen, here.short, rows, math.sqrt(float(variance.mean())), least)
    return found, seen, variance


def look_around(facts: Facts, here: Standpoint, reply: Noisy) -> Standpoint:
    """The same place with its own Hessian: where the link is curved that of the place before is another."""
    found, seen, variance = _weighed(facts, here, reply)
    back = np.linalg.inv(found.matrix)
    return replace(
        here,
        hessian=back.T @ found.hessian @ back,
        inverse=found.matrix @ found.inverse @ found.matrix.T,
        exact=seen,
        turn=np.eye(len(seen)),
        variance=variance,
    )
