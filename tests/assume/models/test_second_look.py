"""The public rule of the second look: where it is taken, and what is refused."""

from itertools import product

import msgspec
import pytest

from dpselect import Numeric, Study, StudyError, Subsets
from dpselect.assume.candidates import candidates_for
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, second_look_range
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.wide_rule import (
    LEADERS,
    MOST_LOOK_BLOCKS,
    SecondLook,
    WideRule,
    looks_again,
    wide_rule,
)

SECOND = {"blocks": 9, "partitions": 2, "threshold": 9, "floor": 3, "leaders": 2, "sets": 9, "top": 3}


def held(p, rows, epsilon=1, **more):
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)], **more)
    return make_recipe(study, Choice(), rows=rows, epsilon=epsilon).votes


@pytest.mark.parametrize(
    ("p", "short", "long"), [(200, 2300, 3000), (1000, 2500, 3000), (10_000, 3000, 4000), (20_000, 3500, 4500)]
)
def test_where_it_begins(p, short, long):
    """About the rows by which it was measured (docs/VOTES.md); a shorter table has one look."""
    assert held(p, short).second is None
    assert held(p, long).second is not None
    assert held(p, long, epsilon="0.25").second is None


def test_every_number_is_within_its_limits():
    for rows, columns, epsilon in product((10, 3000, 10**5, 10**9), (41, 300, 20_000), (1e-3, 0.3, 1.0, 50.0)):
        rule = wide_rule(rows, columns, columns, epsilon, again=1)
        second = rule.second
        if second is None:
            continue
        assert rule.range == second_look_range(rule.partitions)
        assert second.floor < second.threshold and second.floor <= rule.threshold
        assert second.blocks <= MOST_LOOK_BLOCKS and rule.partitions % second.partitions == 0
        assert rule.crowd == second.leaders + 1 == LEADERS + 1
        # No lead beside a set can be more than all of the blocks.
        assert second.threshold + second.floor < second.blocks * rule.partitions * WHOLE_VOTE
        assert msgspec.json.decode(msgspec.json.encode(rule), type=WideRule) == rule


def test_only_where_all_sets_compete():
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(60)])
    assert looks_again(study, candidates_for(study, None)) == 1
    for other in (Subsets(max_size=5), Subsets(at_least=1), Subsets(always=["x1"]), [["x1"], ["x2"]]):
        assert not looks_again(study, candidates_for(study, other))
    # One column that is always in is no intercept, where there is none.
    bare = Study(study.response, study.predictors, intercept="none", always=["x1"])
    assert not looks_again(bare, candidates_for(bare, None))
    few = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(LEADERS)])
    assert not looks_again(few, candidates_for(few, None))


def test_wide_terms_have_fewer_blocks_or_none():
    """What is kept of a block grows as the square of the columns of the widest terms: 200 MB is enough, whichever lead."""
    two, three, five = (wide_rule(8000, 600, 300, 2.0, again=widest).second for widest in (2, 3, 5))
    assert two.blocks > three.blocks > 200 and five is None


def test_what_does_not_fit_together_is_refused():
    for name in SECOND:
        for wrong in (0, 1.5, True, 2**31):
            with pytest.raises(StudyError, match=name):
                SecondLook(**SECOND | {name: wrong})
    with pytest.raises(StudyError, match="floor"):
        SecondLook(**SECOND | {"floor": 9})
    good = {"size": 8, "blocks": 9, "partitions": 4, "threshold": 9, "price": 1.0, "crowd": 3}
    WideRule(**good, second=SecondLook(**SECOND))
    for wrong in ({"partitions": 3}, {"threshold": 2}, {"crowd": 0}):
        with pytest.raises(StudyError, match="multiple"):
            WideRule(**good | wrong, second=SecondLook(**SECOND))
