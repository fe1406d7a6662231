import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.errors import AssumptionError, DataError

GENERATOR = np.random.default_rng(11)
N = 2999
FRAME = pd.DataFrame(
    {
        "size": GENERATOR.uniform(0, 3000, N),
        "county": GENERATOR.choice(["Marin", "Napa", "Sonoma"], N),
        "age": GENERATOR.uniform(0, 100, N),
    }
)
FRAME["price"] = 200 + 0.2 * FRAME["size"] + 80 * (FRAME["county"] == "Napa") + 10 * GENERATOR.normal(size=N)
STUDY = dpselect.Assumptions(
    response=dpselect.Numeric("price", 0, 1000),
    predictors=[
        dpselect.Numeric("size", 0, 3000),
        dpselect.Categorical("county", ["Marin", "Napa", "Sonoma"]),
        dpselect.Numeric("age", 0, 100),
    ],
)


# At epsilon 2000 another model has a chance below e^-90 (rehearse.probabilities); at 20 it had one of 18 in a hundred.
def test_the_whole_path_finds_the_model():
    selection = dpselect.select(FRAME, STUDY, epsilon=2000, penalty=100_000)
    assert selection.variables == ("intercept", "size", "county[Napa]", "county[Sonoma]")
    assert selection.formula == "price ~ 1 + size + county[Napa] + county[Sonoma]"
    assert selection.columns == (0, 1, 2, 3)


def test_moments_once_gathered_serve_many_choices():
    moments = dpselect.gather(FRAME, STUDY)
    assert moments.columns == ("intercept", "size", "county[Napa]", "county[Sonoma]", "age")
    assert dpselect.select(moments, STUDY, epsilon=2000, penalty=100_000).columns == (0, 1, 2, 3)


def test_moments_of_other_assumptions_are_refused():
    moments = dpselect.gather(FRAME, STUDY)
    other = dpselect.Assumptions(STUDY.response, STUDY.predictors, radius=100)
    with pytest.raises(DataError, match="other assumptions"):
        dpselect.select(moments, other, epsilon=1)
    with pytest.raises(DataError, match="pooled"):
        moments + dpselect.gather(FRAME, other)


def test_candidates_in_words_of_the_study():
    selection = dpselect.select(FRAME, STUDY, epsilon=50, penalty=0.0, candidates=[["age"], ["county", "age"]])
    assert selection.columns in ((0, 4), (0, 2, 3, 4))
    limited = dpselect.select(FRAME, STUDY, epsilon=50, penalty=1.0, candidates=dpselect.Subsets(max_size=1))
    assert limited.variables == ("intercept", "size")


def test_the_default_penalty_is_public_and_stated_in_the_recipe():
    private_n = dpselect.Assumptions(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    first = dpselect.select(FRAME, private_n, epsilon=1).recipe.penalties
    second = dpselect.select(FRAME[:100], private_n, epsilon=1).recipe.penalties
    assert first == second
    numbers, category = set(first) - {min(first)}, {min(first)}
    assert len(numbers) == len(category) == 1  # the category's two columns pay for the choice's noise once
    assert first[0] > 0


def test_n_is_in_the_release_only_where_it_is_public():
    assert dpselect.select(FRAME, STUDY, epsilon=1).recipe.rows == N
    private_n = dpselect.Assumptions(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    selection = dpselect.select(FRAME, private_n, epsilon=1)
    assert selection.recipe.rows is None
    assert str(N) not in selection.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "lasso"}, "method is 'lasso'"),
        ({"delta": 1e-6}, "delta buys nothing"),
        ({"method": "pcpl"}, "delta is 0"),
        ({"penalty": "bic", "epsilon": 0}, "epsilon is 0"),
        ({"candidates": dpselect.Subsets(max_size=-1)}, "max_size"),
    ],
)
def test_wrong_settings_get_one_sentence(change, message):
    with pytest.raises(AssumptionError, match=message):
        dpselect.select(FRAME, STUDY, **{"epsilon": 1, **change})


def test_too_many_candidates_name_the_way_out():
    wide = dpselect.Assumptions(
        dpselect.Numeric("y", 0, 1), [dpselect.Numeric(f"x{j}", 0, 1) for j in range(40)], intercept="none"
    )
    table = (np.zeros((2, 40)), np.zeros(2))
    with pytest.raises(AssumptionError, match="max_size"):
        dpselect.select(table, wide, epsilon=1)
    assert len(dpselect.select(table, wide, epsilon=1, candidates=dpselect.Subsets(max_size=2)).columns) <= 2
