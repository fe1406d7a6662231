"""Files on disk: the integers of the same rows in memory, few columns read, little memory, one sentence for what is wrong."""

import os
import shutil
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources.schema import read_schema

STUDY = Study(Numeric("y", -1, 1), [Numeric("a", -2, 2), Categorical("c", ["01", "02", "x/y=z %"])], missing="midpoint")


def table(rows: int = 3000, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    levels = ["01", "02", "x/y=z %", None]
    return pa.table(
        {
            "a": rng.normal(size=rows),
            "c": pa.array([levels[i] for i in rng.integers(0, 4, size=rows)]),
            "y": rng.normal(size=rows),
            "unneeded": ["never read"] * rows,
        }
    )


@pytest.fixture(scope="module")
def expected():
    return gather(table(), STUDY).integers()


@pytest.mark.parametrize("row_group", [100, 700, 3000])
def test_parquet(tmp_path, expected, row_group):
    pq.write_table(table().slice(0, 3000), tmp_path / "t.parquet", row_group_size=row_group)
    assert gather(tmp_path / "t.parquet", STUDY).integers() == expected
    assert gather(str(tmp_path / "t.parquet"), STUDY).integers() == expected


def test_arrow_files(tmp_path, expected):
    feather.write_feather(table(), str(tmp_path / "t.feather"), chunksize=777)
    with pa.ipc.new_file(tmp_path / "t.arrow", table().schema) as writer:
        writer.write_table(table())
    assert gather(tmp_path / "t.feather", STUDY).integers() == expected
    assert gather(tmp_path / "t.arrow", STUDY).integers() == expected


def test_many_files_a_pattern_a_list_and_a_folder(tmp_path, expected):
    whole = table()
    for i in range(4):
        pq.write_table(whole.slice(750 * i, 750), tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.parquet").write_text("not data")
    for source in [tmp_path, str(tmp_path) + "/", str(tmp_path / "part-*.parquet"), sorted(tmp_path.glob("part-*"))]:
        assert gather(source, STUDY).integers() == expected


def test_a_partitioned_folder_whose_names_hold_text_that_looks_like_numbers(tmp_path, expected):
    pq.write_to_dataset(table(), tmp_path / "by", partition_cols=["c"])
    assert gather(tmp_path / "by", STUDY).integers() == expected


def test_a_partitioned_folder_whose_names_hold_numbers(tmp_path):
    halves = Study(Numeric("y", -1, 1), [Numeric("a", -2, 2)])
    rows = pa.table({"a": [0.5, 1.5, -7.0, 0.5], "y": [0.25, 0.5, 0.75, -2.0]})
    pq.write_to_dataset(rows, tmp_path / "by", partition_cols=["a"])
    assert gather(tmp_path / "by", halves).integers() == gather(rows, halves).integers()


def test_files_with_other_types_and_orders_of_columns_are_read_by_name(tmp_path, slow_moments):
    one = pa.table({"a": pa.array([1, 2], pa.int8()), "c": ["01", "02"], "y": [0.5, 0.25]})
    two = pa.table({"y": pa.array([0.5], pa.float32()), "c": pa.array(["02"]).dictionary_encode(), "a": [0.75]})
    pq.write_table(one, tmp_path / "1.parquet")
    pq.write_table(two, tmp_path / "2.parquet")
    found = gather(tmp_path, STUDY).integers()
    assert found == slow_moments([*one.to_pylist(), *two.to_pylist()], STUDY)


def test_arrow_streams_and_datasets(tmp_path, expected):
    pq.write_table(table(), tmp_path / "t.parquet")
    assert gather(ds.dataset(tmp_path / "t.parquet"), STUDY).integers() == expected
    stream = pa.RecordBatchReader.from_batches(table().schema, iter(table().to_batches(max_chunksize=100)))
    assert gather(stream, STUDY).integers() == expected


def test_column_names_are_taken_literally(tmp_path):
    odd = Study(Numeric("y.z", -1, 1), [Numeric('a "quoted" name', -1, 1)])
    rows = pa.table({"y.z": [0.5], 'a "quoted" name': [0.25], "y": [0.75]})
    pq.write_table(rows, tmp_path / "t.parquet")
    assert gather(tmp_path / "t.parquet", odd).integers() == gather(rows, odd).integers()


def test_memory_stays_small_and_progress_is_told(tmp_path, monkeypatch):
    """Each of two threads holds a row group and a batch of it, whatever the length of the table; so the table is long."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 2)
    rows = 4_000_000
    values = np.random.default_rng(0).normal(size=rows)
    numeric = Study(Numeric("y", -1, 1), [Numeric("a", -2, 2)])
    needed = 2 * 8 * rows
    pq.write_table(pa.table({"a": values, "y": values, "z": values}), tmp_path / "t.parquet", row_group_size=100_000)
    told = []
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    peak = []

    def tell(progress):
        told.append(progress)
        peak.append(pa.total_allocated_bytes() - before)

    gather(tmp_path / "t.parquet", numeric, progress=tell)
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()
    assert max(peak) < needed / 2
    assert told[-1].done and told[-1].rows == rows and told[-1].rows_per_second > 0


def test_schema_names_columns_and_types_only(tmp_path):
    pq.write_table(table(), tmp_path / "t.parquet")
    found = [(column.name, column.kind) for column in read_schema(tmp_path / "t.parquet")]
    assert found == [("a", "number"), ("c", "text"), ("y", "number"), ("unneeded", "text")]
    assert [column.kind for column in read_schema(table().to_pandas())] == ["number", "text", "number", "text"]
    mixed = pa.table(
        {"b": [True], "d": pa.array([0], pa.date32()), "l": [[1]], "k": pa.array(["x"]).dictionary_encode()}
    )
    assert [column.kind for column in read_schema(mixed)] == ["boolean", "date", "other", "text"]


def truncated(path):
    pq.write_table(table(), path)
    os.truncate(path, os.path.getsize(path) // 2)


def damaged(path):
    """Right at both ends, overwritten in between."""
    pq.write_table(table(), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = b"\x55" * (len(content) // 2 - len(content) // 4)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (truncated, "damaged, cut short or something else"),
        (damaged, "cannot be read to its end"),
        (lambda path: path.write_bytes(b""), "damaged, cut short or something else"),
        (lambda path: path.write_text("a,y\n1,2\n"), "damaged, cut short or something else"),
        (lambda path: path.mkdir(), "holds no data files"),
        (lambda path: None, "There is no file"),
    ],
)
def test_files_that_cannot_be_read_end_in_one_sentence(tmp_path, make, sentence):
    make(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=sentence) as caught:
        gather(tmp_path / "t.parquet", STUDY)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_later_file_without_the_column_or_with_another_type_is_refused(tmp_path):
    pq.write_table(table(10), tmp_path / "1.parquet")
    pq.write_table(table(10).drop_columns("a"), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"'a' is not in .*2\.parquet"):
        gather(tmp_path, STUDY)
    pq.write_table(table(10).set_column(0, "a", pa.array(["text"] * 10)), tmp_path / "2.parquet")
    with pytest.raises(DataError, match="'a' is text"):
        gather(tmp_path, STUDY)


def test_names_that_say_no_format_or_two_are_refused(tmp_path):
    (tmp_path / "t.doc").write_text("")
    with pytest.raises(DataError, match="cannot be told by its name"):
        gather(tmp_path / "t.doc", STUDY)
    pq.write_table(table(10), tmp_path / "1.parquet")
    shutil.copy(tmp_path / "1.parquet", tmp_path / "2.csv")
    with pytest.raises(DataError, match="mix the formats csv and parquet"):
        gather([tmp_path / "1.parquet", tmp_path / "2.csv"], STUDY)
