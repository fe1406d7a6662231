"""Public. A plan of block votes: what a selection would give in one scenario, from a few hundred made-up blocks.

The mean vote of a column comes from blocks of the rule's size drawn from the scenario (or, where a block has some times as many
rows as columns, from the normal law of least squares). Around it the sample and the assignment blur: with mean vote v and normal
quantile q of (1 + |v|)/2, by the variance 4 phi(q)^2 B/(B + D)/m for the sample and what is left of 1 - v^2 over m T for the
assignment. Given the agreements, the chances of all sets of terms are those of a release (`chances.votes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule, all_sets
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, margin_range
from dpselect.assume.vote_rule import VoteRule, clear_directions
from dpselect.minimize.votes.edges import EdgeLeads
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.votes import VoteChances
from dpselect.rehearse.planning.scenarios import Scenario

Floats = NDArray[np.float64]

PAIR = 2.5
"""Rows up to which a block is a pair."""
LEAST_SHARE_LEFT = 1e-9
"""Share of a column's variance below which nothing is left of it beside a set."""


@lru_cache(maxsize=8)
def sets_of(terms: int, top: int) -> NDArray[np.int64]:
    """All sets of at most `top` terms, in the order of the votes."""
    return np.array(all_sets(terms, top), np.int64)


@lru_cache(maxsize=32)
def correlations(scenario: Scenario, ridges: tuple[float, ...]) -> Floats:
    """What is left of the correlation of every column with the response beside every set of terms; 0 of its own columns.

    A small block's ridge leaves something of what a set explains to the columns that go along with it.
    """
    covariance, cross = scenario.pilot
    last = len(cross)
    whole = np.empty((last + 1, last + 1))
    whole[:last, :last], whole[last, last] = covariance, 1.0 + scenario.signal
    whole[:last, last] = whole[last, :last] = cross
    roots = np.sqrt(np.maximum(np.diag(whole), 1e-300))
    whole = whole / roots / roots[:, None]
    first, terms = scenario.layout.first, len(scenario.layout.widths)
    own = [np.flatnonzero(first == term).tolist() for term in range(terms)]
    found: list[Floats] = []

    def visit(left: Floats, first_free: int, missing: int, ridge: float) -> None:
        if not missing:
            squares = np.diag(left)
            live = squares[:last] > LEAST_SHARE_LEFT
            found.append(
                np.where(live, left[:last, last] / np.sqrt(np.where(live, squares[:last], 1.0) * squares[last]), 0.0)
            )
            return
        for term in range(first_free, terms - missing + 1):
            swept = left
            for column in own[term]:
                line = swept[column]
                if line[column] > LEAST_SHARE_LEFT:
                    swept = swept - line[:, None] * (line / (line[column] + ridge))
                swept[column] = swept[:, column] = 0.0
            visit(swept, term + 1, missing - 1, ridge)

    for size, ridge in enumerate(ridges):
        visit(whole, 0, size, ridge)
    return np.clip(np.array(found), -1 + 1e-9, 1 - 1e-9)


def ridges_used(scenario: Scenario, rule: EdgeRule, rows: int) -> tuple[float, ...]:
    """The ridge of a block beside sets of each size: less where columns explain more, by chance about 1.35 over its rows."""
    strong = scenario.seen / len(scenario.layout.widths)
    chance = (min(1.35 * blocks / rows, 1.0) for blocks in rule.blocks)
    used = (ridge * ((1 - share) * (1 - strong)) ** 16 for ridge, share in zip(rule.ridges, chance, strict=True))
    return tuple(round(each, 3) for each in used)


