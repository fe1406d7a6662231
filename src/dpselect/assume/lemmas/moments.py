"""Public. Which sums an estimate releases, and how far one record can move them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.terms import INTERCEPT, Column
from dpselect.errors import StudyError

PartKind = Literal["constant", "number", "sign", "level"]
Cell = tuple[int, int]


class MomentLayout(Public, frozen=True, kw_only=False, dict=True):
    """The distinct unknown sums of products of a model, its response last.

    A row of the model is z = (columns, response). The kind of each says what else is known of it in every row:

    - "constant": the intercept, 1 (or 0 in a row that was made zero because a cell was missing);
    - "number": anything in [-1, 1]; the response is one;
    - "sign": the only dummy d of a category in a model with an intercept, as 2d - intercept: +1 or -1;
    - "level": one of several dummies of a category, 0 or 1, at most one of them 1 in a row; `category` tells which.

    An entry is a set of cells (i, j), i <= j, of sum zz' that are equal in every table: with an intercept, the square of
    a sign is the intercept's and the square of a level is the level. Left out are the cells that are known: products of two
    levels of one category are 0, and the intercept's square is the number of rows, where that is public. The empty entry
    is the number of rows, where it is private and the model has no intercept.
    """

    columns: tuple[int, ...]
    kinds: tuple[PartKind, ...]
    categories: tuple[int, ...]
    neighbors: Neighbors
    constant_is_known: bool

    @property
    def width(self) -> int:
        """The columns of the model and its response."""
        return len(self.kinds)

    @property
    def constant(self) -> int | None:
        """The intercept's place in the model."""
        return self.kinds.index("constant") if "constant" in self.kinds else None

    @cached_property
    def entries(self) -> tuple[tuple[Cell, ...], ...]:
        """The sets of equal cells, in order of their first cell."""
        sets: dict[Cell, list[Cell]] = {}
        for i in range(self.width):
            for j in range(i, self.width):
                if not self._is_zero(i, j):
                    sets.setdefault(self._first(i, j), []).append((i, j))
        if self.constant is not None and self.constant_is_known:
            del sets[self.constant, self.constant]
        listed = tuple(tuple(cells) for cells in sets.values())
        return listed if self.constant is not None or self.neighbors == "replace-one" else (*listed, ())

    def _is_zero(self, i: int, j: int) -> bool:
        return i != j and self.kinds[i] == self.kinds[j] == "level" and self.categories[i] == self.categories[j]

    def _first(self, i: int, j: int) -> Cell:
        """The cell that stands for (i, j)."""
        constant = self.constant
        if i != j or constant is None:
            return i, j
        if self.kinds[i] == "sign":
            return constant, constant
        return (constant, i) if self.kinds[i] == "level" else (i, i)


def moment_layout(study: Study, columns: Sequence[int]) -> MomentLayout:
    """The layout of a model with these columns of the design."""
    design = study.columns
    places = tuple(sorted(set(columns)))
    if not all(0 <= place < len(design) for place in places):
        raise StudyError(f"A model names a column that the study does not have; it has {len(design)}.")
    chosen = [design[place] for place in places]
    has_constant = any(column.name == INTERCEPT and not column.factors for column in chosen)
    dummies = [_dummy_of(column) for column in chosen]
    kinds: list[PartKind] = []
    for column, dummy in zip(chosen, dummies, strict=True):
        if not column.factors:
            kinds.append("constant")
        elif dummy is None:
            kinds.append("number")
        elif dummies.count(dummy) > 1:
            kinds.append("level")
        else:
            kinds.append("sign" if has_constant else "number")
    return MomentLayout(
        columns=places,
        kinds=(*kinds, "number"),
        categories=(*(column.term for column in chosen), -1),
        neighbors=study.neighbors,
        # Rows made zero for a missing cell, and those that fill up a person, have no intercept, so its square is not n.
        constant_is_known=study.neighbors == "replace-one" and study.missing != "zero-row" and study.person is None,
    )


