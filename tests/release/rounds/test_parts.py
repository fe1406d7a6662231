"""The parts of the path against brute force: histograms, tails, whitenings, shares, and where limits are wrong by factors."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, norm
from scipy.stats import t as student

from benchmarks.rounds import Answers, Table, release, table_of
from benchmarks.rounds_tables import counts
from dpselect.assume.lemmas.rounds import COUNT_BITS, histograms_sensitivity
from dpselect.assume.queries import Histograms, Noisy, RoundsPlan, Rows, Standard
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.release.rounds.clips import (
    ANSWER_EDGES,
    CLUSTER_EDGES,
    CLUSTER_RADII,
    Half,
    answer_counts,
    choose_cluster_radius,
    choose_radius,
    choose_radius_of_answers,
    clip_share,
    falling,
    farthest_answer,
    farthest_row,
    few_clusters_factor,
    usual_length,
    yes_clip_share,
)
from dpselect.release.rounds.facts import EXPECTED_LENGTHS, LEAST_LAST_SHARE, MAX_LOOKS, expected_length, facts_of
from dpselect.release.rounds.histograms import (
    COUNT_EDGES,
    OPEN_EDGES,
    Spread,
    closer_edges,
    limited_edges,
    locate,
    on_simplex,
    read_closer,
    read_counts,
    read_limited,
)
from dpselect.release.rounds.intervals import (
    EDGE_NOISE,
    LONG_STEP,
    SEEN_INFORMATION,
    SURE_INFORMATION,
    USUAL_KURTOSIS,
    _edge_noise,
    _finding,
    _share,
    _stretch,
    one_way_shares,
    shrunken,
)
from dpselect.release.rounds.path import _halves_of_answers, path, replay
from dpselect.release.rounds.scales import Scales, _of_yes, look
from dpselect.release.rounds.steps import (
    USUAL_CORRELATION,
    Standpoint,
    _response_top,
    coarse_step,
    link_of,
    start,
    tamed,
    weight_of,
    whitening,
)
from tests.release.rounds.test_coverage import MU, ROWS, table
from tests.release.rounds.test_path import plan_of

RNG = np.random.default_rng(25)
_SEED = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_numbers_in_every_order() -> None:
    """Each test begins with the same draws, whichever ran before it."""
    RNG.bit_generator.state = _SEED


def plan_for(made: Table) -> RoundsPlan:
    return RoundsPlan(study=made.study, columns=made.columns, family=made.family, rows=len(made.response), mu=MU)


def binned(values: np.ndarray, edges: np.ndarray, noise: float) -> np.ndarray:
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
    return counts + RNG.normal(0, noise, len(counts))


@pytest.mark.parametrize("ratio", [0.25, 0.5])
def test_falling_numbers_are_the_nearest_that_fall(ratio):
    for _ in range(5):
        values = RNG.normal(0, 3, 5)
        found = falling(values, ratio ** np.arange(len(values)))
        assert (found >= 0).all()
        assert (found[1:] <= ratio * found[:-1] + 1e-9).all()
        limits = [{"type": "ineq", "fun": lambda x, k=k: ratio * x[k] - x[k + 1]} for k in range(4)]
        best = minimize(
            lambda x, values=values: ((x - values) ** 2).sum(), np.ones(5), bounds=[(0, None)] * 5, constraints=limits
        )
        assert ((found - values) ** 2).sum() <= best.fun + 1e-6


def test_the_simplex_has_the_nearest_counts():
    values = np.array([5.0, -2.0, 3.0])
    assert on_simplex(values, 6.0).tolist() == [4.0, 0.0, 2.0]


def test_a_whitening_makes_a_gram_the_same_in_all_directions():
    rows = RNG.normal(size=(500, 4)) @ RNG.normal(size=(4, 4))
    matrix = whitening(rows.T @ rows, 500.0, 0.0, 0.0)
    assert np.allclose(matrix.T @ rows.T @ rows @ matrix, 500 * np.eye(4))
    assert np.allclose(matrix, matrix.T)


def test_rare_dummies_stay_short_as_far_as_something_is_left():
    gram = np.diag([500.0, 500.0, 100.0])
    found = tamed(gram, np.diag([0.0, 0.0, 400.0]), 500.0, 0.0, 0.01)
    assert np.allclose(found.matrix, np.eye(3))
    assert np.allclose(found.hessian, gram)
    collinear = np.array([[500.0, 0, 0], [0, 50.0, -49.0], [0, -49.0, 50.0]])
    less = tamed(collinear, np.diag([0.0, 450.0, 450.0]), 500.0, 0.0, 1e-3)
    assert less.short.max() < 450


@pytest.mark.parametrize("factor", [1.0, 3.0, 10.0, 100.0])
def test_a_number_is_resolved_however_wide_its_limits(factor):
    """Noise in far bins makes scales longer, 1.7 times where limits are three times as wide, rarely 2.2 times.

    False alarms: 1 in 2,000, for 1,000 draws of each had at most .02 outside of what 36 of 40 must be in.
    """
    rows, noise, near = 20_000, 60.0, 0
    for _ in range(40):
        values = 0.2 * GRID + RNG.normal(0, GRID / 4 / factor, rows)
        edges = limited_edges(rows / noise)
        spread = read_limited(binned(values, edges, noise), edges, rows, noise, 60.0)
        for _ in range(3):
            if spread.resolved:
                break
            edges = closer_edges(spread, rows / noise)
            spread = read_closer(binned(values, edges, noise), edges, rows, noise, 60.0)
        assert spread.resolved
        off = abs(spread.center - values.mean()) / values.std()
        near += 0.85 < spread.deviation / values.std() < 2.2 and off < 0.5
    assert near >= 36


@pytest.mark.parametrize("center", [0.0, 40.0, 2000.0, -3e6])
def test_a_number_without_limits_is_found(center):
    rows, noise = 20_000, 60.0
    values = center + RNG.normal(0, 8.0, rows)
    spread = locate(binned(values, OPEN_EDGES, noise), OPEN_EDGES, rows, noise)
    for _ in range(4):
        edges = closer_edges(spread, rows / noise)
        spread = read_closer(binned(values, edges, noise), edges, rows, noise, 60.0)
        if spread.resolved:
            break
    assert 0.6 < spread.deviation / 8.0 < 1.8


def test_zeros_do_not_hide_the_octaves_of_the_rest():
    rows, noise = 30_000, 60.0
    values = np.where(RNG.random(rows) < 0.9, 0.0, RNG.gamma(2, 50, rows))
    spread = locate(binned(values, OPEN_EDGES, noise), OPEN_EDGES, rows, noise)
    assert 0.3 < spread.deviation / values.std() < 3
    nothing = locate(np.zeros(len(OPEN_EDGES) + 1), OPEN_EDGES, 100.0, 50.0)
    assert math.isfinite(nothing.deviation)


def test_rows_in_an_outer_bin_are_looked_at_from_farther():
    rows, noise = 20_000, 40.0
    edges = closer_edges(Spread(0.0, 1e-4, 3.0, False), rows / noise)
    values = np.where(RNG.random(rows) < 0.9, 0.0, 1000.0)
    spread = read_closer(binned(values, edges, noise), edges, rows, noise, 60.0)
    assert not spread.resolved
    assert spread.deviation > 100 * 1e-4


def test_rows_apart_are_those_that_are_counted_beside_the_fullest_bin():
    rows, noise = 20_000, 40.0
    edges = closer_edges(Spread(0.0, 1.0, 3.0, False), rows / noise)
    usual = read_closer(binned(RNG.normal(0, 1, rows), edges, noise), edges, rows, noise, 60.0)
    assert 0.7 * rows < usual.apart < rows
    values = np.where(RNG.random(rows) < 0.99, 0.0, RNG.normal(0, 300, rows))
    zeros = read_closer(binned(values, edges, noise), edges, rows, noise, 60.0)
    assert zeros.apart < 0.02 * rows


@pytest.mark.parametrize("side", [-1, 1])
def test_rows_that_crowd_at_a_limit_keep_their_tail(side):
    rows, noise = 3000, 80.0
    values = -side * np.where(RNG.random(rows) < 0.85, -GRID, -GRID + RNG.gamma(2, 0.2 * GRID, rows))
    edges = limited_edges(rows / noise)
    spread = read_limited(binned(values, edges, noise), edges, rows, noise, 60.0)
    assert spread.resolved
    assert spread.deviation > 0.6 * values.std()


def test_counts_are_told_apart_one_by_one():
    values = RNG.poisson(3.0, 20_000).astype(float)
    spread = read_counts(binned(values, COUNT_EDGES, 60.0), COUNT_EDGES, 20_000, 60.0, 60.0)
    assert isinstance(spread, Spread)
    assert spread.center == pytest.approx(3.0, abs=0.3)
    assert spread.deviation == pytest.approx(math.sqrt(3.0), rel=0.3)


def test_a_radius_weighs_noise_against_what_it_cuts_off():
    tail = np.zeros(len(ANSWER_EDGES))
    tail[:5] = [3000, 3000, 2000, 500, 100]
    none = np.zeros(len(ANSWER_EDGES))
    halves = [Half(tail, 2, 8600.0), Half(none, 5, 0.0)]
    quiet, loud = (
        choose_radius_of_answers(halves, 1.0, 9000.0, width=6, tail=2.0, farthest=2.0, noise_a_radius=noise)
        for noise in (1.0, 100.0)
    )
    assert loud.radius < quiet.radius
    assert quiet.excess < loud.excess


def test_answers_that_noise_hides_are_counted_as_far_as_columns_reach():
    counts = np.zeros(len(ANSWER_EDGES))
    counts[1] = 4000.0
    halves = [Half(counts, 1, 4000.0), Half(counts, 1, 4000.0)]
    near, far, farther = (
        choose_radius_of_answers(halves, 40.0, 8000.0, width=6, tail=2.0, farthest=limit, noise_a_radius=16.0)
        for limit in (1.0, 5.0, 20.0)
    )
    assert near.excess < far.excess < farther.excess
    # Half say yes; then one in fifty. A number that reaches nine deviations, of nine columns, lies three lengths out.
    assert farthest_answer(2.0, 0.5, 9) == pytest.approx(1.4)
    assert farthest_answer(2.0, 0.02, 9) == pytest.approx(5.0)
    assert farthest_answer(9.0, 0.02, 9) == pytest.approx(15.0)


def clip_of(counts, *, noise=40.0, farthest=6.0, noise_a_radius=16.0, rows=9000.0, width=6):
    noisy = np.append(rows - sum(counts), np.array(counts, dtype=float))
    return choose_radius(noisy, noise, rows, width=width, tail=2.0, farthest=farthest, noise_a_radius=noise_a_radius)


def test_a_radius_of_numbers_weighs_noise_against_what_it_cuts_off():
    counts = (600, 200, 60, 20, 0, 0, 0)
    quiet, loud = (clip_of(counts, noise=1.0, noise_a_radius=noise) for noise in (1.0, 100.0))
    assert loud.radius < quiet.radius
    assert quiet.excess < loud.excess


def test_rows_that_noise_hides_are_counted_as_far_as_limits_reach():
    near, far, farther = (clip_of((100, 30, 0, 0, 0, 0, 0), farthest=limit) for limit in (3.5, 12.0, 40.0))
    assert near.excess < far.excess < farther.excess
    assert near.radius <= far.radius <= farther.radius


def test_rows_beyond_the_limits_count_only_where_they_are_seen():
    none, noise, seen = (clip_of((100, 30, 0, 0, many, 0, 0), farthest=3.0) for many in (0, 50, 160))
    assert none == noise
    assert seen.excess > none.excess


def test_a_bin_may_hold_as_many_rows_as_its_noise_hides():
    """Of many, with no answer above zero: more than a deviation within limits, and what stands above 1.5 deviations beyond them."""
    clip = clip_of((100, 30, 0, 0, 0, 0, 0), farthest=4.5)
    mean = 4 * (math.sqrt(2) - 1) / (math.log(2) / 2)  # of a length between 4 and 5.7
    assert clip.excess >= 1.1 * 40.0 * (mean - clip.radius)
    near, farther = (clip_of((100, 30, 0, 0, many, 0, 0), farthest=3.0) for many in (0, 70))
    assert farther.excess > near.excess


def test_in_few_columns_bins_count_farther():
    """A row far out in one of two columns is long, and in one of six hardly: its bin counts though noise may have made it."""
    none, some = (0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 55, 0, 0, 0)
    assert clip_of(none, farthest=5.0) == clip_of(some, farthest=5.0)
    assert clip_of(none, farthest=5.0, width=2).excess < clip_of(some, farthest=5.0, width=2).excess


def test_a_tail_falls_as_steeply_as_its_counts_allow():
    light = clip_of((900, 250, 60, 10, 0, 0, 0), noise=10.0, farthest=40.0)
    heavy = clip_of((900, 600, 400, 250, 300, 100, 30), noise=10.0, farthest=40.0)
    assert heavy.excess > 4 * light.excess
    assert heavy.radius > light.radius


def test_rows_that_are_seen_at_one_length_count_as_they_are():
    """Whoever shares a value lies at one length, far from the others: a tail that falls would have fewer of them there."""
    clip = clip_of((400, 130, 50, 0, 187, 0, 0), farthest=5.0)
    mean = 8 * (2**1.0 - 1) / math.log(2)  # of a length between 8 and 16, evenly by its logarithm
    assert clip.excess >= 187 * (mean - clip.radius) * 0.95


def test_a_usual_gradient_is_as_long_as_its_squares_add_up_to():
    counts = np.array([2000.0, 30.0, 0.0, 0.0, 300.0, 50.0, 0.0, 0.0])
    usual = usual_length(counts, 40.0, 2380.0)  # 300 between 5.7 and 8: the others are not surely seen
    assert usual == pytest.approx(math.sqrt(300 * 46 / 2380), rel=0.02)
    assert usual_length(np.array([9000.0, 300, 100, 20, 0, 0, 0, 0]), 40.0, 9420.0) == 1.0
    assert usual_length(np.array([100.0, 0, 0, 0, 0, 0, 0, 900]), 1.0, 1000.0) == 4.0
    long = clip_of((30, 0, 0, 300, 50, 0, 0), farthest=9.0, rows=2380.0)
    assert long.usual == pytest.approx(usual)
    assert long.radius >= 2 * usual


def test_the_fewer_coefficients_the_more_may_be_cut_off_of_one():
    assert [clip_share(width) for width in (2, 3, 6, 18)] == pytest.approx([0.6, 0.6, 0.3, 0.1])
    assert [yes_clip_share(width) for width in (2, 6, 15)] == pytest.approx([0.4, 1 / 3, 2 / 15])


def test_what_is_cut_off_points_along_numbers_with_a_tail():
    facts = SimpleNamespace(names=("intercept", "usual", "long", "far"), columns=(0, 1, 2))

    def shares_of(kurtoses: list[float], response: float = 3.0) -> list[float]:
        scales = SimpleNamespace(kurtoses=np.array(kurtoses), response_kurtosis=response)
        return one_way_shares(facts, scales, 0.4).tolist()

    assert shares_of([3.0, 2 * USUAL_KURTOSIS, 99.0]) == pytest.approx([1.0, 0.4, 0.8, 1.0])
    assert shares_of([3.0, 3.0, 3.0]) == [0.4] * 4
    # What is cut off of a response with a tail lies on one side of it, and points along whatever goes with it.
    assert shares_of([3.0, 1.5 * USUAL_KURTOSIS, 3.0], 1.5 * USUAL_KURTOSIS) == pytest.approx([0.9, 0.6, 0.9, 0.6])
    facts = SimpleNamespace(names=("intercept",), columns=())
    assert shares_of([]) == [0.4]


def test_the_noise_of_what_is_hardly_seen_counts_for_more():
    """Of two coefficients the first is seen without doubt, the second as little as may be shown."""
    noise = np.diag([1.0, 4.0])
    here = SimpleNamespace(hessian=np.diag([SURE_INFORMATION, 2 * SEEN_INFORMATION]), hessian_noise=lambda step: noise)
    added = _edge_noise(here, SimpleNamespace(step=np.ones(2)), np.eye(2))
    assert added.tolist() == pytest.approx([0.0, 2 * math.sqrt((1 + EDGE_NOISE) ** 2 - 1)])
    assert math.hypot(2, added[1]) == pytest.approx(1.75 * 2)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_a_last_step_that_noise_does_not_explain_makes_intervals_longer(family, monkeypatch):
    """Whatever the link: the steps before it were wrong then, and so is what they have shown."""
    made = table(family, np.random.default_rng(8))
    answers, walk = Answers(made, np.random.default_rng(9)), path(plan_for(made))
    asked, ask = [], next(walk)
    with pytest.raises(StopIteration):
        while True:
            asked.append(answers.answer(ask))
            ask = walk.send(asked[-1])
    first, *others = asked[-1]
    far = Noisy(first.query, first.sums + 40 * first.deviation, first.deviation)

    def half(last):
        found = replay(plan_for(made), [*asked[:-1], (last, *others)])
        return max(each.error for each in found.findings if each.error is not None)

    long, usual = half(far), half(first)
    monkeypatch.setattr("dpselect.release.rounds.intervals.LONG_STEP", 0.0)
    assert long > 1.1 * half(far)
    assert usual < 1.05 * half(first)


def test_where_two_looks_at_a_hessian_differ_the_first_counts_for_less():
    facts = facts_of(plan_of())
    width, rows = facts.width, facts.rows
    first = rows * np.eye(width)
    here = Standpoint(
        standard=Standard(
            columns=tuple(column.place for column in facts.columns),
            centers=(0.0,) * (width - 1),
            factors=(1.0,) * (width - 1),
            response_center=0.0,
            response_factor=1.0,
            intercept=True,
        ),
        center=np.zeros(width),
        matrix=np.eye(width),
        hessian=first,
        inverse=np.eye(width) / rows,
        exact=first,
        short=np.zeros((width, width)),
        doubt=np.full((width, width), (0.05 * rows) ** 2),
        deviation=1.0,
        weight=1.0,
        turn=np.eye(width),
        variance=np.zeros((width, width)),
        wandered=np.zeros((width, width)),
        spread=np.eye(width),
        moved=0.0,
    )

    def after(second):
        step = coarse_step(facts, SimpleNamespace(tail=2.0), here, 1.0)
        (gram, _), (gradient, _) = next(step)
        noise = 0.1 * rows * math.sqrt(2)
        with pytest.raises(StopIteration) as end:
            step.send((Noisy(gram, second, noise), Noisy(gradient, np.zeros(width), 7.0)))
        there = end.value.value
        back = np.linalg.inv(there.turn)
        if second is first:  # the gradient's noise, by the step that it takes part in
            of_step = there.inverse @ there.turn.T
            assert there.wandered == pytest.approx(7.0**2 * of_step @ of_step.T)
        return back.T @ there.exact @ back, there.variance

    alike, little = after(first)
    correlated = first.copy()
    correlated[:2, :2] = rows * np.array([[1.0, 0.9], [0.9, 1.0]])
    correlated[2:4, 2:4] = correlated[:2, :2]
    seen, more = after(correlated)
    assert np.allclose(alike, first)
    known, noise = (0.05 * rows) ** 2, (0.1 * rows) ** 2
    assert little == pytest.approx(np.full((width, width), known * noise / (known + noise)))
    assert seen[0, 1] > 0.5 * 0.9 * rows  # a fifth of it, if the first look were trusted as before
    assert (more > 2 * little).all()


def test_how_far_a_row_can_lie_is_by_the_farthest_limit():
    assert farthest_row(4.0, 3.0, 0.8, 9) == pytest.approx(5.0)
    assert farthest_row(4.0, 30.0, 0.8, 9) == pytest.approx(15.0)
    assert farthest_row(6.0, 30.0, 3.0, 9, counts=True) == pytest.approx(30.0)
    assert farthest_row(6.0, 3.0, 3.0, 9, counts=True) == pytest.approx(6.0)


def test_yes_that_are_not_seen_lie_where_nature_puts_them():
    noisy = np.zeros(len(ANSWER_EDGES))
    counts = answer_counts(Half(noisy, start=6, rows=40.0), 50.0, 1000.0)
    assert counts[6] == 20.0
    far = noisy.copy()
    far[2], far[4], far[9] = 300.0, 180.0, 300.0  # the last is more than squares can add up to
    counts = answer_counts(Half(far, start=6, rows=40.0), 50.0, 1000.0)
    assert counts[4] == 180.0
    assert counts[9] < 1


def test_answers_at_one_length_count_as_they_are():
    """A cell of 170 rows at five units, and next to nothing between it and the many short ones."""
    noisy = np.array([3500.0, -20.0, 10.0, 0.0, -30.0, 170.0, 0.0, 20.0, -10.0, 0.0])
    assert answer_counts(Half(noisy, start=0, rows=3700.0), 50.0, 40_000.0)[5] == 170.0


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_shares_add_up_to_the_price(family):
    for rows in (1000, 10_000, 10**6):
        shares = facts_of(plan_of(family, rows=rows)).shares
        parts = [getattr(shares, name) for name in shares.__slots__]
        assert sum(parts) == pytest.approx(1.0)
        assert min(parts) >= 0
        assert shares.last > 0.2


def test_where_the_link_is_curved_coarse_steps_have_a_fifth_more_of_what_is_left():
    """And the lengths of gradients a twentieth of the price, or a little more: more rows can be long there."""
    parts = []
    for family in ("gaussian", "binomial", "poisson"):
        shares = facts_of(plan_of(family, rows=10_000)).shares
        left = 1 - shares.first - shares.start_gram - shares.gram - shares.radii - shares.sandwich
        parts.append((shares.coarse / left, shares.radii))
    (straight, radii), *curved = parts
    assert radii == 0.05
    for steps, lengths in curved:
        assert (steps, lengths) == pytest.approx((1.2 * straight, 0.06))


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_however_many_looks_there_are_the_last_gradient_has_its_share(family, clustered):
    for rows in (2, 10, 30, 100, 300, 1000, 10_000, 10**6):
        facts = dataclasses.replace(facts_of(plan_of(family, rows=rows)), clustered=clustered)
        left = facts.shares.last + facts.shares.first - sum(facts.look_share(turn) for turn in range(MAX_LOOKS))
        assert left >= LEAST_LAST_SHARE - 1e-12 and all(facts.look_share(turn) > 0.01 for turn in range(MAX_LOOKS))


def test_links_and_weights():
    assert link_of("binomial", 0.5) == 0
    assert link_of("poisson", 1.0) == 0
    assert link_of("gaussian", 3.0) == 3.0
    assert weight_of("binomial", 0.5) == 0.25
    assert weight_of("poisson", 3.0) == 3.0
    assert weight_of("gaussian", 3.0) == 1.0


def test_intervals_are_expected_to_be_longer_where_less_is_seen():
    lengths = [expected_length(plan_of(rows=rows)) for rows in (10, 1000, 3000, 10_000, 100_000, 10**7)]
    for quartile in zip(*lengths, strict=True):
        assert list(quartile) == sorted(quartile, reverse=True)
    assert all(each.low < each.middle < each.high for each in lengths)
    assert lengths[-1] == pytest.approx([law.sampling for law in EXPECTED_LENGTHS], rel=1e-3)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_lengths_follow_the_noise_of_gradient_and_matrix(family):
    plan = dataclasses.replace(plan_of(rows=4000), family=family)
    width, law = facts_of(plan).width, EXPECTED_LENGTHS[1]
    rows = plan.rows * (1.0 if family == "gaussian" else law.curved)
    gradient, gram = law.gradient * width / (rows * plan.mu**2), law.gram * width**1.5 / (rows * plan.mu)
    assert expected_length(plan).middle == pytest.approx(math.sqrt(law.sampling**2 + gradient + gram**2))


def test_lines_of_products_have_the_units_that_gathering_gives_them():
    study = Study(
        Numeric("y"),
        [Numeric("a", 0, 4), Numeric("b"), Categorical("c", ["x", "z"]), Binary("d", [0, 1])],
        terms=["a", "b", "c", "d", ["a", "c"], ["a", "b"], ["b", "c"]],
    )
    plan = RoundsPlan(study=study, columns=tuple(range(len(study.columns))), family="gaussian", rows=1000, mu=1.0)
    units = {column.name: column.unit for column in facts_of(plan).columns}
    assert units == {
        "a": GRID / 2,
        "b": 1.0,
        "c[z]": GRID,
        "d": GRID / 0.5,
        "a:c[z]": GRID / 2,
        "a:b": GRID / 2,
        "b:c[z]": GRID,
    }
    assert {column.name: column.zero for column in facts_of(plan).columns if column.zero} == {"a": -GRID, "d": -GRID}
    assert facts_of(plan).response == "open number"


def test_a_standard_is_that_of_the_columns_that_stay():
    assert Standard(columns=(1,), centers=(0.0,), factors=(1.0,), response_center=0.0, response_factor=1.0).width == 2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("size", "gained"), [(0.0, 0.4), (0.3, 0.15), (3.0, 0.0)])
def test_slopes_to_predict_with_are_shorter_where_noise_explains_them(intercept, size, gained):
    """Over many draws of one error covariance: less wrong where slopes are small, no more wrong where they are large."""
    rows = RNG.normal(1.0, 1.0, (400, 6)) @ RNG.normal(size=(6, 6))
    design = np.column_stack([np.ones(400), rows]) if intercept else rows
    hessian = design.T @ design
    covariance = 40 * np.linalg.inv(hessian)
    slopes = size * RNG.normal(size=6) / rows.std(axis=0)
    truth = np.append([2.0] * intercept, slopes)
    facts = SimpleNamespace(intercept=intercept, rows=400.0)
    here = SimpleNamespace(matrix=np.eye(len(truth)), hessian=hessian)
    plain, shorter = [], []
    for end in RNG.multivariate_normal(truth, covariance, 300):
        shrunk = shrunken(facts, here, end, covariance)
        plain.append(((design @ (end - truth)) ** 2).mean())
        shorter.append(((design @ (shrunk - truth)) ** 2).mean())
        assert np.linalg.norm(shrunk[intercept:]) <= np.linalg.norm(end[intercept:]) + 1e-12
        if intercept:
            assert design.mean(axis=0) @ shrunk == pytest.approx(design.mean(axis=0) @ end)
    assert np.mean(shorter) <= (1 - gained) * np.mean(plain) * 1.02


def test_slopes_that_errors_explain_wholly_predict_the_mean():
    facts = SimpleNamespace(intercept=True, rows=100.0)
    here = SimpleNamespace(matrix=np.eye(4), hessian=100 * np.eye(4))
    assert shrunken(facts, here, np.array([5.0, 0.1, -0.1, 0.1]), np.eye(4)).tolist() == [5, 0, 0, 0]
    assert shrunken(facts, here, np.array([5.0, 0.0, 0.0, 0.0]), np.eye(4)).tolist() == [5, 0, 0, 0]


def test_an_interval_is_longer_only_where_its_last_step_is_longer_than_noise():
    assert _stretch(2.0, 0.0) == 1.0
    assert _stretch(2.0, 2.0) == pytest.approx(math.sqrt(1 + LONG_STEP))
    assert _stretch(2.0, 0.4) < 1.002
    assert _stretch(2.0, 8.0) == pytest.approx(math.sqrt(1 + LONG_STEP * 16))  # in proportion, and not as the square
    assert _stretch(0.0, 1.0) < math.inf


@pytest.mark.parametrize(("explained", "rest", "errors"), [(0.2, 0.8, (0.02, 0.3)), (0.5, 0.5, (0.03, 0.2))])
def test_r_squared_is_held_where_what_is_left_is_hardly_known(explained, rest, errors):
    """Of some 2,300 draws in which it is said, .95; to first order .90 and .91 would hold it."""
    rng = np.random.default_rng(26)
    real, held = explained / (explained + rest), []
    for part, left in zip(rng.normal(explained, errors[0], 4000), rng.normal(rest, errors[1], 4000), strict=True):
        rests = left - 1.96 * errors[1], left, left + 1.96 * errors[1]
        found = _share(rests, max(part, 0.0), 1.96 * errors[0])
        if found.value is not None:
            held.append(found.lower <= real <= found.upper)
    assert len(held) > 2000
    assert np.mean(held) > 0.94


@pytest.mark.parametrize("response", [Numeric("y"), Binary("y", (0, 1))])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_a_first_look_is_expected_to_move_as_far_as_its_lemma_says(response, neighbors):
    predictors = [Numeric("a"), Binary("b", (0, 1)), Binary("d", (0, 1)), Categorical("c", ["u", "v", "w"])]
    study = Study(response, predictors, neighbors=neighbors, rows=900)
    family = "gaussian" if isinstance(response, Numeric) else "binomial"
    columns = tuple(range(1, len(study.columns)))
    edges = tuple((0.0,) if study.columns[place].name == "a" else () for place in columns)
    asked = Histograms(
        columns=columns, edges=edges, response_edges=(0.0,) if family == "gaussian" else (), family=family
    )
    plan = RoundsPlan(study=study, columns=tuple(range(len(study.columns))), family=family, rows=900.0, mu=1.0)
    assert facts_of(plan).first_moved == pytest.approx(histograms_sensitivity(asked, study) / 2**COUNT_BITS, rel=1e-3)


def test_an_unknown_family_has_no_link_of_another():
    for part in (link_of, weight_of):
        with pytest.raises(KeyError):
            part("gamma", 0.5)


def beyond(counts, radius):
    """The sum of squares beyond a radius of clusters whose lengths are even by their logarithm in each bin, finely."""
    lengths = CLUSTER_EDGES[:, None] * 2.0 ** ((np.arange(4000) + 0.5) / 4000)
    return float(counts @ np.maximum(lengths**2 - radius**2, 0.0).mean(axis=1))


@pytest.mark.parametrize("is_unit", [True, False])
@pytest.mark.parametrize("replaced", [1.0, 2.0])
def test_a_radius_of_clusters_makes_half_a_deviation_of_noise_and_lost_squares_least_together(is_unit, replaced):
    """Noise is that of `cluster_product_sensitivity`: of a cluster in whole, or of a row within it, which is clipped as well."""
    shares, clip_radius = SimpleNamespace(sandwich=0.12), 3.0
    counts = np.zeros(len(CLUSTER_EDGES))
    counts[1:7] = [200.0, 900.0, 700.0, 300.0, 60.0, 10.0]
    for mu in (0.02, 0.5):
        facts = SimpleNamespace(replaced=replaced, cluster_is_unit=is_unit, mu=mu, row_mu=mu / 2, shares=shares)
        seen = Noisy(Rows(), counts, 1.0)

        def risk(radius, mu=mu):
            whole, part = math.sqrt(replaced) * radius**2, 2 * 2 * clip_radius * radius
            moved = whole if is_unit else min(math.sqrt(2) * radius**2, part)
            return 0.5 * moved / (mu * math.sqrt(0.12)) + beyond(counts, radius)

        clip = choose_cluster_radius(facts, seen, clip_radius)
        assert clip.count == pytest.approx(counts.sum(), rel=0.01)  # noise may hide a few beyond
        assert clip.excess == pytest.approx(beyond(counts, clip.radius), rel=0.05, abs=60)
        assert risk(clip.radius) <= 1.02 * min(map(risk, CLUSTER_RADII.tolist()))
    assert choose_cluster_radius(facts, Noisy(Rows(), counts * 0 + 2.9, 1.0), clip_radius) is None


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_few_clusters_make_errors_longer_as_students_quantiles_do(level):
    """And as a sample's variance is short; to the second order in one over their number."""
    for count in (20, 50, 1000):
        longer = student.ppf((1 + level) / 2, count - 1) / norm.ppf((1 + level) / 2) * math.sqrt(count / (count - 1))
        assert few_clusters_factor(SimpleNamespace(level=level), float(count)) == pytest.approx(
            longer, abs=3 / count**2
        )


