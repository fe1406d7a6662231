"""The answers to a round's queries: right against a slow exact program, and the same integers from every place where rows live."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
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
from dpselect.assume.variables import MAX_COUNT, Binary, Categorical, Count, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather import round_views, rounds
from dpselect.gather.grid import Chunks
from dpselect.gather.round_views import ETA_STEPS, mean_table
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrays import array_cells

PREDICTORS = [Numeric("age", 0, 100), Categorical("town", ["a", "b", "c"]), Binary("sex", ["f", "m"])]
OPEN = [Numeric("age"), *PREDICTORS[1:]]
LIMITED = Study(Numeric("cost", -50, 150), PREDICTORS, missing="zero-row")
STUDIES = {
    "limits": LIMITED,
    "none": Study(Numeric("cost"), OPEN, missing="zero-row"),
    "midpoint": Study(Numeric("cost"), OPEN, missing="midpoint"),
    "yes": Study(Binary("died", ["no", "yes"]), OPEN, missing="midpoint"),
    "yes, limits": Study(Binary("died", ["no", "yes"]), PREDICTORS, missing="midpoint"),
    "no constant": Study(Numeric("cost", -50, 150), PREDICTORS, missing="zero-row", intercept="none"),
    "persons": Study(Numeric("cost", -50, 150), PREDICTORS, missing="zero-row", person="id", max_rows_per_person=3),
    "persons, none": Study(Numeric("cost"), OPEN, missing="zero-row", person="id", max_rows_per_person=3),
    "clusters": Study(
        Numeric("cost"), OPEN, missing="zero-row", cluster="school", neighbors="add-remove-one", rows=3000
    ),
    "persons in clusters": Study(
        Numeric("cost", -50, 150),
        PREDICTORS,
        missing="zero-row",
        cluster="school",
        person="id",
        max_rows_per_person=2,
        neighbors="add-remove-one",
        weights="weight",
        weight_limit=4,
        population=6000,
    ),
}


def table(n=3000):
    generator = np.random.default_rng(6)
    age = generator.uniform(-5, 105, n)
    age[::71] = np.nan
    town = generator.choice(["a", "b", "c", "elsewhere"], n)
    died = generator.choice(["no", "yes", None], n, p=[0.6, 0.35, 0.05])
    cost = 40 + 30 * generator.standard_cauchy(n)
    return pa.table(
        {
            "age": age,
            "town": town,
            "sex": generator.choice(["f", "m"], n),
            "cost": cost,
            "died": pa.array(died, type=pa.string()),
            "id": pa.array(generator.integers(0, n // 4, n)),
            "school": pa.array([f"s{each}" for each in generator.integers(0, n // 9, n)]),
            "weight": generator.choice([0.0, 0.5, 1.0, 3.0, 9.0], n),
        }
    )


def queries(study, families=("gaussian",)):
    """One of every kind, with numbers as a path would choose them."""
    generator = np.random.default_rng(3)
    constant = study.intercept != "none"
    columns = tuple(place for place, column in enumerate(study.columns) if column.factors)
    grid = 1.0 if study.unbounded else 2.0**20
    age = (50.0, 30.0) if study.unbounded else (0.1 * grid, 0.6 * grid)
    scales = [age[1], 2.0**19, 2.0**18, 2.0**20]
    answers = isinstance(study.response, Binary)
    own = Standard(
        columns=columns,
        centers=(age[0], 2.0**18, 2.0**18 + 0.3, 0.0),
        factors=tuple(2.0**12 / scale for scale in scales),
        response_center=0.0 if answers else 40.0 * (1 if study.unbounded else 2**20 / 100),
        response_factor=2.0**12 / (30.0 if study.unbounded else 0.3 * 2**20),
        intercept=constant,
    )
    edges = tuple((np.linspace(-0.9, 0.9, 9) * grid if not study.unbounded else np.linspace(0, 100, 9)).tolist())
    spread = tuple((np.array(edges) * 1.5).tolist())
    asked = [Rows(), Histograms(columns=columns, edges=(edges, (), (), ()), response_edges=spread, family="gaussian")]
    matrix = rows_of(np.eye(own.width) + generator.normal(0, 0.2, (own.width, own.width)))
    center = center_of(generator.normal(0, 0.4, own.width))
    for family in families:
        about = {"family": family, "standard": own, "matrix": matrix}
        asked += [
            Gram(**about, radius=2.3, response_top=3.0, response_scale=0.8),
            Gram(**about, radius=2.1, center=center),
            Gradient(**about, radius=2.5, center=center),
            Gradient(**about, radius=1.5, center=center, balanced=family == "binomial"),
            Sandwich(**about, radius=2.5, center=center),
            Norms(**about, center=center, edges=(0.5, 1.0, 2.0, 4.0), halves="response" if answers else "none"),
        ]
        if study.together is not None:
            asked += [
                Sandwich(**about, radius=2.5, center=center, cluster_radius=5.5),
                ClusterNorms(**about, radius=2.5, center=center, edges=(0.5, 2.0, 4.0, 8.0)),
            ]
    return asked


def families_of(study):
    return ("gaussian", "binomial") if isinstance(study.response, Binary) else ("gaussian",)


def answers(source, study):
    return gather(source, study, RoundSummary(study, queries(study, families_of(study))))


@pytest.mark.parametrize("name", STUDIES)
def test_every_engine_gives_the_same_integers(name, tmp_path):
    study, rows = STUDIES[name], table()
    expected = answers(rows, study)
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=700)
    frame = rows.to_pandas()
    frame.to_csv(tmp_path / "t.csv", index=False)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/t.parquet' ORDER BY age")
    sources = [pl.from_arrow(rows), frame.sample(frac=1, random_state=3), str(tmp_path / "t.parquet")]
    sources += [str(tmp_path / "t.csv"), f"{tmp_path}/t.duckdb?table=t"]
    for source in sources:
        assert answers(source, study) == expected
    assert all(isinstance(number, int) for part in expected for number in part)


@pytest.mark.parametrize("name", ["limits", "yes", "persons, none", "clusters", "persons in clusters"])
def test_dask_gives_the_same_integers(name):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    rows = table(1200)
    frame = dask.from_pandas(rows.to_pandas(types_mapper=pd.ArrowDtype), npartitions=4)
    assert answers(frame, STUDIES[name]) == answers(rows, STUDIES[name])


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [
        "yes",
        "persons in clusters",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("limits", "persons, none", "clusters")),
    ],
)
def test_spark_gives_the_same_integers(spark, name):
    rows = table(1200)
    assert answers(spark.createDataFrame(rows).repartition(5), STUDIES[name]) == answers(rows, STUDIES[name])


@pytest.mark.parametrize("name", ["limits", "none", "yes", "persons", "clusters", "persons in clusters"])
def test_threads_chunks_and_pieces_are_nothing(name, tmp_path, monkeypatch):
    study, rows = STUDIES[name], table()
    expected = answers(rows, study)
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=256)
    monkeypatch.setattr("dpselect.gather.rows.cores", lambda: 4)
    monkeypatch.setattr("dpselect.gather.sources.stream.MIN_PART_ROWS", 256)
    monkeypatch.setattr("dpselect.gather.grid.MAX_CHUNK_ROWS", 100)
    monkeypatch.setattr(rounds, "MAX_CHUNK_ROWS", 100)
    monkeypatch.setattr(round_views, "MAX_CHUNK_ROWS", 100)
    monkeypatch.setattr(rounds, "MAX_WAITING_CHUNKS", 3)
    assert answers(str(tmp_path / "t.parquet"), study) == expected
    # As workers would: a pickled summary of no rows, its pieces, and the whole of them.
    summary = RoundSummary(study, queries(study, families_of(study)))
    sent = []
    for part in [rows] if study.together else [rows[:1111], rows[1111:]]:
        worker = pickle.loads(pickle.dumps(summary.empty()))
        with_rows = gather_into(part, study, worker)
        sent += list(with_rows.to_bytes())
        assert all(len(piece) <= summary.max_bytes for piece in sent)
    assert summary.from_bytes(sent).result() == expected
    assert repr(summary).endswith("values=<private>)")


@pytest.mark.parametrize("name", ["persons", "clusters", "persons in clusters"])
def test_clusters_are_added_up_and_clipped_as_a_slow_program_does(name):
    """Each row's clipped vector by itself, then lists by cluster, whole numbers and one clip each."""
    study, rows = STUDIES[name], table(700)
    *_, sandwich, lengths = queries(study)
    gradient = Gradient(
        **{part: getattr(sandwich, part) for part in ("family", "standard", "matrix", "center", "radius")}
    )
    units = (study.cluster or study.person, study.person or study.cluster)
    kept = {}
    for at in range(rows.num_rows):  # the rows that count of every unit, as a whole table of it has them
        kept.setdefault(tuple(str(rows[unit][at].as_py()) for unit in units), []).append(at)
    sums, seen = {}, set()
    for (cluster, _), places in kept.items():
        alone = rows.take(places)
        count, own = gather(alone, study, RoundSummary(study, [Rows(), gradient]))
        sums[cluster] = [a + b for a, b in zip(sums.get(cluster, [0] * len(own)), own, strict=True)]
        seen |= {cluster} if count[0] else set()
    step = 2.0 ** -clip_bits(squared_radius(sandwich))
    own, bins = [], [0] * len(lengths.edges)
    for cluster in seen:
        vector = [float(each) for each in sums[cluster]]
        square = 0.0
        for each in vector:
            square += each * each
        length = math.sqrt(square) * step
        bins[max(sum(edge <= length for edge in lengths.edges) - 1, 0)] += 1
        factor = min(1.0, 5.5 / length) * step if length else step
        own.append([math.trunc(each * (factor * 2.0 ** clip_bits(Fraction(5.5) ** 2))) for each in vector])
    width = len(own[0])
    products = [sum(each[i] * each[j] for each in own) for i in range(width) for j in range(width)]
    assert gather(rows, study, RoundSummary(study, [sandwich, lengths])) == (tuple(products), tuple(bins))
    assert len(seen) > 50 and min(bins[1:3]) > 0


