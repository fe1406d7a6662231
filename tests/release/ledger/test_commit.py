"""Charges and the release they pay for are one act: all or nothing is there, and what is there waits until it is handed over."""

import os
import subprocess
import sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest

from dpselect.errors import BudgetExceeded, LedgerError, StudyError
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.store import now, row_of

SOURCE = Path(__file__).parents[3] / "src"


def charge(epsilon="0.5", what="select", **more):
    return Charge(what=what, mechanism="laplace", epsilon=epsilon, **more)


BOTH = (charge("0.25"), charge("0.75", "estimate"))


RELEASE = '{"drawn":[1,2]}'


def test_a_commit_writes_all_charges_and_the_release(where):
    ledger = Ledger(where, epsilon=3)
    commitment = ledger.commit(BOTH, RELEASE, request="what was asked")
    assert [receipt.index for receipt in commitment.receipts] == [1, 2]
    assert [receipt.remaining.epsilon for receipt in commitment.receipts] == [Decimal("2.75"), 2]
    entries = ledger.entries()
    assert [entry.hash for entry in entries] == [receipt.hash for receipt in commitment.receipts]
    assert {entry.release for entry in entries} == {commitment.id}
    assert [ledger.remaining_after(entry.index) for entry in entries] == [r.remaining for r in commitment.receipts]
    (waiting,) = ledger.undelivered()
    assert (waiting.id, waiting.time, waiting.request) == (commitment.id, entries[0].time, "what was asked")
    assert waiting.text == ledger.release(commitment.id) == RELEASE
    assert ledger.receipts(commitment.id) == commitment.receipts
    assert [entry.sealed for entry in entries] == [sha256(f"what was asked\n{RELEASE}".encode()).hexdigest(), ""]
    assert ledger.undelivered("what was asked") == (waiting,) and ledger.undelivered("another") == ()
    for receipt in commitment.receipts:
        ledger.verify(receipt)


def test_what_is_delivered_no_longer_waits_and_is_still_there(where):
    ledger = Ledger(where, epsilon=3)
    first, second = (ledger.commit(BOTH[:1], RELEASE) for _ in range(2))
    assert [each.id for each in ledger.undelivered()] == [first.id, second.id]
    ledger.delivered(first.id)
    ledger.delivered(first.id)  # said twice, as when two programs hand over the same
    assert [each.id for each in ledger.undelivered()] == [second.id]
    assert ledger.release(first.id) == RELEASE
    assert ledger.spent().epsilon == Decimal("0.5")  # to hand over costs nothing
    for act in (ledger.delivered, ledger.release, ledger.receipts, lambda id: ledger.keep(id, "{}", after=1)):
        with pytest.raises(LedgerError, match="holds no release 'nothing'"):
            act("nothing")
    ledger.verify()


def test_a_charge_without_a_release_leaves_nothing_to_hand_over(where):
    ledger = Ledger(where, epsilon=3)
    ledger.charge(charge())
    assert ledger.undelivered() == ()
    assert ledger.entries()[0].release == ""
    with pytest.raises(StudyError, match="at least one charge"):
        ledger.commit([], RELEASE)


def test_charges_that_do_not_fit_together_are_refused_together(where):
    ledger = Ledger(where, epsilon="0.9")
    ledger.check(BOTH[0])
    with pytest.raises(
        BudgetExceeded, match=r"select and estimate ask for epsilon=1, delta=0, .* epsilon=0.9, delta=0 left"
    ):
        ledger.commit(BOTH, RELEASE)
    assert (ledger.entries(), ledger.undelivered()) == ((), ())


