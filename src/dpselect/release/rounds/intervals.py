"""Public. Intervals around the last step: privacy noise, sampling, what was raised, and the clip's bound, which is added whole.

And the residual deviation and R^2 of a linear model, with theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpselect.assume.queries import Floats, Noisy
from dpselect.release.equations.findings import HIDDEN, MAX_DEVIATION_RATIO, MAX_SHARE_LENGTH, Amount, Finding, scheffe
from dpselect.release.rounds.clips import (
    MIN_CLUSTERS,
    MIN_VARIANCE,
    USUAL_QUANTILE,
    Clip,
    ClusterClip,
    clip_share,
    clustered_covariance,
    few_clusters_factor,
    yes_clip_share,
)
from dpselect.release.rounds.facts import Facts
from dpselect.release.rounds.scales import Scales
from dpselect.release.rounds.steps import Standpoint

LEAST_CONSTANT = 1e-6
"""Of the rows: a constant's sum of squares below it is not one."""
TAIL_DOUBT = 0.05
"""Of a sum of squares: what a clipped tail, or shortened rows, may have taken from it."""
FAR_DOUBT, NEAR_EXTENT = 0.035, 5.0
"""The same for each deviation by which the response's limits lie farther than these: rows far out may hold as much, unseen."""
LONG_STEP = 1.5
"""What a last step adds to an interval's square, if it is longer than noise explains by half the interval: see `_stretch`."""
MAX_STRETCH = 1e6
"""Of an interval by a step: a file may state any."""
STEP_DOUBT = 0.10
"""Of the last step, or of what is explained, that may be wrong because the Hessian is that of shortened rows."""
MOVING_WEIGHTS, MAX_MOVING_WEIGHTS = 0.25, 1.0
"""The same where the link is curved: more for each unit that linear predictors move, for the weights of rows move with them."""
WIDENING = 2.0
"""Over nu: by so much privacy noise is longer, because the matrix that it is turned by has noise itself."""
LEAST_SANDWICH, MAX_SANDWICH = 0.3, 1.5
"""Of the homoscedastic variance: what the sandwich's own size, seen with noise, is taken to be at least and at most."""
VARIANCE_DOUBT = 0.3
"""How far the sandwich is from the homoscedastic variance beforehand: what its noise is weighed against."""
WEIGHTED_DOUBT = 1.0
"""The same where rows have weights, which may go along with anything."""
MIN_WEIGHTED_VARIANCE = 0.02
"""Of the homoscedastic variance: what weights may leave of it at least, where most rows count little."""
SEEN_INFORMATION = 3.5
"""Deviations of the Hessian's noise from which a coefficient's information is seen."""
SURE_INFORMATION, EDGE_NOISE = 5.0, 0.75
"""From there on it is not shown by luck; at the edge the Hessian's noise counts by so much more."""
USUAL_KURTOSIS = 8.0
"""Of what is seen of a number, below which rows are long in all directions alike: a normal number has 3, an exponential one 9."""
MIN_YES_NU = 12.0
"""Of nu times 4 p (1 - p), below which no odds are shown where a share p says yes: the few that seem seen are so by chance."""
MAX_ALONG = 0.25
"""Correlation of a coefficient's error with that of one which cannot be shown, from which it cannot be shown either."""
MAX_RAISED = 0.5
"""Of a coefficient's information: the share that may be what a drowned eigenvalue was raised by."""
UNKNOWN = Finding(None, None, -math.inf, math.inf, -math.inf, math.inf, None, None)
"""A coefficient that this price cannot show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Public. What the rounds have found, in the user's units: a finding for each name, of ratios for their logarithm.

    `predictive` are the coefficients to predict with, shrunk as far as noise explains them; `scales` the standard deviations of
    columns of numbers.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    predictive: tuple[float, ...]
    scales: dict[str, float]


def unexplained(
    facts: Facts,
    scales: Scales,
    here: Standpoint,
    squares: Noisy,
    coefficients: Floats,
    covariance: Floats,
    independent: float,
) -> tuple[Amount, Amount]:
    """The deviation of a residual in the user's units, and R^2; nothing where noise hides them.

    `squares` is the noisy sum of squared residuals at the last standpoint, which a last step makes smaller by step' H step. What
    the model explains is b'Hb with the Hessian H of the slopes around their means; privacy noise in b, whose covariance is given,
    makes it larger on average by tr(H cov), which is taken off. `independent` are the rows, or the clusters of alike ones.
    """
    rows = facts.rows
    hessian, centered = _around_means(facts, here)
    if not hessian[0, 0] > LEAST_CONSTANT * rows:
        return HIDDEN, HIDDEN
    moved = coefficients - here.center
    rest = float(squares.sums[0, 0]) - float(moved @ hessian @ moved)
    # The slopes' direction with the constant that keeps the mean: centered @ slopes = hessian @ direction.
    direction = coefficients.copy()
    direction[0] = -float(hessian[0, 1:] @ direction[1:]) / hessian[0, 0]
    noise = centered @ covariance
    explained = float(direction @ hessian @ direction) - float(np.trace(noise))
    error = squares.deviation**2 + 2 * max(rest, 0.0) ** 2 / independent
    seen = np.linalg.pinv(here.matrix) @ direction
    uncertain = (
        4 * float(coefficients @ centered @ covariance @ centered @ coefficients)
        + 2 * float(np.trace(noise @ noise))
        + float(seen @ here.hessian_noise(seen) @ seen)
        + 4 * max(explained, 0.0) * max(rest, 0.0) / independent
    )
    z = NormalDist().inv_cdf((1 + facts.level) / 2)
    half, far = z * math.sqrt(error), FAR_DOUBT * max(scales.response_extent - NEAR_EXTENT, 0.0)
    least = rest - half - TAIL_DOUBT * max(rest, 0.0)
    most = rest + half + (TAIL_DOUBT + far) * max(rest, 0.0)
    deviation = _deviation(rest / rows, least / rows, most / rows, scales.response_deviation * facts.response_unit)
    explained = max(explained, 0.0)
    # The Hessian of shortened rows is too small, and so is what is explained.
    explained_half = z * math.sqrt(max(uncertain, 0.0)) + STEP_DOUBT * explained
    return deviation, _share((least, rest, most), explained, explained_half)


def _deviation(variance: float, low: float, high: float, unit: float) -> Amount:
    if not (low > 0 and high <= MAX_DEVIATION_RATIO**2 * low):
        return HIDDEN
    return Amount(*(unit * math.sqrt(value) for value in (variance, low, high)))


def _share(rests: tuple[float, float, float], explained: float, explained_half: float) -> Amount:
    """R^2 = explained/(explained + rest): it rises with the one and falls with the other, each by as much as its own interval says.

    Not to first order: where what is left is known to a half only, R^2 may be far larger than it seems, and not so far smaller.
    """
    least, rest, most = rests
    if not least > 0:
        return HIDDEN

    def share(part: float, left: float) -> float:
        return part / (part + left)

    value = share(explained, rest)
    less = value - share(max(explained - explained_half, 0.0), rest), value - share(explained, most)
    more = share(explained + explained_half, rest) - value, share(explained, least) - value
    lower, upper = value - math.hypot(*less), value + math.hypot(*more)
    if not upper - lower <= MAX_SHARE_LENGTH:
        return HIDDEN
    return Amount(value, max(lower, 0.0), min(upper, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """Public. The last round: the Newton step, the deviation of its gradient's noise, and the clip.

    The sandwich and the residuals' sum of squares are there if they were asked for; with `clusters` the sandwich is that of their
    sums.
    """

    step: Floats
    noise: float
    clip: Clip
    unit: float
    sandwich: Noisy | None
    squares: Noisy | None
    clusters: ClusterClip | None


def found(facts: Facts, scales: Scales, here: Standpoint, last: Last) -> Found:
    """The findings in the user's units."""
    transform, offsets = user_transform(facts, scales)
    end = here.center + here.matrix @ last.step
    values = offsets + transform @ end
    reach = transform @ here.matrix @ here.inverse
    privacy = _root(reach, _privacy(facts, here, last)) * (1 + WIDENING / facts.nu)
    privacy = np.hypot(privacy, _edge_noise(here, last, reach))
    sampling = _root(reach, _sampling(facts, here, last))
    share = (yes_clip_share if facts.response == "yes or no" else clip_share)(len(last.step))
    bias = one_way_shares(facts, scales, share) * last.clip.excess * last.unit * np.linalg.norm(reach, axis=1)
    surplus = _surplus(here, last, transform, reach)
    known = _known(facts, scales, here, reach)
    count = 0.0 if last.clusters is None else last.clusters.count
    if facts.clustered:
        sampling = sampling * few_clusters_factor(facts, count)
        known = [each and count >= MIN_CLUSTERS for each in known]
    findings = tuple(
        _finding(facts, *numbers) if shown else UNKNOWN
        for shown, *numbers in zip(known, values, privacy, sampling, bias, surplus, strict=True)
    )
    onward = here.matrix @ here.inverse
    noise = onward @ _privacy(facts, here, last) @ onward.T
    shrunk = shrunken(facts, here, end, noise + onward @ _sampling(facts, here, last) @ onward.T)
    deviation, explained = HIDDEN, HIDDEN
    independent = min(facts.rows, count) if facts.clustered else facts.rows
    if last.squares is not None and scales.located and independent >= MIN_CLUSTERS:
        deviation, explained = unexplained(facts, scales, here, last.squares, end, noise, independent)
    return Found(
        names=facts.names,
        findings=findings,
        residual_deviation=deviation,
        r_squared=explained,
        rows=facts.rows,
        predictive=tuple((offsets + transform @ shrunk).tolist()),
        scales=_user_deviations(facts, scales),
    )


