"""Edge votes: right, the same from C and NumPy, and each block's own affair."""

from itertools import combinations, product

import numpy as np
import pytest

from dpselect.assume.candidates import CandidateList, SubsetRule
from dpselect.assume.edge_rule import EdgeRule
from dpselect.errors import DataError
from dpselect.minimize.votes import edges as module
from dpselect.minimize.votes.edges import count_edges
from tests.minimize.votes.test_votes import skewed, sums_of, table

compiled = pytest.mark.skipif(module._edges is None, reason="the C kernel was not built here")
BACKENDS = [pytest.param("c", marks=compiled), "numpy"]
GRID = 2**20


def rule_of(blocks, ridge=0.0):
    sizes = len(blocks)
    return EdgeRule(blocks=tuple(blocks), ridges=(ridge,) * sizes, thresholds=(64,) * sizes, partitions=1, price=0.0)


def families_of(rows, ids, *, whole, intercept="always"):
    """One dealing of the rows for each size of set."""
    return [sums_of(rows, own, int(own.max()) + 1, whole=whole, intercept=intercept) for own in ids]


def deal(rng, rows, blocks):
    """Blocks of random sizes, the last of which is not empty."""
    own = rng.integers(0, blocks, rows)
    own[0] = blocks - 1
    return own


def terms_of(groups, intercept="always", always=()):
    """Candidates over columns x1.. of the study, an intercept before them."""
    offset = int(intercept == "always")
    masks = tuple(sum(1 << column + offset for column in group) for group in groups)
    width = offset + sum(map(len, groups)) + len(always)
    return SubsetRule(width, masks, offset | sum(1 << column + offset for column in always), empty=True)


def plain_votes(rows, inside, ridge, intercept):
    """One block's votes beside the columns `inside`, by least squares on residuals and NumPy's exponential."""
    x, y = rows[:, :-1].astype(float), rows[:, -1].astype(float)
    n, centred = len(y), intercept != "none"
    if n < 1 + centred:
        return np.zeros(x.shape[1], int)
    if centred:
        x, y = x - x.mean(axis=0), y - y.mean()
    size, length = np.sqrt((x**2).sum(axis=0)), np.sqrt(y @ y)
    live = size > 1e-9 * np.abs(rows[:, :-1]).max(axis=0, initial=1e-300)
    if not length > 1e-9 * np.abs(rows[:, -1]).max():
        return np.zeros(x.shape[1], int)
    z, u = np.where(live, x / np.where(live, size, 1), 0), y / length
    own = ridge * (1 - np.sqrt(((z.T @ u) ** 4).sum() / max(live.sum(), 1))) ** 16
    G = np.column_stack([z, u]).T @ np.column_stack([z, u])
    for column in inside:
        if G[column, column] > 1e-9:
            G = G - np.outer(G[:, column], G[column]) / (G[column, column] + own)
            G[column, :] = G[:, column] = 0
    swept, base = sum(live[column] for column in inside), n - centred
    kappa = 1.4 * (z**3).sum(axis=0) * (u**3).sum() * max(1 - swept / n, 0) ** 1.5
    kappa = kappa * (n * np.sqrt(base) / (base - 1) if base > 1 else 0)
    c = 1.5 * np.minimum(1, np.abs(kappa))
    mu = -0.133 * kappa * np.exp(-(c**2) / 2) * (1 + 0.6 * kappa**2 / (1 + kappa**2)) / (1 + kappa**2 * c**1.4 / 8.76)
    mu = np.where(c < 0.02, 0, mu)
    left, diagonal = G[:-1, -1], np.diag(G)
    counts = (diagonal[:-1] > 1e-9) & (diagonal[-1] > 1e-9) & ~np.isin(np.arange(len(size)), inside)
    statistic = left / np.sqrt(np.where(counts, diagonal[:-1] * diagonal[-1], 1) / max(base - swept, 0.5))
    soft = (np.where(c < 0.02, np.sign(left), np.clip(statistic / np.maximum(c, 0.02), -1, 1)) - mu) / (1 + np.abs(mu))
    return np.where(counts, np.rint(64 * soft), 0).astype(int)


def settings():
    """All sixteen; without the thorough ones eight, in which every three settings meet."""
    for whole, intercept, ridge, make in product([True, False], ["always", "none"], [0.0, 0.8], [table, skewed]):
        usual = whole ^ (intercept == "none") ^ (ridge > 0) ^ (make is skewed)
        marks = () if usual else pytest.mark.thorough
        yield pytest.param(
            whole, intercept, ridge, make, marks=marks, id=f"{make.__name__}-{ridge}-{intercept}-{whole}"
        )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("whole", "intercept", "ridge", "make"), list(settings()))
