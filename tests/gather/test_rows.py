"""Rows in memory: every container, policy and order gives the integers of the slow program in conftest."""

import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from tests.examples import examples

SECRET = 123.456789
numbers = st.one_of(st.none(), st.floats(), st.floats(-12, 12), st.sampled_from([-5.0, 5.0, 2.5 / 2**20]))
rows = st.lists(
    st.fixed_dictionaries(
        {"y": numbers, "a": numbers, "k": st.sampled_from([1, 2, 3, 9, None]), "c": st.sampled_from("uvwxz")}
    ),
    min_size=1,
    max_size=12,
)


def study(missing: str = "midpoint", intercept: str = "always") -> Study:
    predictors = [Numeric("a", -5, 5), Categorical("k", [1, 2, 3], reference=2), Categorical("c", ["u", "v", "w"])]
    return Study(Numeric("y", 0, 10), predictors, missing=missing, intercept=intercept)


def arrow(listed: list[dict]) -> pa.Table:
    kinds = {"y": pa.float64(), "a": pa.float64(), "k": pa.int64(), "c": pa.string()}
    return pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in kinds.items()})


def nullable(frame):
    """With pandas' own types; older versions try a cast that NumPy warns of."""
    with np.errstate(invalid="ignore"):
        return frame.convert_dtypes()


CONTAINERS = {
    "pandas": lambda table: table.to_pandas(),
    "pandas nullable": lambda table: nullable(table.to_pandas()),
    "pandas arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas category": lambda table: table.to_pandas().astype({"c": "category"}),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
    "a dictionary of arrays": lambda table: {name: table.column(name) for name in table.column_names},
    "a dictionary of lists": lambda table: table.to_pydict(),
    "polars category": lambda table: pl.from_arrow(table).with_columns(pl.col("c").cast(pl.Categorical)),
    "arrow": lambda table: table,
    "arrow in pieces": lambda table: pa.concat_tables([table.slice(i, 1) for i in range(len(table))]),
    "arrow dictionary": lambda table: table.set_column(3, "c", table["c"].dictionary_encode()),
}


@pytest.mark.hypothesis
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
def test_every_container_gives_the_integers_of_the_slow_program(container, missing, slow_moments):
    @settings(max_examples=examples(25))
    @given(rows)
    def check(listed):
        found = gather(CONTAINERS[container](arrow(listed)), study(missing)).integers()
        assert found == slow_moments(listed, study(missing))

    check()


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(listed, random):
    shuffled = random.sample(listed, len(listed))
    assert gather(arrow(listed), study()).integers() == gather(arrow(shuffled), study()).integers()


@given(st.lists(st.tuples(*[st.floats()] * 3), min_size=1, max_size=12))
def test_arrays_give_the_integers_of_a_frame(values):
    two = Study(Numeric("y", -3, 4), [Numeric("a", -1, 1), Numeric("b", 0, 7)], missing="zero-row")
    array = np.array(values)
    frame = pd.DataFrame(array, columns=["a", "b", "y"])
    assert gather((array[:, :2], array[:, 2]), two).integers() == gather(frame, two).integers()


@given(rows)
def test_products_of_factors_are_rounded_half_up_after_each(slow_moments, listed):
    plain = study()
    terms = ["a", ["a", "a"], ["a", "a", "a"], ["a", "k"], ["k", "c"], ["a", "a", "c"], "c"]
    products = Study(plain.response, plain.predictors, missing="midpoint", terms=terms)
    assert gather(arrow(listed), products).integers() == slow_moments(listed, products)


@pytest.mark.parametrize("intercept", ["always", "candidate", "none"])
def test_columns_are_the_intercept_the_predictors_and_the_dummies_without_their_reference(intercept):
    moments = gather(arrow([{"y": 5, "a": 5, "k": 3, "c": "v"}]), study(intercept=intercept))
    listed = ("a", "k[1]", "k[3]", "c[v]", "c[w]")
    assert moments.columns == (listed if intercept == "none" else ("intercept", *listed))
    assert moments.integers()[1][-4:][0][-5:] == [0, 0, 0, 0, 0]
    assert moments.integers()[1][-3:][0][-5:] == [2**40, 0, 2**40, 2**40, 0]


