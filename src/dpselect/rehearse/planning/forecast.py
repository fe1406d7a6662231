"""Public. What a choice by votes would give in a supposed world: a few hundred made-up blocks vote, the rest is arithmetic.

The mean vote of a column comes from blocks of the rule's size drawn from the world (or, where a block has some times as many rows
as columns, from the normal law of least squares). Around it the sample and the assignment blur: with mean vote v and normal
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

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, margin_range
from dpselect.assume.vote_rule import VoteRule, clear_directions
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.votes import VoteChances
from dpselect.rehearse.planning.edge_forecast import correlations, edge_blur, edge_chances, edge_votes, sets_of
from dpselect.rehearse.planning.worlds import World

Floats = NDArray[np.float64]

WORK, FEWEST_BLOCKS, MOST_BLOCKS = 2e7, 200, 1_200
"""Products that are computed for the mean votes of one world, and how many blocks that may make."""
DRAWS = 24
LOTTERY = 0.5
"""Below this expected share of R^2 the choice is close to a lottery."""
CONTRAST = 0.3
"""And where terms of the right model are not found so much more often than others."""
MODELS = 6
LONG = 2.5
"""Rows a column from which a block's least squares follow the normal law."""
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Forecast:
    """Public. Means over supposed tables, against the model that BIC would choose without privacy.

    Its chance, the share of its R^2 that is kept, the chance of its terms to be found, and that of the other terms.
    """

    right: float
    kept: float
    found: float
    others: float

    @property
    def informed(self) -> bool:
        """Whether the choice says more than a lottery: it keeps half of R^2, and not by taking terms at random."""
        return self.kept >= LOTTERY and self.found - self.others >= CONTRAST


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


def forecast(world: World, held: Held) -> Forecast:
    """The forecast of one world."""
    rng = np.random.default_rng(7)
    means, spreads = blur(mean_votes(world, held, rng), world, held)
    bic = bic_model(world, held.rows)
    worth, terms = Worth(world), _terms(world.layout.widths).terms
    best, right = worth(bic), sum(term for term, taken in zip(terms, bic, strict=True) if taken)
    marks = np.zeros(4)
    for noise in _noises(rng, means.shape[-1]):
        chances = votes_to_chances(means + spreads * noise, world, held)
        models = [np.array([mask & term > 0 for term in terms]) for mask in chances.simulate(rng, MODELS)]
        kept = float(np.mean([worth(taken) for taken in models])) / best
        inside = chances.inclusion
        others = inside[~bic].mean() if (~bic).any() else 0.0
        marks += np.array([chances.chance_of(right), min(kept, 1.0), inside[bic].mean(), others])
    return Forecast(*map(float, marks / DRAWS))


def mean_forecast(forecasts: list[Forecast]) -> Forecast:
    """The mean of several, each number by itself."""
    each = np.array([(one.right, one.kept, one.found, one.others) for one in forecasts])
    return Forecast(*map(float, each.mean(axis=0)))


def votes_to_chances(votes: Floats, world: World, held: Held) -> VoteChances | EdgeChances:
    """The chances of all sets of terms, from the mean votes of the columns, beside every set where each has its own."""
    rule, epsilon, widths = held.rule, held.epsilon, world.layout.widths
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


def mean_votes(world: World, held: Held, rng: np.random.Generator) -> Floats:
    """The expected vote of a block on each column that competes; where each set of terms has its own, beside every set."""
    columns = world.layout.columns
    if isinstance(held.rule, EdgeRule):
        return edge_votes(correlations(world, held.rule, held.rows), held.rule, held.rows, world.layout.widths)
    if held.size >= max(LONG * columns, 25):
        return law_of_least_squares(partial_effects(world), held.size, columns)
    each = held.size * columns**2 + 3 * columns**3
    sizes = np.sort(rng.poisson(held.size, int(min(max(WORK / each, FEWEST_BLOCKS), MOST_BLOCKS))))
    # Blocks of about the same size together: less of what is drawn is thrown away.
    parts = np.array_split(sizes, 4)
    ridge = held.rule.ridge
    found = [_sum_of_votes(world, part, ridge, rng) for part in parts]
    votes: Floats = np.sum(found, axis=0) / sizes.size
    return votes


