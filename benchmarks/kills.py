"""Kill `dpselect analyze` at random moments and count what was charged and what arrived.

    python -m benchmarks.kills [--kill 1000] [--interrupt 150] [--terminate 150] [--seed 12] [--counts kills.json]

Only signals that met a living run count. Each run is a process of its own, forked from this one after the imports, so that the
moments fall into the work and not into the start of Python; one in twenty starts a fresh interpreter instead. Half of the moments
are uniform over a run, and half over what follows the first charge, where a charge and its release could part. A run charges
twice, once for the choice and once for the coefficients; a ledger serves 50 runs and has room for 40. The counts are
written after each ledger, and a second start goes on from them.

Promised: SIGKILL may part a charge from its release, because nothing can run after it, but never the other way round;
SIGINT and SIGTERM may not; nothing is overspent; the ledger opens after each of them; and where the run had drawn, the same
command, given again, finishes the report and charges nothing (tried with every fourth).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from dpselect.release.ledger.ledger import Ledger
from dpselect.release.ledger.records import Charge, Receipt
from dpselect.use import command_line
from dpselect.use.shell.ledgers import HeldAccount

RUNS_PER_LEDGER, ROOM = 50, 40
EPSILON = "1"
STUDY = "".join(
    ["[response]\nname = 'y'\nlower = 0\nupper = 1\n"]
    + [f"[[predictors]]\nname = 'x{j}'\nlower = 0\nupper = 1\n" for j in range(4)]
)
LIVING = "signals that met a living run"

Counts = dict[str, Counter[str]]


def asked(number: int) -> list[str]:
    """Votes, the default, and pcls in turn."""
    price = ["--epsilon", EPSILON, "--delta", "1e-9", "--method", ("votes", "pcls")[number % 2]]
    return ["analyze", "study.toml", "rows.csv", *price, "-o", f"run{number}.html", "-q"]


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
        plan = generator.sample(
            list(missing), min(sum(missing.values()), RUNS_PER_LEDGER), counts=list(missing.values())
        )
        with tempfile.TemporaryDirectory() as folder:
            _batch(Path(folder), plan, generator, counts)
        file.write_text(json.dumps(counts, indent=1, sort_keys=True))
        _tell(counts)
    return int(any(what.startswith("WRONG") for found in counts.values() for what in found))


def _tell(counts: Counts) -> None:
    for name, found in counts.items():
        listed = "; ".join(f"{count} {what}" for what, count in sorted(found.items()) if what != LIVING)
        print(f"{name}, {found[LIVING]} {LIVING}: {listed}", flush=True)


def _batch(folder: Path, plan: list[str], generator: random.Random, counts: Counts) -> None:
    """One ledger, and a run for each signal of the plan."""
    os.chdir(folder)
    x = np.random.default_rng(1).uniform(0, 1, (500, 4))
    rows = np.column_stack([x, np.clip(x[:, 0] + 0.1 * x[:, 1], 0, 1)])
    np.savetxt("rows.csv", rows, delimiter=",", header="x0,x1,x2,x3,y", comments="")
    Path("study.toml").write_text(STUDY)
    Ledger("study.budget.db", epsilon=ROOM, delta="1e-6")
    command_line.run(asked(999))  # all imports are made here, and every fork has them
    usual = _usual_seconds()
    known = len(Ledger("study.budget.db").records())
    for number, name in enumerate(plan):
        kind, fresh = signal.Signals[name], generator.random() < 0.05
        aimed = not fresh and generator.random() < 0.5
        met = _run(
            number,
            kind,
            generator.uniform(0, usual["fresh" if fresh else "charged" if aimed else "forked"]),
            fresh,
            aimed,
        )
        counts[name][LIVING if met else "(besides: runs that had ended)"] += 1
        known = _count(counts[name] if met else Counter(), number, kind, known)
    left = Ledger("study.budget.db").left()
    if left.epsilon < 0 or left.delta < 0:
        counts[plan[0]]["WRONG: overspent"] += 1
    os.chdir("/")


def _usual_seconds() -> dict[str, float]:
    """How long a run takes by a fresh interpreter, by fork, and by fork from its first charge on."""
    taken = {}
    for number, (name, fresh, aimed) in enumerate(
        (("fresh", True, False), ("forked", False, False), ("charged", False, True))
    ):
        begun = time.monotonic()
        _run(1000 + number, signal.SIGKILL, 60, fresh, aimed)
        taken[name] = time.monotonic() - begun
    return taken


def _run(number: int, kind: signal.Signals, seconds: float, fresh: bool, aimed: bool) -> bool:
    """Start a run and send it the signal after so many seconds, counted from its first charge if aimed; whether it still lived."""
    reader, writer = os.pipe()
    child = _fresh(number) if fresh else _forked(number, writer)
    os.close(writer)
    if aimed:
        select.select([reader], [], [], 60)  # the run's first charge begins, or the run has ended
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


def _fresh(number: int) -> int:
    source = str(Path(command_line.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-m", "dpselect", *asked(number)],
        env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).pid


def _forked(number: int, writer: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        charge = HeldAccount.charge

        def told(account: HeldAccount, asked_for: Charge) -> Receipt | None:
            os.write(writer, b".")
            return charge(account, asked_for)

        HeldAccount.charge = told  # type: ignore[method-assign]
        os._exit(command_line.run(asked(number)))
    finally:  # a signal before the command began: this process must not clear away what belongs to its parent
        os._exit(1)


def _receipts(file: Path) -> set[int]:
    """The places in the ledger of all releases that a report or a draft of one holds; half a file would not be JSON."""
    values = json.loads(file.read_text())
    if "alone" in values:
        values = {**json.loads(values["alone"]), "coefficients": values.get("estimate")}
    return {part["receipt"]["index"] for part in (values["selection"], values["coefficients"]) if part is not None}


def _finish(number: int) -> int:
    """The exit code of the same command, given again."""
    reader, writer = os.pipe()
    code = os.waitstatus_to_exitcode(os.waitpid(_forked(number, writer), 0)[1])
    os.close(reader)
    os.close(writer)
    return code


def _count(found: Counter[str], number: int, kind: signal.Signals, known: int) -> int:
    """Compare what this run charged with what it left on the disk; the ledger is opened anew, as the next command would."""
    ledger = Ledger("study.budget.db")
    ledger.verify()
    records = ledger.records()
    charged = {record.index for record in records[known:]}
    text, paid = (Path(f"run{number}.{suffix}") for suffix in ("json", "paid.json"))
    drawn = paid.exists()
    arrived = _receipts(paid) if drawn else set()
    if drawn and number % 4 == 0:
        found["reports that the same command was asked to finish"] += 1
        if _finish(number) or paid.exists() or len(Ledger("study.budget.db").records()) > len(records):
            found["WRONG: the same command did not finish it without a charge"] += 1
    arrived |= _receipts(text) if text.exists() else set()
    lost = len(charged - arrived)
    if arrived - charged:
        found["WRONG: a release without its charge"] += 1
    if lost:
        what = f"charge{'s' * (lost > 1)} without a release ({lost} of the run's {len(charged)})"
        found[what if kind == signal.SIGKILL else f"WRONG: {what}"] += 1
    elif charged:
        found["charged and on the disk"] += 1
        found["of them as a draft that the same command finishes"] += drawn
    else:
        found["nothing charged"] += 1
    rest = list(Path().glob(".*.part"))
    if kind != signal.SIGKILL and rest:
        found["WRONG: a file half written"] += 1
    for each in rest:
        each.unlink()
    return len(records)


if __name__ == "__main__":
    sys.exit(main())