def shrunken(facts: Facts, here: Standpoint, end: Floats, covariance: Floats) -> Floats:
    """The slopes made shorter together, as far as their errors explain what they seem to; at the means nothing else is predicted.

    Errors make predictions worse by tr(H cov) on average, wherever they point; where that is much of b'Hb, zero is nearer to the
    true slopes than b is. The factor is that of James and Stein (1961), and never below zero.
    """
    hessian, centered = _around_means(facts, here)
    explained, slopes = float(end @ centered @ end), end.copy()
    slopes[: int(facts.intercept)] = 0.0
    by_errors = float(np.trace(centered @ covariance)) * max(1 - 2 / max(len(end) - facts.intercept, 1), 0.0)
    less = min(by_errors / explained, 1.0) if explained > 0 else 1.0
    shorter = end - less * slopes
    if facts.intercept:
        shorter[0] += less * float(hessian[0] @ slopes) / max(hessian[0, 0], LEAST_CONSTANT * facts.rows)
    return np.asarray(shorter)


def _around_means(facts: Facts, here: Standpoint) -> tuple[Floats, Floats]:
    """The Hessian of the standardized columns, and that of the slopes where the constant follows them, with zeros for it."""
    back = np.linalg.pinv(here.matrix)
    hessian = back.T @ here.hessian @ back
    if not (facts.intercept and hessian[0, 0] > LEAST_CONSTANT * facts.rows):
        return hessian, hessian
    return hessian, hessian - np.outer(hessian[0], hessian[0]) / hessian[0, 0]


