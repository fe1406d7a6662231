"""Public. How edge votes are held: every model is judged by regressions and blocks of its own size.

For every set S of k terms and every term outside it, blocks of about `size_k` rows fit the response and the term on S and vote on
what is left of their covariance (`minimize.votes.edges`). A model of two terms need not pay for the degrees of freedom of twelve
columns: on short tables that is half of what a price can buy. All numbers here are functions of public facts; a wrong number of
rows costs quality, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import combinations
from operator import and_

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of, mask_of, vote_units
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, edge_range
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import (
    BYTES_A_SUM,
    BYTES_FOR_SUMS,
    FEWEST_PARTITIONS,
    HIGHEST_BAR,
    LARGEST_BLOCK,
    SMALLEST_BLOCK,
    affordable_rows,
    expected_nats,
    largest_size,
    lead_deviation,
    pays_for_directions,
    require_facts,
    usual_terms,
)
from dpselect.errors import StudyError

MAX_SETS = 6000
"""Sets of terms whose regressions are run, at most."""
MAX_TERMS = 16
MAX_EDGE_PARTITIONS = 16
MAX_DEALT = 50_000_000
"""Rows that are dealt, all dealings of all families together: a longer table has blocks that can afford to fit all terms."""
MAX_WORK = 3e10
"""Numbers that are swept, at most: some ten seconds of one core."""
MAX_LABELS = 10_000_000
"""Labels of equal blocks that are kept in memory, 4 bytes each; longer tables have blocks so large that equal ones gain nothing."""


class EdgeRule(Public, frozen=True, kw_only=True, tag_field="blocks_fit", tag="each set of terms"):
    """The numbers that edge votes need before a row is read, one of each for sets of k = 0 .. top terms.

    In each of `partitions` dealings of family k every row goes to one of `blocks[k]` blocks; the families are dealt by themselves.
    `ridges[k]` steadies a small block's fit of S; `thresholds[k]`, in 64ths of a vote, is what a term's lead beside a set of k
    terms is held against, over all partitions; `price` is what each term costs, in nats.
    """

    blocks: tuple[int, ...]
    ridges: tuple[float, ...]
    thresholds: tuple[int, ...]
    partitions: int
    price: float

    def __post_init__(self) -> None:
        lengths = {len(self.blocks), len(self.ridges), len(self.thresholds)}
        if len(lengths) != 1 or lengths == {0}:
            raise StudyError("A rule for edge votes needs blocks, a ridge and a threshold for each size of set.")
        if not all(1 <= value < 2**31 for value in (*self.blocks, *self.thresholds, self.partitions)):
            raise StudyError("Blocks, thresholds and partitions of a rule for edge votes must be whole numbers from 1.")
        if not all(0 <= value <= 1e6 for value in (*self.ridges, self.price)):
            raise StudyError("Ridges and the price of a rule for edge votes must be between 0 and 1e6.")

    @property
    def range(self) -> int:
        """What the choice pays for, in 64ths of a vote."""
        return edge_range(self.partitions)

    @property
    def top(self) -> int:
        """Terms that a model may have."""
        return len(self.blocks) - 1


def edge_rule(rows: int, columns: int, terms: int, epsilon: float, forced: int = 0) -> EdgeRule | None:
    """The rule for `rows` rows and `terms` terms of `columns` columns together, beside `forced` columns that every model has.

    None where whole-model blocks (`vote_rule`) are as good, or serve because this would take too long: too many terms for all
    their sets, in a table so long that its blocks can afford to fit them all. An intercept is in every fit and not counted.
    """
    require_facts(rows, columns, terms, epsilon)
    if not (columns >= terms and forced >= 0):
        raise StudyError(f"There is no rule for {columns} columns of {terms} terms beside {forced} that are always in.")
    price, nats = expected_nats(terms)
    affordable = affordable_rows(rows, nats, epsilon)
    top = largest_sets(terms)
    if top < terms and (terms > MAX_TERMS or affordable > 5 * top):
        return None
    short = min(max((8 - affordable) / 5, 0.0), 1.0)  # 1 in tables that are very short for their price
    # The intercept, the set, and the column that is voted on.
    fitted = [2 + forced + k * columns / terms for k in range(top + 1)]
    sizes = _sizes(rows, fitted, affordable)
    partitions = min(max(round(400 / math.sqrt(rows)), FEWEST_PARTITIONS), MAX_EDGE_PARTITIONS)
    sizes, partitions = _within_memory(rows, columns + forced, sizes, partitions)
    blocks = [max(1, int(rows / size)) for size in sizes]
    work = sum(math.comb(terms, k) * block for k, block in enumerate(blocks)) * partitions * (columns + forced + 1) ** 2
    if rows * partitions * len(blocks) > MAX_DEALT or work > MAX_WORK:
        return None
    deviations = [
        idle_deviation(block, size, need, partitions) for block, size, need in zip(blocks, sizes, fitted, strict=True)
    ]
    usual = [threshold(rows, deviation, (3 - short) * nats, epsilon) for deviation in deviations]
    strict = _strictness(rows, epsilon * usual[few_terms(terms, top)] / 4)
    bars = [
        max(bar, (1 + 0.12 * strict) * against_chance(rows, deviation))
        for bar, deviation in zip(usual, deviations, strict=True)
    ]
    bars[0] *= _alone(rows, terms)
    # What a ridge leaves of a strong column adds up as the rows do, and the bar as their root: none where rows are no longer dear,
    # and most where a choice is close to a lottery anyway.
    dear = min(max((10 - affordable) / 2, 0.0), 1.0)
    spare = (2.25 + 5.25 * dear) * min(max((2.1 - rows_a_column(affordable)) / 0.6, 0.0), 1.0)
    # A block uses (1 - q)^16 of it, and where nothing is explained q is about 1/size by chance: that much is given back.
    return EdgeRule(
        blocks=tuple(blocks),
        ridges=tuple(spare / size / (1 - 1 / size) ** 16 for size in sizes),
        thresholds=tuple(min(max(1, round(bar * partitions * WHOLE_VOTE)), HIGHEST_BAR) for bar in bars),
        partitions=partitions,
        price=price + 0.7 * short + 0.3 * strict,
    )


def edge_rule_for(study: Study, candidates: Candidates, rows: int, epsilon: float) -> EdgeRule | None:
    """The rule for these candidates of a study; None where whole-model blocks serve.

    They do for an intercept that competes, which no block can centre by, and where no candidate has as few terms as are judged.
    """
    terms = voted_terms(candidates)
    if study.intercept == "candidate" or not terms:
        return None
    forced = [column for column in columns_of(common_columns(candidates)) if study.columns[column].factors]
    rule = edge_rule(rows, sum(map(len, terms)), len(terms), epsilon, len(forced))
    if rule is None:
        return None
    some = any(set_mask(candidates, terms, each) in candidates for each in all_sets(len(terms), rule.top))
    return rule if some else None


def listed_sets(candidates: Candidates, rule: EdgeRule) -> list[int]:
    """The places, among all sets of at most `top` terms, of those that are candidates."""
    terms = voted_terms(candidates)
    sets = all_sets(len(terms), rule.top)
    if isinstance(candidates, SubsetRule) and candidates.is_free and len(terms) == len(candidates.terms):
        return list(range(len(sets)))
    return [place for place, each in enumerate(sets) if set_mask(candidates, terms, each) in candidates]


@lru_cache(8)
def all_sets(terms: int, top: int) -> tuple[int, ...]:
    """All sets of at most `top` terms as masks, by their size and then in the order of their terms."""
    single = [1 << term for term in range(terms)]
    return tuple(sum(each) for k in range(top + 1) for each in combinations(single, k))


def voted_terms(candidates: Candidates) -> tuple[tuple[int, ...], ...]:
    """The columns of each term that is voted on."""
    return tuple(columns_of(unit) for unit in vote_units(candidates))


def common_columns(candidates: Candidates) -> int:
    """The columns that every candidate has, as a mask."""
    if isinstance(candidates, SubsetRule):
        return candidates.always
    return reduce(and_, candidates)


def set_mask(candidates: Candidates, terms: Sequence[Sequence[int]], chosen: int) -> int:
    """The columns of a set of terms, with those that every candidate has."""
    return common_columns(candidates) | mask_of([column for term in columns_of(chosen) for column in terms[term]])


def largest_sets(terms: int) -> int:
    """The largest number of terms such that all sets of at most so many can be listed."""
    total = 0
    for size in range(terms + 1):
        total += math.comb(terms, size)
        if total > MAX_SETS:
            return size - 1
    return terms


def rows_a_column(affordable: float) -> float:
    """Rows of a block for each column it fits, from one on.

    Blocks grow faster than the root of the table. What is left of a vote's bias, beside strong skewed columns, falls as the root of
    the block: the sum over n/b blocks, n/b^1.5, must fall behind the bar, which is as the root of n/b. With b as the root of n it
    stayed at half the bar at any length.
    """
    return max(1.35 * math.pow(affordable / 18.6, 0.7), 1.0)


def _sizes(rows: int, fitted: list[float], affordable: float) -> list[float]:
    """Rows of a block of each family. Pairs where nothing is fitted and rows are dear: they see two thirds of what ranks see."""
    per_column = rows_a_column(affordable)
    most = min(max(largest_size(rows), SMALLEST_BLOCK), LARGEST_BLOCK)
    return [min(2.0 if need == 2 and per_column < 1.6 else per_column * need, most) for need in fitted]


def _within_memory(rows: int, columns: int, sizes: list[float], partitions: int) -> tuple[list[float], int]:
    """Fewer partitions first, then larger blocks, so that the sums of all families fit."""
    sums = (columns + 2) * (columns + 3) // 2 + columns + 1  # products of (1, x, y), and cubes
    room = BYTES_FOR_SUMS / (BYTES_A_SUM * sums)
    blocks = sum(rows / size for size in sizes)
    partitions = max(min(partitions, int(room / blocks)), min(partitions, FEWEST_PARTITIONS))
    grow = max(blocks * partitions / room, 1.0)
    return [min(size * grow, float(LARGEST_BLOCK)) for size in sizes], partitions


def idle_deviation(blocks: int, size: float, fitted: float, partitions: int) -> float:
    """The standard deviation of an idle column's lead, in votes a dealing; blocks of so many rows fit so many columns.

    It has the sample's part, which all dealings share, and what few dealings add to it; fitting leaves a share of the first.
    """
    sample = 0.64 * size / (size + fitted)  # 2/pi: signs of normal numbers
    return lead_deviation(blocks, sample, partitions)


def threshold(rows: int, deviation: float, blurred: float, epsilon: float) -> float:
    """What a lead is held against, in votes a dealing: above chance, as BIC is, and above what the private choice blurs.

    The blur's bar is up to 1.12 times as high in tables of 5,000 rows or more: a long table at a low price can afford it, and what
    it would else find by chance, or in the place of an effect that is not found, looks surer than it is (`benchmarks.null`).
    """
    higher = 1 + 0.12 * min(max(math.log(rows / 1000) / math.log(5), 0.0), 1.0)
    return max(against_chance(rows, deviation), higher * (deviation / 2 + (blurred + 0.9) / epsilon))


def against_chance(rows: int, deviation: float) -> float:
    """The bar that an idle column's lead passes about as seldom as BIC takes such a column."""
    return 1.05 * math.sqrt(math.log(max(rows, 2))) * deviation