def _dummy_of(column: Column) -> str | None:
    """The category that a column is a dummy of; None for numbers, the intercept and products."""
    if len(column.factors) == 1 and column.factors[0].level is not None:
        return column.factors[0].variable
    return None


def entry_patterns(layout: MomentLayout) -> NDArray[np.float64]:
    """One symmetric matrix an entry, by which sum zz' over the design's own columns is (known part) + sum of entry * pattern.

    A sign counts as what it was made of: the dummy is (intercept + sign)/2.
    """
    width, entries = layout.width, layout.entries
    patterns = np.zeros((len(entries), width, width))
    for pattern, cells in zip(patterns, entries, strict=True):
        for i, j in cells:
            pattern[i, j] = pattern[j, i] = 1.0
    return _to_design(patterns, layout)


def known_part(layout: MomentLayout, rows: int | None) -> NDArray[np.float64]:
    """The part of sum zz' over the design's own columns that is known: the number of rows, where the intercept adds to it."""
    known = np.zeros((1, layout.width, layout.width))
    if layout.constant is not None and layout.constant_is_known:
        assert rows is not None
        for place, kind in enumerate(layout.kinds):
            if kind in ("constant", "sign"):
                known[0, place, place] = rows
    whole: NDArray[np.float64] = _to_design(known, layout)[0]
    return whole


def _to_design(matrices: NDArray[np.float64], layout: MomentLayout) -> NDArray[np.float64]:
    """From the model's rows z to the design's own columns: each sign e becomes the dummy (intercept + e)/2."""
    change: NDArray[np.float64] = np.eye(layout.width)
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            change[place, place] = 0.5
            change[place, layout.constant] = 0.5
    changed: NDArray[np.float64] = change @ matrices @ change.T
    return changed


NoiseKind = Literal["gaussian", "laplace"]

TYPICAL_SQUARE = 0.1
"""The sum of squared coefficients, on the scale where columns and response are in [-1, 1], that the balance is made for.

Public and fixed; another value would cost nothing in privacy and little in accuracy (docs/ESTIMATES.md)."""

GRID_BITS = 40
"""Gathered moments are integers in units of 2^-40."""

WEIGHT_BITS = 24
"""Weights are integers in units of 2^-24, rounded down; a smaller weight moves less, so every bound below still holds."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Public. Total strengths: squares for Gaussian noise, themselves for Laplace noise.

    `numbers` are the kinds that can be anything in [-1, 1], `fixed` the intercept and the signs, `categories` one for all
    levels of a category.
    """

    numbers: int
    fixed: int
    categories: int

    @property
    def whole(self) -> int:
        """All of them."""
        return self.numbers + self.fixed + self.categories


def total_strengths(layout: MomentLayout, response: int) -> Strengths:
    """The total strengths when each column has 1 and the response has `response`."""
    kinds = layout.kinds
    levels = {category for category, kind in zip(layout.categories, kinds, strict=True) if kind == "level"}
    return Strengths(
        numbers=kinds.count("number") - 1 + response,
        fixed=kinds.count("constant") + kinds.count("sign"),
        categories=len(levels),
    )


def gaussian_weights(layout: MomentLayout, response: int) -> tuple[int, ...]:
    """Twice the squared weight of each entry, for `l2_sensitivity`; `response` is the squared strength of the response.

    With squared strengths s_i^2, T their total (`Strengths.whole`) and F that of all but the numbers: s_i s_j for a cell off
    the diagonal; on it s_i^2/sqrt(2), but for a number under replace-one the square root of s_i^4/2 + s_i^2 (T+F)/2, which
    costs nothing more. The squared weight of an entry is the sum over its cells.
    """
    total = total_strengths(layout, response)
    free = total.whole + total.fixed + total.categories if layout.neighbors == "replace-one" else 0
    strengths = [1] * (layout.width - 1) + [response]

    def doubled(i: int, j: int) -> int:
        if i != j:
            return 2 * strengths[i] * strengths[j]
        return strengths[i] ** 2 + (strengths[i] * free if layout.kinds[i] == "number" else 0)

    return tuple(sum(doubled(i, j) for i, j in cells) or 1 for cells in layout.entries)


