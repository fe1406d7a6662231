"""Thinned neighbours are neighbours: weights and clusters move no score of the votes by more than rows alone do."""

import sqlite3
from contextlib import closing
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpselect.assume.lemmas.sampling import sampled_range
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, edge_range, margin_range
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.dealing import fresh_assigner, thinned, weight_shares
from dpselect.gather.kept import KeptRows
from dpselect.gather.rows import gather
from dpselect.gather.sources.source import Database
from dpselect.gather.sql import aggregate_query
from dpselect.minimize.votes.votes import block_votes

PAIRS, LONGEST, BLOCKS, PARTITIONS = 10_000, 14, 2, 2
LIMIT = 8.0
WEIGHTS = (0.0, LIMIT, 3 * LIMIT, np.nan, np.inf, -1.0, 1.0, 4.0, 7.9, 1e-320, 1e308)


def survey(bounded=False, **stated):
    bounds = (-50, 50) if bounded else ()
    weighted = {"weights": "w", "weight_limit": LIMIT, "population": 1e4, "missing": "zero-row"} | stated
    return Study(Numeric("y", *bounds), [Numeric(name, *bounds) for name in "abc"], **weighted)


class Shared:
    """Blocks and coins of rows that are told apart by their place, so that two tables can share them."""

    def __init__(self, places, coins, missing="zero-row"):
        self.places, self.coins, self.missing, self.row = places, coins, missing, 0

    def draw(self, cells, rows):
        here = slice(self.row, self.row + rows)
        self.row += rows
        shares = weight_shares(cells["w"], LIMIT, self.missing, "w")
        return thinned(self.places[:, here], shares, self.coins[:, here])


def neighbours(rng, relation, rows):
    """Tables (pairs, rows, 5), weights last, and their neighbours; the row that differs is the last."""
    tables = rng.normal(size=(PAIRS, rows, 5))
    tables[..., 3] += rng.choice([0.0, 3.0, 1e4], (PAIRS, 1)) * tables[..., 0]
    tables[..., 4] = rng.choice(WEIGHTS, (PAIRS, rows))
    few = rng.random(PAIRS) < 0.3
    tables[few, :, 4] = LIMIT  # blocks with many rows among them
    there = np.arange(rows) >= rng.integers(0, rows - 1, (PAIRS, 1))
    others, there_too = tables.copy(), there.copy()
    others[:, -1] = rng.normal(size=(PAIRS, 5)) * 10.0 ** rng.integers(-2, 6, (PAIRS, 5))
    others[:, -1, 4] = rng.choice(WEIGHTS, PAIRS)
    if relation == "add":
        there_too[:, -1] = False
    return (tables, there), (others, there_too)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("relation", ["replace", "add"])
def test_ten_thousand_weighted_pairs(bounded, relation, monkeypatch):
    """One block of each dealing differs at most, no lead by more than two votes for each; both are reached."""
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 1)  # so that rows come in order, as `Shared` needs
    rng = np.random.default_rng([26, bounded, relation == "add"])
    study = survey(bounded)
    places = rng.integers(0, BLOCKS, (PARTITIONS, PAIRS, LONGEST)) + BLOCKS * np.arange(PAIRS)[:, None]
    coins = rng.integers(0, 2**32, places.shape, dtype=np.uint32)
    votes = []
    for tables, there in neighbours(rng, relation, LONGEST):
        rows = tables[there]
        shared = Shared(places[:, there].astype(np.uint32), coins[:, there])
        summary = BlockSummary(study, BLOCKS * PAIRS, PARTITIONS, shared)
        sums = gather((rows[:, :3], rows[:, 3], rows[:, 4]), study, summary)
        votes.append(block_votes(sums, ridge=0.1)[..., 1:].astype(int).reshape(PARTITIONS, PAIRS, BLOCKS, 3))
    assert (votes[0] != votes[1]).any(axis=3).sum(axis=2).max() == 1
    leads = [each.sum(axis=(0, 2)) for each in votes]
    assert np.abs(leads[0] - leads[1]).max() == sampled_range(PARTITIONS) // 2 == 2 * WHOLE_VOTE * PARTITIONS


def test_the_range_is_that_of_both_kinds_of_votes():
    assert [sampled_range(each) for each in (1, 4, 23)] == [margin_range(each) for each in (1, 4, 23)]
    assert [sampled_range(each) for each in (1, 4, 23)] == [edge_range(each) for each in (1, 4, 23)]


