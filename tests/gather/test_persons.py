"""At most k rows of each person: the same rows in every order, batch and engine, chosen by that person's rows alone."""

from collections import defaultdict
from contextlib import closing
from functools import reduce
from operator import add

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError, StudyError
from dpselect.gather import persons as persons_module
from dpselect.gather.persons import mixed
from dpselect.gather.rows import gather
from dpselect.gather.sql import aggregate_query, moments_from_answer
from tests.examples import examples

PRIME, MULTIPLIER, STEPS = 2**31 - 1, 1_583_458_089, 2**20


def a_study(most: int, missing: str = "midpoint") -> Study:
    predictors = [Numeric("a", -1, 1), Categorical("c", ["u", "v"])]
    return Study(Numeric("y", -1, 1), predictors, missing=missing, person="who", max_rows_per_person=most)


def rows_of(seed: int, count: int = 60, people: int = 12) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [
        {
            "who": f"p{rng.integers(people)}",
            "y": float(rng.choice([rng.normal(), 0.5])),
            "a": float(rng.normal()) if rng.random() < 0.9 else None,
            "c": "uvw"[rng.integers(3)],
        }
        for _ in range(count)
    ]


def arrow(listed: list[dict]) -> pa.Table:
    kinds = {"who": pa.string(), "y": pa.float64(), "a": pa.float64(), "c": pa.string()}
    return pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in kinds.items()})


def slow_persons(listed: list[dict], study: Study, slow_moments):
    """The same by loops: each row's own moments give its grid values, Python's sort the order."""
    plain = Study(study.response, study.predictors, missing=study.missing)
    by_person = defaultdict(list)
    for row in listed:
        _, xtx, xty, yty = slow_moments([row], plain)
        values = [xtx[0][j] // STEPS for j in range(len(xtx))] + [xty[0] // STEPS]
        number = 0
        for value in values:
            number = (number + value + STEPS) % PRIME * MULTIPLIER % PRIME
        by_person[row["who"]].append((number, values, row))
    most = study.max_rows_per_person
    kept = [row for rows in by_person.values() for *_, row in sorted(rows, key=lambda each: each[:2])[:most]]
    _, xtx, xty, yty = slow_moments(kept, plain)
    return most * len(by_person), xtx, xty, yty


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_the_rows_that_count_are_those_of_the_slow_program(most, slow_moments):
    for seed in range(5):
        listed = rows_of(seed)
        found = gather(arrow(listed), a_study(most)).integers()
        assert found == slow_persons(listed, a_study(most), slow_moments)


@settings(max_examples=examples(30))
@given(st.integers(0, 999), st.integers(1, 4), st.integers(1, 20), st.sampled_from(["midpoint", "zero-row"]))
def test_order_and_batches_do_not_matter(seed, most, size, missing):
    listed = rows_of(seed)
    table = arrow(listed).take(np.random.default_rng(seed).permutation(len(listed)))
    pieces = pa.concat_tables([table.slice(start, size) for start in range(0, len(table), size)])
    study = a_study(most, missing)
    assert gather(pieces, study).integers() == gather(arrow(listed), study).integers()


def test_what_a_person_adds_depends_on_that_person_alone():
    """So replacing one leaves all others' rows as they are: the moments of a table are the sum of its persons' moments."""
    for seed in range(5):
        listed = rows_of(seed)
        names = sorted({row["who"] for row in listed})
        parts = [gather(arrow([row for row in listed if row["who"] == name]), a_study(2)) for name in names]
        assert reduce(add, parts).integers() == gather(arrow(listed), a_study(2)).integers()
        assert {part.n for part in parts} == {2}


def test_rows_are_dropped_along_the_way_without_a_difference(monkeypatch):
    listed = rows_of(3, count=400)
    expected = gather(arrow(listed), a_study(2)).integers()
    monkeypatch.setattr(persons_module, "MAX_WAITING_ROWS", 10)
    pieces = pa.concat_tables([arrow(listed).slice(start, 7) for start in range(0, 400, 7)])
    assert gather(pieces, a_study(2)).integers() == expected


@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
def test_sql_keeps_the_same_rows(missing):
    table, study = arrow(rows_of(7)), a_study(2, missing)
    with closing(duckdb.connect()) as connection:
        connection.register("t", table)
        found = connection.execute(aggregate_query(study, "t", "duckdb"))
        answer = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    assert moments_from_answer(answer, study).integers() == gather(table, study).integers()


def test_persons_may_be_numbers_text_or_categories(slow_moments):
    listed = rows_of(1)
    expected = gather(arrow(listed), a_study(2)).integers()
    frame = arrow(listed).to_pandas()
    for who in [
        frame["who"].astype("category"),
        frame["who"].str[1:].astype(int),
        frame["who"].str[1:].astype("uint8"),
    ]:
        assert gather(frame.assign(who=who), a_study(2)).integers() == expected


def test_one_row_a_person_is_the_plain_table():
    listed = [{**row, "who": f"p{i}"} for i, row in enumerate(rows_of(1))]
    plain = Study(a_study(1).response, a_study(1).predictors, missing="midpoint")
    assert gather(arrow(listed), a_study(1)).integers() == gather(arrow(listed), plain).integers()


def test_the_order_of_rows_is_not_that_of_their_values():
    values = np.stack([np.arange(1000), np.zeros(1000, dtype=int)], axis=1).astype(np.int32)
    order = np.argsort(mixed(values))
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([None, "p1"], "'who' has missing cells"),
        (["p1", " "], "'who' has missing cells"),
        ([1.5, 2.5], "'who' has the type double"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "'who' has the type timestamp"),
    ],
)
def test_persons_that_cannot_be_told_apart_are_refused(column, sentence):
    frame = pd.DataFrame({"who": column, "y": [0.1, 0.2], "a": [0.1, 0.2], "c": ["u", "v"]})
    with pytest.raises(DataError, match=sentence):
        gather(frame, a_study(2))


