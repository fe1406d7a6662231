"""Noisy moments: which noise, how much, at what price (all public), and the draw, by OpenDP."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.moments import (
    GRID_BITS,
    WEIGHT_BITS,
    MomentLayout,
    MomentScale,
    NoiseKind,
    balance,
    moment_scale,
)
from dpselect.assume.lemmas.rounds import discrete_deviation, discrete_is_within, largest_mu
from dpselect.assume.records import Public
from dpselect.errors import StudyError
from dpselect.gather.moments import Moments
from dpselect.randomize.opendp_door import check_epsilon, clamped, integer_measurement, invoke, least_spread


class MomentNoise(Public, frozen=True):
    """Discrete noise of scale `spread` (in whole numbers of `scale`) on every entry, and its price.

    Formal guarantee: whole numbers that one person moves by at most `scale.sensitivity` are released with
    (epsilon, delta)-differential privacy. `rho` is OpenDP's zero-concentrated price of Gaussian noise; Laplace noise is
    pure (delta = 0) and has none.
    """

    scale: MomentScale
    spread: float
    epsilon: float
    delta: float
    rho: float | None

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each whole number."""
        return self.spread if self.scale.noise == "gaussian" else math.sqrt(2) * self.spread


def quieter_noise(layout: MomentLayout, epsilon: float, delta: float) -> NoiseKind:
    """The kind of noise that moves the coefficients less, from public values alone: Laplace for few columns, else Gaussian."""
    if not delta > 0:
        return "laplace"
    gaussian = balance(layout, "gaussian")[1] / largest_mu(epsilon, delta) ** 2
    laplace = 2 * balance(layout, "laplace")[1] / epsilon**2
    return "gaussian" if gaussian < laplace else "laplace"


def moment_noise(
    layout: MomentLayout, epsilon: float, delta: float, *, noise: NoiseKind | None = None, rows_per_person: int = 1
) -> MomentNoise:
    """The least noise on a layout's entries that is worth (epsilon, delta), its price read back from OpenDP's privacy map."""
    check_epsilon(epsilon)
    if not 0 <= delta < 0.5:
        raise StudyError(f"delta is {delta!r}; it must be at least 0 and below 0.5.")
    if not (isinstance(rows_per_person, int) and rows_per_person >= 1):
        raise StudyError(f"rows_per_person is {rows_per_person!r}; it must be a whole number of at least 1.")
    noise = quieter_noise(layout, epsilon, delta) if noise is None else noise
    if noise not in ("gaussian", "laplace"):
        raise StudyError(f"noise is {noise!r}; it must be 'gaussian' or 'laplace'.")
    scale = moment_scale(layout, noise, rows_per_person)
    moved = scale.sensitivity
    if noise == "laplace":
        spread, _ = least_spread(noise, moved, moved / epsilon, lambda price: price <= epsilon)
        return MomentNoise(scale=scale, spread=spread, epsilon=epsilon, delta=0.0, rho=None)
    if not delta > 0:
        raise StudyError("Gaussian noise needs a delta above 0 (1e-6 is usual); or use noise='laplace'.")
    start = discrete_deviation(moved, largest_mu(epsilon, delta))
    spread, rho = least_spread(noise, moved, start, lambda rho: discrete_is_within(rho, moved, epsilon, delta))
    return MomentNoise(scale=scale, spread=spread, epsilon=epsilon, delta=delta, rho=rho)


def draw(numbers: list[int], noise: MomentNoise) -> list[int]:
    """The numbers with noise."""
    return [int(value) for value in invoke(integer_measurement(noise.scale.noise, noise.spread), numbers)]


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
    return clamped(rounded)


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
