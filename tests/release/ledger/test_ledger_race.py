"""Many spend from one ledger at once and are killed at random: never a charge too many, never a release without one."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpselect.errors import BudgetExceeded
from dpselect.release.ledger.entries import Charge
from dpselect.release.ledger.ledger import Ledger

SOURCE = Path(__file__).parents[3] / "src"
ROOM = 100
# test_commit.py has twenty at once on a server in `make test`.
SERVER = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough])

# A process that forks spenders, kills one every few milliseconds and replaces it, and lets the last ones finish. Until then a
# charge takes a token, two of which are given for each kill: however slow the machine, the room outlasts the kills.
RACE = """
import os, random, signal, sys, time
from dpselect.errors import BudgetExceeded
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.entries import Charge
if sys.argv[1].startswith("postgresql:"):
    import psycopg  # once, before the forks

place, folder, seed, spenders, kills = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
random.seed(seed)
assert spenders + 2 * kills < 100

def spend():
    try:
        ledger = Ledger(place)
        releases = os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.close(giver)
        while True:
            os.read(taker, 1)
            receipt = ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.01", data=f"races in {place}"))
            time.sleep(random.uniform(0, 0.2))  # a kill is likely to fall between charge and release
            os.write(releases, f"{receipt.index} {receipt.hash}\\n".encode())
    except BudgetExceeded:
        os._exit(0)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)

def fork():
    child = os.fork()
    if child == 0:
        spend()
    return child

taker, giver = os.pipe()
running = {fork() for _ in range(spenders)}
os.write(giver, b"." * spenders)
for _ in range(kills):
    os.write(giver, b"..")
    time.sleep(random.uniform(0.001, 0.03))
    victim = random.choice(sorted(running))
    os.kill(victim, signal.SIGKILL)
    _, status = os.waitpid(victim, 0)
    if not os.WIFSIGNALED(status):
        sys.exit("a spender ended before it was killed")
    running.remove(victim)
    running.add(fork())
os.close(giver)
for child in running:
    if os.waitpid(child, 0)[1]:
        sys.exit("a spender failed")
"""


def race(place, folder, *, seed, spenders=16, kills=40):
    done = subprocess.run(
        [sys.executable, "-c", RACE, str(place), str(folder), str(seed), str(spenders), str(kills)],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [line.split() for file in Path(folder).iterdir() for line in file.read_text().splitlines()]


@pytest.mark.parametrize("shared", ["file", SERVER], indirect=True)
def test_processes_that_are_killed_at_random_never_overspend(shared, tmp_path):
    ledger = Ledger(shared, epsilon=1)
    folder = tmp_path / "releases"
    folder.mkdir()
    releases = race(shared, folder, seed=16)
    ledger.verify()
    entries = {str(entry.index): entry.hash for entry in Ledger(shared).entries()}
    assert len(entries) == ROOM  # all room was used, not a charge more
    assert (ledger.spent().epsilon, ledger.remaining().epsilon) == (1, 0)
    assert len({index for index, _ in releases}) == len(releases)  # no charge paid for two releases
    assert all(entries[index] == hash_ for index, hash_ in releases)  # every release has its charge
    assert len(releases) <= ROOM  # a kill between charge and release leaves the charge
    if isinstance(shared, Path):
        with contextlib.closing(sqlite3.connect(shared)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("where", ["memory", "file", SERVER], indirect=True)
def test_threads_share_a_ledger(where):
    ledger = Ledger(where, epsilon=1)
    receipts, refusals = [], []

    def spend():
        try:
            while True:
                receipts.append(ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.01")))
        except BudgetExceeded as refusal:
            refusals.append(refusal)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(receipts), len(refusals)) == (ROOM, 8)
    assert {receipt.hash for receipt in receipts} == {entry.hash for entry in ledger.entries()}
    for receipt in receipts:
        ledger.verify(receipt)


@pytest.mark.parametrize("shared", ["file", SERVER], indirect=True)
def test_reading_goes_on_while_others_spend(shared):
    ledger = Ledger(shared, epsilon=1)
    reader, seen = Ledger(shared), []

    def spend():
        for _ in range(ROOM):
            ledger.charge(Charge(what="select", mechanism="laplace", epsilon="0.01"))

    thread = threading.Thread(target=spend)
    thread.start()
    while thread.is_alive():
        seen.append(reader.spent().epsilon)
    thread.join()
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