def evenly(edges, counts):
    """Center and deviation of so many rows in each octave, even within it; the outer ones reach as far again."""
    ends = np.concatenate([[2 * edges[0]], edges, [2 * edges[-1]]])
    points = np.concatenate([np.linspace(low, high, 2001) for low, high in pairwise(ends)])
    weights = np.repeat(counts / counts.sum(), 2001) / 2001
    center = weights @ points
    return center, math.sqrt(weights @ (points - center) ** 2)


@pytest.mark.parametrize("places", [(30, 70, 90), (0, 60, -1), (58, 59)])
def test_a_first_look_says_center_and_deviation_of_rows_that_are_even_in_each_octave(places):
    counts = np.zeros(len(OPEN_EDGES) + 1)
    counts[list(places)] = [5000.0, 3000.0, 2000.0][: len(places)]
    found, (center, deviation) = locate(counts, OPEN_EDGES, counts.sum(), 1.0), evenly(OPEN_EDGES, counts)
    assert (found.center, found.deviation) == pytest.approx((center, deviation), rel=1e-3)


@pytest.mark.parametrize(("others", "thin", "counted"), [(0, 3.5, True), (0, 2.5, False), (1, 4.5, False)])
def test_an_octave_that_is_hardly_seen_counts_only_beside_a_single_one(others, thin, counted):
    """Rows that are surely left lie somewhere: at the fullest octave, or the fullest few in a row, if that has three deviations."""
    counts, noise = np.zeros(len(OPEN_EDGES) + 1), 50.0
    counts[59 : 60 + others] = 9000.0
    counts[80] = thin * noise
    found = locate(counts, OPEN_EDGES, counts.sum() + 3.9 * noise * (1 - others), noise)
    assert (found.deviation > 1.0) == counted


