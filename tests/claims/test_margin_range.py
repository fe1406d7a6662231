"""The range of the scores of block votes is 4T votes: by brute force over neighbouring tables, attained and never exceeded."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dpselect.assume.candidates import SubsetRule, all_subsets
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, margin_range
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.rows import gather
from dpselect.minimize.votes.votes import block_votes, count_votes
from dpselect.penalize.margins import Margins

HOSTILE = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.0, 1.0, -1.0, 1e9)


class Fixed:
    """An assigner that puts row i of the table into the stated block of each partition."""

    def __init__(self, places):
        self.places, self.row = np.asarray(places, dtype=np.int32), 0

    def draw(self, cells, rows):
        self.row += rows
        return self.places[:, self.row - rows : self.row]


def scores_of_leads(leads, threshold, step=Fraction(0)):
    return Margins(np.asarray(leads), threshold, step, all_sets(len(leads)), 1.0).scores().values


@cache
def all_sets(width):
    return all_subsets(width, empty=True)


def spread(here, there):
    change = there - here
    return change.max() - change.min()


def test_the_range_is_never_exceeded_and_is_attained():
    """20,000 pairs of votes, each as far apart as one block of each partition can make them."""
    rng = np.random.default_rng(1818)
    worst = {}
    extremes = np.array([-WHOLE_VOTE, WHOLE_VOTE])
    for _ in range(20_000 // 50):
        partitions, blocks, columns = rng.integers(1, 4), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        votes = rng.integers(-WHOLE_VOTE, WHOLE_VOTE + 1, (50, partitions, blocks, columns))
        changed = votes.copy()
        if rng.random() < 0.5:
            votes[:, :, 0, :] = rng.choice(extremes, (50, partitions, columns))
        changed[:, :, 0, :] = rng.choice(extremes, (50, partitions, columns))
        threshold = int(rng.integers(0, partitions * blocks * WHOLE_VOTE + 1))
        for one, other in zip(votes, changed, strict=True):
            # On a threshold that one of the leads has, which is where one model gains what another loses.
            here = int(np.abs(one.sum(axis=(0, 1)))[0]) if rng.random() < 0.5 else threshold
            found = spread(*(scores_of_leads(each.sum(axis=(0, 1)), here) for each in (one, other)))
            assert found <= margin_range(int(partitions))
            worst[int(partitions)] = max(worst.get(int(partitions), 0), found)
    assert worst == {partitions: margin_range(partitions) for partitions in (1, 2, 3)}


PAIRS, LONGEST, BLOCKS, PARTITIONS = 20_000, 14, 2, 2


def hostile_pairs(rng, relation):
    """Tables (pairs, rows, 4) as they are and as a neighbour has them, the row that differs last, and which rows there are."""
    shape = (PAIRS, LONGEST, 4)
    kind = rng.integers(0, 4, (PAIRS, 1, 1))
    rare, few = (rng.random(shape) < 0.25) * 1.0, rng.integers(-2, 3, shape) * 1.0
    tables = np.choose(kind, [rare, few, np.exp(2 * rng.normal(size=shape)), rng.normal(size=shape)])
    tables[..., 3] += rng.choice([0.0, 3.0, 1e4], (PAIRS, 1)) * tables[..., 0]
    tables[rng.random(PAIRS) < 0.3, :, 1:3] = 1.0  # columns that say nothing
    tables = np.where(rng.random(shape) < 0.02, rng.choice(HOSTILE, shape), tables)
    there = np.arange(LONGEST) >= rng.integers(0, LONGEST - 1, (PAIRS, 1))  # fewer rows than columns among them
    sizes = 10.0 ** rng.integers(-3, 7, (PAIRS, 4))
    row = np.where(rng.random((PAIRS, 1)) < 0.5, rng.choice(HOSTILE, (PAIRS, 4)), rng.normal(size=(PAIRS, 4)) * sizes)
    row[:, 1:3] = np.where(rng.random((PAIRS, 1)) < 0.5, 1.0, row[:, 1:3])
    others, there_too = tables.copy(), there.copy()
    others[:, -1] = row
    if relation == "add":
        there_too[:, -1] = False
    return (tables, there), (others, there_too)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("relation", ["replace", "add"])
def test_twenty_thousand_hostile_pairs(bounded, relation, monkeypatch):
    """Through gather and minimize, all pairs in one reading: the range is reached, and never exceeded."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Fixed` needs
    rng = np.random.default_rng([18, bounded, relation == "add"])
    bounds = (-50, 50) if bounded else ()
    study = Study(Numeric("y", *bounds), [Numeric(name, *bounds) for name in "abc"], missing="zero-row", radius=None)
    places = rng.integers(0, BLOCKS, (PARTITIONS, PAIRS, LONGEST)) + BLOCKS * np.arange(PAIRS)[:, None]
    votes, leads = [], []
    for tables, there in hostile_pairs(rng, relation):
        source = tables[there][:, :3], tables[there][:, 3]
        sums = gather(source, study, BlockSummary(study, BLOCKS * PAIRS, PARTITIONS, Fixed(places[:, there])))
        votes.append(block_votes(sums, ridge=0.1)[..., 1:].astype(int).reshape(PARTITIONS, PAIRS, BLOCKS, 3))
        leads.append(votes[-1].sum(axis=(0, 2)))
    assert max(np.abs(each).max() for each in votes) == WHOLE_VOTE
    # One block of each partition at most, and no lead by more than two votes for each.
    assert (votes[0] != votes[1]).any(axis=3).sum(axis=2).max() == 1
    assert np.abs(leads[0] - leads[1]).max() == 2 * WHOLE_VOTE * PARTITIONS
    threshold = np.where(rng.random(PAIRS) < 0.5, np.abs(leads[0]).max(axis=1), rng.integers(0, 3 * WHOLE_VOTE, PAIRS))
    change = _all_scores(leads[1], threshold) - _all_scores(leads[0], threshold)
    assert np.abs(change).max() == margin_range(PARTITIONS) // 2
    assert (change.max(axis=0) - change.min(axis=0)).max() == margin_range(PARTITIONS)


