import pytest

from dpselect.errors import DataError
from dpselect.gather.sources.source import Csv, Database, parse_address, rows_address


@pytest.mark.parametrize(
    ("text", "engine", "table", "query"),
    [
        ("sales.duckdb?table=houses", "duckdb", "houses", None),
        ("duckdb:///data/sales.bin?table=main.houses", "duckdb", "main.houses", None),
        ("duckdb:?query=SELECT%201%20AS%20y", "duckdb", None, "SELECT 1 AS y"),
        ("postgresql://reader@host:5433/base?table=public.t", "postgresql", "public.t", None),
        ("postgres://host/base?query=SELECT+*+FROM+t", "postgresql", None, "SELECT * FROM t"),
        ("spark:?table=sales.houses", "spark", "sales.houses", None),
    ],
)
def test_an_address_with_a_table_or_a_query_is_a_database(text, engine, table, query):
    found = parse_address(text)
    assert (found.engine, found.table, found.query) == (engine, table, query)


def test_the_driver_gets_its_own_options_and_no_others():
    found = parse_address("postgresql://host/base?sslmode=require&table=t&connect_timeout=3")
    assert found.uri == "postgresql://host/base?sslmode=require&connect_timeout=3"


@pytest.mark.parametrize("text", ["table.parquet", "C:/data/x.csv", "/abs/x.parquet", "a?b.csv"])
def test_anything_else_is_a_path(text):
    assert parse_address(text) is None


@pytest.mark.parametrize(
    ("address", "path"), [("duckdb:x.db", "x.db"), ("duckdb:///a/x", "/a/x"), ("y.ddb", "y.ddb"), ("duckdb:", "")]
)
def test_duckdb_paths(address, path):
    assert Database(address, table="t").path == path


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@host:5/b?password=hunter2&table=t",
        "postgres://me:hunter2@h:bad/b?table=t",
        # Passwords in which signs of addresses were not written as %2F and the like: their pieces pass for other parts.
        "postgresql://me:5432/hunter2@h/b?table=t",
        "postgresql://me:1@hunter2/x@h/b?table=t",
        "postgresql://me:1#hunter2@h/b",
        "postgresql:///b?host=hunter2@far",
    ],
)
def test_no_password_is_printed(address):
    found = parse_address(address) if "table" in address else Database(address, table="t")
    assert "hunter2" not in repr(found) + str(found) + found.place and "me" not in found.place


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("postgresql:///b", "PostgreSQL at the default host"),
        ("postgresql:///b?host=/run/x", "PostgreSQL at /run/x"),
        ("postgresql://%2Frun%2FX:5433/b", "PostgreSQL at /run/X:5433"),
    ],
)
def test_a_host_may_be_the_folder_of_a_socket_stand_among_the_options_or_be_left_out(address, place):
    assert Database(address, table="t").place == place


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"address": "x.duckdb"}, "either a table or a query"),
        ({"address": "x.duckdb", "table": "t", "query": "SELECT 1"}, "either a table or a query"),
        ({"address": "mysql://u:hunter2@h/b", "table": "t"}, "must be postgresql://"),
        ({"address": "spark:", "query": "SELECT 1"}, "Spark needs a table"),
    ],
)
def test_what_is_no_database_is_refused(arguments, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        Database(**arguments)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["mysql://me:hunter2@host/base?table=t", "s3://key:hunter2@bucket/x.parquet", "http://h/x.csv"]
)
def test_other_addresses_are_refused_by_their_first_word(address):
    with pytest.raises(DataError, match=r"Rows cannot be read from '(mysql|s3|http)' addresses") as caught:
        parse_address(address)
    assert "hunter2" not in str(caught.value)


def test_rows_have_one_address_however_they_are_called_and_no_other_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    own = rows_address("a.csv")
    for same in (tmp_path / "a.csv", "./a.csv", str(tmp_path / "link.csv"), ["a.csv"], Csv("a.csv", delimiter=";")):
        assert rows_address(same) == own
    server = Database("postgresql://ann:secret@host:5433/base?sslmode=require", table="t")
    others = [
        "b.csv",
        ["a.csv", "b.csv"],
        "*.csv",
        ".",
        "book.xlsx",
        "book.xlsx#second",
        server,
        "postgresql://ann@host:5433/base?table=u",
        "postgresql://ann@host/base?table=t",
        "postgresql://ann@host:5433/other?table=t",
        "a.duckdb?table=t",
        "a.duckdb?table=u",
        "a.duckdb?query=SELECT+1",
    ]
    found = [own, *map(rows_address, others)]
    assert all(one != other for k, one in enumerate(found) for other in found[:k])
    assert "secret" not in str(found)
    assert rows_address(server) == rows_address("postgresql://ann:other@host:5433/base?sslmode=require&table=t")
    assert rows_address({"x": [1]}) is None and rows_address([{"x": 1}]) is None and rows_address(None) is None


@pytest.mark.parametrize("name", ["PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"])
def test_what_an_address_leaves_open_is_what_the_environment_says(name, monkeypatch):
    """Else rounds of one server's rows could be gone on with from another's."""
    own = rows_address("postgresql:///clinic?table=t")
    monkeypatch.setenv(name, "other")
    assert rows_address("postgresql:///clinic?table=t") != own
