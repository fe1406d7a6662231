"""Kill releases at random moments, by every door, and count what was charged and what is there.

    python -m benchmarks.kills [--kill 1000] [--interrupt 150] [--terminate 150] [--seed 12] [--counts kills.json]

The doors are `dpselect analyze`, Python's `analyze` and a release of the studio. Only signals that met a living run count. Each run
is a process of its own, forked from this one after the imports, so that the moments fall into the work and not into the start of
Python. Half of the moments are uniform over a run, and half over what follows the beginning of its commit. A run has two charges,
for the choice and for the coefficients, in one commit; a ledger serves 50 runs and has room for 40. The counts are written after
each ledger, and a second start goes on from them.

Promised: no signal parts a charge from its release, which is in the ledger as soon as the charge is, nor a release from its charge;
a run is charged whole or not at all; nothing is overspent; the ledger opens after each; no file is half written; and what did not
arrive is handed over by `dpselect resume`, verifies, and is not charged again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dpselect
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.sealed import Sealed
from dpselect.use import command_line
from dpselect.use.studio.releases import plan_report, release
from dpselect.use.studio.sources import open_source

RUNS_PER_LEDGER, ROOM = 50, 40
LEDGER = "rows.budget.db"
STUDY = "".join(
    ["[response]\nname = 'y'\nlower = 0\nupper = 1\n"]
    + [f"[[predictors]]\nname = 'x{j}'\nlower = 0\nupper = 1\n" for j in range(4)]
)
LIVING = "signals that met a living run"

Counts = dict[str, Counter[str]]


def by_command(number: int) -> int:
    """Votes, the default, and pcls in turn."""
    price = ["--epsilon", "1", "--delta", "1e-9", "--method", ("votes", "pcls")[number % 2]]
    return command_line.run(
        ["analyze", "rows.csv", "--study", "study.toml", *price, "-o", f"run{number}.html", "-q", "--yes"]
    )


def by_python(number: int) -> int:
    study = dpselect.Study.read("study.toml")
    got = dpselect.analyze("rows.csv", study, epsilon=1, delta="1e-9", ledger=LEDGER, data="rows.csv")
    got.to_html(f"run{number}.html")
    return 0


def by_studio(number: int) -> int:
    asked = {"epsilon": "1", "delta": "1e-9"}
    release(plan_report(Path(f"run{number}.toml").absolute(), open_source("rows.csv", {}), asked), lambda step: None)
    return 0


DOORS: dict[str, Callable[[int], int]] = {"analyze": by_command, "Python": by_python, "studio": by_studio}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("kill", 1000), ("interrupt", 150), ("terminate", 150)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--counts", type=Path, default=Path("kills.json"))
    options = parser.parse_args()
    # A shell starts what it puts in the background with SIGINT ignored, and every run would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = {"SIGKILL": options.kill, "SIGINT": options.interrupt, "SIGTERM": options.terminate}
    file = options.counts.resolve()
    known = json.loads(file.read_text()) if file.exists() else {}
    counts = {name: Counter(known.get(name, {})) for name in wanted}
    generator = random.Random(f"{options.seed} {sum(found[LIVING] for found in counts.values())}")
    while missing := {
        name: most - counts[name][LIVING] for name, most in wanted.items() if counts[name][LIVING] < most
    }:
        size = min(sum(missing.values()), RUNS_PER_LEDGER)
        plan = generator.sample(list(missing), size, counts=list(missing.values()))
        with tempfile.TemporaryDirectory() as folder:
            batch(Path(folder), plan, generator, counts)
        file.write_text(json.dumps(counts, indent=1, sort_keys=True))
        _tell(counts)
    return int(any(what.startswith("WRONG") for found in counts.values() for what in found))


def _tell(counts: Counts) -> None:
    for name, found in counts.items():
        listed = "; ".join(f"{count} {what}" for what, count in sorted(found.items()) if what != LIVING)
        print(f"{name}, {found[LIVING]} {LIVING}: {listed}", flush=True)


def batch(folder: Path, plan: list[str], generator: random.Random, counts: Counts) -> None:
    """One ledger, and a run for each signal of the plan."""
    os.chdir(folder)
    prepare(runs=len(plan) + 10)
    usual = {door: _seconds(door, number) for number, door in enumerate(DOORS, 1000)}
    for number, name in enumerate(plan):
        kind, door, aimed = signal.Signals[name], generator.choice(list(DOORS)), generator.random() < 0.5
        before = len(Ledger(LEDGER).entries())
        met = _run(DOORS[door], number, kind, generator.uniform(0, usual[door]) / (2 if aimed else 1), aimed)
        counts[name][LIVING if met else "(besides: runs that had ended)"] += 1
        judge(counts[name] if met else Counter(), number, kind, before, door=door)
    rest = Ledger(LEDGER).remaining()
    if rest.epsilon < 0 or rest.delta < 0:
        counts[plan[0]]["WRONG: overspent"] += 1
    os.chdir("/")


def prepare(runs: int, room: int = ROOM) -> None:
    """A table, a study for it, and copies of that for the studio, whose reports are named after it; and a ledger."""
    x = np.random.default_rng(1).uniform(0, 1, (500, 4))
    rows = np.column_stack([x, np.clip(x[:, 0] + 0.1 * x[:, 1], 0, 1)])
    np.savetxt("rows.csv", rows, delimiter=",", header="x0,x1,x2,x3,y", comments="")
    for name in ("study", *(f"run{number}" for number in [*range(runs), *range(1000, 1000 + len(DOORS))])):
        Path(f"{name}.toml").write_text(STUDY)
    Ledger(LEDGER, epsilon=room, delta="1e-6")


def _seconds(door: str, number: int) -> float:
    begun = time.monotonic()
    DOORS[door](number)  # all imports are made here too, and every fork has them
    begun = time.monotonic()
    _run(DOORS[door], number, signal.SIGKILL, 60, aimed=False)
    return time.monotonic() - begun


def _run(work: Callable[[int], int], number: int, kind: signal.Signals, seconds: float, aimed: bool) -> bool:
    """Start a run and send it the signal after so many seconds, counted from its commit if aimed; whether it still lived."""
    reader, writer = os.pipe()
    child = _forked(work, number, writer)
    os.close(writer)
    if aimed:
        select.select([reader], [], [], 60)  # the run's commit begins, or the run has ended
    end = time.monotonic() + seconds
    met = True
    while time.monotonic() < end and met:
        met = os.waitpid(child, os.WNOHANG) == (0, 0)
        time.sleep(min(0.001, max(0.0, end - time.monotonic())))
    if met:
        os.kill(child, kind)
        status = os.waitpid(child, 0)[1]
        met = kind != signal.SIGKILL or os.WIFSIGNALED(status)
    os.close(reader)
    return met


def _forked(work: Callable[[int], int], number: int, writer: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        commit = Ledger.commit

        def told(self: Ledger, *given: Any, **more: Any) -> Any:
            os.write(writer, b".")
            return commit(self, *given, **more)

        Ledger.commit = told  # type: ignore[method-assign]
        os._exit(work(number))
    finally:  # a signal before the work began: this process must not clear away what belongs to its parent
        os._exit(1)


def judge(found: Counter[str], number: int, kind: signal.Signals, before: int, *, door: str) -> None:
    """Compare what a run charged with what is there; the ledger is opened anew, as the next command would."""
    ledger = Ledger(LEDGER)
    ledger.verify()
    charged = ledger.entries()[before:]
    kept = {entry.release for entry in charged}
    receipts = {
        part.receipt.index
        for sealed in (Sealed.from_text(ledger.release(id)).with_receipts(ledger.receipts(id)) for id in kept)
        for part in (sealed.selection, sealed.estimate)
        if part is not None and part.receipt is not None
    }
    if receipts != {entry.index for entry in charged}:
        found["WRONG: charges and releases do not belong together"] += 1
    if len(charged) not in (0, 2):
        found["WRONG: charged by halves"] += 1
    waiting = ledger.undelivered()
    found["charged, and its release is in the ledger" if charged else "nothing charged"] += 1
    found["of them handed over by resume"] += len(waiting)
    if waiting:
        code = command_line.run(["resume", "rows.csv", "-o", f"late{number}.html", "-q"])
        sound = command_line.run(["verify", f"late{number}.html", "--ledger", LEDGER, "-q"])
        if code or sound or ledger.undelivered() or len(ledger.entries()) != before + len(charged):
            found["WRONG: resume did not hand it over without a charge"] += 1
    rest = list(Path().glob(".*.part"))
    # Python's call and the studio's thread leave signals to their program: SIGTERM ends them as SIGKILL does.
    if door == "analyze" and kind != signal.SIGKILL and rest:
        found["WRONG: a file half written"] += 1
    for each in rest:
        each.unlink()


if __name__ == "__main__":
    sys.exit(main())
