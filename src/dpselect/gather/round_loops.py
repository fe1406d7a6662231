"""Private. The door to the compiled loops of a round (`_rounds.c`): sums of clipped vectors, and numbers counted in bins.

All queries of an ask are answered in one pass over a chunk. Where there was no compiler, and for clusters and wide matrices, NumPy
adds up what `round_views` makes: the same integers. Spark's workers get no compiled files either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.lemmas.rounds import clip_bits, squared_radius, vector_width
from dpselect.assume.queries import (
    STANDARD_BITS,
    FamilyName,
    Gradient,
    Gram,
    Norms,
    Query,
    Row,
    Sandwich,
    Standard,
)
from dpselect.gather.grid import Floats, compiled_function
from dpselect.gather.round_views import RESPONSE_COLUMN, Integers, Tables, Views

_add_sums = compiled_function("_rounds", "add_sums")
_add_bins = compiled_function("_rounds", "add_bins")
"""Private. None where there was no compiler."""

MAX_LANES = 8
"""Rows that the loops may take side by side; they take fewer where the processor has no room for so many."""
MAX_COMPILED_COLUMNS = 256
"""Of a matrix: what is made of wider ones leaves the cache, and is left to linear algebra."""
MIN_EVEN_EDGES = 8
"""From so many edges on a guess is faster than a search."""
QUERY_KINDS = {Gram: 0, Gradient: 1, Sandwich: 2, Norms: 3}
"""What is added up, as `_rounds_ask.h` numbers it."""


class CompiledSums:
    """Private. What the queries of an ask add up by compiled loops: all but counts, and clusters, whose rows have to meet first."""

    def __init__(self, queries: Sequence[Query], tables: Tables) -> None:
        self._looks: dict[tuple[FamilyName, Standard], _Look] = {}
        for place, query in enumerate(queries):
            if isinstance(query, Gram | Gradient | Sandwich | Norms) and _fits(query):
                about = query.family, query.standard
                if about not in self._looks:
                    self._looks[about] = _Look(*about, tables)
                self._looks[about].put(place, query)

    def __repr__(self) -> str:
        return "CompiledSums(values=<private>)"

    def of(self, rows: Views) -> dict[int, Integers]:
        """The sums of the rows that `Views` looks at, by the place of their query; none where there are no loops."""
        made: dict[int, Integers] = {}
        for look in self._looks.values() if _add_sums is not None else ():
            made |= look.sums(rows)
        return made


def _fits(query: Gram | Gradient | Sandwich | Norms) -> bool:
    if isinstance(query, Sandwich) and query.cluster_radius is not None:
        return False
    return len(query.matrix[0]) <= MAX_COMPILED_COLUMNS


class _Look:
    """Private. The queries of one family and standard: their rows are standardized once."""

    def __init__(self, family: FamilyName, standard: Standard, tables: Tables) -> None:
        self._family, self._standard = family, standard
        self._centers = np.array([*standard.centers, standard.response_center])
        self._factors = np.array([*standard.factors, standard.response_factor])
        self._tables = (None, None) if family == "gaussian" else tables[family]
        self._arrays: dict[tuple[Row, ...] | Row, Floats] = {}
        self._asked: list[tuple[int, int, tuple[Any, ...]]] = []

    def put(self, place: int, query: Gram | Gradient | Sandwich | Norms) -> None:
        """The query at a place of the ask, as the loops take it but for where its sums go: see `take_question` in `_rounds.c`."""
        edges, width, balanced, halves = np.zeros(0), 0, False, False
        radius, steps, top, scale = 0.0, 1.0, -1.0, 0.0
        if isinstance(query, Norms):
            edges, halves = np.array(query.edges), query.halves == "response"
            size = query.lines * len(query.edges)
        else:
            radius, steps, width = query.radius, 2.0 ** clip_bits(squared_radius(query)), vector_width(query)
            size = width if isinstance(query, Gradient) else width**2
        if isinstance(query, Gram) and query.response_top is not None:
            top, scale = query.response_top, query.response_scale
        if isinstance(query, Gradient):
            balanced = query.balanced
        matrix, center = self._array(query.matrix), None if query.center is None else self._array(query.center)
        question = (QUERY_KINDS[type(query)], matrix, center, radius, steps, balanced, top, scale, edges, halves)
        self._asked.append((place, size, question))

    def _array(self, numbers: tuple[Row, ...] | Row) -> Floats:
        """Of equal numbers the same array: by it the loops know what they have made already."""
        return self._arrays.setdefault(numbers, np.array(numbers) * 2.0**-STANDARD_BITS)

    def sums(self, rows: Views) -> dict[int, Integers]:
        """What all of them add up of some rows."""
        assert _add_sums is not None
        made = [np.zeros(size, dtype=np.int64) for _, size, _ in self._asked]
        response = None if self._family == "gaussian" else rows.response(self._family, self._standard)
        _add_sums(
            rows.lines,
            rows.places([*self._standard.columns, RESPONSE_COLUMN]),
            self._centers,
            self._factors,
            self._standard.intercept,
            response,
            rows.shares,
            *self._tables,
            tuple((*question, own) for (_, _, question), own in zip(self._asked, made, strict=True)),
            MAX_LANES,
        )
        return {place: own for (place, _, _), own in zip(self._asked, made, strict=True)}


class Bins:
    """Public. The edges that part some lines into bins, as they are searched for each number."""

    def __init__(self, edges: Sequence[Floats]) -> None:
        # Behind the last edge stands one that no number reaches, so that each line has as many edges as bins.
        self._edges = [np.append(each, math.nan) for each in edges]
        self._starts = np.cumsum([0, *map(len, self._edges)])
        spacing = np.array([_spacing(each) for each in edges]).reshape(-1, 2)
        self._firsts, self._inverses = np.ascontiguousarray(spacing.T)
        self._all = np.concatenate([np.zeros(0), *self._edges])

    def count(self, lines: Floats, places: Integers, weights: Floats | None) -> Integers:
        """How many numbers of each line lie in which of its bins; with weights, which are whole numbers, their sums."""
        if _add_bins is not None:
            sums = np.zeros(len(self._all), dtype=np.int64)
            edges = self._all, self._starts, self._firsts, self._inverses
            _add_bins(lines, places, *edges, weights, sums, MAX_LANES)
            return sums
        made = [np.zeros(0, dtype=np.int64)]
        for place, own, first, inverse in zip(places, self._edges, self._firsts, self._inverses, strict=True):
            found = _places(lines[place], own, first, inverse)
            counts = np.bincount(found, weights=weights, minlength=len(own))
            made.append(counts.astype(np.int64))  # exact: below 2^53
        return np.concatenate(made)


def _spacing(edges: Floats) -> tuple[float, float]:
    """The first of even edges, and one over their distance; zeros, if they are not even or too few for a guess."""
    count = len(edges)
    width = float(edges[-1] - edges[0]) / (count - 1) if count > MIN_EVEN_EDGES else 0.0
    if not 0 < width < math.inf or np.abs(edges - (edges[0] + width * np.arange(count))).max() > width / 8:
        return 0.0, 0.0
    return (float(edges[0]), 1 / width) if 1 / width < math.inf else (0.0, 0.0)


def _places(line: Floats, edges: Floats, first: float, inverse: float) -> NDArray[np.intp]:
    """How many edges are at or below each number: the same as a search, and three times as fast where edges are evenly spaced."""
    count = len(edges) - 1
    if not inverse:
        return np.searchsorted(edges[:count], line, side="right")
    # Even edges stand within an eighth of their distance of where they should be: so three quarters of a step further on is the
    # right place or the one before it, and one comparison tells, whatever was rounded.
    guess: NDArray[np.intp] = np.clip((line - first) * inverse + 0.75, 0, count).astype(np.intp)
    guess += line >= edges[guess]
    return guess