def _all_scores(leads, threshold):
    """The score of each set of three terms, (sets, pairs), by the definition."""
    margins = np.abs(leads) - threshold[:, None]
    inside = np.array(list(product([False, True], repeat=3)))
    return np.where(inside[:, None, :], margins, -margins).min(axis=2)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("relation", ["replace", "add", "person"])
def test_one_row_or_one_person_moves_the_scores_of_the_program_by_no_more(bounded, relation):
    """Through gather and minimize: hostile cells, fewer rows than columns, empty blocks, whole persons."""
    rng = np.random.default_rng(7)
    bounds = (-2, 2) if bounded else ()
    study = Study(Numeric("y", *bounds), [Numeric(name, *bounds) for name in "abc"], missing="zero-row", radius=None)
    partitions, blocks = 3, 4
    for _ in range(150):
        rows, several = int(rng.integers(1, 30)), 3 if relation == "person" else 1
        table = rng.normal(size=(rows + several, 4))
        table[rng.random(table.shape) < 0.05] = rng.choice(HOSTILE)
        places = rng.integers(0, blocks, (partitions, rows + several))
        places[:, rows:] = places[:, rows : rows + 1]  # the person's rows, or the one row, go together
        other = table.copy()
        other[rows:] = rng.choice(HOSTILE, (several, 4)) if rng.random() < 0.5 else rng.normal(size=(several, 4)) * 1e6
        if relation == "add":
            other, other_places = table[:rows], places[:, :rows]
        else:
            other_places = places
        values = []
        for each, where in ((table, places), (other, other_places)):
            sums = gather((each[:, :3], each[:, 3]), study, BlockSummary(study, blocks, partitions, Fixed(where)))
            values.append(scores_of_leads(count_votes(sums, ridge=0.1).leads[1:], 6 * WHOLE_VOTE))
        assert spread(*values) <= margin_range(partitions)


def test_a_price_and_a_limit_move_nothing():
    rng = np.random.default_rng(3)
    for _ in range(200):
        leads = rng.integers(-9, 9, 4)
        step = Fraction(int(rng.integers(0, 2**24)), 2**20)
        rule = SubsetRule(4, (1, 2, 4, 8), max_size=2, empty=True)
        plain, priced = (Margins(leads, 4, each, rule, 2.0).scores().values for each in (Fraction(0), step))
        sizes = rule.sizes()
        assert (priced == plain + float(step) * sizes).all()
        assert math.isfinite(priced.sum())


def test_every_score_is_the_definition():
    """Against the definition, written out set by set."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        width, threshold = int(rng.integers(1, 6)), int(rng.integers(0, 12))
        agreement = rng.integers(0, 12, width)
        values = Margins(agreement, threshold, Fraction(0), all_subsets(width, empty=True), 2.0).scores().values
        for mask, value in enumerate(values):
            inside = [agreement[j] - threshold for j in range(width) if mask >> j & 1]
            outside = [threshold - agreement[j] for j in range(width) if not mask >> j & 1]
            assert -value == min(inside + outside)
