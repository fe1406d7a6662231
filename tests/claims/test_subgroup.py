"""Claim: a row outside the subgroup adds nothing, whatever its cells, from every source; and no public number is a count of it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dpselect
from dpselect.assume.queries import Gradient, Histograms, Rows, Standard, center_of, rows_of
from dpselect.assume.study import Study
from dpselect.assume.subgroup import Only
from dpselect.assume.variables import Binary, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather.kept import KeptRows
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.use.command_line import dpselect as program
from dpselect.use.select import select

PREDICTORS = [Numeric("age", 0, 100), Binary("smokes", ["no", "yes"])]
WOMEN = [Only("sex", ["f"]), Only("age", lower=18, upper=65)]


def a_study(only=None, response=None, **settings):
    return Study(response or Numeric("cost"), PREDICTORS, only=only, rows=500, **settings)


def table(n=1500, seed=1):
    chance = np.random.default_rng(seed)
    age = chance.uniform(0, 100, n).round(1)
    frame = pd.DataFrame(
        {"age": age, "smokes": chance.choice(["no", "yes"], n), "sex": chance.choice(["f", "m", "x"], n)}
    )
    return frame.assign(cost=age * np.where(frame.sex == "f", 2.0, -5.0) + chance.normal(0, 9, n), year=2020)


def inside(frame):
    return (frame.sex == "f") & frame.age.between(18, 65)


def asked(study):
    own = Standard(
        columns=(1, 2),
        centers=(0.0, 0.0),
        factors=(2.0**-8, 2.0**-8),
        response_center=50.0,
        response_factor=2.0**12 / 40,
    )
    about = {"family": "gaussian", "standard": own, "matrix": rows_of(np.eye(3)), "center": center_of([0.1, 0.5, 0.2])}
    bins = Histograms(columns=(1, 2), edges=((0.0,), ()), response_edges=(0.0, 50.0), family="gaussian")
    return RoundSummary(study, [Rows(), bins, Gradient(**about, radius=3.0)])


def sums(source, only=None, **settings):
    study = a_study(only, **settings)
    return gather(source, study, asked(study))


def places(frame, folder):
    pq.write_table(pa.Table.from_pandas(frame), folder / "t.parquet", row_group_size=300)
    frame.to_csv(folder / "t.csv", index=False)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{folder}/t.parquet'")
    files = [str(folder / "t.parquet"), str(folder / "t.csv"), f"{folder}/t.duckdb?table=t"]
    return [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), *files]


def test_every_source_has_the_sums_of_the_rows_inside(tmp_path):
    frame = table()
    expected = sums(frame[inside(frame)])
    for source in places(frame, tmp_path):
        assert sums(source, WOMEN) == expected
    kept = gather(frame, a_study(WOMEN), KeptRows(a_study(WOMEN)))
    assert kept.count == len(frame) and kept.replay(asked(a_study(WOMEN))) == expected
    assert 100 < expected[0][0] < 500


def test_dask_has_the_same(tmp_path):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    frame = table()
    assert sums(dask.from_pandas(frame, npartitions=3), WOMEN) == sums(frame, WOMEN)


@pytest.mark.spark
def test_spark_has_the_same(spark):
    frame = table(600)
    assert sums(spark.createDataFrame(pa.Table.from_pandas(frame)), WOMEN) == sums(frame, WOMEN)


STRANGE = [
    {"sex": "m", "age": 1e308, "cost": np.inf},
    {"sex": None, "age": np.nan, "cost": np.nan, "smokes": None},
    {"sex": "F", "age": -1e300, "smokes": "perhaps"},
    {"sex": "f", "age": 17.99999},
    {"sex": "f", "age": 65.00001, "cost": 1e300},
    {"sex": "f", "age": np.nan},
    {"sex": " f", "age": 30.0},
    {"sex": "f\x00", "age": 30.0, "cost": -np.inf},
]


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("missing", ["error", "zero-row"])
def test_a_row_outside_changes_nothing_and_refuses_nothing(strange, missing, tmp_path):
    """Also where a missing cell of a row inside would stop the run."""
    frame = table(400)
    at = int(np.flatnonzero(~inside(frame))[7])
    expected = sums(frame, WOMEN, missing=missing)
    for name, value in strange.items():
        frame.loc[at, name] = value
    assert sums(frame, WOMEN, missing=missing) == expected
    assert sums(pl.from_pandas(frame), WOMEN, missing=missing) == expected


def test_the_ends_of_a_range_and_whole_numbers_are_inside():
    frame = table(60).assign(age=[17.0, 18.0, 65.0, 66.0] * 15, sex="f", year=[2019, 2020, 2021] * 20)
    assert sums(frame, WOMEN)[0] == (30,)
    assert sums(frame, [Only("age", lower=18)])[0] == (45,)
    assert sums(frame, [Only("year", [2019, 2021])])[0] == (40,)
    assert sums(frame, [Only("year", upper=2019.5)])[0] == (20,)


def test_no_public_number_knows_how_many_are_inside():
    """Two tables of one length, of which one has ten times as many women: all that is public beforehand is the same."""
    made = []
    for share in (0.08, 0.8):
        chance = np.random.default_rng(3)
        frame = table(3000).assign(sex=chance.choice(["f", "m"], 3000, p=[share, 1 - share]))
        found = select(frame, a_study([Only("sex", ["f"])]), epsilon=1)
        made.append((found.recipe, found.guarantee))
    assert made[0] == made[1] and made[0][0].rows == 500
    with pytest.raises(StudyError, match="only needs rows"):
        Study(Numeric("cost"), PREDICTORS, only=WOMEN)


def test_the_result_describes_the_subgroup_and_says_so(tmp_path):
    """Age acts by 2 among women and by -5 among others."""
    frame = table(12_000)
    study = Study(Numeric("cost"), PREDICTORS, only=Only("sex", ["f"]), rows=4000)
    found = dpselect.analyze(frame, study, epsilon=2, delta=1e-6)
    age = next(each for each in found.coefficients.tidy() if each["term"] == "age")
    assert age["conf_low"] < 2.0 < age["conf_high"] and age["conf_low"] > 1.5
    assert "About 4,000 rows with sex f." in str(found)
    page = found.to_html(tmp_path / "report.html")
    assert dpselect.verify(page) and "rows with sex f; the result describes these alone" in page.read_text()
    assert found.selection.study.hash != Study(Numeric("cost"), PREDICTORS, rows=4000).hash


def test_a_study_file_and_an_option_state_it(tmp_path):
    study = a_study(WOMEN)
    study.write(tmp_path / "study.toml")
    assert "[[only]]" in study.text() and Study.read(tmp_path / "study.toml") == study
    assert Study.from_dict(study.to_dict()) == study
    assert Only.parse("sex=f") == WOMEN[0] and Only.parse("age=18..65") == WOMEN[1]
    assert Only.parse("year=2019|2020").categories == (2019, 2020) and Only.parse("age=..7.5").upper == 7.5
    assert Only.parse("region=north|south").words == "region north or south"
    for wrong in ("sex", "=f", "age=a..b", "age=9..3", "age=..", "sex="):
        with pytest.raises(StudyError):
            Only.parse(wrong)
    for wrong in ([], ["a", 1], [1.5], [True], "f"):
        with pytest.raises(StudyError):
            Only("sex", wrong)


def test_what_a_subgroup_cannot_be_is_refused(tmp_path):
    with pytest.raises(StudyError, match="as text in one place"):
        a_study([Only("age", ["young"])])
    with pytest.raises(StudyError, match="persons, clusters or weights"):
        a_study([Only("id", ["a"])], person="id")
    with pytest.raises(DataError, match="of the subgroup has the type"):
        pq.write_table(pa.Table.from_pandas(table(50)), tmp_path / "t.parquet")
        sums(tmp_path / "t.parquet", [Only("sex", lower=3)])
    with pytest.raises(DataError, match="'region' is not in the table"):
        sums(table(50), [Only("region", ["a"])])
    with pytest.raises(DataError, match="use a data frame"):
        gather((np.zeros((5, 2)), np.zeros(5)), a_study(WOMEN), asked(a_study(WOMEN)))
    with pytest.raises(StudyError, match="a subgroup"):
        select(table(50), a_study(WOMEN, response=Numeric("cost", 0, 9)), epsilon=1, method="pcls")


def test_the_code_of_a_command_states_the_subgroup(tmp_path):
    """And persons: code that left them out would make another promise."""
    table(300).to_csv(tmp_path / "t.csv", index=False)
    line = ["analyze", str(tmp_path / "t.csv"), "--response", "cost", "--predictors", "age", "--epsilon", "1"]
    said = ["--only", "sex=f", "--rows", "100", "--person", "year", "--max-rows-per-person", "3", "--show-code"]
    answer = CliRunner().invoke(program, [*line, *said])
    assert answer.exit_code == 0, answer.output
    assert "only=[dpselect.Only(name='sex', categories=('f',))]" in answer.output
    assert "person='year', max_rows_per_person=3" in answer.output and "rows=100" in answer.output
