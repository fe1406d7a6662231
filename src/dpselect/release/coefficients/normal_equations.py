"""Public. From noisy moments to coefficients, many at a time: what is released and what a rehearsal redraws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.moment_layout import MomentLayout, entry_patterns, known_part
from dpselect.randomize.noisy_moments import NoisyMoments

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Equations:
    """Public. How a model's moments are made of noisy entries, for the places kept: the model's columns, the response last.

    `patterns` has one matrix an entry, `variances` the variance of the noise on each, `known` the part without noise.
    `rows_entry` is the entry that counts rows, where their number is private.
    """

    patterns: Floats
    variances: Floats
    known: Floats
    constant: int | None
    rows: int | None
    rows_entry: int | None


@dataclass(frozen=True, slots=True)
class Fit:
    """Public. Solutions, the first axis running over tables: coefficients of the scaled columns and their covariance.

    `gram` is the positive definite X'X that was solved with, `variance` that of a residual, `rows` the number of rows.
    """

    coefficients: Floats
    covariance: Floats
    gram: Floats
    variance: Floats
    rows: Floats


def equations(noisy: NoisyMoments, places: list[int]) -> Equations:
    """The equations of the columns at these places of the noisy moments' own model."""
    layout = noisy.layout
    kept = [*places, layout.width - 1]
    constants = [i for i, place in enumerate(places) if place == layout.constant]
    return Equations(
        patterns=entry_patterns(layout)[:, kept][:, :, kept],
        variances=noisy.deviations**2,
        known=known_part(layout, noisy.known_rows)[np.ix_(kept, kept)],
        constant=constants[0] if constants else None,
        rows=noisy.known_rows if layout.constant_is_known or layout.constant is None else None,
        rows_entry=_rows_entry(layout),
    )


def _rows_entry(layout: MomentLayout) -> int | None:
    wanted = () if layout.constant is None else (layout.constant, layout.constant)
    for place, cells in enumerate(layout.entries):
        if cells == wanted or (cells and cells[0] == wanted):
            return place
    return None


def solve(entries: Floats, model: Equations) -> Fit:
    """Least squares from noisy entries, one row a table."""
    moments = model.known + np.tensordot(entries, model.patterns, axes=1)
    if model.rows is not None:
        return solve_moments(moments, np.full(len(entries), float(model.rows)), model)
    assert model.rows_entry is not None
    return solve_moments(moments, entries[:, model.rows_entry], model)


def solve_moments(moments: Floats, rows: Floats, model: Equations) -> Fit:
    """Least squares from noisy moments, one matrix a table.

    The covariance counts both noises. With b the coefficients and t = (b, -1), the equations X'y - X'X b are off by the
    residuals' X'e, of covariance variance * X'X, and by the entries' noise, sum_k noise_k pattern_k t; the coefficients are
    off by the inverse Gram of the sum (the delta method).
    """
    rows = np.maximum(rows, 1.0)
    width = moments.shape[1] - 1
    gram = positive_gram(moments[:, :width, :width], rows, model)
    right, square = moments[:, :width, width], moments[:, width, width]
    inverse = np.linalg.inv(gram)
    coefficients = (inverse @ right[:, :, None])[:, :, 0]
    explained = np.einsum("bi,bij,bj->b", coefficients, gram, coefficients)
    residual = square - 2 * np.einsum("bi,bi->b", coefficients, right) + explained
    # The response has a range of 2, so no residual variance is above 1; a share of a millionth keeps it above 0.
    variance = np.clip(residual / np.maximum(rows - width, 1.0), 1e-6, 1.0)
    spread = variance[:, None, None] * gram + noise_covariance(coefficients, model)
    return Fit(coefficients, inverse @ spread @ inverse, gram, variance, rows)


