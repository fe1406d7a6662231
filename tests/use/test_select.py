import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.errors import DataError, StudyError

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
STUDY = dpselect.Study(
    response=dpselect.Numeric("price", 0, 1000),
    predictors=[
        dpselect.Numeric("size", 0, 3000),
        dpselect.Categorical("county", ["Marin", "Napa", "Sonoma"]),
        dpselect.Numeric("age", 0, 100),
    ],
)


# At epsilon 2000 another model has a chance below e^-90 (rehearse.probabilities); at 20 it had one of 18 in a hundred.
def test_the_whole_path_finds_the_model():
    selection = dpselect.select(FRAME, STUDY, epsilon=2000, penalty=100_000, method="pcls")
    assert selection.variables == ("intercept", "size", "county[Napa]", "county[Sonoma]")
    assert selection.formula == "price ~ 1 + size + county[Napa] + county[Sonoma]"
    assert selection.columns == (0, 1, 2, 3)


def test_moments_once_gathered_serve_many_choices():
    moments = dpselect.gather(FRAME, STUDY)
    assert moments.columns == ("intercept", "size", "county[Napa]", "county[Sonoma]", "age")
    assert dpselect.select(moments, STUDY, epsilon=2000, penalty=100_000, method="pcls").columns == (0, 1, 2, 3)


def test_moments_of_other_assumptions_are_refused():
    moments = dpselect.gather(FRAME, STUDY)
    other = dpselect.Study(STUDY.response, STUDY.predictors, radius=100)
    with pytest.raises(DataError, match="other assumptions"):
        dpselect.select(moments, other, epsilon=1, method="pcls")
    with pytest.raises(DataError, match="pooled"):
        moments + dpselect.gather(FRAME, other)


def test_candidates_in_words_of_the_study():
    selection = dpselect.select(
        FRAME, STUDY, epsilon=50, penalty=0.0, method="pcls", candidates=[["age"], ["county", "age"]]
    )
    assert selection.columns in ((0, 4), (0, 2, 3, 4))
    limited = dpselect.select(
        FRAME, STUDY, epsilon=50, penalty=1.0, method="pcls", candidates=dpselect.Subsets(max_size=1)
    )
    assert limited.variables == ("intercept", "size")


def test_the_default_penalty_is_public_and_stated_in_the_recipe():
    private_n = dpselect.Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    first = dpselect.select(FRAME, private_n, epsilon=1, method="pcls").recipe.penalties
    second = dpselect.select(FRAME[:100], private_n, epsilon=1, method="pcls").recipe.penalties
    assert first == second
    numbers, category = set(first) - {min(first)}, {min(first)}
    assert len(numbers) == len(category) == 1  # the category's two columns pay for the choice's noise once
    assert first[0] > 0


def test_n_is_in_the_release_only_where_it_is_public():
    assert dpselect.select(FRAME, STUDY, epsilon=1).recipe.rows == N
    private_n = dpselect.Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    selection = dpselect.select(FRAME, private_n, epsilon=1, method="pcls")
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
    with pytest.raises(StudyError, match=message):
        dpselect.select(FRAME, STUDY, **{"epsilon": 1, **change})


def test_too_many_candidates_name_the_way_out():
    wide = dpselect.Study(
        dpselect.Numeric("y", 0, 1), [dpselect.Numeric(f"x{j}", 0, 1) for j in range(40)], intercept="none"
    )
    table = (np.zeros((2, 40)), np.zeros(2))
    with pytest.raises(StudyError, match="max_size"):
        dpselect.select(table, wide, epsilon=1, method="pcls")
    assert (
        len(dpselect.select(table, wide, epsilon=1, method="pcls", candidates=dpselect.Subsets(max_size=2)).columns)
        <= 2
    )


def test_votes_are_the_default_and_need_no_bounds():
    study = dpselect.Study(
        dpselect.Numeric("price"),
        [
            dpselect.Numeric("size"),
            dpselect.Categorical("county", ["Marin", "Napa", "Sonoma"]),
            dpselect.Numeric("age"),
        ],
    )
    selection = dpselect.select(FRAME, study, epsilon=1)
    assert selection.recipe.method == "votes"
    assert selection.variables == ("intercept", "size", "county[Napa]", "county[Sonoma]")
    assert dpselect.Selection.from_json(selection.to_json()) == selection
    with pytest.raises(StudyError, match="needs the range of 'price', 'size', 'age'"):
        dpselect.select(FRAME, study, epsilon=1, method="pcls")


