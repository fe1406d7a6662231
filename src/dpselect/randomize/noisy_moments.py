"""Moments to noisy moments: discrete noise on whole numbers, by OpenDP. From here on everything is public."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.moments import GRID_BITS, WEIGHT_BITS, MomentLayout, MomentScale
from dpselect.assume.records import Public
from dpselect.gather.moments import Moments
from dpselect.randomize.moment_noise import MomentNoise, draw

MAX_CLAMPED_SUM = 2**62
"""Sums beyond are set to it before noise is added. No table of MAXIMUM_ROWS rows has one, and clamping moves nothing apart."""


class NoisyMoments(Public, frozen=True, tag_field="kind", tag="moments"):
    """The entries of a layout with noise, as the whole numbers that were drawn.

    Formal guarantee: `values` is the outcome of the mechanism that `noise` describes, at the price stated there.
    """

    layout: MomentLayout
    noise: MomentNoise
    values: tuple[int, ...]
    known_rows: int | None  # the number of rows, where it is public

    @property
    def entries(self) -> NDArray[np.float64]:
        """The noisy entries in units of the scaled columns and response (of rows, for a row count)."""
        return np.array([float(value) for value in self.values]) * _unit(self.noise.scale)

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of each entry's noise, in the same units."""
        return self.noise.deviation * _unit(self.noise.scale)


def noisy_moments(moments: Moments, layout: MomentLayout, noise: MomentNoise) -> NoisyMoments:
    """Weigh, round and clamp the model's moments, and add the noise that was priced. Nothing else leaves."""
    numbers = weighted_integers(moments, layout, noise.scale)
    return NoisyMoments(
        layout=layout,
        noise=noise,
        values=tuple(draw(numbers, noise)),
        known_rows=moments.n if layout.neighbors == "replace-one" else None,
    )


def weighted_integers(moments: Moments, layout: MomentLayout, scale: MomentScale) -> list[int]:
    """The whole numbers that noise is added to: floor(entry * weight / 2^shift + 1/2), within +-2^62. Private."""
    products = _model_products(moments, layout)
    half = 1 << (scale.shift - 1)
    entries = [int(products[cells[0]]) if cells else moments.n << GRID_BITS for cells in layout.entries]
    rounded = [(entry * weight + half) >> scale.shift for entry, weight in zip(entries, scale.weights, strict=True)]
    return [max(-MAX_CLAMPED_SUM, min(MAX_CLAMPED_SUM, number)) for number in rounded]


def _model_products(moments: Moments, layout: MomentLayout) -> NDArray[np.object_]:
    """Exact products of the model's columns and response, a lone dummy d turned into the sign 2d - intercept."""
    kept = [*layout.columns, len(moments.columns)]
    products = moments.products[np.ix_(kept, kept)].copy()
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            products[place] = 2 * products[place] - products[layout.constant]
            products[:, place] = 2 * products[:, place] - products[:, layout.constant]
    return products


def _unit(scale: MomentScale) -> NDArray[np.float64]:
    """What one whole number is worth, entry by entry."""
    weights: NDArray[np.float64] = np.array(scale.weights, dtype=np.float64)
    return 2.0 ** (WEIGHT_BITS - scale.bits) / weights