def test_the_exact_law_of_a_choice_keeps_its_price():
    """All blocks and all outcomes of the coins of four rows, weighed by their chances: no ratio beyond e^epsilon.

    The choice is drawn by the exponential mechanism from one column's lead; tables are neighbours in values and weights.
    """
    rng = np.random.default_rng(2601)
    study, rows, epsilon, pairs = survey(), 4, 3.0, 60
    deals = np.array(list(product([0, 1], repeat=rows)))  # the block of each row
    takes = np.array(list(product([False, True], repeat=rows)))
    worst = 0.0
    for _ in range(pairs):
        table = rng.integers(-1, 2, (rows, 5)).astype(float)
        table[:, 4] = rng.choice(WEIGHTS, rows)
        other = table.copy()
        other[-1] = rng.integers(-2, 3, 5)
        other[-1, 4] = rng.choice(WEIGHTS)
        laws = []
        for each in (table, other):
            chances = weight_shares(each[:, 4], LIMIT, "zero-row", "w") / 2.0**32
            leads = _leads_of_all(study, each, deals, takes)
            weights = np.where(takes, chances, 1 - chances).prod(axis=1)[None, :] / len(deals)
            up = 1 / (1 + np.exp(-epsilon * 2 * leads / margin_range(1)))  # "up" is worth the lead, "down" minus that
            laws.append(float((weights * up).sum()))
        ratios = np.log([laws[0] / laws[1], (1 - laws[0]) / (1 - laws[1])])
        worst = max(worst, float(np.abs(ratios).max()))
    assert 0.1 < worst <= epsilon


def _leads_of_all(study, table, deals, takes):
    """The lead of the first column in every dealing and thinning, (deals, takes); one reading of as many copies."""
    copies = len(deals) * len(takes)
    nowhere = np.uint32(2**32 - 1)
    own = np.where(takes[None, :, :], deals[:, None, :], -1).reshape(copies, -1)
    places = np.where(own < 0, nowhere, own + 2 * np.arange(copies)[:, None]).astype(np.uint32).reshape(1, -1)

    class Stated:
        row = 0

        def draw(self, cells, rows):
            self.row += rows
            return places[:, self.row - rows : self.row]

    rows = np.tile(table, (copies, 1))
    sums = gather((rows[:, :3], rows[:, 3], rows[:, 4]), study, BlockSummary(study, 2 * copies, 1, Stated()))
    votes = block_votes(sums, ridge=0.1)[0, :, 1].astype(int)
    return votes.reshape(len(deals), len(takes), 2).sum(axis=2)


def frame_of(rows, rng):
    frame = pd.DataFrame(rng.integers(-50, 51, (rows, 4)).astype(float), columns=["a", "b", "c", "y"])
    return frame.assign(w=rng.choice([0.0, LIMIT, 3 * LIMIT, np.nan, np.inf, -1.0], rows))


def sums_by_partition(source, study):
    """All blocks of a partition together: what was added up at all, whatever the chance."""
    return gather(source, study, BlockSummary(study, 5, 3)).sums.table.sum(axis=1)


def sure_rows():
    """A study, a table of weights whose rows surely count or surely do not, and the sums of those that do."""
    study, frame = survey(bounded=True), frame_of(4000, np.random.default_rng(2602))
    inside = frame[frame.w.isin([LIMIT, 3 * LIMIT])]
    plain = Study(study.response, study.predictors, missing="zero-row")
    return study, frame, sums_by_partition(inside.drop(columns="w"), plain)


@pytest.mark.spark
def test_spark_keeps_no_other_row_because_of_mine(spark):
    study, frame, wanted = sure_rows()
    assert (sums_by_partition(spark.createDataFrame(frame).repartition(3), study) == wanted).all()


@pytest.fixture
def stored(tmp_path):
    """The weighted table in every place but Spark."""
    _, frame, _ = sure_rows()
    table = pa.Table.from_pandas(frame)
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_parquet(tmp_path / "s.parquet")
    dask = pytest.importorskip("dask.dataframe")
    with closing(pytest.importorskip("duckdb").connect(str(tmp_path / "s.duckdb"))) as connection:
        connection.register("here", frame)
        connection.execute("CREATE TABLE t AS SELECT * FROM here")
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection:
        frame.to_sql("t", connection, index=False)
    return {
        "frame": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: table,
        "a stream": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700)),
        "arrays": lambda: (frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy()),
        "csv": lambda: str(tmp_path / "s.csv"),
        "parquet": lambda: str(tmp_path / "s.parquet"),
        "duckdb": lambda: Database(tmp_path / "s.duckdb", table="t"),
        "adbc": lambda: Database(f"adbc:sqlite:{tmp_path / 's.sqlite'}", table="t"),
        "dask": lambda: dask.from_pandas(frame, npartitions=3),
    }