def test_an_octave_far_out_counts_from_four_and_a_half_deviations_of_the_noise_on():
    rows, noise = 20_000, 40.0
    edges = closer_edges(Spread(0.0, 1.0, 3.0, False), rows / noise)
    usual = binned(RNG.normal(0, 1, rows), edges, 0.0)
    found = []
    for seen in (4.4, 4.6):
        noisy = usual.copy()
        noisy[-3] += seen * noise
        found.append(read_closer(noisy, edges, rows, noise, 60.0).deviation)
    assert found[0] < 1.1 and found[1] > 10


def test_a_tail_of_more_rows_than_there_are_begins_at_the_center():
    rows, edges = 50, limited_edges(20.0)
    spread = read_limited(binned(RNG.normal(0, GRID / 4, rows), edges, 0.0), edges, rows, 1.0, rows + 10.0)
    assert 0 <= spread.tail < 0.5


def test_rows_that_crowd_at_either_limit_are_read_alike():
    """A few beside them, too near for bins to tell how far: all bins count as they are, and no closer look is asked for."""
    rows, noise = 100_000, 40.0
    edges = limited_edges(rows / noise)
    counts = RNG.normal(0, 1.0, len(edges) + 1)
    counts[[-1, -3]] += [0.96 * rows, 0.04 * rows]
    upper, lower = (read_limited(each, edges, rows, noise, 60.0) for each in (counts, counts[::-1]))
    assert upper.resolved and lower.resolved
    assert (upper.center, upper.deviation) == pytest.approx((-lower.center, lower.deviation))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_an_adjusted_interval_has_half_of_what_may_fail_for_each_of_its_parts(level):
    each = 1 - (1 - level) / 2
    for privacy, sampling in ((1.0, 0.0), (0.0, 1.0), (2.0, 3.0)):
        found = _finding(SimpleNamespace(level=level, considered=12), 5.0, privacy, sampling, 0.0, 0.0)
        half = norm.ppf((1 + each) / 2) * privacy + math.sqrt(chi2.ppf(each, 12)) * sampling
        assert (found.adjusted_upper - 5, 5 - found.adjusted_lower) == pytest.approx((half, half), rel=0.02)
        assert found.upper - 5 == pytest.approx(norm.ppf((1 + level) / 2) * math.hypot(privacy, sampling))


