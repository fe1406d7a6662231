"""Public. What noisy moments and a wide prior say about each combination of the unknowns: Laplace's marginals.

The density is proportional to |V|^-1/2 exp(-r'V^-1 r / 2) times a normal prior. Along a direction a, the density of a'u = x is
that at its highest point with a'u = x, times the volume around it (|second derivative|^-1/2 of all other directions). It
is followed from the top to both sides, step by step: no sampling, so the same release reads the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpselect.release.equations.descent import Function, Lowest, descend, moved_along, orthogonal, positive
from dpselect.release.equations.pivot import Floats

STEPS = (0.5, 1.0, 1.5, 2.0, 2.6, 3.4, 4.5)
"""How far from the top the density is followed, in deviations at the top."""

FINE = 801
"""Points at which it is added up."""


@dataclass(frozen=True, slots=True)
class Marginals:
    """Public. For each direction the places where the density was followed, in order, and its logarithm there.

    `deviations` is that of a normal density as curved as this one at its top, `tops` where that is.
    """

    tops: Floats
    deviations: Floats
    places: Floats
    logs: Floats

    def quantiles(self, chances: Floats, within: tuple[float, float] = (-np.inf, np.inf)) -> Floats:
        """One row a direction, one column a chance; the density is cut at `within`, if it may not be negative, say."""
        found = []
        for top, deviation, places, logs in zip(self.tops, self.deviations, self.places, self.logs, strict=True):
            fine = np.linspace(max(places[0], within[0]), min(places[-1], within[1]), FINE)
            # What is interpolated is the difference to the normal density, which is nearly straight.
            rest = np.interp(fine, places, logs + ((places - top) / deviation) ** 2 / 2)
            log = rest - ((fine - top) / deviation) ** 2 / 2
            density = np.exp(log - log.max())
            below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
            found.append(np.interp(chances, below / below[-1], fine))
        return np.array(found)


def marginals(function: Function, top: Lowest, directions: Floats) -> Marginals:
    """`function` is -2 log density, `top` its lowest point (one row), `directions` one row each."""
    count = len(directions)
    curve = positive(top.shape.hessian[0] / 2)
    deviations = np.sqrt(np.einsum("ci,ij,cj->c", directions, np.linalg.inv(curve), directions))
    both = np.concatenate([directions, directions])
    side = np.repeat([-1.0, 1.0], count) * np.concatenate([deviations, deviations])
    start = both @ top.unknowns[0]
    basis = orthogonal(both)
    unknowns = np.repeat(top.unknowns, 2 * count, axis=0)
    shape = function(unknowns)
    first = _log(shape.values, shape.hessian, basis)
    places, logs = [start], [np.zeros(2 * count)]
    for step in STEPS:
        guess = moved_along(unknowns, shape, both, start + side * step)
        low = descend(function, guess, both, steps=12)
        unknowns, shape = low.unknowns, low.shape
        places.append(start + side * step)
        logs.append(_log(shape.values, shape.hessian, basis) - first)
    return Marginals(start[:count], deviations, _joined(places, count), _joined(logs, count))


def _log(values: Floats, hessian: Floats, basis: Floats) -> Floats:
    if basis.shape[2] == 0:
        return np.asarray(-values / 2)
    around = positive(np.swapaxes(basis, 1, 2) @ (hessian / 2) @ basis)
    return np.asarray(-values / 2 - np.linalg.slogdet(around)[1] / 2)


def _joined(steps: list[Floats], count: int) -> Floats:
    """From the farthest left to the farthest right, one row a direction."""
    walked = np.array(steps)
    return np.concatenate([walked[:0:-1, :count], walked[:, count:]]).T