def _sum_of_votes(world: World, sizes: NDArray[np.int64], ridge: float, rng: np.random.Generator) -> Floats:
    """The expected votes on each column, summed over blocks of these sizes: given their rows, coefficients are normal."""
    blocks, longest = sizes.size, max(int(sizes.max()), 2)
    there = np.arange(longest) < sizes[:, None]
    X, signal = (part.reshape(blocks, longest, -1) * there[..., None] for part in world.rows(rng, blocks * longest))
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


def partial_effects(world: World) -> Floats:
    """Each column's coefficient over its standard error, for one row."""
    covariance, cross = world.pilot
    inverse = np.linalg.pinv(covariance)
    effects: Floats = (inverse @ cross) / np.sqrt(np.maximum(np.diag(inverse), 1e-12))
    return effects


def lone_votes(effect: float, world: World, held: Held) -> Floats:
    """The mean votes on a column of this effect that nothing else goes along with, one where all blocks are alike."""
    if isinstance(held.rule, EdgeRule):
        sets = len(sets_of(len(world.layout.widths), held.rule.top))
        alone = np.full((sets, 1), effect / math.sqrt(1 + effect**2))
        return edge_votes(alone, held.rule, held.rows, world.layout.widths)
    return law_of_least_squares(np.array([effect]), held.size, world.layout.columns)


def law_of_least_squares(effects: Floats, size: float, columns: int) -> Floats:
    """Mean votes where a block is long: 2 Phi(effect sqrt(B^2/(B + D))) - 1."""
    reach = math.sqrt(size * size / (size + columns))
    return np.array([2 * NORMAL.cdf(float(effect) * reach) - 1 for effect in effects])


def blur(means: Floats, world: World, held: Held) -> tuple[Floats, Floats]:
    """The mean votes, and the standard deviation that sample and assignment give each."""
    rule = held.rule
    if isinstance(rule, EdgeRule):
        return means, edge_blur(means, rule, held.rows, world.layout.widths)
    size = held.size
    quantiles = np.array([NORMAL.inv_cdf(min((1 + abs(float(v))) / 2, 1 - 1e-9)) for v in means])
    density = np.exp(-(quantiles**2) / 2) / math.sqrt(2 * math.pi)
    sample = 4 * density**2 * size / (size + world.layout.columns)
    rest = np.maximum(1 - means**2 - sample, 0.0) / rule.partitions
    return means, np.sqrt((sample + rest) / rule.blocks)


def bic_model(world: World, rows: int) -> NDArray[np.bool_]:
    """Terms whose effect is beyond BIC's bar in a table of this length; the strongest one in any case."""
    covariance, cross = world.pilot
    inverse = np.linalg.pinv(covariance)
    b, first = inverse @ cross, world.layout.first
    strength = np.zeros(len(world.layout.widths))
    for term, width in enumerate(world.layout.widths):
        own = np.nonzero(first == term)[0]
        part = b[own]
        strength[term] = rows * float(part @ np.linalg.solve(inverse[np.ix_(own, own)], part)) / width
    taken = (strength > math.log(rows)) & (world.weights != 0)
    taken[int(strength.argmax())] = True
    return np.asarray(taken, dtype=bool)


class Worth:
    """What a set of terms explains of the signal, as a share of it; each set once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[bytes, float] = {}

    def __call__(self, taken: NDArray[np.bool_]) -> float:
        """The share of one set."""
        key = taken.tobytes()
        if key not in self._known:
            covariance, cross = self._world.pilot
            own = np.nonzero(taken[self._world.layout.first])[0]
            if own.size:
                b = np.linalg.lstsq(covariance[np.ix_(own, own)], cross[own], rcond=None)[0]
            signal = self._world.r2 / (1 - self._world.r2)
            self._known[key] = float(b @ cross[own]) / signal if own.size else 0.0
        return self._known[key]
