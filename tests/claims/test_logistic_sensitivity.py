"""Claim: one record moves a round's sums by no more than the lemmas say, some pair does, and rounds are worth their price.

The sums are the program's own, from tables that differ in one row.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, norm

from dpselect.assume.lemmas.gaussian_price import composed_is_within
from dpselect.assume.lemmas.logistic import (
    BITS,
    FARTHEST,
    Extent,
    count_sensitivity,
    extent_of,
    gradient_residual,
    gradient_sensitivity,
    gram_sensitivity,
    links,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.errors import StudyError
from dpselect.gather.logistic import LogisticSummary
from dpselect.gather.rows import gather
from dpselect.randomize.logistic_noise import gaussian_draw, rounded_gradient, rounded_gram
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.odds import BASE_SHARE, ROUND_SHARES


def a_study(neighbors="replace-one", missing="error"):
    predictors = [Numeric("u", -1, 1), Numeric("v", -1, 1), Categorical("kind", [0, 1, 2])]
    return Study(Binary("y", [0, 1]), predictors, neighbors=neighbors, missing=missing)


FIVE = extent_of(a_study().columns)
"""Intercept, two numbers, and a category whose two dummies are one term."""

CENTERS = [(0, 0, 0, 0, 0), (GRID, -GRID // 2, 3, GRID // 3, -GRID), (-3 * GRID, GRID, -GRID, 0, 2 * GRID)]


def sums_of(records, center, study):
    table = {
        name: np.array(part, dtype=float)
        for name, part in zip(("u", "v", "kind", "y"), zip(*records, strict=True), strict=True)
    }
    source = (np.column_stack([table["u"], table["v"], table["kind"]]), table["y"])
    return gather(source, study, LogisticSummary(study, range(5), center, links(center)))


def numbers(records, center, study):
    sums = sums_of(records, center, study)
    return np.array(sums.counts), np.array(rounded_gradient(sums)), np.array(rounded_gram(sums))


VALUES = (-1.0, -0.4, 0.0, 0.70000001, 1.0)
RECORDS = [(u, v, k, y) for u, v in itertools.product(VALUES, VALUES) for k in (0, 1, 2) for y in (0, 1)]
BASE_ROWS = [(0.3, -0.2, 1, 1), (-0.7, 0.1, 2, 0)]


@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_no_record_moves_the_sums_farther(center, neighbors):
    study = a_study(neighbors)
    alone = numbers(BASE_ROWS, center, study)
    with_one = [numbers([*BASE_ROWS, record], center, study) for record in RECORDS]
    limits = (
        count_sensitivity(neighbors),
        gradient_sensitivity(FIVE, gradient_residual(center, 0, FIVE, neighbors), neighbors),
        gram_sensitivity(FIVE, neighbors),
    )
    pairs = [(alone, one) for one in with_one]
    if neighbors == "replace-one":
        pairs = itertools.combinations(with_one, 2)
    worst = [0.0, 0.0, 0.0]
    for first, second in pairs:
        for k in range(3):
            worst[k] = max(worst[k], float(np.linalg.norm((first[k] - second[k]).astype(float))))
    assert all(found <= limit for found, limit in zip(worst, limits, strict=True))
    # Far from 0 not every answer is a surprise, and not every weight is 1/4.
    assert worst[1] > (0.99 if center == CENTERS[0] else 0.7) * limits[1]
    if center == CENTERS[0]:
        assert worst[2] > 0.8 * limits[2]


def test_a_category_counts_once():
    assert FIVE == Extent(5, 4, 1)
    crossed = Study(
        Binary("y", [0, 1]),
        [Numeric("u", -1, 1), Categorical("kind", list("abcde"))],
        terms=["u", "kind", ["u", "kind"]],
    )
    assert extent_of(crossed.columns) == Extent(10, 4, 2)
    wide = Study(Binary("y", [0, 1]), [Categorical("town", [f"t{j}" for j in range(60)])])
    extent = extent_of(wide.columns)
    assert gradient_sensitivity(extent, 2**20, "replace-one") < 1.5 * gradient_sensitivity(
        Extent(2, 1, 0), 2**20, "replace-one"
    )


def test_a_category_that_moves_to_another_level_attains_its_part():
    """Rows at right angles with different levels: here the number of terms alone, 3/4, would not be enough."""
    study = Study(Binary("y", [0, 1]), [Numeric("u", -1, 1), Categorical("kind", [0, 1, 2])])
    center = (0, 0, 0, 0)
    first, second = (
        gather((np.array([row]), np.array([1.0])), study, LogisticSummary(study, range(4), center, links(center)))
        for row in ([1.0, 1.0], [-1.0, 2.0])
    )
    moved = np.linalg.norm(np.array(rounded_gram(first)) - np.array(rounded_gram(second), dtype=float))
    extent = extent_of(study.columns)
    assert extent == Extent(4, 3, 1)
    assert moved == pytest.approx(math.sqrt(10) / 4 * 2**BITS, rel=1e-5)
    assert moved <= gram_sensitivity(extent, "replace-one") <= 1.001 * moved


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_no_person_moves_the_sums_farther(neighbors):
    """Persons of 0 to 5 rows, of which at most 3 count: worst cases (all rows alike and far out), and drawn ones."""
    generator = np.random.default_rng(4)
    most, center = 3, CENTERS[1]
    study = Study(Binary("y", [0, 1]), a_study().predictors, neighbors=neighbors, person="id", max_rows_per_person=most)

    def sums(person):
        rows = [(*row, "other") for row in BASE_ROWS] + [(*row, "one") for row in person]
        table = pd.DataFrame(rows, columns=["u", "v", "kind", "y", "id"])
        found = gather(table, study, LogisticSummary(study, range(5), center, links(center)))
        return np.array(found.counts), np.array(rounded_gradient(found)), np.array(rounded_gram(found))

    versions = [[RECORDS[k]] * 5 for k in (0, 1, 28, 29, 144, 145, 148, 149)]
    versions += [[RECORDS[k] for k in generator.integers(0, len(RECORDS), generator.integers(1, 6))] for _ in range(25)]
    made, alone = [sums(version) for version in versions], sums([])
    limits = (
        count_sensitivity(neighbors, most),
        gradient_sensitivity(FIVE, gradient_residual(center, 0, FIVE, neighbors), neighbors, most),
        gram_sensitivity(FIVE, neighbors, most),
    )
    pairs = list(itertools.combinations(made, 2)) if neighbors == "replace-one" else [(alone, each) for each in made]
    worst = [
        max(float(np.linalg.norm((one[k] - two[k]).astype(float))) for one, two in pairs) for k in range(len(limits))
    ]
    assert all(found <= limit for found, limit in zip(worst, limits, strict=True))
    assert worst[0] > 0.9 * limits[0] and worst[1] > 0.5 * limits[1]  # and no smaller factor would do
    assert worst[1] > gradient_sensitivity(FIVE, gradient_residual(center, 0, FIVE, neighbors), neighbors)


def test_the_lemmas_are_attained_where_every_column_can_be_one():
    """Rows (1, 1) and (1, -1) with b = 0 and opposite answers: the gradient moves by 2 sqrt(2)/2."""
    study = Study(Binary("y", [0, 1]), [Numeric("u", -1, 1)])
    center, table = (0, 0), links((0, 0))
    found = []
    for u, y in ((1.0, 1.0), (1.0, 0.0), (-1.0, 0.0)):
        sums = gather((np.array([[u]]), np.array([y])), study, LogisticSummary(study, (0, 1), center, table))
        found.append((np.array(rounded_gradient(sums)), np.array(rounded_gram(sums))))
    moved = np.linalg.norm((found[0][0] - found[1][0]).astype(float))
    assert moved == pytest.approx(gradient_sensitivity(Extent(2, 2, 0), table.residual, "replace-one"), rel=1e-3)
    grown = np.linalg.norm(found[0][1].astype(float))
    assert grown == pytest.approx(gram_sensitivity(Extent(2, 2, 0), "add-remove-one"), rel=1e-4)


def test_the_table_of_chances_is_the_logistic_function():
    made = links((2 * GRID, -GRID))
    eta = np.arange(-made.steps, made.steps + 1) / 2**10
    assert made.chances / GRID == pytest.approx(1 / (1 + np.exp(-eta)), abs=1e-6)
    assert made.weights.max() == GRID // 4 and made.weights / GRID == pytest.approx(
        made.chances / GRID * (1 - made.chances / GRID), abs=1e-6
    )
    assert made.residual / 2 / GRID == pytest.approx(1 / (1 + math.exp(-3)), abs=1e-3)
    with pytest.raises(StudyError, match="at most 12"):
        links(((FARTHEST + 1) * GRID,))


@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
def test_missing_cells_stay_within_the_lemmas(missing):
    study = a_study(missing=missing)
    nan = float("nan")
    records = [(nan, 1.0, 1, 1), (1.0, -1.0, 2, nan), (1.0, 1.0, 0, 1), (-1.0, -1.0, 1, 0), (1.0, 1.0, nan, 0)]
    made = [numbers([*BASE_ROWS, record], CENTERS[1], study) for record in records]
    for first, second in itertools.combinations(made, 2):
        assert np.linalg.norm(first[0] - second[0]) <= count_sensitivity("replace-one")
        moved = np.linalg.norm((first[1] - second[1]).astype(float))
        assert moved <= gradient_sensitivity(FIVE, gradient_residual(CENTERS[1], 0, FIVE, "replace-one"), "replace-one")
        assert np.linalg.norm((first[2] - second[2]).astype(float)) <= gram_sensitivity(FIVE, "replace-one")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1, 1e-6), (4, 1e-9)])
def test_all_draws_together_are_worth_their_price_and_waste_little(epsilon, delta):
    generator = np.random.default_rng(1)
    source = (generator.uniform(-1, 1, (400, 3)) * [1, 1, 0], generator.integers(0, 2, 400).astype(float))
    plan = plan_estimate(a_study(), (0, 1, 2), epsilon=epsilon, delta=delta, family="binomial")
    got = release_estimate(source, plan).released
    draws = [got.counts, *(draw for one in got.rounds for draw in (one.gradient, one.gram))]
    assert len(draws) == 1 + 2 * len(ROUND_SHARES)
    assert sum(share for share, _ in ROUND_SHARES) + BASE_SHARE == pytest.approx(1)
    parts = [(draw.rho, draw.sensitivity) for draw in draws]
    assert composed_is_within(parts, epsilon, delta)
    assert not composed_is_within([(1.01 * rho, each) for rho, each in parts], epsilon, delta)
    for one in got.rounds:
        assert one.gradient.sensitivity == gradient_sensitivity(
            Extent(3, 3, 0), gradient_residual(one.center, 0, Extent(3, 3, 0), "replace-one"), "replace-one"
        )


def test_an_audit_of_one_round():
    """2,000 draws on each of two tables that are as far apart as the lemma allows, told apart by the best test there is.

    The share of right answers bounds mu from both sides (Clopper-Pearson, 99.99% each): what was paid lies between; with
    two thirds of the noise the same audit finds the leak.
    """
    study = Study(Binary("y", [0, 1]), [Numeric("u", -1, 1)])
    center, mu = (0, 0), 1.0
    tables = [
        gather((np.array([[1.0]]), np.array([y])), study, LogisticSummary(study, (0, 1), center, links(center)))
        for y in (0.0, 1.0)
    ]
    paid = gradient_sensitivity(Extent(2, 2, 0), links(center).residual, "replace-one")

    def least_mu(sensitivity):
        heads = [rounded_gradient(sums) for sums in tables]
        along = np.array(heads[1]) - np.array(heads[0])
        middle = (np.array(heads[1]) + np.array(heads[0])) / 2
        right = 0
        for table, numbers_of in enumerate(heads):
            draws = [gaussian_draw(numbers_of, sensitivity, mu).values for _ in range(2000)]
            says = (np.array(draws, dtype=float) - middle) @ along > 0
            right += int((says == bool(table)).sum())
        low, high = beta.ppf(1e-4, right, 4001 - right), beta.ppf(1 - 1e-4, right + 1, 4000 - right)
        return 2 * norm.ppf(low), 2 * norm.ppf(high)

    low, high = least_mu(paid)
    assert low <= mu <= high
    assert least_mu(2 * paid // 3)[0] > mu


def test_sums_in_whole_numbers_of_the_released_step():
    assert BITS == 29


def test_each_rounding_is_paid_for_and_none_twice():
    """By hand, in units of 2^-29: roots are rounded up to the next whole number.

    One column: |y - p| up to 1, sums rounded by 1; in the Gram a quarter, sums rounded by 1 and products off by 2^9.
    """
    one, three = Extent(1, 1, 0), Extent(3, 2, 1)
    assert gradient_sensitivity(one, 2**21, "replace-one") == (2**30 + 1) + 2
    assert gradient_sensitivity(three, 2**21, "add-remove-one") == (math.isqrt(2**59) + 1) + 2
    assert gram_sensitivity(one, "add-remove-one") == gram_sensitivity(one, "replace-one") == (2**27 + 1) + 2 * 513
    assert gram_sensitivity(three, "replace-one") == (math.isqrt(5 * 2**54) + 1) + 3 * 513
    assert gram_sensitivity(three, "add-remove-one", 4) == 4 * (math.isqrt(3 * 2**54) + 1 + 3 * 513)


def test_the_table_reaches_as_far_as_eta_and_one_step_farther():
    for reach, steps in ((0, 1), (1023, 1), (1024, 2), (GRID, 1025), (FARTHEST * GRID, 12 * 1024 + 1)):
        made = links((-reach, 0))
        assert (made.steps, len(made.chances)) == (steps, 2 * steps + 1)
        assert made.chances[steps] == GRID // 2 and made.chances[0] + made.chances[-1] == GRID
