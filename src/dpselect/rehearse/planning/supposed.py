"""Public. A plan of the paper's methods: supposed tables, their losses, and the chance of the right model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import loss_range, loss_sensitivity, profile_change, profile_shift
from dpselect.assume.penalty import loss_penalty
from dpselect.assume.recipe import Mechanism
from dpselect.errors import StudyError
from dpselect.minimize.losses.lattice import batch_losses, lattice_losses
from dpselect.rehearse.chances.scores import chance_of
from dpselect.rehearse.simulate import SUMMED_ERROR, Setting, clipped_products, draw, sizes_of

Floats = NDArray[np.float64]

DRAWN = 1000
"""Up to this many rows a table is drawn row by row; longer ones by the normal law of their sums of products."""
PILOT = 20_000
MAX_PLANNED_COLUMNS = 12


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Supposed:
    """Public. Where supposed rows come from: an artificial setting, or the rows of a sample, drawn again and again.

    The response is in the units of its bounds, with the middle of the bounds at 0. `words` says what is supposed.
    """

    words: str
    truth: int
    width: int
    setting: Setting | None = None
    sample: tuple[Floats, Floats] | None = None

    def __repr__(self) -> str:
        return f"Supposed({self.words!r})"

    def rows(self, count: int, seed: np.random.SeedSequence) -> tuple[Floats, Floats]:
        """So many rows."""
        if self.setting is not None:
            return draw(self.setting.with_rows(count), seed)
        assert self.sample is not None
        chosen = np.random.default_rng(seed).integers(0, len(self.sample[1]), count)
        return self.sample[0][chosen], self.sample[1][chosen]


def suppose(width: int, r: float, effects: Sequence[float] | None = None, deviation: float | None = None) -> Supposed:
    """Uniform independent columns with these effects and normal noise, in units of the response.

    Left out, the effects are equal ones of about the root of the number of columns, and explain half the variance of a
    response whose standard deviation is half its bound; the noise is the other half.

    Parameters
    ----------
    width : int
        How many columns compete.
    r : float
        Half the response's stated range.
    effects : sequence of float, optional
        Of the columns in [-1, 1]; columns beyond them are idle.
    deviation : float, optional
        The standard deviation of the noise.

    Returns
    -------
    Supposed
    """
    if effects is None:
        if not 1 <= width <= 10_000:
            raise StudyError(f"There are {width} columns; a plan needs at least 1.")
        shown = min(width, MAX_PLANNED_COLUMNS)
        active = max(1, round(math.sqrt(shown)))
        # A uniform column in [-1, 1] has variance 1/3; `active` of them make r^2/8, half of the response's (r/2)^2.
        each = r * math.sqrt(3 / (8 * active))
        effects = [each] * active + [0.0] * (shown - active)
    elif len(effects) > MAX_PLANNED_COLUMNS:
        raise StudyError(
            f"There are {len(effects)} effects; a plan takes at most {MAX_PLANNED_COLUMNS}: leave out idle columns."
        )
    spread = r / math.sqrt(8) if deviation is None else deviation
    setting = Setting("supposed", DRAWN, tuple(float(effect) for effect in effects), deviation=spread)
    listed = ", ".join(three_digits(effect) for effect in setting.effects)
    words = f"uniform columns with effects {listed}; normal noise of standard deviation {three_digits(spread)}"
    if width > len(effects):
        words += f"; {width - len(effects)} more idle columns are left out, and lower the chances a little"
    return Supposed(words, setting.truth, setting.width, setting=setting)


def three_digits(value: float) -> str:
    """A number as people read it, to three digits: 1,230,000 and not 1.23e+06."""
    return f"{float(f'{value:.3g}'):,.15g}"


def suppose_sample(X: Floats, y: Floats, truth: Sequence[int] | None = None) -> Supposed:
    """Rows like those of a public or synthetic sample: X in [-1, 1], y with the middle of its bounds at 0.

    Parameters
    ----------
    X, y : array of float
        The sample.
    truth : sequence of int, optional
        The columns of the right model; BIC's choice in the sample, if left out.

    Returns
    -------
    Supposed
    """
    if not (X.ndim == 2 and len(X) == len(y) and len(y) > X.shape[1] > 0 and X.shape[1] <= MAX_PLANNED_COLUMNS):
        raise StudyError(
            f"A sample needs more rows than columns, one response a row, and at most {MAX_PLANNED_COLUMNS} columns."
        )
    matrix = np.clip(np.asarray(X, np.float64), -1, 1)
    vector = np.asarray(y, np.float64)
    if truth is None:
        table = np.column_stack([matrix, vector])
        right, how = bic_choice(table.T @ table, len(vector)), "BIC's choice in it"
    else:
        right, how = sum(1 << j for j in set(truth)), "the model given"
    words = f"rows like the {len(vector):,} of a sample; right is {how}"
    return Supposed(words, right, matrix.shape[1], sample=(matrix, vector))


def bic_choice(products: Floats, rows: int) -> int:
    """The mask that minimizes n log(loss/n) + log(n) |M| without a radius, from sums of products with the response last."""
    width = len(products) - 1
    norm = float(np.abs(np.linalg.solve(products[:width, :width], products[:width, width])).sum())
    # The solver has no "no radius": one that is far above every model's norm binds none of them.
    losses = lattice_losses(products, 1e9 * max(1.0, norm), error=SUMMED_ERROR)[0][1:]
    return int(np.argmin(rows * np.log(losses / rows) + math.log(rows) * sizes_of(width)[1:])) + 1


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Drawn:
    """Public. Tables of supposed rows, ready to be clipped in different ways: the same rows each time."""

    supposed: Supposed
    rows: int
    tables: tuple[tuple[Floats, Floats], ...]

    def products(self, lower: float, upper: float) -> Floats:
        """Sums of products (tables, d+1, d+1) with the response clipped to the bounds and scaled to [-1, 1]."""
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        return np.array([clipped_products(X, (y - middle) / half, -1.0, 1.0) for X, y in self.tables])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class DrawnSums(Drawn):
    """Public. As `Drawn`, for long tables: one pilot table, and the sums over n rows by their normal law."""

    normals: Floats

    def products(self, lower: float, upper: float) -> Floats:
        """A sum over n independent rows is nearly normal: n times the mean, with n times the covariance of a row."""
        mean, root = _row_law(self.supposed, lower, upper)
        # The same normals for all bounds and numbers of rows: options that are compared differ by themselves, not by luck.
        sums = self.rows * mean + math.sqrt(self.rows) * (self.normals @ root.T)
        width = self.supposed.width + 1
        first, second = np.triu_indices(width)
        full = np.zeros((len(sums), width, width))
        full[:, first, second] = sums
        full[:, second, first] = sums
        return full


@lru_cache(maxsize=32)
def _row_law(supposed: Supposed, lower: float, upper: float) -> tuple[Floats, Floats]:
    """The mean of a row's products and a root of their covariance."""
    X, y = supposed.rows(PILOT, np.random.SeedSequence(PILOT))
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    table = np.column_stack([X, np.clip((y - middle) / half, -1.0, 1.0)])
    first, second = np.triu_indices(table.shape[1])
    each = table[:, first] * table[:, second]
    # By eigenvalues, as Cholesky refuses a covariance without full rank: a constant column's square never varies.
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(each, rowvar=False)))
    return each.mean(axis=0), vectors * np.sqrt(np.maximum(values, 0.0))