def test_clusters_are_asked_about_where_there_are_some():
    *_, sandwich, lengths = queries(STUDIES["clusters"])
    for query in (sandwich, lengths):
        with pytest.raises(StudyError, match="none are stated"):
            RoundSummary(STUDIES["none"], [query])


def gather_into(rows, study, worker):
    from dpselect.gather.rows import table_parts
    from dpselect.gather.summary import add_all

    for part in table_parts(rows, study, worker.needs(study)):
        add_all(part, study, worker)
    return worker


def exact_rows(study, frame):
    """(1, u) in whole numbers of 2^-12, the response, and the line of it, for each row that counts: by fractions and floors."""
    own = queries(study)[2].standard
    for row in frame.to_dict("records"):
        age, town, cost = row["age"], row["town"], row["cost"]
        gone = not np.isfinite(age) or town == "elsewhere"
        if gone and study.missing == "zero-row":
            continue
        if study.unbounded and not np.isfinite(age):
            continue  # no middle is stated
        if isinstance(study.response, Binary) and row["died"] not in ("no", "yes"):
            continue
        lines = [
            age
            if study.unbounded
            else 0.0
            if math.isnan(age)
            else min(max(math.floor((age - 50) * (2**20 / 50) + 0.5), -(2**20)), 2**20),
            2.0**20 * (town == "b"),
            2.0**20 * (town == "c"),
            2.0**20 * (1 if row["sex"] == "m" else -1),
        ]
        line = cost
        if isinstance(study.response, Binary):
            line = 2.0**20 * (1 if row["died"] == "yes" else -1)
        elif not study.unbounded:
            line = min(max(math.floor((cost - 50) * (2**20 / 100) + 0.5), -(2**20)), 2**20)

        def put(value, center, factor):
            return min(max(math.floor((value - center) * factor + 0.5), -(2**20)), 2**20)

        cells = [put(*each) for each in zip(lines, own.centers, own.factors, strict=True)]
        yield [2**12] * own.intercept + cells, put(line, own.response_center, own.response_factor), line, lines


