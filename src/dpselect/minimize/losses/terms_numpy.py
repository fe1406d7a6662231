"""Private. The losses of every set of terms, in NumPy: the twin of kernel/terms.c, and its stand-in without a compiler.

`terms` says what is computed and why. Sets are solved by their number of terms, because one needs what its children (itself
without one term) found. A guess is mended a few times; what is left then goes to the paths of `l1_ball`, where the C twin goes
step by step.

Letters: t terms, d columns, L sets that are solved together, m columns of a support; s signs; u = G^-1 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpselect.minimize.losses.l1_ball import solve_list
from dpselect.minimize.losses.lattice_certificate import SLACK, Scales, certify, scales_of
from dpselect.minimize.losses.lattice_numpy import eliminate, words_of

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]
Places = NDArray[np.int64]
ShareDone = Callable[[float], None]

CHUNK = 2048
"""So many sets are solved at once: enough to hide NumPy's overhead."""
GUESSES = 6
"""Rounds in which all that is wrong with a guess is mended at once."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Problem:
    """Private. One table of products, one radius, the terms, and what has been found so far for every set of them."""

    products: Floats  # (d+1, d+1)
    scales: Scales
    radius: float
    error: float
    columns: Words  # (t+1,) of each term; last those always in
    values: Floats  # (2^t,), as all below
    bounds: Floats
    supports: Words
    negatives: Words
    violators: Words

    @property
    def width(self) -> int:
        return len(self.products) - 1

    def bits(self, words: Words) -> Bits:
        """Words of columns as rows of bits."""
        return (words[:, None] >> np.arange(self.width, dtype=np.uint64) & np.uint64(1)).astype(bool)


@np.errstate(all="ignore")  # what is no number ends in a bound that is none either
def solve_terms(
    products: Floats, columns: Words, radius: float, error: float, max_size: int, progress: ShareDone | None
) -> tuple[Floats, Floats]:
    """Values and bounds of all sets of terms as numbers in order."""
    terms = len(columns) - 1
    inside = np.array(columns[-1:])
    for term in columns[:-1]:
        inside = np.concatenate([inside, inside | term])
    masks = np.zeros((3, inside.size), np.uint64)
    scales = scales_of(products[None], error)
    numbers = (np.zeros(inside.size), np.full(inside.size, np.inf))
    problem = _Problem(products, scales, radius, error, columns, *numbers, *masks)
    levels = np.bitwise_count(np.arange(inside.size, dtype=np.uint64))
    allowed = np.bitwise_count(inside & ~columns[-1]) <= max_size
    for level in range(terms + 1):
        places = np.flatnonzero((levels == level) & allowed)
        for start in range(0, places.size, CHUNK):
            some = places[start : start + CHUNK]
            _solve(problem, some, inside[some])
        if progress is not None:
            progress((level + 1) / (terms + 1))
    return problem.values, problem.bounds


def _solve(problem: _Problem, sets: Places, inside: Words) -> None:
    """Copy what a child explains; solve the rest."""
    terms = np.arange(len(problem.columns) - 1)
    member = (sets[:, None] >> terms & 1).astype(bool)
    children = np.where(member, sets[:, None] ^ 1 << terms, 0)
    wanted = np.where(member, problem.violators[children] & problem.columns[:-1], np.uint64(0))
    idle = member & (wanted == 0)
    copied = idle.any(axis=1)
    source = children[copied, idle[copied].argmax(axis=1)]
    for array in (problem.values, problem.bounds, problem.supports, problem.negatives, problem.violators):
        array[sets[copied]] = array[source]
    rest = ~copied
    if not rest.any():
        return
    support = np.bitwise_or.reduce(wanted[rest], axis=1)
    negative = np.bitwise_or.reduce(wanted[rest] & problem.negatives[children[rest]], axis=1)
    # About the columns that are always in, no child says more than its own solution; the empty set is its own child.
    child = sets[rest] & sets[rest] - 1
    always = problem.supports[child] & problem.columns[-1]
    signs = problem.bits(negative | problem.negatives[child] & always)
    guess = np.where(problem.bits(support | always), 1.0 - 2.0 * signs, 0.0)
    b, multiplier = _find(problem, problem.bits(inside[rest]), inside[rest], guess)
    _store(problem, sets[rest], problem.bits(inside[rest]), b, multiplier)


def _find(problem: _Problem, member: Bits, inside: Words, signs: Floats) -> tuple[Floats, Floats]:
    """Coefficients (L, d) and multipliers (L,) from guessed signs, 0 outside the support."""
    b, multiplier = np.zeros(signs.shape), np.full(len(signs), 0.0 if problem.radius > 0 else np.inf)
    if not problem.radius > 0:
        return b, multiplier
    open_ = np.arange(len(signs))
    for _ in range(GUESSES):
        some, theta = _on_faces(problem, signs[open_])
        wrong = (some * signs[open_] < 0) & (theta > 0)[:, None]
        found = certify(problem.products[None], problem.scales, some[None, None], _radii(problem), problem.error)
        q, errors = found.correlations[0, 0], found.correlation_errors[0, 0]
        outside = member[open_] & (signs[open_] == 0)
        more = outside & (np.abs(q) > theta[:, None] + SLACK * errors) & ~wrong.any(axis=1, keepdims=True)
        fits = np.abs(some).sum(axis=1) <= problem.radius * (1 + 2.0**-40)
        done: Bits = np.asarray(~wrong.any(axis=1) & ~more.any(axis=1) & fits & (theta >= 0))
        b[open_[done]], multiplier[open_[done]] = some[done], theta[done]
        signs[open_] = np.where(wrong, 0.0, np.where(more, np.sign(q), signs[open_]))
        open_ = open_[~done]
        if not open_.size:
            return b, multiplier
    _, _, b[open_] = solve_list(problem.products, inside[open_], problem.radius)
    binding = np.abs(b[open_]).sum(axis=1) > problem.radius * (1 - 2.0**-30)
    pull = np.abs(problem.products[:-1, -1] - b[open_] @ problem.products[:-1, :-1])
    multiplier[open_] = np.where(binding, np.max(pull, axis=1, where=b[open_] != 0, initial=0.0), 0.0)
    return b, multiplier


def _radii(problem: _Problem) -> Floats:
    return np.array([problem.radius])


def _on_faces(problem: _Problem, signs: Floats) -> tuple[Floats, Floats]:
    """The best points with these supports and signs, and their multipliers; least squares where that is inside the ball."""
    b, theta = np.zeros(signs.shape), np.zeros(len(signs))
    sizes = np.count_nonzero(signs, axis=1)
    for size in np.unique(sizes[sizes > 0]):
        at = np.flatnonzero(sizes == size)
        columns = np.nonzero(signs[at])[1].reshape(at.size, -1)
        m, s = columns.T, np.take_along_axis(signs[at], columns, axis=1).T
        system = np.empty((size, size + 2, 1, at.size))
        system[:, :size, 0] = problem.products[m[:, None], m]
        system[:, size, 0], system[:, size + 1, 0] = problem.products[m, -1], s
        singular = eliminate(system)[0]
        ols, u = system[:, size, 0], system[:, size + 1, 0]
        beyond = np.abs(ols).sum(axis=0) > problem.radius
        found = ((s * ols).sum(axis=0) - problem.radius) / (s * u).sum(axis=0)
        step = np.where(beyond & (found > 0), found, 0.0)
        compact = np.where(singular, 0.0, ols - step * u)
        b[at[:, None], columns] = compact.T
        theta[at] = np.where(singular, np.nan, step)  # no number: not done, whatever the signs are
    return b, theta


def _store(problem: _Problem, sets: Places, member: Bits, b: Floats, multiplier: Floats) -> None:
    """Certify, and keep what was found."""
    found = certify(problem.products[None], problem.scales, b[None, None], _radii(problem), problem.error)
    q = found.correlations[0, 0]
    allowed = member | (np.abs(q) <= multiplier[:, None] + SLACK * found.correlation_errors[0, 0])
    values, bounds = found.bound(allowed[None, None])
    problem.values[sets], problem.bounds[sets] = values[0, 0], bounds[0, 0]
    problem.supports[sets] = words_of(b != 0)
    problem.negatives[sets] = words_of(np.where(b != 0, b < 0, q < 0))
    problem.violators[sets] = words_of(~allowed)
