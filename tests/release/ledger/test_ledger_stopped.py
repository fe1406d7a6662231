"""What stopped a ledger, emptied it or let it be spent twice in 0.1.0: strangers, links, damaged neighbours, crashes, junk."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

import dpselect
from dpselect.errors import LedgerError, NoLedgerYet, StudyError
from dpselect.release.ledger.accounting import price_of
from dpselect.release.ledger.entries import Charge, Entry
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.store import link, row_of

SOURCE = Path(dpselect.__file__).parents[1]
NOBODY = 65534
IMPORTS = """
import os, sys
from dpselect.errors import LedgerError
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.entries import Charge
"""


def choice(epsilon="0.1", **more):
    return Charge(what="select", mechanism="laplace", epsilon=epsilon, **more)


def entry_row(charge, index, previous):
    return row_of(Entry.from_dict(charge.to_dict() | {"index": index, "time": "now"}), index, previous)


def refused(act, kind=LedgerError):
    with pytest.raises(kind) as caught:
        act()
    assert re.fullmatch(r"[^\n]*\w\.", str(caught.value))
    return str(caught.value)


def as_nobody(script, *arguments):
    """The output of a script that runs under an account without rights."""
    return subprocess.run(
        [sys.executable, "-c", f"{IMPORTS}os.setuid({NOBODY})\n{script}", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout.strip()


@pytest.fixture
def open_folder():
    """A folder where everybody may write, as a shared one is; pytest's own lets nobody else in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to be another user")

READ = "print(Ledger(sys.argv[1]).remaining())"
CHARGE_BESIDE = """
print(Ledger(sys.argv[1], epsilon=1).charge(Charge(what="x", mechanism="laplace", epsilon="0.1", data="births")).index)
"""


@needs_root
def test_reading_anothers_ledger_leaves_nothing_behind(open_folder):
    """Files of one's own beside it were left there, and its owner could charge no more."""
    path = open_folder / "budget.db"
    ledger = Ledger(path, epsilon=1)
    ledger.charge(choice(data="births"))
    assert as_nobody(READ, path) == "epsilon=0.9, delta=0"
    assert os.listdir(open_folder) == ["budget.db"]
    assert as_nobody(CHARGE_BESIDE, open_folder / "mine.db") == "1"
    assert sorted(os.listdir(open_folder)) == ["budget.db", "mine.db"]


@needs_root
def test_reading_while_the_owner_writes_uses_the_owners_files(open_folder):
    path = open_folder / "budget.db"
    Ledger(path, epsilon=1).charge(choice())
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("SELECT * FROM entries").fetchall()  # as a charge under way: the journal is there
        assert path.with_name("budget.db-wal").exists()
        assert as_nobody(READ, path) == "epsilon=0.9, delta=0"
        before = {name: (open_folder / name).stat().st_uid for name in os.listdir(open_folder)}
        assert set(before.values()) == {os.geteuid()}
    Ledger(path).charge(choice())


@needs_root
def test_a_journal_without_its_index_is_left_to_those_who_may_write(open_folder):
    path = open_folder / "budget.db"
    Ledger(path, epsilon=1)
    path.with_name("budget.db-wal").touch()
    with pytest.raises(subprocess.CalledProcessError) as caught:
        as_nobody(READ, path)
    assert "was left in the middle of a charge" in caught.value.stderr
    assert sorted(os.listdir(open_folder)) == ["budget.db", "budget.db-wal"]


def test_a_read_that_a_writer_crossed_is_made_again(tmp_path, monkeypatch):
    from dpselect.release.ledger import sqlite

    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    ledger.charge(choice())
    monkeypatch.setattr(sqlite, "reading_mode", lambda path: sqlite.IMMUTABLE)
    real, reads = sqlite._contents, []

    def crossed(connection):
        reads.append(len(reads))
        if len(reads) <= 2:
            os.utime(path, (len(reads), len(reads)))  # somebody wrote
        if len(reads) == 2:
            raise sqlite3.DatabaseError("a page changed under the reader")
        return real(connection)

    monkeypatch.setattr(sqlite, "_contents", crossed)
    assert len(ledger._store.read().rows) == 2
    assert len(reads) == 3


