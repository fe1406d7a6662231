"""The range of the scores of edge votes is 4T votes: by brute force over neighbouring tables, attained and never exceeded."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.candidates import candidates_for
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, edge_range
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.blocks import BlockSummary, lanes_of
from dpselect.gather.rows import gather
from dpselect.gather.summary import Several
from dpselect.minimize.votes.edges import count_edges, prepare, set_votes
from dpselect.minimize.votes.lanes import EXACT_SQUARES, ROUNDED_SQUARES
from dpselect.penalize.edges import edge_margins
from dpselect.rehearse.chances.scores import log_selection_probabilities
from tests.claims.test_margin_range import HOSTILE, Fixed
from tests.penalize.test_edges import listed

PAIRS, LONGEST, BLOCKS, PARTITIONS, TERMS = 12_000, 14, 2, 2, 3
LEVELS = ["u", "v", "w"]
COLUMNS = ((1,), (2,), (3, 4))
"""Of the intercept, a, b, and two dummies of the category c."""
RIDGE = 0.4
EPSILON = 0.7
ROWS_A_PERSON = 4


def a_study(bounded):
    bounds = (-50, 50) if bounded else ()
    predictors = [Numeric("a", *bounds), Numeric("b", *bounds), Categorical("c", LEVELS)]
    return Study(Numeric("y", *bounds), predictors, missing="zero-row", radius=None)


def as_table(numbers, levels):
    cells = {name: numbers[..., place].ravel() for place, name in enumerate("aby")}
    return pa.table(cells | {"c": pa.array([LEVELS[each] if each < 3 else None for each in levels.ravel()])})


def hostile_pairs(rng, relation):
    """Tables as they are and as a neighbour has them, what differs last: numbers, levels, and which rows there are."""
    shape = (PAIRS, LONGEST, 3)
    rare, few = (rng.random(shape) < 0.25) * 1.0, rng.integers(-2, 3, shape) * 1.0
    kind = rng.integers(0, 4, (PAIRS, 1, 1))
    numbers = np.choose(kind, [rare, few, np.exp(2 * rng.normal(size=shape)), rng.normal(size=shape)])
    numbers[..., 2] += rng.choice([0.0, 3.0, 1e4], (PAIRS, 1)) * numbers[..., 0]
    silent = rng.random(PAIRS) < 0.4  # b and c say nothing
    numbers[silent, :, 1] = 1.0
    numbers = np.where(rng.random(shape) < 0.02, rng.choice(HOSTILE, shape), numbers)
    levels = rng.integers(0, 3, (PAIRS, LONGEST)) * ~silent[:, None]
    there = np.arange(LONGEST) >= rng.integers(0, LONGEST - 1, (PAIRS, 1))  # fewer rows than columns among them
    others, other_levels, there_too = numbers.copy(), levels.copy(), there.copy()
    several = ROWS_A_PERSON if relation == "person" else 1
    for row in range(LONGEST - several, LONGEST):
        sizes = 10.0 ** rng.integers(-3, 7, (PAIRS, 3))
        usual = rng.normal(size=(PAIRS, 3)) * sizes
        others[:, row] = np.where(rng.random((PAIRS, 1)) < 0.5, rng.choice(HOSTILE, (PAIRS, 3)), usual)
        other_levels[:, row] = rng.integers(0, 4, PAIRS)  # a cell that is missing among them
        still = silent & (rng.random(PAIRS) < 0.5)
        others[still, row, 1], other_levels[still, row] = 1.0, 0
    if relation == "person":  # who may have fewer rows in the other table, or none
        there_too[:, -several:] = rng.random((PAIRS, several)) < rng.choice([0.0, 0.5, 1.0], (PAIRS, 1))
    if relation == "add":  # the strange row, to the table without it
        there_too[:, -1] = False
        return (others, other_levels, there), (others, other_levels, there_too)
    return (numbers, levels, there), (others, other_levels, there_too)


def leads_of_pairs(sums, size):
    """The lead of each column beside each set of `size` terms in the dealings of its own pair: {set: (columns, pairs)}."""
    exact = hasattr(sums.sums, "table")
    table = sums.sums.table if exact else sums.sums.slices
    flat = table.reshape(-1, *table.shape[2:])
    least = EXACT_SQUARES if exact else ROUNDED_SQUARES
    blocks = prepare(*lanes_of(flat, sums.width), sums.width, least, RIDGE, (0, 4))
    own = [[column - 1 for column in term] for term in COLUMNS]
    sets = [sum(1 << term for term in each) for each in combinations(range(TERMS), size)]
    leads = {}
    for chosen, votes in zip(sets, set_votes(blocks, own, (), size), strict=True):
        assert np.abs(votes).max() <= WHOLE_VOTE
        leads[chosen] = votes.reshape(4, PARTITIONS, PAIRS, BLOCKS).sum(axis=(1, 3))
    return leads


def all_margins(leads, bars):
    """By the definition, for all models and then for all models with directions: (candidates, pairs)."""
    own = [[column - 1 for column in term] for term in COLUMNS]
    plain, directed = [], []
    for chosen in range(1 << TERMS):
        size = chosen.bit_count()
        outside = [bars[size] - np.abs(leads[chosen][own[j]]).max(axis=0) for j in range(TERMS) if not chosen >> j & 1]
        inside = [j for j in range(TERMS) if chosen >> j & 1]
        beside = {j: leads[chosen ^ 1 << j][own[j]] for j in inside}
        each = [np.abs(beside[j]).max(axis=0) - bars[size - 1] for j in inside]
        plain.append(np.min([*outside, *each], axis=0))
        options = [[sign * line - bars[size - 1] for sign in (1, -1) for line in beside[j]] for j in inside]
        directed += [np.min([*outside, *option], axis=0) for option in product(*options)]
    return np.array(plain), np.array(directed)


@pytest.mark.parametrize(
    ("bounded", "relation"),
    [
        (False, "replace"),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in ((False, "person"), (True, "person"), (True, "replace"), (False, "add"), (True, "add"))
        ),
    ],
)
def test_twelve_thousand_hostile_pairs(bounded, relation, monkeypatch):
    """Through gather and minimize, all pairs in one reading: the range is reached, and never exceeded.

    By one row, or by a person whose rows sit in one block of each dealing; by models, and by models with a direction for one
    column of each term, the category's two dummies among them.
    """
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Fixed` needs
    rng = np.random.default_rng([24, bounded, ["replace", "add", "person"].index(relation)])
    study = a_study(bounded)
    places = rng.integers(0, BLOCKS, (TERMS + 1, PARTITIONS, PAIRS, LONGEST)) + BLOCKS * np.arange(PAIRS)[:, None]
    if relation == "person":
        places[..., -ROWS_A_PERSON:] = places[..., -1:]
    leads, rule = [], rule_of(BLOCKS * PAIRS)
    for numbers, levels, there in hostile_pairs(rng, relation):
        dealers = [Fixed(own[:, there]) for own in places]
        summary = Several(BlockSummary(study, BLOCKS * PAIRS, PARTITIONS, each) for each in dealers)
        families = gather(as_table(numbers[there], levels[there]), study, summary)
        leads.append({})
        for size, sums in enumerate(families):
            leads[-1] |= leads_of_pairs(sums, size)
        # The compiled votes are these, added up over all pairs.
        counted = count_edges(families, rule, candidates_for(study))
        for chosen, lead in zip(counted.sets.tolist(), counted.leads, strict=True):
            np.testing.assert_array_equal(lead[1:], leads[-1][chosen].sum(axis=1))
    moved = max(np.abs(leads[1][chosen] - leads[0][chosen]).max() for chosen in leads[0])
    assert moved == 2 * WHOLE_VOTE * PARTITIONS
    bars = rng.integers(0, 6 * WHOLE_VOTE, (TERMS + 1, PAIRS))
    for here, there in zip(all_margins(leads[0], bars), all_margins(leads[1], bars), strict=True):
        change = there - here
        assert np.abs(change).max() == edge_range(PARTITIONS) // 2
        assert (change.max(axis=0) - change.min(axis=0)).max() == edge_range(PARTITIONS)


def rule_of(blocks, bars=(64,) * (TERMS + 1)):
    sizes = TERMS + 1
    return EdgeRule(
        blocks=(blocks,) * sizes, ridges=(RIDGE,) * sizes, thresholds=tuple(bars), partitions=PARTITIONS, price=0.3
    )


def program_margins(study, rule, numbers, levels, places, directions):
    dealers = [Fixed(own) for own in places]
    summary = Several(BlockSummary(study, rule.blocks[0], PARTITIONS, each) for each in dealers)
    candidates = candidates_for(study)
    leads = count_edges(gather(as_table(numbers, levels), study, summary), rule, candidates)
    return edge_margins(leads, rule, candidates, Fraction(7, 4), directions=directions)


@pytest.mark.parametrize(
    ("bounded", "relation"),
    [
        (True, "person"),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in ((False, "add"), (True, "replace"), (False, "replace"), (True, "add"), (False, "person"))
        ),
    ],
)
def test_no_outcome_of_the_program_is_more_than_a_factor_likelier(bounded, relation):
    """Exact laws given the dealings, with and without directions: one row, or a person whose rows go together."""
    rng = np.random.default_rng([25, bounded])
    study, blocks, worst = a_study(bounded), 3, 0.0
    for _ in range(60):
        rows, several = int(rng.integers(2, 24)), 3 if relation == "person" else 1
        numbers, levels = rng.normal(size=(rows + several, 3)), rng.integers(0, 3, rows + several)
        if rng.random() < 0.5:
            numbers = np.exp(numbers) if rng.random() < 0.5 else (numbers > 1.0) * 1.0
        numbers[:, 2] += numbers[:, 0] * rng.choice([0, 3])
        places = rng.integers(0, blocks, (TERMS + 1, PARTITIONS, rows + several))
        places[..., rows:] = places[..., rows : rows + 1]
        others, other_levels = numbers.copy(), levels.copy()
        usual = 30 * rng.normal(size=(several, 3))
        others[rows:] = rng.choice(HOSTILE, (several, 3)) if rng.random() < 0.3 else usual
        other_levels[rows:] = rng.integers(0, 4, several)
        rule = rule_of(blocks, rng.integers(1, WHOLE_VOTE * blocks * PARTITIONS, TERMS + 1).tolist())
        shorter = slice(rows if relation == "add" else None)
        for directions in (False, True):
            here = program_margins(study, rule, numbers, levels, places, directions)
            there = program_margins(
                study, rule, others[shorter], other_levels[shorter], places[..., shorter], directions
            )
            assert here.range == there.range == edge_range(PARTITIONS)
            for mechanism in ("permute-and-flip", "exponential"):
                one, other = (
                    log_selection_probabilities(listed(each), each.range, EPSILON, mechanism) for each in (here, there)
                )
                worst = max(worst, float(np.abs(one - other).max()))
    assert worst <= EPSILON * (1 + 1e-9)
    # The search comes near the limit, so that half the range would have been caught.
    assert worst > EPSILON * 0.5
