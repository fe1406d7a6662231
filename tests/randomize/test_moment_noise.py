"""Which noise is chosen, and what is refused before any is."""

import math

import pytest

from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import StudyError
from dpselect.randomize.noisy_moments import moment_noise, quieter_noise


def study(columns):
    return Study(Numeric("y", -1, 1), [Numeric(f"x{j}", -1, 1) for j in range(columns)])


def layout(columns):
    return moment_layout(study(columns), range(columns + 1))


@pytest.mark.parametrize(
    ("columns", "epsilon", "noise"),
    [
        (3, 20, "laplace"),
        (4, 0.1, "gaussian"),
        (4, 1, "laplace"),
        (5, 1, "gaussian"),
        (5, 5, "laplace"),
        (6, 5, "gaussian"),
    ],
)
def test_the_noise_that_moves_the_coefficients_less_is_taken(columns, epsilon, noise):
    """By the variance of both, in the units of the moments."""
    assert quieter_noise(layout(columns), epsilon, 1e-6) == noise
    assert quieter_noise(layout(columns), epsilon, 0.0) == "laplace"
    variances = {}
    for kind in ("gaussian", "laplace"):
        made = moment_noise(layout(columns), epsilon, 1e-6, noise=kind)
        unit = made.deviation * 2.0**-made.scale.bits * 2.0**24
        entries = dict(zip(layout(columns).entries, made.scale.weights, strict=True))
        with_response, within = entries[((0, columns + 1),)], entries[((0, 1),)]
        variances[kind] = unit**2 * (1 / with_response**2 + 0.1 / within**2)
    assert min(variances, key=variances.get) == noise


@pytest.mark.parametrize("delta", [0.5, 1.0, -1e-9, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(StudyError, match=r"below 0\.5"):
        moment_noise(layout(2), 1.0, delta)
