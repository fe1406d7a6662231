"""Private. The losses of every set of terms, a term being columns that enter together, each with a certified bound.

A category's columns come and go together, so its candidates are the sets of terms, far fewer than the sets of columns.
Write M for a set of terms and its columns, and T for one of them. The problem is convex, so the solution of M without T is
that of M iff no column of T *violates* it: has a residual correlation beyond the multiplier of the l1 bound.

1. **Copies.** If that is so for some T, what was found for M without T is taken over.
2. **A guess.** Else each T has a column in the support. A T of one column is in it, with the sign of its correlation in M
   without T, as in `lattice`; of a wider T the violators with their signs are guessed. The best point with that support and
   those signs is one elimination away; what is wrong with it (signs, violators inside M) is mended, all at once, a few times.
3. **Step by step**, if the guess could not be mended: an active-set method from the solution of M without a term.

Nothing of this is trusted: every set is certified by the proof in `lattice_certificate`, copies included. That proof asks of
b only that it is zero outside M, and of the violators only that none is inside M.

A C solver does this at some 10^6 sets a second, its NumPy twin some ten times slower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.errors import StudyError
from dpselect.minimize.losses import terms_numpy
from dpselect.minimize.losses.lattice import ROUNDED_ONCE, Backend, ShareDone
from dpselect.minimize.losses.lattice_certificate import PIVOT, SLACK, norm_factor, rounding_shares

try:
    from dpselect.minimize.losses import _terms
except ImportError:  # no compiler was there; the NumPy twin serves
    _terms = None  # type: ignore[assignment]

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

SETS_PER_LOOK = 2**14
"""Sets that are solved between two looks at Ctrl-C."""
WIDEST = 63
MAX_ENUMERATED_TERMS = 24


def is_available() -> bool:
    """Whether the compiled solver was built."""
    return _terms is not None


def suits(rule: SubsetRule) -> bool:
    """Whether the sets of a rule's terms can all be visited without waste, and are wider than single columns."""
    terms = len(rule.terms)
    wide = any(term.bit_count() > 1 for term in rule.terms)
    return wide and terms <= MAX_ENUMERATED_TERMS and rule.width <= WIDEST and 2**terms <= 8 * rule.count


def term_losses(
    products: Floats,
    rule: SubsetRule,
    radius: float,
    *,
    error: float = ROUNDED_ONCE,
    backend: Backend = "auto",
    progress: ShareDone | None = None,
) -> tuple[Floats, Floats]:
    """The loss of every candidate of a rule, and a certified bound on its error, in the rule's order.

    `products` (d+1, d+1) are those of `Moments.scaled()`, the response last, each entry off by at most `error` of itself.
    Claim: |values - losses| <= bounds, whatever rounding did; a bound may be infinite. Why: `lattice_certificate`.

    Tested: tests/minimize/losses/test_terms.py
    """
    if backend == "c" and not is_available():
        raise StudyError('backend is "c", but the compiled solver was not built here; use "auto" or "numpy".')
    # Smaller terms first: the first ones come and go most often.
    order = sorted(range(len(rule.terms)), key=lambda t: rule.terms[t].bit_count())
    terms = [columns_of(rule.terms[t]) for t in order] + [columns_of(rule.always)]
    kept = [column for term in terms for column in term]
    table = np.ascontiguousarray(products[np.ix_([*kept, -1], [*kept, -1])])
    ends = np.cumsum([len(term) for term in terms])
    columns = np.array([(1 << int(e)) - (1 << int(e) - len(t)) for e, t in zip(ends, terms, strict=True)], np.uint64)
    largest = len(kept) if rule.max_size is None else min(rule.max_size, len(kept))
    solve = terms_numpy.solve_terms if backend == "numpy" or not is_available() else _solve_compiled
    values, bounds = solve(table, columns, radius, error, largest, progress)
    places = _places(rule, order)
    return values[places], bounds[places].astype(np.float64)


def _solve_compiled(
    products: Floats, columns: Words, radius: float, error: float, max_size: int, progress: ShareDone | None
) -> tuple[Floats, NDArray[np.float32]]:
    """Values and bounds of all sets of terms as numbers in order; lower terms have lower columns."""
    width, count = len(products) - 1, 1 << len(columns) - 1
    values, bounds = np.empty(count), np.empty(count, np.float32)
    masks = np.zeros((3, count), np.uint64)  # supports, negative signs, violators
    arrays = (products, rounding_shares(width, error), columns, values, bounds, *masks)
    for start in range(0, count, SETS_PER_LOOK):
        end = min(start + SETS_PER_LOOK, count)
        _terms.run(arrays, width, max_size, radius, SLACK, PIVOT, norm_factor(error), start, end)
        if progress is not None:
            progress(end / count)
    return values, bounds


def _places(rule: SubsetRule, order: list[int]) -> NDArray[np.int64]:
    """Where each candidate of the rule is among the sets of terms in their new order."""
    masks = rule.masks()
    found = np.zeros(masks.size, np.int64)
    for bit, t in enumerate(order):
        found |= (masks & np.uint64(rule.terms[t]) != 0).astype(np.int64) << bit
    return found
