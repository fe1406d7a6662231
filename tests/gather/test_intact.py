"""Damaged columns and files that change meanwhile end in a sentence, never in a wrong sum."""

import io
import os
import re
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.listed import Watch
from dpselect.gather.rows import gather
from dpselect.gather.sources import files
from dpselect.gather.sources.open import open_stream
from dpselect.gather.sources.stream import as_bytes, is_whole

STUDY = Study(Numeric("y", -1, 1), [Categorical("c", ["ab", "cde"])], missing="midpoint")


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
        gather(tmp_path / "t.arrow", STUDY)
    packed = io.BytesIO()
    with pa.ipc.new_stream(packed, batch.schema) as stream:
        stream.write_batch(batch)
    packed.seek(0)
    with pytest.raises(DataError, match="Arrow stream holds damaged columns"):
        gather(pa.ipc.open_stream(packed), STUDY)
    with pytest.raises(DataError, match="holds damaged columns"):
        gather(pa.Table.from_batches([batch]), STUDY)


def test_a_decimal_with_more_places_than_there_are_is_no_number():
    odd = pa.Array.from_buffers(pa.decimal128(5, 90), 3, [None, pa.py_buffer(bytes(48))])
    with pytest.raises(DataError, match="'y' is of the type decimal128"):
        gather(pa.table({"y": odd, "c": ["ab", "ab", "cde"]}), STUDY)


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
        gather(path, STUDY)
    assert pa.default_memory_pool().max_memory() < before + 100_000_000


WATCHED = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])


def content(value: float) -> pa.Table:
    return pa.table({"a": np.full(400_000, value), "y": np.full(400_000, value)})


def parquet(path, table):
    pq.write_table(table, path, row_group_size=1000, compression="none", use_dictionary=False)


def arrow(path, table):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)


def text(path, table):
    cells = f"{table['a'][0].as_py()},{table['y'][0].as_py()}\n"
    path.write_text("a,y\n" + cells * len(table))


WRITERS = {"t.parquet": parquet, "t.arrow": arrow, "t.csv": text}


# A dataset of text is refused before it is read: tests/claims/test_one_bad_cell.py.
@pytest.mark.parametrize(
    ("name", "as_dataset"), [*((name, False) for name in WRITERS), ("t.parquet", True), ("t.arrow", True)]
)
def test_a_file_that_is_rewritten_in_its_place_is_refused(tmp_path, name, as_dataset):
    """It gave a silent mix of old and new rows, six times of six."""
    path = tmp_path / name
    WRITERS[name](path, content(0.25))
    WRITERS[name](tmp_path / f"new-{name}", content(0.75))
    new = (tmp_path / f"new-{name}").read_bytes()
    assert len(new) == path.stat().st_size
    source = ds.dataset(path, format="parquet" if name == "t.parquet" else "ipc") if as_dataset else path
    with pytest.raises(DataError, match=r"t\.\w+' changed while it was read"):
        with open_stream(source, {"a": "number", "y": "number"}) as stream:
            batches = stream.read(["a", "y"])
            next(batches)
            with open(path, "r+b") as file:
                file.write(new)
            os.utime(
                path, ns=(time.time_ns(), time.time_ns())
            )  # the clock of some systems ticks a hundred times a second
            for _ in batches:
                pass


def test_a_file_that_grows_or_is_cut_is_refused_and_kills_nothing(tmp_path):
    """A mapped Arrow file that was cut killed the process (SIGBUS)."""
    for name, write in WRITERS.items():
        write(tmp_path / name, content(0.25))
        with pytest.raises(DataError, match=r"changed while it was read|cannot be read to its end"):
            with open_stream(tmp_path / name, {"a": "number", "y": "number"}) as stream:
                batches = stream.read(["a", "y"])
                next(batches)
                os.truncate(tmp_path / name, 1000)
                for _ in batches:
                    pass


def test_the_part_that_ends_last_sees_the_change(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MIN_PART_ROWS", 1000)
    parquet(tmp_path / "t.parquet", content(0.25))
    with open_stream(tmp_path / "t.parquet") as stream:
        parts = stream.in_parts(["a", "y"])
        first, second = next(parts), next(parts)
        assert len(list(second)) == 1
        os.utime(tmp_path / "t.parquet", ns=(0, 0))
        with pytest.raises(DataError, match="changed while it was read"):
            list(first)


def test_a_name_that_another_file_took_while_it_was_opened_is_noticed(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("new")
    watch = Watch(str(tmp_path / "old"))
    watch.require_name()
    os.replace(tmp_path / "new", tmp_path / "old")
    watch.require_unchanged()
    with pytest.raises(DataError, match="changed while it was read"):
        watch.require_name()


def test_a_file_that_may_not_be_opened_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        Watch(str(tmp_path / "none"))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.zst", "t.csv.lz4"])
def test_compressed_text_that_is_cut_short_is_refused(tmp_path, name):
    rows = "".join(f"{value:.6f},{-value:.6f}\n" for value in np.random.default_rng(1).uniform(-1, 1, 20_000))
    with pa.output_stream(str(tmp_path / name)) as stream:
        stream.write(("a,y\n" + rows).encode())
    assert gather(tmp_path / name, WATCHED).n == 20_000
    packed = (tmp_path / name).read_bytes()
    for part in (0.3, 0.6, 0.97):
        (tmp_path / name).write_bytes(packed[: int(part * len(packed))])
        with pytest.raises(DataError, match=r"t\.csv"):
            gather(tmp_path / name, WATCHED)


@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
def test_checksums_of_parquet_pages_are_verified_where_there_are(tmp_path, page_version):
    """One bit of a number is another number, which nothing else would notice."""
    pq.write_table(
        content(0.25).slice(0, 1000),
        tmp_path / "t.parquet",
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
        data_page_version=page_version,
    )
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    place = data.index(np.float64(0.25).tobytes() * 2)
    data[place + 6] ^= 1
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(DataError, match="cannot be read to its end"):
        gather(tmp_path / "t.parquet", WATCHED)


def test_a_whole_process_survives_files_cut_by_another(tmp_path):
    """From outside, with threads: reading ends in a sum or in a sentence, never in a signal."""
    arrow(tmp_path / "t.arrow", content(0.25))
    code = f"""
import os, threading, time
from dpselect.errors import DataError
from tests_study import WATCHED
from dpselect.gather.rows import gather
def cut():
    time.sleep(0.02)
    os.truncate({str(tmp_path / "t.arrow")!r}, 100_000)
threading.Thread(target=cut).start()
try:
    gather({str(tmp_path / "t.arrow")!r}, WATCHED)
except DataError as error:
    print(error)
"""
    study = "from dpselect.assume.study import Study\nfrom dpselect.assume.variables import Numeric\n"
    study += 'WATCHED = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])\n'
    (tmp_path / "tests_study.py").write_text(study)
    paths = os.pathsep.join([*sys.path, str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert done.returncode == 0