def test_an_interrupted_creation_counts_as_no_ledger(tmp_path):
    """A crash between making the file and filling it left a database that could neither be used nor opened anew."""
    empty, header = tmp_path / "empty.db", tmp_path / "header.db"
    empty.touch()
    with closing(sqlite3.connect(header)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("VACUUM")
    for path in (empty, header):
        refused(lambda path=path: Ledger(path), NoLedgerYet)
        assert Ledger(path, epsilon=1).charge(choice()).index == 1


def test_a_damaged_neighbour_stops_nothing(tmp_path):
    """SQLite's message quotes bytes of the damaged file, which need not be text."""
    from dpselect.release.ledger import sqlite

    neighbour = tmp_path / "old.db"
    Ledger(neighbour, epsilon=1).charge(choice(data="births"))
    body = neighbour.read_bytes()
    for at in range(100, len(body), 97):
        neighbour.write_bytes(body[:at] + b"\xff\xfe\x80\xc3" * 8 + body[at + 32 :])
        sqlite._mentions(neighbour, "births")
    whole = body.replace(b"CREATE TABLE entries (number", b"CREATE TABLE \xff\xfe\xfd\xfc\xfb\xfa\xf9 (number")
    neighbour.write_bytes(whole)
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    assert ledger.charge(choice(data="births")).index == 1
    assert "damaged" in refused(lambda: Ledger(neighbour)) or "SQLite error" in refused(lambda: Ledger(neighbour))


def test_a_second_name_of_the_file_is_refused_before_anything_is_charged(tmp_path):
    path, other = tmp_path / "budget.db", tmp_path / "elsewhere" / "same.db"
    ledger = Ledger(path, epsilon=1)
    other.parent.mkdir()
    os.link(path, other)
    for each in (ledger, Ledger(other)):
        assert "has a second name (a hard link)" in refused(lambda each=each: each.charge(choice()))
        assert "has a second name (a hard link)" in refused(lambda each=each: each.check(choice()))
    other.unlink()
    assert ledger.charge(choice()).index == 1


IN_A_TREE_OF_ITS_OWN = ["unshare", "--mount", "--map-root-user"]


def can_mount():
    tried = [*IN_A_TREE_OF_ITS_OWN, "mount", "--bind", "/dev/null", "/dev/zero"]
    return (
        shutil.which("unshare") is not None and subprocess.run(tried, check=False, capture_output=True).returncode == 0
    )


may_mount = pytest.mark.skipif(not can_mount(), reason="needs the right to mount a file")


@may_mount
def test_a_file_that_is_mounted_by_itself_is_refused_before_anything_is_charged(tmp_path):
    """Two programs that each knew one of its two places charged twenty times what ten times was left for."""
    path, other = tmp_path / "budget.db", tmp_path / "in a container" / "budget.db"
    ledger = Ledger(path, epsilon=1)
    other.parent.mkdir()
    other.touch()
    script = f"""{IMPORTS}
for act in (Ledger(sys.argv[1]).charge, Ledger(sys.argv[1]).check):
    try:
        act(Charge(what="select", mechanism="laplace", epsilon="0.1"))
    except LedgerError as problem:
        print(problem)
"""
    mounted = 'mount --bind "$1" "$2" && "$3" -c "$4" "$2"'
    found = subprocess.run(
        [*IN_A_TREE_OF_ITS_OWN, "sh", "-c", mounted, "sh", path, other, sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout.splitlines()
    assert len(found) == 2
    assert all("is mounted as a single file" in each and "mount its whole folder" in each for each in found)
    assert ledger.charge(choice()).index == 1  # where it comes from it can be charged


def test_a_symbolic_link_is_the_same_ledger_and_no_second_one(tmp_path):
    path, other = tmp_path / "budget.db", tmp_path / "other.db"
    ledger = Ledger(path, epsilon=1)
    other.symlink_to(path)
    ledger.charge(choice(data="births"))  # a warning of two ledgers would be an error here
    assert Ledger(other).charge(choice(data="births")).index == 2
    assert len(ledger.entries()) == 2


@needs_root
def test_a_ledger_that_cannot_be_written_is_refused_before_the_rows_are_read(open_folder):
    path = open_folder / "budget.db"
    Ledger(path, epsilon=1)
    script = """
try:
    Ledger(sys.argv[1]).check(Charge(what="x", mechanism="laplace", epsilon="0.1"))
except LedgerError as refusal:
    print(refusal)
"""
    assert "cannot be written to" in as_nobody(script, path)


def test_names_that_no_file_can_have(tmp_path):
    assert "too long" in refused(lambda: Ledger(tmp_path / ("x" * 300), epsilon=1))
    assert "no file's name may have" in refused(lambda: Ledger("a\0b", epsilon=1), StudyError)
    assert "not a int" in refused(lambda: Ledger(7, epsilon=1), StudyError)


@pytest.mark.parametrize("count", ["'many'", "NULL", "-1", "1.5"])
def test_a_head_that_is_no_number_is_one_sentence(count, tmp_path, tamper):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    tamper(
        path,
        "DROP TABLE head",
        "CREATE TABLE head (one, count, hash)",
        f"INSERT INTO head SELECT 1, {count}, hash FROM entries",
    )
    assert "cannot be trusted" in refused(ledger.remaining)


@pytest.mark.parametrize(
    "body",
    ["[" * 100_000, '{"index":' + "9" * 5000 + "}", '{"index":0}', '{"index":0,"format":"dpselect ledger"}'],
    ids=["nested", "huge", "bare", "without totals"],
)
def test_an_opening_that_nobody_wrote_is_one_sentence(body, tmp_path, tamper):
    path = tmp_path / "budget.db"
    Ledger(path, epsilon=1)
    new = link("", body)
    tamper(path, f"UPDATE entries SET body = '{body}', hash = '{new}'", f"UPDATE head SET hash = '{new}'")
    refused(lambda: Ledger(path))


def test_a_price_cannot_make_the_ledger_compute_for_years():
    for number in ("1e999999999", "1e-999999999"):
        with pytest.raises(StudyError, match="rho of a gaussian charge must be a number >= 0"):
            price_of(Charge(what="estimate", mechanism="gaussian", epsilon=1, parameters={"rho": number}))
    price_of(Charge(what="estimate", mechanism="gaussian", epsilon=1, parameters={"rho": "0E-999999"}))


def test_a_parameter_that_is_no_double_does_not_stop_the_others(tmp_path, tamper):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=1)
    first = ledger._store.read().rows[0]
    row = entry_row(choice(parameters={"odd": 1.5}), 1, first.hash)
    body = row.body.replace("1.5", "1e400")
    tamper(path, f"INSERT INTO entries VALUES (1, '{body}', '{link(first.hash, body)}')", triggers=True)
    assert str(ledger.remaining().epsilon) == "0.9"
    assert ledger.entries()[0].parameters["odd"] == "1e400"
    assert ledger.charge(choice()).index == 2


def test_many_records_are_read_once_and_priced_once(tmp_path, monkeypatch):
    """A long ledger took 25 s to open: each entry was read three times."""
    from dpselect.release.ledger import store

    path = tmp_path / "budget.db"
    ledger = Ledger(path, epsilon=100)
    for _ in range(20):
        ledger.charge(choice())
    decoded, priced = [], []
    real, pricing = store.values_in, store.price_of
    monkeypatch.setattr(store, "values_in", lambda body: decoded.append(body) or real(body))
    monkeypatch.setattr(store, "price_of", lambda charge: priced.append(charge) or pricing(charge))
    again = Ledger(path)
    assert (len(decoded), len(priced)) == (21, 20)
    again.remaining(), again.spent(), again.charge(choice()), again.remaining()
    assert (len(decoded), len(priced)) == (21, 20)
    Ledger(path).charge(choice())
    again.remaining()
    assert len(decoded) == 21 + 22 + 1


# What is particular to a server.

GRANTS = (
    "USAGE ON SCHEMA {0}",
    "SELECT ON ALL TABLES IN SCHEMA {0}",
    "INSERT ON {0}.entries",
    "UPDATE ON {0}.head",
    "INSERT, UPDATE ON {0}.outbox",
)


@pytest.fixture
def analyst(on_server, tamper):
    """A ledger, and its URL for an account that may charge and nothing else."""
    ledger = Ledger(on_server, epsilon=1)
    schema, name = ledger._store.schema, f"charger_{ledger._store.schema}"
    tamper(
        on_server,
        f"CREATE ROLE {name} LOGIN",
        *(f"GRANT {right.format(schema)} TO {name}" for right in GRANTS),
        triggers=True,
    )
    return ledger, on_server.replace("postgres:@", f"{name}@", 1)


def _junk(row, **changes):
    values = json.loads(row.body) | changes
    return json.dumps({name: value for name, value in values.items() if value != "gone"})


@pytest.mark.postgres
@pytest.mark.parametrize(
    "change",
    [
        {"index": 3},
        {"epsilon": "-1"},
        {"epsilon": 1.5},
        {"epsilon": "1e"},
        {"epsilon": "NaN"},
        {"epsilon": "2000000000"},
        {"epsilon": "gone"},
        {"delta": "1.1"},
        {"count": 0},
        {"count": 1.5},
        {"count": "2"},
        {"rows_per_person": 0},
        {"neighbors": "some"},
        {"neighbors": "add-remove-one"},
        {"unit": "table"},
        {"unit": "person:id"},
        {"release": 7},
        {"what": 3},
        {"parameters": []},
        {"parameters": {"rho": "-1"}},
        {"parameters": {"rho": "1e999"}},
        {"parameters": {"bound_epsilon": []}},
        {"unknown": 1},
        {"data": "{" * 1000},
    ],
    ids=str,
)
def test_junk_in_order_is_refused_by_the_server(change, analyst, tamper):
    """Any account that may charge could stop the ledger with one entry that nobody can read."""
    ledger, url = analyst
    head = ledger.charge(choice()).hash  # which says what the ledger is about
    body = _junk(entry_row(choice(parameters={"rho": "0.1"}), 2, head), **change)
    statement = f"INSERT INTO entries VALUES (2, '{body}', '{link(head, body)}')"
    with pytest.raises(Exception, match=r"an entry (says what was charged|is short)"):
        tamper(url, statement, triggers=True)
    assert Ledger(url).charge(choice()).index == 2


@pytest.mark.postgres
def test_a_record_with_anothers_hash_is_refused_by_the_server(analyst, tamper):
    ledger, url = analyst
    row = entry_row(choice(), 1, ledger._store.read().rows[0].hash)
    for hash_ in ("", "f" * 64):
        with pytest.raises(Exception, match="an entry carries its hash"):
            tamper(url, f"INSERT INTO entries VALUES (1, '{row.body}', '{hash_}')", triggers=True)
    tamper(url, f"INSERT INTO entries VALUES (1, '{row.body}', '{row.hash}')", triggers=True)
    assert len(ledger.entries()) == 1


@pytest.mark.postgres
def test_temporary_tables_do_not_get_round_the_triggers(analyst, tamper):
    ledger, url = analyst
    schema = ledger._store.schema
    with pytest.raises(
        Exception, match=r"the head only follows|an entry follows the last one|an entry carries its hash"
    ):
        tamper(
            url,
            "CREATE TEMPORARY TABLE entries (number bigint, body text, hash text)",
            "INSERT INTO pg_temp.entries VALUES (1, '{}', 'forged')",
            f"UPDATE {schema}.head SET count = 2, hash = 'forged'",
            triggers=True,
        )
    with pytest.raises(
        Exception, match=r"the head only follows|an entry follows the last one|an entry carries its hash"
    ):
        tamper(
            url,
            "CREATE TEMPORARY TABLE head (one integer, count bigint, hash text)",
            "INSERT INTO pg_temp.head VALUES (1, 7, '')",
            f"INSERT INTO {schema}.entries VALUES (7, '{{}}', 'forged')",
            triggers=True,
        )
    assert Ledger(url).charge(choice()).index == 1


@pytest.mark.postgres
def test_a_database_without_an_encoding_raises_no_false_alarm(postgres_server):
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = postgres_server.replace("/postgres?", "/bytes?", 1)
    ledger = Ledger(url, epsilon=1)
    ledger.charge(choice(data="naissances à l'hôpital"))
    assert Ledger(url).entries()[0].data == "naissances à l'hôpital"


@pytest.mark.postgres
def test_a_lost_version_is_one_sentence(on_server, tamper):
    ledger = Ledger(on_server, epsilon=1)
    tamper(on_server, "DELETE FROM version")
    assert "has lost its version" in refused(ledger.remaining)


@pytest.mark.postgres
def test_an_address_is_shown_without_its_password_wherever_it_stands():
    from dpselect.release.ledger.postgres import shown_address

    for url in (
        "postgresql://ann:p@ss@host/base",
        "postgresql://host/base?user=ann&password=cor@rect",
        "postgresql://ann:p%40ss@host/base#study?x=cor@rect",
        "postgresql://ann:secret@[bad/base",
    ):
        assert not re.search(r"ss|rect|secret|ann", shown_address(url).replace("postgresql", ""))
