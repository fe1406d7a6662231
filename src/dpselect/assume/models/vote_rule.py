"""Public. How many blocks vote, how often, and how many votes a term needs: from stated facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpselect.errors import AssumptionError

LEAST_SQUARES = "least squares"
MOST_PARTITIONS = 32
FEWEST_PARTITIONS = 2
SMALLEST_BLOCK = 2.5  # rows: below it most blocks of independent sizes have nothing to say
LARGEST_BLOCK = 1 << 21  # rows: sums of more than 2^22 would no longer be exact, and sizes vary
BYTES_FOR_SUMS = 400_000_000
BYTES_A_SUM = 25  # the exact sums of a variable without bounds; bounded ones need 8
HIGHEST_SHARE = 0.4  # of unanimity: no threshold is higher
ROWS_A_COLUMN = 1.15
COMPANY = 0.19  # the correlation with what is explained up to which a column is taken for idle


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRule:
    """Public. The numbers that block votes need before a row is read.

    In each of `partitions` partitions every row goes to one of `blocks` blocks by a chance of its own. A block votes
    +1, 0 or -1 on each column: the sign of its ridge coefficient (a block that explains much uses less of `ridge`), 0
    where that is within `dead_zone` standard errors, where the column is constant, or where the block cannot be fitted.
    A term's agreement is the largest |votes above - votes below| of its columns, from 0 to blocks * partitions;
    `threshold` is in the same votes, and `price` is what each term costs, in nats.
    """

    blocks: int
    partitions: int
    dead_zone: float
    ridge: float
    threshold: int
    price: float
    statistic: str = LEAST_SQUARES

    def __post_init__(self) -> None:
        for name in ("blocks", "partitions", "threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
                raise AssumptionError(f"{name} of a rule for votes is {value!r}; it must be a whole number from 1.")
        if not isinstance(self.statistic, str):
            raise AssumptionError("The statistic of a rule for votes must be named in words.")
        for name in ("dead_zone", "ridge", "price"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
                raise AssumptionError(f"{name} of a rule for votes is {value!r}; it must be between 0 and 1e6.")
            object.__setattr__(self, name, float(value))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the statistic only where it is not least squares."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values if self.statistic != LEAST_SQUARES else {k: v for k, v in values.items() if k != "statistic"}


def vote_rule(rows: int, columns: int, terms: int, epsilon: float, smallest: float = SMALLEST_BLOCK) -> VoteRule:
    """The rule for `rows` rows, `columns` columns (an intercept counted), `terms` terms and the price `epsilon`.

    All of it is a function of public facts: a wrong number of rows costs quality, never privacy. `smallest` is how many rows
    a block has at least, where what is fitted there needs more than least squares does.
    """
    _check(rows, columns, terms, epsilon)
    price, nats = expected_nats(terms)
    size = min(wanted_size(rows * epsilon / (8 * (nats + 1)), columns), largest_size(rows))
    blocks = max(1, int(rows / max(size, smallest)))
    partitions = min(max(round(800 / math.sqrt(rows)), FEWEST_PARTITIONS), MOST_PARTITIONS)
    blocks, partitions = _within_memory(rows, columns, blocks, partitions)
    share, short = threshold_share(rows, columns, blocks, partitions, nats, epsilon)
    return VoteRule(
        blocks=blocks,
        partitions=partitions,
        dead_zone=0.0,
        ridge=ridge_for(rows / blocks, columns),
        threshold=max(1, round(share * blocks * partitions)),
        price=price + short / min(math.sqrt(terms), terms / 2),
    )


def wanted_size(affordable: float, columns: int) -> float:
    """Rows a block, where `affordable` would leave just enough blocks for the choice to be clear.

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
    its columns explain (`minimize.votes_numpy`). Divided by what chance alone makes of that in a block of so many rows.
    """
    wanted = min(0.13 * ((columns / size) ** 2 - 0.25), 0.3)
    return max(wanted, 0.0) / (1 - 1 / max(size, SMALLEST_BLOCK)) ** 4


def largest_size(rows: int) -> float:
    """Rows a block at most, however large epsilon: the chance of idle columns must stay well below unanimity."""
    return rows / (8 * math.log(max(rows, 2)))


def expected_nats(terms: int) -> tuple[float, float]:
    """(the price of a term, the nats that a choice among sets of about that size must overcome).

    As if about sqrt(terms) of them, at most five for the price, were to be found: the price is the log of the odds
    against a term, the nats are the entropy of such a set.
    """
    few = min(math.sqrt(terms), terms / 2)
    share, priced = few / terms, min(few, 5.0)
    nats = -terms * (share * math.log(share) + (1 - share) * math.log1p(-share))
    return math.log((terms - priced) / priced), nats


def spread(rows: int, columns: int, blocks: int, partitions: int) -> float:
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
    sums = (columns + 1) * (columns + 2) // 2
    room = max(BYTES_FOR_SUMS // (BYTES_A_SUM * sums), 1)
    partitions = max(min(partitions, room // blocks), min(partitions, FEWEST_PARTITIONS))
    return max(min(blocks, room // partitions), 1, -(-rows // LARGEST_BLOCK)), partitions


def _check(rows: int, columns: int, terms: int, epsilon: float) -> None:
    if not rows >= 1:
        raise AssumptionError(f"The stated number of rows is {rows}; it must be at least 1.")
    if not columns >= 1:
        raise AssumptionError(f"The number of columns is {columns}; it must be at least 1.")
    if not terms >= 1:
        raise AssumptionError(f"The number of terms to choose from is {terms}; it must be at least 1.")
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise AssumptionError(f"epsilon is {epsilon}; it must be a positive number.")