def test_leads_are_the_votes_that_the_formulas_give(backend, whole, intercept, ridge, make):
    """Beside every set of four terms, one of them of two columns, in blocks of 5 to 60 rows; x5 is in every model."""
    rows, rng = make(4, 600, 6, whole=whole), np.random.default_rng(2)
    groups = ((0,), (1, 3), (2,), (4,))
    blocks = (120, 60, 30, 20, 10)
    ids = [deal(rng, 600, count) for count in blocks]
    families = families_of(rows, ids, whole=whole, intercept=intercept)
    found = count_edges(families, rule_of(blocks, ridge), terms_of(groups, intercept, (5,)), backend=backend)
    offset = int(intercept == "always")
    assert found.sets.tolist() == [sum(1 << t for t in each) for k in range(5) for each in combinations(range(4), k)]
    for chosen, leads in zip(found.sets.tolist(), found.leads, strict=True):
        size = chosen.bit_count()
        inside = [5, *(column for t in range(4) if chosen >> t & 1 for column in groups[t])]
        own = [rows[ids[size] == block] for block in range(blocks[size])]
        expected = np.sum([plain_votes(each, inside, ridge, intercept) for each in own], axis=0)
        # Where what is left is zero but for rounding its sign is anything's guess, and halves of a 64th are.
        assert np.abs(leads[offset:] - expected).max() <= 2 + (not offset) * 128
        assert not leads[[column + offset for column in inside]].any()


def twins():
    """All twenty; without the thorough ones, of many columns each setting once."""
    for columns, intercept, whole in product([1, 2, 3, 5, 7], ["always", "none"], [True, False]):
        usual = columns < 5 or (whole == (intercept == "always") == (columns == 7))
        marks = () if usual else pytest.mark.thorough
        yield pytest.param(columns, intercept, whole, marks=marks, id=f"{columns}-{intercept}-{whole}")


