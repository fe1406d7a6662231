"""`python tests/whole_runs [--runs N] [--first K]`: made-up studies, each ending in a report that verifies or in one sentence."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # this tree's program, whichever is installed
from made import made, verdict


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/whole_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1000, help="the seed of the first run")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # no ledger is meant to be given
    counts: Counter[str] = Counter()
    for number in range(asked.runs):
        seed = asked.first + number
        try:
            counts[verdict(made(seed))] += 1
        except Exception:  # whatever it is, it is a fault, and the next run goes on
            counts["faults"] += 1
            print(f"FAULT, seed {seed}\n{traceback.format_exc(limit=-3)}", flush=True)
        if number % 100 == 99:
            print(f"{number + 1} of {asked.runs}: {dict(counts)}", flush=True)
    print(f"{asked.runs} runs: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return int(counts["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
