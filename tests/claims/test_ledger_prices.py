"""What the accounting claims of each mechanism and of their composition, against exact privacy losses.

The exact law of the privacy loss of a list of acts is computed by brute force, from a pair of output distributions for
each act that attains its guarantee; the price must cover it, and a price that is too good must be caught.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpselect.release.ledger.accounting import RHO_UNIT, price_of, total_price
from dpselect.release.ledger.entries import DELTA_UNIT, EPSILON_UNIT, Charge
from dpselect.release.ledger.ledger import Ledger
from tests.examples import examples

TINY = 1e-9  # what floating point may lose here
ORDERS = (1.001, 1.1, 1.5, 2, 4, 16, 64, 256)


def charge(mechanism, epsilon, delta=0, **more):
    return Charge(what="select", mechanism=mechanism, epsilon=epsilon, delta=delta, **more)


def rho_of(*arguments, **more):
    return price_of(charge(*arguments, **more)).rho / RHO_UNIT


def divergence(p, q, order):
    """Renyi divergence of two distributions given by their probabilities."""
    return float(np.logaddexp.reduce(order * np.log(p) + (1 - order) * np.log(q))) / (order - 1)


def worst_rate(p, q):
    """The least rho for which the pair is rho-zCDP, over a few orders and both directions."""
    return max(divergence(a, b, order) / order for a, b in ((p, q), (q, p)) for order in ORDERS)


# ---- one act -----------------------------------------------------------------------------------------------------------


@example(0.2, [0.0, 1.0], [0.0] * 6)  # attains nearly all of it
@given(st.floats(0.01, 4), st.lists(st.floats(0, 1), min_size=2, max_size=6), st.lists(st.floats(0, 5), min_size=6))
def test_the_exponential_mechanism_is_one_eighth_epsilon_squared(epsilon, moves, scores):
    here = np.array(scores[: len(moves)])  # the range of the moves is at most 1
    weights = [np.exp(-epsilon * (each - each.min())) for each in (here, here + np.array(moves))]
    p, q = (each / each.sum() for each in weights)
    assert worst_rate(p, q) <= rho_of("exponential", repr(epsilon)) + TINY


def test_permute_and_flip_and_laplace_are_not_and_are_priced_as_pure():
    epsilon = 0.5
    tied = np.array([0.5, 0.5])
    apart = {
        "permute-and-flip": np.array([1 - math.exp(-epsilon) / 2, math.exp(-epsilon) / 2]),
        # the difference of two Laplace variables of scale 1/epsilon exceeds 1 with this chance
        "laplace": np.array([1 - math.exp(-epsilon) * (2 + epsilon) / 4, math.exp(-epsilon) * (2 + epsilon) / 4]),
    }
    assert worst_rate(tied, apart["permute-and-flip"]) > 2 * epsilon**2 / 8
    for mechanism, probabilities in apart.items():
        assert worst_rate(tied, probabilities) <= rho_of(mechanism, "0.5") == epsilon**2 / 2


@given(st.floats(0.01, 4))
def test_a_pure_act_is_half_epsilon_squared(epsilon):
    p = np.array([1, math.exp(-epsilon)]) / (1 + math.exp(-epsilon))  # attains epsilon both ways
    assert worst_rate(p, p[::-1]) <= rho_of("laplace", repr(epsilon)) + TINY


def profile_pair(rng, bound, choice, delta, mechanism):
    """The joint law of PCPL's noisy least loss and choice on two neighbouring tables, given the event E, on a grid."""
    n, size = 200, 4
    losses = rng.uniform(3, 40, size)
    losses = losses, np.maximum(losses + rng.uniform(-1, 1, size), 0.5)
    least = [each.min() for each in losses]
    shift = math.log(1 / (2 * delta)) / bound
    grid = np.linspace(min(least) - shift - 30 / bound, max(least), 4001)  # E: not above the larger true least loss
    joints = []
    for each, m in zip(losses, least, strict=True):
        noise = np.exp(-bound * np.abs(grid - m + shift))
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(grid > 1, choice / (-2 * n * np.log1p(-1 / np.maximum(grid, 1))), 0)
        scores = n * np.log(each)
        gaps = rate[:, None] * (scores - scores.min())
        if mechanism == "exponential":
            chances = np.exp(-gaps)
            chances /= chances.sum(1, keepdims=True)
        else:
            chances = permute_and_flip(gaps)
        joint = noise[:, None] * chances
        joints.append((joint / joint.sum()).ravel())
    return joints