def one_way_shares(facts: Facts, scales: Scales, share: float) -> Floats:
    """Of the clip's bound: what may point at each of the user's coefficients; `share` at one of a number without a tail.

    Rows are long where a number has a tail, and then what is cut off points along this number: the more, the longer its tail.
    Where the response has one, what is cut off are residuals of one sign, and all of it points along whatever goes with them. A
    constant goes through the means of all columns, and is as wrong as the slope that is most so.
    """
    tails = np.maximum(scales.kurtoses / USUAL_KURTOSIS, 1.0) * max(scales.response_kurtosis / USUAL_KURTOSIS, 1.0)
    slopes = np.minimum(share * tails, 1.0)
    constants = len(facts.names) - len(facts.columns)
    return np.append(np.full(constants, slopes.max(initial=share)), slopes)


def _edge_noise(here: Standpoint, last: Last, reach: Floats) -> Floats:
    """The deviation that is added for the Hessian's noise where a coefficient's information is hardly seen.

    It is shown because noise has made it look large, and then the step is too short by more than noise of that size explains.
    """
    information = np.einsum("ij,jk,ik->i", reach, here.hessian, reach)
    noise = np.array([math.sqrt(max(float(row @ here.hessian_noise(row) @ row), 0.0)) for row in reach])
    near = np.clip(
        (SURE_INFORMATION - information / np.maximum(noise, 1e-300)) / (SURE_INFORMATION - SEEN_INFORMATION), 0, 1
    )
    more = np.sqrt((1 + EDGE_NOISE * near) ** 2 - 1)
    return np.asarray(more * _root(reach, here.hessian_noise(last.step)))


