"""The range of the scores of block votes is 4T: by brute force over neighbouring tables, attained and never exceeded."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.lemmas.margins import margin_range
from dpselect.assume.models.candidates import SubsetRule, all_subsets
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.gather.block_table import gather_blocks
from dpselect.minimize.votes import count_votes
from dpselect.penalize.margins import Margins

HOSTILE = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.0, 1.0, -1.0, 1e9)


class Fixed:
    """An assigner that puts row i of the table into the stated block of each partition."""

    def __init__(self, places):
        self.places, self.row = np.asarray(places, dtype=np.int32), 0

    def draw(self, cells, rows):
        self.row += rows
        return self.places[:, self.row - rows : self.row]


def scores_of_counts(above, below, threshold, step=Fraction(0)):
    agreement = np.abs(above - below)
    rule = SubsetRule(len(agreement), tuple(1 << j for j in range(len(agreement))), empty=True)
    return Margins(agreement, threshold, step, rule, 1.0).scores().values


def spread(here, there):
    change = there - here
    return change.max() - change.min()


def test_the_range_is_never_exceeded_and_is_attained():
    """100,000 pairs of counts, each as far apart as one block of each partition can make them."""
    rng = np.random.default_rng(1818)
    worst = {}
    for _ in range(100_000 // 50):
        partitions, blocks, columns = rng.integers(1, 4), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        votes = rng.integers(-1, 2, (50, partitions, blocks, columns))
        changed = votes.copy()
        changed[:, :, 0, :] = rng.integers(-1, 2, (50, partitions, columns))
        threshold = int(rng.integers(0, partitions * blocks + 1))
        for one, other in zip(votes, changed, strict=True):
            values = [
                scores_of_counts((each > 0).sum(axis=(0, 1)), (each < 0).sum(axis=(0, 1)), threshold)
                for each in (one, other)
            ]
            found = spread(*values)
            assert found <= margin_range(int(partitions))
            worst[int(partitions)] = max(worst.get(int(partitions), 0), found)
    assert worst == {partitions: margin_range(partitions) for partitions in (1, 2, 3)}


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("relation", ["replace", "add", "person"])
def test_one_row_or_one_person_moves_the_scores_of_the_program_by_no_more(bounded, relation):
    """Through gather and minimize: hostile cells, fewer rows than columns, empty blocks, whole persons."""
    rng = np.random.default_rng(7)
    bounds = (-2, 2) if bounded else ()
    study = Assumptions(
        Numeric("y", *bounds), [Numeric(name, *bounds) for name in "abc"], missing="zero-row", radius=None
    )
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
            sums, _ = gather_blocks((each[:, :3], each[:, 3]), study, blocks, partitions, assigner=Fixed(where))
            votes = count_votes(sums, dead_zone=0.5, ridge=0.1)
            values.append(scores_of_counts(votes.above[1:], votes.below[1:], 6))
        assert spread(*values) <= margin_range(partitions)


def test_a_price_and_a_limit_move_nothing():
    rng = np.random.default_rng(3)
    for _ in range(200):
        above, below = rng.integers(0, 9, (2, 4))
        step = Fraction(int(rng.integers(0, 2**24)), 2**20)
        rule = SubsetRule(4, (1, 2, 4, 8), max_size=2, empty=True)
        plain, priced = (
            Margins(np.abs(above - below), 4, each, rule, 2.0).scores().values for each in (Fraction(0), step)
        )
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
