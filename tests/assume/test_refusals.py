"""What cannot be stated is refused in one sentence, whichever door it comes through: one line for each refusal."""

import pytest
from msgspec.structs import replace

from dpselect import Categorical, Numeric, Study, StudyError
from dpselect.assume.candidates import CandidateList, Subsets, all_subsets, vote_units
from dpselect.assume.lemmas.rounds import gaussian_delta
from dpselect.assume.power import visible_share
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.study import plain_study
from dpselect.assume.study_file import MAX_STUDY_LENGTH, parse_tables
from dpselect.assume.variables import variable_from_dict
from dpselect.assume.vote_rule import VoteRule, vote_rule

Y, X = Numeric("y", 0, 1), Numeric("x", 0, 1)
STUDY = Study(Y, [X, Numeric("z", 0, 1)])
BY_VOTES = {"blocks": 9, "partitions": 2, "ridge": 0.0, "threshold": 4, "price": 0.5}


def recipe(choice, study=STUDY, rows=100, **price):
    return make_recipe(study, choice, rows=rows, **({"epsilon": 1} | price))


REFUSALS = {
    "a radius without bounds": (lambda: Study(Numeric("y"), [X], radius=1), "'y' has no range: state it"),
    "rows of a person without persons": (lambda: Study(Y, [X], max_rows_per_person=2), "needs person: name"),
    "a person who is a predictor": (lambda: Study(Y, [X], person="x"), "cannot also be the response"),
    "half a row": (lambda: Study(Y, [X], person="p", max_rows_per_person=0.5), "whole number from 1 to"),
    "levels beyond 2^53": (lambda: Categorical("c", [0, 2**53]), "must be below 2^53 in size"),
    "bounds of one point": (lambda: Numeric("x", 1, 1 + 1e-15), "too close together"),
    "an unknown kind": (lambda: variable_from_dict({"name": "x", "kind": "colour"}), "it must be one of"),
    "a category without levels": (lambda: variable_from_dict({"name": "x", "kind": "category"}), "needs categories"),
    "a response of no size": (lambda: plain_study(["a"], r=0, R=1), "the limit on |y| must be above 0"),
    "a negative radius": (lambda: plain_study(["a"], r=1, R=-1), "at least 0 and at most a million times r"),
    "a study of megabytes": (lambda: parse_tables("#" * (MAX_STUDY_LENGTH + 1)), "no study needs as many"),
    "an unknown mechanism": (lambda: Choice("pcls", "dice"), "mechanism is 'dice'"),
    "votes by halves": (lambda: VoteRule(**BY_VOTES | {"blocks": 1.5}), "blocks of a rule for votes is 1.5"),
    "a price of votes that is none": (lambda: VoteRule(**BY_VOTES | {"price": float("nan")}), "between 0 and 1e6"),
    "a statistic that is a number": (lambda: VoteRule(**BY_VOTES, statistic=3), "must be named in words"),
    "delta for a pure method": (lambda: recipe(Choice("pcls"), delta="1e-6"), "delta buys nothing with pcls"),
    "pcpl where rows are private": (
        lambda: recipe(Choice("pcpl"), Study(Y, [X], neighbors="add-remove-one"), delta="1e-6"),
        "it needs neighbors='replace-one'",
    ),
    "votes of no rows": (lambda: vote_rule(0, 2, 2, 1.0), "no rule for 0 rows"),
    "votes on no columns": (lambda: vote_rule(9, 0, 2, 1.0), "0 columns and"),
    "votes on no terms": (lambda: vote_rule(9, 2, 0, 1.0), "and 0 terms"),
    "votes at no price": (lambda: vote_rule(9, 2, 2, float("nan")), "must be a positive number"),
    "laplace for votes": (
        lambda: Choice("votes", "laplace"),
        "Votes are drawn by 'permute-and-flip' or 'exponential'",
    ),
    "directions of listed models": (
        lambda: replace(recipe(Choice("votes", candidates=[["x"]])), directions=True),
        "not on models that are named one by one",
    ),
    "candidates that are a number": (
        lambda: Choice("votes", candidates=3),
        "candidates is 3; it must be a list of models",
    ),
    "a list for a column": (
        lambda: recipe(Choice("votes", candidates=[[["x"]]])),
        "['x'] is not a column of the study",
    ),
    "half a column": (lambda: recipe(Choice("votes", candidates=[[0.5]])), "0.5 is not a column of the study"),
    "a size in words": (
        lambda: recipe(Choice("votes", candidates=Subsets("x"))),
        "max_size is 'x'; it must be a whole",
    ),
    "half a size": (lambda: recipe(Choice("votes", candidates=Subsets(1.5))), "max_size is 1.5; it must be a whole"),
}


@pytest.mark.parametrize(("stated", "sentence"), REFUSALS.values(), ids=REFUSALS)
def test_it_is_refused_in_one_sentence(stated, sentence):
    with pytest.raises(StudyError) as refused:
        stated()
    assert sentence in str(refused.value)
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


def test_a_recipe_from_a_file_may_not_lack_its_rule_nor_have_one_too_many():
    for made, rule in ((recipe(Choice("votes")), None), (recipe(Choice("pcls")), VoteRule(**BY_VOTES))):
        with pytest.raises(StudyError, match="says how they are held"):
            replace(made, votes=rule)


def test_no_noise_and_no_distance_leak_nothing():
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(1e-3, 1.0) < gaussian_delta(1.0, 1.0) < gaussian_delta(10.0, 1.0)


def test_listed_models_are_told_apart_by_the_columns_that_not_all_share():
    assert vote_units(all_subsets(3)) == (0b001, 0b010, 0b100)
    assert vote_units(CandidateList(4, (0b0011, 0b0111, 0b0001))) == (0b0010, 0b0100)
    assert vote_units(CandidateList(4, (0b0011,))) == ()


def test_a_dearer_list_of_models_needs_a_larger_share_to_be_seen():
    cheap, dear = (recipe(Choice("pcls", candidates=[["x"], ["z"]], penalty=penalty)) for penalty in (0.1, 0.5))
    assert visible_share(cheap, 1.0) < visible_share(dear, 1.0) < 1
