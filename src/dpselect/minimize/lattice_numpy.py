"""Private. The losses of every subset of the columns, in NumPy: the twin of the C kernel, and its equal when no compiler is there.

Many problems (B tables of products, K radii) are solved at once. A block holds the subsets that share their high bits; its
sweep tableaus grow by doubling, one column at a time, and its subsets are solved by size, because a subset needs what its
children (itself without one column) found. The method and the proof of the certificate are in `lattice_certificate`.

Letters: B problems, K radii, L subsets of one size in a block, m their size, d columns; b coefficients, q residual
correlations c - Gb, s signs, u = G^-1 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.lattice_certificate import PIVOT, SLACK, Scales, certify, scales_of

Floats = NDArray[np.float64]
Progress = Callable[[float], None]

BLOCK_BITS = 11
"""Subsets of this many columns share a block: large enough to hide NumPy's overhead, small enough for the cache."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Problems:
    """Private. B tables of products, K radii, and what has been found so far for every subset."""

    products: Floats  # (B, d+1, d+1)
    radii: Floats  # (K,)
    error: float
    scales: Scales  # of every table
    values: Floats  # (B, K, 2^d), as are the three below
    bounds: Floats
    violators: NDArray[np.uint32]
    signs: NDArray[np.uint32]

    @property
    def width(self) -> int:
        return int(self.products.shape[-1]) - 1


def solve_lattices(
    products: Floats, radii: Floats, error: float, progress: Progress | None = None
) -> tuple[Floats, Floats]:
    """Values and certified bounds, each (B, K, 2^d), for tables of products (B, d+1, d+1) and radii (K,)."""
    tables, width = products.shape[0], products.shape[-1] - 1
    shape = (tables, radii.size, 1 << width)
    problems = _Problems(
        products, radii, error, scales_of(products), np.empty(shape), np.empty(shape),
        np.zeros(shape, np.uint32), np.zeros(shape, np.uint32),
    )  # fmt: skip
    bits = min(width, BLOCK_BITS)
    levels = _levels(bits)
    for block in range(1 << (width - bits)):
        top = block << bits
        tableaus, singular = _tableaus(products, top, bits)
        for low in levels:
            _solve_level(problems, top, low, tableaus, singular)
        if progress is not None:
            progress((block + 1) / (1 << (width - bits)))
    return problems.values, problems.bounds


def _levels(bits: int) -> list[NDArray[np.int64]]:
    """The masks of `bits` columns, grouped by size."""
    masks = np.arange(1 << bits)
    sizes = np.bitwise_count(masks)
    return [masks[sizes == size] for size in range(bits + 1)]


