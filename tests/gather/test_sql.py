"""The aggregate query gives the integers of the slow program, in each engine that can run it."""

from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.saved import save_moments
from dpselect.gather.sql import aggregate_query, answer_names, moments_from_answer

numbers = st.one_of(st.none(), st.floats(), st.floats(-12, 12), st.sampled_from([-5.0, 5.0, 2.5 / 2**20, 5e-324]))
rows = st.lists(
    st.fixed_dictionaries(
        {
            "y y": numbers,
            'a"': numbers,
            "k": st.sampled_from([1, 2, 3, None]),
            "c": st.sampled_from(["u'", "\\v", None, ""]),
        }
    ),
    min_size=1,
    max_size=25,
)
TYPES = {"y y": pa.float64(), 'a"': pa.float64(), "k": pa.int64(), "c": pa.string()}


def a_study(missing: str = "midpoint", **more) -> Study:
    predictors = [Numeric('a"', -1e12, 5e12), Categorical("k", [1, 2]), Categorical("c", ["u'", "\\v", 'w"'])]
    terms = [['a"', 'a"'], "k", ["k", "c"], ['a"', "c"], "c", ['a"', "k", "c"]]
    return Study(Numeric("y y", 0, 10), predictors, missing=missing, terms=terms, **more)


def duckdb_answer(table: pa.Table, study: Study, name: str = "t", **asked) -> dict:
    with closing(duckdb.connect()) as connection:
        connection.register("t", table)
        found = connection.execute(aggregate_query(study, name, "duckdb", **asked))
        return dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))


@pytest.mark.parametrize("missing", ["midpoint", "zero-row"])
def test_duckdb(missing, slow_moments):
    @settings(max_examples=8)
    @given(rows)
    def check(listed):
        table = pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in TYPES.items()})
        found = moments_from_answer(duckdb_answer(table, a_study(missing)), a_study(missing))
        assert found.integers() == slow_moments(listed, a_study(missing)) == gather(table, a_study(missing)).integers()

    check()


PLAIN = Study(Numeric("y", 0, 4), [Numeric("a", -1, 1)])
TABLE = pa.table({"y": [1.0, 2.0], "a": [0.5, -0.25]})


def test_a_query_in_parentheses_is_a_table():
    found = moments_from_answer(duckdb_answer(TABLE, PLAIN, "(SELECT * FROM t)"), PLAIN)
    assert found.integers() == gather(TABLE, PLAIN).integers()


@pytest.mark.parametrize("column", ["y", "a"])
@pytest.mark.parametrize("cell", [None, float("nan"), float("inf")])
def test_missing_cells_are_found_when_they_are_an_error(column, cell):
    table = pa.table({"y": [1.0, 2.0], "a": [0.5, -0.25], column: [0.5, cell]})
    with pytest.raises(DataError, match=f"'{column}' has missing"):
        moments_from_answer(duckdb_answer(table, PLAIN), PLAIN)


