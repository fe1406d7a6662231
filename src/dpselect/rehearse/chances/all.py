"""Custodian's eyes only. The exact chance of every candidate under each mechanism, from the scores.

A candidate's *distance* is (score - least score) / scale with scale = range / epsilon; each chance is a function of the
distances alone. All three mechanisms report the candidate whose score plus noise of that scale is least:
Gumbel noise (exponential mechanism), negated exponential noise (permute-and-flip) or Laplace noise. Nothing here is
sampled, and nothing here is private to the outside: the result depends on the rows without any noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.recipe import MECHANISMS, Mechanism
from dpselect.errors import StudyError
from dpselect.rehearse.chances.laplace import laplace_log_chances
from dpselect.rehearse.chances.survival import survival_integrals

Floats = NDArray[np.float64]


def selection_probabilities(
    values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The chance of every candidate; `values` is (..., K), low is good, and the result has its shape.

    Every chance, however small, is right to a relative 1e-9 (until it underflows; then ask for the logarithms).
    `range` is the range of the scores' change, or an array of the leading shape of `values`. An infinite range makes the
    choice uniform; range 0 makes it uniform over the candidates of least score.

    Tested: tests/rehearse/chances/test_all.py
    """
    chances: Floats = np.exp(log_selection_probabilities(values, range, epsilon, mechanism))
    return chances


def log_selection_probabilities(
    values: Floats, range: float | Floats, epsilon: float, mechanism: Mechanism = "permute-and-flip"
) -> Floats:
    """The logarithm of every candidate's chance, to an absolute 1e-9, also where the chance itself underflows."""
    if mechanism not in MECHANISMS:
        raise StudyError(f"mechanism={mechanism!r} is not known: choose one of {', '.join(MECHANISMS)}.")
    if not epsilon > 0:
        raise StudyError(f"epsilon={epsilon!r} is not a privacy cost: give a positive number.")
    return _LOG_CHANCES[mechanism](_distances(values, range, epsilon))


def _distances(values: Floats, range: float | Floats, epsilon: float) -> Floats:
    gaps = np.asarray(values, dtype=np.float64)
    gaps = gaps - gaps.min(axis=-1, keepdims=True)
    scale = np.asarray(range, dtype=np.float64)[..., np.newaxis] / epsilon
    # A gap of 0 is a distance of 0 even when the scale is 0; a positive gap is then infinitely far.
    far = np.full(np.broadcast(gaps, scale).shape, np.inf)
    np.divide(gaps, scale, out=far, where=scale > 0)
    distances: Floats = np.where(gaps > 0, far, 0.0)
    return distances


def _exponential_log_chances(distances: Floats) -> Floats:
    logs: Floats = -distances - np.log(np.exp(-distances).sum(axis=-1, keepdims=True))
    return logs


def _permute_and_flip_log_chances(distances: Floats) -> Floats:
    """Log of P(i) = p_i * integral over 0 < t < 1 of prod_{j != i} (1 - p_j t), with p_j = exp(-distance_j).

    Why: candidate j reports distance_j - E_j with E_j standard exponential, and i wins with the value v when every other
    one stays above it: integrate exp(v - distance_i) prod_{j != i} (1 - exp(v - distance_j)) over v < 0, because at v = 0
    the best candidate's factor vanishes, and put t = exp(v). That this is permute-and-flip is Ding, Kifer, Steinke, Wang,
    Xiao and Zhang, *The permute-and-flip mechanism is identical to report-noisy-max with exponential noise* (2021).
    """
    return -distances + np.log(survival_integrals(np.exp(-distances)))


_LOG_CHANCES = {
    "permute-and-flip": _permute_and_flip_log_chances,
    "exponential": _exponential_log_chances,
    "laplace": laplace_log_chances,
}
