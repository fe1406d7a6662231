import math

import numpy as np
import pytest

from dpselect.rehearse.check.probabilities import probabilities
from dpselect.rehearse.paper.experiments import AS_PRINTED, EPSILONS, NO_PRIVACY, curve
from dpselect.rehearse.paper.one_table import criterion_choice, one_table_curves, paper_table
from dpselect.rehearse.simulate.settings import Setting, draw


@pytest.fixture(scope="module")
def arrays():
    return draw(Setting("s", 80, (1.0, 0.0, 0.5)), np.random.SeedSequence(4))


def test_curves_are_the_exact_probabilities_of_the_release(arrays):
    X, y = arrays
    table = paper_table("s", ("a", "b", "c"), X, y)
    rows = one_table_curves(table, [1.2], np.array([3.0]), 0b101)
    for epsilon in EPSILONS:
        ours = probabilities(X, y, epsilon=epsilon, r=table.largest, R=1.2, phi=3.0)[0b101 - 1]
        assert curve(rows, "ours", epsilon=epsilon)[1] == pytest.approx([ours], abs=1e-4)


def test_the_criterion_is_the_usual_one(arrays):
    X, y = arrays
    table = paper_table("s", ("a", "b", "c"), X, y)
    scores = {}
    for mask in range(1, 8):
        chosen = [j for j in range(3) if mask >> j & 1]
        coefficients, *_ = np.linalg.lstsq(X[:, chosen], y, rcond=None)
        residual = float(((y - X[:, chosen] @ coefficients) ** 2).sum())
        scores[mask] = 80 * math.log(residual / 80) + math.log(80) * len(chosen)
    assert criterion_choice(table, math.log(80)) == min(scores, key=scores.get)
    full, *_ = np.linalg.lstsq(X, y, rcond=None)
    assert table.norm() == pytest.approx(np.abs(full).sum())
    assert table.names(0b101) == ("a", "c")
    assert "private" in repr(table)


def test_agreement_is_with_the_non_private_choice_of_the_same_penalty(arrays):
    table = paper_table("s", ("a", "b", "c"), *arrays)
    rows = one_table_curves(table, [1.2], np.array([0.0, 3.0, 1e6]), None)
    assert curve(rows, NO_PRIVACY, epsilon=1.0)[1].tolist() == [1, 1, 1]
    assert {row["size"] for row in rows if row["penalty"] == 1e6} == {1}
    assert curve(rows, AS_PRINTED, epsilon=10.0)[1].max() <= 1