def _user_deviations(facts: Facts, scales: Scales) -> dict[str, float]:
    """The standard deviations of the columns of numbers in the user's units, as the first look has them."""
    pairs = zip(facts.columns, scales.deviations, strict=True)
    return {each.name: float(abs(deviation / each.unit)) for each, deviation in pairs if each.kind == "number"}


def nothing_found(facts: Facts) -> Found:
    """What there is to say where the price shows nothing."""
    names = facts.names
    return Found(
        names=names,
        findings=(UNKNOWN,) * len(names),
        residual_deviation=HIDDEN,
        r_squared=HIDDEN,
        rows=facts.rows,
        predictive=(0.0,) * len(names),
        scales={},
    )


def _privacy(facts: Facts, here: Standpoint, last: Last) -> Floats:
    """The covariance of what privacy makes of the last gradient: its noise, the Hessian's times the step, what was raised."""
    doubt = STEP_DOUBT
    if not facts.gaussian:
        doubt += min(MOVING_WEIGHTS * float(np.linalg.norm(last.step)) / math.sqrt(here.weight), MAX_MOVING_WEIGHTS)
    raised = (here.hessian - here.exact) @ last.step + doubt * here.hessian @ last.step
    noise = last.noise**2 * np.eye(len(last.step))
    return np.asarray(noise + here.hessian_noise(last.step) + np.outer(raised, raised))


def _sampling(facts: Facts, here: Standpoint, last: Last) -> Floats:
    """The covariance of the gradient by sampling: the sandwich, averaged with the homoscedastic one by precision.

    Where rows have weights the homoscedastic one is too large, for shares are at most 1 and their squares smaller: it stands where
    no sandwich was asked for. Else the sandwich is averaged with its own size in all directions, and little of that.
    """
    variance, hessian = (here.deviation * last.clip.usual) ** 2, here.hessian
    if last.sandwich is None:
        return np.asarray(variance * hessian)
    if last.clusters is not None:
        return clustered_covariance(hessian, variance, last.sandwich, last.clusters.excess * last.unit**2)
    width = len(hessian)
    seen = last.sandwich.sums
    least = MIN_WEIGHTED_VARIANCE if facts.weighted else LEAST_SANDWICH
    usual = min(max(float(np.trace(seen) / np.trace(hessian)), least * variance), MAX_SANDWICH * variance)
    noise = last.sandwich.deviation / (facts.rows * usual)
    doubt = WEIGHTED_DOUBT if facts.weighted else VARIANCE_DOUBT
    share = doubt**2 / (doubt**2 + noise**2)
    root = np.linalg.cholesky(hessian)
    inverse = np.linalg.inv(root)
    mixed = (1 - share) * usual * np.eye(width) + share * inverse @ seen @ inverse.T
    values, vectors = np.linalg.eigh((mixed + mixed.T) / 2)
    turned = root @ vectors
    return np.asarray((turned * np.maximum(values, MIN_VARIANCE * usual)) @ turned.T)