@pytest.mark.parametrize(
    "name",
    [
        "midpoint",
        "yes, limits",
        "no constant",
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ("limits", "none", "yes")),
    ],
)
def test_they_are_what_exact_fractions_give(name):
    study, rows = STUDIES[name], table(300)
    asked = queries(study, families_of(study))
    found = gather(rows, study, RoundSummary(study, asked))
    read = list(exact_rows(study, rows.to_pandas()))
    assert found[0] == (len(read),) and len(read) > 150
    for query, numbers in zip(asked[2:], found[2:], strict=True):
        totals = [Fraction(0)] * len(numbers)
        for cells, standardized, line, _ in read:
            unit = Fraction(1, 2**12)
            z = [
                sum(Fraction(row[k]) * u for row, u in zip(query.matrix, cells, strict=True)) * unit
                for k in range(len(cells))
            ]
            length = math.sqrt(sum(each * each for each in z))
            response = float(standardized * unit) if query.family == "gaussian" else float(line > 0)
            if query.center is not None:
                eta = float(sum(Fraction(b) * u for b, u in zip(query.center, cells, strict=True)) * unit)
            if isinstance(query, Gram):
                weight = 1.0
                if query.center is not None and query.family == "binomial":
                    weight = looked_up(mean_table("binomial")[1], eta)
                factor = min(1.0, query.radius / (length * weight))
                vector = [float(each) * weight * factor for each in z]
                if query.response_top is not None:
                    vector.append(min(max(response, -3.0), 3.0) * 0.8 * factor)
            else:
                mean = eta if query.family == "gaussian" else looked_up(mean_table("binomial")[0], eta)
                residual = response - mean
                norm = length * abs(residual)
                if isinstance(query, Norms):
                    second = query.halves == "response" and line > 0
                    totals[max(sum(edge <= norm for edge in query.edges) - 1, 0) + 4 * second] += 1
                    continue
                if isinstance(query, Gradient) and query.balanced:  # as if the less expected answer had been given
                    norm = length * max(mean, 1 - mean)
                factor = min(1.0, query.radius / norm) if norm else 1.0
                vector = [float(each) * residual * factor for each in z]
            if isinstance(query, Gradient):
                totals = [total + Fraction(each) for total, each in zip(totals, vector, strict=True)]
            else:
                products = [Fraction(a) * Fraction(b) for a in vector for b in vector]
                totals = [total + each for total, each in zip(totals, products, strict=True)]
        if isinstance(query, Norms):
            assert numbers == tuple(totals)
            continue
        bits = clip_bits(squared_radius(query))
        power, reach = (1, 1.0) if isinstance(query, Gradient) else (2, 2 * math.sqrt(squared_radius(query)))
        # Each cell of each row was cut by less than a step.
        off = [abs(Fraction(a, 2 ** (power * bits)) - b) * 2**bits for a, b in zip(numbers, totals, strict=True)]
        assert max(off) <= len(read) * reach * 1.001


