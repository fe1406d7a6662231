"""Claim: one record moves a histogram of clusters and the sum over clusters of ss' by no more than their lemmas say.

The numbers are the program's own, noise aside: a cluster's rows go through the summary's views and its clip. 10,000 hostile pairs:
a cluster with and without one row more, or without up to three of a person; persons as clusters, exchanged for others.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.lemmas.rounds import cluster_product_sensitivity, product_sensitivity, query_sensitivity
from dpselect.assume.queries import ClusterNorms, Sandwich, Standard, center_of, rows_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.grid import Chunks
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.randomize.rounds_noise import released_numbers

PAIRS = 10_000
"""In all."""
WIDTH = 3
NAMES = ["u", "v", "y"]
PREDICTORS = [Numeric("u"), Numeric("v")]


def a_study(**settings):
    return Study(Numeric("y"), PREDICTORS, missing="zero-row", **settings)


CLUSTERS = a_study(cluster="school", neighbors="add-remove-one", rows=100)
IN_CLUSTERS = a_study(cluster="school", person="id", max_rows_per_person=3, neighbors="add-remove-one", rows=100)
PERSONS = a_study(person="id", max_rows_per_person=6, rows=100)
COMING = a_study(person="id", max_rows_per_person=6, neighbors="add-remove-one", rows=100)


def queries(cluster_radius, row_radius=2.9):
    generator = np.random.default_rng(2)
    own = Standard(
        columns=(1, 2),
        centers=(0.1, -3.0),
        factors=(2.0**12, 2.0**12 / 7),
        response_center=0.3,
        response_factor=2.0**11,
    )
    about = {
        "family": "gaussian",
        "standard": own,
        "matrix": rows_of(generator.standard_normal((3, WIDTH))),
        "center": center_of(generator.normal(0, 0.3, 3)),
        "radius": row_radius,
    }
    lengths = ClusterNorms(**about, edges=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0))
    return Sandwich(**about, cluster_radius=cluster_radius), lengths


def hostile_rows(count, seed):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((count, 3)) * 10 ** generator.uniform(-3, 6, (count, 1))
    rows[::7, :2] = np.sign(rows[::7, :2]) * 1e300
    rows[3::11, 2] = np.nan
    rows[5::13, 2] = generator.standard_cauchy(len(rows[5::13])) * 1e5
    return rows


def answer(query, study, clusters):
    """The exact sums of a table of some clusters, each of some rows; with clusters each row is its own person's."""
    rows = np.vstack([rows for rows in clusters if len(rows)] or [np.zeros((0, 3))])
    numbers = np.repeat(np.arange(len(clusters)), [len(rows) for rows in clusters])
    cells = {"u": rows[:, 0], "v": rows[:, 1], "y": rows[:, 2], "school": numbers, "id": numbers}
    if study.cluster:
        cells["id"] = np.arange(len(rows))
    summary = RoundSummary(study, [query])
    for chunk in Chunks(study).of({name: cells[name] for name in summary.needs(study)}):
        summary.add(chunk)
    return summary.result()[0]


def moved(query, study, one, two):
    first, second = (released_numbers(query, each, study) for each in (one, two))
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


def hostile_pairs(count, seed, unit_rows):
    """A cluster, and what it is with up to so many rows more: drawn ones, one row again and again, and its opposite."""
    generator, rows = np.random.default_rng(seed), hostile_rows(4000, seed)
    rows = rows[np.isfinite(rows).all(axis=1)]
    for k in range(count):
        size, more = int(generator.integers(0, 9)), int(generator.integers(1, unit_rows + 1))
        first = rows[generator.integers(0, len(rows), size)]
        extra = rows[generator.integers(0, len(rows), more)]
        if k % 3 == 1:  # all alike, and far out
            first = np.repeat(extra[:1], int(generator.integers(0, 40)), axis=0)
            extra = np.repeat(extra[:1], unit_rows, axis=0)
        if k % 3 == 2 and size:  # against the rest
            extra = np.repeat(first[:1] * [1, 1, -1], unit_rows, axis=0)
        yield first, np.vstack([first, extra])