def test_no_engine_keeps_another_row_because_of_mine(stored):
    """From every source the same rows count, whoever else is in the table."""
    study, frame, wanted = sure_rows()
    for name, source in stored.items():
        assert (sums_by_partition(source(), study) == wanted).all(), name
    kept = gather(frame, study, KeptRows(study))
    assert (kept.replay(BlockSummary(study, 5, 3)).sums.table.sum(axis=1) == wanted).all()


def test_every_engine_refuses_an_unusable_weight_where_missing_cells_are_refused(stored):
    study = replace(survey(bounded=True), missing="error")
    for source in stored.values():
        with pytest.raises(DataError, match="'w' ha"):
            sums_by_partition(source(), study)


def test_an_aggregate_query_and_moments_refuse_weights():
    study = survey(bounded=True)
    with pytest.raises(StudyError, match="cannot use weights"):
        aggregate_query(study, "t", "duckdb")
    with pytest.raises(StudyError, match="cannot use weights"):
        gather(frame_of(10, np.random.default_rng(1)), study)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_row_of_any_weight_changes_its_own_blocks_alone(weight):
    """The program's own coins, twice the same: with another last row all other blocks are what they were."""
    rng = np.random.default_rng(2603)
    study, frame = survey(bounded=True), frame_of(300, rng)
    frame["w"] = rng.uniform(0, 2 * LIMIT, 300)
    other = frame.copy()
    other.loc[299] = [50.0, -50.0, 1.0, 2.0, weight]
    drawn = [Replayed(study) for _ in range(2)]
    tables = [
        gather(each, study, BlockSummary(study, 20, 3, own)) for each, own in zip((frame, other), drawn, strict=True)
    ]
    assert (drawn[0].ids[:, :-1] == drawn[1].ids[:, :-1]).all()
    changed = (tables[0].sums.table != tables[1].sums.table).any(axis=2)
    assert changed.sum(axis=1).max() <= 1


class Replayed:
    """The program's assigner with the operating system's chance played back from the start."""

    def __init__(self, study):
        self.inner, self.ids = fresh_assigner(study, 20, 3), None

    def draw(self, cells, rows):
        bits = np.random.default_rng(5)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpselect.gather.dealing.os.urandom", bits.bytes)
            self.ids = self.inner.draw(cells, rows)
        return self.ids


@pytest.mark.parametrize("unit", ["row", "person"])
def test_a_row_or_a_person_within_a_cluster_changes_one_block_of_each_dealing(unit):
    """Added and removed, with weights; the same name in another cluster is another unit."""
    rng = np.random.default_rng(2604)
    stated = {"cluster": "psu", "neighbors": "add-remove-one"} | ({"person": "who"} if unit == "person" else {})
    study = survey(bounded=True, **stated)
    for _ in range(60):
        rows = int(rng.integers(5, 60))
        frame = frame_of(rows, rng).assign(psu=rng.integers(0, 6, rows), who=rng.integers(0, 3, rows))
        frame["w"] = rng.choice([1.0, LIMIT, 20.0], rows)
        mine = frame.index == rows - 1
        if unit == "person":
            mine = (frame.who == frame.who.iloc[-1]) & (frame.psu == frame.psu.iloc[-1])
        without = frame[~mine]
        own = fresh_assigner(study, 30, 3)  # one key for both tables
        coins = rng.integers(0, 2**32, (3, rows), dtype=np.uint32)
        tables = []
        for each, part in ((frame, coins), (without, coins[:, ~mine])):
            ids = own.unthinned.draw({name: each[name].to_numpy() for name in ("psu", "who")}, len(each))
            shares = weight_shares(each.w.to_numpy(), LIMIT, "error", "w")
            stated_ids = thinned(ids, shares, part)
            tables.append(gather(each, study, BlockSummary(study, 30, 3, _Stated(stated_ids))).sums.table)
        assert (tables[0] != tables[1]).any(axis=2).sum(axis=1).max() <= 1


class _Stated:
    def __init__(self, ids):
        self.ids = ids

    def draw(self, cells, rows):
        return self.ids


def test_replaced_in_another_cluster_a_row_would_change_two_blocks_so_it_is_refused():
    with pytest.raises(Exception, match="cluster needs neighbors = 'add-remove-one'"):
        survey(cluster="psu")
    assert not survey(cluster="who", person="who", weights=None, weight_limit=None, population=None).is_sample