def looked_up(values, eta):
    place = (min(max(eta, -16.0), 16.0) + 16) * ETA_STEPS
    step = min(int(place), len(values) - 2)
    return float(values[step] + (values[step + 1] - values[step]) * (place - step))


@pytest.mark.parametrize("name", ["limits", "none", "yes"])
def test_histograms_are_counts(name):
    study, rows = STUDIES[name], table(500)
    asked = queries(study)[1]
    found = gather(rows, study, RoundSummary(study, [asked]))[0]
    read = list(exact_rows(study, rows.to_pandas()))
    ages = np.bincount([sum(edge <= lines[0] for edge in asked.edges[0]) for *_, lines in read], minlength=10)
    expected = [*ages, *(sum(lines[k] > 0 for *_, lines in read) for k in (1, 2, 3))]
    if isinstance(study.response, Binary):
        expected.append(sum(line > 0 for _, _, line, _ in read))
    else:
        expected += [
            *np.bincount([sum(edge <= line for edge in asked.response_edges) for _, _, line, _ in read], minlength=10)
        ]
    assert found == tuple(int(each) for each in expected)


def test_an_unknown_family_has_no_means_of_another():
    with pytest.raises(StudyError, match="no table of means"):
        mean_table("gamma")


def test_a_table_of_means_is_close_between_its_steps():
    eta = np.random.default_rng(0).uniform(-16, 16, 20_000)
    for family, mean, root in (
        ("binomial", lambda e: 1 / (1 + np.exp(-e)), lambda e: np.sqrt(np.exp(e)) / (1 + np.exp(e))),
        ("poisson", np.exp, lambda e: np.exp(e / 2)),
    ):
        made = [round_views._looked_up(part, eta) for part in mean_table(family)]
        assert np.abs(made[0] / mean(eta) - 1).max() < 2e-6 and np.abs(made[1] / root(eta) - 1).max() < 2e-6
        ends = round_views._looked_up(mean_table(family)[0], np.array([-1e5, 1e5]))
        assert ends.tolist() == mean_table(family)[0][[0, -1]].tolist()