@compiled
@pytest.mark.parametrize(("columns", "intercept", "whole"), list(twins()))
def test_twins_agree_on_every_lead(columns, whole, intercept):
    rng = np.random.default_rng(columns)
    for rows in (table(columns, 300, columns, whole=whole), skewed(columns, 300, columns, whole=whole)):
        groups = (
            [(0, columns - 1), *((j,) for j in range(1, columns - 1))]
            if columns > 2
            else [(j,) for j in range(columns)]
        )
        blocks = [(3, 130, 50, 9, 21, 60, 2)[k] for k in range(len(groups) + 1)]
        ids = [deal(rng, 300, count) for count in blocks]
        families = families_of(rows, ids, whole=whole, intercept=intercept)
        for ridge in (0.0, 1.5):
            both = [
                count_edges(
                    families, rule_of(blocks, ridge), terms_of(groups, intercept), backend=each, threads=threads
                )
                for each, threads in (("c", 1), ("numpy", 1), ("c", 3), ("numpy", 2))
            ]
            for other in both[1:]:
                np.testing.assert_array_equal(both[0].leads, other.leads)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_block_does_not_see_the_others(backend, whole):
    """Each block alone votes as it does among the others, in whichever lane it is: leads are sums of what each says alone."""
    rows, rng = skewed(6, 400, 5, whole=whole), np.random.default_rng(0)
    rows[:40] = rows[0]  # blocks of rows that are all alike, and columns that are constant in some
    blocks, groups = (23, 19, 11, 7), ((0,), (1, 2), (3,), (4,))
    ids = [deal(rng, 400, count) for count in blocks]
    candidates = terms_of(groups)
    together = count_edges(families_of(rows, ids, whole=whole), rule_of(blocks, 0.5), candidates, backend=backend)
    alone = np.zeros_like(together.leads)
    for size, count in enumerate(blocks):
        for block in range(count):
            some = rows[ids[size] == block]
            own = [sums_of(some, np.zeros(len(some)), 1, whole=whole) for _ in blocks]
            found = count_edges(own, rule_of((1,) * len(blocks), 0.5), candidates, backend=backend)
            judged = np.bitwise_count(found.sets) == size
            alone[judged] += found.leads[judged]
    np.testing.assert_array_equal(alone, together.leads)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_in_which_everything_is_strange_changes_nothing_else(backend):
    """Cells of 1e75 beside 1e-75, too few rows, columns that are the same: to the last bit, the other blocks vote as before."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(90, 4))
    strange = rows.copy()
    strange[:20] = rng.choice([1e75, -1e75, 1e-75, 0.0], (20, 4))
    ids = np.concatenate([np.zeros(20), np.arange(70) % 6 + 1]).astype(int)
    groups, leads = ((0,), (1,), (2,)), []
    for each in (rows, strange, rows[20:]):
        own = ids[-len(each) :]
        families = [sums_of(each, own, 7, whole=False) for _ in range(4)]
        leads.append(count_edges(families, rule_of((7,) * 4), terms_of(groups), backend=backend).leads)
    alone = [
        count_edges(
            [sums_of(each, np.zeros(20), 1, whole=False)] * 4, rule_of((1,) * 4), terms_of(groups), backend=backend
        )
        for each in (rows[:20], strange[:20])
    ]
    np.testing.assert_array_equal(leads[0] - alone[0].leads, leads[2])
    np.testing.assert_array_equal(leads[1] - alone[1].leads, leads[2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_columns_that_say_the_same_share_nothing_and_break_nothing(backend):
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    rows = np.column_stack([x, x, rng.normal(size=300), x + rng.normal(size=300) * 0.1])
    families = families_of(rows, [np.arange(300) % 10] * 4, whole=False)
    found = count_edges(families, rule_of((10,) * 4), terms_of(((0,), (1,), (2,))), backend=backend)
    leads = dict(zip(found.sets.tolist(), found.leads[:, 1:].tolist(), strict=True))
    assert leads[0][0] == leads[0][1] == 640  # each by itself is sure
    assert leads[1][1] == leads[2][0] == 0  # and has nothing to add to the other


def test_models_named_one_by_one_are_judged_by_the_columns_that_tell_them_apart():
    rows = table(4, 200, 3, whole=True, dummies=False)
    families = families_of(rows, [np.arange(200) % 8] * 3, whole=True)
    listed = CandidateList(4, (0b0011, 0b0111, 0b1011))  # the intercept and x0 in all of them
    found = count_edges(families, rule_of((8,) * 3), listed)
    assert found.terms == ((2,), (3,))
    wanted = count_edges(families, rule_of((8,) * 3), terms_of(((1,), (2,)), always=(0,)))
    np.testing.assert_array_equal(found.leads, wanted.leads)


def test_sums_of_another_rule_and_an_intercept_that_competes_are_refused():
    rows = table(4, 60, 2, whole=True)
    families = families_of(rows, [np.arange(60) % 4] * 3, whole=True)
    with pytest.raises(DataError, match="another rule"):
        count_edges(families, rule_of((4, 4, 5)), terms_of(((0,), (1,))))
    families = families_of(rows, [np.arange(60) % 4] * 3, whole=True, intercept="candidate")
    with pytest.raises(DataError, match="intercept"):
        count_edges(families, rule_of((4,) * 3), terms_of(((0,), (1,))))


@compiled
def test_arrays_that_do_not_fit_are_refused():
    good = [np.zeros((3, 3, 5)), np.zeros(5), *(np.zeros((3, 2, 5)) for _ in range(3))]
    columns = [np.array([0, 1], np.int32), np.array([0, 1, 2], np.int32), np.array([], np.int32)]
    module._edges.add_leads(*good, *columns, np.zeros((2, 2), np.int64), 1, 2, 0)
    wrong = {
        0: np.zeros((3, 2, 5)),
        1: np.zeros(4),
        2: np.zeros((3, 2, 4)),
        5: np.array([0, 0], np.int32),
        6: np.array([0, 0, 2], np.int32),
        7: np.array([1], np.int32),
        8: np.zeros((3, 2), np.int64),
    }
    for place, array in wrong.items():
        arrays = [*good, *columns, np.zeros((2, 2), np.int64)]
        arrays[place] = array
        with pytest.raises(ValueError, match="fit together"):
            module._edges.add_leads(*arrays, 1, 2, 0)
    for numbers in ((1, 2, 1), (1, 3, 0), (1, -1, 0), (1, 2, -1), (1, 0, 2), (3, 2, 0)):
        with pytest.raises(ValueError, match="fit together"):
            module._edges.add_leads(*good, *columns, np.zeros((2, 2), np.int64), *numbers)
    with pytest.raises(ValueError, match="fit together"):
        module._edges.add_leads(*good, *columns, np.zeros((1, 2), np.int64), 3, 2, 0)


def test_nothing_private_is_printed():
    rows = table(4, 60, 2, whole=True)
    found = count_edges(
        families_of(rows, [np.arange(60) % 4] * 3, whole=True), rule_of((4,) * 3), terms_of(((0,), (1,)))
    )
    assert repr(found) == "EdgeLeads(sets=4, values=<private>)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_idle_column_beside_a_strong_one_leans_little_though_all_are_skewed(backend):
    """By the skewness that a block shows by itself the mean vote would be -.04 (signs: -.12); it is -.02.

    A mean of 24,000 votes has a deviation of .005: 1.6 of them to the bound, from either side.
    """
    rng, blocks, size = np.random.default_rng(3), 8000, 13
    x = rng.gamma(0.5, 1.0, (blocks * size, 4))
    y = x[:, 0] + 0.5 * rng.gamma(0.5, 1.0, len(x))
    rows, ids = np.column_stack([x, y]), np.repeat(np.arange(blocks), size)[None]
    family = families_of(rows, ids, whole=False)
    leads = count_edges(2 * family, rule_of([blocks, blocks]), terms_of([[0], [1], [2], [3]]), backend=backend)
    beside = leads.leads[list(leads.sets).index(1)]
    assert abs(beside[2:].mean()) / (64 * blocks) < 0.028
