"""Public. How far one record can move a loss, a score or a vote, and the range that a choice must pay for."""

from __future__ import annotations

import math

from dpselect.assume.budget import Neighbors

MAXIMUM_ROWS = 2**32
"""No table may have more rows; rounding errors below are bounded with it where n is private."""

TOLERANCE = 2.0**-20
"""The solver's tolerance tau, as a share of (r+R)^2.

Not smaller, because a loss of MAXIMUM_ROWS rows, up to 2^32 r^2, is off by up to 2^-21 r^2 when it is rounded to a double.
"""


def round_up(value: float) -> float:
    """A little above `value`, by more than a few floating-point operations can have lost."""
    return value * (1 + 2.0**-48)


def loss_sensitivity(r: float, R: float, records: int = 1) -> float:
    """How far one record can move the least loss of any one candidate: (r+R)^2; a person with k records, k times as far.

    Why: by Hoelder |x.b| <= ||x||_inf ||b||_1 <= R, so no residual exceeds r+R and one record adds between 0 and
    (r+R)^2 to the sum, whatever b is; two functions within D of each other have minima within D of each other.
    Replacing, adding and removing are all covered, and adding a record never lowers a loss. k records are changed one after
    the other.

    Source: Lei et al., arXiv:1607.04204, Lemma 3.1 (there without proof).
    Tested: tests/claims/test_sensitivity.py
    """
    return round_up(records * (r + R) ** 2)


def loss_range(r: float, R: float, neighbors: Neighbors, records: int = 1) -> float:
    """The range w of the change of the losses over candidates: max minus min of loss(M; D') - loss(M; D).

        w = w0 (add-remove-one) or 2 w0 (replace-one),   w0 = (r+R)^2 - max(r-R, 0)^2;   k w for a person with k records.

    Why: a record with response y has residuals of size between max(|y|-R, 0) and |y|+R. Adding it therefore raises every
    candidate's loss by at least the square of the first and at most the square of the second, and the difference of the
    two squares grows with |y|, so it is at most w0. Replacing is removing and adding. A choice that ignores a shift common
    to all candidates has to pay for this range only, never more than 2 (r+R)^2, and 8rR when R <= r. There w0 is computed as
    4rR, because the difference of the squares would lose all digits of a small R. A person's k records are changed one after
    the other, and the range of a sum is at most the sum of the ranges.

    Source: ours; Lei et al. pay 2 (r+R)^2.
    Tested: tests/claims/test_sensitivity.py
    """
    once = 4 * r * R if R <= r else (r + R) ** 2
    return round_up(records * (2 * once if neighbors == "replace-one" else once))


MANY_ROWS = 2**24
"""Beyond so many rows doubles lose digits faster than a fixed tolerance allows, and tau grows with a public n."""


def solver_tolerance(r: float, R: float, rows: int | None = None) -> float:
    """The public tau: every computed loss is within tau of the true one.

    Stated before rows are read and the same for every table of its size, so it can be paid for in advance; the solver
    certifies each loss to within it and computes exactly what it cannot certify. Where n is public (`rows`) tau grows with
    it beyond 2^24 rows, so that long tables do not send every candidate to the exact solver; where n is private it cannot.
    """
    return TOLERANCE * max(1.0, (rows or 0) / MANY_ROWS) * (r + R) ** 2


def certified_range(exact_range: float, error: float) -> float:
    """The range of the computed scores' change when each is within `error` of the true score: w + 4 error.

    Why: the change of a computed score differs from that of the true one by at most 2 error (one on each table); the
    difference of two changes by at most 4.

    Source: ours.
    Tested: tests/claims/test_sensitivity.py
    """
    return round_up(exact_range + 4 * error)


def score_rounding(largest_loss: float, largest_penalty: float) -> float:
    """How far floating point can move the sum loss + penalty, for losses and penalties up to these sizes.

    Why: one addition of doubles is off by at most 2^-53 of its result. The penalty of a candidate is a public number, the
    same for every table, so what rounding did to it before does not matter. Twice that is taken.

    Source: ours.
    Tested: tests/claims/test_sensitivity.py
    """
    return 2.0**-52 * (largest_loss + largest_penalty)


