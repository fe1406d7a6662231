"""Public. How votes are held in wide tables: hundreds to 20,000 columns, by blocks of a few rows that are kept as they are.

Each column is voted on by itself in pairs of rows, or beside all others in blocks of eight (`minimize.votes.wide`). That finds what
goes with the response, and cannot always tell them from their companions: columns much like them. Where a table is long enough
the same choice has a second look: the columns that lead are judged once more beside each other, by regressions in larger blocks
(`penalize.second_look`). All numbers here are functions of public facts; a wrong number of rows costs quality, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import force_setattr

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, second_look_range, wide_range
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import (
    HIGHEST_BAR,
    affordable_rows,
    expected_nats,
    lead_deviation,
    require_facts,
    require_whole,
)
from dpselect.errors import StudyError

PAIR_ROWS, DUAL_ROWS = 2, 8
"""Rows of a block."""
ALWAYS_WIDE = 200
"""Columns from which sums of products of all of them are too many for many blocks."""
SOMETIMES_WIDE = 50
"""Columns from which a table may be too short for blocks that fit all of them."""
SHORT_BLOCK = 8
"""Rows: a table that affords fewer a block is too short for blocks that fit all columns. Measured; see docs/VOTES.md."""
SUPPOSED = 5.0
"""Terms that are supposed to matter."""
COMPANION_CORRELATION = 0.16
"""The correlation with the response up to which a column may be a mere companion of others."""
MOST_LEADING = 24
"""Terms that can be told apart, at most: where more of them lead, none is selected (`Margins.crowded`)."""
CROWD_TERMS = 2
"""What that outcome costs, in prices of a term: so much less likely is it where few terms lead."""
KEPT_CELLS = 120_000_000
"""Cells that are kept, 4 bytes each; of a longer table a random part of the rows is."""
PAIR_WORK, DUAL_WORK = 8e8, 3e8
"""Cells that are looked at, all dealings together: seconds of one core."""

LEADERS = 40
"""Terms that have a second look, at most: where more of them lead, none is selected."""
LOOKED_SETS = 1500
"""Sets of one size beside which they are looked at, at most."""
MOST_LOOKED = 12
"""Terms of a model, at most, where there is a second look."""
LOOK_DEALINGS = 4
LOOK_ROWS, ROWS_BY_ROOT = 12, 0.18
"""Rows of a block: at least, and for each root of the number of rows."""
MOST_LOOK_BLOCKS = 1000
"""In a dealing: seconds of one core."""
LOOK_BYTES = 2e8
"""For the blocks of all dealings, whichever columns lead."""
NEGLIGIBLE_COMPANY = 0.08
"""The correlation with the response up to which a column is not looked at again."""
LOOK_SHARE = 0.33
"""Of the blocks, by which a column has to lead beside others in a long table: half of what a strong one has."""
LOOK_DEVIATIONS = 3.25
"""By so many standard deviations an idle column's lead falls short of that at which a set is still looked at."""
ENOUGH_BLOCKS = 0.68
"""Of the blocks, by which a column leads that is there: where more would be needed, there is no second look."""
SPARE_NATS = 6.0


class SecondLook(Public, frozen=True, kw_only=True):
    """The numbers that the second look needs before a row is read.

    In each of `partitions` dealings the rows go to one of `blocks` larger blocks, dealt by themselves. `threshold` is what a lead
    beside a set of terms is held against, and a model is worth at least -`floor` if its terms lead by themselves; both in 64ths
    of a vote over as many dealings as the first look has. At most `leaders` terms are looked at, beside at most `sets` sets of
    each size, and a model has at most `top` terms.
    """

    blocks: int
    partitions: int
    threshold: int
    floor: int
    leaders: int
    sets: int
    top: int

    def __post_init__(self) -> None:
        require_whole(self, self.__struct_fields__, "a second look")
        if not self.floor < self.threshold:
            raise StudyError("The floor of a second look must be less than its threshold.")


class WideRule(Public, frozen=True, kw_only=True, tag_field="blocks_fit", tag="few rows"):
    """The numbers that votes in wide tables need before a row is read.

    In each of `partitions` dealings `share` of the rows, all of them if that is 1, go to one of `blocks` blocks of about `size`
    rows. A block votes from -1 to 1 on each column; `threshold` is in 64ths of a vote, over all dealings, and `price` is what
    each term costs, in nats. Where the lead of the term at the place `crowd` lies above the threshold, nothing is selected. With a
    `second` look the columns that lead are judged once more, beside each other.
    """

    size: int
    blocks: int
    partitions: int
    threshold: int
    price: float
    share: float = 1.0
    crowd: int = 0
    second: SecondLook | None = None

    def __post_init__(self) -> None:
        if self.size not in (PAIR_ROWS, DUAL_ROWS):
            raise StudyError("Blocks of a rule for wide tables have 2 or 8 rows.")
        require_whole(self, ("blocks", "partitions", "threshold"), "a rule for wide tables")
        require_whole(self, ("crowd",), "a rule for wide tables", least=0)
        if not (0 <= self.price <= 1e6 and 0 < self.share <= 1):
            raise StudyError("Price and share of a rule for wide tables must be between 0 and 1e6, and above 0 to 1.")
        if self.second is not None and (
            self.partitions % self.second.partitions or self.second.floor > self.threshold or self.crowd < 1
        ):
            raise StudyError(
                "A second look has dealings of which those of the first are a multiple, a floor up to its threshold, and a crowd."
            )
        force_setattr(self, "price", float(self.price))
        force_setattr(self, "share", float(self.share))

    @property
    def range(self) -> int:
        """What the choice pays for, in 64ths of a vote."""
        return wide_range(self.partitions) if self.second is None else second_look_range(self.partitions)


