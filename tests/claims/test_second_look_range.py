"""The range of the scores with a second look is 4T votes: by brute force over neighbouring tables, attained, never exceeded."""

from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, second_look_range
from dpselect.assume.wide_rule import DUAL_ROWS, SecondLook, WideRule
from dpselect.gather.rows import gather
from dpselect.gather.wide_rows import WideSummary
from dpselect.minimize.votes.edges import prepare, set_votes
from dpselect.minimize.votes.lanes import EXACT_SQUARES
from dpselect.minimize.votes.second_look import look_again, rank_sums
from dpselect.minimize.votes.wide import blocks_by_size
from dpselect.penalize.second_look import LookedMargins
from tests.claims.test_margin_range import Fixed, spread
from tests.claims.test_wide_range import COLUMNS, _each_block, a_study, hostile_tables
from tests.penalize.test_second_look import members

FIRST, AGAIN = 2, 1
"""Dealings of both looks."""
SETS = [chosen for size in range(1, COLUMNS + 1) for chosen in combinations(range(COLUMNS), size)]
CANDIDATES = SubsetRule(1 + COLUMNS, tuple(2 << column for column in range(COLUMNS)), always=1)
MOST = 2 * WHOLE_VOTE * FIRST


def a_rule(blocks, threshold=3, bar=3, floor=2, leaders=1, sets=1, top=COLUMNS):
    second = SecondLook(
        blocks=blocks, partitions=AGAIN, threshold=bar, floor=floor, leaders=leaders, sets=sets, top=top
    )
    return WideRule(
        size=DUAL_ROWS, blocks=blocks, partitions=FIRST, threshold=threshold, price=1.0, crowd=1, second=second
    )


def ways():
    """All four; without the thorough ones two, in which every two settings meet."""
    for bounded, relation in product([True, False], ["replace", "add"]):
        marks = () if bounded ^ (relation == "add") else pytest.mark.thorough
        yield pytest.param(bounded, relation, marks=marks, id=f"{relation}-{bounded}")


@pytest.mark.parametrize(("bounded", "relation"), list(ways()))
def test_hostile_pairs(bounded, relation, monkeypatch):
    """20,000 pairs through gather, votes and scores, four ways: all pairs in one reading, a few blocks of their own each."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Fixed` needs
    rng = np.random.default_rng([43, bounded, relation == "add"])
    pairs, blocks, longest = 5_000, 2, 14
    study, rule = a_study(bounded), a_rule(blocks * pairs)
    first, again = (
        rng.integers(0, blocks, (dealings, pairs, longest)) + blocks * np.arange(pairs)[:, None]
        for dealings in (FIRST, AGAIN)
    )
    leads = []
    for number, tables in enumerate(hostile_tables(rng, pairs, longest)):
        there = np.ones((pairs, longest), bool)
        there[:, -1] = relation == "replace" or number == 0
        source = tables[there][:, :COLUMNS], tables[there][:, COLUMNS]
        dealt = Fixed(first[:, there]), Fixed(again[:, there])
        rows = gather(source, study, WideSummary(study, rule, None, *dealt))
        alone = sum(_each_block(rows, each, DUAL_ROWS, blocks * pairs) for each in rows.dealt)
        beside = sum(_beside(rows, each, blocks * pairs) for each in rows.again) * (FIRST // AGAIN)
        # The program adds up what is taken apart here.
        votes = look_again(rows, rule)
        assert (votes.leads[1:] == alone.sum(axis=0)).all()
        found = votes.beside([(1 + column,) for column in range(COLUMNS)], COLUMNS)
        for place, chosen in enumerate(SETS):
            assert (found.leads(chosen[:-1], chosen[-1:])[0] == beside[place].sum(axis=0)).all()
        every = np.concatenate([alone[None], beside])
        leads.append(every.reshape(1 + len(SETS), pairs, blocks, COLUMNS).sum(axis=2).transpose(1, 0, 2))
    moved = [np.abs(leads[0] - leads[1])[:, part].max() for part in (slice(0, 1), slice(1, None))]
    assert max(moved) <= MOST
    if relation == "replace":
        assert moved == [MOST, MOST]
    found = max(
        _change(rng, one, other, number % 2 > 0) for number, (one, other) in enumerate(zip(*leads, strict=True))
    )
    assert found <= second_look_range(FIRST)
    if relation == "replace":
        assert found == second_look_range(FIRST)


def _beside(rows, dealt, blocks):
    """The votes of every block beside every set: (sets, blocks, columns)."""
    found = np.zeros((len(SETS), blocks, COLUMNS), np.int64)
    values = np.concatenate([rows.cells.astype(float), rows.response[:, None]], axis=1)
    with np.errstate(all="ignore"):
        for places in blocks_by_size(dealt):
            sums = rank_sums(values[places])
            ready = prepare(sums, np.zeros_like(sums), COLUMNS + 2, EXACT_SQUARES, 0.0, (0, COLUMNS))
            votes = [each for size in range(1, COLUMNS + 1) for each in set_votes(ready, [[0], [1], [2]], [], size)]
            found[:, dealt[places[:, 0]]] = np.stack(votes).transpose(0, 2, 1)
    return found


def _change(rng, one, other, directions):
    """The range of the change of all scores from one table's leads to the other's, by thresholds among them."""
    top = int(np.abs(one).max()) if rng.random() < 0.5 else int(rng.integers(0, MOST))
    threshold = max(top // int(rng.integers(1, 3)), 1)
    floor = int(rng.integers(1, threshold + 1)) if rng.random() < 0.5 else threshold
    rule = a_rule(
        2,
        threshold=threshold,
        bar=floor + int(rng.integers(1, WHOLE_VOTE)),
        floor=floor,
        leaders=int(rng.integers(1, COLUMNS)),
        sets=int(rng.integers(1, 4)),
        top=int(rng.integers(1, COLUMNS + 1)),
    )
    here, there = (_scores(each, rule, directions) for each in (one, other))
    every = list(here)
    return spread(*(np.array([each[candidate] for candidate in every]) for each in (here, there)))


class Stated:
    """Leads of one table, as the score asks for them."""

    def __init__(self, leads, rule):
        self.every, self.rule = leads, rule
        self.leads = np.concatenate([[0], leads[0]])

    def beside(self, terms, sweeps):
        """As `LookedVotes.beside`."""
        columns = [column - 1 for (column,) in terms]

        def look(swept, last):
            places = [1 + SETS.index(tuple(sorted(columns[each] for each in (*swept, one)))) for one in last]
            return self.every[places][:, columns]

        return SimpleNamespace(leads=look)


def _scores(leads, rule, directions):
    """{candidate: score} of all of them."""
    margins = LookedMargins(Stated(leads, rule), CANDIDATES, Fraction(0), directions, 1.0)
    return {
        candidate: score
        for each, score in zip(members(margins), margins.classes.margins.tolist(), strict=True)
        for candidate in each
    }