def profile_change(least_loss: float, n: int, sensitivity: float, *, as_printed: bool = False) -> float:
    """A bound G on the change of n log(loss(M)/n), for every candidate, from a lower bound on the least loss.

        G = -n log(1 - B/m)   if m > B, else infinity;       as printed in the paper: n B/(m - B).

    Why: let every loss be at least m > B and move by at most B. Then log(loss/loss') <= log(loss/(loss - B)) =
    -log(1 - B/loss) <= -log(1 - B/m), and log(loss'/loss) <= log(1 + B/m), which is smaller. The printed form is
    larger, because -log(1-x) <= x/(1-x). Changes in [-G, G] have a range of at most 2G.

    Source: Lei et al., Lemma 3.2 and Algorithm 2; the tighter form is ours.
    Tested: tests/claims/test_profile_bound.py
    """
    if not least_loss > sensitivity:
        return math.inf
    odds = sensitivity / (least_loss - sensitivity)
    # log1p(odds) is -log(1 - B/m) without the cancellation that m near B would bring.
    return round_up(n * odds if as_printed else n * math.log1p(odds))


def profile_rounding(n: int, sensitivity: float, largest_penalty: float) -> float:
    """How far floating point can move n log(max(loss, B)/n) + penalty, for losses of at most max(n, B).

    Why: the quotient is off by a relative 2^-53, which moves n log by 2^-53 n; the logarithm (within two units in the last
    place), the product and the sum are each off by a relative 2^-52 at most of a value of at most n |log(B/n)| plus the
    penalty. 2^-49 of n (1 + |log(B/n)|) plus the penalty covers them all.

    Source: ours.
    Tested: tests/claims/test_profile_bound.py
    """
    return 2.0**-49 * (n * (1 + abs(math.log(sensitivity / n))) + largest_penalty)


def profile_shift(delta: float) -> float:
    """By how many noise scales the noisy least loss is lowered, so that it is above the true one with chance delta only.

    Why: a standard Laplace Z has P(Z > t) = exp(-t)/2 for t >= 0, which is delta at t = log(1/(2 delta)).

    Source: Lei et al., section 3.2.2.
    Tested: tests/claims/test_profile_bound.py
    """
    # Not log(1/(2 delta)): rounding the quotient would eat the digits of a t near 0.
    return round_up(-math.log(2 * delta))


WHOLE_VOTE = 64
"""A block's vote on a column is a whole number of 64ths from -WHOLE_VOTE to WHOLE_VOTE; so are leads, thresholds and scores."""


def margin_range(partitions: int) -> int:
    """The range of the change of the scores over candidates: 4T whole votes, 256 T 64ths; replace-one and add-remove-one alike.

    Setting: in each of T partitions every row goes to one of m blocks, by a chance that has nothing to do with the table's
    contents or with the row's place in it. What a block says (for each column a vote between -u and u, u = `WHOLE_VOTE`) is a
    function of the set of its own rows and of public numbers. The lead L_c of a column is the sum of its votes over all blocks
    and partitions. The agreement on a term is the largest lead among its columns, A = max |L_c|, and with a public whole number t

        score(M) = min( min over terms in M of A - t,   t - max over terms not in M of A ),

    terms that every candidate has being left out of both. With directions a candidate takes one option of each term: "out", worth
    t - A; "in, and column c goes up", worth L_c - t; or "in, and column c goes down", worth -L_c - t, for a column c of the term.
    Without directions there is one option "in", worth A - t. The score is the least of the values of the options taken. Terms that
    must be in are excused from the threshold: in candidates that have no more terms than the fewest allowed, and in groups of
    which exactly one term is in, "in" is worth t more than nothing, A + t or L_c + t or -L_c + t.

    Claim: given the assignment, |score(M; D') - score(M; D)| <= 2Tu for every candidate M and all neighbouring tables D and D',
    so that the changes of any two candidates differ by at most 4Tu, with directions and without.

    Why: couple the assignments of D and D' so that the rows they share go to the same blocks; the row that differs is in one
    block of each partition at most (of D, of D', or replaced in one and the same: let the new row take the old one's chance).
    Only that block's votes can change, each between -u and u, so in each partition L_c moves by at most 2u, and over all
    by at most 2Tu. The value of every option is one lead with a sign, or minus a largest |lead|, or a minimum of such, plus a
    public constant: sign, absolute value, maximum and minimum are 1-Lipschitz in the largest change of their arguments. The score
    is a minimum of values, hence moves by at most 2Tu. How many options there are does not matter, nor which candidate takes
    which. Nothing was assumed of the row: no bound, no norm, no type. A person whose rows all go to the same block is covered by
    the same words: one block of each partition changes, however many of its rows do.

    Why |v| <= 1: the vote is (clip - mu)/(1 + |mu|) with clip between -1 and 1 and any number mu, so its size is at most
    (1 + |mu|)/(1 + |mu|) = 1, or it is a sign. Rounding to the nearest 64th keeps that, for 1 is one of them; and what the
    program rounds to a number beyond 64 64ths, or to none, counts as 0 (`minimize.votes.lanes`). clip and mu follow from sums of
    products and cubes of the block's rows alone, which are exact, so that neither their order nor another block can enter.

    What is added to the scores must be public and the same for both tables: a price for each term, a limit of size.
    The choice is drawn from the scores given the assignment, and the assignment is never released; a guarantee that holds
    for every assignment holds for their average.

    Attained: one row can flip the votes of its blocks for every column at once, which moves a model that has a term on the
    threshold by 2Tu one way and one that lacks it by 2Tu the other way; so do, with directions, "up" and "down" for one column.

    Source: ours; subsample and aggregate (Nissim, Raskhodnikova and Smith 2007) with a score for sets of terms.
    Tested: tests/claims/test_margin_range.py, tests/claims/test_directions.py, tests/claims/test_votes_audit.py
    """
    return 4 * partitions * WHOLE_VOTE