def permute_and_flip(gaps):
    """Chances of permute-and-flip, for each row of at most six gaps.

    Let candidates arrive at uniform times: one is chosen if it arrives at t, is accepted, and no other was accepted
    before. The integrand is a polynomial in t, so six Gauss points are exact.
    """
    accept = np.exp(-gaps)
    points, weights = np.polynomial.legendre.leggauss(6)
    chances = np.zeros_like(accept)
    for point, weight in zip(points, weights, strict=True):
        passed_over = 1 - (point + 1) / 2 * accept
        chances += weight / 2 * accept * passed_over.prod(1, keepdims=True) / passed_over
    return chances


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_the_two_parts_of_pcpl(mechanism):
    rng = np.random.default_rng(1607)
    closest = 0.0
    for _ in range(20):
        bound, choice = rng.uniform(0.2, 1.5, 2).round(3).tolist()
        claimed = rho_of(
            f"pcpl/{mechanism}", repr(round(bound + choice, 3)), "0.001", parameters={"bound_epsilon": repr(bound)}
        )
        p, q = profile_pair(rng, bound, choice, 0.001, mechanism)
        rate = max(divergence(a, b, order) / order for a, b in ((p, q), (q, p)) for order in (1.01, 2, 8, 64))
        assert rate <= claimed * 1.001
        closest = max(closest, rate / claimed)
    assert closest > 0.3  # the claim is not idle


def test_what_pcpl_saves():
    parts = {"parameters": {"bound_epsilon": "0.5"}}
    assert rho_of("pcpl/exponential", 1, "1e-6", **parts) == pytest.approx(1 / 8 + 1 / 32, rel=1e-5)
    assert rho_of("pcpl/permute-and-flip", 1, "1e-6", **parts) == pytest.approx(1 / 4, rel=1e-5)
    for without in ({}, {"parameters": {"bound_epsilon": "2"}}):
        assert rho_of("pcpl/exponential", 1, "1e-6", **without) == 1 / 2
    assert rho_of("pcpl/exponential", 1, "0.9", **parts) == 1 / 2  # never more than any act's


# ---- many acts ---------------------------------------------------------------------------------------------------------


def randomized_response(epsilon, delta=0.0):
    """The pair that dominates every (epsilon, delta)-DP act, as (loss, probability) under the first."""
    high = (1 - delta) / (1 + math.exp(-epsilon))
    return [(math.inf, delta), (epsilon, high), (-epsilon, 1 - delta - high)]


def bounded_range(epsilon, position):
    """A pair with losses in an interval of length epsilon: losses position*epsilon and that minus epsilon."""
    up, down = position * epsilon, (position - 1) * epsilon
    high = (1 - math.exp(-down)) / (math.exp(-up) - math.exp(-down)) if 0 < position < 1 else 1.0
    return [(up, high), (down, 1 - high)]


def excess(laws, epsilon, rho=0.0):
    """The least delta at which the acts with these laws and a Gaussian with this rho are (epsilon, delta)-DP."""
    losses, chances = np.zeros(1), np.ones(1)
    for law in laws:
        steps, weights = (np.array(column) for column in zip(*law, strict=True))
        losses = (losses[:, None] + steps).ravel()
        chances = (chances[:, None] * weights).ravel()
    room = epsilon - losses
    if not rho:
        return float(np.sum(chances * np.maximum(0, -np.expm1(np.minimum(room, 0)))))
    cdf = np.vectorize(lambda z: math.erfc(-z / math.sqrt(2)) / 2)
    mean, spread = rho, math.sqrt(2 * rho)
    finite = np.isfinite(losses)
    left, weight = room[finite], chances[finite]
    tail = cdf((mean - left) / spread) - np.exp(left) * cdf((-mean - left) / spread)
    return float(chances[~finite].sum() + np.sum(weight * np.maximum(0, tail)))


