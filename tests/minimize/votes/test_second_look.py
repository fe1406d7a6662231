"""Votes of the second look: by least squares on ranks, of a block's own rows alone, whatever is looked at beside them."""

from itertools import combinations

import numpy as np
import pytest

from dpselect import DataError, Numeric, Study
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.wide_rule import DUAL_ROWS, SecondLook, WideRule
from dpselect.gather.dealing import NOWHERE
from dpselect.gather.rows import gather
from dpselect.gather.wide_rows import WideSummary
from dpselect.minimize.votes import edges
from dpselect.minimize.votes.second_look import LONGEST, LookedVotes, look_again, rank_sums
from tests.claims.test_margin_range import Fixed

DEALINGS, FIRST = 2, 4


def a_rule(blocks, dealings=DEALINGS):
    second = SecondLook(blocks=blocks, partitions=dealings, threshold=9, floor=3, leaders=2, sets=9, top=3)
    return WideRule(size=DUAL_ROWS, blocks=3, partitions=FIRST, threshold=9, price=1.0, crowd=3, second=second)


def a_study(p):
    return Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)])


def looked(X, y, dealt, blocks):
    """The votes of rows that are dealt as stated."""
    rule = a_rule(blocks, len(dealt))
    first = Fixed(np.zeros((FIRST, len(y)), np.uint32))
    return look_again(
        gather((X, y), a_study(X.shape[1]), WideSummary(a_study(X.shape[1]), rule, None, first, Fixed(dealt))), rule
    )


def leads(votes, columns, swept, last, sweeps=4):
    """The leads of some columns, of one a term, beside places of them."""
    return votes.beside([(1 + column,) for column in columns], sweeps).leads(swept, last)


def tables(rng, n, p):
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.choice([0, 1e6], p)
    X[:, ::3] = rng.random((n, len(range(0, p, 3)))) < 0.3
    return X, X[:, 1] * 1e3 + rng.normal(size=n)


@pytest.fixture
def in_order(monkeypatch):
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Fixed` needs


def test_votes_are_signs_of_partial_rank_covariances(in_order):
    """Without ties: the sign of what is left of a column's and the response's ranks after least squares on the set's."""
    rng = np.random.default_rng(3)
    n, p, blocks = 180, 5, 12
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    y = X[:, 0] + rng.normal(size=n)
    dealt = np.stack([rng.permutation(n) % blocks for _ in range(DEALINGS)])
    votes = looked(X, y, dealt, blocks)
    for size in (1, 2, 3):
        for chosen in combinations(range(p), size):
            found = leads(votes, range(p), chosen[:-1], chosen[-1:])[0]
            expected = np.zeros(p)
            for one in dealt:
                for block in range(blocks):
                    own = one == block
                    ranks = np.column_stack([X[own], y[own]]).argsort(0).argsort(0).astype(float)
                    ranks -= ranks.mean(0)
                    basis = ranks[:, chosen]
                    left = ranks - basis @ np.linalg.lstsq(basis, ranks, rcond=None)[0]
                    expected += np.sign(left[:, :-1].T @ left[:, -1])
            expected[list(chosen)] = 0
            assert (found == expected * WHOLE_VOTE * FIRST / DEALINGS).all()


def test_sums_are_whole_and_about_the_mean():
    rng = np.random.default_rng(4)
    sums = rank_sums(rng.integers(0, 4, (7, 9, 3)).astype(float))
    assert (sums == np.rint(sums)).all() and sums.shape == (10 + 3, 7)
    assert (sums[0] == 9).all() and (sums[1:4] == 0).all()


def test_a_block_speaks_for_its_own_rows_alone_bit_by_bit(in_order):
    """All other rows replaced, all rows in another order, blocks counted alone, other columns beside: the same votes."""
    rng = np.random.default_rng(17)
    n, p, blocks = 96, 9, 6
    X, y = tables(rng, n, p)
    dealt = rng.permutation(np.arange(n) % blocks)[None]
    mine = np.flatnonzero(dealt[0] == 3)
    alone = np.where(dealt == 3, dealt, NOWHERE)
    columns, swept, last = (0, 1, 4, 5, 7), (0, 2), (3, 4)
    votes = leads(looked(X, y, alone, blocks), columns, swept, last)
    assert np.abs(votes).max() >= WHOLE_VOTE
    other, other_y = tables(rng, n, p)
    other, other_y = other * 1e20, other_y * 1e-9
    other[mine], other_y[mine] = X[mine], y[mine]
    assert (leads(looked(other, other_y, alone, blocks), columns, swept, last) == votes).all()
    order = rng.permutation(n)
    assert (leads(looked(X[order], y[order], alone[:, order], blocks), columns, swept, last) == votes).all()
    # With all other columns beside them, whose places differ.
    every = leads(looked(X, y, alone, blocks), range(p), (0, 4), (5, 7), sweeps=9)
    assert (every[:, columns] == votes).all()
    # Each set by itself.
    assert (leads(looked(X, y, alone, blocks), columns, swept, last[:1])[0] == votes[0]).all()
    each = [np.where(dealt == block, dealt, NOWHERE) for block in range(blocks)]
    total = sum(leads(looked(X, y, one, blocks), columns, swept, last) for one in each)
    assert (leads(looked(X, y, dealt, blocks), columns, swept, last) == total).all()


def test_the_twins_agree(in_order, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = tables(rng, 120, 6)
    votes = looked(X, y, np.stack([rng.integers(0, 9, 120) for _ in range(DEALINGS)]), 9)
    found = leads(votes, range(6), (1, 2), (3, 5))
    monkeypatch.setattr(edges, "is_compiled", lambda: False)
    assert (leads(votes, range(6), (1, 2), (3, 5)) == found).all()
    assert np.abs(found).max() > 0


def test_of_a_long_block_the_first_rows_by_their_digests_count(in_order):
    rng = np.random.default_rng(6)
    n = LONGEST + 40
    X, y = tables(rng, n, 4)
    votes = looked(X, y, np.zeros((1, n), np.uint32), 1)
    found = leads(votes, range(4), (), (1,))
    rows = votes.rows
    first = LookedVotes(
        votes.leads,
        type(rows)(rows.cells[:LONGEST], rows.response[:LONGEST], rows.dealt, rows.again[:, :LONGEST], *_public(rows)),
        votes.rule,
    )
    assert (leads(first, range(4), (), (1,)) == found).all()


def _public(rows):
    return rows.size, rows.blocks, rows.columns, rows.study


def test_rows_of_another_rule_are_refused(in_order):
    rng = np.random.default_rng(7)
    X, y = tables(rng, 40, 3)
    votes = looked(X, y, rng.integers(0, 4, (DEALINGS, 40)), 4)
    with pytest.raises(DataError, match="another rule"):
        look_again(votes.rows, a_rule(4, 4))
    assert "private" in repr(votes)
