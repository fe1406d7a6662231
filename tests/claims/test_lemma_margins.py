"""Claim: every margin for floating point lies on the safe side of the rational number it stands for, and close to it.

Each is compared from both sides: below, a price would be a lie by the last bit; far above, noise would be wasted.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.budget import float_below
from dpselect.assume.candidates import CandidateList
from dpselect.assume.lemmas.moments import (
    GRID_BITS,
    WEIGHT_BITS,
    gaussian_weights,
    l1_sensitivity,
    l2_sensitivity,
    laplace_weights,
    moment_layout,
    moment_scale,
)
from dpselect.assume.lemmas.rounds import (
    COUNT_BITS,
    PRODUCT_SHIFT,
    ROUNDING_MARGIN,
    ROUNDING_VARIANCE,
    clip_bits,
    composed_is_within,
    discrete_is_within,
    gaussian_delta,
    largest_mu,
    norms_sensitivity,
    product_sensitivity,
    rows_sensitivity,
    vector_sensitivity,
)
from dpselect.assume.lemmas.sensitivity import (
    MANY_ROWS,
    MAXIMUM_ROWS,
    TOLERANCE,
    certified_range,
    loss_range,
    loss_sensitivity,
    profile_change,
    profile_rounding,
    profile_shift,
    round_up,
    score_rounding,
    solver_tolerance,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.minimize.losses.certificate import certify, into_ball, rounding
from dpselect.minimize.losses.losses import Losses
from dpselect.penalize.scores import pcls_range, pcpl_scores
from dpselect.randomize.noisy_moments import moment_noise
from dpselect.release.ledger.accounting import RHO_UNIT, convert
from dpselect.release.ledger.entries import DELTA_UNIT, EPSILON_UNIT

VALUES = [0.1, 1 / 3, 0.7, 1.0, 1.1, math.pi, 10.3, 1e-7, 12345.678]
NEIGHBORS = ["replace-one", "add-remove-one"]


def is_just_above(value, exact, room=Fraction(1, 2**44)):
    assert exact < Fraction(value) <= exact * (1 + room)


def exact(formula, digits=60):
    """A formula in sixty digits."""
    with localcontext() as context:
        context.prec = digits
        return Fraction(formula())


@pytest.mark.parametrize("value", VALUES)
def test_round_up(value):
    is_just_above(round_up(value), Fraction(value), Fraction(1, 2**47))


@pytest.mark.parametrize("r", VALUES[:7])
@pytest.mark.parametrize("R", VALUES[:7])
@pytest.mark.parametrize("records", [1, 3])
def test_sensitivity_and_range_of_a_loss(r, R, records):
    square = (Fraction(r) + Fraction(R)) ** 2
    is_just_above(loss_sensitivity(r, R, records), records * square)
    once = square - max(Fraction(r) - Fraction(R), 0) ** 2
    is_just_above(loss_range(r, R, "add-remove-one", records), records * once)
    is_just_above(loss_range(r, R, "replace-one", records), 2 * records * once)


@pytest.mark.parametrize("width", VALUES)
@pytest.mark.parametrize("error", VALUES)
def test_what_the_solver_may_err_is_paid_four_times(width, error):
    is_just_above(certified_range(width, error), Fraction(width) + 4 * Fraction(error))


@pytest.mark.parametrize("rows", [None, 1, MANY_ROWS, 3 * MANY_ROWS, MAXIMUM_ROWS])
def test_the_tolerance_is_stated_by_public_numbers(rows):
    growth = max(Fraction(1), Fraction(rows or 0, MANY_ROWS))
    share = Fraction(solver_tolerance(1.0, 0.7, rows)) / (Fraction(TOLERANCE) * growth * (1 + Fraction(0.7)) ** 2)
    assert abs(share - 1) < Fraction(1, 2**50)
    # a loss of that many rows is off by 2^-53 of itself when it is rounded, which must stay within half of the tolerance
    assert Fraction(MAXIMUM_ROWS, 2**53) <= Fraction(solver_tolerance(1.0, 0.0, None)) / 2
    assert Fraction(TOLERANCE) == Fraction(1, 2**20)


@pytest.mark.parametrize("loss", [1.0, 300.0, 2.0**32])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1e6])
def test_rounding_of_a_sum_is_covered_twice(loss, penalty):
    needed = (Fraction(loss) + Fraction(penalty)) / 2**53
    assert needed < Fraction(score_rounding(loss, penalty)) <= 3 * needed


@pytest.mark.parametrize("n", [10, 1000, 10**6, 2**32])
@pytest.mark.parametrize("sensitivity", [1.5, 4.0, 30.3])
@pytest.mark.parametrize("penalty", [0.0, 7.5, 1e5])
def test_rounding_of_a_profile_score_is_covered_and_not_wasted(n, sensitivity, penalty):
    size = n * (1 + abs(math.log(sensitivity / n))) + penalty
    assert 3 * Fraction(size) / 2**51 < Fraction(profile_rounding(n, sensitivity, penalty)) < Fraction(size) / 2**48
    generator = np.random.default_rng(7)
    for loss in sensitivity + (max(n, sensitivity) - sensitivity) * generator.uniform(size=40):
        computed = n * np.log(np.maximum(loss, sensitivity) / n) + penalty
        true = exact(lambda loss=loss: n * (Decimal(loss) / n).ln() + Decimal(penalty))
        assert abs(Fraction(float(computed)) - true) <= Fraction(profile_rounding(n, sensitivity, penalty))


@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("loss", [4.0001, 5.0, 77.7, 4000.0])
def test_the_change_of_a_profile_score_is_rounded_up(n, loss):
    sensitivity = 4.0
    odds = Fraction(sensitivity) / (Fraction(loss) - Fraction(sensitivity))
    is_just_above(profile_change(loss, n, sensitivity, as_printed=True), n * odds, Fraction(1, 2**36))
    true = exact(lambda: -n * (1 - Decimal(sensitivity) / Decimal(loss)).ln())
    is_just_above(profile_change(loss, n, sensitivity), true, Fraction(1, 2**36))
    assert profile_change(sensitivity, n, sensitivity) == math.inf


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.3, 0.49])
def test_the_shift_is_rounded_up(delta):
    is_just_above(profile_shift(delta), exact(lambda: -(2 * Decimal(delta)).ln()))


def test_a_profile_score_pays_for_the_solver_twice_and_is_floored_at_its_sensitivity():
    losses = Losses(np.array([0.01, 3.0, 50.0]), 0.001, CandidateList(2, (1, 2, 3)))
    scores = pcpl_scores(losses, np.zeros(3), 0.5, 100)
    is_just_above(scores.sensitivity, Fraction(1.5) ** 2 + 2 * Fraction(0.001))
    assert scores.values[0] == 100 * np.log(scores.sensitivity / 100)
    assert scores.least_loss == 0.01
    assert Fraction(scores.rounding) >= Fraction(profile_rounding(100, scores.sensitivity, 0.0))
    change = Fraction(profile_change(9.0, 100, scores.sensitivity))
    is_just_above(scores.range_for(9.0), 2 * change + 4 * Fraction(scores.rounding))


@pytest.mark.parametrize("tolerance", [0.001, 4321.1, 98765.4321, 1e6 / 3, 1e6 / 7])
def test_a_profile_score_s_sensitivity_is_rounded_up_where_the_solver_s_error_is_most_of_it(tolerance):
    losses = Losses(np.array([3.0]), tolerance, CandidateList(2, (3,)))
    is_just_above(pcpl_scores(losses, np.zeros(1), 0.1, 100).sensitivity, Fraction(1.1) ** 2 + 2 * Fraction(tolerance))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("rows", [None, 1000])
def test_the_range_of_a_penalized_score_has_every_part(neighbors, rows):
    tolerance, penalties = 2.0**-20, np.array([0.0, 3.0])
    paid = pcls_range(tolerance, penalties, 0.5, neighbors, rows, 2)
    once = Fraction(1.5) ** 2 - Fraction(0.5) ** 2
    error = Fraction(tolerance) + Fraction((rows or MAXIMUM_ROWS) + 3) / 2**53
    is_just_above(paid, 2 * (2 if neighbors == "replace-one" else 1) * once + 4 * error, Fraction(1, 2**18))


# Rounds.


@pytest.mark.parametrize("width", [2, 5, 90])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("radius", [0.3, 2.9, 4.0, 1000.0])
def test_each_part_of_a_rounds_sensitivity_is_rounded_up_and_none_is_paid_twice(width, records, radius):
    square = Fraction(radius) ** 2
    step = Fraction(2) ** clip_bits(square)
    # The rounding of doubles, 2^-40, is worth less than a step of 2^20.
    longest = Fraction(radius) * step
    for times, each in ((2, "replace-one"), (1, "add-remove-one")):
        paid = vector_sensitivity(square, each, records)
        assert records * times * longest <= paid <= records * times * longest + 1 + Fraction(records, 1000)
        moved = longest**2 * Fraction(exact(lambda times=times: Decimal(times).sqrt())) / 2**PRODUCT_SHIFT
        rounding = math.isqrt(width * (width + 1) // 2 - 1) + 1
        paid = product_sensitivity(square, width, each, records)
        assert records * moved + rounding <= paid <= records * moved * (1 + Fraction(1, 2**38)) + rounding + 1
    assert rows_sensitivity(records) == records * 2**COUNT_BITS
    assert 0 <= norms_sensitivity("replace-one", records) - records * math.sqrt(2) * 2**COUNT_BITS < records
    assert norms_sensitivity("add-remove-one", records) == records * 2**COUNT_BITS


# Gaussian noise.


def _phi(x):
    """The normal distribution function in forty digits, by its series."""
    with localcontext() as context:
        context.prec = 120
        x = Decimal(x)
        term, total, k = x, x, 0
        while abs(term) > Decimal(10) ** -110:
            k += 1
            term = -term * x * x / (2 * k)
            total += term / (2 * k + 1)
        pi = Decimal(
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
        )
        return Decimal("0.5") + total / (2 * pi).sqrt()


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.3), (0.5, 1.0), (1.0, 1.0), (2.0, 4.0), (0.05, 0.2), (3.0, 12.0)])
def test_the_delta_of_gaussian_noise_is_rounded_up(mu, epsilon):
    def true():
        m, e = Decimal(mu), Decimal(epsilon)
        return _phi(m / 2 - e / m) - e.exp() * _phi(-m / 2 - e / m)

    value = Fraction(gaussian_delta(mu, epsilon))
    delta = exact(true, 100)
    above = exact(lambda: _phi(Decimal(mu) / 2 - Decimal(epsilon) / Decimal(mu)), 100)
    assert delta < value < delta + above / 2**34
    largest = largest_mu(epsilon, gaussian_delta(mu, epsilon))
    assert mu * (1 - 1e-9) < largest
    assert gaussian_delta(largest, epsilon) <= gaussian_delta(mu, epsilon)
    assert gaussian_delta(0.0, epsilon) == 0.0
    assert gaussian_delta(40.0, 600.0) > 0  # beyond the reach of exp the second term is left out, which only raises it


@pytest.mark.parametrize(("far", "epsilon"), [(38.0, 499.0), (35.9, 501.0), (38.0, 600.0)])
def test_where_the_doubles_end_the_second_term_is_left_out(far, epsilon):
    """There erfc has lost its last digits, by more than the margin covers; without it delta is only larger."""
    near = math.sqrt(far**2 - 2 * epsilon)
    mu = far - near
    above = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    assert above > 1e-100 and gaussian_delta(mu, epsilon) == above * (1 + ROUNDING_MARGIN)


def test_the_largest_mu_is_as_large_as_can_be():
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-6), (20.0, 1e-5)):
        mu = largest_mu(epsilon, delta)
        assert gaussian_delta(mu, epsilon) <= delta < gaussian_delta(mu * (1 + 2.0**-40), epsilon)


@pytest.mark.parametrize("sensitivity", [1000, 10**7])
def test_noise_on_whole_numbers_costs_the_variance_that_makes_it_whole(sensitivity):
    assert ROUNDING_VARIANCE == 16
    epsilon, delta = 1.0, 1e-6
    mu = largest_mu(epsilon * (1 - ROUNDING_MARGIN), delta * (1 - ROUNDING_MARGIN))
    for share, holds in ((1 - 4 * ROUNDING_MARGIN, True), (1 + 4 * ROUNDING_MARGIN, False)):
        variance = (Fraction(sensitivity) / Fraction(mu * share)) ** 2 + ROUNDING_VARIANCE
        rho = float(Fraction(sensitivity) ** 2 / (2 * variance))
        assert discrete_is_within(rho, sensitivity, epsilon, delta) is holds
        assert composed_is_within([(rho, sensitivity)], epsilon, delta) is holds
        halves = (Fraction(sensitivity) / Fraction(mu * share)) ** 2 * 2 + ROUNDING_VARIANCE
        half = float(Fraction(sensitivity) ** 2 / (2 * halves))
        assert composed_is_within([(half, sensitivity)] * 2, epsilon, delta) is holds
    # so little noise that it is not smooth over the whole numbers
    assert not discrete_is_within(1 / 31.9 / 2, 1, 1e3, 0.4)
    assert not composed_is_within([(1 / 31.9 / 2, 1)], 1e3, 0.4)
    assert discrete_is_within(0.0, 1, 1.0, 1e-6)


STUDIES = [
    Study(Numeric("y", 0, 1), [Numeric("a", 0, 1), Numeric("b", 0, 1)], neighbors=neighbors) for neighbors in NEIGHBORS
] + [
    Study(
        Numeric("y", 0, 1),
        [Numeric("a", 0, 1), Categorical("c", ["u", "v", "w"])],
        neighbors=neighbors,
        intercept=intercept,
    )
    for neighbors in NEIGHBORS
    for intercept in ("always", "none")
]


@pytest.mark.parametrize(
    "study", STUDIES, ids=lambda study: f"{study.neighbors} {study.intercept} {len(study.columns)}"
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_whole_number_sensitivity_covers_weights_rounding_and_persons(study, noise, rows):
    layout = moment_layout(study, tuple(range(len(study.columns))))
    scale = moment_scale(layout, noise, rows)
    entries, unit = len(layout.entries), Fraction(2) ** scale.bits
    if noise == "laplace":
        true = rows * Fraction(l1_sensitivity(layout, scale.response), 2) * unit + entries
        doubled = laplace_weights(layout, scale.response)
        wanted = [Fraction(each, 2) * 2**WEIGHT_BITS for each in doubled]
        assert all(weight <= ideal < weight + 1 for weight, ideal in zip(scale.weights, wanted, strict=True))
        assert true <= scale.sensitivity <= true * (1 + Fraction(1, 2**16)) + 2
    else:
        squared = Fraction(l2_sensitivity(layout, scale.response), 2)
        doubled = gaussian_weights(layout, scale.response)
        assert all(
            Fraction(weight) ** 2 <= Fraction(each, 2) * 4**WEIGHT_BITS < Fraction(weight + 1) ** 2
            for weight, each in zip(scale.weights, doubled, strict=True)
        )
        # (rows sqrt(squared) unit + sqrt(entries))^2 <= sensitivity^2, and not by much
        root = exact(
            lambda: (
                rows * (Decimal(squared.numerator) / squared.denominator).sqrt() * Decimal(int(unit))
                + Decimal(entries).sqrt()
            )
        )
        assert root <= scale.sensitivity <= root * (1 + Fraction(1, 2**16)) + 3
    assert scale.shift == GRID_BITS + WEIGHT_BITS - scale.bits
    # no sum over the most rows that are allowed passes what 64 bits hold
    largest = max(scale.weights) * MAXIMUM_ROWS * Fraction(2) ** (scale.bits - WEIGHT_BITS)
    assert largest <= 2**62 < 4 * largest * 2


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [0.013, 0.7, 3.1, 40.0])
def test_the_spread_is_read_back_until_it_is_wide_enough(noise, epsilon):
    layout = moment_layout(STUDIES[0], (0, 1))
    found = moment_noise(layout, epsilon, 1e-6, noise=noise)
    sensitivity, spread = Fraction(found.scale.sensitivity), Fraction(found.spread)
    if noise == "laplace":
        assert sensitivity / spread <= Fraction(epsilon) <= sensitivity / spread * (1 + Fraction(1, 2**30))
        assert (found.rho, found.delta) == (None, 0.0)
    else:
        assert sensitivity**2 / (2 * spread**2) <= Fraction(found.rho)
        assert discrete_is_within(found.rho, found.scale.sensitivity, epsilon, 1e-6)
        narrower = float(sensitivity**2 / (2 * (spread * (1 - Fraction(1, 2**12))) ** 2))
        assert not discrete_is_within(narrower, found.scale.sensitivity, epsilon, 1e-6)


# Prices.


@pytest.mark.parametrize("rho", [RHO_UNIT // 1000, RHO_UNIT // 7, RHO_UNIT, 3 * RHO_UNIT + 1])
@pytest.mark.parametrize("delta", [DELTA_UNIT // 10**9, DELTA_UNIT // 10**6, DELTA_UNIT // 100])
def test_a_conversion_is_rounded_up(rho, delta):
    """Above the least over alpha of Canonne, Kamath and Steinke's formula, in sixty digits on a fine grid, and close to it."""
    rate, chance = Decimal(rho) / RHO_UNIT, Decimal(delta) / DELTA_UNIT

    def at(order):
        return rate * order + ((1 / chance).ln() + (order - 1) * (1 - 1 / order).ln() - order.ln()) / (order - 1)

    with localcontext() as context:
        context.prec = 50
        orders = [1 + Decimal(10) ** (Decimal(k) / 60) for k in range(-120, 240)]
        least = min(at(order) for order in orders)
    converted = Fraction(convert(rho, delta), EPSILON_UNIT)
    assert (
        Fraction(least) * (1 - Fraction(1, 500))
        < converted
        < Fraction(least) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**9)
    )


