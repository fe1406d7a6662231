"""Claim: with weights one record moves the answer to a query of a round no farther than without, and sums are the population's.

Tables of one row go through `gather`'s summary and the rounding of what is released: 10,000 hostile pairs a query, with weights of
zero, at and above the limit, missing and infinite.
"""

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.lemmas.rounds import COUNT_BITS, clip_bits, query_sensitivity, squared_radius
from dpselect.assume.lemmas.sampling import weighed_sensitivity
from dpselect.assume.queries import Gradient, Gram, Histograms, Norms, Rows, Sandwich, Standard, center_of, rows_of
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.errors import DataError
from dpselect.gather.dealing import study_shares
from dpselect.gather.grid import Chunks
from dpselect.gather.kept import KeptRows
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrays import array_cells
from dpselect.randomize.rounds_noise import released_numbers

PAIRS = [4_000, pytest.param(10_000, marks=pytest.mark.thorough)]
"""Neighbours that each query is attacked with."""
LIMIT = 8.0
WEIGHTS = (0.0, LIMIT, LIMIT, LIMIT, 3 * LIMIT, np.nan, np.inf, -1.0, 1.0, 4.0, 1e-320, 1e308)
SAMPLE = {"weights": "weight", "weight_limit": LIMIT, "population": 1e4, "missing": "zero-row"}


def a_study(neighbors="replace-one", weighted=True, **stated):
    sample = SAMPLE if weighted else {"missing": "zero-row"}
    predictors = [Numeric("u"), Numeric("v"), Binary("sex", [0, 1])]
    return Study(Numeric("y"), predictors, neighbors=neighbors, **sample | stated)


def queries():
    generator = np.random.default_rng(2)
    own = Standard(
        columns=(1, 2, 3),
        centers=(0.2, -0.1, 0.0),
        factors=(2.0**12 / 0.7, 2.0**12 / 30, 2.0**-8),
        response_center=0.3,
        response_factor=2.0**12 / 1.7,
    )
    about = {"family": "gaussian", "standard": own, "matrix": rows_of(generator.standard_normal((4, 3)))}
    center = center_of(generator.normal(0, 0.3, 4))
    bins = ((-1.0, 0.0, 1.0), (-100.0, 0.0, 50.0), ())
    return {
        "rows": Rows(),
        "histograms": Histograms(columns=(1, 2, 3), edges=bins, response_edges=(-1.0, 0.0, 2.0), family="gaussian"),
        "gram": Gram(**about, radius=3.7),
        "gram with response": Gram(**about, radius=3.7, response_top=2.5, response_scale=1.1),
        "gradient": Gradient(**about, radius=2.9, center=center),
        "sandwich": Sandwich(**about, radius=2.9, center=center),
        "norms": Norms(**about, center=center, edges=(0.5, 2.0, 8.0, 64.0)),
    }


def hostile_rows(count, seed):
    """u, v, sex, y and the weight; every third pair is turned around, or has another response."""
    generator = np.random.default_rng(seed)
    table = np.empty((count, 5))
    table[:, :2] = generator.standard_normal((count, 2)) * 10 ** generator.uniform(-3, 6, (count, 1))
    table[:, 2] = generator.integers(0, 2, count)
    table[:, 3] = generator.standard_cauchy(count) * 10
    table[1::6, :2] = -table[0::6, :2][: len(table[1::6])]
    table[3::6, :3] = table[2::6, :3][: len(table[3::6])]
    table[:, 4] = generator.choice(WEIGHTS, count)
    return table


def alone(study, query, table):
    """What each row alone adds, through the inside of the summary."""
    summary, made = RoundSummary(study, [query]), []
    for chunk in Chunks(study).of(array_cells(table[:, :3], table[:, 3], study, table[:, 4])):
        lines, shares = chunk.lines[chunk.order].copy(), study_shares(chunk.cells, study, 20) / 2**20
        for k in range(chunk.count):
            row = (
                slice(k, k + 1)
                if shares[k] > 0 and not (chunk.left_out is not None and chunk.left_out[k])
                else slice(0)
            )
            summary._views.look(lines[:, row], shares[row])
            with np.errstate(all="ignore"):
                made.append(tuple(summary._answers[0].of(query, summary._views).tolist()))
    return made


def moved(query, study, base, one, two):
    first, second = (
        released_numbers(query, tuple(b + each for b, each in zip(base, own, strict=True)), study) for own in (one, two)
    )
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", queries())
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("pairs", PAIRS)
def test_no_record_of_any_weight_moves_an_answer_farther(name, neighbors, pairs):
    study = a_study(neighbors, rows=100)
    query = queries()[name]
    made = alone(study, query, hostile_rows(2 * pairs, 3))
    base = tuple(sum(part) for part in zip(*made[:50], strict=True))
    limit = weighed_sensitivity(query, study)
    assert limit == query_sensitivity(query, a_study(neighbors, weighted=False, rows=100))
    others = made[1::2] if neighbors == "replace-one" else [(0,) * len(made[0])] * pairs
    squares = [moved(query, study, base, one, two) for one, two in zip(made[0::2], others, strict=True)]
    assert len(squares) == pairs and max(squares) <= limit**2
    # And some pair comes close; few have both weights at the limit and vectors that are orthogonal, as a Gram would need.
    assert max(squares) >= (0.45 if name == "gram" else 0.6) * limit**2