def noise_covariance(coefficients: Floats, model: Equations) -> Floats:
    """The covariance, one matrix a table, that the entries' noise gives X'y - X'X b."""
    tail = np.concatenate([coefficients, -np.ones((len(coefficients), 1))], axis=1)
    width = coefficients.shape[1]
    moved = np.einsum("kij,bj->bki", model.patterns[:, :width], tail)
    return np.asarray(np.einsum("bki,k,bkj->bij", moved, model.variances, moved))


def positive_gram(gram: Floats, rows: Floats, model: Equations) -> Floats:
    """A positive definite X'X near the noisy one; equal to it but for a share that falls with the square of the noise.

    The columns are centred (if there is an intercept) and scaled to a correlation matrix. Its cells off the diagonal are
    shrunk by one factor, max(0, 1 - noise/size) in squares, as James and Stein would: noise spreads the eigenvalues, and
    shrinking undoes that on average. Then an eigenvalue e becomes e + k^2/e, or 2k below k, k being the deviation of a
    cell's noise: this solves the equations with a ridge of k^2 on their squares, so that what noise drowns is not inverted.
    """
    free = [i for i in range(gram.shape[1]) if i != model.constant]
    if not free:
        return np.maximum(gram, 1.0)
    if model.constant is None:
        mean = np.zeros((len(gram), len(free)))
    else:
        mean = gram[:, model.constant, free] / rows[:, None]
    centre = rows[:, None, None] * mean[:, :, None] * mean[:, None, :]
    whole = gram.copy()
    block = np.ix_(range(len(gram)), free, free)
    whole[block] = _positive(gram[block] - centre, _cell_noise(mean, free, model)) + centre
    if model.constant is not None:
        whole[:, model.constant, model.constant] = rows
    return whole


def _cell_noise(mean: Floats, free: list[int], model: Equations) -> Floats:
    """The variance of the noise on each centred product x_i'x_j - n m_i m_j, to first order, with m the means.

    Its noise is that of x_i'x_j, less m_i times that of column j's sum, less m_j times that of i's, plus m_i m_j times that of
    the number of rows: a quadratic form in (1, -m_i, -m_j, m_i m_j).
    """
    cells = model.patterns[:, free][:, :, free]
    sums, count = np.zeros_like(cells[:, 0]), np.zeros(len(cells))
    if model.constant is not None:
        sums, count = model.patterns[:, model.constant, free], model.patterns[:, model.constant, model.constant]
    moved = [cells, sums[:, None, :], sums[:, :, None], count[:, None, None]]
    times = [np.ones((1, 1, 1)), -mean[:, :, None], -mean[:, None, :], mean[:, :, None] * mean[:, None, :]]
    noise = np.zeros((len(mean), len(free), len(free)))
    for a in range(4):
        for b in range(4):
            noise += times[a] * times[b] * np.tensordot(model.variances, moved[a] * moved[b], axes=1)
    return noise


def _positive(matrix: Floats, noise: Floats) -> Floats:
    """The same, for centred columns; `noise` is the variance of the noise on each cell."""
    width = matrix.shape[1]
    diagonal = np.arange(width)
    size = np.sqrt(np.maximum(matrix[:, diagonal, diagonal], np.sqrt(noise[:, diagonal, diagonal])) + 1e-12)
    scale = size[:, :, None] * size[:, None, :]
    correlation, noise = matrix / scale, noise / scale**2
    correlation[:, diagonal, diagonal] = 0.0
    off_noise = noise.sum(axis=(1, 2)) - noise[:, diagonal, diagonal].sum(axis=1)
    off_size = (correlation**2).sum(axis=(1, 2))
    factor = np.clip(1 - off_noise / np.maximum(off_size, 1e-300), 0.0, 1.0)
    kept = factor[:, None, None] * correlation + np.eye(width)
    level = np.sqrt(noise.mean(axis=(1, 2)) * factor)[:, None] + 1e-9
    values, vectors = np.linalg.eigh(kept)
    raised = np.where(values > level, values + level**2 / np.maximum(values, level), 2 * level)
    return np.asarray((vectors * raised[:, None, :]) @ vectors.swapaxes(1, 2) * scale)
