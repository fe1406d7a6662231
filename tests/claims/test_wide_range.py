"""The range of the scores of votes in wide tables is 4T votes: by brute force over neighbouring tables, attained, never exceeded.

And what the proof needs: a block's votes are a function of the set of its own rows, bit by bit.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, wide_range
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.assume.wide_rule import DUAL_ROWS, PAIR_ROWS, WideRule
from dpselect.gather.dealing import NOWHERE
from dpselect.gather.rows import gather
from dpselect.gather.wide_rows import WideSummary
from dpselect.minimize.votes.wide import blocks_by_size, count_wide, dual_votes, pair_votes
from dpselect.penalize.margins import Margins
from tests.claims.test_margin_range import HOSTILE, Fixed, all_sets, spread

COLUMNS, PARTITIONS = 3, 2
NAMES = "abc"


def a_rule(size, blocks, partitions=PARTITIONS, **more):
    return WideRule(size=size, blocks=blocks, partitions=partitions, threshold=1, price=1.0, **more)


def a_study(bounded):
    bounds = (-50, 50) if bounded else ()
    return Study(Numeric("y", *bounds), [Numeric(name, *bounds) for name in NAMES], missing="zero-row", radius=None)


def hostile_tables(rng, pairs, longest):
    """Tables (pairs, rows, 4), the row that differs last: of normal, rare, tied, skewed and impossible numbers."""
    shape = (pairs, longest, COLUMNS + 1)
    rare, few = (rng.random(shape) < 0.25) * 1.0, rng.integers(-2, 3, shape) * 1.0
    tables = np.choose(
        rng.integers(0, 4, (pairs, 1, 1)), [rare, few, np.exp(2 * rng.normal(size=shape)), rng.normal(size=shape)]
    )
    tables[..., COLUMNS] += rng.choice([0.0, 3.0, 1e4], (pairs, 1)) * tables[..., 0]
    tables[rng.random(pairs) < 0.2, :, 1:3] = 1.0  # columns that say nothing
    others = tables.copy()
    strange = rng.normal(size=(pairs, COLUMNS + 1)) * 10.0 ** rng.integers(-3, 7, (pairs, COLUMNS + 1))
    others[:, -1] = np.where(rng.random((pairs, 1)) < 0.5, rng.choice(HOSTILE, (pairs, COLUMNS + 1)), strange)
    # Half of the time the same row with the response beyond all others on the other side: it turns whatever can be turned.
    turned = np.flatnonzero(rng.random(pairs) < 0.5)
    tables[turned, -1, COLUMNS], others[turned, -1, :COLUMNS] = 1e6, tables[turned, -1, :COLUMNS]
    others[turned, -1, COLUMNS] = -1e6
    return tables, others


def ways():
    """All eight; without the thorough ones two, of the rows that are replaced: these attain the range."""
    for size, bounded, relation in product([PAIR_ROWS, DUAL_ROWS], [True, False], ["replace", "add"]):
        usual = relation == "replace" and (size == DUAL_ROWS) == bounded
        marks = () if usual else pytest.mark.thorough
        yield pytest.param(size, bounded, relation, marks=marks, id=f"{relation}-{bounded}-{size}")


@pytest.mark.parametrize(("size", "bounded", "relation"), list(ways()))
def test_hostile_pairs(size, bounded, relation, monkeypatch):
    """12,000 pairs through gather and the votes, eight ways: all pairs in one reading, a few blocks of their own each."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Fixed` needs
    rng = np.random.default_rng([41, size, bounded, relation == "add"])
    pairs, blocks, longest = 1_500, 2, 6 if size == PAIR_ROWS else 14
    study = a_study(bounded)
    places = rng.integers(0, blocks, (PARTITIONS, pairs, longest)) + blocks * np.arange(pairs)[:, None]
    votes = []
    for number, tables in enumerate(hostile_tables(rng, pairs, longest)):
        there = np.ones((pairs, longest), bool)
        there[:, -1] = relation == "replace" or number == 0
        source = tables[there][:, :COLUMNS], tables[there][:, COLUMNS]
        rule = a_rule(size, blocks * pairs)
        rows = gather(source, study, WideSummary(study, rule, None, Fixed(places[:, there])))
        votes.append(np.stack([_each_block(rows, dealt, size, blocks * pairs) for dealt in rows.dealt]))
    here, there = (each.reshape(PARTITIONS, pairs, blocks, COLUMNS) for each in votes)
    assert max(np.abs(each).max() for each in votes) == WHOLE_VOTE
    # One block of each partition at most, and no lead by more than two votes for each.
    assert (here != there).any(axis=3).sum(axis=2).max() == 1
    leads = [each.sum(axis=(0, 2)) for each in (here, there)]
    moved = np.abs(leads[0] - leads[1]).max()
    assert moved <= 2 * WHOLE_VOTE * PARTITIONS
    if relation == "replace":
        assert moved == 2 * WHOLE_VOTE * PARTITIONS
    found = 0
    for one, other in zip(*leads, strict=True):
        threshold = int(np.abs(one).max()) if rng.random() < 0.5 else int(rng.integers(0, 2 * WHOLE_VOTE))
        for directions in (False, True):
            found = max(found, spread(*(_scores(each, threshold, directions) for each in (one, other))))
    assert found <= wide_range(PARTITIONS)
    if relation == "replace":
        assert found == wide_range(PARTITIONS)


