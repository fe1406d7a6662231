import math
from dataclasses import replace

import numpy as np
import pytest

from dpselect.errors import StudyError
from dpselect.rehearse.chances.scores import selection_probabilities
from paper.theorems import (
    Problem,
    best_penalty,
    least_epsilon,
    least_rows,
    pcls_bound,
    pcpl_bound,
    penalty_interval,
    rival_tail,
)

PROBLEM = Problem(rows=10**6, count=63, largest=6, active=3, effect=1.0, eigenvalue=0.3, deviation=1.0, r=4.7, R=21.1)


def pcpl(problem, epsilon, penalty):
    return pcpl_bound(problem, epsilon, 1e-6, penalty)


@pytest.mark.parametrize("mechanism", ["laplace", "exponential", "permute-and-flip"])
@pytest.mark.parametrize("x", [0.0, 0.5, 2.0, 3.0, 20.0])
def test_the_rival_s_tail_is_the_exact_chance_of_the_worse_of_two(mechanism, x):
    exact = selection_probabilities(np.array([0.0, x]), 1.0, 1.0, mechanism)[1]
    assert rival_tail(x, mechanism) == pytest.approx(exact, rel=1e-8)


def test_the_printed_tail_is_too_small_for_laplace_noise_beyond_two():
    assert rival_tail(1.9, "laplace") < math.exp(-1.9)
    assert rival_tail(2.1, "laplace") > math.exp(-2.1)


def test_a_chi_squared_variable_has_two_tails_and_the_printed_claim_2_one():
    for power in (2.0, 5.0, 20.0):  # A log n
        exact = math.erfc(math.sqrt(power / 2))
        printed = math.exp(-power / 2) / math.sqrt(2 * math.pi * power)
        assert printed < exact <= 2 * printed


def test_the_paper_s_own_setting_is_far_from_the_conditions():
    bound = pcls_bound(replace(PROBLEM, rows=1000), 1.0, 100.0)
    assert not bound.holds
    assert bound.error == 1
    missed = [condition.name for condition in bound.conditions if not condition.met]
    assert any("64 A" in name for name in missed)
    assert "nothing is claimed" in str(bound)
    assert "NOT met" in str(bound)


def test_conditions_say_by_how_much():
    bound = pcls_bound(PROBLEM, 1.0, 42_000.0)
    assert bound.holds
    (eigen,) = (each for each in bound.conditions if each.name.startswith("R >="))
    assert eigen.margin == pytest.approx(21.1 / (4.7 * math.sqrt(20)))
    plain = bound.to_dict()
    assert plain["holds"]
    assert all(each["met"] and each["margin"] >= 1 for each in plain["conditions"])
    assert len(plain["assumed"]) == 4


def test_a_given_c_is_kept_and_a_larger_one_than_the_conditions_allow_is_refused():
    assert pcls_bound(PROBLEM, 1.0, 42_000.0, c=0.5).c == pytest.approx(0.5)
    assert not pcls_bound(PROBLEM, 1.0, 42_000.0, c=1000.0).holds


def test_the_first_term_is_what_the_proof_says():
    """By hand: x = phi epsilon / (4 (r+R)^2), 62 rivals, exp(-x)(2+x)/4 each."""
    x = 42_000 / (4 * 25.8**2)
    assert pcls_bound(PROBLEM, 1.0, 42_000.0).from_noise == pytest.approx(62 * math.exp(-x) * (2 + x) / 4)
    half = 2.0  # of a whole price of 4; the theorem's epsilon
    proof = 63 * math.exp(-half * 10_000 / (32 * 25.8**2))
    assert pcpl_bound(PROBLEM, 4.0, 1e-6, 10_000.0).from_noise <= proof / 2


@pytest.mark.parametrize("bound", [pcls_bound, pcpl])
def test_inversions_stop_exactly_where_the_bound_does(bound):
    rows = least_rows(bound, PROBLEM, 1.0, 0.05)
    for n, met in ((rows, True), (rows - 1, False)):
        _, found = best_penalty(bound, replace(PROBLEM, rows=n), 1.0)
        assert (found.holds and found.error <= 0.05) is met
    many = replace(PROBLEM, rows=10**8)
    epsilon = least_epsilon(bound, many, 0.05)
    assert best_penalty(bound, many, epsilon)[1].error <= 0.05 < best_penalty(bound, many, epsilon * 0.999)[1].error
    low, high = penalty_interval(bound, many, 1.0, 0.05)
    assert bound(many, 1.0, low).error <= 0.05
    assert bound(many, 1.0, high).error <= 0.05
    assert bound(many, 1.0, low * 0.999).error > 0.05
    assert not bound(many, 1.0, high * 1.001).holds


def test_what_cannot_be_reached_is_none():
    narrow = replace(PROBLEM, R=1.0)  # R >= r sqrt(d/kappa) fails whatever n is
    assert least_rows(pcls_bound, narrow, 1.0, 0.05) is None
    assert least_epsilon(pcls_bound, narrow, 0.05) is None
    assert penalty_interval(pcls_bound, narrow, 1.0) is None


@pytest.mark.parametrize("wrong", [{"rows": 1}, {"active": 7}, {"effect": 0.0}, {"r": float("nan")}])
def test_impossible_problems_are_refused(wrong):
    with pytest.raises(StudyError):
        replace(PROBLEM, **wrong)