@pytest.mark.parametrize(
    ("study", "unit_rows", "cluster_radius", "pairs"),
    [
        pytest.param(CLUSTERS, 1, 29.0, 400, marks=pytest.mark.thorough),
        (IN_CLUSTERS, 3, 29.0, 400),
        *(
            pytest.param(*each, radius, PAIRS // 6, marks=pytest.mark.thorough)
            for each in ((CLUSTERS, 1), (IN_CLUSTERS, 3))
            for radius in (2.9, 29.0, 200.0)
        ),
    ],
)
def test_no_row_of_a_cluster_moves_its_sums_farther(study, unit_rows, cluster_radius, pairs):
    sandwich, lengths = queries(cluster_radius)
    other = hostile_rows(20, 8)
    limits = [query_sensitivity(query, study) for query in (sandwich, lengths)]
    worst = [0, 0]
    for one, two in hostile_pairs(pairs, int(cluster_radius), unit_rows):
        for place, query in enumerate((sandwich, lengths)):
            far = moved(query, study, answer(query, study, [other, one]), answer(query, study, [other, two]))
            worst[place] = max(worst[place], far)
    assert worst[0] <= limits[0] ** 2 and worst[1] <= limits[1] ** 2
    assert worst[1] >= 0.99 * limits[1] ** 2
    if cluster_radius == 29.0:  # k C1 (2 C2 - k C1) is attained, by a row more of a cluster whose rows are all alike
        assert worst[0] >= (limits[0] * (1 - 2.9 * unit_rows / 58) * 0.98) ** 2


@pytest.mark.parametrize("study", [PERSONS, COMING])
def test_no_person_moves_the_sums_of_persons_farther(study):
    sandwich, lengths = queries(6.0)
    generator, rows = np.random.default_rng(5), hostile_rows(4000, 5)
    rows = rows[np.isfinite(rows).all(axis=1)]
    versions = [rows[generator.integers(0, len(rows), generator.integers(1, 7))] for _ in range(200)]
    versions += [np.repeat(rows[k : k + 1], 6, axis=0) for k in range(200)]
    for query, tight in ((sandwich, 0.9), (lengths, 0.99)):
        made = [answer(query, study, [version]) for version in versions]
        nobody = (0,) * len(made[0])
        pairs = zip(made, made[1:] + made[:1], strict=True) if study is PERSONS else ((each, nobody) for each in made)
        worst, limit = max(moved(query, study, one, two) for one, two in pairs), query_sensitivity(query, study)
        assert (tight * limit) ** 2 <= worst <= limit**2


def test_a_cluster_is_read_as_any_table_is():
    generator, rows = np.random.default_rng(6), hostile_rows(60, 6)
    schools = generator.integers(0, 9, 60)
    frame = pd.DataFrame(rows, columns=NAMES).assign(school=schools)
    clusters = [rows[schools == each] for each in range(9)]
    for query in queries(12.0):
        assert gather(frame, CLUSTERS, RoundSummary(CLUSTERS, [query]))[0] == answer(query, CLUSTERS, clusters)


def test_one_row_is_cheaper_than_its_cluster():
    row, cluster = Fraction(2) ** 2, Fraction(40) ** 2
    by_row, by_person = (
        cluster_product_sensitivity(row, cluster, 3, CLUSTERS),
        product_sensitivity(cluster, 3, "add-remove-one"),
    )
    assert math.isclose(by_row / by_person, 2 * 2 / 40, rel_tol=1e-3)
    assert cluster_product_sensitivity(row, row, 3, CLUSTERS) == product_sensitivity(row, 3, "replace-one")
    assert cluster_product_sensitivity(row, cluster, 3, COMING) == by_person