def l2_sensitivity(layout: MomentLayout, response: int) -> int:
    """Twice the squared l2 distance that one record can move the entries, weighted by `gaussian_weights`.

        replace-one: 2 T^2;     add-remove-one: T^2, and 1 more if the number of rows is an entry of its own.

    Why: let a_i = s_i z_i, b_i = s_i z'_i for the two versions of the record (b = 0 if it is added or removed),
    p_i = a_i^2, q_i = b_i^2, P = sum p_i, Q = sum q_i. An entry's cells are equal, so weights may be counted cell by
    cell, and known cells do not move. The squared distance is

        sum_{i<j} (a_i a_j - b_i b_j)^2 + sum_i (1/2 + c_i) (p_i - q_i)^2  =  (P^2+Q^2)/2 - (a.b)^2 + sum_i c_i (p_i - q_i)^2,

    by expanding the squares, with c_i = 0 but for numbers under replace-one: there c_i = c/s_i^2, c = (T+F)/2. As a
    record has at most one level of a category, P and Q are at most T.
    Add-remove: Q = 0 and c_i = 0, so it is P^2/2 <= T^2/2; a row count of weight 1/sqrt(2) adds 1/2.
    Replace, when both versions have an intercept of 1 or the model has none: |p_i - q_i| <= s_i^2, so it is at most
    (P^2+Q^2)/2 + c sum over numbers of |p_i - q_i|, convex in p and q, hence largest where each number's p_i and q_i are 0 or
    s_i^2. Let O, D and E be the total s_i^2 of the numbers where both are s_i^2, only p_i is, and only q_i is. The other
    columns add at most F to P and to Q: the bound is ((F+O+D)^2 + (F+O+E)^2)/2 + c (D+E), convex, O+D+E <= T-F. At the
    corners: O = T-F gives T^2; D = T-F or E = T-F gives (T^2+F^2)/2 + (T+F)(T-F)/2 = T^2; all 0 gives F^2.
    Replace with one version all zero (a row with a missing cell): P^2/2 + c sum of numbers' p_i <= T^2/2 + c (T-F) <= T^2.

    Source: ours. Tested: tests/claims/test_moment_sensitivity.py
    """
    whole = total_strengths(layout, response).whole
    return 2 * whole**2 if layout.neighbors == "replace-one" else whole**2 + (() in layout.entries)


def laplace_weights(layout: MomentLayout, response: int) -> tuple[int, ...]:
    """Twice the weight of each entry, for `l1_sensitivity`, summed over its cells.

    A cell off the diagonal has the weight s_i s_j; on it s_i^2/2, but a column that is a number has s_i^2 = 1.
    """
    strengths = [1] * (layout.width - 1) + [response]

    def doubled(i: int, j: int) -> int:
        whole = i != j or (layout.kinds[i] == "number" and i < layout.width - 1)
        return (2 if whole else 1) * strengths[i] * strengths[j]

    return tuple(sum(doubled(i, j) for i, j in cells) or 1 for cells in layout.entries)


def l1_sensitivity(layout: MomentLayout, response: int) -> int:
    """Twice the l1 distance that one record can move the entries, weighted by `laplace_weights`.

        replace-one: N^2 + 4 C N + 2 C^2 + k;     add-remove-one: (N+C)^2 + k, and 1 more if the number of rows is an entry,

    C being the total strength of the categories with several levels, N that of all else, the response included, and k the
    number of columns that are numbers.

    Why: with a and b as in `l2_sensitivity`, twice the distance is at most sum_ij |a_i a_j - b_i b_j| + k, because the square of a
    column in [-1, 1] moves by at most 1. Add-remove: b = 0, and the sum is (sum_i |a_i|)^2 <= (N+C)^2. Replace: put
    g = (a+b)/2, h = (a-b)/2; then |g_i| + |h_i| = max(|a_i|, |b_i|) <= s_i and a_i a_j - b_i b_j = 2 (g_i h_j + h_i g_j). Over
    the cells of N the sum is at most 4 G H, G = sum |g_i|, H = sum |h_i|, and G + H <= N: at most N^2. The cells of a
    category and a column j of N: at most |a_j| sum |a_i| + |b_j| sum |b_i| <= 2 s s_j, each counted twice: 4 C N. Two
    categories: at most 2 s s', counted twice, and within one 2 s^2: 2 C^2 together.

    Source: ours. Tested: tests/claims/test_moment_sensitivity.py
    """
    total = total_strengths(layout, response)
    number, category = total.numbers + total.fixed, total.categories
    squares = layout.kinds.count("number") - 1
    if layout.neighbors == "replace-one":
        return number**2 + 4 * category * number + 2 * category**2 + squares
    return (number + category) ** 2 + squares + (() in layout.entries)


