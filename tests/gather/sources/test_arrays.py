import numpy as np
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather

TWO = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", -1, 1)])
X = np.array([[0.5, -0.25], [0.125, 1.0]])
Y = np.array([0.5, -1.0])


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "longdouble"])
def test_every_float_type_gives_the_same_integers(kind):
    expected = gather((X, Y), TWO).integers()
    assert gather((X.astype(kind), Y.astype(kind)), TWO).integers() == expected


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint64", "bool"])
def test_integers_and_booleans_count_as_their_numbers(kind):
    values, response = np.array([[1, 0], [0, 1]]), np.array([1, 0])
    expected = gather((values.astype(float), response.astype(float)), TWO).integers()
    assert gather((values.astype(kind), response.astype(kind)), TWO).integers() == expected


def test_lists_layouts_and_strides_do_not_matter():
    expected = gather((X, Y), TWO).integers()
    padded = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    for predictors, response in [
        (X.tolist(), Y.tolist()),
        (np.asfortranarray(X), Y),
        (padded[::2, ::3], np.repeat(Y, 2)[::2]),
        (X[::-1], Y[::-1]),
    ]:
        assert gather((predictors, response), TWO).integers() == expected


def test_a_masked_cell_is_missing():
    masked = np.ma.masked_array(X, mask=[[False, True], [False, False]])
    with pytest.raises(DataError, match="'b' has missing"):
        gather((masked, Y), TWO)


def test_levels_that_are_whole_numbers_are_found_among_floats():
    one = Study(Numeric("y", -1, 1), [Categorical("c", [1, 2, 3])], intercept="none")
    n, xtx, _, _ = gather((np.array([[1.0], [2.0], [3.0], [3.0]]), np.zeros(4)), one).integers()
    assert (n, xtx) == (4, [[2**40, 0], [0, 2 * 2**40]])


@pytest.mark.parametrize(
    ("predictors", "response", "sentence"),
    [
        (np.array([["a", "b"]]), [1.0], "The predictors have the type 'str"),
        (np.array([[object(), 1]]), [1.0], "The predictors have the type 'object'"),
        (np.array([[1 + 2j, 3]]), [1.0], "The predictors have the type 'complex128'"),
        (np.array([["2020-01-01"] * 2], dtype="datetime64[D]"), [1.0], "The predictors have the type 'datetime64"),
        ([[1.0, 2.0], [3.0]], [1.0, 2.0], "rows of equal length"),
        ([1.0, 2.0], [1.0], "1 dimension"),
        (np.zeros((1, 2, 3)), [1.0], "3 dimension"),
        (np.zeros((2, 2)), np.zeros((2, 1)), "The response has 2 dimension"),
        (np.zeros((2, 3)), np.zeros(2), "another number of columns than the 2 predictors"),
        (np.zeros((2, 2)), np.zeros(3), "different numbers of rows"),
        (np.zeros((0, 2)), np.zeros(0), "no rows"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_in_one_sentence(predictors, response, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        gather((predictors, response), TWO)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_text_levels_cannot_be_in_arrays():
    one = Study(Numeric("y", -1, 1), [Categorical("c", ["a", "b"])])
    with pytest.raises(DataError, match="use a data frame"):
        gather((np.zeros((1, 1)), np.zeros(1)), one)


def test_weights_that_no_study_states_are_refused():
    with pytest.raises(DataError, match="state weights in the study"):
        gather((X, Y, np.ones(2)), TWO)
