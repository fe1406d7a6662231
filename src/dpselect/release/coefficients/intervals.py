"""Public. Intervals that count sampling and privacy noise together. Post-processing: they cost nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args
from zlib import crc32

import numpy as np

from dpselect.errors import AssumptionError
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.normal_equations import Equations, Fit, Floats, solve_moments
from dpselect.release.coefficients.redraw import redrawn_moments, redrawn_noise

IntervalKind = Literal["bootstrap", "delta", "after-selection"]
INTERVALS: tuple[IntervalKind, ...] = get_args(IntervalKind)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Public. Which intervals are wanted: their level of confidence, and what they count; made once, at the door."""

    level: float = 0.95
    kind: IntervalKind = "bootstrap"

    def __post_init__(self) -> None:
        check_level(self.level)
        check_kind(self.kind)


REDRAWS = 999
"""Tables redrawn for a bootstrap interval."""

PIECE = 2**22
"""How many numbers a piece of the redrawn tables may fill."""


@dataclass(frozen=True, slots=True)
class Redraws:
    """Public. How a bootstrap draws: the law of the privacy noise, and a seed."""

    laplace: bool
    seed: int

    @classmethod
    def of(cls, noisy: NoisyMoments) -> Redraws:
        """Seeded by what was released, so that the same release always reads the same and two share no luck."""
        return cls(noisy.noise.scale.noise == "laplace", crc32(repr(noisy.values).encode()))


def half_widths(
    fit: Fit,
    model: Equations,
    directions: Floats,
    *,
    level: float,
    kind: IntervalKind,
    redraws: Redraws,
    columns: int,
) -> Floats:
    """How far an interval extends to each side, for each linear combination (row of `directions`) of the coefficients.

    "delta": standard errors times the normal quantile.

    "bootstrap": standard errors times the quantile of |estimate - truth| / standard error over tables redrawn from the fitted
    model, with fresh residuals and fresh privacy noise, each solved in the same way, shrinking included. Both agree
    where noise is small beside the Gram; where it is not, the standard error overstates and the bootstrap takes that back.

    "after-selection": covers, at once, every model that could have been chosen among `columns` columns. The sampling
    part is at most Scheffe's multiple of its standard error, for all models at once (Berk et al. 2013, section 4.8); the
    privacy noise is drawn after the choice and knows nothing of it. Each part gets half of what may fail, and they add up.
    """
    errors = standard_errors(fit, directions)[0]
    if kind == "delta":
        return np.asarray(errors * NormalDist().inv_cdf((1 + level) / 2))
    if kind == "bootstrap":
        return np.asarray(errors * _bootstrap_reach(fit, model, directions, level, redraws))
    sampling = np.sqrt(fit.variance[0] * np.einsum("ci,ij,cj->c", directions, np.linalg.inv(fit.gram[0]), directions))
    noise = np.sqrt(np.maximum(errors**2 - sampling**2, 0.0))
    each = (1 + level) / 2
    return np.asarray(scheffe(columns, each) * sampling + NormalDist().inv_cdf((1 + each) / 2) * noise)


def _bootstrap_reach(fit: Fit, model: Equations, directions: Floats, level: float, redraws: Redraws) -> Floats:
    truth = directions @ fit.coefficients[0]
    scores = []
    for start, count in _pieces(model):
        noise = redrawn_noise(model.variances, redraws.laplace, count, (redraws.seed, start))
        moments = redrawn_moments(fit, count, (redraws.seed, start)) + np.tensordot(noise, model.patterns, axes=1)
        rows = np.full(count, fit.rows[0])
        if model.rows is None and model.rows_entry is not None:
            rows = rows + noise[:, model.rows_entry]
        again = solve_moments(moments, rows, model)
        scores.append(np.abs(again.coefficients @ directions.T - truth) / standard_errors(again, directions))
    return np.asarray(np.quantile(np.concatenate(scores), level, axis=0, method="higher"))


def standard_errors(fit: Fit, directions: Floats) -> Floats:
    """Of each linear combination of the coefficients, one row a table."""
    squares = np.einsum("ci,bij,cj->bc", directions, fit.covariance, directions)
    return np.asarray(np.sqrt(np.maximum(squares, 1e-300)))


def check_level(level: float) -> None:
    """Refuse what is not a level of confidence."""
    if not 0.5 <= level <= 0.999:
        raise AssumptionError(f"level is {level!r}; it must be between 0.5 and 0.999 (0.95 is usual).")


def check_kind(kind: object) -> None:
    """Refuse a kind of interval that is not known."""
    if kind not in INTERVALS:
        raise AssumptionError(f"intervals is {kind!r}; it must be one of {', '.join(map(repr, INTERVALS))}.")


def _pieces(model: Equations) -> list[tuple[int, int]]:
    size = max(1, min(REDRAWS, PIECE // max(1, model.patterns[:, 0].size)))
    return [(start, min(size, REDRAWS - start)) for start in range(0, REDRAWS, size)]


def scheffe(columns: int, level: float) -> float:
    """The square root of the chi-squared quantile: the reach that covers every model of `columns` columns at once.

    Exact for one and two columns; else by the Wilson-Hilferty approximation, raised by as much as it can be short.
    """
    if columns <= 2:
        return NormalDist().inv_cdf((1 + level) / 2) if columns == 1 else math.sqrt(-2 * math.log1p(-level))
    z = NormalDist().inv_cdf(level)
    return 1.004 * math.sqrt(columns * (1 - 2 / (9 * columns) + z * math.sqrt(2 / (9 * columns))) ** 3)


USUAL = Intervals()
"""What nobody has to ask for."""
