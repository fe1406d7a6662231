"""The C kernel and its NumPy twin, side by side: the same losses, whatever the threads, the processor and the split."""

import os
import signal
import threading
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from dpselect.assume.candidates import SubsetRule
from dpselect.minimize.losses import lattice_compiled
from dpselect.minimize.losses.lattice import ROUNDED_ONCE, batch_bounds, lattice_losses

pytestmark = pytest.mark.skipif(not lattice_compiled.is_available(), reason="the C kernel was not built here")
GRID = 2.0**20


def table(seed, d, rows=200, shared=0.5):
    rng = np.random.default_rng(seed)
    x = (1 - shared) * rng.uniform(-1, 1, (rows, d)) + shared * rng.uniform(-1, 1, (rows, 1))
    y = np.clip(x @ rng.normal(0, 0.4, d) + rng.normal(0, 0.2, rows), -1, 1)
    rounded = np.round(np.column_stack([x, y]) * GRID) / GRID
    return rounded.T @ rounded


@pytest.mark.parametrize("d", range(12))
@pytest.mark.parametrize("radius", [0.0, 0.05, 0.5, 1.0, 5.0])
def test_twins_agree(d, radius):
    for shared in (0.0, 0.6, 0.95):
        products = table(d, d, shared=shared)
        values, bounds = lattice_losses(products, radius, backend="c")
        twin, twin_bounds = lattice_losses(products, radius, backend="numpy")
        np.testing.assert_allclose(values, twin, rtol=1e-12)
        assert max(bounds.max(), twin_bounds.max()) < 1e-10