def table_of(rows, seed=4):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(generator.normal(size=(rows, 2)), columns=["u", "v"])
    frame["sex"], frame["y"] = generator.integers(0, 2, rows), frame.u - 2 * frame.v + generator.normal(size=rows)
    return frame.assign(weight=generator.choice(WEIGHTS, rows))


def test_sums_are_those_of_rows_that_count_by_their_weights():
    """Against plain floats: s for counts, s g, s zz', s^2 gg'."""
    study, frame, asked = a_study(), table_of(700), queries()
    found = dict(zip(asked, gather(frame, study, RoundSummary(study, list(asked.values()))), strict=True))
    weight = frame.weight.to_numpy()
    share = np.where(np.isfinite(weight) & (weight >= 0), np.clip(weight, 0, LIMIT), 0) / LIMIT
    own = asked["gradient"].standard
    lines = np.column_stack([frame.u, frame.v, (2 * frame.sex - 1) * 2.0**20])
    cells = np.column_stack([np.ones(700), (lines - own.centers) * own.factors / 2**12])
    z = cells @ np.array(asked["gradient"].matrix)
    residual = (frame.y.to_numpy() - 0.3) / 1.7 - cells @ np.array(asked["gradient"].center)
    gradient = z * residual[:, None]
    gradient *= np.minimum(1, 2.9 / np.linalg.norm(gradient, axis=1))[:, None]
    shortened = z * np.minimum(1, 3.7 / np.linalg.norm(z, axis=1))[:, None]
    unit = 2.0 ** clip_bits(squared_radius(asked["gradient"]))
    gram = 4.0 ** clip_bits(squared_radius(asked["gram"]))
    close = {"rtol": 1e-3, "atol": 0.02}
    np.testing.assert_allclose(np.array(found["rows"]) / 2**COUNT_BITS, [share.sum()], **close)
    np.testing.assert_allclose(np.array(found["gradient"]) / unit, share @ gradient, **close)
    np.testing.assert_allclose(np.array(found["gram"]).reshape(3, 3) / gram, (shortened.T * share) @ shortened, **close)
    wanted = (gradient.T * share**2) @ gradient
    np.testing.assert_allclose(np.array(found["sandwich"]).reshape(3, 3) / unit**2, wanted, **close)
    inside = np.histogram(frame.u, [-np.inf, -1, 0, 1, np.inf], weights=share)[0]
    np.testing.assert_allclose(np.array(found["histograms"][:4]) / 2**COUNT_BITS, inside, **close)
    assert abs(sum(found["norms"]) / 2**COUNT_BITS - share.sum()) < 0.2


def test_weights_at_the_limit_are_no_weights():
    frame = table_of(300).assign(weight=LIMIT)
    weighted, plain = a_study(), a_study(weighted=False)
    for name, query in queries().items():
        ours, theirs = (gather(frame, each, RoundSummary(each, [query]))[0] for each in (weighted, plain))
        counts = name in ("rows", "histograms", "norms")
        assert ours == (tuple(each << COUNT_BITS for each in theirs) if counts else theirs)
        assert released_numbers(query, ours, weighted) == released_numbers(query, theirs, plain)


def test_the_same_sums_from_every_order_chunk_and_engine(tmp_path):
    study, frame = a_study(), table_of(5000)
    asked = list(queries().values())
    expected = gather(frame, study, RoundSummary(study, asked))
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=700)
    dask = pytest.importorskip("dask.dataframe")
    shuffled = frame.sample(frac=1, random_state=1)
    for source in (shuffled, str(tmp_path / "t.parquet"), dask.from_pandas(frame, npartitions=3)):
        assert gather(source, study, RoundSummary(study, asked)) == expected
    assert gather(frame, study, KeptRows(study)).replay(RoundSummary(study, asked)) == expected


def test_persons_keep_their_weights():
    """Of each at most two rows count, whichever order they come in, each by its own weight."""
    study = a_study(person="who", max_rows_per_person=2, rows=100)
    frame = table_of(400).assign(who=np.arange(400) % 90)
    asked = list(queries().values())
    expected = gather(frame, study, RoundSummary(study, asked))
    assert gather(frame.sample(frac=1, random_state=2), study, RoundSummary(study, asked)) == expected
    two = frame.iloc[:180]
    one_by_one = a_study()
    assert gather(two, study, RoundSummary(study, asked)) == gather(two, one_by_one, RoundSummary(one_by_one, asked))


def test_an_unusable_weight_is_refused_where_missing_cells_are():
    with pytest.raises(DataError, match="The weights 'weight' have missing, negative or infinite values"):
        study = a_study(missing="error")
        gather(table_of(100), study, RoundSummary(study, [Rows()]))
