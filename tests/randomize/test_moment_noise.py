"""Which noise is chosen, and what is refused before any is."""

import math

import numpy as np
import pytest

from dpselect.assume.lemmas.gaussian_price import largest_mu
from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.gather.table import gather_table
from dpselect.randomize import logistic_noise
from dpselect.randomize.logistic_noise import whole_mu
from dpselect.randomize.moment_noise import moment_noise, quieter_noise
from dpselect.randomize.noisy_moments import noisy_moments, weighted_integers


def study(columns, neighbors="replace-one"):
    return Assumptions(Numeric("y", -1, 1), [Numeric(f"x{j}", -1, 1) for j in range(columns)], neighbors=neighbors)


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
    with pytest.raises(AssumptionError, match=r"below 0\.5"):
        moment_noise(layout(2), 1.0, delta)
    with pytest.raises(AssumptionError):
        whole_mu(1.0, delta)


def test_the_number_of_rows_is_known_where_neighbours_have_the_same():
    rng = np.random.default_rng(1)
    for neighbors, known in (("replace-one", 50), ("add-remove-one", None)):
        assumptions = study(1, neighbors)
        moments = gather_table((rng.uniform(-1, 1, (50, 1)), rng.uniform(-1, 1, 50)), assumptions)
        places = moment_layout(assumptions, range(2))
        assert noisy_moments(moments, places, moment_noise(places, 1.0, 0.0)).known_rows == known


def test_weighted_sums_are_rounded_to_the_nearest_whole_number():
    rng = np.random.default_rng(2)
    assumptions, places = study(2), layout(2)
    moments = gather_table((rng.uniform(-1, 1, (40, 2)), rng.uniform(-1, 1, 40)), assumptions)
    scale = moment_noise(places, 1.0, 0.0).scale
    for cells, weight, found in zip(
        places.entries, scale.weights, weighted_integers(moments, places, scale), strict=True
    ):
        assert abs(2 * (moments.products[cells[0]] * weight - (int(found) << scale.shift))) <= 1 << scale.shift


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (4.0, 1e-9)])
def test_what_all_rounds_may_spend_is_a_little_less_than_the_price_buys(epsilon, delta):
    """2^-30 for the roundings of its parts, and a little for those of the price."""
    assert 2.0**-30 < 1 - whole_mu(epsilon, delta) / largest_mu(epsilon, delta) < 1.1 * 2.0**-30


def test_the_spread_of_a_round_is_read_back_until_it_is_wide_enough(monkeypatch):
    """A library that prices its noise a little higher gets wider noise, not a higher price."""

    class Dearer:
        def __init__(self, spread):
            self.spread = spread

        def map(self, sensitivity):
            return (1 + 2.0**-30) * sensitivity**2 / (2 * self.spread**2)

    monkeypatch.setattr(logistic_noise, "gaussian_measurement", Dearer)
    spread, rho = logistic_noise.least_spread(1000, 1.0)
    assert rho == Dearer(spread).map(1000) and 1000**2 / (2 * rho) - 16 >= 1000**2
