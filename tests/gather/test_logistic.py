"""The sums of a round: right against a slow program, and the same from every place where rows live."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.lemmas.logistic import links
from dpselect.assume.study import Study
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.logistic import LogisticSummary
from dpselect.gather.rows import gather, require_repeatable

STUDY = Study(
    Binary("died", ["no", "yes"]), [Numeric("age", 0, 100), Categorical("town", ["a", "b", "c"])], missing="zero-row"
)
CENTER = (GRID // 3, -GRID, GRID // 7, 5)


def table(n=5000):
    generator = np.random.default_rng(6)
    age = generator.uniform(-5, 105, n)
    age[7] = np.nan
    town = generator.choice(["a", "b", "c", "elsewhere"], n)
    return pa.table({"age": age, "town": town, "died": generator.choice(["no", "yes"], n)})


def same(first, second):
    return (first.counts, first.gradient, first.gram) == (second.counts, second.gradient, second.gram)


def test_every_engine_gives_the_same_integers(tmp_path):
    rows = table()
    expected = gather(rows, STUDY, LogisticSummary(STUDY, range(4), CENTER, links(CENTER)))
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=700)
    rows.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/t.parquet' ORDER BY age")
    frame = rows.to_pandas()
    sources = [frame, pl.from_arrow(rows), frame.sample(frac=1, random_state=3), str(tmp_path / "t.parquet")]
    sources += [str(tmp_path / "t.csv"), f"{tmp_path}/t.duckdb?table=t"]
    for source in sources:
        assert same(gather(source, STUDY, LogisticSummary(STUDY, range(4), CENTER, links(CENTER))), expected)
    assert repr(expected) == "LogisticSums(width=4, values=<private>)"


PERSONS = Study(STUDY.response, STUDY.predictors, missing="zero-row", person="patient", max_rows_per_person=3)


def persons(n=5000):
    generator = np.random.default_rng(9)
    return table(n).append_column("patient", pa.array(generator.integers(0, n // 4, n)))


def round_of(source, study):
    return gather(source, study, LogisticSummary(study, range(4), CENTER, links(CENTER)))


@pytest.mark.parametrize("study", [STUDY, PERSONS])
def test_dask_gives_the_same_integers(study):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    rows = persons()
    frame = dask.from_pandas(rows.to_pandas(types_mapper=pd.ArrowDtype), npartitions=5)
    require_repeatable(frame, "Odds ratios")
    assert same(round_of(frame, study), round_of(rows, study))
    with pytest.raises(DataError, match="'town' is not in the table"):
        round_of(frame.drop(columns="town"), study)


@pytest.mark.spark
@pytest.mark.parametrize("study", [STUDY, PERSONS])
def test_spark_gives_the_same_integers(spark, study):
    rows = persons()
    frame = spark.createDataFrame(rows)
    frame.createOrReplaceTempView("patients")
    expected = round_of(rows, study)
    require_repeatable(frame, "Odds ratios")
    assert same(round_of(frame.repartition(7), study), expected)
    assert same(round_of("spark:?table=patients", study), expected)
    strict = Study(STUDY.response, STUDY.predictors)
    with pytest.raises(DataError, match="missing, infinite or of an unknown level"):
        round_of(frame, strict)


def test_of_each_person_the_rows_count_that_count_in_moments():
    rows = persons()
    shuffled = rows.take(np.random.default_rng(1).permutation(len(rows)))
    found = round_of(rows, PERSONS)
    assert same(found, round_of(shuffled, PERSONS)) and not same(found, round_of(rows, STUDY))
    frame = rows.to_pandas()
    most = frame.groupby("patient").size().clip(upper=3).sum()
    assert sum(found.counts) == 2 * most  # nobody is filled up
    # At b = 0 the weights are 1/4 each, so the Gram is a quarter of the moments' X'X, which rows of zeros do not change.
    zero = gather(rows, PERSONS, LogisticSummary(PERSONS, range(4), (0,) * 4, links((0,) * 4)))
    xtx = gather(rows, PERSONS).integers()[1]
    assert np.array(zero.gram, dtype=float) == pytest.approx(np.array(xtx, dtype=float) / 4, rel=1e-6, abs=GRID * 5000)


def test_they_are_what_exact_fractions_give():
    rows = table(60).to_pandas()
    made = gather(rows, STUDY, LogisticSummary(STUDY, range(4), CENTER, links(CENTER)))
    chances = links(CENTER)
    gradient, gram, yes = [Fraction(0)] * 4, [[0] * 4 for _ in range(4)], 0
    for _, row in rows.iterrows():
        gone = not np.isfinite(row["age"]) or row["town"] == "elsewhere"
        age = int(np.clip(np.floor((row["age"] - 50) * (GRID / 50) + 0.5), -GRID, GRID)) if not gone else 0
        x = [0] * 4 if gone else [GRID, age, GRID * (row["town"] == "b"), GRID * (row["town"] == "c")]
        step = (sum(a * b for a, b in zip(x, CENTER, strict=True)) * 2 + 2**30) // 2**31 + chances.steps
        twice = 1 if gone else 2 * (row["died"] == "yes")
        yes += twice
        residual = twice * GRID - 2 * int(chances.chances[step])
        gradient = [old + residual * each for old, each in zip(gradient, x, strict=True)]
        weighted = [(int(chances.weights[step]) * each * 2 + GRID) // (2 * GRID) for each in x]
        gram = [[gram[i][j] + weighted[i] * x[j] for j in range(4)] for i in range(4)]
    assert made.counts == (yes, 120 - yes)
    assert list(made.gradient) == [int(each) for each in gradient]
    assert [list(row) for row in made.gram] == gram


def test_what_cannot_be_read_again_is_refused():
    bounded = Study(Binary("died", ["no", "yes"]), [Numeric("age", 0, 100)])
    rows = table(50).to_pandas().fillna(50)
    with pytest.raises(DataError, match="not moments"):
        require_repeatable(gather(rows, bounded), "Odds ratios")
    with pytest.raises(DataError, match="stream"):
        require_repeatable(table().to_reader(), "Odds ratios")
    require_repeatable(rows, "Odds ratios")
    with pytest.raises(DataError, match="no rows"):
        gather(rows[:0], bounded, LogisticSummary(bounded, (0, 1), (0, 0), links((0, 0))))
    assert pd.DataFrame(rows).shape == (50, 3)