@pytest.mark.parametrize("text", [{}, None, "two\nlines"], ids=repr)
def test_what_is_no_line_of_text_is_refused_and_leaves_nothing_behind(text, where):
    ledger = Ledger(where, epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    before = ledger.entries(), ledger.undelivered()
    for act in (lambda: ledger.commit(BOTH, text), lambda: ledger.keep(id, text, after=1)):
        with pytest.raises(StudyError, match="sealed as one line of text"):
            act()
    assert (ledger.entries(), ledger.undelivered()) == before
    ledger.verify()


def test_a_release_may_grow_stage_by_stage_until_it_is_delivered(where):
    ledger = Ledger(where, epsilon=3)
    commitment = ledger.commit(BOTH, RELEASE)
    ledger.charge(charge())  # others charge in between
    whole = RELEASE
    for after, line in enumerate(("first round", "second round"), start=1):
        ledger.keep(commitment.id, line, after=after)
        whole += f"\n{line}"
        assert ledger.undelivered()[0].text == whole
    assert [entry.sealed for entry in ledger.entries() if entry.sealed] == [
        sha256(line.encode()).hexdigest() for line in (f"\n{RELEASE}", "first round", "second round")
    ]
    assert {entry.release for entry in ledger.entries()[3:]} == {commitment.id}
    ledger.delivered(commitment.id)
    with pytest.raises(LedgerError, match="has handed over the release"):
        ledger.keep(commitment.id, "more", after=3)
    assert ledger.release(commitment.id) == whole
    assert ledger.receipts(commitment.id) == commitment.receipts  # a stage is no charge
    assert len(ledger.entries()) == 5 and ledger.spent().epsilon == Decimal("1.5")
    ledger.verify()


def test_stages_cost_nothing_under_zcdp_either(where):
    ledger = Ledger(where, epsilon=6, delta="1e-6", composition="zcdp", unit="person:id")
    one = Charge(what="select", mechanism="exponential", epsilon="0.5", unit="person:id")
    id = ledger.commit([one] * 20, RELEASE).id
    before = ledger.spent()
    assert before.method == "zCDP"
    for after in (1, 2, 3):
        ledger.keep(id, "round", after=after)
        assert ledger.spent() == before
    assert {(entry.unit, entry.epsilon) for entry in ledger.entries()[20:]} == {("person:id", 0)}


def test_of_two_that_go_on_with_one_release_only_one_may_use_what_it_drew(shared):
    """Each would draw its own noise for the same round, which was paid for once."""
    one = Ledger(shared, epsilon=3)
    other, stranger = Ledger(shared), Ledger(shared)
    id = one.commit(BOTH, RELEASE).id
    assert other.undelivered()[0].id == id
    other.keep(id, "round by the other", after=1)
    for ledger in (one, stranger, other):
        ledger.undelivered()  # a page of the studio, a second run on the same object: a look makes no draw newer
        with pytest.raises(LedgerError, match="at another stage than this program has seen"):
            ledger.keep(id, "round by me", after=1)
    assert one.undelivered()[0].text == f"{RELEASE}\nround by the other"
    one.keep(id, "next round by me", after=2)
    with pytest.raises(LedgerError, match="at another stage"):
        other.keep(id, "next round by the other", after=2)
    assert stranger.release(id) == f"{RELEASE}\nround by the other\nnext round by me"


LEAVE = """
import os, sys
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
ledger = Ledger(sys.argv[1])
one = Charge(what="select", mechanism="laplace", epsilon="0.5")
print(ledger.commit([one, one], "drawn", request="asked").id, flush=True)
os._exit(1)
"""


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_what_a_process_left_behind_is_delivered_by_another(shared):
    ledger = Ledger(shared, epsilon=3)
    left = run(LEAVE, shared)
    (waiting,) = ledger.undelivered()
    assert (left.stdout.strip(), waiting.request) == (waiting.id, "asked")
    assert waiting.text == "drawn"
    ledger.delivered(waiting.id)
    assert Ledger(shared).undelivered() == ()
    assert ledger.spent().epsilon == 1


# Many at once, and kills.

AT_ONCE = """
import os, sys
from dpselect.errors import BudgetExceeded
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
if sys.argv[1].startswith("postgresql:"):
    import psycopg  # once, before the forks

def spend(start):
    ledger = Ledger(sys.argv[1])
    both = [Charge(what=what, mechanism="laplace", epsilon=price) for what, price in (("select", "0.35"), ("estimate", "0.65"))]
    os.read(start, 1)
    try:
        ledger.commit(both, "drawn")
        return 0
    except BudgetExceeded:
        return 3

start, go = os.pipe()
children = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = spend(start)
        finally:
            os._exit(code)
    children.append(child)
os.write(go, b"." * 20)
print(sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def require_whole(ledger, per_commit=2):
    """Every entry belongs to a commit that is complete, and its release is kept, with the stages that have entries."""
    ledger.verify()
    releases = {}
    for entry in ledger.entries():
        releases.setdefault(entry.release, []).append(entry.what)
    for id, acts in releases.items():
        assert len(acts) - acts.count("stage") == per_commit
        assert ledger.release(id).split("\n") == ["drawn"] + acts.count("stage") * ["round"]
    assert {each.id for each in ledger.undelivered()} <= set(releases)
    return releases


def test_twenty_at_once_with_room_for_seven(shared):
    ledger = Ledger(shared, epsilon=7)
    done = run(AT_ONCE, shared)
    assert done.stdout.strip() == str([0] * 7 + [3] * 13), done.stderr
    assert len(require_whole(ledger)) == 7
    assert len(ledger.undelivered()) == 7
    assert ledger.remaining().epsilon == 0


KILLS = """
import os, random, signal, sys, time
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger
if sys.argv[1].startswith("postgresql:"):
    import psycopg  # once, before the forks

place, seen, kills = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND), int(sys.argv[3])
random.seed(kills)
both = [Charge(what=what, mechanism="laplace", epsilon="0.01") for what in ("select", "estimate")]
ready, tell = os.pipe()

