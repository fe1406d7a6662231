"""Public. Coordinates in which a sum of squares is the same in all directions, as far as noise lets it be seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpselect.assume.queries import Floats

SEEN_NOISE = 0.5
"""An eigenvalue below so many deviations of the noise times the root of the width is raised to it."""
LEAST_LEFT = 0.05
"""Of n: what is left of a sum of squares in a direction of rare dummies, at least."""


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
    for part in (1.0, 0.5, 0.25, 0.125, 0.0):  # pragma: no branch
        matrix = whitening(gram + part * short, rows, noise, least)
        left = rows * np.eye(len(gram)) - part * matrix.T @ short @ matrix
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        if values[0] >= 0.5 * (rows - part * short.max()):  # surely where nothing is added
            break
    values = np.maximum(values, LEAST_LEFT * rows)
    return Tamed(matrix, part * short, (vectors * values) @ vectors.T, (vectors / values) @ vectors.T)
