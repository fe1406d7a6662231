from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.sources.arrow import check_schema, checked_cells
from dpselect.gather.sources.stream import as_large_binary, as_numpy

NUMBER = Study(Numeric("y", -1, 1), [])
TEXT = Study(Numeric("y", -1, 1), [Categorical("c", ["a", "b"])])
WHOLE = Study(Numeric("y", -1, 1), [Categorical("c", [1, 2])])


def cells(array: pa.Array, study: Study = NUMBER, name: str = "y") -> list[float]:
    columns = {"y": pa.nulls(len(array), pa.float64()), name: array}
    (found,) = checked_cells([pa.record_batch(columns)], study, list(columns))
    return found[name].tolist()


def hundred_decimals(digits: int, scale: int) -> list[Decimal | None]:
    rng = np.random.default_rng(digits)
    texts = ["".join(map(str, rng.integers(0, 10, size=digits))) for _ in range(100)]
    return [None, *(Decimal(text).scaleb(-scale) * sign for text in texts for sign in (1, -1))]


@pytest.mark.parametrize(
    ("digits", "scale"), [(5, 2), (15, 0), (15, 3), (15, 15), (16, 8), (18, 6), (28, 10), (38, 38), (60, 20)]
)
def test_decimals_become_the_nearest_double(digits, scale):
    values = hundred_decimals(min(digits, 28), scale)
    kind = pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
    found = cells(pa.array(values, kind).slice(1))
    assert found == [float(str(value)) for value in values[1:]]
    assert np.isnan(cells(pa.array(values, kind))[0])


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 3)]
)
def test_numbers_of_every_type_are_read_and_null_is_missing(kind):
    # As older versions of pyarrow want them.
    number = {pa.float16(): np.float16, pa.decimal128(9, 3): Decimal}.get(kind, int)
    values = [number(1), None, number(3)]
    one, gone, three = cells(pa.array(values, kind))
    assert (one, three) == (1.0, 3.0) and np.isnan(gone)


def test_booleans_are_zero_and_one():
    assert cells(pa.array([True, False])) == [1.0, 0.0]


def test_large_integers_round_to_the_nearest_double():
    values = [2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63)]
    assert cells(pa.array(values, pa.int64())) == [float(value) for value in values]
    assert cells(pa.array([2**64 - 1], pa.uint64())) == [float(2**64 - 1)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_levels_are_compared_to_the_letter(kind):
    values = ["b", "a", "a ", "A", "", None, "b"]
    assert cells(pa.array(values, kind), TEXT, "c") == [1, 0, -1, -1, -1, -1, 1]


def test_a_dictionary_column_is_read_through_its_dictionary():
    values = pa.array(["b", "z", None, "a"]).dictionary_encode()
    assert cells(values, TEXT, "c") == [1, -1, -1, 0]
    assert cells(values.slice(2), TEXT, "c") == [-1, 0]
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, "b"]))
    assert cells(with_null, TEXT, "c") == [-1, 1, -1]
    assert cells(pa.array([3, 2]).dictionary_encode(), WHOLE, "c") == [-1, 1]


@pytest.mark.parametrize("values", [[1, 2, 3], [1.0, 2.0, 1.5], [Decimal("1.0"), Decimal("2.0"), Decimal("7.5")]])
def test_whole_levels_are_found_among_numbers_of_any_type(values):
    assert cells(pa.array(values), WHOLE, "c") == [0, 1, -1]


def test_a_column_of_nulls_is_missing_throughout():
    assert cells(pa.nulls(2), TEXT, "c") == [-1, -1]
    assert cells(pa.nulls(2), WHOLE, "c") == [-1, -1]
    assert np.isnan(cells(pa.nulls(2))).all()


@pytest.mark.parametrize(
    ("study", "name", "kind", "hint"),
    [
        (NUMBER, "y", pa.string(), "not a number"),
        (NUMBER, "y", pa.date32(), "days since a fixed day"),
        (NUMBER, "y", pa.timestamp("us"), "days since a fixed day"),
        (NUMBER, "y", pa.list_(pa.float64()), "not a number"),
        (NUMBER, "y", pa.binary(), "not a number"),
        (NUMBER, "y", pa.dictionary(pa.int8(), pa.string()), "not a number"),
        (TEXT, "c", pa.int64(), "state the categories as whole numbers"),
        (TEXT, "c", pa.float64(), "state the categories as whole numbers"),
        (WHOLE, "c", pa.string(), "state the categories as text"),
        (WHOLE, "c", pa.date32(), "whole numbers"),
    ],
)
def test_a_type_that_cannot_be_read_is_refused_with_a_hint(study, name, kind, hint):
    fields = {"y": pa.float64(), "c": pa.string(), name: kind}
    with pytest.raises(DataError, match=hint):
        check_schema(pa.schema(list(fields.items())), study)


def test_a_column_that_is_absent_or_there_twice_is_refused():
    with pytest.raises(DataError, match="'c' is not in the table"):
        check_schema(pa.schema([("y", pa.float64())]), TEXT)
    with pytest.raises(DataError, match="'y' is in the table more than once"):
        check_schema(pa.schema([("y", pa.float64()), ("y", pa.float64())]), NUMBER)


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64()])
@pytest.mark.parametrize("cells", [[], [1, 2, 3], [None, 1, None, 3], [None] * 9, [5, None] * 30])
def test_numbers_in_numpy_are_those_of_arrow_wherever_a_slice_begins(kind, cells):
    whole = pa.array(cells, kind)
    for start in range(0, len(cells) + 1, 3):
        for array in (whole[start:], whole[start : start + 10]):
            expected = [-7 if cell is None else cell for cell in array.to_pylist()]
            found = as_numpy(array, -7)
            assert found.dtype == kind.to_pandas_dtype() and found.tolist() == expected


@pytest.mark.parametrize("texts", [[], ["a"], ["", "zwei", "drei \u00e9", ""]])
def test_texts_in_arrow_are_their_bytes(texts):
    assert as_large_binary(texts).equals(pa.array([text.encode() for text in texts], pa.large_binary()))