@pytest.mark.parametrize("yes", [60.0, 500.0, 930.0])
def test_a_response_of_no_and_yes_has_the_spread_of_two_numbers(yes):
    found, chance = _of_yes(yes, 1000.0, 1.0)
    ends = np.array([-GRID, GRID])
    center = ends @ [1 - chance, chance]
    deviation = math.sqrt(((ends - center) ** 2) @ [1 - chance, chance])
    assert (found.center, found.deviation) == pytest.approx((center, deviation)) and chance == yes / 1000
    assert found.tail == pytest.approx(np.abs(ends - center).max() / deviation)


@pytest.mark.parametrize("yes", [0.1, 0.3, 0.5, 0.7])
def test_answers_of_no_and_yes_begin_where_their_residuals_lie(yes):
    """At the chance of yes and at what is left of it, in deviations of an answer and units of the standpoint."""
    lengths, rows = Noisy(Rows(), np.zeros((2, len(ANSWER_EDGES))), 1.0), 800.0
    for unit in np.linspace(0.2, 1.0, 9):
        halves = _halves_of_answers(
            SimpleNamespace(rows=rows), SimpleNamespace(mean=yes), SimpleNamespace(deviation=unit), lengths
        )
        for half, part, share in zip(halves, (yes, 1 - yes), (1 - yes, yes), strict=True):
            length = part / (math.sqrt(yes * (1 - yes)) * unit)
            assert half.start == min(int((length > ANSWER_EDGES).sum()), len(ANSWER_EDGES) - 3)
            assert half.rows == rows * share