def edge_votes(found: Floats, rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> Floats:
    """Mean votes (sets, columns) from partial correlations."""
    sizes, fitted = _blocks(rule, rows, widths)
    reach = np.sqrt(np.maximum(sizes - fitted + 1, 1.0))  # what a fit leaves of a block's rows
    effects = found / np.sqrt(1 - found**2) * reach[:, None]
    return np.where((sizes < PAIR)[:, None], 2 / math.pi * np.arcsin(found), _expected_sign(effects))


def edge_blur(means: Floats, rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> Floats:
    """The standard deviation that sample and random split give each mean vote: that of an idle one, less as blocks agree."""
    sizes, fitted = _blocks(rule, rows, widths)
    sample = 0.64 * (sizes / (sizes + fitted))[:, None] * (1 - means**2)
    rest = np.maximum(1 - means**2 - sample, 0.0) / rule.partitions
    return np.asarray(np.sqrt((sample + rest) / (rows / sizes)[:, None]))


def _blocks(rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Rows of a block and columns that it fits, for every set."""
    sizes = np.bitwise_count(sets_of(len(widths), rule.top)).astype(np.int64)
    return rows / np.array(rule.blocks)[sizes], 2 + sizes * sum(widths) / len(widths)


def edge_chances(votes: Floats, candidates: SubsetRule, rule: EdgeRule, epsilon: float) -> EdgeChances:
    """The chances of all sets of terms, from mean votes. Directions are left out: where they are told, they cost nothing."""
    sets = sets_of(len(candidates.terms), rule.top)
    whole = np.array(rule.blocks)[np.bitwise_count(sets)] * (rule.partitions * WHOLE_VOTE)
    terms = tuple(columns_of(term) for term in candidates.terms)
    leads = EdgeLeads(np.rint(votes * whole[:, None]).astype(np.int64), sets, terms, rule.blocks, rule.partitions)
    step = Fraction(rule.price * rule.range / epsilon)
    everyone = np.arange(len(sets))
    return EdgeChances(EdgeMargins(leads, rule, candidates, everyone, step, False, float(rule.range)), epsilon)


WORK, FEWEST_BLOCKS, MOST_BLOCKS = 2e7, 200, 1_200
"""Products that are computed for the mean votes of one scenario, and how many blocks that may make."""
DRAWS = 8
"""Supposed tables of each scenario."""
INFORMED_SHARE, INFORMED_CONTRAST = 0.5, 0.3
"""A selection says something if it keeps this share of R^2, and finds terms of the right model so much more often than others."""
MODELS = 6
LONG = 2.5
"""Rows a column from which a block's least squares follow the normal law."""
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Forecast:
    """Public. Means over supposed tables, against the model that BIC would choose without privacy.

    Its chance, the share of its R^2 that is kept, the chance of its terms to be found, and that of the other terms; and how many
    terms are selected.
    """

    right: float
    kept: float
    found: float
    others: float
    selected: float = 0.0

    @property
    def informed(self) -> bool:
        """Whether the selection says more than a random one: it keeps half of R^2, and not by taking many terms."""
        return self.kept >= INFORMED_SHARE and self.found - self.others >= INFORMED_CONTRAST


@dataclass(frozen=True, slots=True)
class Held:
    """Public. How the votes of a supposed table are held."""

    rule: VoteRule | EdgeRule
    rows: int
    epsilon: float

    @property
    def size(self) -> float:
        """Rows a block, where all are alike."""
        assert isinstance(self.rule, VoteRule)
        return self.rows / self.rule.blocks


def forecast(scenario: Scenario, held: Held) -> Forecast:
    """The forecast of one scenario."""
    rng = np.random.default_rng(7)
    means, spreads = blur(mean_votes(scenario, held, rng), scenario, held)
    bic = bic_model(scenario, held.rows)
    worth, terms = Worth(scenario), _terms(scenario.layout.widths).terms
    best, right = worth(bic), sum(term for term, taken in zip(terms, bic, strict=True) if taken)
    marks = np.zeros(5)
    for noise in _noises(rng, means.shape[-1]):
        chances = votes_to_chances(means + spreads * noise, scenario, held)
        models = [np.array([mask & term > 0 for term in terms]) for mask in chances.simulate(rng, MODELS)]
        kept = float(np.mean([worth(taken) for taken in models])) / best
        inside = chances.inclusion
        others = inside[~bic].mean() if (~bic).any() else 0.0
        marks += np.array([chances.chance_of(right), min(kept, 1.0), inside[bic].mean(), others, inside.sum()])
    return Forecast(*map(float, marks / DRAWS))


def expected_forecast(forecasts: list[Forecast]) -> Forecast:
    """The one that comes true: the second lowest by what is kept of several scenarios of one R^2.

    On either half of the real tables of `benchmarks.forecasts` it came nearer to what was kept than any other.
    """
    return sorted(forecasts, key=lambda each: each.kept)[:2][-1]


def votes_to_chances(votes: Floats, scenario: Scenario, held: Held) -> VoteChances | EdgeChances:
    """The chances of all sets of terms, from the mean votes of the columns, beside every set where each has its own."""
    rule, epsilon, widths = held.rule, held.epsilon, scenario.layout.widths
    if isinstance(rule, EdgeRule):
        return edge_chances(votes, _terms(widths), rule, epsilon)
    leads = np.rint(votes * (rule.blocks * rule.partitions * WHOLE_VOTE)).astype(np.int64)
    range = margin_range(rule.partitions)
    step, directions = Fraction(rule.price * range / epsilon), clear_directions(rule, widths, epsilon)
    return VoteChances(Margins(leads, rule.threshold, step, _terms(widths), range, directions), epsilon)


@lru_cache(maxsize=16)
def _terms(widths: tuple[int, ...]) -> SubsetRule:
    """All sets of terms with so many columns each."""
    starts = accumulate(widths, initial=0)
    masks = tuple(((1 << width) - 1) << start for start, width in zip(starts, widths, strict=False))
    return SubsetRule(sum(widths), masks, empty=True)


def _noises(rng: np.random.Generator, width: int) -> Floats:
    half = rng.standard_normal((DRAWS // 2, width))
    return np.concatenate([half, -half])


def mean_votes(scenario: Scenario, held: Held, rng: np.random.Generator) -> Floats:
    """The expected vote of a block on each column that competes; where each set of terms has its own, beside every set."""
    columns = scenario.layout.columns
    if isinstance(held.rule, EdgeRule):
        left = correlations(scenario, ridges_used(scenario, held.rule, held.rows))
        return edge_votes(left, held.rule, held.rows, scenario.layout.widths)
    if held.size >= max(LONG * columns, 25):
        return law_of_least_squares(partial_effects(scenario), held.size, columns)
    each = held.size * columns**2 + 3 * columns**3
    sizes = np.sort(rng.poisson(held.size, int(min(max(WORK / each, FEWEST_BLOCKS), MOST_BLOCKS))))
    # Blocks of about the same size together: less of what is drawn is thrown away.
    parts = np.array_split(sizes, 4)
    ridge = held.rule.ridge
    found = [_sum_of_votes(scenario, part, ridge, rng) for part in parts]
    votes: Floats = np.sum(found, axis=0) / sizes.size
    return votes


def _sum_of_votes(scenario: Scenario, sizes: NDArray[np.int64], ridge: float, rng: np.random.Generator) -> Floats:
    """The expected votes on each column, summed over blocks of these sizes: given their rows, coefficients are normal."""
    blocks, longest = sizes.size, max(int(sizes.max()), 2)
    there = np.arange(longest) < sizes[:, None]
    X, signal = (part.reshape(blocks, longest, -1) * there[..., None] for part in scenario.rows(rng, blocks * longest))
    noise = rng.standard_normal((blocks, longest, 1)) * there[..., None]
    count = np.maximum(sizes, 1)[:, None, None]
    table = np.concatenate([X, signal, signal + noise], axis=2)
    sums = table.sum(axis=1, keepdims=True)
    products = table.transpose(0, 2, 1) @ table - sums.transpose(0, 2, 1) * (
        sums / count
    )  # about the block's own means
    squares = np.diagonal(products, axis1=1, axis2=2)[:, :-2]
    live = (squares > 1e-9) & (sizes[:, None] >= 2)
    roots = np.where(live, 1 / np.sqrt(np.where(live, squares, 1.0)), 0.0)
    gram = products[:, :-2, :-2] * roots[:, :, None] * roots[:, None, :]
    cross = products[:, :-2, -2:] * roots[:, :, None]
    left = np.maximum(products[:, -1, -1], 0.0) * live.sum(axis=1)
    together = (cross[..., 1] ** 2).sum(axis=1) / np.maximum(left, 1e-12)
    added = np.maximum(ridge * np.maximum(1 - together, 0.0) ** 4, 1e-4)
    inverse = np.linalg.inv(gram + added[:, None, None] * np.eye(gram.shape[1]))
    middle = (inverse @ cross[..., :1])[..., 0]
    spread = np.sqrt(np.maximum(((inverse @ gram) * inverse).sum(axis=2), 1e-12))
    votes: Floats = np.where(live, _expected_sign(middle / spread), 0.0).sum(axis=0)
    return votes


def _expected_sign(middle: Floats) -> Floats:
    """2 Phi(x) - 1 to within 0.0004: the mean sign of a normal number whose mean is so many standard deviations."""
    x = np.clip(middle, -9, 9)
    sign: Floats = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return sign


def partial_effects(scenario: Scenario) -> Floats:
    """Each column's coefficient over its standard error, for one row."""
    covariance, cross = scenario.pilot
    inverse = np.linalg.pinv(covariance)
    effects: Floats = (inverse @ cross) / np.sqrt(np.maximum(np.diag(inverse), 1e-12))
    return effects


def lone_votes(effect: float, scenario: Scenario, held: Held) -> Floats:
    """The mean votes on a column of this effect that nothing else goes along with, one where all blocks are alike."""
    if isinstance(held.rule, EdgeRule):
        sets = len(sets_of(len(scenario.layout.widths), held.rule.top))
        alone = np.full((sets, 1), effect / math.sqrt(1 + effect**2))
        return edge_votes(alone, held.rule, held.rows, scenario.layout.widths)
    return law_of_least_squares(np.array([effect]), held.size, scenario.layout.columns)


def law_of_least_squares(effects: Floats, size: float, columns: int) -> Floats:
    """Mean votes where a block is long: 2 Phi(effect sqrt(B^2/(B + D))) - 1."""
    reach = math.sqrt(size * size / (size + columns))
    return np.array([2 * NORMAL.cdf(float(effect) * reach) - 1 for effect in effects])


def blur(means: Floats, scenario: Scenario, held: Held) -> tuple[Floats, Floats]:
    """The mean votes, and the standard deviation that sample and assignment give each."""
    rule = held.rule
    if isinstance(rule, EdgeRule):
        return means, edge_blur(means, rule, held.rows, scenario.layout.widths)
    size = held.size
    quantiles = np.array([NORMAL.inv_cdf(min((1 + abs(float(v))) / 2, 1 - 1e-9)) for v in means])
    density = np.exp(-(quantiles**2) / 2) / math.sqrt(2 * math.pi)
    sample = 4 * density**2 * size / (size + scenario.layout.columns)
    rest = np.maximum(1 - means**2 - sample, 0.0) / rule.partitions
    return means, np.sqrt((sample + rest) / rule.blocks)


def bic_model(scenario: Scenario, rows: int) -> NDArray[np.bool_]:
    """Terms whose effect is beyond BIC's bar in a table of this length; the strongest one in any case."""
    covariance, cross = scenario.pilot
    inverse = np.linalg.pinv(covariance)
    b, first = inverse @ cross, scenario.layout.first
    strength = np.zeros(len(scenario.layout.widths))
    for term, width in enumerate(scenario.layout.widths):
        own = np.nonzero(first == term)[0]
        part = b[own]
        strength[term] = rows * float(part @ np.linalg.solve(inverse[np.ix_(own, own)], part)) / width
    taken = (strength > math.log(rows)) & (scenario.weights != 0)
    taken[int(strength.argmax())] = True
    return np.asarray(taken, dtype=bool)


class Worth:
    """What a set of terms explains of the signal, as a share of it; each set once."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._known: dict[bytes, float] = {}

    def __call__(self, taken: NDArray[np.bool_]) -> float:
        """The share of one set."""
        key = taken.tobytes()
        if key not in self._known:
            covariance, cross = self._scenario.pilot
            own = np.nonzero(taken[self._scenario.layout.first])[0]
            if own.size:
                b = np.linalg.lstsq(covariance[np.ix_(own, own)], cross[own], rcond=None)[0]
            self._known[key] = float(b @ cross[own]) / self._scenario.signal if own.size else 0.0
        return self._known[key]