def spend(number):
    ledger = Ledger(place)
    os.write(tell, b".")
    while True:
        with ledger.session() if number % 2 else open(os.devnull):
            done = ledger.commit(both, "drawn")
            os.write(seen, f"{done.id}\\n".encode())
            if random.random() < 0.5:
                ledger.keep(done.id, "round", after=1)
                ledger.delivered(done.id)

def once():
    start = time.monotonic()
    Ledger(place).commit(both, "drawn")
    return time.monotonic() - start

usual = sorted(once() for _ in range(5))[2]
for number in range(kills):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            random.seed(number)
            spend(number)
        except BaseException as problem:
            os.write(2, repr(problem).encode())
        finally:
            os._exit(code)
    os.read(ready, 1)
    time.sleep(random.uniform(0, 3 * usual))  # a kill falls into the first commits, on a slow machine too
    os.kill(child, signal.SIGKILL)
    if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        sys.exit("a spender ended before it was killed")
"""


@pytest.mark.thorough
def test_two_hundred_kills_part_no_charge_from_its_release(shared, tmp_path):
    ledger = Ledger(shared, epsilon=1000)
    done = run(KILLS, shared, tmp_path / "seen", 200)
    assert done.returncode == 0, done.stderr
    releases = require_whole(ledger)
    seen = (tmp_path / "seen").read_text().split()
    assert set(seen) <= set(releases)  # nothing was seen that is not paid for
    assert len(seen) > 5  # some got through; how many is the machine's business
    assert len(releases) >= len(seen)  # and what was not seen waits
    assert ledger.remaining().epsilon == 1000 - Decimal("0.02") * len(releases)


# What nobody may do to a release.

FORBIDDEN = {
    "a release that nobody paid for": "INSERT INTO outbox VALUES ('{other}', 1, '', '', 'forged', NULL{account})",
    "a release with the entry of another": "INSERT INTO outbox VALUES ('{other}', 2, '', '', 'forged', NULL{account})",
    "one that is there": "INSERT INTO outbox VALUES ('{id}', 1, '', '', 'forged', NULL{account})",
    "delivered from the start": "INSERT INTO outbox VALUES ('{other}', 1, '', '', 'forged', 'today'{account})",
    "removed before it is handed over": "DELETE FROM outbox",
    "another request": "UPDATE outbox SET request = 'mine'",
    "another time": "UPDATE outbox SET time = 'never'",
    "another entry": "UPDATE outbox SET entry = 2",
    "another id": "UPDATE outbox SET id = '{other}'",
    "another text": "UPDATE outbox SET text = 'forged'",
    "a stage without an entry": "UPDATE outbox SET text = text || '\n' || 'forged'",
}


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_outbox_has_rules(statement, shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    names = {"id": id, "other": "ab" * 16, "account": "" if isinstance(shared, Path) else ", 'me'"}
    with pytest.raises(Exception, match=r"a release is|a release only grows|only the text of a release|duplicate key"):
        tamper(shared, statement.format(**names), triggers=True)
    require = ledger.undelivered()
    assert [(each.id, each.request) for each in require] == [(id, "")]


EDITED = {
    "another release": ["UPDATE outbox SET text = 'forged'"],
    "an earlier stage": ["UPDATE outbox SET text = '{first}'"],
    "another stage": ["UPDATE outbox SET text = '{first}' || '\n' || 'another'"],
    "another request": ["UPDATE outbox SET request = 'theirs'"],
    "one stage more": ["UPDATE outbox SET text = text || '\n' || 'round'"],
}


@pytest.mark.parametrize("delivered", [False, True], ids=["waits", "was handed over"])
@pytest.mark.parametrize("statements", EDITED.values(), ids=EDITED)
def test_a_text_that_its_entries_do_not_hold_is_never_handed_over(statements, delivered, shared, tamper):
    """Without triggers, as its owner can: also where a release that was handed over is made to wait again."""
    ledger = Ledger(shared, epsilon=3)
    commitment = ledger.commit(BOTH, RELEASE, request="mine")
    ledger.keep(commitment.id, "round", after=1)
    other = ledger.commit(BOTH[:1], RELEASE, request="other")
    if delivered:
        ledger.delivered(commitment.id)
    statements = [f"{each.format(first=RELEASE)} WHERE id = '{commitment.id}'" for each in statements]
    tamper(shared, *statements)
    with pytest.raises(LedgerError, match=f"text of its release {commitment.id} was edited, or put back"):
        Ledger(shared).verify()  # waiting or not
    tamper(shared, "UPDATE outbox SET delivered = NULL")
    for opened in (ledger, Ledger(shared)):
        for act in (
            lambda opened=opened: opened.release(commitment.id),
            lambda opened=opened: opened.keep(commitment.id, "another round", after=2),
            lambda opened=opened, statement=statements[0]: opened.undelivered(
                "theirs" if "theirs" in statement else "mine"
            ),
            opened.undelivered,
            opened.verify,
            lambda opened=opened: opened.verify(commitment.receipts[0]),
        ):
            with pytest.raises(LedgerError, match=f"text of its release {commitment.id} was edited, or put back"):
                act()
        assert [each.id for each in opened.undelivered("other")] == [other.id]  # nobody else is stopped


def test_a_stage_put_back_with_an_entry_by_hand_is_another_stage_and_not_an_earlier_one(shared, tamper):
    """Whoever may append entries may append stages; but no stage that was kept goes away, whatever is appended."""
    ledger = Ledger(shared, epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    ledger.keep(id, "round", after=1)
    first, last = ledger.entries()[0], ledger.entries()[-1]
    row = row_of(first.stage(index=4, time=now(), sealed=sha256(RELEASE.encode()).hexdigest()), 4, last.hash)
    tamper(shared, f"INSERT INTO entries VALUES (4, '{row.body}', '{row.hash}')", triggers=True)
    with pytest.raises(Exception, match="a release only grows"):
        tamper(shared, f"UPDATE outbox SET text = '{RELEASE}'", triggers=True)
    tamper(shared, f"UPDATE outbox SET text = '{RELEASE}'")
    with pytest.raises(LedgerError, match="was edited, or put back"):
        ledger.undelivered()
    tamper(shared, f"UPDATE outbox SET text = '{RELEASE}' || '\n' || 'round' || '\n' || '{RELEASE}'")
    assert ledger.undelivered()[0].text.split("\n") == [RELEASE, "round", RELEASE]


def test_one_may_not_be_put_in_the_place_of_another(tmp_path, tamper):
    ledger = Ledger(tmp_path / "budget.db", epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    with pytest.raises(Exception, match="a release is kept once"):
        tamper(
            tmp_path / "budget.db", f"INSERT OR REPLACE INTO outbox VALUES ('{id}', 1, '', '', '', NULL)", triggers=True
        )


def test_what_is_delivered_does_not_change_and_may_be_cleared_away(shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    ledger.delivered(id)
    for statement in ("UPDATE outbox SET text = 'forged'", "UPDATE outbox SET delivered = NULL"):
        with pytest.raises(Exception, match=r"only the text of a release that waits|a release only grows"):
            tamper(shared, statement, triggers=True)
    tamper(shared, "DELETE FROM outbox WHERE delivered IS NOT NULL", triggers=True)
    ledger.verify()  # the chain does not need it
    assert len(ledger.entries()) == 2
    with pytest.raises(LedgerError, match="holds no release"):
        ledger.release(id)


def test_a_release_that_another_hand_put_there_is_never_handed_over(shared, tamper):
    ledger = Ledger(shared, epsilon=3)
    id = ledger.commit(BOTH, RELEASE).id
    account = "" if isinstance(shared, Path) else ", 'me'"
    for other, entry in (("ab" * 16, 1), ("cd" * 16, 0), ("ef" * 16, 9)):
        tamper(shared, f"INSERT INTO outbox VALUES ('{other}', {entry}, '', '', 'forged', NULL{account})")
        assert [each.id for each in ledger.undelivered()] == [id]
        with pytest.raises(LedgerError, match=f"no entry has paid for its release {other}"):
            ledger.verify()
        tamper(shared, f"DELETE FROM outbox WHERE id = '{other}'")
    ledger.verify()


@pytest.mark.postgres
def test_on_a_server_a_release_is_handed_over_by_who_paid_or_by_the_owner(on_server, tamper):
    owner = Ledger(on_server, epsilon=3)
    schema = owner._store.schema
    accounts = [f"{name}_{schema}" for name in ("ann", "ben")]
    rights = (
        "USAGE ON SCHEMA {}",
        "SELECT ON ALL TABLES IN SCHEMA {}",
        "INSERT ON {}.entries",
        "UPDATE ON {}.head",
        "INSERT, UPDATE ON {}.outbox",
    )
    for account in accounts:
        grants = (f"GRANT {right.format(schema)} TO {account}" for right in rights)
        tamper(on_server, f"CREATE ROLE {account} LOGIN", *grants, triggers=True)
    ann, ben = (Ledger(on_server.replace("postgres:@", f"{account}@", 1)) for account in accounts)
    first, second = ann.commit(BOTH, RELEASE).id, ann.commit(BOTH[:1], RELEASE).id
    assert [each.id for each in ben.undelivered()] == [first, second]
    for act in (lambda: ben.keep(first, "{}", after=1), lambda: ben.delivered(first)):
        with pytest.raises(LedgerError):
            act()
    ann_s = ann.entries()[0]
    row = row_of(ann_s.stage(index=4, time=now(), sealed=ann_s.sealed), 4, ann.entries()[-1].hash)
    with pytest.raises(Exception, match="goes on by whoever has paid for it"):
        insert = f"INSERT INTO entries VALUES (4, '{row.body}', '{row.hash}')"
        tamper(on_server.replace("postgres:@", f"{accounts[1]}@", 1), insert, triggers=True)
    with pytest.raises(Exception, match="permission denied"):
        tamper(on_server.replace("postgres:@", f"{accounts[0]}@", 1), "DELETE FROM outbox", triggers=True)
    ann.keep(first, "next round", after=1)
    ann.delivered(first)
    owner.delivered(second)
    assert ben.undelivered() == ()
