"""Rows that are kept give what their source gives, again and again, within a limit."""

from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.queries import Gradient, Gram, Histograms, Standard
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather import kept as module
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.gather.sources import files
from dpselect.gather.summary import Both

PREDICTORS = [Numeric("a", -1, 1), Categorical("c", ["u", "v"])]


def a_round(study):
    own = Standard(
        columns=(1, 2), centers=(0.0, 0.0), factors=(2.0**-8,) * 2, response_center=0.0, response_factor=2.0**-8
    )
    about = {"family": "binomial", "standard": own, "matrix": ((1.0, 0.5), (0.25, -1.0), (0.0, 2.0))}
    look = Histograms(columns=(1, 2), edges=((0.0,), ()), response_edges=(), family="binomial")
    center = (0.5, -0.25, 1.0)
    asked = [look, Gram(**about, radius=2.0), Gradient(**about, radius=2.0, center=center)]
    return RoundSummary(study, asked)


def table(count=30_000):
    rng = np.random.default_rng(8)
    a = rng.normal(size=count)
    a[::100] = np.nan
    words = {"c": rng.choice(["u", "v", "w"], count), "y": rng.choice(["no", "yes"], count)}
    return pa.table({"a": a, **words, "who": rng.integers(0, count // 3, count)})


def a_study(**more):
    return Study(Binary("y", ["no", "yes"]), PREDICTORS, missing="zero-row", **more)


class Fixed:
    """Blocks by the person, alike in every reading."""

    def draw(self, cells, rows):
        return (cells["who"] % 7).astype(np.uint32)[None]


def same(found, expected):
    (blocks, moments), answers = found
    (others, more), rest = expected
    assert moments.integers() == more.integers()
    assert answers == rest
    np.testing.assert_array_equal(blocks.sums.table, others.sums.table)
    assert blocks.n == others.n


@pytest.mark.parametrize("text", [False, True])
def test_they_are_added_up_as_they_were_read(tmp_path, monkeypatch, text):
    study = a_study(person="who", max_rows_per_person=2)
    rows = table()
    path = tmp_path / "t.parquet"
    pq.write_table(rows, path, row_group_size=4000)
    monkeypatch.setattr(files, "MIN_PART_ROWS", 4000)
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 3)
    every = Both(
        Both(BlockSummary(study, 7, 1, Fixed()), MomentSummary(study)),
        a_round(study),
    )
    kept = gather(path, study, KeptRows(study))
    path.unlink()
    assert kept.whole and kept.count == 30_000 and repr(kept) == "KeptRows(values=<private>)"
    expected = gather(rows, study, every)
    for _ in range(2):
        same(kept.replay(every), expected)
    if text:  # persons may be text
        named = rows.set_column(3, "who", rows["who"].cast(pa.string()))
        moments = gather(named, study, KeptRows(study)).replay(MomentSummary(study))
        assert moments.integers() == expected[0][1].integers()


def test_without_bounds_they_are_kept_as_they_are():
    study = Study(Numeric("y"), [Numeric("a"), PREDICTORS[1]], missing="zero-row")
    rng = np.random.default_rng(3)
    rows = {"y": rng.normal(size=5000) * 1e30, "a": rng.normal(size=5000), "c": rng.choice(["u", "v", "w"], 5000)}
    kept, sums = gather(rows, study, Both(KeptRows(study), BlockSummary(study, 1, 1)))
    again = kept.replay(BlockSummary(study, 1, 1))
    np.testing.assert_array_equal(again.sums.slices, sums.sums.slices)
    np.testing.assert_array_equal(again.sums.tops, sums.sums.tops)


def test_beyond_the_limit_none_is_kept(monkeypatch):
    study, rows = a_study(), table()
    row = 4 * 4
    assert gather(rows, study, KeptRows(study, 30_000 * row)).whole
    for count in (1, 3):
        monkeypatch.setattr("dpselect.gather.rows.cores", lambda cores=count: cores)
        parts = pa.concat_tables([rows.slice(0, 9000), rows.slice(9000)])
        kept = gather(parts, study, KeptRows(study, 30_000 * row - 1))
        assert not kept.whole and kept.count == 30_000 and not kept._store.rows


def test_whether_rows_fit_is_known_from_public_numbers(monkeypatch):
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 16_000)
    assert [KeptRows.fit(a_study(), rows) for rows in (1000, 1001)] == [True, False]
    assert not KeptRows.fit(a_study(person="who"), 1000)
    assert not KeptRows.fit(Study(Numeric("y"), PREDICTORS), 1000)


def test_a_missing_cell_is_refused_as_it_is_elsewhere(monkeypatch):
    study = Study(Binary("y", ["no", "yes"]), PREDICTORS)
    for limit in (2**29, 0):
        monkeypatch.setattr(module, "MAX_KEPT_BYTES", limit)
        with pytest.raises(DataError, match="'a' has missing"):
            gather(table(), study, KeptRows(study))


@pytest.mark.parametrize("limit", [2**20, 0])
@pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf])
def test_a_weight_that_cannot_be_used_is_refused_as_a_missing_cell_is(limit, weight):
    """Where rows are kept, before anything is charged; and also where there is no room for them."""
    weighed = {"weights": "w", "weight_limit": 2, "population": 9}
    rows = pa.table({"a": [0.0, 0.5], "y": [0.0, 1.0], "w": [1.0, weight]})
    for missing, refused in (("error", True), ("zero-row", False)):
        study = Study(Numeric("y", 0, 1), [Numeric("a", -1, 1)], missing=missing, **weighed)
        with pytest.raises(DataError, match="weights 'w' have missing") if refused else nullcontext():
            assert gather(rows, study, KeptRows(study, limit)).count == 2