def standing(plan, slopes, *, noise=1.0, correlation=0.3, left=0.25, tail=4.0):
    """Where the first Gram leads, of columns of mean square one with the same correlations, and a response of these slopes."""
    facts = facts_of(plan)
    width, rows = facts.width, facts.rows
    own = Standard(
        columns=tuple(column.place for column in facts.columns),
        centers=(0.0,) * (width - 1),
        factors=(1.0,) * (width - 1),
        response_center=0.0,
        response_factor=1.0,
        intercept=True,
    )
    none, ones = np.zeros(width), np.ones(width)
    scales = SimpleNamespace(
        standard=lambda facts: own,
        tail=tail,
        long_tail=tail,
        shortness=none,
        relative=ones,
        count_noise=none,
        mean=0.3,
        dispersion=1.0,
    )
    gram = rows * (correlation + (1 - correlation) * np.eye(width))
    gram[0, 1:] = gram[1:, 0] = 0.0  # a constant, and centered columns
    products = gram @ slopes
    walk = start(facts, scales)
    ((query, _),) = next(walk)
    sums = np.block([[gram, products[:, None]], [products[None], np.full((1, 1), slopes @ products + left * rows)]])
    sums[-1] *= query.response_scale
    sums[:, -1] *= query.response_scale
    with pytest.raises(StopIteration) as end:
        walk.send((Noisy(query, sums, noise * math.sqrt(2)),))
    return facts, query.response_scale, end.value.value


