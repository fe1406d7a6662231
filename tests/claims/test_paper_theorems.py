"""Claim: wherever the conditions of Theorems 4.1 and 4.2 are met, the chance of a wrong model is within their bound.

The design is fixed and orthogonal, X'X = n kappa I, so a table is drawn as its moments, exactly as its rows would give them,
however many they are. Chances given a table are exact; the mean over tables is within five standard errors or the test fails
(false alarms below 1e-6), and bounds near 1 are left out, for they could not fail.
"""

from dataclasses import replace

import numpy as np
import pytest

from dpselect.assume.lemmas.sensitivity import loss_sensitivity, profile_change
from dpselect.minimize.losses.lattice import batch_losses
from dpselect.rehearse.chances.profile import NoisyBound, profile_probabilities
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.simulate import sizes_of
from paper.theorems import Problem, best_penalty, least_rows, pcls_bound, pcpl_bound

TABLES = 200
PROBLEMS = [
    Problem(rows=2, count=3, largest=2, active=1, effect=1.0, eigenvalue=1.0, deviation=0.5, r=3.0, R=4.25),
    Problem(rows=2, count=7, largest=3, active=2, effect=0.7, eigenvalue=0.8, deviation=1.5, r=6.0, R=12.0),
    Problem(rows=2, count=15, largest=4, active=2, effect=1.0, eigenvalue=0.5, deviation=1.0, r=4.0, R=11.5),
]


def tables(problem, seed):
    """Sums of products of tables with X'X = n kappa I and y = X b + noise."""
    rng = np.random.default_rng(seed)
    n, d, kappa = problem.rows, problem.largest, problem.eigenvalue
    beta = np.where(np.arange(d) < problem.active, problem.effect, 0.0)
    pushed = problem.deviation * np.sqrt(n * kappa) * rng.standard_normal((TABLES, d))
    inner = n * kappa * beta + pushed
    rest = problem.deviation**2 * rng.chisquare(n - d, TABLES)
    products = np.zeros((TABLES, d + 1, d + 1))
    products[:, :d, :d] = np.eye(d) * n * kappa
    products[:, :d, d] = products[:, d, :d] = inner
    products[:, d, d] = rest + (inner**2).sum(axis=1) / (n * kappa)
    return batch_losses(products, [problem.R])[:, 0, 1:]


@pytest.mark.parametrize("mechanism", ["laplace", "exponential", "permute-and-flip"])
@pytest.mark.parametrize("start", PROBLEMS)
@pytest.mark.parametrize("wanted", [0.5, pytest.param(0.05, marks=pytest.mark.thorough)])
def test_theorem_4_1(start, mechanism, wanted):
    def bound(problem, epsilon, penalty):
        return pcls_bound(problem, epsilon, penalty, mechanism=mechanism)

    problem = replace(start, rows=least_rows(bound, start, 1.0, wanted))
    penalty, stated = best_penalty(bound, problem, 1.0)
    assert stated.holds
    assert stated.error <= wanted
    values = tables(problem, 1) + penalty * sizes_of(problem.largest)[1:]
    right = chance_of(2**problem.active - 2, values, 2 * problem.sensitivity, 1.0, mechanism)
    assert 1 - right.mean() <= stated.error + 5 * right.std() / TABLES**0.5 + 1e-3


@pytest.mark.parametrize("start", PROBLEMS)
def test_theorem_4_2(start):
    def bound(problem, epsilon, penalty):
        return pcpl_bound(problem, epsilon, 1e-6, penalty, mechanism="permute-and-flip")

    problem = replace(start, rows=least_rows(bound, start, 1.0, 0.3))
    penalty, stated = best_penalty(bound, problem, 1.0)
    n, B = problem.rows, loss_sensitivity(problem.r, problem.R)
    losses = tables(problem, 2)[:20]
    wrong = []
    for each in losses:
        values = n * np.log(each / n) + penalty * sizes_of(problem.largest)[1:]
        noise = NoisyBound(float(each.min()), B, 0.5, 1e-6)
        chances = profile_probabilities(
            values, noise, lambda m: 2 * profile_change(m, n, B, as_printed=True), 0.5, "permute-and-flip"
        )
        wrong.append(1 - chances[2**problem.active - 2])
    assert stated.holds
    assert np.mean(wrong) <= stated.error


def test_the_bound_is_not_idle():
    """Four times the noise breaks it (effects here are twice as clear as the theorem needs): the test above can fail."""
    problem = replace(PROBLEMS[0], rows=least_rows(pcls_bound, PROBLEMS[0], 1.0, 0.05))
    penalty, stated = best_penalty(pcls_bound, problem, 1.0)
    values = tables(problem, 1) + penalty * sizes_of(problem.largest)[1:]
    right = chance_of(0, values, 8 * problem.sensitivity, 1.0, "laplace")
    assert 1 - right.mean() > stated.error