def edge_range(partitions: int) -> int:
    """The range of the change of the scores of edge votes: 4T whole votes, 256 T 64ths, as that of whole-model votes.

    Setting: terms 1..p. For each k = 0 .. top there is a family of T dealings of the rows into blocks, as in `margin_range`, or
    into equal blocks by a random permutation of places where the number of rows is public. For every set S of k terms and every
    column c outside it, a block of family k votes v in [-1, 1], a function of the set of the block's own rows and of public
    numbers. L_c(S) is the sum of v over the blocks of all T dealings of family |S|, A_j(S) = max |L_c(S)| over the columns of term
    j; with public whole numbers t_k of 64ths

        score(M) = min( A_j(M without j) - t_(|M|-1) over j in M,   t_|M| - A_j(M) over j not in M ),    |M| <= top,

    and with directions a candidate names for each of its terms a column c of it and a sign s, and s L_c(M without j) stands for
    A_j(M without j). Terms that must be in (`margin_range`) have + t_(|M|-1) in place of - t_(|M|-1). Models beyond `top` do not
    compete, whatever the rows are.

    Claim: given the dealings of all families, |score(D') - score(D)| <= 2T votes for every candidate and all neighbouring tables,
    so that the changes of any two candidates differ by at most 4T votes.

    Why: a lead is made of the T dealings of one family. Couple the dealings of D and D' as in `margin_range`: of each dealing one
    block at most differs, and its vote on c beside S lies between -1 and 1 before and after. So each L_c(S) moves by at most 2T,
    whatever S and c are, and however many regressions were run in the block. Absolute value, sign, maximum and minimum are
    1-Lipschitz in the largest change of their arguments, and thresholds are public; hence each score moves by at most 2T. That a
    score looks at leads of two families, |M|-1 and |M|, adds nothing: a minimum moves by the largest change of its arguments, not
    by their sum.

    Why equal blocks are covered (replace-one, rows counted and not merely stated, so that all of them have labels): the table of
    labels is a uniformly random permutation, drawn before and without a look at the rows, and the row that arrives i-th takes label
    i. Whatever the order o of arrival is, it does not know the permutation; so which block a row goes to has the law of a random
    equal dealing of the set of rows. D and D' have as many rows: let the new row stand where the old one stood, pi(o(i)) be its
    label in both (if o' is the order of D', pi o o'^-1 is as random as pi), and all other rows go to the same blocks.

    Attained: one row can turn the votes of its blocks from 1 to -1 on every column beside every set.

    Source: ours.
    Tested: tests/claims/test_edge_range.py
    """
    return margin_range(partitions)


