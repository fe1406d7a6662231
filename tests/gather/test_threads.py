"""Parts of a table on several threads: the same integers, bounded memory, and a clean end whatever happens."""

import gc
import inspect
import os
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError
from dpselect.gather import rows as module
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import add_here, gather
from dpselect.gather.sources import files
from dpselect.gather.sources.open import open_stream
from dpselect.gather.sources.stream import Reporter, batch_rows
from dpselect.gather.summary import add_all

STUDY = Study(Numeric("y", -1, 1), [Numeric("a", -2, 2)])
QUIET = Reporter(None)


def add_up(parts, study, report=QUIET):
    return add_here(parts, study, MomentSummary(study), report).result()


def cells(seed, rows=1000):
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=rows), "y": rng.uniform(-2, 2, rows)}


def parts(count):
    return [[cells((part, i), 10 * part + i) for i in range(part % 4)] for part in range(count)]


@pytest.fixture
def cores(monkeypatch):
    def set_to(count):
        monkeypatch.setattr(module, "cores", lambda: count)

    return set_to


@pytest.mark.parametrize("count", [1, 2, 3, 16])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 40])
def test_any_number_of_threads_and_parts_gives_the_same_integers(cores, count, number):
    cores(count)
    private = Study(STUDY.response, STUDY.predictors, neighbors="add-remove-one")  # there may be no rows
    whole = MomentSummary(private)
    add_all([batch for part in parts(number) for batch in part], private, whole)
    assert add_up(parts(number), private).integers() == whole.result().integers()


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("broken", [0, 1, 7, 29])
def test_an_error_in_one_part_is_raised_and_no_thread_is_left(cores, count, broken):
    cores(count)
    before = threading.active_count()

    def failing():
        yield cells(1)
        raise DataError("this part is damaged")

    with pytest.raises(DataError, match="this part is damaged"):
        add_up([failing() if i == broken else [cells(i)] for i in range(30)], STUDY)
    assert threading.active_count() == before


def test_ctrl_c_stops_after_the_batches_under_way(cores):
    cores(2)
    before, read = threading.active_count(), []

    def endless(part):
        while True:
            read.append(part)
            yield cells(part, 10)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_up((endless(i) for i in range(100)), STUDY, Reporter(stop))
    assert threading.active_count() == before
    assert set(read) <= set(range(5))


def test_few_parts_are_taken_ahead(cores):
    cores(3)
    taken, finished, most = 0, 0, 0
    lock = threading.Lock()

    def part(seed):
        nonlocal finished
        yield cells(seed)
        with lock:
            finished += 1

    def source():
        nonlocal taken, most
        for i in range(200):
            with lock:
                taken += 1
                most = max(most, taken - finished)
            yield part(i)

    add_up(source(), STUDY)
    assert (taken, finished) == (200, 200)
    assert most <= 3 + 3


def test_wide_tables_are_read_by_fewer_threads(cores, monkeypatch):
    cores(8)
    used = []
    monkeypatch.setattr(module, "share_out", lambda parts, adders, look: used.append(len(adders)))
    for width in (1, 13, 31, 63, 100):
        wide = Study(Numeric("y", -1, 1), [Numeric(f"a{i}", -1, 1) for i in range(width)])
        add_here([[], []], wide, MomentSummary(wide), QUIET)
    assert used == [8, 4, 2, 1, 1]


def test_a_small_table_starts_no_thread(monkeypatch):
    monkeypatch.setattr(module, "ThreadPoolExecutor", None)
    assert gather((np.ones((10, 1)), np.ones(10)), STUDY).n == 10
    assert gather(pa.table(cells(1)), STUDY).n == 1000


def test_row_groups_are_read_in_parts_of_a_few(tmp_path, monkeypatch):
    table = pa.table(cells(5, 5000))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=300)
    whole = gather(table, STUDY).integers()
    for rows, expected in ((1, 17), (600, 9), (601, 6), (10**6, 1)):
        monkeypatch.setattr(files, "MIN_PART_ROWS", rows)
        found = [groups for _, groups in files._row_groups(str(tmp_path / "t.parquet"), "parquet")]
        assert len(found) == expected
        assert [group for part in found for group in part] == list(range(17))
        assert gather(tmp_path / "t.parquet", STUDY).integers() == whole


def test_batches_of_files_hold_so_many_cells_and_no_more():
    assert [batch_rows(columns) for columns in (1, 14, 32, 33, 51, 64, 101, 600, 10_000)] == [
        2**17, 2**17, 2**17, 2**16, 2**16, 2**16, 2**15, 2**13, 2**13,
    ]  # fmt: skip


def test_progress_is_told_while_parts_are_added(cores):
    cores(2)
    told = []
    table = {name: np.tile(values, 2000) for name, values in cells(3).items()}
    gather((table["a"][:, None], table["y"]), STUDY, progress=told.append)
    rows = [progress.rows for progress in told]
    assert rows == sorted(rows)
    assert told[-1].done and rows[-1] == 2_000_000


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("first", [True, False])
def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(tmp_path, monkeypatch, kind, first):
    """Or one person's row could count twice, or not at all: half of the old file and half of the new one."""
    monkeypatch.setattr(files, "MIN_PART_ROWS", 10)
    y = np.zeros(100)
    y[0 if first else -1] = 1
    for name, values in (("t", y), ("new", y[::-1])):
        path = tmp_path / f"{name}.{kind}"
        table = pa.table({"a": values, "y": values})
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=10)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=10)
    with open_stream(tmp_path / f"t.{kind}") as stream:
        parts = stream.in_parts(["a", "y"])
        found = [next(iter(next(parts)))["y"].to_pylist()] if kind == "parquet" else []
        waiting = next(parts)
        os.replace(tmp_path / f"new.{kind}", tmp_path / f"t.{kind}")
        found += [batch["y"].to_pylist() for part in ([waiting], parts) for each in part for batch in each]
    assert [value for batch in found for value in batch] == y.tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted the Linux way")
def test_after_an_error_no_file_is_open_and_no_batch_is_held(cores, tmp_path, monkeypatch):
    cores(2)
    monkeypatch.setattr(files, "MIN_PART_ROWS", 10_000)
    table = {name: np.tile(values, 80) for name, values in cells(3).items()}
    table["a"][5] = np.nan
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(table), path, row_group_size=10_000)
    before = pa.total_allocated_bytes()
    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(DataError, match="missing") as caught:
                gather(path, STUDY)
            # Even while somebody keeps the error, and with it its traceback, no part is under way.
            assert inspect.GEN_SUSPENDED not in map(inspect.getgeneratorstate, _part_readers())
            del caught
            assert str(path) not in _open_files()
            assert pa.total_allocated_bytes() == before
    finally:
        gc.enable()


def _part_readers():
    return [each for each in gc.get_objects() if inspect.isgenerator(each) and each.__name__ == "_read_part"]


def _open_files():
    listed = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return [os.readlink(name) for name in listed if os.path.lexists(name)]


def test_a_file_without_rows_is_checked_for_its_columns_too(tmp_path):
    pq.write_table(pa.table(cells(1)), tmp_path / "1.parquet")
    pq.ParquetWriter(tmp_path / "2.parquet", pa.schema([("a", pa.float64()), ("y", pa.float64())])).close()
    assert gather(tmp_path, STUDY).n == 1000
    pq.ParquetWriter(tmp_path / "3.parquet", pa.schema([("z", pa.string())])).close()
    with pytest.raises(DataError, match=r"'a' is not in .*exactly once"):
        gather(tmp_path, STUDY)