def _root(reach: Floats, covariance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", reach, covariance, reach), 0.0)))


def _surplus(here: Standpoint, last: Last, transform: Floats, reach: Floats) -> Floats:
    """By how much each coefficient's last step is longer than a deviation of the noise in it, and in where it started.

    Coarse steps have made the last one short, unless they were wrong: rows that carry a slope are cut by their clips, and missing
    in the Hessian. No look counts a few dozen of such rows, but what is left of them in the last gradient makes its step long.
    """
    onward = transform @ here.matrix
    noise = np.sqrt(_root(onward, here.wandered) ** 2 + (last.noise * np.linalg.norm(reach, axis=1)) ** 2)
    return np.asarray(np.maximum(np.abs(onward @ last.step) - noise, 0.0))


def _stretch(half: float, surplus: float) -> float:
    """How many times as long an interval is because its last step was long for it.

    Hardly, where the surplus is a part of half the interval; beyond, by what may be wrong of the surplus and no more: rows that
    only now were seen to carry a slope have moved it there, and are not missed once more by as much.
    """
    ratio = min(surplus / max(half, 1e-300), MAX_STRETCH)
    return math.hypot(1.0, math.sqrt(LONG_STEP) * ratio * min(ratio, 1.0))


def _finding(facts: Facts, value: float, privacy: float, sampling: float, bias: float, surplus: float) -> Finding:
    """An interval of the plan's level, and the one that allows for the selection too.

    The adjusted one counts sampling by Scheffe's multiple (Berk et al. 2013, section 4.8), the privacy noise, drawn after the
    selection, by a normal quantile, each with half of what may fail.
    """
    normal, level = NormalDist(), facts.level
    z = normal.inv_cdf((1 + level) / 2)
    error = math.hypot(privacy, sampling)
    stretch = _stretch(USUAL_QUANTILE * error + bias, surplus)  # the same at every level
    half = stretch * (z * error + bias)
    wide = half
    if facts.considered is not None:
        each = (1 + level) / 2
        apart = normal.inv_cdf((1 + each) / 2) * privacy + scheffe(facts.considered, each) * sampling
        wide = max(half, stretch * (apart + bias))
    return Finding(
        value=float(value),
        error=half / z,
        lower=float(value - half),
        upper=float(value + half),
        adjusted_lower=float(value - wide),
        adjusted_upper=float(value + wide),
        privacy_share=float(1 - (sampling / max(half / z, 1e-300)) ** 2),
        visible=float(half),
    )


def _known(facts: Facts, scales: Scales, here: Standpoint, reach: Floats) -> list[bool]:
    """Which of the user's coefficients are shown, by public values alone, each by itself.

    Not those of levels that were too rare to be seen, of numbers that nearly all rows share a value of or whose tail is long, of
    any number where the response is such, or of what goes along with those. Nor any whose information, 1/(a'H^-1 a), does not
    stand `SEEN_INFORMATION` deviations above the noise of the Hessian, or is mostly what was raised: a collinear column is not
    sharp because others are. Odds are not shown where yes are too rare for anything.
    """
    constants = len(facts.names) - len(facts.columns)
    # A constant is as wrong as any slope: it goes through the means of all columns.
    seen = [bool(scales.shown.all())] * constants + [bool(shown) for shown in scales.shown]
    rare = scales.drowned or facts.nu * 4 * scales.mean * (1 - scales.mean) < MIN_YES_NU
    if (facts.family == "binomial" and rare) or not scales.located:
        return [False] * len(seen)
    known = []
    for located, direction in zip(seen, reach, strict=True):
        information = float(direction @ here.hessian @ direction)
        noise = math.sqrt(max(float(direction @ here.hessian_noise(direction) @ direction), 0.0))
        raised = float(direction @ (here.hessian - here.exact) @ direction)
        known.append(located and information >= SEEN_INFORMATION * noise and raised <= MAX_RAISED * information)
    unsure = [constants + int(place) for place in np.flatnonzero(~scales.shown)]
    return [shown and not spoiled for shown, spoiled in zip(known, _goes_along(here, reach, unsure), strict=True)]


def _goes_along(here: Standpoint, reach: Floats, unsure: list[int]) -> list[bool]:
    """Which coefficients have errors that go along with those of one that cannot be shown: they are as wrong as it is."""
    covariance = reach @ here.hessian @ reach.T
    errors = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    along = np.abs(covariance / np.outer(errors, errors))[:, unsure]
    return [bool(row.max() > MAX_ALONG) if unsure else False for row in along]


def user_transform(facts: Facts, scales: Scales) -> tuple[Floats, Floats]:
    """Offsets and matrix that make the user's coefficients of those of the standardized columns and their constant."""
    names, gaussian = facts.names, facts.gaussian
    unit = facts.response_unit * (scales.response_deviation if gaussian else 1.0)
    constants = len(names) - len(facts.columns)
    matrix, offsets = np.zeros((len(names), len(scales.centers) + facts.intercept)), np.zeros(len(names))
    if facts.intercept:
        matrix[0, 0] = unit
    if constants:
        offsets[0] = facts.response_middle + facts.response_unit * (scales.response_center if gaussian else 0.0)
    for place, column in enumerate(facts.columns):
        slope = unit / scales.scales[place]
        matrix[constants + place, place + facts.intercept] = slope * column.unit
        if constants:
            matrix[0, place + facts.intercept] = slope * (column.zero - scales.centers[place])
    return matrix, offsets
