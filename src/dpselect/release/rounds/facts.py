"""Public. What follows from the plan of an estimate by rounds alone: its columns, nu, and the shares of the price.

nu = n mu / d^1.5 says how well a d x d matrix of sums can be seen. It is public; shares follow from it, and it predicts how long
intervals will be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from dpselect.assume.lemmas.rounds import cluster_is_unit
from dpselect.assume.queries import ColumnKind, FamilyName, RoundsPlan, column_kinds
from dpselect.assume.terms import INTERCEPT, Column
from dpselect.assume.variables import GRID, Binary, Categorical, Variable

MIN_NU = 5.0
"""Below it nothing is asked: intervals would be a dozen times as long as without privacy."""
MAX_LOOKS = 4
"""At numbers that are narrow in wide limits, or have none."""
SANDWICH_NU = 60.0
"""Above it the sandwich is asked for: below it its noise would be larger than what it corrects."""
GRAM_NU = 12.0
"""At about this nu a Gram is only seen with all of the price."""
LEAST_ROW_LENGTH, MAX_ROW_LENGTH = 1.5, 16.0
ROW_LENGTH_A_NU, CURVED_ROW_LENGTH_A_NU = 0.03, 0.045
"""The squared length, a column, of rows in a Gram, and how it grows with nu. Where the link is curved few rows have most of the
weight, and shortening them would cost more than their noise."""

# Shares of mu^2. The last gradient has what they leave. The smaller nu is, the more of a Gram is noise, and the larger they are.
LEAST_GRAM_SHARE, LEAST_CURVED_GRAM_SHARE, MAX_GRAM_SHARE = 0.15, 0.24, 0.40
"""For both Grams. Where the link is curved few rows have most of the weight, and a Hessian is harder to see."""
START_GRAM_PART, GRAM_PART = 0.4, 0.6
"""Of that: for the first Gram, which only whitens, and for those of coarse steps."""
LEAST_FIRST_SHARE, FIRST_SHARE, MAX_FIRST_SHARE = 0.03, 0.05, 0.10
"""For the first look: the middle one where nu is `SANDWICH_NU`, and less the larger nu is, by its root."""
LOCATING_PART, CLOSER_PART = 0.5, 0.75
"""Of that: for a first look that only locates numbers without limits, and for each closer one."""
COARSE_SHARE, MAX_COARSE_SHARE, CURVED_COARSE = 0.12, 0.30, 1.2
"""Of what these leave, for coarse gradients: the first where nu is `SANDWICH_NU` and above. Where the link is curved there are two
steps, and they have so many times as much, for what is left for the last one must be short."""
RADII_SHARE, CURVED_RADII_SHARE = 0.05, 0.06
"""For the histogram of gradient lengths. Where the link is curved more rows can be long, and noise hides them."""
SANDWICH_SHARE, RESIDUAL_SHARE = 0.05, 0.02
"""For the variance by rows, and for the sum of squared residuals."""
CLUSTER_SANDWICH_SHARE, CLUSTER_LENGTHS_SHARE = 0.12, 0.05
"""For the variance by clusters, and for how long their sums are: how alike their rows are is known from nothing else."""
LEAST_LAST_SHARE = 0.05
"""For the last gradient, whatever the looks before it have taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """Public. A column of the model: its line has `unit` steps in one user's unit and is `zero` where the user's number is 0.

    A dummy's line is `zero` for no and `zero + unit` for yes. A number is `open` if a factor of it has no limits.
    """

    name: str
    place: int
    kind: ColumnKind
    term: int
    unit: float
    zero: float
    open: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public. All that the rounds of an estimate know before the first answer.

    `mu` is the price of all rounds together as Gaussian privacy, and `row_mu` what it is for one row of a person's several.
    `response_unit` is the size of a step of the response's line in the user's units, `response_middle` the response where its line
    is 0.
    """

    family: FamilyName
    response: Literal["number", "open number", "yes or no"]
    response_unit: float
    response_middle: float
    columns: tuple[ColumnFacts, ...]
    intercept: bool
    rows: float
    mu: float
    row_mu: float
    replaced: float
    """By how many times its own length one record moves a sum of vectors: two are exchanged, or one comes or goes."""
    level: float
    considered: int | None
    weighted: bool = False
    """Whether rows count by their weights: then their squares do not add up to their number."""
    clustered: bool = False
    """Whether rows come in clusters, or several of a person: then the variance is that of their sums."""
    cluster_is_unit: bool = False
    """Whether a cluster is the unit of privacy."""

    @property
    def gaussian(self) -> bool:
        """Whether the link is straight."""
        return self.family == "gaussian"

    @property
    def width(self) -> int:
        """The number of coefficients."""
        return len(self.columns) + self.intercept

    @property
    def nu(self) -> float:
        """How well a matrix of sums of this width can be seen."""
        return float(self.rows * self.row_mu / max(self.width, 1) ** 1.5)

    @property
    def first_moved(self) -> float:
        """How far one record moves the first look, in l2: two bins of each histogram, two of a category's counts, one count."""
        two, kinds = self.replaced, [column.kind for column in self.columns]
        categories = len({column.term for column in self.columns if column.kind == "level"})
        counts = kinds.count("dummy") + (self.response == "yes or no")
        histograms = kinds.count("number") + (self.response != "yes or no")
        return math.sqrt(two * (histograms + categories) + counts)

    @property
    def has_residuals(self) -> bool:
        """Whether residuals have one deviation that can be said: that of a linear model with a constant, where rows count alike."""
        return self.gaussian and self.intercept and not self.weighted

    @cached_property
    def shares(self) -> Shares:
        """Of the price."""
        return _shares(self.nu, curved=not self.gaussian, residuals=self.has_residuals, clustered=self.clustered)

    def look_share(self, turn: int) -> float:
        """Of the first look, which only locates numbers without limits, and of each closer one: the last gradient pays for it.

        However many looks there are, `LEAST_LAST_SHARE` is left for that gradient.
        """
        if turn == 0:
            opened = self.response == "open number" or any(column.open for column in self.columns)
            return self.shares.first * (LOCATING_PART if opened else 1.0)
        return min(CLOSER_PART * self.shares.first, (self.shares.last - LEAST_LAST_SHARE) / (MAX_LOOKS - 1))

    @property
    def row_length(self) -> float:
        """The squared length that a standardized row may have in a Gram, a column: the longer, the better it is seen."""
        a_nu = ROW_LENGTH_A_NU if self.gaussian else CURVED_ROW_LENGTH_A_NU
        return _between(LEAST_ROW_LENGTH, a_nu * self.nu, MAX_ROW_LENGTH)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the user's coefficients: a constant first, unless the model has none and goes through the user's zero."""
        moved = self.response_middle != 0 or any(column.zero != 0 for column in self.columns)
        constant = self.intercept or moved or not self.columns
        return (*((INTERCEPT,) if constant else ()), *(column.name for column in self.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Public. Shares of mu^2; they add up to one."""

    first: float
    start_gram: float
    gram: float
    coarse: float
    radii: float
    sandwich: float
    residuals: float
    clusters: float
    last: float


