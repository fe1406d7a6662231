"""Damaged Arrow columns are found before anything computes with them."""

import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.intact.damage import as_bytes, is_whole
from dpselect.gather.table import gather_table

STUDY = Assumptions(Numeric("y", -1, 1), [Categorical("c", ["ab", "cde"])], missing="midpoint")


def column(offsets: list[int], data: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32).tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def coded(indices: list[int]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(["ab", "cde"]), safe=False)


WHOLE = {
    "text": pa.array(["ab", None, "cde"]),
    "views": pa.array(["ab", None, "more than twelve letters"], pa.string_view()),
    "a category": coded([0, 1, 0]),
    "text that is not UTF-8": column([0, 2, 2, 5], b"ab\xffde"),
    "numbers": pa.array([1.0, None, 3.0]),
    "nothing": pa.nulls(3),
}
DAMAGED = {
    "an offset beyond the text": column([0, 900_000, 2, 5], b"abcde"),
    "offsets that go back": column([0, 4, 2, 5], b"abcde"),
    "an index beyond the categories": coded([0, 99, 0]),
    "an index below zero": coded([0, -7, 0]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_columns_are_taken(name):
    batch = pa.record_batch([WHOLE[name]], ["c"])
    assert is_whole(batch) and is_whole(batch.slice(1, 2)) and is_whole(batch.slice(0, 0))
    assert len(as_bytes(WHOLE[name])) == 3


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_columns_are_found(name):
    assert not is_whole(pa.record_batch([DAMAGED[name]], ["c"]))


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_arrow_file_stream_and_table_are_refused(name, tmp_path):
    """Each of them killed a process, or gave an error of Arrow's own."""
    batch = pa.record_batch([DAMAGED[name], pa.array([0.5, 0.25, 0.75])], ["c", "y"])
    with pa.ipc.new_file(tmp_path / "t.arrow", batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(DataError, match=r"t\.arrow' cannot be read to its end"):
        gather_table(tmp_path / "t.arrow", STUDY)
    packed = io.BytesIO()
    with pa.ipc.new_stream(packed, batch.schema) as stream:
        stream.write_batch(batch)
    packed.seek(0)
    with pytest.raises(DataError, match="Arrow stream holds damaged columns"):
        gather_table(pa.ipc.open_stream(packed), STUDY)
    with pytest.raises(DataError, match="holds damaged columns"):
        gather_table(pa.Table.from_batches([batch]), STUDY)


def test_a_decimal_with_more_places_than_there_are_is_no_number():
    odd = pa.Array.from_buffers(pa.decimal128(5, 90), 3, [None, pa.py_buffer(bytes(48))])
    with pytest.raises(DataError, match="'y' has the type decimal128"):
        gather_table(pa.table({"y": odd, "c": ["ab", "ab", "cde"]}), STUDY)


@pytest.mark.parametrize("rows", [2, 1_500_000])
def test_a_parquet_page_that_claims_gigabytes_takes_none(tmp_path, rows):
    """One number in the header of a page was changed, and two gigabytes were taken to read a few bytes."""
    path = tmp_path / "t.parquet"
    table = pa.table({"c": ["ab", "cde"] * (rows // 2), "y": np.random.default_rng(1).uniform(size=rows)})
    pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=500_000)
    content = path.read_bytes()
    # Its type and both of its sizes, in the compact protocol's numbers.
    found = re.match(rb"PAR1\x15\x00\x15[\x80-\xff]*[\x00-\x7f](\x15[\x80-\xff]*[\x00-\x7f])", content)
    assert found is not None
    claimed = b"\x15\xf0\xbd\x8c\xa9\x0e"
    path.write_bytes(content[: found.start(1)] + claimed + content[found.end(1) :])
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(DataError, match="cannot be read to its end"):
        gather_table(path, STUDY)
    assert pa.default_memory_pool().max_memory() < before + 100_000_000
