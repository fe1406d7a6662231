from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.candidates import CandidateList, SubsetRule, all_subsets, columns_of, crowd_place, mask_of
from dpselect.errors import StudyError


def brute_force(rule: SubsetRule) -> list[int]:
    """All candidates of a rule by trying every set of terms, in the order of the set read as a binary number."""
    found = []
    for code in range(2 ** len(rule.terms)):
        chosen = [term for t, term in enumerate(rule.terms) if code >> t & 1]
        size = sum(term.bit_count() for term in chosen)
        mask = rule.always | sum(chosen)
        one_each = all(sum(code >> t & 1 for t in group) == 1 for group in rule.one_of)
        small = rule.max_size is None or size <= rule.max_size
        with_parts = all(code >> part & 1 for term, part in rule.needs if code >> term & 1)
        if small and len(chosen) >= rule.at_least and one_each and with_parts and (mask or rule.empty):
            found.append(mask)
    return found


@st.composite
def rules(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    width, terms = 0, []
    for size in sizes:
        terms.append(((1 << size) - 1) << width)
        width += size
    always = draw(st.sampled_from([0, 1 << width]))
    width += int(always > 0)
    max_size = draw(st.one_of(st.none(), st.integers(1, 10)))
    at_least = draw(st.integers(0, 3))
    # Groups of neighbours, whose order is that of the binary number.
    cuts = sorted(draw(st.sets(st.integers(0, len(sizes)), max_size=3)))
    one_of = tuple(tuple(range(start, stop)) for start, stop in pairwise(cuts))
    # Later terms need earlier ones, and all that are linked follow each other: again the order of the binary number.
    linked = st.tuples(st.just(len(sizes) - 1), st.integers(0, len(sizes) - 2)) if len(sizes) > 1 else st.nothing()
    needs = tuple(draw(st.lists(linked, max_size=2, unique=True))) if len(sizes) > 1 and not one_of else ()
    if needs:
        needs = tuple((term, other) for term, part in needs for other in range(part, len(sizes) - 1))
    try:
        return SubsetRule(width, tuple(terms), always, max_size, draw(st.booleans()), at_least, one_of, needs)
    except StudyError:
        return SubsetRule(width, tuple(terms), always, max_size, empty=True)


def test_terms_that_need_each_other_far_apart_and_in_groups():
    terms = tuple(1 << place for place in range(7))
    for needs, one_of in (
        (((5, 0), (5, 3), (6, 5)), ()),
        (((6, 0), (5, 1)), ((1, 3),)),
        (((4, 0), (4, 2)), ((0, 2, 3), (1, 5))),  # never: both of a group
    ):
        rule = SubsetRule(7, terms, empty=True, one_of=one_of, needs=needs)
        expected = brute_force(rule)
        assert sorted(rule) == sorted(expected) == sorted(rule.masks().tolist())
        assert rule.count == len(expected) == len({rule.index(mask) for mask in expected})
        assert [rule.mask(rule.index(mask)) for mask in expected] == expected
        assert [mask in rule for mask in range(2**7)] == [mask in expected for mask in range(2**7)]
        assert all(sum(rule.parts(mask)) == mask for mask in expected)


@settings(derandomize=True)
@given(rules())
def test_a_rule_counts_walks_and_indexes_what_brute_force_lists(rule):
    expected = brute_force(rule)
    assert rule.count == len(rule) == len(expected)
    assert list(rule) == expected
    assert rule.masks().tolist() == expected
    assert [rule.index(mask) for mask in expected] == list(range(len(expected)))
    assert [rule[i] for i in range(len(expected))] == [columns_of(mask) for mask in expected]
    assert rule.sizes().tolist() == [mask.bit_count() for mask in expected]
    assert rule.largest() == max(mask.bit_count() for mask in expected)
    assert all(mask in rule for mask in expected)


@settings(derandomize=True)
@given(rules(), st.integers(0, 2**20))
def test_what_is_no_candidate_has_no_place(rule, mask):
    if mask not in brute_force(rule):
        assert mask not in rule
        with pytest.raises(ValueError, match=r"columns|candidate"):
            rule.index(mask)


def test_all_subsets_are_the_masks_in_integer_order():
    assert list(all_subsets(3)) == [1, 2, 3, 4, 5, 6, 7]
    assert list(all_subsets(3, empty=True)) == list(range(8))
    assert all_subsets(3).is_full_lattice
    assert not SubsetRule(3, (1, 2, 4), max_size=2).is_full_lattice
    assert not SubsetRule(3, (3, 4)).is_full_lattice


def test_a_size_is_kept_as_what_json_can_write():
    assert type(SubsetRule(3, (1, 2, 4), max_size=np.int64(2)).max_size) is int
    with pytest.raises(StudyError, match="max_size is True; it must be a whole number"):
        SubsetRule(3, (1, 2, 4), max_size=True)


def test_at_most_four_of_forty_columns_are_102_090_and_never_stored():
    rule = SubsetRule(40, tuple(1 << j for j in range(40)), max_size=4)
    assert rule.count == 102_090
    assert rule.mask(102_089) == 0b1111 << 36
    assert rule.index(1 << 39 | 1) == list(rule.masks()).index(1 << 39 | 1)


def test_more_candidates_than_can_be_listed_can_still_be_counted_and_indexed():
    rule = all_subsets(100)
    assert rule.count == 2**100 - 1
    assert rule.mask(2**99) == 2**99 + 1
    assert rule.index(2**99 + 1) == 2**99
    with pytest.raises(StudyError, match="max_size"):
        rule.masks()


def test_thousands_of_terms_are_counted_without_a_table():
    terms = tuple(1 << j for j in range(4000))
    assert SubsetRule(4000, terms).count == 2**4000 - 1
    assert SubsetRule(4000, terms, at_least=2).count == 2**4000 - 4001
    assert SubsetRule(4000, terms, max_size=3, at_least=2).count == comb(4000, 2) + comb(4000, 3)
    assert 0b11 in SubsetRule(4000, terms, at_least=2)
    assert 0b1 not in SubsetRule(4000, terms, at_least=2)


def test_few_candidates_of_many_terms_are_listed_without_the_others():
    """All but one of 60 terms: 61 candidates among 2^60 sets."""
    rule = SubsetRule(60, tuple(1 << j for j in range(60)), at_least=59)
    assert sorted(rule.masks().tolist()) == sorted({2**60 - 1, *(2**60 - 1 - (1 << j) for j in range(60))})


def test_more_than_64_columns_are_refused_where_masks_are_listed():
    rule = SubsetRule(70, tuple(1 << j for j in range(70)), max_size=1)
    with pytest.raises(StudyError, match="70 columns"):
        rule.masks()


def test_negative_places_count_from_the_end():
    assert all_subsets(3)[-1] == (0, 1, 2)
    with pytest.raises(IndexError):
        all_subsets(3)[7]


def test_a_list_keeps_its_order():
    listed = CandidateList(4, (0b1010, 0b1, 0))
    assert [listed[i] for i in range(3)] == [(1, 3), (0,), ()]
    assert listed.index(1) == 1
    assert listed.masks().dtype == np.uint64
    assert listed.to_dict()["models"] == [[1, 3], [0], []]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CandidateList(2, ()), "empty"),
        (lambda: CandidateList(2, (4,)), "outside"),
        (lambda: CandidateList(2, (1, 2, 1)), "twice"),
        (lambda: SubsetRule(2, (1, 1)), "of its own"),
        (lambda: CandidateList(2, (1, -1)), "outside"),
        (lambda: SubsetRule(2, (1,), always=4), "always in is outside"),
        (lambda: SubsetRule(2, (1,), always=-1), "always in is outside"),
        (lambda: SubsetRule(2, (4,)), "inside"),
        (lambda: SubsetRule(2, (-1,)), "inside"),
        (lambda: SubsetRule(2, (0,)), "of its own"),
        (lambda: SubsetRule(2, (1, 2), max_size=-1), "max_size is -1"),
        (lambda: SubsetRule(2, (1, 2), max_size=0), "No candidate"),
        (lambda: SubsetRule(0, ()), "No candidate"),
        (lambda: SubsetRule(2, (1, 2), at_least=3), "No candidate"),
        (lambda: SubsetRule(2, (1, 2), max_size=1, at_least=2), "No candidate"),
        (lambda: SubsetRule(2, (1, 2), at_least=-1), "at_least is -1"),
        (lambda: SubsetRule(2, (1, 2), one_of=((),)), "of its own"),
        (lambda: SubsetRule(2, (1, 2), one_of=((0,), (0, 1))), "of its own"),
        (lambda: SubsetRule(2, (1, 2), one_of=((2,),)), "of its own"),
        (lambda: SubsetRule(2, (1, 2), needs=((0, 2),)), "not among the terms"),
        (
            lambda: SubsetRule(20, tuple(1 << j for j in range(20)), needs=tuple((19, j) for j in range(19))),
            "fewer products",
        ),
    ],
)
def test_impossible_candidates_are_refused_in_one_sentence(make, message):
    with pytest.raises(StudyError, match=message):
        make()


