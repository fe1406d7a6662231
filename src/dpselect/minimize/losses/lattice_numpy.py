"""Private. The losses of every subset of the columns, in NumPy: the twin of the C kernel, and its stand-in without a compiler.

Subsets are solved by size, because one needs what its children (itself without one column) found: where some column does not
violate the child without it, the child's solution is copied; else the subset has full support with known signs, and one
elimination, done for a few hundred subsets at once, solves it. `lattice_certificate` says why, and proves the bounds.

Letters: B tables, K radii, L subsets of one size m, d columns; N pairs (table, subset) that are solved; s signs; u = G^-1 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.losses.lattice_certificate import PIVOT, SLACK, Certificate, Scales, certify, scales_of

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Words = NDArray[np.uint64]
ShareDone = Callable[[float], None]

CHUNK = 2048
"""So many subsets are solved at once: enough to hide NumPy's overhead."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Problems:
    """Private. B tables of products, K radii, and what has been found so far for every subset."""

    products: Floats  # (B, d+1, d+1)
    radii: Floats  # (K,)
    error: float
    scales: Scales
    masks: Words  # in order
    full: bool  # whether all masks are there, so that a mask is its own place
    values: Floats  # (B, K, masks), as are the three below
    bounds: Floats
    violators: Words
    negative: Words

    @property
    def width(self) -> int:
        return int(self.products.shape[-1]) - 1

    def alone(self, table: int, radius: int) -> _Problems:
        """One of the tables with one of the radii; what is found is still written here."""
        t, k = slice(table, table + 1), slice(radius, radius + 1)
        return _Problems(
            self.products[t], self.radii[k], self.error, self.scales.of(t), self.masks, self.full,
            self.values[t, k], self.bounds[t, k], self.violators[t, k], self.negative[t, k],
        )  # fmt: skip

    def places(self, masks: Words) -> Places:
        return masks.astype(np.int64) if self.full else np.searchsorted(self.masks, masks)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Family:
    """Public. Some subsets of one size, and their children."""

    places: Places  # (L,)
    masks: Words  # (L,)
    members: Places  # (L, m) columns
    children: Places  # (L, m) places


def masks_of(width: int, max_size: int) -> Words:
    """All sets of at most `max_size` of the columns, as numbers in order."""
    masks = np.zeros(1, np.uint64)
    for j in range(width):
        masks = np.concatenate([masks, masks[np.bitwise_count(masks) < max_size] | np.uint64(1 << j)])
    return masks