def test_collations_do_not_blur_levels():
    study = Study(Numeric("y", 0, 4), [Categorical("c", ["a", "A"])], intercept="none")
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE t (y DOUBLE, c VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES (1, 'a'), (1, 'A'), (1, 'A')")
        found = connection.execute(aggregate_query(study, "t", "duckdb"))
        answer = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    assert moments_from_answer(answer, study).integers()[1] == [[2 * 2**40]]


def test_text_where_a_number_is_stated_is_refused_by_the_engine():
    with pytest.raises(duckdb.Error, match=r"a is text, and a number is needed\.$"):
        duckdb_answer(pa.table({"y": [1.0], "a": ["77.125"]}), PLAIN)


def test_wide_decimals_and_huge_integers_round_as_elsewhere(slow_moments):
    # Bounds so close that one unit in the last place of a double moves a cell on the grid.
    wide = Study(Numeric("y", 2**119, 2**119 + 2**89), [Numeric("a", 0, 1e15)])
    rng = np.random.default_rng(5)
    listed = [2**119 + int(high) * 2**45 + int(low) for high, low in rng.integers(0, 2**44, size=(300, 2))]
    values = ", ".join(f"('{value}'::HUGEINT, {i}::DECIMAL(20, 0))" for i, value in enumerate(listed))
    query = f"(SELECT y, i * 1234567890123.123456789 AS a FROM (VALUES {values}) AS v (y, i))"
    with closing(duckdb.connect()) as connection:
        table = connection.sql(f"SELECT * FROM {query}").to_arrow_table()
    assert moments_from_answer(duckdb_answer(TABLE, wide, query), wide).integers() == gather(table, wide).integers()


def test_truth_values_are_one_and_zero():
    study = Study(Numeric("y", 0, 4), [Numeric("b", -1, 4)])
    table = pa.table({"y": [1.0, 2.0, 3.0], "b": [True, False, True]})
    answer = duckdb_answer(table, study, booleans=["b"])
    assert moments_from_answer(answer, study).integers() == gather(table, study).integers()


def test_an_empty_table_is_zero_where_n_is_private_and_refused_where_it_is_public():
    private = Study(PLAIN.response, PLAIN.predictors, neighbors="add-remove-one")
    assert moments_from_answer(duckdb_answer(TABLE.slice(0, 0), private), private).n == 0
    with pytest.raises(DataError, match="no rows"):
        moments_from_answer(duckdb_answer(TABLE.slice(0, 0), PLAIN), PLAIN)


def test_the_query_is_marked_private_and_names_its_study():
    query = aggregate_query(PLAIN, "s.t", "postgres")
    assert "PRIVATE" in query and PLAIN.hash in query and '"s"."t"' in query
    assert "OFFSET 0" in query and "SET jit = off" in query


def test_too_many_columns_and_unknown_dialects_are_refused():
    many = Study(Numeric("y", 0, 1), [Numeric(f"x{i}", 0, 1) for i in range(60)])
    with pytest.raises(DataError, match="too many for one query"):
        aggregate_query(many, "t", "postgres")
    with pytest.raises(DataError, match="'mysql'; it must be one of 'duckdb', 'postgres', 'spark', 'tsql', 'oracle'"):
        aggregate_query(PLAIN, "t", "mysql")


@pytest.mark.parametrize(
    "write",
    [
        lambda names, cells: ",".join(names) + "\n" + ",".join(cells) + "\n",
        lambda names, cells: "SET\n" + ";".join(names) + "\n" + ";".join(cells) + "\n(1 row)\n",
        lambda names, cells: "\ufeff" + ",".join(f'"{n}"' for n in names) + "\r\n" + ",".join(f'"{c}"' for c in cells),
    ],
)
def test_answers_are_read_from_csv_as_programs_write_it(tmp_path, write):
    answer = duckdb_answer(TABLE, PLAIN)
    (tmp_path / "a.csv").write_text(write(list(answer), [str(value) for value in answer.values()]), encoding="utf-8")
    assert moments_from_answer(tmp_path / "a.csv", PLAIN).integers() == gather(TABLE, PLAIN).integers()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"study": "0" * 64}, "does not belong to these assumptions"),
        ({"p_0_0": None, "n": 2}, None),
        ({"p_0_1": 1.5}, "not a whole number"),
        ({"p_0_1": "1.2e15"}, "not a whole number"),
        ({"p_0_1": 1.0}, "not a whole number"),
        ({"p_0_0": 3 * 2**40}, "no table of numbers within the bounds"),
        ({"p_0_0": -1}, "no table of numbers within the bounds"),
        ({"p_0_1": 2**41 + 1}, "no table of numbers within the bounds"),
        ({"n": -1}, "no table of numbers within the bounds"),
    ],
)
def test_answers_that_cannot_be_are_refused_without_a_number(change, sentence):
    answer = {**duckdb_answer(TABLE, PLAIN), **change}
    if sentence is None:
        sentence = "no table"  # a zero intercept column has zero products with all others
    with pytest.raises(DataError, match=sentence) as caught:
        moments_from_answer(answer, PLAIN)
    assert not any(character.isdigit() for character in str(caught.value))


def test_answers_that_are_none_are_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        moments_from_answer(tmp_path / "a.csv", PLAIN)
    (tmp_path / "a.csv").write_text("y,a\n1,2\n")
    with pytest.raises(DataError, match="holds no answer"):
        moments_from_answer(tmp_path / "a.csv", PLAIN)
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        moments_from_answer(tmp_path / "a.csv", PLAIN)
    save_moments(gather(TABLE, PLAIN), tmp_path / "a.moments")
    with pytest.raises(DataError, match=r"holds saved moments, .*: give it in the place of the data"):
        moments_from_answer(tmp_path / "a.moments", PLAIN)
    for text in ('assumptions,"n\n1,2\n', "assumptions,n,n\n1,2,3\n", "assumptions,n\n1,2,3\n", "assumptions,n\n"):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(DataError, match="holds no answer"):
            moments_from_answer(tmp_path / "a.csv", PLAIN)
    answer = duckdb_answer(TABLE, PLAIN)
    del answer[answer_names(PLAIN)[-1]]
    with pytest.raises(DataError, match="lacks 'p_2_2'"):
        moments_from_answer(answer, PLAIN)


NASTY = [
    'a"b',
    "a'b",
    "a\\",
    "\\'; DROP TABLE t; --",
    ".shell x",
    "a%sb%",
    "${env:PATH}",
    "/* -- */;",
    "`",
    ":x",
    "é😀",
]


def nasty_study(name: str) -> tuple[Study, pa.Table]:
    levels = [name, "o" + name]
    a_study = Study(Numeric("y" + name, 0, 1), [Numeric(name, 0, 1), Categorical("c" + name, levels)])
    numbers = np.random.default_rng(5).random((2, 20))
    return a_study, pa.table({"y" + name: numbers[0], name: numbers[1], "c" + name: levels * 10})


