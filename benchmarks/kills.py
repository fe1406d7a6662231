"""Kill `dpselect analyze` at random moments and count what was charged and what arrived.

    python -m benchmarks.kills [--kill 1000] [--interrupt 150] [--terminate 150] [--seed 12]

Each run is a process of its own, forked from this one after the imports, so that the moments fall into the work and not into
the start of Python; one in ten starts a fresh interpreter instead. A run charges twice, once for the choice and once for
the coefficients, and a ledger serves 50 runs and has room for 40.

Promised: SIGKILL may part a charge from its release, because nothing can run after it, but never the other way round;
SIGINT and SIGTERM may not; and nothing is overspent.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from dpselect.release.ledger.ledger import Ledger
from dpselect.use import command_line

RUNS_PER_LEDGER, ROOM = 50, 40
EPSILON = "1"
STUDY = "".join(
    ["[response]\nname = 'y'\nlower = 0\nupper = 1\n"]
    + [f"[[predictors]]\nname = 'x{j}'\nlower = 0\nupper = 1\n" for j in range(4)]
)


def asked(number: int) -> list[str]:
    """Votes, the default, and pcls in turn."""
    price = ["--epsilon", EPSILON, "--delta", "1e-9", "--method", ("votes", "pcls")[number % 2]]
    return ["analyze", "study.toml", "rows.csv", *price, "-o", f"run{number}.html", "-q"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("kill", 1000), ("interrupt", 150), ("terminate", 150)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    plan = [
        *[signal.SIGKILL] * options.kill,
        *[signal.SIGINT] * options.interrupt,
        *[signal.SIGTERM] * options.terminate,
    ]
    generator = random.Random(options.seed)
    generator.shuffle(plan)
    counts: dict[int, Counter[str]] = {number: Counter() for number in set(plan)}
    begun = time.monotonic()
    for start in range(0, len(plan), RUNS_PER_LEDGER):
        with tempfile.TemporaryDirectory() as folder:
            _batch(Path(folder), plan[start : start + RUNS_PER_LEDGER], generator, counts)
        print(f"after {time.monotonic() - begun:.0f} s:", flush=True)
        _tell(counts)
    return int(any(found[each] for found in counts.values() for each in found if each.startswith("WRONG")))


def _tell(counts: dict[int, Counter[str]]) -> None:
    for number, found in counts.items():
        total = found["ended before the signal"] + found["stopped by the signal"]
        listed = "; ".join(f"{count} {what}" for what, count in sorted(found.items()))
        print(f"  {signal.Signals(number).name}, {total} runs: {listed}", flush=True)


def _batch(folder: Path, plan: list[int], generator: random.Random, counts: dict[int, Counter[str]]) -> None:
    os.chdir(folder)
    x = np.random.default_rng(1).uniform(0, 1, (500, 4))
    rows = np.column_stack([x, np.clip(x[:, 0] + 0.1 * x[:, 1], 0, 1)])
    np.savetxt("rows.csv", rows, delimiter=",", header="x0,x1,x2,x3,y", comments="")
    Path("study.toml").write_text(STUDY)
    ledger = Ledger("study.budget.db", epsilon=ROOM, delta="1e-6")
    command_line.run(asked(999))  # all imports are made here, and every fork has them
    usual = _usual_seconds()
    known = len(ledger.records())
    for number, kind in enumerate(plan):
        fresh = generator.random() < 0.1
        seconds = generator.uniform(0, usual[fresh])
        ended = _run(number, kind, seconds, fresh)
        found = counts[kind]
        found["ended before the signal" if ended else "stopped by the signal"] += 1
        known = _count(found, ledger, number, kind, known)
    left = ledger.left()
    if left.epsilon < 0 or left.delta < 0:
        counts[plan[0]]["WRONG: overspent"] += 1
    os.chdir("/")


def _usual_seconds() -> dict[bool, float]:
    """How long a run takes, by fork and by a fresh interpreter."""
    taken = {}
    for fresh in (False, True):
        begun = time.monotonic()
        _run(1000 + fresh, signal.SIGKILL, 60, fresh)
        taken[fresh] = 1.1 * (time.monotonic() - begun)
    return taken


def _run(number: int, kind: int, seconds: float, fresh: bool) -> bool:
    """Start a run and send it the signal after so many seconds; whether it had ended by then."""
    if fresh:
        source = str(Path(command_line.__file__).parents[2])
        process = subprocess.Popen(
            [sys.executable, "-m", "dpselect", *asked(number)],
            env={**os.environ, "PYTHONPATH": source},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        child = process.pid
    else:
        child = os.fork()
        if not child:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os._exit(command_line.run(asked(number)))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            return True
        time.sleep(0.001)
    os.kill(child, kind)
    os.waitpid(child, 0)
    return False


def _count(found: Counter[str], ledger: Ledger, number: int, kind: int, known: int) -> int:
    """Compare what this run charged with what it left on the disk."""
    records = ledger.records()
    charged = {record.index for record in records[known:]}
    arrived: set[int] = set()
    page, text = Path(f"run{number}.html"), Path(f"run{number}.json")
    if text.exists():
        values = json.loads(text.read_text())  # half a file would not be JSON
        parts = [values["selection"], values["coefficients"]]
        arrived = {part["receipt"]["index"] for part in parts if part is not None}
    lost = len(charged - arrived)
    if arrived - charged:
        found["WRONG: a release without its charge"] += 1
    if lost:
        what = f"charge{'s' * (lost > 1)} without a release ({lost} of the run's {len(charged)})"
        found[what if kind == signal.SIGKILL else f"WRONG: {what}"] += 1
    elif charged:
        found["charged and on the disk"] += 1
        found["of them without the page"] += not page.exists()
    else:
        found["nothing charged"] += 1
    if kind != signal.SIGKILL and list(Path().glob(".*.part")):
        found["WRONG: a file half written"] += 1
    for rest in Path().glob(".*.part"):
        rest.unlink()
    ledger.verify()
    return len(records)


if __name__ == "__main__":
    sys.exit(main())
