"""Public. A ledger in PostgreSQL, for teams: the same rows, chain, releases and promises as in a file.

The URL postgresql://host/database#study keeps the ledger in the schema dpselect_study, so that one database may hold
several; without #study the schema is dpselect. A password in the URL appears in no message; better still, leave it to
PGPASSWORD or a password file. The server's owner can do to the tables what they like, as the owner of a file can: the chain
and the receipts show it. Every operation is a connection of its own: one that is kept while rows are read for an hour may be cut by
whatever lies between, and would be found dead at the commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from dpselect.errors import DpselectError, LedgerError, NoLedgerYet, StudyError
from dpselect.release.ledger.store import (
    Addition,
    Contents,
    Patience,
    Row,
    Stored,
    mark_of_data,
    query_of,
    require_version,
)

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

POSTGRES_VERSION = 4
POSTGRES_SCHEMA = """
CREATE TABLE {schema}.version (number integer NOT NULL);
INSERT INTO {schema}.version VALUES ({version});
CREATE TABLE {schema}.entries (number bigint PRIMARY KEY, body text NOT NULL, hash text NOT NULL);
CREATE TABLE {schema}.head (one integer PRIMARY KEY CHECK (one = 1), count bigint NOT NULL, hash text NOT NULL);
CREATE TABLE {schema}.outbox (id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]+$'), entry bigint NOT NULL, time text NOT NULL,
  request text NOT NULL, text text NOT NULL, delivered text, account text NOT NULL);
INSERT INTO {schema}.head VALUES (1, 0, '');

CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'a ledger only grows'; END $$;

