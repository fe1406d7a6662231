import pytest

from dpselect.assume.candidates import CandidateList, Subsets, all_subsets, candidates_for, variables_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError

STUDY = Study(
    Numeric("price", 0, 1), [Numeric("size", 0, 1), Categorical("county", ["a", "b", "c"]), Numeric("age", 0, 1)]
)
# columns: 0 intercept, 1 size, 2 county[b], 3 county[c], 4 age
CANDIDATE = Study(STUDY.response, STUDY.predictors, intercept="candidate")


def models(study, wanted=None):
    rule = candidates_for(study, wanted)
    return [rule[i] for i in range(rule.count)]


def test_a_categorys_dummies_enter_together_and_the_intercept_always():
    found = models(STUDY)
    assert len(found) == 8
    assert all(model[0] == 0 for model in found)
    assert all((2 in model) == (3 in model) for model in found)


def test_dummies_may_be_split():
    assert len(models(STUDY, Subsets(split=True))) == 16


def test_a_candidate_intercept_competes_and_the_empty_model_is_left_out_unless_asked():
    assert len(models(CANDIDATE)) == 15
    assert len(models(CANDIDATE, Subsets(empty=True))) == 16


def test_the_largest_size_does_not_count_what_is_always_in():
    found = models(STUDY, Subsets(max_size=2))
    assert max(len(model) for model in found) == 3
    assert (0, 2, 3) in found


def test_a_largest_size_beyond_the_columns_is_the_number_of_columns():
    assert candidates_for(STUDY, Subsets(max_size=10**400)).max_size == 5
    assert candidates_for(STUDY, Subsets(max_size=6)) == candidates_for(STUDY, Subsets(max_size=5))
    assert candidates_for(STUDY, Subsets(max_size=4)).max_size == 4


def test_variables_can_be_always_in_by_name_or_place():
    for always in (("county",), (2, 3), ("county[b]", "county[c]")):
        assert all({0, 2, 3} <= set(model) for model in models(STUDY, Subsets(always=always)))


def test_at_least_counts_terms_and_not_columns():
    found = models(STUDY, Subsets(at_least=2))
    assert found == [(0, 1, 2, 3), (0, 1, 4), (0, 2, 3, 4), (0, 1, 2, 3, 4)]
    assert models(STUDY, Subsets(at_least=1, always=("size",))) == [(0, 1, 2, 3), (0, 1, 4), (0, 1, 2, 3, 4)]


def test_exactly_one_of_a_group_is_in():
    assert models(STUDY, Subsets(one_of=(("size", "county"),))) == [(0, 1), (0, 2, 3), (0, 1, 4), (0, 2, 3, 4)]
    for group in (("size", "county[b]"), ("intercept", "age")):
        with pytest.raises(StudyError, match="is not considered"):
            models(STUDY, Subsets(one_of=(group,)))


def test_a_list_of_models_by_names_or_places_gets_the_constant_intercept():
    found = candidates_for(STUDY, [["size"], ["county", "age"], [4]])
    assert isinstance(found, CandidateList)
    assert [found[i] for i in range(3)] == [(0, 1), (0, 2, 3, 4), (0, 4)]


def test_ready_made_candidates_must_fit_the_study():
    assert candidates_for(STUDY, all_subsets(5)).count == 31
    with pytest.raises(StudyError, match="3 columns"):
        candidates_for(STUDY, all_subsets(3))


@pytest.mark.parametrize("wanted", [[["sizes"]], [[9]], [[-1]]])
def test_an_unknown_column_is_named_with_the_known_ones(wanted):
    with pytest.raises(StudyError, match="the columns are intercept, size"):
        candidates_for(STUDY, wanted)


@pytest.mark.parametrize("model", ["size", 3, None])
def test_a_bare_name_or_number_is_not_a_model(model):
    with pytest.raises(StudyError, match="list of columns"):
        candidates_for(STUDY, [model])


def test_variables_behind_columns_come_once():
    assert variables_of(STUDY.columns) == ("size", "county", "age")
