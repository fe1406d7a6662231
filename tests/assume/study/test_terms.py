import pytest

from dpselect.assume.candidates import Subsets, candidates_for
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError

PRICE = Numeric("price", 0, 1000)
SIZE, YEAR = Numeric("size", 0, 10), Numeric("year", 1900, 2000)
COUNTY, KIND = Categorical("county", ["Marin", "Napa", "Sonoma"]), Categorical("kind", ["flat", "house"])
ALL = [SIZE, YEAR, COUNTY, KIND]


def names(**settings) -> list[str]:
    return [column.name for column in Study(PRICE, ALL, **settings).columns]


def test_a_product_has_a_column_for_every_pick_of_one_column_each():
    assert names(terms=["size", ["year", "size"], ["county", "size"], ["kind", "county"]]) == [
        "intercept",
        "size",
        "size:year",
        "size:county[Napa]",
        "size:county[Sonoma]",
        "county[Napa]:kind[house]",
        "county[Sonoma]:kind[house]",
    ]


def test_the_columns_of_a_term_enter_together():
    study = Study(PRICE, ALL, terms=["size", ["size", "county"], ["size", "year", "kind"]])
    assert [column.term for column in study.columns] == [0, 1, 2, 2, 3]
    assert candidates_for(study, Subsets(empty=True)).count == 8


def test_a_power_is_a_product_with_itself():
    assert names(terms=["size", ["size", "size"], "year", "county", "kind"])[:3] == ["intercept", "size", "size:size"]


def test_terms_that_say_what_is_said_without_them_change_no_hash():
    plain = Study(PRICE, ALL)
    stated = Study(PRICE, ALL, terms=["size", "year", "county", "kind"])
    assert stated == plain and stated.hash == plain.hash and stated.terms is None


def test_terms_and_persons_change_the_hash_of_a_study():
    study = Study(Numeric("y", 0, 1), [Numeric("a", 0, 1), Categorical("c", ["u", "v"])])
    assert Study(study.response, study.predictors, terms=["c", "a"]).hash != study.hash
    assert Study(study.response, study.predictors, person="p", max_rows_per_person=1).hash != study.hash


def test_the_order_within_a_term_is_that_of_the_predictors():
    one = Study(PRICE, [SIZE, YEAR], terms=[["year", "size"]])
    two = Study(PRICE, [SIZE, YEAR], terms=[["size", "year"]])
    assert one.hash == two.hash


def test_a_study_file_keeps_terms_and_persons():
    study = Study(PRICE, ALL, terms=["size", ["size", "year"], "county", "kind"], person="who", max_rows_per_person=3)
    assert Study.parse(study.text()) == study
    assert Study.from_dict(study.to_dict()) == study
    assert study.rows_per_person == 3 and Study(PRICE, ALL).rows_per_person == 1


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ("size", "must be a list"),
        (["size", "size", "year", "county", "kind"], "listed twice"),
        ([["size", "year"], ["year", "size"], "county", "kind"], "'size:year' is listed twice"),
        (["size", "year", "county"], "'kind' is in no term"),
        ([["size", "height"]], "names 'height', which is not among the predictors"),
        ([["county", "county"]], "the category 'county' twice"),
        ([["size"] * 5], "the most is 4"),
        ([[]], "must be a predictor's name or a list"),
        ([3], "must be a predictor's name or a list"),
        ([["size", 3]], "must be a predictor's name or a list"),
    ],
)
def test_terms_that_cannot_be(terms, sentence):
    with pytest.raises(StudyError, match=sentence):
        Study(PRICE, ALL, terms=terms)


def test_columns_with_one_name_are_refused():
    odd = [Numeric("a", 0, 1), Numeric("b", 0, 1), Numeric("a:b", 0, 1)]
    with pytest.raises(StudyError, match="Two columns of the model would be named 'a:b'"):
        Study(PRICE, odd, terms=["a", "b", ["a", "b"], "a:b"])


def test_a_hierarchy_needs_every_factor_of_a_product_as_a_term_of_its_own():
    predictors, product = [Numeric(name) for name in "abc"], ("a", "b")
    Study(Numeric("y"), predictors, terms=["a", "b", "c", product], hierarchy=True)
    for terms, missing in ((["a", "c", product], "b"), ([product, ("b", "a", "c"), "b", "c"], "a")):
        with pytest.raises(StudyError, match=f"hierarchy needs '{missing}' as a term of its own"):
            Study(Numeric("y"), predictors, terms=terms, hierarchy=True)