@pytest.mark.parametrize("d", [1, 4, 9])
@pytest.mark.parametrize("radius", [0.0, 0.5, 50.0])
def test_twins_agree_on_how_sure_they_are(d, radius):
    """Without coefficients to the last bit that is kept; with them a bound has rounding in it, which differs."""
    products = table(d, d)
    bounds, twin = (lattice_losses(products, radius, backend=backend)[1] for backend in ("c", "numpy"))
    assert (bounds > 0.6 * twin).all() and (bounds < 3 * twin).all()
    if not radius:
        np.testing.assert_allclose(bounds, twin, rtol=1e-6)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_no_loss_is_below_zero_where_rounding_would_make_it_so(backend):
    """A response that its columns explain wholly, whatever its scale."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.integers(-9, 10, (30, 4)) / 8
        rows = np.column_stack([x, x @ rng.integers(-3, 4, 4) / 4])
        values, bounds = lattice_losses(rows.T @ rows, 20.0, backend=backend)
        assert (values >= 0).all() and values[-1] <= bounds[-1]


@pytest.mark.parametrize("d", [1, 4, 5, 9, 11])
def test_a_processor_without_new_instructions_gives_the_same_losses(d):
    products = table(d, d)
    for size in (None, 2):
        plain, _ = lattice_compiled.solve_lattice(products, 0.7, ROUNDED_ONCE, max_size=size, plain=True)
        np.testing.assert_allclose(plain, lattice_losses(products, 0.7, max_size=size)[0], rtol=1e-12)


@pytest.mark.parametrize("radius", [0.3, 1.0, 100.0])
@pytest.mark.parametrize("size", [None, 5])
def test_threads_change_nothing_to_the_last_bit(radius, size):
    products = table(5, 13)
    values, bounds = lattice_losses(products, radius, max_size=size)
    for threads in (2, 3, 7):
        again = lattice_losses(products, radius, max_size=size, threads=threads)
        np.testing.assert_array_equal(again[0], values)
        np.testing.assert_array_equal(again[1], bounds)


@pytest.mark.parametrize(("width", "size"), [(0, 0), (1, 1), (5, 5), (13, 13), (13, 3), (20, 20), (30, 4)])
def test_a_group_waits_for_all_that_it_needs(width, size):
    plan = lattice_compiled.plan_lattice(width, size)
    place = {}
    for group, tops in enumerate(plan.tops.tolist()):
        for top in tops:
            children = [top ^ 1 << j for j in range(width) if top >> j & 1]
            assert all(place[child] < plan.needs[group] for child in children)
        assert plan.needs[group] <= group
        place.update((top, group) for top in tops if top not in place)
    assert sorted(place) == [m << plan.low for m in range(1 << width - plan.low) if m.bit_count() <= size]


@pytest.mark.parametrize(("columns", "size"), [(6, 3), (8, 4), (12, 2), (5, 0), (5, 5)])
def test_each_set_is_a_swap_away_from_the_one_before(columns, size):
    sets = lattice_compiled._revolving_door(columns, size).tolist()
    assert sorted(sets) == [mask for mask in range(1 << columns) if mask.bit_count() == size]
    assert all((left ^ right).bit_count() == 2 for left, right in pairwise(sets))


@pytest.mark.parametrize("strange", [np.nan, -np.inf, np.inf, -1.0])
def test_norms_that_are_no_numbers_leave_nothing_certified(strange):
    for place in range(6):
        products = table(3, 6)
        products[place, place] = strange
        for backend in ("c", "numpy"):
            assert np.isinf(lattice_losses(products, 0.5, backend=backend)[1]).all()


@pytest.mark.parametrize("size", [None, 4])
def test_marks_of_two_words_say_the_same_to_the_last_bit(size, monkeypatch):
    products = table(9, 11)
    narrow = lattice_losses(products, 0.7, max_size=size)
    monkeypatch.setattr(lattice_compiled, "NARROW", 0)
    wide = lattice_losses(products, 0.7, max_size=size)
    for left, right in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(left, right)


def test_batches_of_any_length_agree_with_the_twin():
    tables = np.stack([table(seed, 5, rows=20) for seed in range(9)])
    radii = [0.0, 0.2, 1.0, 50.0]
    for count in range(1, 10):
        values, bounds = batch_bounds(tables[:count], radii, backend="c")
        np.testing.assert_allclose(values, batch_bounds(tables[:count], radii, backend="numpy")[0], rtol=1e-11)
        assert bounds.max() < 1e-8
    np.testing.assert_array_equal(values, batch_bounds(tables, radii, backend="c", threads=3)[0])


@pytest.mark.parametrize(("d", "size"), [(9, 3), (12, 1), (33, 2), (40, 2), (63, 2)])
def test_a_restricted_lattice_has_the_order_of_its_candidates(d, size):
    products = table(d, d, rows=300)
    masks = SubsetRule(d, tuple(1 << j for j in range(d)), max_size=size, empty=True).masks()
    values, _ = lattice_losses(products, 0.8, max_size=size, backend="c")
    twin, _ = lattice_losses(products, 0.8, max_size=size, backend="numpy")
    assert values.shape == masks.shape
    np.testing.assert_allclose(values, twin, rtol=1e-12)
    for place in np.random.default_rng(0).integers(0, masks.size, 20):
        columns = [j for j in range(d) if int(masks[place]) >> j & 1]
        alone, _ = lattice_losses(products[np.ix_([*columns, d], [*columns, d])], 0.8)
        np.testing.assert_allclose(values[place], alone[-1], rtol=1e-12)


def test_forty_columns_taken_four_at_a_time_visit_only_what_is_needed():
    products = table(1, 40, rows=500)
    start = time.thread_time()
    values, bounds = lattice_losses(products, 1.0, max_size=4)
    assert values.size == 102_091
    assert bounds.max() <= 2.0**-22
    assert time.thread_time() - start < 2  # 0.02 s on a quiet machine


def test_a_run_stays_within_24_bytes_a_subset_and_hands_back_16():
    products = table(2, 18)
    lattice_losses(products, 1.0)
    tracemalloc.start()
    try:
        values, bounds = lattice_losses(products, 1.0)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert bounds.max() <= 1e-9
    assert held / values.size < 16.1
    assert peak / values.size < 24


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal, also where these tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_run(threads):
    products = table(3, 22)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            lattice_losses(products, 1.0, threads=threads)


def test_other_threads_run_meanwhile():
    """Of several runs one at least, for a busy machine may give this thread no turn for as long as one takes."""

    def counted_beside_a_run() -> int:
        counted, done = 0, threading.Event()

        def work():
            lattice_losses(table(3, 20), 1.0)
            done.set()

        threading.Thread(target=work).start()
        while not done.wait(0.001):
            counted += 1
        return counted

    assert any(counted_beside_a_run() > 5 for _ in range(50))