def _alone(rows: int, terms: int) -> float:
    """How much higher the bar of a column by itself is than beside others, in long tables: up to 1.6 times.

    A column that goes along with several effects leads by more than each of them, though beside them it says nothing. Where they
    are too weak to be found together, it would be selected in their place; with this the empty model is. No model of two terms or
    more is held to this bar. An effect that is the only one must be stronger for it: so not below 2,000 rows, where it cost one of
    18 real tables most of what was found, and not where there are no two effects and a third column (`benchmarks.null`).
    """
    return 1 + 0.6 * _longness(rows) if terms > 2 else 1.0


def _longness(rows: int) -> float:
    """From 0 at 2,000 rows to 1 at 5,000: shorter tables need all their power."""
    return min(max(math.log(rows / 2000) / math.log(2.5), 0.0), 1.0)


def _strictness(rows: int, bought: float) -> float:
    """How much stricter the rule is, from 0 to 1, for a long table whose bar buys few nats.

    Where an effect lies at the bar, the models with it and without it score about 0. What then keeps all others away is their
    price, and the `bought` nats by which a lead of 0 falls short of the bar: at 20,000 rows and epsilon .35 seven of them left .2
    idle columns beside rare effects. Ten are enough; tables of 2,000 rows or less need all their power (`benchmarks.null`).
    """
    return _longness(rows) * min(max((10 - bought) / 3, 0.0), 1.0)


def few_terms(terms: int, top: int) -> int:
    """About how many terms are to be found: what a bar is worth is looked at beside so many."""
    return min(round(usual_terms(terms)), top)


def equal_blocks(rule: EdgeRule, rows: int) -> bool:
    """Whether rows are dealt into equal blocks, where their number is public: as long as the labels fit in memory."""
    return rows * rule.partitions * len(rule.blocks) <= MAX_LABELS


def clear_edge_directions(rule: EdgeRule, widths: Sequence[int], epsilon: float) -> bool:
    """Whether directions cost the choice nothing: beside as many terms as are to be found a lead of the threshold pays for them.

    Measured on 27 real tables at two prices: where this says yes, what is kept of R^2 is the same with and without directions, to
    .004.
    """
    bar = rule.thresholds[few_terms(len(widths), rule.top)]
    return pays_for_directions(bar, rule.range, widths, epsilon)
