"""SIGKILL at random moments, and at the calls that write, of a release by every door: no charge without its release."""

import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="install dpselect[studio] to release by the studio")

import dpselect
from benchmarks import kills
from dpselect.release.ledger.ledger import Ledger

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.mark.thorough
def test_no_charge_without_its_release_at_random_moments(tmp_path):
    counts = {name: Counter() for name in ("SIGKILL", "SIGINT", "SIGTERM")}
    plan = ["SIGKILL"] * 24 + ["SIGINT"] * 3 + ["SIGTERM"] * 3
    before, here = signal.signal(signal.SIGINT, signal.default_int_handler), os.getcwd()
    try:
        kills.batch(tmp_path, plan, random.Random(7), counts)
    finally:
        signal.signal(signal.SIGINT, before)
        os.chdir(here)
    wrong = [what for found in counts.values() for what in found if what.startswith("WRONG")]
    assert wrong == []
    assert sum(found[kills.LIVING] for found in counts.values()) > 10


@pytest.mark.thorough
@pytest.mark.parametrize("door", kills.DOORS)
@pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C compiler")
def test_no_charge_without_its_release_at_any_call_that_writes(tmp_path, door):
    library = tmp_path / "fault.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, HERE / "fault.c", "-ldl"], check=True)
    paths = os.pathsep.join([str(Path(kills.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, __file__, str(library), str(tmp_path / "runs"), door],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) > 10  # calls


def everywhere(library, folder, door):
    """Kill a run by this door at its calls that write, before every other one and after those between; how many there are."""
    fault = ctypes.CDLL(library)
    fault.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    fault.fault_seen.restype = ctypes.c_long
    folder.mkdir()

    def run(number, nth, after):
        """The calls that were made by a run that is killed at the nth one, if it comes to that."""
        place = folder / f"{number}"
        place.mkdir()
        os.chdir(place)
        kills.prepare(runs=2)
        reader, writer = os.pipe()
        if child := os.fork():
            os.close(writer)
            os.waitpid(child, 0)
            seen = os.read(reader, 20)
            os.close(reader)
            found = Counter()
            kills.judge(found, 1, signal.SIGKILL, 0, door="analyze")
            assert not [what for what in found if what.startswith("WRONG")], (nth, after, found)
            assert nth or found["charged, and its release is in the ledger"] == 1
            shutil.rmtree(place)
            return int(seen or 0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        fault.fault_arm(str(place).encode(), nth, after)
        kills.DOORS[door](1)
        seen = fault.fault_seen()
        fault.fault_arm(b"", 0, 0)
        os.write(writer, str(seen).encode())
        os._exit(0)

    calls = run(0, 0, 0)
    for nth in range(1, calls + 1):
        run(nth, nth, nth % 2)
    return calls


@pytest.mark.thorough
def test_twenty_analyses_at_once_with_room_for_seven(tmp_path):
    """Whole runs by all three doors, all of which find room when they begin: seven complete, thirteen are refused."""
    paths = os.pathsep.join([str(Path(kills.__file__).parents[1]), *sys.path])
    words = [sys.executable, __file__, "at once", str(tmp_path)]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == [str([0] * 7 + [3] * 13)], done.stdout + done.stderr
    ledger = Ledger(tmp_path / kills.LEDGER)
    ledger.verify()
    releases = Counter(entry.release for entry in ledger.entries())
    assert len(releases) == 7 and set(releases.values()) == {2}  # a choice and its coefficients, none by halves
    assert ledger.remaining().epsilon == 0 and ledger.undelivered() == ()
    pages = [*tmp_path.glob("run*.html"), *tmp_path.glob("run*.report-1.html")]
    assert len(set(pages)) == 7
    assert all(dpselect.verify(page, ledger) for page in set(pages))


def at_once(folder, runs=20, room=7):
    """Fork runs that begin their commit when all have come to it; their exit codes, 3 for a budget that does not suffice."""
    os.chdir(folder)
    kills.prepare(runs=runs, room=room)
    ready, tell = os.pipe()
    start, go = os.pipe()
    children = []
    for number in range(runs):
        if child := os.fork():
            children.append(child)
            continue
        code, commit = 1, Ledger.commit

        def together(self, *given, commit=commit, **more):
            os.write(tell, b".")
            os.read(start, 1)
            return commit(self, *given, **more)

        Ledger.commit = together
        try:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            code = kills.DOORS[list(kills.DOORS)[number % len(kills.DOORS)]](number)
        except dpselect.BudgetExceeded:
            code = 3
        finally:
            os._exit(code)
    for _ in range(runs):
        os.read(ready, 1)
    os.write(go, b"." * runs)
    return sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    if sys.argv[1] == "at once":
        print(at_once(Path(sys.argv[2])))
    else:
        print(everywhere(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