@pytest.mark.parametrize("text", ["0.1", "0.7", "0.3333333333333333333333", "1e-9", "123456.789", "2"])
def test_a_sampler_never_gets_more_than_was_paid(text):
    value = float_below(Decimal(text))
    assert Fraction(value) <= Fraction(text) < Fraction(math.nextafter(value, math.inf))


# The certificate.


def test_the_bound_of_a_loss_holds_in_rational_numbers_and_is_not_wasted():
    """P(b), and the loss from below by duality, in exact arithmetic for coefficients that are off on purpose."""
    generator = np.random.default_rng(3)
    for width in (1, 2, 5):
        design = generator.integers(-3, 4, (40, width))
        y = generator.integers(-3, 4, 40)
        both = np.column_stack([design, y])
        products = (both.T @ both).astype(float)
        for radius in (0.25, 1.0, 8.0):
            coefficients = into_ball(generator.normal(size=(30, width)), radius)
            member = np.ones((30, width), bool)
            values, bounds = certify(products, coefficients, member, radius)
            for b, value, bound in zip(coefficients, values, bounds, strict=True):
                exact_b = [Fraction(float(each)) for each in b]
                assert sum(map(abs, exact_b)) <= Fraction(radius)
                pull = [
                    int(products[j, -1]) - sum(int(products[j, k]) * exact_b[k] for k in range(width))
                    for j in range(width)
                ]
                inner = sum(q * each for q, each in zip(pull, exact_b, strict=True))
                objective = int(products[-1, -1]) - sum(int(products[j, -1]) * exact_b[j] for j in range(width)) - inner
                gap = Fraction(radius) * max(map(abs, pull)) - inner
                low = max(objective - 2 * gap, 0)  # the true loss lies between these two
                clipped = Fraction(float(value))
                assert clipped - Fraction(float(bound)) <= low or objective == low
                assert abs(clipped - min(objective, int(products[-1, -1]))) <= Fraction(
                    float(rounding(products, np.abs(b).sum(), radius))
                )
                assert Fraction(float(bound)) >= 2 * gap
                assert Fraction(float(bound)) <= 2 * gap * (1 + Fraction(1, 2**40)) + Fraction(1, 2**25)


def test_the_rounding_of_a_certificate_is_its_lemma():
    products = np.array([[4.0, 1.0, 2.0], [1.0, 9.0, 3.0], [2.0, 3.0, 16.0]])
    found = Fraction(float(rounding(products, 2.0, 5.0)))
    gamma = Fraction(2 * 2 + 8, 2**53)
    scale = Fraction(4 + 2 * 3)
    lemma = gamma * scale * (3 * scale + 2 * 5 * 3)
    assert abs(found / lemma - 1) < Fraction(1, 2**48)
    assert rounding(np.zeros((2, 2)), 0.0, 1.0) > 0  # underflow is counted


def test_coefficients_are_shrunk_until_they_are_inside_in_rational_numbers():
    generator = np.random.default_rng(4)
    for radius in (1e-3, 1.0, 1e10):
        for row in into_ball(radius * generator.normal(size=(200, 7)), radius):
            assert sum(Fraction(abs(float(each))) for each in row) <= Fraction(radius)
    assert not into_ball(np.ones((1, 3)), 2.0**-950).any()
    inside = np.array([[0.1, 0.2]])
    assert (into_ball(inside, 1.0) == inside).all()