@given(st.sets(st.integers(0, 80)))
def test_masks_and_columns_are_inverse(columns):
    assert columns_of(mask_of(sorted(columns))) == tuple(sorted(columns))


def test_as_many_sets_may_need_each_other_as_are_said_and_no_more(monkeypatch):
    """Two terms and their product: four sets without it and one with it."""
    for most, refused in ((5, False), (4, True)):
        monkeypatch.setattr("dpselect.assume.candidates.MAX_TOGETHER", most)
        if refused:
            with pytest.raises(StudyError, match="More than 4 sets"):
                SubsetRule(3, (1, 2, 4), empty=True, needs=((2, 0), (2, 1)))
        else:
            assert SubsetRule(3, (1, 2, 4), empty=True, needs=((2, 0), (2, 1))).count == most


def test_nothing_is_selected_because_too_many_lead_only_where_terms_are_free():
    """Neither where one of them must be in, nor where one decides about another; the stated place is one of the terms."""
    free = {"empty": True}
    assert [crowd_place(place, SubsetRule(3, (1, 2, 4), **free)) for place in (0, 1, 3, 4)] == [0, 1, 3, 0]
    for tied in ({"one_of": ((0, 1),)}, {"needs": ((2, 0),)}, {"at_least": 1}, {"empty": False}):
        assert crowd_place(2, SubsetRule(3, (1, 2, 4), **free | tied)) == 0
    assert crowd_place(2, CandidateList(3, (0, 1, 2))) == 0