@pytest.mark.parametrize("name", NASTY)
def test_names_and_levels_are_never_taken_for_sql(name):
    a_study, table = nasty_study(name)
    found = moments_from_answer(duckdb_answer(table, a_study), a_study)
    assert found.integers() == gather(table, a_study).integers()


@pytest.mark.postgres
@pytest.mark.parametrize("conforming", ["on", "off"])
def test_names_and_levels_are_never_taken_for_sql_in_postgresql(postgres, conforming):
    """A server may read backslashes in plain strings; a study file may come from somebody who knows that."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SET client_min_messages = error")
        connection.execute(f"SET standard_conforming_strings = {conforming}")
        connection.execute("CREATE TEMP TABLE t (witness integer)")
        for name in NASTY:
            a_study, table = nasty_study(name)
            columns = ['"' + each.replace('"', '""') + '"' for each in table.column_names]
            kinds = ["double precision", "double precision", "text"]
            created = ", ".join(f"{column} {kind}" for column, kind in zip(columns, kinds, strict=True))
            connection.execute(f"CREATE TEMP TABLE nasty ({created})".encode())
            with connection.cursor() as cursor:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    cursor.execute("INSERT INTO nasty VALUES (%s, %s, %s)", row)
                query = aggregate_query(a_study, "nasty", "postgres").partition("SELECT")
                cursor.execute("".join(query[1:]).encode())
                names = [each.name for each in cursor.description]
                answer = dict(zip(names, cursor.fetchone(), strict=True))
            assert moments_from_answer(answer, a_study).integers() == gather(table, a_study).integers()
            connection.execute("DROP TABLE nasty")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)


PERSONS = {"person": "p p", "max_rows_per_person": 3}


@pytest.mark.parametrize("dialect", ["tsql", "oracle"])
@pytest.mark.parametrize(
    "stated", [{"missing": "midpoint"}, {"missing": "zero-row"}, {"missing": "zero-row", **PERSONS}]
)
def test_sql_server_and_oracle_are_parsed_and_mean_the_same(dialect, stated):
    """No server of either runs here: a parser of their SQL takes the query, and DuckDB runs what it makes of it."""
    sqlglot = pytest.importorskip("sqlglot", reason="No sqlglot: pip install sqlglot.")
    study = a_study(**stated)
    who, letters = ["ann", "ann ", "bob", "Ann", "17"], ["u'", "\\v", None, "\\v ", "U'"]
    listed = [
        {
            "y y": 1.5 * i % 11,
            'a"': (-1) ** i * 1e12 * i / 7,
            "k": [1, 2, 3, None][i % 4],
            "c": letters[i % 5],
            "p p": who[i % 5],
        }
        for i in range(60)
    ]
    kinds = TYPES | {"p p": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in listed], kind) for name, kind in kinds.items()})
    query = aggregate_query(study, "t", dialect)
    *before, statement = [each for each in sqlglot.parse(query, read=dialect) if each is not None]
    assert len(before) == (2 if dialect == "oracle" else 0) and isinstance(statement, sqlglot.exp.Select)
    assert [each.alias for each in statement.expressions] == answer_names(study)
    for collation in list(
        statement.find_all(sqlglot.exp.Collate)
    ):  # DuckDB has none of that name, and compares by bytes
        collation.replace(collation.this)
    for added in list(statement.find_all(sqlglot.exp.Add)):  # and joins text by ||
        if isinstance(added.expression, sqlglot.exp.National):
            added.replace(sqlglot.exp.DPipe(this=added.this, expression=added.expression))
    with closing(duckdb.connect()) as connection:
        connection.register("t", table)
        found = connection.execute(statement.sql(dialect="duckdb"))
        answer = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    assert moments_from_answer(answer, study).integers() == gather(table, study).integers()


def test_oracle_takes_fewer_columns_than_others():
    wide = Study(Numeric("y", 0, 1), [Numeric(f"x{j}", 0, 1) for j in range(46)])
    assert aggregate_query(wide, "t", "tsql") and aggregate_query(wide, "t", "postgres")
    with pytest.raises(DataError, match="too many for one query"):
        aggregate_query(wide, "t", "oracle")


def test_a_name_is_quoted_as_sql_server_and_oracle_do():
    study = Study(Numeric("y]y", 0, 1), [Numeric('a"', 0, 1)])
    assert "[y]]y]" in aggregate_query(study, "dbo.t", "tsql") and "FROM [dbo].[t] AS source" in aggregate_query(
        study, "dbo.t", "tsql"
    )
    assert '"a"""' in aggregate_query(study, "T", "oracle") and 'FROM "T" source' in aggregate_query(
        study, "T", "oracle"
    )