def wide_range(partitions: int) -> int:
    """The range of the change of the scores of votes in wide tables: 4T whole votes, 256 T 64ths, as that of all votes.

    Setting: rows are dealt T times into blocks as in `margin_range` or `edge_range`. Of a long table a row is kept by a coin of
    its own, with a public chance, drawn from the operating system once for all dealings; one that is not kept is in no block. A
    block of two rows votes on a column with sign((x_i - x_k)(y_i - y_k)); one of r > 2 rows with the mean of r such signs,
    rounded to a 64th; or, in dual blocks, with the sign of Z'w (`minimize.votes.wide`). The score is that of `margin_range`, with
    directions or without. One more candidate, "nothing, because too many terms lead", has the score A_(c) - t less a public
    price, A_(c) the c-th largest of the agreements on all terms, with a public c.

    Claim: given dealings and coins, |score(D') - score(D)| <= 2T votes for every candidate and all neighbouring tables, so that the
    changes of any two candidates differ by at most 4T votes. In the pairs' own words: a lead moves by at most 2T.

    Why: a sign and a mean of signs lie between -1 and 1, and so does the mean rounded to a 64th, for 1 is one of these. Each vote
    is a function of the set of the block's own rows, with public numbers: no unit, no centre and no matrix is made of another
    row. Where rows must be taken in some order, it is that of a digest of each row, which that row alone decides; two rows with
    one digest are the same row, as far as anybody can find two that are not (BLAKE2b, 128 bits). Give the rows that D and D'
    share the same blocks and the same coins, and the new row those of the old one. Then one block of each dealing differs at
    most, and the rest is word for word as in `margin_range`: how many columns there are, thousands or more, appears nowhere. The
    c-th largest of some numbers moves by no more than the one that moves most: it is the largest, over all sets of c of them, of
    the least in the set, and maximum and minimum are 1-Lipschitz. Two outcomes that say the same are one of their kind to whoever
    sees them, which can only hide which it was.

    Why sums are no way round it: all that is added up in a dual block is whole numbers small enough for a sum to be exact in any
    order, or is added element by element in the order of the digests; so what stands beside a block in memory cannot enter.

    Attained: in pairs, a row that is the larger in every column and in the response, replaced by one that is the smaller in every
    column and the larger in the response, turns the votes of its T blocks on all columns from 1 to -1.

    Source: ours.
    Tested: tests/claims/test_wide_range.py
    """
    return margin_range(partitions)


def second_look_range(partitions: int) -> int:
    """The range of the change of the scores of wide tables with a second look: 4T whole votes, 256 T 64ths, as that of all votes.

    Setting: terms 1..p, and for every term j and every set S of other terms a lead of each of j's columns beside S. Those beside
    nothing are leads of T dealings as in `wide_range`. Those beside a set are of U dealings of another family, T a multiple of U,
    as in `edge_range`: T/U times the sum of votes between -1 and 1, each a function of S, the column and the set of the block's own
    rows. A term takes one option, worth v(S) = A_j(S), the largest |lead| of its columns; or, with directions, where each term
    has one column, one of two: max(L_j(S), 0) for up and max(-L_j(S), 0) for down. With public whole numbers t, t', h, K, N and
    top, a candidate M being options of at most `top` different terms and x, y single options,

        w_x(S) = v_x(S) - t' of a set, v_x() - t of the empty one;     G_x(S) = the least w_x(R) over all R within S
        F(M) = the least G_x(M without x) over x in M;                 O(M) = - the largest G_y(M) over options y of terms outside M
        u = the (K+1)-th largest w_x();      g = the largest of -h, u, and the (N+1)-th largest F(M) of so many terms, for 1..top
        score(M) = min( w_x() over x in M,  max( min(F(M), O(M)), g ),  -u )
        score(nothing) = max( g, min( O(nothing), -u ) )

    Claim: given all dealings and coins, |score(D') - score(D)| <= 2T votes for every candidate and all neighbouring tables, so that
    the changes of any two candidates differ by at most 4T votes.

    Why: couple the dealings of both families as in `margin_range`; of each dealing one block at most differs. A lead beside nothing
    moves by at most 2T. A sum of votes of the U dealings moves by at most 2U, and T/U times that by at most 2T. So all leads there
    are, of all columns beside all sets, move by at most 2T; and everything else is made of them by sizes, signs, constants, maxima,
    minima and order statistics, each 1-Lipschitz in the largest change of its arguments (for order statistics see `wide_range`).
    Which leads were computed does not matter: the score is a function of all of them, and no choice of columns is made that the
    score does not make.

    Why few of them are needed (this is about time, not about privacy): let C be the terms worth more than g by themselves, at most
    K, as g >= u. G falls as its set grows and is at most w_x(). If a term of M is not in C, then F(M) <= g and the score is
    min(w_x() over x in M, -u). If all are and F(M) <= g, it is min(g, -u). Else F(R) > g for every R within M, and O(M) matters
    only where it is less than -u, that is, because of options y of the K terms that lead most. Sets are found from those of one
    term less, and g of one size from the sets whose F is above that of the size before: at most N of each size. A wrong direction
    has w_x() = -t <= -h <= g, so all candidates with one are worth min(-t, -u); and a direction that a term has by itself and loses
    beside a set has w = -t' < -h there.

    What it does for crowds: where many terms lead, u is above 0, nothing is worth u at least and all other models at most -u.

    Attained: a row that is the larger in every column and in the response, replaced by one that is the smaller in every column.

    Source: ours.
    Tested: tests/claims/test_second_look_range.py, tests/penalize/test_second_look.py
    """
    return margin_range(partitions)