def test_a_start_without_noise_to_speak_of_is_least_squares():
    plan = plan_of(rows=10_000)
    slopes = np.linspace(-0.3, 0.4, facts_of(plan).width)
    _, _, here = standing(plan, slopes)
    assert here.center == pytest.approx(slopes, abs=1e-3)
    assert here.deviation == pytest.approx(0.5, rel=1e-3)


def test_a_start_in_noise_shrinks_correlations_and_slopes():
    """By the variance of a usual correlation over what noise adds to it; slopes by three variances of their products."""
    plan, rows = plan_of(rows=10_000), 10_000
    slopes = np.linspace(-0.3, 0.4, facts_of(plan).width)
    _, scale, here = standing(plan, slopes, noise=0.1 * rows)
    assert here.spread[1, 2] == pytest.approx(0.3 * USUAL_CORRELATION**2 / (USUAL_CORRELATION**2 + 0.1**2))
    _, _, loud = standing(plan, slopes, noise=0.5 * scale * rows, correlation=0.0)
    assert loud.center * (1 + 3 * 0.5**2) == pytest.approx(loud.matrix @ loud.matrix.T @ slopes, abs=1e-3)


def test_what_a_start_knows_of_residuals_is_drawn_to_nine_tenths_of_the_response_by_noise():
    plan, rows = plan_of(rows=10_000), 10_000
    slopes = np.linspace(-0.3, 0.4, facts_of(plan).width)
    deviations = []
    for noise in (1e-9, 0.05, 0.1, 0.3, 3.0):
        _, scale, here = standing(plan, slopes, noise=noise * rows, correlation=0.0)
        missed = here.center - slopes
        seen = math.log(missed @ missed + 0.25)
        error = 2 * (noise * math.sqrt(2) / scale**2) ** 2
        expected = (seen * 0.3**2 + math.log(0.9) * error) / (0.3**2 + error)
        assert 2 * math.log(here.deviation) == pytest.approx(expected, abs=0.01)
        deviations.append(here.deviation)
    assert deviations[0] == pytest.approx(0.5) and deviations[-1] == pytest.approx(math.sqrt(0.9), rel=0.02)