def test_a_table_without_persons_is_refused():
    with pytest.raises(DataError, match="'who' is not in the table"):
        gather(arrow(rows_of(1)).drop_columns("who"), a_study(2))
    with pytest.raises(DataError, match="no column of persons"):
        gather((np.zeros((1, 2)), np.zeros(1)), a_study(2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rows_per_person": 2},
        {"person": "y", "max_rows_per_person": 2},
        {"person": "who", "max_rows_per_person": 0},
        {"person": "who", "max_rows_per_person": 1.5},
        {"person": "who", "max_rows_per_person": True},
        {"person": "", "max_rows_per_person": 2},
    ],
)
def test_statements_about_persons_that_cannot_be(wrong):
    with pytest.raises(StudyError):
        Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)], **wrong)


def test_an_empty_cell_of_a_text_file_is_no_person(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("who,y,a,c\np1,0.5,0.5,u\n,0.5,0.5,u\n,0.1,0.5,v\n")
    with pytest.raises(DataError, match="'who' has missing cells"):
        gather(path, a_study(1))


BLANK = ["", " ", "\t", " \r\n", "\v\f "]
"""What is nothing but white space is no person, whoever reads it."""
ALIKE = ["ann", "ann ", " ann", "Ann", "ann\t"]
"""Five persons: keys are compared letter by letter."""


def people(keys: list[str]) -> pa.Table:
    return arrow([{"who": who, "y": 0.5, "a": 0.5, "c": "u"} for who in keys])


def in_duckdb(table: pa.Table, most: int, rows: str = "t"):
    with closing(duckdb.connect()) as connection:
        connection.register("t", table)
        found = connection.execute(aggregate_query(a_study(most), rows, "duckdb"))
        answer = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    return moments_from_answer(answer, a_study(most))


@pytest.mark.parametrize("blank", BLANK)
def test_blank_text_is_no_person_in_the_query_either(blank):
    for ask in (lambda table: gather(table, a_study(1)), lambda table: in_duckdb(table, 1)):
        with pytest.raises(DataError, match="'who' has missing cells"):
            ask(people(["p1", blank, "p2"]))


def test_keys_of_persons_are_compared_letter_by_letter_everywhere(tmp_path):
    """Also where a column of a database calls capitals the same; and 17 is "17", as a text file has it."""
    table = people(ALIKE * 2)
    (tmp_path / "t.csv").write_text("who,y,a,c\n" + "".join(f"{who},0.5,0.5,u\n" for who in ALIKE * 2))
    expected = gather(table, a_study(1)).integers()
    assert expected[0] == len(ALIKE)
    for source in (table.to_pandas(), dict(table.to_pydict()), tmp_path / "t.csv"):
        assert gather(source, a_study(1)).integers() == expected
    assert in_duckdb(table, 1).integers() == expected
    assert in_duckdb(table, 1, "(SELECT * REPLACE (who COLLATE NOCASE AS who) FROM t)").integers() == expected
    assert in_duckdb(table.set_column(0, "who", pa.array([17] * 10)), 1).n == 1


@pytest.mark.postgres
def test_blanks_and_letters_in_postgresql(postgres):
    psycopg = pytest.importorskip("psycopg")

    def ask(keys):
        with psycopg.connect(postgres) as connection:
            connection.execute("CREATE TEMP TABLE t (who text, y float8, a float8, c text) ON COMMIT DROP")
            with connection.cursor().copy("COPY t FROM STDIN") as copy:
                for row in people(keys).to_pylist():
                    copy.write_row([row[name] for name in ("who", "y", "a", "c")])
            query = aggregate_query(a_study(1), "t", "postgres").partition("SELECT")
            found = connection.execute(query[1] + query[2])
            answer = dict(zip([column.name for column in found.description], found.fetchone(), strict=True))
        return moments_from_answer(answer, a_study(1))

    assert ask(ALIKE * 2).integers() == gather(people(ALIKE * 2), a_study(1)).integers()
    for blank in BLANK:
        with pytest.raises(DataError, match="'who' has missing cells"):
            ask(["p1", blank])


@pytest.mark.spark
def test_blanks_and_letters_in_spark(spark):
    def ask(keys):
        spark.createDataFrame(people(keys)).createOrReplaceTempView("alike")
        row = spark.sql(aggregate_query(a_study(1), "alike", "spark").rstrip().rstrip(";")).collect()[0]
        return moments_from_answer(row.asDict(), a_study(1))

    expected = gather(people(ALIKE * 2), a_study(1)).integers()
    assert ask(ALIKE * 2).integers() == expected
    assert gather(spark.createDataFrame(people(ALIKE * 2)).repartition(3), a_study(1)).integers() == expected
    with pytest.raises(DataError, match="'who' has missing cells"):
        ask(["p1", " \t\r\n\v\f"])