def _shares(nu: float, *, curved: bool, residuals: bool, clustered: bool) -> Shares:
    wide = math.sqrt(SANDWICH_NU / nu)
    grams = _between(LEAST_CURVED_GRAM_SHARE if curved else LEAST_GRAM_SHARE, (GRAM_NU / nu) ** 2, MAX_GRAM_SHARE)
    first = _between(LEAST_FIRST_SHARE, FIRST_SHARE * wide, MAX_FIRST_SHARE)
    radii = CURVED_RADII_SHARE if curved else RADII_SHARE
    squares = RESIDUAL_SHARE if residuals else 0.0
    sandwich = SANDWICH_SHARE if nu > SANDWICH_NU else 0.0
    clusters = 0.0
    if clustered:
        sandwich, clusters = CLUSTER_SANDWICH_SHARE, CLUSTER_LENGTHS_SHARE
    coarse = _between(COARSE_SHARE, COARSE_SHARE * wide, MAX_COARSE_SHARE) * (CURVED_COARSE if curved else 1.0)
    coarse *= 1 - first - grams - radii - sandwich
    return Shares(
        first=first,
        start_gram=START_GRAM_PART * grams,
        gram=GRAM_PART * grams,
        coarse=coarse,
        radii=radii,
        sandwich=sandwich,
        residuals=squares,
        clusters=clusters,
        last=1 - first - grams - coarse - radii - sandwich - squares - clusters,
    )