def solve_lattices(
    products: Floats, radii: Floats, error: float, max_size: int | None = None, progress: ShareDone | None = None
) -> tuple[Floats, Floats]:
    """Values and certified bounds (B, K, subsets) for tables of products (B, d+1, d+1) and radii (K,)."""
    tables, width = products.shape[0], products.shape[-1] - 1
    masks = masks_of(width, width if max_size is None else max_size)
    shape = (tables, radii.size, masks.size)
    problems = _Problems(
        products, radii, error, scales_of(products, error), masks, masks.size == 1 << width,
        np.empty(shape), np.empty(shape), np.zeros(shape, np.uint64), np.zeros(shape, np.uint64),
    )  # fmt: skip
    sizes = np.bitwise_count(masks)
    step, done = max(1, CHUNK // tables), 0
    for size in range(int(sizes.max()) + 1):
        level = np.nonzero(sizes == size)[0]
        for start in range(0, level.size, step):
            _solve(problems, _family(problems, level[start : start + step]))
            done += min(step, level.size - start)
            if progress is not None:
                progress(done / masks.size)
    return problems.values, problems.bounds


def _family(problems: _Problems, places: Places) -> _Family:
    masks = problems.masks[places]
    inside = masks[:, None] >> np.arange(problems.width, dtype=np.uint64) & np.uint64(1) == 1
    members = np.nonzero(inside)[1].reshape(masks.size, -1)
    children = problems.places(masks[:, None] ^ np.left_shift(np.uint64(1), members.astype(np.uint64)))
    return _Family(places, masks, members, children)


def _solve(problems: _Problems, family: _Family) -> None:
    """Copy what a child explains; solve the rest."""
    bits = np.left_shift(np.uint64(1), family.members.astype(np.uint64))
    violates = problems.violators[:, :, family.children] & bits != 0  # (B, K, L, m)
    full = violates.all(axis=-1)
    table, radius, at = np.nonzero(~full)
    if table.size:
        source = family.children[at, violates[table, radius, at].argmin(axis=-1)]
        for array in (problems.values, problems.bounds, problems.violators, problems.negative):
            array[table, radius, family.places[at]] = array[table, radius, source]
    some = full.any(axis=(0, 1))
    if not some.any():
        return
    rest = _Family(family.places[some], family.masks[some], family.members[some], family.children[some])
    minus = problems.negative[:, :, rest.children] & bits[some] != 0
    b, multiplier, singular = _coefficients(problems, rest, 1.0 - 2.0 * minus)
    found = certify(problems.products, problems.scales, b, problems.radii, problems.error)
    _store(problems, rest, found, multiplier, full[..., some])
    trouble = full[..., some] & (singular[:, None] | ~(problems.bounds[..., rest.places] < np.inf))
    for t, k, i in zip(*np.nonzero(trouble), strict=True):
        _rescue(problems, int(t), int(k), int(rest.masks[i]))


def _coefficients(problems: _Problems, family: _Family, signs: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Coefficients (B, K, L, d) and multipliers (B, K, L) for full support with these signs; and what is singular (B, L)."""
    tables, radii, subsets, size = signs.shape
    m = family.members.T
    system = np.empty((size, size + 1 + radii, tables, subsets))
    entries, side = problems.products.reshape(tables, -1), problems.width + 1
    system[:, :size] = entries.take(m[:, None] * side + m, axis=1).transpose(1, 2, 0, 3)
    system[:, size] = entries.take(m * side + side - 1, axis=1).transpose(1, 0, 2)
    s = signs.transpose(3, 1, 0, 2)
    system[:, size + 1 :] = s
    singular = eliminate(system)
    ols, u = system[:, size], system[:, size + 1 :]
    limit = problems.radii[:, None, None]
    with np.errstate(all="ignore"):
        beyond = ~(np.abs(ols).sum(axis=0) <= limit)  # (K, B, L)
        found = ((s * ols[:, None]).sum(axis=0) - limit) / (s * u).sum(axis=0)
        step = np.where(beyond & (found > 0), found, 0.0)
        compact = ols[:, None] - step * u
    b = np.zeros((tables, radii, subsets, problems.width))
    np.put_along_axis(b, np.broadcast_to(family.members, signs.shape), compact.transpose(2, 1, 3, 0), axis=-1)
    return b, np.where(limit > 0, step, np.inf).transpose(1, 0, 2), singular


def eliminate(system: Floats) -> NDArray[np.bool_]:
    """Gauss on (m, m + right-hand sides, B, L), all subsets at once; the solutions replace the right-hand sides."""
    size = system.shape[0]
    singular = np.zeros(system.shape[2:], bool)
    diagonal = [system[i, i].copy() for i in range(size)]
    for i in range(size):
        zero = ~(system[i, i] > PIVOT * diagonal[i])
        singular |= zero
        system[i, i + 1 :] *= 1.0 / np.where(zero, np.inf, system[i, i])
        system[i + 1 :, i + 1 :] -= system[i + 1 :, i, None] * system[i, i + 1 :]
    for i in range(size - 1, 0, -1):
        system[:i, size:] -= system[:i, i, None] * system[i, size:]
    return singular


def words_of(bits: NDArray[np.bool_]) -> Words:
    """Bits of up to 64 columns as one number each."""
    padded = np.zeros((*bits.shape[:-1], 64), bool)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8")[..., 0].astype(np.uint64)


def _store(
    problems: _Problems, family: _Family, found: Certificate, multiplier: Floats, lanes: NDArray[np.bool_]
) -> None:
    """Keep value, bound and violators of the certified coefficients, where `lanes` says so."""
    powers = np.left_shift(np.uint64(1), np.arange(problems.width, dtype=np.uint64))
    inside = family.masks[:, None] & powers != 0
    allowed = np.abs(found.correlations) <= multiplier[..., None] + SLACK * found.correlation_errors
    value, bound = found.bound(allowed | inside)
    table, radius, at = np.nonzero(lanes)
    where = (table, radius, family.places[at])
    problems.values[where] = value[lanes]
    problems.bounds[where] = bound[lanes]
    problems.violators[where] = words_of(~(allowed | inside)[lanes])
    problems.negative[where] = words_of((found.correlations < 0)[lanes])


def _rescue(problems: _Problems, table: int, radius: int, mask: int) -> None:
    """A singular subset that no child explains within rounding: the best child's coefficients, certified anew.

    In exact arithmetic some child of a singular subset has its loss (a solution of least l1 norm can be chosen with
    independent columns), so this is a matter of rounding only; if the bound comes out large, the exact solver decides.
    """
    if not mask:
        return
    alone = problems.alone(table, radius)
    support, singular = mask, np.ones((1, 1), bool)
    while singular.any():
        children = _family(alone, alone.places(np.array([support], np.uint64))).children[0]
        support = _support(alone, int(alone.masks[children[alone.values[0, 0, children].argmin()]]))
        family = _family(alone, alone.places(np.array([support], np.uint64)))
        bits = np.left_shift(np.uint64(1), family.members.astype(np.uint64))
        signs = 1.0 - 2.0 * (alone.negative[:, :, family.children] & bits != 0)
        b, multiplier, singular = _coefficients(alone, family, signs)
    found = certify(alone.products, alone.scales, b, alone.radii, alone.error)
    target = _family(alone, alone.places(np.array([mask], np.uint64)))
    _store(alone, target, found, multiplier, np.ones((1, 1, 1), bool))


def _support(problems: _Problems, mask: int) -> int:
    """The columns that the solution of a subset uses: follow the copies down."""
    while True:
        family = _family(problems, problems.places(np.array([mask], np.uint64)))
        bits = np.left_shift(np.uint64(1), family.members.astype(np.uint64))
        idle = problems.violators[0, 0, family.children[0]] & bits[0] == 0
        if not idle.any():
            return mask
        mask = int(problems.masks[family.children[0, idle.argmax()]])