CREATE FUNCTION {schema}.plain(body text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
  $$ SELECT regexp_replace(body, '\\\\(\\\\|u[0-9a-f]{4})', '?', 'g')::jsonb $$;

CREATE FUNCTION {schema}.owned() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS
  $$ SELECT pg_has_role(session_user, tableowner, 'USAGE') FROM pg_tables
  WHERE schemaname = '{schema}' AND tablename = 'outbox' $$;

CREATE FUNCTION {schema}.follow() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $$ DECLARE last text; paid text; entry jsonb; opening jsonb; first jsonb; BEGIN
  SELECT head.hash INTO last FROM {schema}.head WHERE head.count = NEW.number FOR UPDATE;
  IF last IS NULL THEN RAISE EXCEPTION 'an entry follows the last one'; END IF;
  IF NEW.hash IS DISTINCT FROM encode(sha256(convert_to(last || E'\\n' || NEW.body, 'UTF8')), 'hex')
    THEN RAISE EXCEPTION 'an entry carries its hash'; END IF;
  IF length(NEW.body) > 1000000 OR length(NEW.body) - length(translate(NEW.body, '[{', '')) > 500
    THEN RAISE EXCEPTION 'an entry is short'; END IF;
  entry := {schema}.plain(NEW.body);
  IF entry->>'index' IS DISTINCT FROM NEW.number::text THEN RAISE EXCEPTION 'an entry says what was charged'; END IF;
  IF NEW.number > 0 THEN
    SELECT {schema}.plain(entries.body) INTO opening FROM {schema}.entries WHERE entries.number = 0;
    SELECT {schema}.plain(entries.body) INTO first FROM {schema}.entries WHERE entries.number = 1;
    IF NOT coalesce(entry ?& '{what,mechanism,epsilon,index,time}'
      AND NOT EXISTS (SELECT FROM jsonb_each(entry) AS field (name, value) WHERE jsonb_typeof(value) IS DISTINCT FROM CASE
        WHEN name = 'parameters' THEN 'object'
        WHEN name IN ('index', 'count', 'rows_per_person') THEN 'number'
        WHEN name IN ('what', 'mechanism', 'epsilon', 'delta', 'study', 'unit', 'neighbors', 'data', 'analyst', 'time',
          'release', 'sealed') THEN 'string' END)
      AND NOT EXISTS (SELECT FROM unnest('{index,count,rows_per_person}'::text[]) AS name
        WHERE entry->>name !~ '^[0-9]{1,15}$' OR name <> 'index' AND entry->>name = '0')
      AND NOT EXISTS (SELECT FROM unnest('{epsilon,delta}'::text[]) AS name
        WHERE entry->>name !~ '^[0-9]{1,10}([.][0-9]{1,20})?(E-[0-9]{1,2})?$'
        OR (entry->>name)::numeric > CASE name WHEN 'epsilon' THEN 1e9 ELSE 1 END)
      AND NOT EXISTS (SELECT FROM unnest('{rho,bound_epsilon}'::text[]) AS name
        WHERE length(entry->'parameters'->>name) > 1300
        OR entry->'parameters'->>name !~ '^[0-9]{1,30}([.][0-9]+)?([eE][-+]?[0-9]{1,2})?$')
      AND coalesce(entry->>'neighbors', 'replace-one') IN ('replace-one', 'add-remove-one')
      AND coalesce(entry->>'unit', 'row') ~ '^(row|person:.+)$'
      AND coalesce(entry->>'unit', 'row') = coalesce(opening->>'unit', coalesce(first, entry)->>'unit', 'row')
      AND coalesce(entry->>'neighbors', 'replace-one')
        = coalesce(opening->>'neighbors', coalesce(first, entry)->>'neighbors', 'replace-one'), false)
      THEN RAISE EXCEPTION 'an entry says what was charged'; END IF;
    paid := entry->>'release';
    IF EXISTS (SELECT FROM {schema}.outbox WHERE outbox.id = paid AND outbox.account <> session_user)
      AND NOT {schema}.owned() THEN RAISE EXCEPTION 'a release goes on by whoever has paid for it'; END IF;
  END IF;
  UPDATE {schema}.head SET count = NEW.number + 1, hash = NEW.hash;
  RETURN NEW; END $$;

CREATE FUNCTION {schema}.only_follow() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN
  IF NEW.count <> OLD.count + 1
    OR NEW.hash IS DISTINCT FROM (SELECT entries.hash FROM {schema}.entries WHERE entries.number = OLD.count)
    THEN RAISE EXCEPTION 'the head only follows the entries'; END IF;
  RETURN NEW; END $$;

CREATE FUNCTION {schema}.be_paid_for() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN
  NEW.account := session_user;
  IF NEW.delivered IS NOT NULL OR NOT EXISTS (SELECT FROM {schema}.entries WHERE entries.number = NEW.entry
    AND position('"release":"' || NEW.id || '"' IN entries.body) > 0)
    THEN RAISE EXCEPTION 'a release is kept with the entry that pays for it'; END IF;
  RETURN NEW; END $$;

CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN
  IF OLD.delivered IS NOT NULL OR NEW.id <> OLD.id OR NEW.entry <> OLD.entry OR NEW.time <> OLD.time
    OR NEW.request <> OLD.request OR NEW.account <> OLD.account
    THEN RAISE EXCEPTION 'only the text of a release that waits is ever changed'; END IF;
  IF NEW.text <> OLD.text AND (left(NEW.text, length(OLD.text) + 1) <> OLD.text || E'\\n' OR NOT EXISTS (
    SELECT FROM {schema}.entries JOIN {schema}.head ON entries.number + 1 = head.count
    WHERE position('"release":"' || OLD.id || '"' IN entries.body) > 0 AND position('"sealed":"'
    || encode(sha256(convert_to(substr(NEW.text, length(OLD.text) + 2), 'UTF8')), 'hex') || '"' IN entries.body) > 0))
    THEN RAISE EXCEPTION 'a release only grows, by the stage that the last entry holds'; END IF;
  IF session_user <> OLD.account AND NOT {schema}.owned()
    THEN RAISE EXCEPTION 'a release is handed over by whoever has paid for it'; END IF;
  RETURN NEW; END $$;

CREATE FUNCTION {schema}.not_be_lost() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN
  IF OLD.delivered IS NULL THEN RAISE EXCEPTION 'a release is never removed before it is handed over'; END IF;
  RETURN OLD; END $$;

CREATE TRIGGER entries_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.entries
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
CREATE TRIGGER the_head_follows AFTER INSERT ON {schema}.entries FOR EACH ROW EXECUTE FUNCTION {schema}.follow();
CREATE TRIGGER the_head_stays BEFORE INSERT OR DELETE OR TRUNCATE ON {schema}.head
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
CREATE TRIGGER the_head_only_follows BEFORE UPDATE ON {schema}.head
  FOR EACH ROW EXECUTE FUNCTION {schema}.only_follow();
CREATE TRIGGER a_release_is_paid_for BEFORE INSERT ON {schema}.outbox
  FOR EACH ROW EXECUTE FUNCTION {schema}.be_paid_for();
CREATE TRIGGER a_release_waits BEFORE UPDATE ON {schema}.outbox FOR EACH ROW EXECUTE FUNCTION {schema}.wait();
CREATE TRIGGER a_release_is_not_lost BEFORE DELETE ON {schema}.outbox
  FOR EACH ROW EXECUTE FUNCTION {schema}.not_be_lost();
CREATE TRIGGER releases_are_not_emptied BEFORE TRUNCATE ON {schema}.outbox
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.refuse();
"""
"""The tables, and the triggers that keep every account to their rules.

A session's own temporary tables come first unless pg_temp is named last: one called "head" would take the place of ours. An entry
that follows must be one that this program can read and that is about what the ledger is about, or any account that may charge
could stop the ledger for all; escaped letters are of no interest there, and not every database can read them (`plain`). Whoever
commits a release is the only account, besides the owner of the tables, that may change it or mark it as handed over.
"""

_POSTGRES_SENTENCES = {
    "DiskFull": "cannot grow, because the server's disk is full: make room",
    "InsufficientPrivilege": "may not be used by this account: ask the server's owner for the rights",
    "ReadOnlySqlTransaction": "cannot be written to, because the server only reads: use its primary",
    "OperationalError": "cannot be reached, or the connection broke: check the server and the account",
    "RaiseException": "refused an entry out of order: verify it",
}


class PostgresStore:
    """Public. The ledger in one schema of a PostgreSQL database."""

    def __init__(self, url: str, patience: Patience) -> None:
        self._url, _, study = url.partition("#")
        self.patience = patience
        if not re.fullmatch(r"[a-z0-9_]{0,40}", study):
            raise StudyError("The part of a ledger's URL after # must be a-z, 0-9 and _, at most 40 of them.")
        self.schema = f"dpselect_{study}" if study else "dpselect"
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise LedgerError("A ledger on a server needs psycopg; pip install 'dpselect[postgres]'.") from None
        self._psycopg: Any = psycopg
        try:
            parts = conninfo_to_dict(self._url)
        except psycopg.Error:
            raise StudyError("The ledger's URL cannot be read; write postgresql://host/database.") from None
        self._has_password = "password" in parts and bool(parts["password"])
        self._address = _address(parts, study)
        self.name = f"The ledger {self._address!r}"

    def address(self) -> str | None:
        """Host, database and study; never the account or its password."""
        return self._address

    def key(self) -> str:
        """The URL as it was given, unless it holds a password, which must not end up in a pickle."""
        if self._has_password:
            raise LedgerError(
                f"{self.name} is not pickled with a password; leave the password to PGPASSWORD or a password file."
            )
        return self._url + (f"#{self.schema.removeprefix('dpselect_')}" if self.schema != "dpselect" else "")

    def create(self, opening: Row) -> None:
        """Make the ledger with its opening entry, unless there is one already."""

        def work(connection: psycopg.Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.schema])
            if self._version(connection) is None:
                connection.execute(f"CREATE SCHEMA {self.schema}")
                connection.execute(
                    POSTGRES_SCHEMA.replace("{schema}", self.schema).replace("{version}", str(POSTGRES_VERSION))
                )
                _insert(connection, [opening], None)

        self._patiently(work)

    def append(self, decide: Callable[[Contents, Stored | None], Addition], id: str = "") -> None:
        """Read the chain, let `decide` make what follows, and write it, in one exclusive and durable transaction."""

        def work(connection: psycopg.Connection) -> None:
            self._require_ledger(connection)
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute("SELECT count FROM head FOR UPDATE")
            found = _stored(connection, *query_of(id, False, "%s")) if id else []
            rows, sealed = decide(_contents(connection), found[0] if found else None)
            _insert(connection, rows, None if found else sealed)
            if found and sealed is not None:
                connection.execute("UPDATE outbox SET text = %s WHERE id = %s", [sealed.text, id])

        self._patiently(work)

    def change(self, id: str, decide: Callable[[Stored | None], Stored]) -> None:
        """Let `decide` say when a release was handed over, and write it, in one exclusive transaction."""

        def work(connection: psycopg.Connection) -> None:
            self._require_ledger(connection)
            connection.execute("SET LOCAL synchronous_commit = off")
            query, values = query_of(id, False, "%s")
            found = _stored(connection, f"{query} FOR UPDATE", values)
            before = found[0] if found else None
            after = decide(before)
            if after != before:
                connection.execute("UPDATE outbox SET delivered = %s WHERE id = %s", [after.delivered, id])

        self._patiently(work)

    def read(self) -> Contents:
        """The chain as of one moment; never in the way of a writer."""
        return self._reading(_contents)

    def releases(self, *, id: str | None = None, waiting: bool = False) -> tuple[Contents, list[Stored]]:
        """The chain, and the releases of the same moment, the oldest first: all, those that wait, or the one with an id."""
        return self._reading(lambda each: (_contents(each), _stored(each, *query_of(id, waiting, "%s"))))

    def hold(self) -> None:
        """Nothing is kept."""

    def let_go(self) -> None:
        """Nothing was kept."""

    def close(self) -> None:
        """Nothing is open."""

    def require_chargeable(self) -> None:
        """Whether this account may write is the server's to say, at the charge."""

    def others_with(self, label: str) -> list[str]:
        """Other ledgers in the same database that hold entries for the data set `label`."""

        def work(connection: psycopg.Connection) -> list[str]:
            schemas = connection.execute(
                "SELECT table_schema::text FROM information_schema.tables WHERE table_name = 'entries' "
                "AND table_schema ~ '^dpselect(_[a-z0-9_]*)?$' AND table_schema <> %s ORDER BY 1",
                [self.schema],
            ).fetchall()
            query = "SELECT EXISTS (SELECT 1 FROM {}.entries WHERE position(%s IN body) > 0)"
            return [
                self._address.partition("#")[0] + schema.removeprefix("dpselect").replace("_", "#", 1)
                for (schema,) in schemas
                if connection.execute(query.format(schema), [mark_of_data(label)]).fetchall()[0][0]
            ]

        return self._patiently(work)

    def _reading(self, what: Callable[[psycopg.Connection], T]) -> T:
        def work(connection: psycopg.Connection) -> T:
            self._require_ledger(connection)
            return what(connection)

        return self._patiently(work, "REPEATABLE READ")

    def _patiently(self, work: Callable[[psycopg.Connection], T], isolation: str = "READ COMMITTED") -> T:
        errors = self._psycopg.errors
        for seconds in self.patience.attempts(self.name):
            try:
                # A database that declares no encoding would hand out bytes where text is expected.
                settings = {"connect_timeout": max(2, int(seconds)), "client_encoding": "utf8"}
                with self._psycopg.connect(self._url, **settings) as connection:
                    connection.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
                    wait = max(1, int(1000 * min(seconds, self.patience.quiet)))
                    connection.execute(f"SET LOCAL lock_timeout = {wait}")
                    connection.execute(f"SET LOCAL search_path = {self.schema}, pg_catalog, pg_temp")
                    return work(connection)
            except (errors.LockNotAvailable, errors.SerializationFailure):
                continue
            except self._psycopg.Error as problem:
                # The driver's own text may quote the URL, so it goes no further.
                raise self._sentence(problem) from None
        raise AssertionError("the attempts end with a return or an error")  # pragma: no cover

    def _version(self, connection: psycopg.Connection) -> int | None:
        """The schema's version, None if there is no ledger."""
        found = connection.execute("SELECT to_regclass(%s)", [f"{self.schema}.version"]).fetchall()[0][0]
        if not found:
            return None
        numbers = connection.execute("SELECT number FROM version").fetchall()
        if len(numbers) != 1:
            raise LedgerError(f"{self.name} has lost its version: restore it from a backup; nothing was released.")
        return int(numbers[0][0])

    def _require_ledger(self, connection: psycopg.Connection) -> None:
        """Refuse a schema without a ledger of this version."""
        version = self._version(connection)
        if version is None:
            raise NoLedgerYet(
                f"There is no ledger at {self._address!r}: check its name, or state epsilon to create one."
            )
        require_version(self.name, version, POSTGRES_VERSION)

    def _sentence(self, problem: Exception) -> LedgerError:
        kinds = [kind.__name__ for kind in type(problem).__mro__]
        known = next((_POSTGRES_SENTENCES[kind] for kind in kinds if kind in _POSTGRES_SENTENCES), None)
        return LedgerError(
            f"{self.name} {known or f'cannot be used ({kinds[0]}): check the server'}; nothing was released."
        )


def shown_address(url: str) -> str:
    """Host, database and study of a URL; never the account or its password, wherever it stands."""
    try:
        return str(PostgresStore(url, Patience()).address())
    except DpselectError:
        return "the ledger's server"


def _address(parts: Mapping[str, Any], study: str) -> str:
    # An "@" in a password that was not written as %40 makes the driver take its end for a part of the host.
    # With a "/" before it, it is taken for a part of the database's name, and what comes before it for the host.
    # The folder of a socket is a host too. Without one the environment says which; the address leaves that open as well.
    host, database = (str(parts.get(part) or "") for part in ("host", "dbname"))
    if "@" in database:
        host, database = "", database.rpartition("@")[2]
    host = host.rpartition("@")[2]
    host = quote(host, safe=",[]:")
    return f"postgresql://{host}/{database}" + (f"#{study}" if study else "")


def _contents(connection: psycopg.Connection) -> Contents:
    rows = connection.execute("SELECT number, body, hash FROM entries ORDER BY number").fetchall()
    head = connection.execute("SELECT count, hash FROM head").fetchall()
    return Contents([Row(*row) for row in rows], *(head[0] if head else (0, "")))


def _stored(connection: psycopg.Connection, query: str, values: tuple[str, ...]) -> list[Stored]:
    return [Stored(*row) for row in connection.execute(query, values).fetchall()]


def _insert(connection: psycopg.Connection, rows: Sequence[Row], sealed: Stored | None) -> None:
    for row in rows:
        connection.execute("INSERT INTO entries VALUES (%s, %s, %s)", [row.index, row.body, row.hash])
    if sealed is not None:
        values = [sealed.id, sealed.entry, sealed.time, sealed.request, sealed.text]
        connection.execute("INSERT INTO outbox VALUES (%s, %s, %s, %s, %s, NULL, session_user)", values)
