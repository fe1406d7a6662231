"""Claim: a whole run of rounds, adaptive as it is, loses no more privacy than its one price, on every pair of neighbours.

A run is made on one table and its released values are forced on a neighbour: the noise that the neighbour would have needed is what
was released less its own exact sums. As every ask is replayed from released values alone, both tables are asked the same. The
privacy loss of the transcript is then normal with the mean m/2 and the variance m, m being the sum over all draws of the squared
distance of the exact sums over the variance of the noise: it may not pass mu^2. Rows are hostile: far out, tiny, opposite.
"""

import numpy as np
import pytest

import dpselect
from dpselect import Binary, Categorical, Count, Numeric, Study
from dpselect.assume.queries import Rows
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.randomize.rounds_noise import released_numbers, whole_mu

PRICE = {"epsilon": 8, "delta": "1e-6"}
RUNS, PAIRS = 6, 60


def a_study(family, neighbors):
    responses = {"gaussian": Numeric("y"), "binomial": Binary("y", [0, 1]), "poisson": Count("y")}
    predictors = [Numeric("u"), Numeric("v"), Categorical("k", [0, 1, 2])]
    return Study(responses[family], predictors, neighbors=neighbors)


def response(family, rng, count):
    if family == "gaussian":
        return rng.standard_cauchy(count) * 10 ** rng.uniform(-2, 4, count)
    return rng.integers(0, 2, count) if family == "binomial" else np.floor(10 ** rng.uniform(0, 7, count))


def table(family, rng, count):
    x = rng.normal(size=(count, 2))
    made = {
        "gaussian": x[:, 0] + rng.normal(size=count),
        "binomial": rng.random(count) < 0.3,
        "poisson": rng.poisson(2, count),
    }
    return np.column_stack([x, rng.integers(0, 3, count), made[family]])


def hostile(family, rng, count):
    cells = rng.choice([-1.0, 1.0], (count, 2)) * 10 ** rng.uniform(-3, 9, (count, 2))
    return np.column_stack([cells, rng.integers(0, 3, count), response(family, rng, count)])


def exact(rows, study, released):
    """What each draw would have added its noise to, had these been the rows."""
    sums = []
    for ask in released.asks:
        queries = [each.query for each in ask]
        answers = gather((rows[:, :3], rows[:, 3]), study, RoundSummary(study, queries))
        sums += [
            np.array(released_numbers(query, own, study), dtype=object)
            for query, own in zip(queries, answers, strict=True)
        ]
    return sums


@pytest.mark.parametrize(
    ("family", "neighbors"),
    [
        ("gaussian", "replace-one"),
        ("poisson", "add-remove-one"),
        pytest.param("gaussian", "add-remove-one", marks=pytest.mark.thorough),
        pytest.param("binomial", "replace-one", marks=pytest.mark.thorough),
        pytest.param("binomial", "add-remove-one", marks=pytest.mark.thorough),
        pytest.param("poisson", "replace-one", marks=pytest.mark.thorough),
    ],
)
def test_no_neighbour_is_told_apart_by_more_than_the_price(family, neighbors):
    rng, study, mu = (
        np.random.default_rng(11),
        a_study(family, neighbors),
        whole_mu(8 * (1 - 1e-12), 1e-6 * (1 - 1e-12)),
    )
    worst = 0.0
    for _ in range(RUNS):
        rows = np.vstack([table(family, rng, 600), hostile(family, rng, 1)])
        source = (rows[:, :3], rows[:, 3])
        released = dpselect.estimate(source, ["u", "v", "k"], study=study, **PRICE).released
        assert len(released.asks) > 3 and isinstance(released.draws[0].query, Rows) == (neighbors == "add-remove-one")
        here = exact(rows, study, released)
        for other in hostile(family, rng, PAIRS):
            there = np.vstack([rows[:-1], other]) if neighbors == "replace-one" else rows[:-1]
            moved = [one - two for one, two in zip(here, exact(there, study, released), strict=True)]
            loss = sum(
                float((part * part).sum()) / each.draw.spread**2
                for part, each in zip(moved, released.draws, strict=True)
            )
            worst = max(worst, loss)
            if neighbors == "add-remove-one":
                break
    assert worst <= mu**2
    assert worst > 0.25 * mu**2  # and the price is not far from what some pair takes
