"""Public. How far one record can move each sum that the rounds of an estimate ask for, and the exact price of Gaussian noise on it.

A vector of a row is shortened to its radius and cut to whole numbers of 2^-bits, towards zero; `clip_bits` and `squared_norm` say
how long it still can be. Sums of such vectors, and of their products, are exact whole numbers, so nothing but the one rounding of
a sum that is counted here stands between these lemmas and what is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpselect.assume.budget import Neighbors
from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.queries import ClusterNorms, Gradient, Gram, Histograms, Norms, Query, Rows, Sandwich, column_kinds
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary
from dpselect.errors import StudyError

VECTOR_BITS = 20
"""A clipped vector is at most 2^20 of its steps long: 2^13 products of two of its cells stay within 2^53."""
COUNT_BITS = 10
"""Counts are released in whole numbers of 2^-10: their sensitivities are roots, of which little may be lost by rounding up."""
PRODUCT_BITS = 61 - MAXIMUM_ROWS.bit_length()
"""A row adds at most 2^28 to a released sum of products: times the root of 2 and 2^32 rows that stays below 2^62."""
PRODUCT_SHIFT = 2 * VECTOR_BITS - PRODUCT_BITS
"""Sums of products are released without so many of their last binary digits."""

NORM_SLACK = Fraction(1) + Fraction(1, 2**40)
"""By how much the rounding of doubles can lengthen a vector: see `squared_norm`."""
MAX_ROUND_COLUMNS = 4000
"""Columns of a model that rounds estimate: with an intercept the 4001 cells of a row for which `NORM_SLACK` is proved."""
MIN_CLIP, MAX_CLIP = 2.0**-30, 2.0**30


def squared_radius(query: Gram | Gradient | Sandwich | ClusterNorms) -> Fraction:
    """The square of the length to which a row's vector is shortened, exactly; with a response that of both parts."""
    response = 0.0 if not isinstance(query, Gram) or query.response_top is None else query.response_top
    scale = query.response_scale if isinstance(query, Gram) else 0.0
    if not (MIN_CLIP <= query.radius <= MAX_CLIP and response >= 0 and abs(response * scale) <= MAX_CLIP):
        raise StudyError("The radius of a round must be between 2^-30 and 2^30, and the top of a response 0 or more.")
    return Fraction(query.radius) ** 2 + (Fraction(response) * Fraction(scale)) ** 2


def clip_bits(square: Fraction) -> int:
    """The most binary digits after the point with which a vector of this squared length stays within 2^20 steps."""
    bits = VECTOR_BITS - math.frexp(math.sqrt(square))[1] + 1
    while square * Fraction(4) ** bits > 4**VECTOR_BITS:
        bits -= 1
    return bits


def squared_norm(square: Fraction) -> int:
    """The largest squared length of a clipped vector of whole numbers; it is a whole number itself.

    A row's z has exact cells, d of them. Its length is the root of d products that are added one by one, each operation rounded
    once: off by at most (d+2)/2 units of 2^-53, relatively. The factor min(1, radius / length), the products with it, with a
    residual or the root of a weight, and with the scale of a response are at most six roundings more, so that for d up to 4001
    what stands before the cut is longer than the radius by less than a part in 2^40. Cutting towards zero makes no cell larger.
    With a response, both parts are shortened by one factor, and the squared radius is the sum of both.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    return math.floor(square * Fraction(4) ** clip_bits(square) * NORM_SLACK**2)


def rows_sensitivity(rows_per_person: int = 1) -> int:
    """How far one record moves the number of rows, in 2^-COUNT_BITS: by one; a person of up to k rows by k.

    Why: a person whose k rows are replaced by none moves it by k, with either neighbour relation.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    return rows_per_person << COUNT_BITS


