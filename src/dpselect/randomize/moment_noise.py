"""The noise of noisy moments: which, how much, and at what price. All public; OpenDP draws it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dpselect.assume.lemmas.gaussian_price import discrete_is_within, largest_mu
from dpselect.assume.lemmas.moments import MomentLayout, MomentScale, NoiseKind, balance, moment_scale
from dpselect.assume.records import Public
from dpselect.errors import StudyError
from dpselect.randomize.opendp_door import check_epsilon, invoke, opendp

STEP = 2.0**-36
"""By what share a scale is raised while its price, read back, is above what was asked."""


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
    if noise == "laplace":
        return MomentNoise(scale=scale, spread=_laplace_spread(scale, epsilon), epsilon=epsilon, delta=0.0, rho=None)
    if not delta > 0:
        raise StudyError("Gaussian noise needs a delta above 0 (1e-6 is usual); or use noise='laplace'.")
    spread, rho = _gaussian_spread(scale, epsilon, delta)
    return MomentNoise(scale=scale, spread=spread, epsilon=epsilon, delta=delta, rho=rho)


def draw(numbers: list[int], noise: MomentNoise) -> list[int]:
    """The numbers with noise."""
    return [int(value) for value in invoke(_measurement(noise.scale.noise, noise.spread), numbers)]


def _laplace_spread(scale: MomentScale, epsilon: float) -> float:
    spread = scale.sensitivity / epsilon
    while _measurement("laplace", spread).map(scale.sensitivity) > epsilon:
        spread *= 1 + STEP
    return spread


def _gaussian_spread(scale: MomentScale, epsilon: float, delta: float) -> tuple[float, float]:
    spread = math.hypot(scale.sensitivity / largest_mu(epsilon, delta), 4.0)
    while True:
        rho = _measurement("gaussian", spread).map(scale.sensitivity)
        if discrete_is_within(rho, scale.sensitivity, epsilon, delta):
            return spread, rho
        spread *= 1 + STEP


@lru_cache(maxsize=64)
def _measurement(noise: NoiseKind, spread: float) -> Any:
    """OpenDP's discrete Laplace or Gaussian on 64-bit whole numbers, for the l1 or l2 distance. Sums that overflow saturate."""
    dp = opendp()
    numbers = dp.vector_domain(dp.atom_domain(T="i64"))
    if noise == "laplace":
        return dp.m.make_laplace(numbers, dp.l1_distance(T="i64"), scale=spread)
    return dp.m.make_gaussian(numbers, dp.l2_distance(T="i64"), scale=spread)


def gaussian_measurement(spread: float) -> Any:
    """Discrete Gaussian noise of one scale on whole numbers, for whoever prices it by its privacy map."""
    return _measurement("gaussian", spread)
