"""The sums of a round: right against a slow program, and the same from every place where rows live."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.lemmas.logistic import links
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import GRID, Binary, Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.logistic_sums import logistic_sums, require_rows
from dpselect.gather.table import gather_table

STUDY = Assumptions(
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
    expected = logistic_sums(rows, STUDY, range(4), CENTER, links(CENTER))
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=700)
    rows.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/t.parquet' ORDER BY age")
    frame = rows.to_pandas()
    sources = [frame, pl.from_arrow(rows), frame.sample(frac=1, random_state=3), str(tmp_path / "t.parquet")]
    sources += [str(tmp_path / "t.csv"), f"{tmp_path}/t.duckdb?table=t"]
    for source in sources:
        assert same(logistic_sums(source, STUDY, range(4), CENTER, links(CENTER)), expected)
    assert repr(expected) == "LogisticSums(width=4, values=<private>)"


def test_they_are_what_exact_fractions_give():
    rows = table(60).to_pandas()
    made = logistic_sums(rows, STUDY, range(4), CENTER, links(CENTER))
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
    bounded = Assumptions(Binary("died", ["no", "yes"]), [Numeric("age", 0, 100)])
    rows = table(50).to_pandas().fillna(50)
    with pytest.raises(DataError, match="not moments"):
        require_rows(gather_table(rows, bounded))
    with pytest.raises(DataError, match="stream"):
        require_rows(table().to_reader())
    require_rows(rows)
    with pytest.raises(DataError, match="no rows"):
        logistic_sums(rows[:0], bounded, (0, 1), (0, 0), links((0, 0)))
    assert pd.DataFrame(rows).shape == (50, 3)