def draw_supposed(supposed: Supposed, rows: int, count: int, seed: int) -> Drawn:
    """Draw `count` tables of `rows` rows."""
    root = np.random.SeedSequence(seed)
    if rows <= DRAWN:
        return Drawn(supposed, rows, tuple(supposed.rows(rows, each) for each in root.spawn(count)))
    width = supposed.width + 1
    normals = np.random.default_rng(root).standard_normal((count, width * (width + 1) // 2))
    pilot = supposed.rows(PILOT, np.random.SeedSequence(PILOT))
    return DrawnSums(supposed, rows, (pilot,), normals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Public. The facts a plan starts from; the response has the middle of its bounds at 0 and r as half its range."""

    rows: int
    epsilon: float
    r: float
    delta: float = 1e-6
    neighbors: Neighbors = "replace-one"
    empty: bool = False

    def __post_init__(self) -> None:
        if not (2 <= self.rows <= 2**32 and self.epsilon > 0 and self.r > 0 and 0 < self.delta < 0.5):
            raise StudyError("A plan needs from 2 to 2^32 rows, and epsilon, the response's range and delta above 0.")


@dataclass(frozen=True, slots=True)
class Bench:
    """Public. Losses of supposed tables for one pair of bounds and one radius, with the response in [-1, 1]."""

    losses: Floats
    sizes: Floats
    truth: int
    rho: float
    facts: Facts

    @property
    def width(self) -> float:
        """The range of the losses' change."""
        return loss_range(1.0, self.rho, self.facts.neighbors)

    def penalty(self, epsilon: float, multiple: float | None) -> float:
        """The default penalty, or a multiple of the noise, with the response in [-1, 1]."""
        rows = self.facts.rows if self.facts.neighbors == "replace-one" else None
        if multiple is None:
            return loss_penalty(self.width / epsilon, rows, self.sizes.size)
        return multiple * (self.width / epsilon + 0.5)

    def pcls(self, epsilon: float, multiple: float | None, mechanism: Mechanism = "permute-and-flip") -> float:
        """The chance of the right model with Algorithm 1."""
        values = self.losses + self.penalty(epsilon, multiple) * self.sizes
        return float(chance_of(self.truth, values, self.width, epsilon, mechanism).mean())

    def pcpl(self, epsilon: float, delta: float, penalty: float) -> float:
        """The chance with Algorithm 2, half of epsilon for its bound; averaged over eight quantiles of the bound's noise."""
        n, B, half = self.facts.rows, loss_sensitivity(1.0, self.rho), epsilon / 2
        # Floored at B as in `penalize`: below it the range is infinite and the choice uniform, whatever the score.
        values = n * np.log(np.maximum(self.losses, B) / n) + penalty * self.sizes
        least = self.losses.min(axis=1)
        chances = []
        for u in (np.arange(8) + 0.5) / 8:
            z = math.log(2 * u) if u < 0.5 else -math.log(2 * (1 - u))
            noisy = least + B / half * (z - profile_shift(delta))
            ranges = np.array([2 * profile_change(float(m), n, B) for m in noisy])
            finite = np.isfinite(ranges)
            chance = np.full(len(least), 1 / self.sizes.size)
            if finite.any():
                chance[finite] = chance_of(self.truth, values[finite], ranges[finite], half)
            chances.append(chance)
        return float(np.mean(chances))


def bench(drawn: Drawn, facts: Facts, lower: float, upper: float, rhos: tuple[float, ...]) -> Iterator[Bench]:
    """A bench for each radius, in units of the half range of the bounds."""
    first = 0 if facts.empty else 1
    losses = batch_losses(drawn.products(lower, upper), rhos)
    sizes = sizes_of(drawn.supposed.width)[first:]
    for k, rho in enumerate(rhos):
        yield Bench(np.ascontiguousarray(losses[:, k, first:]), sizes, drawn.supposed.truth - first, rho, facts)