def is_wide(rows: int, columns: int, terms: int, epsilon: float) -> bool:
    """Whether a table is judged as a wide one: from 200 columns on, and from 50 where it is too short to fit all in a block.

    Tables of fewer terms than the sets of which can be listed are judged by edge votes before this is asked.
    """
    if columns >= ALWAYS_WIDE:
        return True
    return columns >= SOMETIMES_WIDE and affordable_rows(rows, expected_nats(terms)[1], epsilon) < SHORT_BLOCK


def wide_rule(rows: int, columns: int, terms: int, epsilon: float, *, equal: bool = True, again: int = 0) -> WideRule:
    """The rule for so many rows, columns, terms and the price `epsilon`; `equal` where rows are dealt into equal blocks.

    `again` is how many columns the widest term has where a second look is possible (`looks_again`), else 0: it is taken as soon as
    the table is long enough.

    A lead is held against the larger of two. What a column gets for its company: others explain a correlation of .16 with the
    response. And what chance makes of p idle columns, and the choice blurs: above chance the threshold is as far as the price of
    k = 5 terms, so that a choice which cannot tell k strong terms from others finds none, rather than any. The price of a term is
    one nat more than the odds against it ask for, so that where nothing can be told k/e terms are chosen, not k; and up to two
    nats more where company asks for a higher threshold anyway. Dual blocks as soon as it does there, else pairs.
    """
    require_facts(rows, columns, terms, epsilon)
    share = min(KEPT_CELLS / (rows * columns), 1.0)
    used = max(int(rows * share), 1)
    if again and (looked := _second_look(used, share, columns, terms, epsilon, again, equal=equal and share == 1)):
        return looked
    few = min(SUPPOSED, terms / 2)
    odds = math.log(max((terms - few) / few, 1.0))
    for size, work in ((DUAL_ROWS, DUAL_WORK), (PAIR_ROWS, PAIR_WORK)):
        blocks = max(used // size, 1)
        partitions = _dealings(used, columns, work)
        speaking = blocks * speaking_share(size, equal=equal and share == 1)
        company = speaking * mean_vote(COMPANION_CORRELATION, size)
        deviation = lead_deviation(speaking, sample_share(size), partitions)
        chance = deviation * (math.sqrt(2 * math.log(max(columns, 2))) + 0.5)
        affordable = (epsilon * (company - chance) / 2 - 2) / few
        price = odds + min(max(affordable - odds, 1.0), 2.0)
        bar = max(chance + 2 * (few * price + 2) / epsilon, company)
        if affordable >= odds + 1:
            break
    return WideRule(
        size=size,
        blocks=blocks,
        partitions=partitions,
        threshold=min(max(1, math.ceil(min(bar, HIGHEST_BAR) * partitions * WHOLE_VOTE)), HIGHEST_BAR),
        price=price,
        share=share,
        crowd=min(MOST_LEADING, max(terms // 4, 1)),
    )


def _dealings(used: int, columns: int, work: float) -> int:
    return int(min(max(round(60_000 / used), 8), 32, max(work / (used * columns), 4)))


def looks_again(study: Study, models: Candidates) -> int:
    """Whether candidates can have a second look: the columns of their widest term if all sets of enough terms compete, else 0.

    And if nothing is always in but an intercept: a block would have to fit that as well.
    """
    if not isinstance(models, SubsetRule) or not models.is_free:
        return 0
    if any(study.columns[column].factors for column in columns_of(models.always)):
        return 0
    return max(term.bit_count() for term in models.terms) if len(models.terms) > LEADERS else 0


def _second_look(
    used: int, share: float, columns: int, terms: int, epsilon: float, widest: int, *, equal: bool
) -> WideRule | None:
    """The rule with a second look; None where the table is too short for one.

    Whatever is not looked at is worth -h if its terms lead by themselves, and less if they do not, so the right model must be
    worth so much more than that as k = 5 terms cost, and 6 nats: that is what `least` is, on either side of nothing. A lead beside
    a set is held against h and 3.25 deviations of an idle column's, so that such a column is seldom looked at again; in long tables
    against a third of the blocks, so that more than five terms can be told. By itself a term must lead by h more than chance makes
    of p idle columns, or than company of no account gives. The terms that do not are as many as there are: their price is such that
    all sets of them weigh less than what their leads fall short, and one nat more than the odds against one of the leaders.
    Measured; see docs/VOTES.md.
    """
    partitions = max(_dealings(used, columns, DUAL_WORK) // LOOK_DEALINGS, 1) * LOOK_DEALINGS
    blocks = max(used // DUAL_ROWS, 1)
    speaking = blocks * speaking_share(DUAL_ROWS, equal=equal)
    deviation = lead_deviation(speaking, sample_share(DUAL_ROWS), partitions)
    price = max(math.log(max(terms / (epsilon * deviation), 1.0)), math.log(LEADERS) + 1)
    least = 2 * (SUPPOSED * price + SPARE_NATS) / epsilon
    width = columns / terms
    rows = max(LOOK_ROWS, ROWS_BY_ROOT * math.sqrt(used)) * (2 + 4 * width) / 6
    looked = LEADERS * widest  # columns of a prepared block, and three tables of as many lines as may be swept out
    numbers = looked * (looked + 3 * (MOST_LOOKED * widest + 1))
    found = max(min(int(used / rows), MOST_LOOK_BLOCKS, int(LOOK_BYTES / (8 * LOOK_DEALINGS * numbers))), 1)
    size = used / found
    sample = 0.637 * size / (size + 1 + 4 * width)
    spread = LOOK_DEVIATIONS * lead_deviation(found, sample, LOOK_DEALINGS)
    bar = max(least + spread, LOOK_SHARE * found)
    if bar + least > ENOUGH_BLOCKS * found:
        return None
    floor = bar - spread
    chance = deviation * (math.sqrt(2 * math.log(max(columns, 2))) + 0.5)
    company = speaking * mean_vote(NEGLIGIBLE_COMPANY, DUAL_ROWS)
    unit = partitions * WHOLE_VOTE
    return WideRule(
        size=DUAL_ROWS,
        blocks=blocks,
        partitions=partitions,
        threshold=math.ceil((max(chance, company) + floor) * unit),
        price=price,
        share=share,
        crowd=LEADERS + 1,
        second=SecondLook(
            blocks=found,
            partitions=LOOK_DEALINGS,
            threshold=math.ceil(bar * unit),
            floor=math.floor(floor * unit),
            leaders=LEADERS,
            sets=LOOKED_SETS,
            top=MOST_LOOKED,
        ),
    )


def speaking_share(size: int, *, equal: bool) -> float:
    """Of the blocks those that have something to say: all equal ones; of others those to which chance gives two rows."""
    return 1.0 if equal else 1 - (1 + size) * math.exp(-size)


def sample_share(size: int) -> float:
    """The sample's part of the variance of an idle column's vote: of pairs 2/9, Kendall's; else 2/pi, less what fitting takes."""
    return 2 / 9 if size == PAIR_ROWS else 0.637 * size / (size + 2)


def speaking_blocks(rule: WideRule, *, equal: bool) -> float:
    """How many blocks of a dealing have something to say, on average; `equal` where rows may be dealt into equal ones."""
    return rule.blocks * speaking_share(rule.size, equal=equal and rule.share == 1)


def wide_deviation(rule: WideRule, *, equal: bool) -> float:
    """The standard deviation of an idle column's lead by a rule, in votes a dealing."""
    return lead_deviation(speaking_blocks(rule, equal=equal), sample_share(rule.size), rule.partitions)


def mean_vote(correlation: float, size: float) -> float:
    """The mean vote of a block on a column that has this correlation with the response, both normal."""
    if size == PAIR_ROWS:
        return 2 / math.pi * math.asin(correlation)
    return math.erf(correlation * math.sqrt((size - 1) / 2))


def clear_wide_directions(rule: WideRule, widths: Sequence[int], epsilon: float) -> bool:
    """Whether directions cost the choice nothing; `widths` are the columns of each term.

    A candidate with directions has 2c options for a term of c columns where it had one. Those that are new score at most -t, t
    being the threshold: a column that goes up is worth -t or less with the direction down. At its price a term weighs k/p/e, so
    that all sets of options together weigh (1 + 2ck/p/e)^p at most, 2ck/e nats, at a score of -t or below, which costs epsilon
    t/range nats: free where that is five nats more. Other columns of a category count among the new options, and may score above
    -t; they name another column of a term that is in anyway.

    With a second look directions are told where each term has one column. Of these a wrong one scores -t, and what is not worth
    more than nothing lies at the floor (`assume.lemmas.sensitivity.second_look_range`): all candidates that name a wrong one must
    weigh five nats less than that.
    """
    if not widths:
        return False
    if rule.second is not None:
        nats = _wrong_nats(len(widths), rule.price, rule.second.top)
        return max(widths) == 1 and epsilon * (rule.threshold - rule.second.floor) / rule.range >= nats + 5
    few = min(SUPPOSED, len(widths) / 2)
    return epsilon * rule.threshold / rule.range >= 2 * few / math.e * sum(widths) / len(widths) + 5


def _wrong_nats(terms: int, price: float, top: int) -> float:
    """What all sets of up to `top` terms that name a wrong direction weigh together, at their price and the same score, in nats."""
    sizes = range(1, min(top, terms) + 1)
    each = [math.log(math.comb(terms, size)) + math.log(2**size - 1) - price * size for size in sizes]
    most = max(each)
    return most + math.log(sum(math.exp(one - most) for one in each))
