"""The compiled loops of a round give the integers that NumPy gives, to the last one, and no row is another's business."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.lemmas.rounds import clip_bits, squared_radius
from dpselect.assume.queries import (
    ClusterNorms,
    Gradient,
    Gram,
    Histograms,
    Norms,
    Rows,
    Sandwich,
    Standard,
    center_of,
    rows_of,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Count, Numeric
from dpselect.gather import rounds
from dpselect.gather.round_views import Views, mean_table
from dpselect.gather.rounds import Bins, CompiledSums, RoundSummary
from dpselect.gather.rows import gather

try:
    from dpselect.gather import _rounds
except ImportError:
    _rounds = None

pytestmark = pytest.mark.skipif(_rounds is None, reason="the C kernel was not built here")
LANES = [8, 4, 2]
LIMITED = [Numeric("a", -3, 3), Numeric("b", 0, 1e6), Categorical("town", ["u", "v", "w"]), Binary("sex", ["f", "m"])]
OPEN = [Numeric("a"), Numeric("b"), *LIMITED[2:]]
STUDIES = {
    "limits": Study(Numeric("y", -5, 5), LIMITED, missing="zero-row"),
    "midpoint": Study(Numeric("y", -5, 5), LIMITED, missing="midpoint"),
    "open": Study(Numeric("y"), OPEN, missing="zero-row"),
    "no constant": Study(Numeric("y"), OPEN, missing="midpoint", intercept="none"),
    "yes": Study(Binary("died", ["no", "yes"]), OPEN, missing="midpoint"),
    "yes, limits": Study(Binary("died", ["no", "yes"]), LIMITED, missing="zero-row"),
    "counts": Study(Count("visits"), OPEN, missing="zero-row"),
    "counts, limits": Study(Count("visits", upper=40), LIMITED, missing="midpoint"),
    "weights": Study(
        Binary("died", ["no", "yes"]), OPEN, missing="zero-row", weights="weight", weight_limit=4, population=60_000
    ),
    "persons": Study(Numeric("y"), OPEN, missing="zero-row", person="id", max_rows_per_person=3),
    "clusters": Study(
        Numeric("y"),
        OPEN,
        missing="zero-row",
        cluster="id",
        weights="weight",
        weight_limit=4,
        population=60_000,
        neighbors="add-remove-one",
        rows=3000,
    ),
}
HOSTILE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e-300, 1e74, -1e74, 1e76, 1e308, -1e308, 1.0, -3.0, 3.0]


def table(rows, seed):
    """Ordinary cells, cells at ties and limits, and every fourth one of the hostile kind."""
    rng = np.random.default_rng(seed)

    def numbers(scale):
        made = rng.normal(size=rows) * scale
        ties = rng.random(rows) < 0.3
        made[ties] = np.round(made[ties] * 2**13 / scale) * (scale / 2**13)
        strange = rng.random(rows) < 0.25
        made[strange] = rng.choice(HOSTILE, strange.sum())
        return made

    return pd.DataFrame(
        {
            "a": numbers(1.0),
            "b": numbers(2.0**18),
            "town": rng.choice(["u", "v", "w", "elsewhere"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": rng.choice(["f", "m"], rows),
            "y": numbers(1.0),
            "died": rng.choice(["no", "yes"], rows),
            "visits": np.where(rng.random(rows) < 0.1, numbers(10.0), rng.integers(0, 60, rows)),
            "id": rng.integers(0, rows // 3 + 1, rows),
            "weight": rng.choice([0.0, 0.5, 1.0, 3.0, 9.0], rows),
        }
    )


def families(study):
    if isinstance(study.response, Binary):
        return ("gaussian", "binomial")
    return ("gaussian", "poisson") if isinstance(study.response, Count) else ("gaussian",)


def queries(study, seed):
    """Every kind, several of the same matrix or center in turn, and with numbers that lie on powers of two."""
    rng = np.random.default_rng(seed)
    columns = tuple(place for place, column in enumerate(study.columns) if column.factors)
    grid = 1.0 if study.unbounded else GRID / 3
    edges = (tuple(np.linspace(-2, 2, 33) * grid), tuple((2.0 ** np.arange(-9, 12)) * grid), (), (), ())
    asked = [Rows()]
    for family in families(study):
        top = (0.5, 1.5, 3.5, 20.5) if family == "poisson" else tuple((np.linspace(-2, 2, 20) * grid).tolist())
        asked.append(Histograms(columns=columns, edges=edges[: len(columns)], response_edges=top, family=family))
        own = Standard(
            columns=columns,
            centers=(0.0, 0.0 if seed % 2 else 3.3 * grid, *rng.normal(size=3).tolist()),
            factors=tuple((2.0**12 / (np.array([1, 2**18 if study.unbounded else 1, 1, 1, 1]) * grid)).tolist()),
            response_center=0.0 if family == "poisson" else 0.1 * grid,
            response_factor=1.0 if family == "poisson" else 2.0**12 / grid,
            intercept=study.intercept != "none",
        )
        width, halves = own.width, "response" if isinstance(study.response, Binary) else "none"
        whole, square = np.eye(width), rng.normal(size=(width, width))
        matrices = [whole, np.triu(square), square, rng.normal(size=(width, 9)), whole[:, :1], 0 * whole]
        centers = [center_of(rng.normal(0, 0.5, width)) for _ in range(3)] + [(0.0,) * width, (40.0,) * width]
        for number, matrix in enumerate(matrices):
            about = {"family": family, "standard": own, "matrix": rows_of(matrix)}
            center, other = centers[number % 5], centers[(number + 1) % 5]
            radius = float(rng.choice([0.25, 1.0, 2.0**0.5, 3.7, 2.0**20]))
            asked += [
                Gram(**about, radius=radius, response_top=2.0, response_scale=0.7),
                Gram(**about, radius=radius, center=center),
                Gradient(**about, radius=radius, center=center),
                Sandwich(**about, radius=radius, center=center),
                Sandwich(**about, radius=2 * radius, center=center),
                Gradient(**about, radius=radius, center=other, balanced=family == "binomial"),
                Sandwich(**about, radius=radius, center=other),
                Norms(**about, center=center, edges=(0.0, 0.5, 1.0, 2.0, 4.0), halves=halves),
                Norms(**about, center=other, edges=(1.0,)),
                Gram(**about, radius=radius),
            ]
        if study.cluster is not None:
            about = {"family": family, "standard": own, "matrix": rows_of(square), "center": centers[0]}
            asked += [
                Sandwich(**about, radius=2.0, cluster_radius=3.0),
                ClusterNorms(**about, radius=2.0, edges=(0.5, 2.0)),
            ]
    return asked


@pytest.fixture
def in_numpy(monkeypatch):
    """What a call gives where there was no compiler."""

    def run(call):
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "_add_sums", None)
            patch.setattr(rounds, "_add_bins", None)
            return call()

    return run


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", STUDIES)
def test_twins_agree_to_the_last_integer(name, lanes, in_numpy, monkeypatch):
    monkeypatch.setattr(rounds, "MAX_LANES", lanes)
    study = STUDIES[name]
    for rows, seed in ((1, 0), (2, 1), (127, 2), (128, 3), (129, 4), (1500, 5), (9001, 6)):
        frame, asked = table(rows, seed), queries(study, seed)
        if study.neighbors == "replace-one" or rows > 100:
            compiled = gather(frame, study, RoundSummary(study, asked))
            assert compiled == in_numpy(lambda a=asked, f=frame: gather(f, study, RoundSummary(study, a)))
    # Not because nothing was asked: rows counted, some were shortened and some were not.
    assert compiled[0][0] > 1500
    gradients = [own for query, own in zip(asked, compiled, strict=True) if isinstance(query, Gradient)]
    assert sum(any(own) for own in gradients) >= len(gradients) * 2 / 3


@pytest.mark.parametrize("name", ["limits", "yes", "counts", "weights"])
def test_a_row_adds_the_same_whatever_stands_beside_it(name):
    """One by one, in another order, and cut elsewhere: the sums are those of the rows, each by itself."""
    study, frame = STUDIES[name], table(140, 11)
    asked = queries(study, 11)
    whole = gather(frame, study, RoundSummary(study, asked))
    alone = [gather(frame[at : at + 1], study, RoundSummary(study, asked)) for at in range(len(frame))]
    sums = tuple(tuple(map(sum, zip(*own, strict=True))) for own in zip(*alone, strict=True))
    assert sums == whole
    assert gather(frame.sample(frac=1, random_state=1), study, RoundSummary(study, asked)) == whole


def views_of(study, lines, asked, shares=None):
    views = Views(study, asked)
    views.look(lines, shares)
    return views


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8, 9, 12, 13, 16, 17, 40, 260])
def test_twins_agree_at_every_width(width, lanes, in_numpy, monkeypatch):
    """Tiles of columns and what is left beside them; beyond MAX_COMPILED_COLUMNS NumPy serves both."""
    monkeypatch.setattr(rounds, "MAX_LANES", lanes)
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(width)])
    rng = np.random.default_rng(width)
    about = {
        "family": "gaussian",
        "standard": Standard(
            columns=tuple(range(1, width + 1)),
            centers=(0.0,) * width,
            factors=(2.0**12,) * width,
            response_center=0.0,
            response_factor=2.0**12,
        ),
        "matrix": rows_of(rng.normal(size=(width + 1, width))),
    }
    center = center_of(rng.normal(size=width + 1))
    radius = 0.7 * width**0.5
    asked = [
        Gram(**about, radius=radius, response_top=1.0, response_scale=2.0),
        Gradient(**about, radius=radius, center=center),
        Sandwich(**about, radius=radius, center=center),
    ]
    source = rng.normal(size=(700, width)), rng.normal(size=700)
    found = gather(source, study, RoundSummary(study, asked))
    assert found == in_numpy(lambda: gather(source, study, RoundSummary(study, asked)))
    products = np.array(found[2], dtype=object).reshape(width, width)
    assert (products == products.T).all() and min(products.diagonal()) > 0


def test_the_longest_vectors_of_a_whole_chunk_are_added_exactly():
    """8,192 rows, each at the end of its ball: products whose sum is 2^53."""
    study = Study(Numeric("y"), [Numeric("x")])
    own = Standard(columns=(1,), centers=(0.0,), factors=(2.0**12,), response_center=0.0, response_factor=2.0**12)
    query = Sandwich(family="gaussian", standard=own, matrix=((0.0,), (1.0,)), center=(0.0, 0.0), radius=1.0)
    assert clip_bits(squared_radius(query)) == 20
    source = np.full((8192, 1), 1e9), np.full(8192, 1e9)
    assert gather(source, study, RoundSummary(study, [query])) == ((2**53,),)
    assert gather((source[0][:-1], source[1][:-1]), study, RoundSummary(study, [query])) == ((2**53 - 2**40,),)


def test_squares_are_rounded_one_by_one():
    """Found are rows whose length is another double where squares and sums are not rounded each by itself."""
    study = Study(Numeric("y"), [Numeric("a"), Numeric("b"), Numeric("c")])
    own = Standard(
        columns=(1, 2, 3),
        centers=(0.0,) * 3,
        factors=(2.0**12,) * 3,
        response_center=0.0,
        response_factor=2.0**12,
    )
    matrix = rows_of(np.vstack([np.zeros(3), np.random.default_rng(0).normal(size=(3, 3))]))
    rng, found = np.random.default_rng(1), 0
    for _ in range(30):
        x = np.round(rng.normal(size=(500, 3)) * 2.0**12) * 2.0**-12
        z = x @ np.array(matrix)[1:]
        parts = (z[:, 0] * z[:, 0] + z[:, 1] * z[:, 1]) + z[:, 2] * z[:, 2]
        exact = [math.fsum(float(high * high) for high in row) for row in z]
        found += int((np.sqrt(parts) != np.sqrt(exact)).sum())
        lengths = np.sqrt(parts)
        # At the length itself a row is in the upper bin, one unit in the last place above it in the lower one.
        for at in rng.integers(0, 500, 3):
            for edge, upper in ((lengths[at], 1), (np.nextafter(lengths[at], np.inf), 0)):
                query = Norms(
                    family="gaussian", standard=own, matrix=matrix, center=(0.0,) * 4, edges=(0.0, float(edge))
                )
                one = x[at : at + 1], np.ones(1)
                assert gather(one, study, RoundSummary(study, [query]))[0] == (1 - upper, upper)
    assert found > 500


def test_a_response_is_scaled_before_it_is_shortened(in_numpy):
    """Found are rows for which the other order would end in another integer."""
    study = Study(Numeric("y"), [Numeric("x")], intercept="none")
    own = Standard(
        columns=(0,), centers=(0.0,), factors=(2.0**12,), response_center=0.0, response_factor=2.0**12, intercept=False
    )
    found = 0
    for scale in (0.1, 0.3, 0.7, 1.1):
        about = {"radius": 1.0, "response_top": 200.0, "response_scale": scale}
        query = Gram(family="gaussian", standard=own, matrix=((1.0,),), **about)
        steps = 2.0 ** clip_bits(squared_radius(query))
        lengths, responses = (np.ravel(each) for each in np.meshgrid(np.arange(2.0, 200), np.arange(1.0, 200)))
        factors = (1.0 / lengths) * steps
        cells = np.trunc(responses * scale * factors)
        apart = np.flatnonzero(cells != np.trunc(responses * (scale * factors)))
        found += len(apart)
        for at in apart[:20]:
            row = lengths[at : at + 1, None], responses[at : at + 1]
            made = gather(row, study, RoundSummary(study, [query]))
            assert made == in_numpy(lambda r=row, q=query: gather(r, study, RoundSummary(study, [q])))
            assert made[0][3] == int(cells[at]) ** 2
    assert found > 40


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_means_and_weights_are_those_of_the_table_of_the_summary(family, lanes, monkeypatch):
    """At every step, beside it by one unit, beyond both ends; and of a table that another machine made."""
    monkeypatch.setattr(rounds, "MAX_LANES", lanes)
    response = Binary("y", [0, 1]) if family == "binomial" else Count("y")
    study = Study(response, [Numeric("x")])
    own = Standard(columns=(1,), centers=(0.0,), factors=(2.0**12,), response_center=0.0, response_factor=1.0)
    asked = [
        Gradient(family=family, standard=own, matrix=((1.0,), (0.0,)), center=(0.0, 1.0), radius=2.0**25),
        Gram(family=family, standard=own, matrix=((1.0,), (0.0,)), center=(0.0, 1.0), radius=2.0**25),
    ]
    eta = np.concatenate([np.arange(-17 * 256, 17 * 256 + 1) / 256, np.arange(-40, 41) / 4096 + 3.0, [1e9, -1e9]])
    for tables in (mean_table(family), tuple(np.nextafter(part, 2 * part) for part in mean_table(family))):
        for x in (eta, eta + 2.0**-12, eta - 2.0**-12):
            views = Views(study, asked, {family: tables})
            for start in range(0, len(x), 4096):
                some = x[start : start + 4096]
                views.look(np.vstack([some, np.zeros(len(some))]))
                made = [own.tolist() for own in CompiledSums(asked, views.tables).of(views).values()]
                vectors = [views.gradient(asked[0])[0], views.clipped(asked[1])[0]]
                assert made == [[int(vectors[0].sum())], [int(vectors[1] @ vectors[1])]]


@pytest.mark.parametrize("lanes", [*LANES, 0])
@pytest.mark.parametrize(
    "edges",
    [
        [0.0],
        [1.0, 2.0],
        np.linspace(-3, 3, 64),
        np.linspace(1e9, 1e9 + 1, 40),
        2.0 ** np.arange(20),
        np.linspace(-1, 1, 40) + np.resize([0, 0.006, -0.006], 40),
        np.arange(12) * 5e-324,
        np.repeat(np.arange(9.0), 2),
        [],
    ],
)
def test_bins_are_those_of_a_search(edges, lanes, monkeypatch, in_numpy):
    """At edges, beside them by one unit in the last place, and far out."""
    monkeypatch.setattr(rounds, "MAX_LANES", lanes)
    edges = np.asarray(edges, dtype=np.float64)
    rng, ends = np.random.default_rng(4), edges[[0, -1]] if edges.size else np.zeros(2)
    line = np.concatenate(
        [
            edges,
            np.nextafter(edges, -np.inf),
            np.nextafter(edges, np.inf),
            rng.uniform(ends[0] - 5, ends[1] + 5, 2000),
            rng.standard_cauchy(500) * 1e60,
            [0.0, 1e75, -1e75],
        ]
    )
    other = np.sort(rng.normal(size=7))
    lines, places = np.vstack([rng.normal(size=line.size), line]), np.array([1, 0, 1])
    bins, weights = Bins([edges, other, edges]), rng.integers(0, 2**10, line.size).astype(np.float64)
    for own in (None, weights):
        expected = [
            np.bincount(np.searchsorted(cuts, row, side="right"), weights=own, minlength=len(cuts) + 1)
            for cuts, row in ((edges, line), (other, lines[0]), (edges, line))
        ]

        def count(own=own):
            return bins.count(lines, places, own).tolist()

        found = in_numpy(count) if lanes == 0 else count()
        assert found == np.concatenate(expected).tolist()


def test_cells_that_no_design_makes_do_no_harm():
    """Rows that are left out never come here; if they did, no memory would be read that is not theirs."""
    study, asked = STUDIES["counts"], queries(STUDIES["counts"], 3)
    width = len(study.columns) - (study.intercept == "none")
    lines = np.array(HOSTILE * 20)[np.random.default_rng(0).integers(0, len(HOSTILE) * 20, (width + 1, 300))]
    views = views_of(study, lines, asked)
    made = CompiledSums(asked, views.tables).of(views)
    assert [asked[place] for place in sorted(made)] == [one for one in asked if not isinstance(one, Rows | Histograms)]


def test_a_summary_travels_without_what_the_loops_made():
    study, asked = STUDIES["yes"], queries(STUDIES["yes"], 7)
    frame = table(200, 7)
    summary = RoundSummary(study, asked)
    expected = gather(frame, study, summary)
    there = pickle.loads(pickle.dumps(summary))
    assert gather(frame, study, there) == expected
    assert "private" in repr(CompiledSums(asked, summary._views.tables))


RIGHT = {
    "lines": np.ones((3, 5)),
    "places": np.array([0, 2]),
    "centers": np.zeros(2),
    "factors": np.ones(2),
    "constant": True,
    "response": None,
    "shares": None,
    "means": None,
    "roots": None,
}
QUESTION = {
    "what": 1,
    "matrix": np.ones((2, 3)),
    "center": np.ones(2),
    "radius": 1.0,
    "steps": 1.0,
    "balanced": False,
    "top": -1.0,
    "scale": 0.0,
    "edges": np.ones(2),
    "halves": False,
    "sums": np.zeros(3, dtype=np.int64),
}


@pytest.mark.parametrize(
    ("wrong", "in_question"),
    [
        ({"lines": np.ones((2, 5))}, {}),
        ({"lines": np.ones((3, 10))[:, ::2]}, {}),
        ({"lines": np.ones((3, 5), np.float32)}, {}),
        ({"lines": np.ones((3, 8193))}, {}),
        ({"lines": np.ones(5)}, {}),
        ({"places": np.array([0, -1])}, {}),
        ({"places": np.array([0.0, 1.0])}, {}),
        ({"places": np.array([0, 1, 2])}, {}),
        ({"centers": np.zeros(3)}, {}),
        ({"centers": np.zeros(0), "factors": np.zeros(0), "places": np.zeros(0, np.int64)}, {}),
        ({"factors": np.zeros(1)}, {}),
        ({"factors": None}, {}),
        ({"constant": False}, {}),
        ({"response": np.ones(4)}, {}),
        ({"shares": np.ones(6)}, {}),
        ({"shares": np.ones(10)[::2]}, {}),
        ({"means": np.ones(8192)}, {}),
        ({"roots": np.ones(8194)}, {}),
        ({}, {"what": 4}),
        ({}, {"what": -1}),
        ({}, {"what": 0}),
        ({}, {"what": 2}),
        ({}, {"what": 3}),
        ({}, {"what": 3, "edges": np.zeros(0), "sums": np.zeros(0, dtype=np.int64)}),
        ({}, {"what": 3, "halves": True, "sums": np.zeros(2, dtype=np.int64)}),
        ({}, {"matrix": np.ones((3, 3))}),
        ({}, {"matrix": np.ones((2, 0)), "sums": np.zeros(0, dtype=np.int64)}),
        ({}, {"matrix": np.ones((2, 4))}),
        ({}, {"matrix": np.ones((3, 2)).T}),
        ({}, {"center": np.ones(3)}),
        ({}, {"center": None}),
        ({}, {"sums": np.zeros(3)}),
        ({}, {"sums": np.zeros(4, dtype=np.int64)}),
        ({}, {"edges": None}),
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong, in_question):
    _rounds.add_sums(*RIGHT.values(), (tuple(QUESTION.values()),), 8)
    question = tuple((QUESTION | in_question).values())
    with pytest.raises((ValueError, TypeError, BufferError)):
        _rounds.add_sums(*(RIGHT | wrong).values(), (tuple(QUESTION.values()), question), 8)


@pytest.mark.parametrize(
    "wrong",
    [
        {"starts": np.array([0, 3, 7])},
        {"starts": np.array([0, 0, 6])},
        {"starts": np.array([-1, 3, 6])},
        {"starts": np.array([0, 6])},
        {"starts": np.zeros(0, np.int64)},
        {"edges": np.zeros(5)},
        {"firsts": np.zeros(1)},
        {"inverses": np.zeros(3)},
        {"weights": np.zeros(4)},
        {"sums": np.zeros(6)},
        {"places": np.array([0, 3])},
    ],
)
def test_bins_that_do_not_fit_are_refused(wrong):
    right = {
        "lines": np.ones((3, 5)),
        "places": np.array([0, 2]),
        "edges": np.array([0, 1, math.nan] * 2),
        "starts": np.array([0, 3, 6]),
        "firsts": np.zeros(2),
        "inverses": np.zeros(2),
        "weights": None,
        "sums": np.zeros(6, dtype=np.int64),
    }
    _rounds.add_bins(*right.values(), 8)
    assert right["sums"].tolist() == [0, 0, 5] * 2
    with pytest.raises((ValueError, TypeError, BufferError)):
        _rounds.add_bins(*(right | wrong).values(), 8)
