"""The door to block sums: what it refuses, which rows count, and the moments in the same pass."""

import tracemalloc

import numpy as np
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather.blocks import BUFFER_BYTES, BlockSummary, sums_bytes
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rows import gather
from dpselect.gather.saved import save_moments
from dpselect.gather.summary import Both

STUDY = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", 0, 10)])


class ByResponse:
    """An assignment by the row itself, so that every engine and order has the same one."""

    def __init__(self, blocks, partitions):
        self.blocks, self.partitions = blocks, partitions

    def draw(self, cells, rows):
        words = np.nan_to_num(cells["y"][:rows]).view(np.uint64)
        return np.stack([(words // (p + 1) % 1021 % self.blocks).astype(np.uint32) for p in range(self.partitions)])


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (rows, 2)) * [1, 5] + [0, 5], rng.uniform(-1, 1, rows)


def counts(sums):
    return sums.sums.table[..., 0]


def test_every_row_is_in_one_block_of_each_partition():
    sums = gather(table(5000), STUDY, BlockSummary(STUDY, 40, 3))
    assert sums.n == 5000
    assert (counts(sums).sum(axis=1) == 5000).all()
    assert (counts(sums) > 60).all()


def test_the_blocks_add_up_to_the_moments():
    sums, moments = gather(table(150_000), STUDY, Both(BlockSummary(STUDY, 9, 2), MomentSummary(STUDY)))
    expected = gather(table(150_000), STUDY)
    assert moments.integers() == expected.integers()
    n, _, xty, yty = expected.integers()
    for total in sums.sums.table.sum(axis=1).tolist():
        assert (total[0], total[9], total[6], total[8]) == (n, yty, xty[1], xty[2])


def test_threads_and_batches_change_no_sum(monkeypatch):
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 3)
    many = gather(table(300_000), STUDY, BlockSummary(STUDY, 50, 2, ByResponse(50, 2)))
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)
    monkeypatch.setattr("dpselect.gather.blocks.BUFFER_BYTES", 2**18)
    one = gather(table(300_000), STUDY, BlockSummary(STUDY, 50, 2, ByResponse(50, 2)))
    np.testing.assert_array_equal(many.sums.table, one.sums.table)


def test_missing_cells():
    x, y = table(1000)
    x[3, 0] = y[5] = np.nan
    x[7, 1] = np.inf
    with pytest.raises(DataError, match="'a' has missing"):
        gather((x, y), STUDY, BlockSummary(STUDY, 4, 1))
    for missing, left, counted in (("zero-row", 997, 1000), ("midpoint", 1000, 1000)):
        study = Study(STUDY.response, STUDY.predictors, missing=missing)
        sums, moments = gather((x, y), study, Both(BlockSummary(study, 4, 2), MomentSummary(study)))
        assert counts(sums).sum(axis=1).tolist() == [left, left]
        assert sums.n == moments.n == counted
        assert moments.integers() == gather((x, y), study).integers()


def test_levels_and_products_are_columns():
    study = Study(
        Numeric("y", -1, 1), [Numeric("a", -1, 1), Categorical("c", [1, 2, 3])], "none", terms=["a", "c", ["a", "c"]]
    )
    x, y = table(2000)
    x[:, 1] = np.arange(2000) % 3 + 1
    sums, moments = gather((x, y), study, Both(BlockSummary(study, 3, 1), MomentSummary(study)))
    assert sums.columns == ("a", "c[2]", "c[3]", "a:c[2]", "a:c[3]") and sums.width == 7
    total = sums.sums.table[0].sum(axis=0)
    square = np.zeros((7, 7), dtype=np.int64)
    square[np.triu_indices(7)] = total[:28]
    np.testing.assert_array_equal(square[1:, 1:], np.triu(moments.products.astype(np.int64)))


def test_what_is_refused_before_a_row_is_read(tmp_path):
    moments = gather(table(10), STUDY)
    save_moments(moments, tmp_path / "site.moments")
    for source in (moments, str(tmp_path / "site.moments")):
        with pytest.raises(DataError, match="reads rows, and moments no longer hold them"):
            gather(source, STUDY, BlockSummary(STUDY, 3, 1))
    for blocks, partitions in ((0, 1), (1, 0), (True, 1), (2.0, 1), (2**31, 1)):
        with pytest.raises(StudyError, match="must be a whole number"):
            gather(table(10), STUDY, BlockSummary(STUDY, blocks, partitions))
    with pytest.raises(StudyError, match="need more than 512 MB"):
        gather(table(10), STUDY, BlockSummary(STUDY, 2**24, 4))
    with pytest.raises(DataError, match="no rows"):
        gather((np.zeros((0, 2)), np.zeros(0)), STUDY, BlockSummary(STUDY, 3, 1))


def test_nothing_private_is_printed():
    sums = gather(table(100), STUDY, BlockSummary(STUDY, 3, 2))
    assert repr(sums) == "BlockSums(partitions=2, blocks=3, values=<private>)"
    assert "private" in repr(sums.sums)


def test_threads_share_one_table_of_sums(monkeypatch):
    """Memory is that of one table and of the rows that wait, whatever the number of threads."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 4)
    source, blocks = table(300_000), 800_000
    tracemalloc.start()
    gather(source, STUDY, BlockSummary(STUDY, blocks, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sums_bytes(STUDY, blocks, 1) == 102_400_000
    assert peak < 102_400_000 + BUFFER_BYTES + 40_000_000
