"""Weights and clusters as they are stated: written, read back, and refused where they cannot mean anything."""

import pytest

from dpselect.assume.power import visible_share
from dpselect.assume.recipe import Choice, make_recipe, price_choice
from dpselect.assume.study import Study, study_schema
from dpselect.assume.variables import Numeric
from dpselect.errors import StudyError

WEIGHTED = {"weights": "w", "weight_limit": 50, "population": 60_000}


def study(**stated):
    return Study(Numeric("y", 0, 1), [Numeric("x", 0, 1), Numeric("z", 0, 1)], **stated)


def test_a_weighted_study_is_written_and_read_back():
    stated = study(**WEIGHTED, cluster="psu", neighbors="add-remove-one")
    assert (stated.weight_limit, stated.population) == (50.0, 60_000.0)
    assert Study.parse(stated.text()) == stated and Study.from_json(stated.to_json()) == stated
    assert (
        len({stated.hash, study().hash, study(**WEIGHTED).hash, study(**WEIGHTED | {"population": 6e4 + 1}).hash}) == 4
    )
    known = study_schema()["$defs"]["Study"]["properties"]
    assert all(known[name]["description"] for name in ("weights", "weight_limit", "population", "cluster"))


def test_the_rule_goes_by_the_rows_that_are_expected_to_count():
    weighted, plain = study(**WEIGHTED, rows=5_900), study(rows=1_200)
    assert weighted.expected_rows == plain.expected_rows == 1_200
    votes = [make_recipe(each, Choice(), rows=None, epsilon=1) for each in (weighted, plain)]
    assert votes[0].votes == votes[1].votes
    assert visible_share(votes[0], 1.0) == visible_share(votes[1], 1.0)
    assert study(**WEIGHTED | {"population": 51}).expected_rows == 1
    assert study(**WEIGHTED | {"population": 1e300}).expected_rows == 2**32


@pytest.mark.parametrize(
    "stated, words",
    [
        ({"weight_limit": 50}, "weight_limit and population need weights"),
        ({"population": 50}, "weight_limit and population need weights"),
        ({"weights": "w", "weight_limit": 50}, "weights need weight_limit"),
        ({"weights": "w", "population": 50}, "weights need weight_limit"),
        (WEIGHTED | {"weights": "x"}, "'x' can be nothing else"),
        (WEIGHTED | {"weights": "who", "person": "who"}, "'who' can be nothing else"),
        (WEIGHTED | {"weights": ""}, "non-empty"),
        (WEIGHTED | {"weight_limit": 0}, "the limit must be above 0"),
        (WEIGHTED | {"weight_limit": 60_001}, "and the population no smaller"),
        (WEIGHTED | {"weight_limit": float("nan")}, "weight_limit"),
        (WEIGHTED | {"population": "many"}, "population"),
        ({"cluster": "psu"}, "cluster needs neighbors = 'add-remove-one'"),
        ({"cluster": "psu", "person": "who"}, "cluster needs neighbors = 'add-remove-one'"),
        ({"cluster": "x", "neighbors": "add-remove-one"}, "cannot also be the response or a predictor"),
        ({"cluster": "?", "neighbors": "add-remove-one"}, "open place"),
    ],
)
def test_what_cannot_mean_anything_is_refused(stated, words):
    with pytest.raises(StudyError, match=words):
        study(**stated)


@pytest.mark.parametrize("stated", [WEIGHTED, {"cluster": "psu", "neighbors": "add-remove-one", "rows": 100}])
def test_losses_and_moments_know_nothing_of_a_sample(stated):
    with pytest.raises(StudyError, match="cannot use weights, clusters or a subgroup"):
        price_choice(study(**stated), Choice("pcls"), epsilon=1)
    price_choice(study(cluster="who", person="who", max_rows_per_person=2), Choice("pcls"), epsilon=1)