def _between(low: float, value: float, high: float) -> float:
    return min(max(value, low), high)


def facts_of(plan: RoundsPlan) -> Facts:
    """What follows from a plan before anything is asked."""
    study = plan.study
    design = [study.columns[place] for place in plan.columns]
    variables = {variable.name: variable for variable in study.predictors}
    response = study.response
    kind: Literal["number", "open number", "yes or no"] = "number" if response.bounded else "open number"
    if isinstance(response, Binary):
        kind = "yes or no"
    gaussian = plan.family == "gaussian"
    unit, middle = (response.half_width / GRID, response.middle) if gaussian and response.bounded else (1.0, 0.0)
    columns = zip(plan.columns, design, column_kinds(study, plan.columns), strict=True)
    return Facts(
        family=plan.family,
        response=kind,
        response_unit=unit,
        response_middle=middle,
        columns=tuple(_column(place, column, kind, variables) for place, column, kind in columns if column.factors),
        intercept=any(not column.factors for column in design),
        rows=float(plan.rows),
        mu=float(plan.mu),
        row_mu=plan.mu / study.rows_per_person,
        replaced=2.0 if study.neighbors == "replace-one" else 1.0,
        level=plan.level,
        considered=plan.considered,
        weighted=study.weights is not None,
        clustered=study.together is not None,
        cluster_is_unit=cluster_is_unit(study),
    )


def _column(place: int, column: Column, kind: ColumnKind, variables: dict[str, Variable]) -> ColumnFacts:
    """What a column's line is, as `gather.grid` makes it.

    Factors with limits have GRID steps in half their range; their product keeps GRID steps. From the first open factor on lines
    are multiplied as they are.
    """
    factors = [variables[factor.variable] for factor in column.factors]
    unit, opened = float(GRID), False
    for each in factors:
        limits = isinstance(each, Categorical) or each.bounded
        half = 1.0 if isinstance(each, Categorical) or not limits else each.half_width
        unit *= 1 / half if limits and not opened else GRID / half if limits else 1 / GRID if not opened else 1.0
        if not limits and not opened and each is not factors[0]:
            unit *= GRID  # the factors before it keep their steps
        opened = opened or not limits
    first = factors[0]
    centered = len(factors) == 1 and not isinstance(first, Categorical) and first.bounded
    return ColumnFacts(
        name=column.name,
        place=place,
        kind=kind,
        term=column.term,
        unit=unit,
        zero=-first.middle * unit if centered and not isinstance(first, Categorical) else 0.0,
        open=opened,
    )


class LengthLaw(NamedTuple):
    """Public. Of intervals as long as sqrt(sampling^2 + gradient d/(n mu^2) + (gram/nu)^2) times those without privacy.

    The rows themselves, the noise of the last gradient, whose clip grows as sqrt d, and that of the matrix which turns it into
    coefficients. Of odds and rates, where few rows have most of the weight, n counts `curved` times.
    """

    sampling: float
    gradient: float
    gram: float
    curved: float


EXPECTED_LENGTHS = (
    LengthLaw(1.1, 60.0, 107.0, 1.0),
    LengthLaw(1.25, 60.0, 180.0, 0.65),
    LengthLaw(1.5, 60.0, 350.0, 0.2),
)
"""The quartiles on 56 real tables with privately selected models (`benchmarks.forecasts`); hidden effects count as infinite.

What is left of the spread nobody can foresee from public facts: neither the kind of a column nor its share told more.
"""


class ExpectedLength(NamedTuple):
    """Public. How many times as long as without privacy intervals will be: half of them between `low` and `high`."""

    low: float
    middle: float
    high: float


def expected_length(plan: RoundsPlan) -> ExpectedLength:
    """The lengths to expect from public facts alone; of rare yes they are longer."""
    facts = facts_of(plan)
    seen = facts.nu * facts.row_mu * math.sqrt(max(facts.width, 1))  # n mu^2 / d

    def length(law: LengthLaw) -> float:
        counted = 1.0 if facts.gaussian else law.curved
        return math.sqrt(law.sampling**2 + law.gradient / (counted * seen) + (law.gram / (counted * facts.nu)) ** 2)

    return ExpectedLength(*map(length, EXPECTED_LENGTHS))
