"""`python tests/mutants [--count N] [--seed S] [--room NAME] [MODULE ...]`: plant faults one by one and see the tests fail.

Each fault meets the nearest tests first and wider rings after them, the quickest first in each, up to the first failure. One
that no test notices is a survivor: those that change nothing a release or a price depends on are listed with their reason in
equivalent.py, and any other ends this with exit code 1. What was seen is kept in a file; a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from equivalent import EQUIVALENT
from faults import SOURCE, Fault, faults_in, sample
from kept import Answer, Answers, identity
from order import Quickest
from plant import ROOT, planted, run
from reached import Reached
from usual import Usual
from where import ROOMS, modules_of, stages

REACHED_SECONDS = 300
"""Of processor time for the tests that reach a fault."""


def tried(fault: Fault, usual: Usual, most: str, reached: Reached | None = None) -> Answer:
    """The fault against each ring of tests, as far as `most`; or against the tests that reach it."""
    spent, passed = 0.0, set[str]()
    place = f"{fault.module}:{fault.line}:{fault.column}"
    rings = stages(fault.module, most) if reached is None else {"reached": reached.tests(fault)}
    for stage, tests in rings.items():
        if not tests:
            continue
        allowed = 20 + 3 * usual.of(tests) if reached is None else REACHED_SECONDS
        with planted(fault) as tree:
            seen = run(tests, tree, allowed, Quickest(usual.tests, passed))
        spent, passed = spent + seen.processor, passed | seen.seconds.keys()
        if seen.outcome != "passed":
            outcome = "noticed" if seen.outcome == "failed" else "too slow"
            return Answer(identity(fault), place, fault.key, outcome, stage, seen.by, round(spent, 1))
    return Answer(identity(fault), place, fault.key, "survived", list(rings)[-1], "", round(spent, 1))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="only those in dpselect/release/selection.py")
    parser.add_argument("--room", choices=list(ROOMS), default="guarantee", help="which stages are drawn from")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--most", default="wider", help="the last ring of tests: mirror, claims, room or wider")
    parser.add_argument("--reached", type=Path, help="coverage with contexts: a fault meets the tests that reach it")
    parser.add_argument("--again", action="store_true", help="try survivors of earlier runs again")
    parser.add_argument("--answers", type=Path, default=ROOT / "build/mutants.jsonl", help="what was seen, kept")
    return parser.parse_args()


def main() -> int:
    asked = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _ready()
    faults = [
        each
        for each in sample(modules_of(asked.room), asked.count, asked.seed)
        if not asked.modules or each.module in asked.modules
    ]
    answers, usual = Answers(asked.answers), Usual(asked.answers.with_suffix(".usual.json"))
    reached = None if asked.reached is None else Reached(asked.reached)
    counts: Counter[str] = Counter()
    for number, fault in enumerate(faults, 1):
        answer = answers.known.get(identity(fault))
        if fault.key in EQUIVALENT:
            counts["equivalent"] += 1
            continue
        if answer is None or (answer.outcome == "survived" and asked.again):
            answer = tried(fault, usual, asked.most, reached)
            answers.add(answer)
        counts[answer.outcome if answer.outcome == "survived" else f"{answer.outcome} by {answer.stage}"] += 1
        if answer.outcome == "survived":
            print(f"SURVIVED {answer.place} {fault.what}\n         {fault.text}", flush=True)
        if number % 25 == 0:
            print(f"{number} of {len(faults)}: {dict(counts)}", flush=True)
    for key in sorted(EQUIVALENT.keys() - {each.key for each in _listed()}):
        print(f"equivalent.py has the reason of a line that is not there any more: {key}")
    print(f"{len(faults)} faults: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return int(counts["survived"] > 0)


def _listed() -> list[Fault]:
    """All faults of the modules that equivalent.py speaks of."""
    modules = {key.partition(":")[0] for key in EQUIVALENT}
    return [each for module in modules if (SOURCE / module).exists() for each in faults_in(module)]


NEEDED = (
    "numpy",
    "opendp.prelude",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pytest",
    "pandas",
    "polars",
)
NEEDED += (
    "scipy.stats",
    "scipy.optimize",
    "dp_accounting.pld.privacy_loss_mechanism",
    "narwhals",
    "click",
    "jsonschema",
    "hypothesis.strategies",
    "hypothesis.extra.numpy",
    "anyio.pytest_plugin",
    "pytest_cov.plugin",
    "xdist.plugin",
    "privacy_estimates",
    "sklearn.linear_model",
)


def _ready() -> None:
    """What many tests need is imported once, before the processes part: half of the time of most faults."""
    for name in NEEDED:
        with suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