def _tableaus(products: Floats, top: int, bits: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Sweep tableaus (B, 2^bits, d+1, d+1) of `top` with every set of low columns, and which of them are singular."""
    tableaus = products[:, None].copy()
    singular = np.zeros(tableaus.shape[:2], bool)
    diagonal = np.einsum("bii->bi", products)
    for j in range(products.shape[-1] - 2, bits - 1, -1):
        if top >> j & 1:
            tableaus, now = _sweep(tableaus, j, diagonal)
            singular = singular | now
    for j in range(bits):
        swept, now = _sweep(tableaus, j, diagonal)
        tableaus = np.concatenate([tableaus, swept], axis=1)
        singular = np.concatenate([singular, singular | now], axis=1)
    return tableaus, singular


def _sweep(tableaus: Floats, j: int, diagonal: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Pivot on column j: the swept block becomes -G^-1, the response's column the coefficients and the residual products."""
    column = tableaus[..., j]
    pivot = column[..., j]
    singular = ~(pivot > PIVOT * diagonal[:, None, j])
    inverse = 1.0 / np.where(singular, 1.0, pivot)
    scaled = column * inverse[..., None]
    swept = tableaus - column[..., :, None] * scaled[..., None, :]
    swept[..., j, :] = scaled
    swept[..., :, j] = scaled
    swept[..., j, j] = -inverse
    return swept, singular


def _solve_level(
    problems: _Problems, top: int, low: NDArray[np.int64], tableaus: Floats, singular: NDArray[np.bool_]
) -> None:
    """Solve all subsets `top + low`, which have the same size, for every table and radius."""
    masks = top + low
    width = problems.width
    inside = (masks[:, None] >> np.arange(width)) & 1 == 1  # (L, d)
    members = np.nonzero(inside)[1].reshape(masks.size, -1)  # (L, m)
    children = masks[:, None] - (1 << members)
    violates = problems.violators[..., children] >> members.astype(np.uint32) & 1 == 1  # (B, K, L, m)
    copies = ~violates.all(axis=-1)
    if copies.any():
        table, radius, place = np.nonzero(copies)
        source = children[place, violates[copies].argmin(axis=-1)]
        for array in (problems.values, problems.bounds, problems.violators, problems.signs):
            array[table, radius, masks[place]] = array[table, radius, source]
    table, radius, place = np.nonzero(~copies)
    if table.size:
        negative = (
            problems.signs[table[:, None], radius[:, None], children[place]] >> members[place].astype(np.uint32) & 1
        )
        signs = np.zeros((table.size, width))
        np.put_along_axis(signs, members[place], 1.0 - 2.0 * negative, axis=1)
        bad = singular[table, low[place]]
        b, multiplier = _solve_direct(problems, tableaus, table, radius, low[place], inside[place], signs)
        _store(problems, table, radius, masks[place], inside[place], b, multiplier)
        wrong = bad | ~(problems.bounds[table, radius, masks[place]] < np.inf)
        for t, k, mask in zip(table[wrong], radius[wrong], masks[place][wrong], strict=True):
            _rescue(problems, int(t), int(k), int(mask))


def _solve_direct(
    problems: _Problems,
    tableaus: Floats,
    table: NDArray[np.int64],
    radius: NDArray[np.int64],
    low: NDArray[np.int64],
    inside: NDArray[np.bool_],
    signs: Floats,
) -> tuple[Floats, Floats]:
    """Coefficients and multipliers of subsets with full support, whose signs are known."""
    width = problems.width
    limit = problems.radii[radius]
    b = np.where(inside, tableaus[table, low, :width, width], 0.0)
    multiplier = np.where(limit > 0, 0.0, np.inf)
    bound = np.nonzero(~(np.abs(b).sum(axis=1) <= limit))[0]
    if bound.size:
        s = signs[bound]
        u = np.where(inside[bound], -(tableaus[table[bound], low[bound], :width, :width] @ s[..., None])[..., 0], 0.0)
        with np.errstate(all="ignore"):
            multiplier[bound] = np.maximum(((s * b[bound]).sum(axis=1) - limit[bound]) / (s * u).sum(axis=1), 0.0)
            b[bound] -= multiplier[bound, None] * u
    return b, multiplier


def _store(
    problems: _Problems,
    table: NDArray[np.int64],
    radius: NDArray[np.int64],
    masks: NDArray[np.int64],
    inside: NDArray[np.bool_],
    b: Floats,
    multiplier: Floats,
) -> None:
    """Certify coefficients and keep value, bound and violators."""
    certificate = certify(
        problems.products[table], problems.scales.of(table), b, problems.radii[radius], problems.error
    )
    allowed = multiplier[:, None] + SLACK * certificate.correlation_errors
    violates = ~inside & ~(np.abs(certificate.correlations) <= allowed)
    powers = (1 << np.arange(problems.width)).astype(np.uint32)
    value, bound = certificate.bound(~violates)
    where = (table, radius, masks)
    problems.values[where] = value
    problems.bounds[where] = bound
    problems.violators[where] = (violates * powers).sum(axis=1, dtype=np.uint32)
    problems.signs[where] = ((certificate.correlations < 0) * powers).sum(axis=1, dtype=np.uint32)


def _rescue(problems: _Problems, table: int, radius: int, mask: int) -> None:
    """A singular subset that no child explains within rounding: the best child's coefficients, certified anew.

    In exact arithmetic some child of a singular subset has its loss (a solution of least l1 norm can be chosen with
    independent columns), so this is a matter of rounding only; if the bound comes out large, the exact solver decides.
    """
    members = [j for j in range(problems.width) if mask >> j & 1]
    child = min((mask ^ 1 << j for j in members), key=lambda other: problems.values[table, radius, other])
    support = _support(problems.violators[table, radius], child)
    gram = problems.products[table]
    at = [j for j in range(problems.width) if support >> j & 1]
    limit = problems.radii[radius]
    found: dict[str, Any] = {"b": np.zeros(problems.width), "multiplier": 0.0}
    if at:
        inverse = np.linalg.pinv(gram[np.ix_(at, at)], hermitian=True)
        ols = inverse @ gram[at, -1]
        signs = np.array([1.0 - 2.0 * (problems.signs[table, radius, support ^ 1 << j] >> j & 1) for j in at])
        if np.abs(ols).sum() > limit:
            u = inverse @ signs
            if signs @ u > 0:
                found["multiplier"] = max((signs @ ols - limit) / (signs @ u), 0.0)
                ols = ols - found["multiplier"] * u
        total = np.abs(ols).sum()
        found["b"][at] = ols if total <= limit else ols * (limit / total)
    one = np.array([table]), np.array([radius]), np.array([mask])
    inside = (np.array([mask])[:, None] >> np.arange(problems.width)) & 1 == 1
    _store(problems, *one, inside, found["b"][None], np.array([found["multiplier"]]))


def _support(violators: NDArray[np.uint32], mask: int) -> int:
    """The columns that the solution of a subset uses: follow the copies down."""
    rest = mask
    while rest:
        j = rest.bit_length() - 1
        rest ^= 1 << j
        if not int(violators[mask ^ 1 << j]) >> j & 1:
            mask ^= 1 << j
            rest = mask
    return mask