def test_a_binary_response_of_text():
    frame = FRAME.assign(dear=np.where(FRAME["price"] > FRAME["price"].median(), "yes", "no"))
    study = dpselect.Study(dpselect.Binary("dear", ["no", "yes"]), [dpselect.Numeric("size"), dpselect.Numeric("age")])
    assert dpselect.select(frame, study, epsilon=1).variables == ("intercept", "size")


def test_votes_say_what_they_need():
    with pytest.raises(DataError, match="give the table itself"):
        dpselect.select(dpselect.gather(FRAME, STUDY), STUDY, epsilon=1)
    private_n = dpselect.Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one")
    with pytest.raises(StudyError, match="state rows in the study"):
        dpselect.select(FRAME, private_n, epsilon=1)
    stated = dpselect.Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one", rows=3000)
    selection = dpselect.select(FRAME, stated, epsilon=1)
    assert selection.recipe.rows is None
    assert str(N) not in selection.to_json()
    with pytest.raises(StudyError, match="penalty is for the methods"):
        dpselect.select(FRAME, STUDY, epsilon=1, penalty=3.0)


def test_a_hundred_columns_are_chosen_by_levels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 100))
    y = X[:, :5].sum(axis=1) + rng.normal(size=4000)
    study = dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric(f"x{j}") for j in range(100)])
    selection = dpselect.select((X, y), study, epsilon=1)
    assert selection.recipe.mechanism == "permute-and-flip"
    assert selection.recipe.candidates.count == 2**100
    assert dpselect.Selection.from_json(selection.to_json()) == selection


def test_directions_are_part_of_a_selection_where_the_table_is_long_enough():
    rng = np.random.default_rng(2)
    x, c = rng.normal(size=(6000, 3)), rng.choice(["Marin", "Napa"], 6000)
    rows = {
        "size": x[:, 0],
        "age": x[:, 1],
        "idle": x[:, 2],
        "county": c,
        "price": x[:, 0] - x[:, 1] - 2 * (c == "Napa"),
    }
    study = dpselect.Study(
        dpselect.Numeric("price"),
        [*map(dpselect.Numeric, ("size", "age", "idle")), dpselect.Categorical("county", ["Marin", "Napa"])],
    )
    selection = dpselect.select(rows, study, epsilon=4)
    assert selection.directions == {"size": "up", "age": "down", "county": None, "county[Napa]": "down"}
    assert dpselect.Selection.from_json(selection.to_json()) == selection
    short = dpselect.select({name: cells[:60] for name, cells in rows.items()}, study, epsilon="0.1")
    assert set(short.directions.values()) <= {None}
    always = dpselect.select(rows, study, epsilon=4, candidates=dpselect.Subsets(always=("idle",)))
    assert always.directions["idle"] is None
    listed = dpselect.select(rows, study, epsilon=4, candidates=[["size"], ["size", "age", "county"]])
    assert listed.directions == {"size": None, "age": None, "county": None}


def test_the_best_of_a_number_and_one_of_a_group_can_be_asked_for():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3000, 5))
    study = dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric(f"x{j}") for j in range(5)])
    rows = (x, x[:, 0] + 0.2 * x[:, 1] + 0.2 * x[:, 2] + rng.normal(size=3000))
    for subsets, size in ((dpselect.Subsets(at_least=4), 4), (dpselect.Subsets(one_of=(("x3", "x4"),)), 4)):
        selection = dpselect.select(rows, study, epsilon=20, candidates=subsets)
        assert {"x0", "x1", "x2"} <= set(selection.variables)
        assert len(selection.variables) == size + 1


def test_more_columns_than_can_be_scored_are_refused_before_a_row_is_read(tmp_path):
    wide = dpselect.Study(
        dpselect.Numeric("y", 0, 1), [dpselect.Numeric(f"x{j}", 0, 1) for j in range(70)], neighbors="replace-one"
    )
    (tmp_path / "t.csv").write_text("nothing that could be read\n")
    for method, delta in (("pcls", 0), ("pcpl", 1e-6)):
        with pytest.raises(StudyError, match="at most 64 can be scored"):
            dpselect.select(
                tmp_path / "t.csv", wide, epsilon=1, delta=delta, method=method, candidates=[["x0"], ["x1"]]
            )


@pytest.mark.parametrize("door", [dpselect.select, dpselect.analyze])
@pytest.mark.parametrize("wrong", [{"response": "y"}, ["study.toml"]])
def test_what_is_no_study_is_refused_in_a_sentence(door, wrong):
    with pytest.raises(dpselect.StudyError, match=r"it must be dpselect.Study.*Study.read"):
        door({"x": [1.0, 2.0], "y": [1.0, 2.0]}, wrong, epsilon=1)
