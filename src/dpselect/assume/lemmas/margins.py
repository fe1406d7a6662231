"""Public. How far one record, or one person, can move the scores of block votes."""

from __future__ import annotations


def margin_range(partitions: int) -> int:
    """The range of the change of the scores over candidates: 4T, with replace-one and add-remove-one alike.

    Setting: in each of T partitions every row goes to one of m blocks, by a chance that has nothing to do with the table's
    contents or with the row's place in it. What a block says (for each column a vote for, a vote against or none) is a function
    of the set of its own rows and of public numbers. P_j counts the votes for column j over all blocks and partitions, N_j
    those against it. The agreement on a term is the largest lead among its columns, A = max |P_j - N_j|, and with a public
    whole number t

        score(M) = min( min over terms in M of A - t,   t - max over terms not in M of A ),

    terms that every candidate has being left out of both.

    Claim: given the assignment, |score(M; D') - score(M; D)| <= 2T for every candidate M and all neighbouring tables D and D',
    so that the changes of any two candidates differ by at most 4T.

    Why: couple the assignments of D and D' so that the rows they share go to the same blocks; the row that differs is in one
    block of each partition at most (of D, of D', or replaced in one and the same: let the new row take the old one's chance).
    Only that block's votes can change, each between -1 and 1, so in each partition P_j - N_j moves by at most 2, and over all
    by at most 2T. Absolute value, maximum and minimum are 1-Lipschitz in the largest change of their arguments, and t is
    public; hence the score moves by at most 2T. Nothing was assumed of the row: no bound, no norm, no type. A person whose
    rows all go to the same block is covered by the same words: one block of each partition changes, however many of its
    rows do.

    What is added to the scores must be public and the same for both tables: a price for each term, a limit of size.
    The choice is drawn from the scores given the assignment, and the assignment is never released; a guarantee that holds
    for every assignment holds for their average.

    Attained: one row can flip the votes of its blocks for every column at once, which moves a model that has a term on the
    threshold by 2T one way and one that lacks it by 2T the other way. (Counted in half votes, an abstention being half a
    vote for either side, the same agreement moves by T and the range is 2T; a lead is a whole number.)

    Source: ours; subsample and aggregate (Nissim, Raskhodnikova and Smith 2007) with a score for sets of terms.
    Tested: tests/claims/test_margin_range.py
    """
    return 4 * partitions