def test_a_start_of_few_rows_goes_three_deviations_at_most():
    few, many = plan_of(rows=300), plan_of(rows=10_000)
    while facts_of(few).nu >= 12:
        few = dataclasses.replace(few, rows=few.rows / 2)
    width = facts_of(few).width
    for length, plan, limit in ((2.0, few, 2.0), (9.0, few, 3.0), (9.0, many, 9.0)):
        slopes = np.full(width, length / math.sqrt(width))
        _, _, here = standing(plan, slopes, noise=1e-6, correlation=0.0)
        assert np.linalg.norm(here.center) == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize(("tail", "number", "answer"), [(2.0, 3.0, 3.0), (4.0, 4.0, 4.0), (9.0, 6.0, 9.0)])
def test_a_response_is_clipped_at_its_tail_from_three_deviations_to_six_of_a_number(tail, number, answer):
    scales = SimpleNamespace(tail=tail, mean=2.0, response_deviation=1.5)
    scales.long_tail = Scales.long_tail.fget(scales)
    for response, expected in (("number", number), ("open number", number), ("yes or no", answer)):
        assert _response_top(SimpleNamespace(family="gaussian", response=response), scales) == expected
    counts = SimpleNamespace(family="poisson", response="number")
    assert _response_top(counts, scales) == 2.0 + max(tail, 3.0) * 1.5
    assert _response_top(SimpleNamespace(family="binomial", response="yes or no"), scales) == 1.0