kinds = st.one_of(
    st.tuples(st.just("laplace"), st.sampled_from(["0.05", "0.1", "0.4", "1"]), st.just("0")),
    st.tuples(st.just("exponential"), st.sampled_from(["0.1", "0.3", "1", "2"]), st.just("0")),
    st.tuples(st.just("pcpl/laplace"), st.sampled_from(["0.1", "0.7"]), st.sampled_from(["1e-4", "1e-3"])),
)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(kinds, st.floats(0.3, 0.7)), min_size=1, max_size=9),
    st.sampled_from(["0", "0.05", "0.5"]),
    st.sampled_from([0.01, 0.1]),
)
def test_the_total_covers_the_exact_loss(acts, gaussian, delta):
    records = [charge(*kind) for kind, _ in acts]
    laws = [
        bounded_range(float(epsilon), position)
        if mechanism == "exponential"
        else randomized_response(float(epsilon), float(own))
        for (mechanism, epsilon, own), position in acts
    ]
    if float(gaussian):
        records.append(charge("gaussian", 5, "0.0001", parameters={"rho": gaussian}))
    prices = [price_of(record) for record in records]
    total = total_price(prices, int(delta * DELTA_UNIT))
    # Basic composition takes the stated (5, 0.0001) of the Gaussian on trust; it is far above what rho gives.
    assert excess(laws, total.epsilon / EPSILON_UNIT, float(gaussian)) <= total.delta / DELTA_UNIT + 1e-12
    if total.delta <= delta * DELTA_UNIT:
        assert total.epsilon <= sum(price.epsilon for price in prices)


def test_a_price_of_one_eighth_for_pure_acts_would_be_caught():
    """The twin of the test above: it can fail."""
    acts = [randomized_response(0.1)] * 12
    wrong = [price_of(charge("exponential", "0.1"))] * 12
    right = [price_of(charge("laplace", "0.1"))] * 12
    for prices, caught in ((wrong, True), (right, False)):
        total = total_price(prices, int(0.02 * DELTA_UNIT))
        assert (excess(acts, total.epsilon / EPSILON_UNIT) > total.delta / DELTA_UNIT) is caught


@pytest.mark.parametrize(("count", "epsilon", "delta"), [(20, 0.5, 1e-6), (100, 0.1, 1e-8), (50, 1.0, 1e-5)])
def test_composition_of_exponential_choices_agrees_with_google(count, epsilon, delta):
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = dp_accounting.rdp.RdpAccountant(np.concatenate([np.arange(1.01, 20, 0.01), np.arange(20, 500)]))
    accountant.compose(dp_accounting.ZCDpEvent(rho=epsilon**2 / 8), count)
    ledger = Ledger(epsilon=1000, delta=repr(delta), composition="zcdp")
    ledger.charge(charge("exponential", repr(epsilon), count=count))
    spent = ledger.spent()
    assert spent.method == "zCDP"
    assert float(spent.epsilon) == pytest.approx(accountant.get_epsilon(delta), rel=1e-5)
    assert float(spent.epsilon) < count * epsilon


def test_the_known_figure():
    ledger = Ledger(epsilon=10, delta="1e-6", composition="zcdp")
    for _ in range(20):
        ledger.charge(charge("exponential", "0.5"))
    assert round(float(ledger.spent().epsilon), 3) == 5.927
    flips = Ledger(epsilon=10, delta="1e-6", composition="zcdp")
    flips.charge(charge("permute-and-flip", "0.5", count=20))
    assert flips.spent().epsilon == 10  # pure: the other theorem is worse


def test_a_mixture_converts_what_is_concentrated_and_adds_the_rest():
    ledger = Ledger(epsilon=20, delta="1e-6", composition="zcdp")
    ledger.charge(charge("exponential", "0.5", count=20))
    alone = ledger.spent().epsilon
    ledger.charge(charge("permute-and-flip", 2))
    assert ledger.spent().epsilon == alone + 2
    ledger.charge(charge("pcpl/laplace", 2, "5e-7"))
    later = ledger.spent()
    assert later.delta == ledger.delta
    assert alone + 4 < later.epsilon < alone + Decimal("4.2")  # its delta left half for the conversion