def _each_block(rows, dealt, size, blocks):
    """The votes of every block."""
    found = np.zeros((blocks, COLUMNS), np.int64)
    count = pair_votes if size == PAIR_ROWS else dual_votes
    with np.errstate(all="ignore"):
        for places in blocks_by_size(dealt):
            found[dealt[places[:, 0]]] = count(rows.cells, rows.response, places)
    return found


def _scores(leads, threshold, directions):
    margins = Margins(np.asarray(leads), threshold, Fraction(0), all_sets(COLUMNS), 1.0, directions, crowd=2)
    if not directions:
        return np.append(-margins.scores().values, float(margins.crowded))
    slots = margins.options()
    return np.array([*(min(option.value for option in each) for each in _every(slots)), int(margins.crowded)])


def _every(slots):
    return [[]] if not slots else [[option, *rest] for option in slots[0] for rest in _every(slots[1:])]


def wide_table(rng, n, p):
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.choice([0, 1e6], p)
    X[:, ::3] = rng.random((n, len(range(0, p, 3)))) < 0.2
    return X, X[:, 1] * 1e3 + rng.normal(size=n)


@pytest.mark.parametrize("size", [PAIR_ROWS, DUAL_ROWS])
def test_a_block_speaks_for_its_own_rows_alone_bit_by_bit(size):
    """All other rows replaced, all rows in another order, blocks counted alone or together: the same votes of a block."""
    rng = np.random.default_rng(17)
    n, p, blocks = 96, 260, 96 // size
    X, y = wide_table(rng, n, p)
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)])
    dealt = rng.permutation(np.arange(n) % blocks)[None]
    mine = np.flatnonzero(dealt[0] == 3)
    rule = a_rule(size, blocks, 1)

    def gathered(X, y, dealt):
        return gather((X, y), study, WideSummary(study, rule, None, Fixed(dealt)))

    def own(rows):
        places = np.flatnonzero(rows.dealt[0] == 3)
        votes = pair_votes if size == PAIR_ROWS else dual_votes
        return votes(rows.cells, rows.response, places[None])[0].astype(int)

    whole = gathered(X, y, dealt)
    votes = own(whole)
    assert np.abs(votes).max() == WHOLE_VOTE
    other, other_y = wide_table(rng, n, p)
    other, other_y = other * 1e20, other_y * 1e-9
    other[mine], other_y[mine] = X[mine], y[mine]
    assert (own(gathered(other, other_y, dealt)) == votes).all()
    order = rng.permutation(n)
    assert (own(gathered(X[order], y[order], dealt[:, order])) == votes).all()
    alone = np.where(dealt == 3, dealt, NOWHERE)
    assert (count_wide(gathered(X, y, alone), rule).leads[1:] == votes).all()
    # And all of them together are the sum of each alone.
    each = [np.where(dealt == block, dealt, NOWHERE) for block in range(blocks)]
    total = sum(count_wide(gathered(X, y, one), rule).leads for one in each)
    assert (count_wide(whole, rule).leads == total).all()
