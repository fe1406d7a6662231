import numpy as np
import pytest

from dpselect.assume.candidates import all_subsets
from dpselect.assume.penalty import default_penalty
from dpselect.assume.study import plain_study
from dpselect.rehearse.check.listed import probabilities
from dpselect.rehearse.simulate import SEED, Setting, clipped_products, draw
from paper.contest import as_printed, with_stated_bounds
from paper.simulations import FIRST, tables


def test_the_contest_s_chance_is_the_release_s_own():
    """One table through the whole path (exact moments, certified range, exact chances) and through the contest."""
    rows, _ = np.random.SeedSequence(SEED).spawn(1)[0].spawn(2)
    X, y = draw(FIRST, rows)
    phi = default_penalty(plain_study(list("abcdef"), r=2.5, R=2.5), all_subsets(6), 1.0, "pcls", 1000)
    exact = probabilities(X, y, method="pcls", epsilon=1, r=2.5, R=2.5, phi=phi, mechanism="permute-and-flip")
    ours = with_stated_bounds(FIRST, 1.0, r=2.5, radius=2.5, count=1)
    assert ours == pytest.approx(exact[FIRST.truth - 1], abs=1e-4)


def test_the_empty_model_competes_only_where_the_setting_says_so():
    products = np.array([clipped_products(*draw(FIRST, np.random.SeedSequence(1)), -2, 2)])
    assert tables(FIRST, products, 2.0).losses.shape == (1, 63)
    null = Setting("null", 50, (0.0, 0.0), empty=True)
    rehearsed = tables(null, np.array([clipped_products(*draw(null, np.random.SeedSequence(1)), -2, 2)]), 2.0)
    assert rehearsed.losses.shape == (1, 4)
    assert rehearsed.truth == 0


def test_the_oracle_is_at_least_as_good_as_any_penalty_it_looked_at():
    small = Setting("small", 100, (1.0, 1.0, 0.0))
    best = as_printed(small, 5.0, count=20)
    assert 0 <= best.penalty <= 50
    assert 1 / 7 < best.chance <= 1


def test_results_do_not_depend_on_the_number_of_workers():
    small = Setting("small", 100, (1.0, 1.0, 0.0))
    one, two = (with_stated_bounds(small, 2.0, r=2, radius=2, count=30, jobs=jobs) for jobs in (1, 2))
    assert one == two
