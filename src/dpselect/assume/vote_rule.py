"""Public. How block votes are held: blocks, threshold and price as functions of public facts, and what they can find."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import force_setattr

from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, margin_range
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.errors import StudyError

LEAST_SQUARES = "least squares"
MOST_PARTITIONS = 32
FEWEST_PARTITIONS = 2
SMALLEST_BLOCK = 2.5  # rows: below it most blocks of independent sizes have nothing to say
LARGEST_BLOCK = 1 << 21  # rows: sums of more than 2^22 would no longer be exact, and sizes vary
BYTES_FOR_SUMS = 400_000_000
BYTES_A_SUM = 25  # the exact sums of a variable without bounds; bounded ones need 8
HIGHEST_SHARE = 0.4  # of unanimity: no threshold is higher
HIGHEST_BAR = 2**31 - 1
"""In 64ths of a vote: no threshold is higher, however small epsilon is."""
ROWS_A_COLUMN = 1.15
COMPANY = 0.19  # the correlation with what is explained up to which a column is taken for idle


class VoteRule(Public, frozen=True, kw_only=True, tag_field="blocks_fit", tag="all terms"):
    """The numbers that votes in whole-model blocks need before a row is read: every block fits all terms.

    In each of `partitions` partitions every row goes to one of `blocks` blocks by a chance of its own. A block votes from -1 to 1
    on each column: the sign of its ridge coefficient (a block that explains much uses less of `ridge`), softened and set right
    where column and response are skewed (`minimize.votes.votes_numpy`); 0 where the column is constant or no fit is possible. A
    term's agreement is the largest |sum of votes| of its columns, from 0 to blocks * partitions votes; `threshold` is in 64ths
    of a vote, and `price` is what each term costs, in nats.
    """

    blocks: int
    partitions: int
    ridge: float
    threshold: int
    price: float
    statistic: str = LEAST_SQUARES

    def __post_init__(self) -> None:
        require_whole(self, ("blocks", "partitions", "threshold"), "a rule for votes")
        if not isinstance(self.statistic, str):
            raise StudyError("The statistic of a rule for votes must be named in words.")
        for name in ("ridge", "price"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
                raise StudyError(f"{name} of a rule for votes is {value!r}; it must be between 0 and 1e6.")
            force_setattr(self, name, float(value))

    @property
    def range(self) -> int:
        """What the choice pays for, in 64ths of a vote."""
        return margin_range(self.partitions)

    @property
    def threshold_share(self) -> float:
        """The threshold as a share of unanimity."""
        return self.threshold / (WHOLE_VOTE * self.blocks * self.partitions)


def vote_rule(rows: int, columns: int, terms: int, epsilon: float, smallest: float = SMALLEST_BLOCK) -> VoteRule:
    """The rule for `rows` rows, `columns` columns (an intercept counted), `terms` terms and the price `epsilon`.

    All of it is a function of public facts: a wrong number of rows costs quality, never privacy. `smallest` is how many rows
    a block has at least, where what is fitted there needs more than least squares does.
    """
    require_facts(rows, columns, terms, epsilon)
    price, nats = expected_nats(terms)
    size = min(wanted_size(affordable_rows(rows, nats, epsilon), columns), largest_size(rows))
    blocks = max(1, int(rows / max(size, smallest)))
    partitions = min(max(round(800 / math.sqrt(rows)), FEWEST_PARTITIONS), MOST_PARTITIONS)
    blocks, partitions = _within_memory(rows, columns, blocks, partitions)
    share, short = threshold_share(rows, columns, blocks, partitions, nats, epsilon)
    return VoteRule(
        blocks=blocks,
        partitions=partitions,
        ridge=ridge_for(rows / blocks, columns),
        threshold=max(1, round(share * WHOLE_VOTE * blocks * partitions)),
        price=price + short / usual_terms(terms),
    )


def affordable_rows(rows: int, nats: float, epsilon: float) -> float:
    """Rows a block of which just enough blocks are left for a choice that must overcome so many nats to be clear."""
    return rows * epsilon / (8 * (nats + 1))


def wanted_size(affordable: float, columns: int) -> float:
    """Rows a block, where so many are affordable.

    Half of what a longer table affords makes more blocks, half larger ones. A block of fewer rows than columns cannot tell a column
    from one that goes along with it: as soon as 1.15 rows a column are affordable, blocks have about that many.
    """
    per_column = min(affordable / columns, 1e12)
    usual = per_column / math.sqrt(1 + 2 * per_column)
    enough = 1 / (1 + min(max(ROWS_A_COLUMN / per_column, 0.01), 100.0) ** 10)
    return columns * (usual + max(ROWS_A_COLUMN - usual, 0.0) * enough)


def ridge_for(size: float, columns: int) -> float:
    """What is added to the unit diagonal in a block of so many rows: something in small blocks, nothing from 2D rows on.

    A small block cannot tell its columns apart without it. But a ridge lets a column that merely follows a strong one keep some
    of its effect, in the same direction in every block: so it fades as blocks grow, and a block uses the less of it the more
    its columns explain (`minimize.votes.votes_numpy`). Divided by what chance alone makes of that in a block of so many rows.
    """
    wanted = min(0.13 * ((columns / size) ** 2 - 0.25), 0.3)
    return max(wanted, 0.0) / (1 - 1 / max(size, SMALLEST_BLOCK)) ** 4


def largest_size(rows: int) -> float:
    """Rows a block at most, however large epsilon: the chance of idle columns must stay well below unanimity."""
    return rows / (8 * math.log(max(rows, 2)))


def usual_terms(terms: int) -> float:
    """About how many of so many terms are to be found: what all rules suppose."""
    return min(math.sqrt(terms), terms / 2)


def expected_nats(terms: int) -> tuple[float, float]:
    """(the price of a term, the nats that a choice among sets of about that size must overcome).

    As if about sqrt(terms) of them, at most five for the price, were to be found: the price is the log of the odds
    against a term, the nats are the entropy of such a set.
    """
    few = usual_terms(terms)
    share, priced = few / terms, min(few, 5.0)
    nats = -terms * (share * math.log(share) + (1 - share) * math.log1p(-share))
    return math.log((terms - priced) / priced), nats


CLEAR_DIRECTIONS = 0.85
"""Directions are part of a choice where it has this share of the nats that they ask for. Measured; see docs/VOTES.md."""


def pays_for_directions(bar: int, range: int, widths: Sequence[int], epsilon: float) -> bool:
    """Whether directions cost a choice nothing whose leads are held against a bar; `widths` are the columns of each term.

    A candidate with directions has 2c options for a term of c columns where it had one, and below a score of -t all of them
    count: as if about k terms were to be found, k log(2c) nats more than the H that the choice must overcome anyway. A lead of t
    buys epsilon t/range of them: free where that is at least .85 of H + k mean log(2c).

    Tested: tests/assume/models/test_vote_rule.py
    """
    if not widths:
        return False
    terms = len(widths)
    few = usual_terms(terms)
    more = few * sum(math.log(2 * width) for width in widths) / terms
    nats = expected_nats(terms)[1] + more
    return epsilon * bar / range >= CLEAR_DIRECTIONS * nats


def clear_directions(rule: VoteRule, widths: Sequence[int], epsilon: float) -> bool:
    """Whether directions cost the choice nothing; `widths` are the columns of each term."""
    return pays_for_directions(rule.threshold, rule.range, widths, epsilon)


def lead_deviation(blocks: float, sample: float, partitions: int) -> float:
    """The standard deviation of an idle column's lead, in votes a dealing.

    `sample` is the part of a vote's variance that is the sample's, which all dealings share; few dealings add some of the rest.
    """
    return math.sqrt(blocks * (sample + (1 - sample) / partitions))


def spread(rows: int, columns: float, blocks: int, partitions: int) -> float:
    """The standard deviation of an idle column's mean vote: the sample's part, and what few partitions add to it."""
    size = rows / blocks
    sample = 2 / math.pi * size / (size + columns)
    return math.sqrt((sample + (1 - sample) / partitions) / blocks)


def threshold_share(
    rows: int, columns: int, blocks: int, partitions: int, nats: float, epsilon: float
) -> tuple[float, float]:
    """The threshold as a share of unanimity: above chance, as BIC is; above what the private choice blurs; at most .4.

    And above the votes that a small block gives to a column for its company: with a correlation of .19 to what is explained, B rows
    vote for it with 2 Phi(.19 sqrt B) - 1, less as B comes near the number of columns. Where .4 is less than the blur asks for,
    the nats that are missing come second: they are added to the price, so that a choice which cannot tell terms apart takes few of
    them instead of any.
    """
    one, size = spread(rows, columns, blocks, partitions), rows / blocks
    chance = 1.1 * math.sqrt(math.log(max(rows, 2))) * one
    blur = one / 2 + (3 * nats + 0.9) / (epsilon * blocks)
    company = math.erf(COMPANY * max(1 - size / columns, 0.0) * math.sqrt(size / 2))
    short = max(blur - HIGHEST_SHARE, 0.0) * epsilon * blocks / 2
    return min(max(chance, blur, company), HIGHEST_SHARE), short


def _within_memory(rows: int, columns: int, blocks: int, partitions: int) -> tuple[int, int]:
    """Fewer partitions first, then larger blocks, so that all sums fit."""
    sums = (columns + 1) * (columns + 2) // 2 + columns  # products, and cubes
    room = max(BYTES_FOR_SUMS // (BYTES_A_SUM * sums), 1)
    partitions = max(min(partitions, room // blocks), min(partitions, FEWEST_PARTITIONS))
    return max(min(blocks, room // partitions), 1, -(-rows // LARGEST_BLOCK)), partitions


def require_facts(rows: int, columns: int, terms: int, epsilon: float) -> None:
    """Refuse what no rule can be made for."""
    if not (rows >= 1 and columns >= 1 and terms >= 1):
        raise StudyError(
            f"There is no rule for {rows} rows, {columns} columns and {terms} terms: each must be at least 1."
        )
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise StudyError(f"epsilon is {epsilon}; it must be a positive number.")


def require_whole(rule: Public, names: Sequence[str], what: str, least: int = 1) -> None:
    """Refuse a rule that was written by hand, or edited, where these numbers are not whole or cannot be."""
    for name in names:
        value = getattr(rule, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
            raise StudyError(f"{name} of {what} is {value!r}; it must be a whole number from {least}.")


def deals_equally(study: Study, rows: int | None) -> bool:
    """Whether rows may be dealt into equal blocks: they were counted, their number is public, and nobody's go together.

    A number that was stated may be wrong, and then rows would be dealt by their place (`gather.dealing.EqualAssigner`).
    """
    counted = rows is not None and study.neighbors == "replace-one" and study.expected_rows is None
    return counted and study.person is None and not study.is_sample
