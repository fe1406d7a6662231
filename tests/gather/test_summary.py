"""The laws that threads, Spark and Dask rely on, for whatever is added up: one test, every summary."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.queries import Gradient, Gram, Norms, Rows, Standard
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather import blocks as blocks_module
from dpselect.gather import moments as moments_module
from dpselect.gather.blocks import BlockSummary
from dpselect.gather.fit import FitSummary
from dpselect.gather.grid import MAX_CHUNK_ROWS, Chunks
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import MomentSummary
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import count_rows, gather
from dpselect.gather.summary import Both, Count, add_all
from tests.examples import examples

PREDICTORS = [Numeric("a", -1, 1), Categorical("c", ["u", "v", "w"])]
PLAIN = Study(Binary("y", ["no", "yes"]), PREDICTORS, missing="zero-row", neighbors="add-remove-one")
OPEN = Study(Numeric("y"), [Numeric("a"), PREDICTORS[1]], missing="zero-row", neighbors="add-remove-one")
PERSONS = Study(
    Binary("y", ["no", "yes"]),
    PREDICTORS,
    missing="zero-row",
    neighbors="add-remove-one",
    person="who",
    max_rows_per_person=2,
)
STANDARD = Standard(
    columns=(1, 2, 3), centers=(0.5, 0.0, 7.0), factors=(2.0**-8,) * 3, response_center=0.0, response_factor=2.0**-8
)


class ByRow:
    """Blocks by the row itself, so that every order has the same ones."""

    def draw(self, cells, rows):
        return np.stack([np.nan_to_num(cells["a"]).view(np.uint64) // (p + 1) % 5 for p in (0, 1)]).astype(np.uint32)


def answers(study):
    matrix = ((1.0, 0.0), (0.5, 1.0), (0.0, -1.0), (0.25, 2.0))
    about = {"family": "gaussian", "standard": STANDARD, "matrix": matrix, "center": (0.5, 1.0, -0.25, 0.0)}
    asked = [Rows(), Gram(**about, radius=2.0), Gradient(**about, radius=3.0), Norms(**about, edges=(0.5, 1.0))]
    return RoundSummary(study, asked)


SUMMARIES = {
    "count": (PLAIN, Count()),
    "fit": (PLAIN, FitSummary(PLAIN)),
    "moments": (PLAIN, MomentSummary(PLAIN)),
    "moments of persons": (PERSONS, MomentSummary(PERSONS)),
    "blocks": (PLAIN, BlockSummary(PLAIN, 5, 2, ByRow())),
    "blocks in bins": (OPEN, BlockSummary(OPEN, 5, 2, ByRow())),
    "answers": (PLAIN, answers(PLAIN)),
    "answers of persons": (PERSONS, answers(PERSONS)),
    "both": (PLAIN, Both(BlockSummary(PLAIN, 5, 2, ByRow()), Both(MomentSummary(PLAIN), answers(PLAIN)))),
}
every = pytest.mark.parametrize("name", SUMMARIES)


def rows(seed, count):
    rng = np.random.default_rng(seed)
    cells = {"a": rng.normal(size=count) * 10.0 ** rng.integers(-3, 3), "c": rng.integers(-1, 3, count)}
    cells["a"][rng.random(count) < 0.1] = np.nan
    return cells | {"y": rng.integers(0, 2, count).astype(float), "who": seed * 1000 + rng.integers(0, 4, count)}


def taken(cells, places):
    return {name: values[places] for name, values in cells.items()}


def summed(name, *batches):
    study, plan = SUMMARIES[name]
    own = plan.empty()
    add_all(batches, study, own)
    return own


def plain(value):
    """Whatever a summary comes to, as something that can be compared."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return [plain(each) for each in value]
    if hasattr(value, "integers"):
        return value.integers()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, field)) for field in value.__dataclass_fields__]
    return value


def same(one, other):
    return plain(one.result()) == plain(other.result())


@every
@settings(max_examples=examples(20))
@given(st.integers(0, 10**6), st.lists(st.integers(0, 30), min_size=3, max_size=3))
def test_a_summary_is_a_monoid_of_its_rows(name, seed, counts):
    """No person has rows in two of the three parts, as no person has where persons must meet."""
    parts = [rows(10 * seed + i, count) for i, count in enumerate(counts)]
    whole = summed(name, *parts)
    assert same(summed(name).merge(summed(name, *parts)), whole)
    assert same(summed(name, *parts).merge(summed(name)), whole)
    for cut in (1, 2):
        left, right = parts[:cut], parts[cut:]
        assert same(summed(name, *left).merge(summed(name, *right)), whole)
        assert same(summed(name, *right).merge(summed(name, *left)), whole)


