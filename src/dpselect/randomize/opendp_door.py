"""The one door to OpenDP: its mechanisms for a scale, their prices by OpenDP's own privacy maps, and quiet failure.

All noise that protects data is drawn behind it: exact arithmetic, a cryptographic generator, no seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

from dpselect.assume.lemmas.moments import NoiseKind
from dpselect.assume.recipe import MECHANISMS, Mechanism
from dpselect.errors import DpselectError, StudyError

LEAST_SCALE = 2.0**-900
"""No noise is narrower; it would be none at all, and OpenDP's maps could overflow."""

LAPLACE_ROUNDING = 2.0**-41
"""The part of epsilon that rounding Laplace noise to doubles can cost: 2^-51 of up to 2^10 scales (more has chance e^-1024)."""


@cache
def opendp() -> Any:
    """The library, loaded when it is first needed, so that `import dpselect` stays light.

    The same names as `opendp.prelude`, without its import of scikit-learn, SciPy and pandas where those are installed:
    measured, ten times faster.
    """
    from opendp import combinators, domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    names = {name: value for module in (mod, domains, metrics, measures) for name, value in vars(module).items()}
    return SimpleNamespace(**names, m=measurements, c=combinators)


@lru_cache(maxsize=64)
def choice_measurement(mechanism: Mechanism, scale: float) -> Any:
    """OpenDP's measurement from a float64 vector of scores, low is good: an index, or for "laplace" the noisy vector.

    OpenDP's noisy maximum is permute-and-flip under the max-divergence, and the exponential mechanism under the
    zero-concentrated divergence.
    """
    if mechanism not in MECHANISMS:
        raise StudyError(f"mechanism={mechanism!r} is not known: choose one of {', '.join(MECHANISMS)}.")
    dp = opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    if mechanism == "laplace":
        return dp.m.make_laplace(vectors, dp.l1_distance(T=float), scale=scale)
    measures = {"permute-and-flip": dp.max_divergence, "exponential": dp.zero_concentrated_divergence}
    return dp.m.make_noisy_max(vectors, dp.linf_distance(T=float), measures[mechanism](), scale=scale, negate=True)


def choice_price(mechanism: Mechanism, scale: float, range: float) -> Fraction:
    """The square of the pure epsilon that a choice with this scale costs, read back from OpenDP's privacy map.

    Scores whose changes have the range w differ, after a shift common to all candidates, by at most w/2 each; the
    shift changes no choice, because noise is compared between candidates only. So d_in is w/2 for the ordinary
    L-infinity distance.

    - permute-and-flip: the map is epsilon.
    - exponential: the map is rho = eta^2/8 with eta = w/scale, the bounded range of the mechanism's privacy loss. A loss
      whose values span at most eta takes both signs or is 0, so it is at most eta: the pure price is sqrt(8 rho).
    - laplace: the noisy vector is never released, only where it is least. Given the other candidates' noise, candidate i
      wins when its own noise is below some threshold, and that threshold moves by at most w between neighbours: i costs no
      more than one Laplace release of one number with sensitivity w, and that is OpenDP's map at the l1 distance w.
      Rounding of the noisy values to doubles is monotone and ties go to the lower index, so the threshold remains one, but
      it may move by two units in the last place more: 2^-51 of the scores, which their range has room for
      (`score_rounding` takes twice what it needs), and 2^-51 of the noise, for which `LAPLACE_ROUNDING` is set aside.

    Squares, so that the comparison with epsilon is exact.
    Source: Ding et al. 2021 (permute-and-flip is noisy max); Cesar and Rogers 2021, Lemma 3.2 (bounded range and zCDP).
    Tested: tests/randomize/test_choice.py
    """
    measurement = choice_measurement(mechanism, scale)
    if mechanism == "exponential":
        return 8 * Fraction(measurement.map(range / 2))
    return Fraction(measurement.map(range if mechanism == "laplace" else range / 2)) ** 2


def scale_within(price: Callable[[float], Fraction], sensitivity: float, epsilon: float) -> float:
    """The least scale from sensitivity/epsilon on, upwards by units in the last place, whose price is within epsilon.

    `price` maps a scale to the square of what it costs. The quotient rounds to nearest and OpenDP's maps round up, so a
    few steps are needed at most.
    """
    scale = max(sensitivity / epsilon, LEAST_SCALE)
    while math.isfinite(scale) and price(scale) > Fraction(epsilon) ** 2:
        scale = math.nextafter(scale, math.inf)
    return scale


def number_measurement(scale: float) -> Any:
    """OpenDP's Laplace measurement of one number, for the absolute distance."""
    dp = opendp()
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)


def invoke(measurement: Any, private: Any) -> Any:
    """Draw. OpenDP's own exceptions may quote what they were given, so none of them leaves this function."""
    try:
        return measurement(private)
    except Exception:
        failed = (
            "OpenDP could not draw the noise; the charge stands, nothing was released, and nothing more can be said."
        )
    # Raised out here, where no other exception is being handled: not even __context__ remembers OpenDP's.
    raise DpselectError(failed)


def check_epsilon(epsilon: float) -> None:
    """Refuse what is not a price."""
    if not 0 < epsilon <= 1e9:
        raise StudyError(f"epsilon is {epsilon!r}; it must be above 0 and at most 1e9.")


MAX_CLAMPED_SUM = 2**62
"""Sums beyond are set to it before noise is added. No table of MAXIMUM_ROWS rows has one, and clamping moves nothing apart."""

STEP = 2.0**-36
"""By what share a scale is raised while its price, read back, is above what was asked."""


def clamped(numbers: Iterable[int]) -> list[int]:
    """Whole numbers within +-MAX_CLAMPED_SUM, where noise cannot leave 64 bits."""
    return [max(-MAX_CLAMPED_SUM, min(MAX_CLAMPED_SUM, number)) for number in numbers]


def least_spread(
    noise: NoiseKind, sensitivity: int, start: float, is_within: Callable[[float], bool]
) -> tuple[float, float]:
    """The least scale from `start` on whose price is within what was asked, and that price, read back from OpenDP's privacy map.

    The price of Laplace noise is epsilon, that of Gaussian noise rho.
    """
    spread = start
    while not is_within(price := float(integer_measurement(noise, spread).map(sensitivity))):
        spread *= 1 + STEP
    return spread, price


@lru_cache(maxsize=64)
def integer_measurement(noise: NoiseKind, spread: float) -> Any:
    """OpenDP's discrete Laplace or Gaussian on 64-bit whole numbers, for the l1 or l2 distance. Sums that overflow saturate."""
    dp = opendp()
    numbers = dp.vector_domain(dp.atom_domain(T="i64"))
    if noise == "laplace":
        return dp.m.make_laplace(numbers, dp.l1_distance(T="i64"), scale=spread)
    return dp.m.make_gaussian(numbers, dp.l2_distance(T="i64"), scale=spread)