def looked(made, mu=MU):
    """What the first looks at a table make of its columns, and what is known before them."""
    facts, answers = facts_of(dataclasses.replace(plan_for(made), mu=mu)), Answers(made, np.random.default_rng(9))
    walk = look(facts)
    ask = next(walk)
    with pytest.raises(StopIteration) as end:
        while True:
            ask = walk.send(answers.answer(ask))
    return facts, end.value.value


def test_counts_that_vary_more_than_poissons_are_known_to_and_none_less():
    """Seven tenths of what is seen, for noise makes a deviation longer."""
    study, frame, *_ = counts(10_000, 10.0, dispersion=4.0, kinds=["normal"])(np.random.default_rng(3))
    _, far = looked(table_of("far", study, frame, "poisson"))
    assert far.dispersion == pytest.approx(0.7 * far.response_deviation**2 / far.mean) and far.dispersion > 10
    study, frame, *_ = counts(10_000, 10.0, dispersion=0.0, kinds=["normal"])(np.random.default_rng(3))
    assert 1 <= looked(table_of("near", study, frame, "poisson"))[1].dispersion < 2


@pytest.mark.parametrize("others", [0, 3])
def test_a_rare_dummy_is_no_longer_than_its_share_of_a_row(others):
    """Its scale is at least its unit over the root of its share of what a row may have, whichever others there are."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"x{k}": rng.normal(0, 1, ROWS) for k in range(others)})
    frame["k"] = np.where(rng.random(ROWS) < 0.03, "b", "a")
    frame["y"] = (frame["k"] == "b") + rng.normal(0, 1, ROWS)
    numbers = [Numeric(f"x{k}", -5, 5) for k in range(others)]
    study = Study(Numeric("y", -6, 6), [*numbers, Categorical("k", ["a", "b"])], intercept="none")
    facts, scales = looked(table_of("rare", study, frame), 0.5)
    share = min(max(facts.row_length - 1, 1.0), 3.0) * (others + 1)
    assert scales.scales[-1] == pytest.approx(GRID / math.sqrt(share)) and facts.width == others + 1


def test_a_share_that_is_explained_is_as_unsure_as_its_sample(monkeypatch):
    """Nearly without noise and doubt: the deviation of R^2 in samples is 2 R (1 - R^2) over the root of n."""
    for doubt in ("STEP_DOUBT", "TAIL_DOUBT", "FAR_DOUBT"):
        monkeypatch.setattr(f"dpselect.release.rounds.intervals.{doubt}", 0.0)
    made = table("gaussian", np.random.default_rng(5))
    share = release(made, 30.0, np.random.default_rng(6)).r_squared
    sample = 2 * math.sqrt(share.value) * (1 - share.value) / math.sqrt(ROWS)
    assert (share.upper - share.lower) / 2 == pytest.approx(1.96 * sample, rel=0.1)