def test_pooled_parts_are_the_whole():
    listed = [{"y": i % 11, "a": i - 6.5, "k": 1 + i % 4, "c": "uvwz"[i % 4]} for i in range(20)]
    whole = gather(arrow(listed), study())
    parts = [gather(arrow(listed[i : i + 7]), study()) for i in range(0, 20, 7)]
    assert (parts[0] + parts[1] + parts[2]).integers() == whole.integers()


@pytest.mark.parametrize("cell", [None, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["y", "a"])
def test_a_missing_number_is_an_error_that_names_the_variable_alone(name, cell):
    listed = [{"y": 1.0, "a": SECRET, "k": 1, "c": "u"}, {"y": 2.0, "a": 1.0, "k": 1, "c": "u", name: cell}]
    with pytest.raises(DataError, match=f"'{name}' has missing"):
        gather(arrow(listed), study("error"))


@pytest.mark.parametrize(("name", "cell"), [("c", "u "), ("c", None), ("k", 4), ("k", None)])
def test_an_unknown_level_is_an_error_that_names_the_variable_alone(name, cell):
    listed = [{"y": 1.0, "a": SECRET, "k": 1, "c": "u", name: cell}]
    with pytest.raises(DataError, match=f"'{name}' has missing"):
        gather(arrow(listed), study("error"))


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("not a table at all", "."),
        ({"y": [1.0]}, "'a' is not in the table"),
        ({"y": [1.0, SECRET], "a": [1.0], "k": [1], "c": ["u"]}, "all equally long"),
        ({"y": [1.0], "a": ["x"], "k": [1], "c": ["u"]}, "'a' is "),
        (None, "cannot be read from a NoneType"),
        (pd.DataFrame({"y": [1.0]}), "'a' is not in the table"),
        (pd.DataFrame([[1.0, 2.0]], columns=["y", "y"]), "more than once"),
        (pd.DataFrame({"y": ["1.5"], "a": [1.0], "k": [1], "c": ["u"]}), "'y' is text"),
        (pd.DataFrame({"y": [b"x", SECRET], "a": [1.0, 2], "k": [1, 1], "c": ["u", "u"]}), "cannot be turned into"),
        (pd.DataFrame({"y": [SECRET], "a": [1 + 2j], "k": [1], "c": ["u"]}), "."),
        (pl.DataFrame({"y": [SECRET], "a": [[1.0]], "k": [1], "c": ["u"]}), "'a' is "),
        (pl.LazyFrame({"y": [SECRET]}), "'a' is not in the table"),
        (pl.LazyFrame({"y": [SECRET]}).select("none"), "LazyFrame cannot be run"),
        (arrow([]), "no rows"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_bad_tables_end_in_one_sentence_without_a_private_value(source, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        gather(source, study("error"))
    text = "".join(traceback.format_exception(caught.value))
    assert str(SECRET) not in text and "123.4" not in text
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_object_columns_of_one_kind_are_read():
    objects = pd.DataFrame({"y": [1.0], "a": [2.0], "k": [1], "c": ["v"]}, dtype=object)
    plain = arrow([{"y": 1.0, "a": 2.0, "k": 1, "c": "v"}])
    assert gather(objects, study()).integers() == gather(plain, study()).integers()


def test_columns_that_are_not_needed_are_not_looked_at():
    listed = [{"y": 1.0, "a": 2.0, "k": 1, "c": "v"}]
    wide = arrow(listed).to_pandas().assign(mixed=[{"an": "object"}], when=pd.Timestamp("2020-01-01"))
    assert gather(wide, study()).integers() == gather(arrow(listed), study()).integers()


def test_a_one_row_table_works():
    assert gather(arrow([{"y": 1.0, "a": 2.0, "k": 1, "c": "v"}]), study()).n == 1