def balance(layout: MomentLayout, noise: NoiseKind) -> tuple[int, float]:
    """The response's strength that makes the noise in the normal equations least, and a number proportional to its variance.

    A row of the equations is e - E b with noise e on X'y and E on X'X; with b's squares summing to TYPICAL_SQUARE its
    variance is scale^2 (1/w_xy^2 + TYPICAL_SQUARE/w_xx^2). Squared strengths of Gaussian noise have the parity that lets a
    record's columns balance its response, where `l2_sensitivity` is attained.
    """

    def variance(strength: int) -> float:
        if noise == "gaussian":
            return l2_sensitivity(layout, strength) / 2 * (1 / strength + TYPICAL_SQUARE)
        return l1_sensitivity(layout, strength) ** 2 / 4 * (1 / strength**2 + TYPICAL_SQUARE)

    columns = total_strengths(layout, 0).whole
    first, step = (2 - columns % 2, 2) if noise == "gaussian" else (1, 1)
    best = min(range(first, columns + 3, step), key=variance)
    return best, variance(best)


class MomentScale(Public, frozen=True, kw_only=False):
    """How exact moments become the integers that noise is added to.

    Entry k, in units of 2^-40, is multiplied by weights[k] (in units of 2^-24) and rounded to units of 2^-bits, half up.
    `sensitivity` bounds the distance (l2 for Gaussian, l1 for Laplace noise) that one person moves these integers.
    """

    noise: NoiseKind
    response: int
    weights: tuple[int, ...]
    bits: int
    sensitivity: int

    @property
    def shift(self) -> int:
        """Bits that rounding drops."""
        return GRID_BITS + WEIGHT_BITS - self.bits


def moment_scale(layout: MomentLayout, noise: NoiseKind, rows_per_person: int = 1) -> MomentScale:
    """Weights, resolution and integer sensitivity of a layout's entries.

    Why the sensitivity: a person with k rows moves the weighted sums k times as far as one row, by the triangle
    inequality. Rounding two numbers changes their difference by less than 1, so m roundings add less than sqrt(m) in l2
    and less than m in l1. Everything is rounded up. `bits` is such that no sum over MAXIMUM_ROWS rows passes 2^62.

    Source: ours. Tested: tests/claims/test_moment_sensitivity.py
    """
    response, _ = balance(layout, noise)
    if noise == "gaussian":
        doubled_squares = gaussian_weights(layout, response)
        weights = tuple(math.isqrt(square << (2 * WEIGHT_BITS - 1)) for square in doubled_squares)
    else:
        weights = tuple(double << (WEIGHT_BITS - 1) for double in laplace_weights(layout, response))
    largest = max(weights) >> WEIGHT_BITS
    bits = 62 - MAXIMUM_ROWS.bit_length() - (largest + 1).bit_length()
    unit = rows_per_person << bits
    if noise == "gaussian":
        moved = _square_root_up(l2_sensitivity(layout, response) * unit**2, 2)
        rounding = math.isqrt(len(weights)) + 1
    else:
        moved = -(-l1_sensitivity(layout, response) * unit // 2)
        rounding = len(weights)
    return MomentScale(noise, response, weights, bits, moved + rounding)


def _square_root_up(numerator: int, denominator: int) -> int:
    """A whole number of at least sqrt(numerator/denominator)."""
    return math.isqrt(-(-numerator // denominator)) + 1