@every
@settings(max_examples=examples(20))
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 20))
def test_order_and_batches_are_nothing(name, seed, count, size):
    cells = rows(seed, count)
    order = np.random.default_rng(seed).permutation(count)
    batches = [taken(cells, order[start : start + size]) for start in range(0, count, size)]
    assert same(summed(name, *batches), summed(name, cells))


@every
@pytest.mark.parametrize("piece", [1, 2**24])
def test_what_is_sent_in_pieces_arrives_in_any_order(name, piece, monkeypatch):
    for module in (blocks_module, moments_module):
        monkeypatch.setattr(module, "MAX_PIECE_BYTES", piece)
    _, plan = SUMMARIES[name]
    parts = [rows(seed, 40) for seed in range(3)] + [rows(9, 0)]
    sent = [list(summed(name, part).to_bytes()) for part in parts]
    assert all(sum(map(len, each)) <= plan.max_bytes + 32 * len(each) for each in sent)
    assert piece > 1 or name in ("count", "fit") or "answers" in name or max(map(len, sent)) > 3
    pieces = [each for own in sent for each in own]
    whole = summed(name, *parts)
    for order in (pieces, pieces[::-1]):
        assert same(plan.from_bytes(order), whole)
        assert same(plan.empty().merge(plan.from_bytes(order)), whole)


@every
def test_one_of_no_rows_is_small_and_travels(name):
    _, plan = SUMMARIES[name]
    sent = pickle.dumps(plan.empty())
    assert len(sent) < 300_000
    assert plain(pickle.loads(sent).result()) == plain(plan.empty().result())


@every
def test_nothing_private_is_printed(name):
    assert "<private>" in repr(summed(name, rows(1, 20)))
    assert "<private>" in repr(next(Chunks(PLAIN).of(rows(1, 20))))


@every
def test_threads_may_share_memory(name):
    study, plan = SUMMARIES[name]
    parts = [rows(seed, 50) for seed in range(3)]
    first, *others = plan.for_threads(3)
    for own, part in zip((first, *others), parts, strict=True):
        add_all([part], study, own)
    for other in others:
        first = first.merge(other)
    assert same(first, summed(name, *parts))


@every
def test_a_table_without_rows_is_refused_where_their_number_is_public(name):
    if name in ("count", "fit"):
        pytest.skip("these count rows, and there are none")
    kinds = {"moments": MomentSummary, "answers": answers, "blocks": lambda study: BlockSummary(study, 5, 2)}
    public = Study(PLAIN.response, PLAIN.predictors)
    with pytest.raises(DataError, match="no rows"):
        kinds.get(name.partition(" ")[0], MomentSummary)(public).result()


def test_two_in_one_pass_are_put_on_the_grid_once(monkeypatch):
    from dpselect.gather.grid import Design

    put, real = [], Design.chunk
    monkeypatch.setattr(Design, "chunk", lambda *given: put.append(given[2:]) or real(*given))
    summed("both", rows(1, MAX_CHUNK_ROWS + 1))
    assert put == [(0, MAX_CHUNK_ROWS), (0, 1)]
    put.clear()
    summed("count", rows(1, 100))
    assert put == []


def test_blocks_are_drawn_anew_for_every_gathering():
    study = Study(PLAIN.response, PREDICTORS, missing="zero-row", person="who")
    plan = BlockSummary(study, 50, 1)
    chunk = next(Chunks(study).of(rows(3, 200) | {"who": np.arange(200)}))
    drawn = [
        each._assigner.draw(chunk.cells, 200).tolist() for each in (plan, plan.empty(), plan.fresh(), plan.fresh())
    ]
    assert drawn[0] == drawn[1]  # workers of one gathering draw alike
    assert drawn[0] != drawn[2] != drawn[3] != drawn[0]
    kept = gather({name: values.tolist() for name, values in person_rows().items()}, study, KeptRows(study))
    dealt = [kept.replay(plan).sums.table[0, :, 0].tolist() for _ in range(3)]
    assert dealt[0] != dealt[1] != dealt[2]


def person_rows():
    cells = rows(4, 300)
    words = {"c": np.array(["u", "v", "w", "x"])[cells["c"]], "y": np.array(["no", "yes"])[cells["y"].astype(int)]}
    return cells | words | {"who": np.arange(300)}


def test_rows_are_counted_by_one_column():
    assert Count().needs(PLAIN) == ["y"]
    assert gather({"a": [0.0] * 7, "c": ["u"] * 7, "y": ["no"] * 7}, PLAIN, Count()) == 7
    assert count_rows({"a": [0.0] * 7, "c": ["u"] * 7, "y": ["no"] * 7}, PLAIN) == 7
    assert Both(Count(), Count()).needs(PLAIN) == ["y"]
    assert Both(Count(), MomentSummary(PLAIN)).needs(PLAIN) == ["a", "c", "y"]
    with pytest.raises(DataError, match="'a' is not in the table"):
        count_rows({"c": ["u"], "y": ["no"]}, PLAIN)