def test_no_row_is_refused_where_its_number_is_public():
    with pytest.raises(DataError, match="has no rows"):
        answers(table(0), LIMITED)
    private = Study(LIMITED.response, LIMITED.predictors, missing="zero-row", neighbors="add-remove-one")
    assert answers(table(0), private)[0] == (0,)


def test_sums_beyond_64_bits_stay_whole():
    """2^12 chunks, each at the most that a chunk can come to."""
    answer = rounds._Products(1)
    answer.of = lambda query, rows: np.array([2**53])
    for _ in range(2**12):
        answer.add(None, None)
    assert answer.numbers() == [2**65] and answer.numbers() == [2**65]
    assert repr(answer) == "_Products(values=<private>)"
    with pytest.raises(NotImplementedError):
        rounds._Counts(1).of(None, None)


@pytest.mark.parametrize("limit", [None, 1, 7, 1000, 2**20])
def test_counts_are_read_as_they_are(limit):
    """On the grid and off it: whole numbers from 0 to the limit, halves up, and nothing below."""
    study = Study(Count("visits", upper=limit), [Numeric("x", -1, 1)])
    visits = np.array([0, 1, 2, 3, 6, 7, 8, 999, 1000, 1001, 2**20 - 1, 2**20, 2**20 + 1, 1e9, -3])
    own = Standard(columns=(1,), centers=(0.0,), factors=(1.0,), response_center=0.0, response_factor=1.0)
    rows = round_views.Views(study, ())
    for chunk in Chunks(study).of(array_cells(np.zeros((len(visits), 1)), visits, study)):
        rows.look(chunk.lines[chunk.order])
        found = rows.response("poisson", own)
    assert found.tolist() == np.clip(np.floor(visits + 0.5), 0, limit or MAX_COUNT).tolist()
    about = {"family": "poisson", "standard": own, "matrix": ((1.0,), (0.0,)), "center": (0.5, 0.0)}
    made = gather(
        (np.zeros((4, 1)), np.array([0.0, 1, 1, 0])), study, RoundSummary(study, [Gradient(**about, radius=50.0)])
    )
    step = 2.0 ** -clip_bits(Fraction(50) ** 2)
    assert made[0][0] * step == pytest.approx(2 - 4 * math.exp(0.5), abs=3e-4)
    with pytest.raises(StudyError, match="has no rates"):
        RoundSummary(LIMITED, [Gradient(**about, radius=50.0)])
