"""Public. Why survey weights and clusters cost nothing: thinned neighbours are neighbours, and no row counts more than once."""

from __future__ import annotations

from dpselect.assume.lemmas.rounds import query_sensitivity
from dpselect.assume.lemmas.sensitivity import margin_range
from dpselect.assume.queries import Query
from dpselect.assume.study import Study

SHARE_BITS = 32
"""A row's share w/W is a whole number of 2^-32, as its coin is."""
SHARE_STEP_BITS = 20
"""In the sums of rounds a share is a whole number of 2^-20, and in their counts of 2^-10."""


def sampled_range(partitions: int) -> int:
    """The range of the scores of votes, whole-model and edge votes alike, of a weighted or clustered sample: as of any table.

    Setting: W is public. A row with the weight w has the share s(w) = min(w/W, 1), rounded to a whole number of 2^-32; 0 where w is
    zero, and where it is missing, negative or infinite and the study does not refuse such cells. In each dealing of each family the
    row draws a coin of its own, uniform on the whole numbers below 2^32 and drawn as its block is, from the operating system; it
    takes part in that dealing if the coin lies below 2^32 s(w), else it is in no block of it. All rows of a cluster draw one block.

    Claim: given blocks and coins, one block of each dealing differs between neighbouring tables at most, by one row (or by the rows
    of one person) replaced, added or removed. So every score moves by at most 2T votes, and those of any two candidates by 4T
    against each other, which is `margin_range` and `edge_range`; for replace-one and add-remove-one alike.

    Why, without clusters: whether a row takes part depends on its own weight, its own coin and the public W, and on nothing else:
    not on the sum of weights, not on how many rows there are. Give the rows that both tables share the same blocks and coins, and
    the new row those of the old one, which are as uniform. A shared row then takes part in a dealing of both tables or of neither,
    and in the same block. The old row is in one block of the dealing or in none, the new one in the same block or in none: that
    block has a row replaced, or removed, or added, or nothing has changed. What a block votes is a function of the set of its
    rows, between -1 and 1, whatever these are; so all that `margin_range` and `edge_range` say of a block that differs holds. It
    holds for every choice of coins, hence on average; new coins in each dealing are free, because each dealing pays for itself
    anyway. Persons whose rows go together are covered: each of their rows has a coin, and all are in one block.

    Why, with clusters (add-remove-one): the block of a cluster is a keyed hash of its name. A row that is added or removed lies in
    the block of its cluster and changes no other; nor does a person, for the unit of privacy is then a person *within* a cluster
    (the same name in two clusters is two units), all of whose rows have one cluster and hence one block. The block differs by these
    rows alone. With replace-one this fails: a row that is replaced may come back in another cluster, and two blocks differ; `Study`
    refuses it. Where the cluster is the unit itself (`person` names the same column), the new cluster takes the old one's chance.

    Why rounding is nothing: s(w) is one double operation after the other on the row's own weight, so that every engine has the same
    whole number; that it is off by up to 2^-33 changes how often the row counts, and none of the above.

    Attained: a row with a weight of at least W that turns all votes of its blocks.

    Source: ours; thinning by inverse inclusion is Poisson subsampling with chances that only the row's own record decides, so
    nothing is said here about amplification.
    Tested: tests/claims/test_sampling.py
    """
    return margin_range(partitions)


def weighed_sensitivity(query: Query, study: Study) -> int:
    """How far one record moves the released answer to a query of a round where rows have weights: as far as without.

    Setting: a row with the share s = min(w/W, 1), on a public grid and between 0 and 1, adds s to the counts that it is in, where
    a row without weights adds 1; the vector s g to a gradient, g clipped as before; the products of sqrt(s) v to a Gram, v clipped
    as before; and the products of s g to a sandwich.

    Claim: `query_sensitivity` holds unchanged, for both relations and for persons.

    Why: every lemma of `rounds` uses one thing of a row's own vector, that its squared length is at most `squared_norm`, and of its
    counts that each moves by at most 1. A factor between 0 and 1 that stands before the cut to whole numbers makes no cell longer,
    and is one rounding (two with the root) among those that NORM_SLACK covers many times over. Of two versions of a row the counts
    s and s' in two bins move by sqrt(s^2 + s'^2) <= sqrt 2, in one bin by |s - s'| <= 1; so do levels of a category; a lone dummy
    moves by at most 1. |s vv' - s' ww'|^2 = s^2 |v|^4 + s'^2 |w|^4 - 2 s s' (v'w)^2 <= 2 radius^4. The clip looks at g and v alone,
    not at the weight, so that what is estimated is what the clip makes of the population. Whether a row counts at all (a weight of
    zero, or one that is not usable) is decided by itself.

    Source: ours. Tested: tests/claims/test_sampling.py
    """
    return query_sensitivity(query, study)
