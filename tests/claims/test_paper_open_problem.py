"""Claim: public defaults solve what the paper leaves open, "fully data-driven and privacy-preserving" tuning.

Chances are exact for each table and averages over tables; the standard error is at most 0.5/sqrt(count), and the thresholds
are further away than five of them unless said otherwise.
"""

import pytest

from paper.contest import as_printed, with_stated_bounds
from paper.heuristics import chance_with_private_bounds
from paper.simulations import FIRST, HELD_OUT, SECOND

# Named in docs/RESULTS.md with the reasons.
BEHIND = {"null model", "dense", "little noise"}


def test_algorithm_1_as_printed_is_right_in_a_third_of_cases_at_best():
    assert as_printed(FIRST, 1.0, radius=2.5, count=200).chance == pytest.approx(0.34, abs=0.03)
    assert as_printed(SECOND, 1.0, radius=2.5, count=200).chance == pytest.approx(0.14, abs=0.03)


def test_stated_bounds_and_public_defaults_are_right_in_more_than_seven_of_ten():
    assert with_stated_bounds(FIRST, 1.0, r=2.5, radius=2.5, count=200) >= 0.70


def test_from_loose_bounds_the_heuristic_that_pays_for_its_bounds_does_as_well():
    assert chance_with_private_bounds(FIRST, 1.0, bound=10.0, count=200) >= 0.70  # asked for: .45


@pytest.mark.thorough
def test_held_out_settings_are_won_but_for_three_with_reasons():
    lost = {
        setting.name
        for setting, epsilon in HELD_OUT
        if chance_with_private_bounds(setting, epsilon, count=100) <= as_printed(setting, epsilon, count=100).chance
    }
    assert lost == BEHIND