def histograms_sensitivity(query: Histograms, study: Study) -> int:
    """How far one record moves all counts of a first look together, in l2 and whole numbers of 2^-COUNT_BITS.

        replace-one: sqrt(2q + l + 2c);     add-remove-one: sqrt(q + l + c),

    with q histograms of numbers, l dummies that stand alone (a response of no and yes is one) and c categories.

    Why: a row is in exactly one bin of each histogram, so another row in its place moves two bins by one each; it has at most one
    level of a category (or combination of levels), so two of its counts move at most; a dummy's ones by one. A row that
    is added or left out moves one count of each at most, and a row that counts nowhere none. The counts of different variables are
    different numbers, so squares add up. A person of k rows: k times as far, for the rows of two versions are exchanged one by
    one, or for none.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    kinds = column_kinds(study, query.columns)
    lone, answers = kinds.count("dummy"), isinstance(study.response, Binary)
    numbers = kinds.count("number") + (not answers and bool(query.response_edges))
    terms = {study.columns[place].term for place, kind in zip(query.columns, kinds, strict=True) if kind == "level"}
    twice = 2 if study.neighbors == "replace-one" else 1
    square = twice * (numbers + len(terms)) + lone + answers
    return study.rows_per_person * _root_up(square << (2 * COUNT_BITS))


def norms_sensitivity(neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves a histogram of lengths, in halves or not, in l2 and 2^-COUNT_BITS: sqrt(2), or 1 if it is added.

    Why: a row is in one bin, of one half where there are two, so another one in its place moves two bins by one each, in
    whichever halves they are. A person of k rows: k times.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    return rows_per_person * _root_up((2 if neighbors == "replace-one" else 1) << (2 * COUNT_BITS))


def vector_sensitivity(square: Fraction, neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves the sum of clipped vectors, in l2 and whole numbers of 2^-clip_bits.

        replace-one: 2 radius;     add-remove-one: radius.

    Why: each of at most two versions of the record adds a vector of whole numbers whose squared length is at most `squared_norm`,
    and what is released is the sum itself. A person of k rows: k times, one by one.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    versions = 2 if neighbors == "replace-one" else 1
    return _root_up((rows_per_person * versions) ** 2 * squared_norm(square))


def product_sensitivity(square: Fraction, width: int, neighbors: Neighbors, rows_per_person: int = 1) -> int:
    """How far one record moves the released sum of vv', v clipped, in l2 and whole numbers of 2^(PRODUCT_SHIFT - 2 clip_bits).

        replace-one: sqrt(2) radius^2;     add-remove-one: radius^2.

    What is released is the diagonal and sqrt(2) times what is above it, so l2 is the length of the whole symmetric matrix.

    Why: |vv' - ww'|^2 = |v|^4 + |w|^4 - 2 (v'w)^2 <= 2 radius^4, and |vv'| = |v|^2. A person of k rows: k times, one by one. Each
    released number is the sum, times sqrt(2) or not, without its last digits: rounded down once, so that a difference of two moves
    by less than 1 more, and all of them by less than the root of their number.

    Source: ours. Tested: tests/claims/test_rounds_sensitivity.py
    """
    versions, largest = (2 if neighbors == "replace-one" else 1), rows_per_person * squared_norm(square)
    moved = _root_up(-(-versions * largest**2 >> (2 * PRODUCT_SHIFT)))
    return moved + _root_up(width * (width + 1) // 2)


def cluster_norms_sensitivity(study: Study) -> int:
    """How far one record moves a histogram of the lengths of clusters' sums, in l2 and 2^-COUNT_BITS: sqrt(2), or 1.

    Why: a cluster is in one bin, or in none where no row of it counts. A record that is added or removed moves the cluster that it
    belongs to, and that one alone, from one bin to another: sqrt(2). Where the record is the cluster itself, it comes or goes: 1;
    or another is in its place: sqrt(2). How many rows it has is nothing to this.

    Source: ours. Tested: tests/claims/test_cluster_sums.py
    """
    comes_or_goes = cluster_is_unit(study) and study.neighbors == "add-remove-one"
    return _root_up((1 if comes_or_goes else 2) << (2 * COUNT_BITS))


def cluster_is_unit(study: Study) -> bool:
    """Whether the rows that are added up together are all those of one person: the unit of privacy."""
    return study.together is not None and study.together == study.person


def cluster_product_sensitivity(row: Fraction, cluster: Fraction, width: int, study: Study) -> int:
    """How far one record moves the released sum over clusters of ss', in l2 and 2^(PRODUCT_SHIFT - 2 clip_bits(cluster)).

    Setting: g of a row is shortened to C1 (whose square is `row`) and cut to whole numbers; s of a cluster is the exact sum of its
    rows' g, shortened to C2 (whose square is `cluster`) and cut to whole numbers. |s| <= C2 as `squared_norm` says of any vector.

        the cluster is the unit (a person): replace-one sqrt(2) C2^2, add-remove-one C2^2, as for a row of that length;
        a row, or a person of up to k rows, within a cluster, added or removed: min(sqrt(2) C2^2, 2 k C1 C2).

    Why: a record changes the sum of its own cluster and no other. Let that be s before and t after. |ss' - tt'| <= sqrt(2) C2^2
    whatever both are (`product_sensitivity`). Before they were shortened they differed by the g of at most k rows, that is by at
    most k C1 in length. Shortening is the projection onto a ball, which brings no two vectors farther apart; so |s - t| <= k C1 but
    for rounding. With m = (s + t)/2 and d = s - t, ss' - tt' = md' + dm', of length at most 2 |m| |d| <= 2 C2 k C1.
    Rounding: the factor of each of s and t is off by less than a part in 2^40 (`squared_norm`), together less than one of their
    steps; cutting a cell towards zero adds less than 1 to a difference of two, so the root of their number to all of them. A new
    cluster is one whose sum was 0, and a cluster that goes is one whose sum becomes 0. With replace-one a row might change two
    clusters: `Study` refuses that. Weights: a share of at most 1 stands before each g, which makes it no longer.

    The released numbers are rounded down once more, as in `product_sensitivity`.

    Source: ours. Tested: tests/claims/test_cluster_sums.py
    """
    if cluster_is_unit(study):
        return product_sensitivity(cluster, width, study.neighbors)
    largest, steps = squared_norm(cluster), Fraction(2) ** (clip_bits(cluster) - clip_bits(row))
    apart = _root_up(study.rows_per_person**2 * squared_norm(row)) * steps + _root_up(width) + 1
    moved = min(2 * largest**2, math.ceil(4 * largest * apart**2))
    return _root_up(-(-moved >> (2 * PRODUCT_SHIFT))) + _root_up(width * (width + 1) // 2)


def query_sensitivity(query: Query, study: Study) -> int:
    """How far one record moves the released answer to a query, in l2 and its whole numbers."""
    neighbors, persons = study.neighbors, study.rows_per_person
    if isinstance(query, Rows):
        return rows_sensitivity(persons)
    if isinstance(query, Histograms):
        return histograms_sensitivity(query, study)
    if isinstance(query, Norms | ClusterNorms):
        clusters = isinstance(query, ClusterNorms)
        return cluster_norms_sensitivity(study) if clusters else norms_sensitivity(neighbors, persons)
    square = squared_radius(query)
    if isinstance(query, Gradient):
        return vector_sensitivity(square, neighbors, persons)
    if isinstance(query, Sandwich) and query.cluster_radius is not None:
        return cluster_product_sensitivity(square, squared_cluster_radius(query), vector_width(query), study)
    return product_sensitivity(square, vector_width(query), neighbors, persons)


def squared_cluster_radius(query: Sandwich) -> Fraction:
    """The square of the length to which a cluster's sum is shortened, exactly."""
    radius = query.cluster_radius
    if radius is None or not MIN_CLIP <= radius <= MAX_CLIP:
        raise StudyError("The radius of a cluster must be between 2^-30 and 2^30.")
    return Fraction(radius) ** 2


def answer_size(query: Query, study: Study) -> int:
    """How many numbers the released answer to a query has."""
    if isinstance(query, Rows):
        return 1
    if isinstance(query, ClusterNorms):
        return len(query.edges)
    if isinstance(query, Norms):
        return query.lines * len(query.edges)
    if isinstance(query, Histograms):
        kinds = column_kinds(study, query.columns)
        bins = sum(len(edges) + 1 if kind == "number" else 1 for edges, kind in zip(query.edges, kinds, strict=True))
        last = 1 if isinstance(study.response, Binary) else len(query.response_edges) + bool(query.response_edges)
        return bins + last
    width = vector_width(query)
    return width if isinstance(query, Gradient) else width * (width + 1) // 2


def vector_width(query: Gram | Gradient | Sandwich | ClusterNorms) -> int:
    """The cells of a row's vector."""
    return len(query.matrix[0]) + (isinstance(query, Gram) and query.response_top is not None)


def release_bits(query: Query) -> int:
    """The released answer is in whole numbers of 2 to minus this."""
    if isinstance(query, Rows | Histograms | Norms | ClusterNorms):
        return COUNT_BITS
    if isinstance(query, Sandwich) and query.cluster_radius is not None:
        return 2 * clip_bits(squared_cluster_radius(query)) - PRODUCT_SHIFT
    bits = clip_bits(squared_radius(query))
    return bits if isinstance(query, Gradient) else 2 * bits - PRODUCT_SHIFT


def _root_up(square: int) -> int:
    """The least whole number whose square is no less."""
    root = math.isqrt(square)
    return root + (root * root < square)


# The exact (epsilon, delta) of Gaussian noise, continuous and on whole numbers: of rounds, and of noisy moments as well.

ROUNDING_MARGIN = 2.0**-36
"""Covers, many times over, what the C library's exp and erfc and a few roundings can lose, relative to each term."""

ROUNDING_VARIANCE = 16
"""The variance that turns continuous noise into noise on whole numbers: see `discrete_is_within`."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least delta of continuous Gaussian noise whose scale is sensitivity/mu, rounded up.

        delta = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

    Source: Balle and Wang, arXiv:1805.06530, Theorem 8. It grows with mu.
    Tested: tests/claims/test_gaussian_price.py
    """
    if not mu > 0:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    above = math.erfc(near / math.sqrt(2)) / 2
    # Leaving the second term out only raises delta; so it may go where exp or erfc would leave the doubles.
    below = math.exp(epsilon) * math.erfc(far / math.sqrt(2)) / 2 if epsilon < 500 and far < 36 else 0.0
    return above * (1 + ROUNDING_MARGIN) - below * (1 - ROUNDING_MARGIN)


def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu, to about a part in 2^45, at which continuous Gaussian noise is (epsilon, delta)-DP."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 2.0**-45 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def discrete_deviation(sensitivity: float, mu: float) -> float:
    """The deviation of noise on whole numbers that is worth about mu: that of continuous noise, and more for being whole."""
    return math.hypot(sensitivity / mu, math.sqrt(ROUNDING_VARIANCE))


def discrete_is_within(rho: float, sensitivity: int, epsilon: float, delta: float) -> bool:
    """Is noise on whole numbers, with OpenDP's price rho = sensitivity^2 / (2 sigma^2), (epsilon, delta)-DP?

    Claim: independent discrete Gaussian noise N_Z(0, sigma^2) on at most a million whole numbers costs no more than
    continuous Gaussian noise of variance sigma^2 - 16, but for a share of 1e-100 of epsilon and delta.

    Why: let X be the number plus continuous noise of variance s^2 = sigma^2 - t^2, t = 4, and round X to a whole number Y'
    at random: P(Y' = y | X = x) = exp(-(y-x)^2/(2 t^2)) / r(x). By Poisson's summation formula the normalizing sum r(x)
    is within a factor 1 +- h of t sqrt(2 pi), whatever x is, with h = 2 sum_k exp(-2 pi^2 t^2 k^2) < 1e-136. So
    P(Y' = y) is within a factor 1/(1 -+ h) of the integral of N(x; 0, s^2) exp(-(y-x)^2/(2 t^2)) / (t sqrt(2 pi)), the density at
    y of a continuous Gaussian of variance s^2 + t^2 = sigma^2; and P(Y = y) for Y ~ N_Z is that density over its sum, which
    is within 1 +- h as well. So Y and Y' have chances within a factor exp(3h), m coordinates within exp(3hm) <= 1 + 1e-129.
    Y' is made from X alone and costs no more than X; hence Y costs (epsilon + 6hm, delta exp(3hm)) at most. ROUNDING_MARGIN, taken
    off epsilon and delta, is far larger.

    Source: ours; the randomized rounding is the smoothing lemma of lattice cryptography (Micciancio and Regev 2007).
    Tested: tests/claims/test_gaussian_price.py
    """
    return rho == 0 or composed_is_within([(rho, sensitivity)], epsilon, delta)


def composed_is_within(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> bool:
    """The same for several releases one after the other, each (rho, sensitivity), where later ones may look at earlier ones.

    Claim: together they cost no more than one continuous Gaussian of mu^2 = sum of mu_k^2.

    Why: given what was released before, each is within a factor exp(3h) a number of a randomized rounding of continuous noise, as
    above; so the whole sequence is made from an adaptive sequence of continuous Gaussian releases, which is no easier to tell
    apart than one whose mu squared is the sum (Dong, Roth and Su 2022, Corollary 3.3). ROUNDING_MARGIN covers the factors.

    Source: Dong, Roth and Su 2022; the step to whole numbers is ours.
    Tested: tests/claims/test_gaussian_price.py
    """
    total = Fraction(0)
    for rho, sensitivity in parts:
        variance = Fraction(sensitivity) ** 2 / (2 * Fraction(rho)) - ROUNDING_VARIANCE
        if not variance >= ROUNDING_VARIANCE:
            return False
        total += Fraction(sensitivity) ** 2 / variance
    mu = math.sqrt(total) * (1 + ROUNDING_MARGIN)
    return gaussian_delta(mu, epsilon * (1 - ROUNDING_MARGIN)) <= delta * (1 - ROUNDING_MARGIN)
