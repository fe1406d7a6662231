"""`python tests/fuzz [--inputs N] [--seed S] [--keep FOLDER] [TARGET ...]`: changed inputs for every reader."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # this tree's program, whichever is installed
from harness import fuzz, input_bytes, run_child
from targets import TARGETS


def main() -> int:
    if sys.argv[1:2] == ["child"]:
        name, start, stop, seed = sys.argv[2:]
        run_child(TARGETS[name], range(int(start), int(stop)), int(seed))
        return 0
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all unless named")
    parser.add_argument("--inputs", type=int, default=10_000, help="in all, shared out among the targets")
    parser.add_argument("--seed", type=int, default=1607, help="another one gives other inputs")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that were faults")
    parser.add_argument("--list", action="store_true", help="name the targets, and do nothing else")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(TARGETS))
        return 0
    if unknown := [name for name in asked.targets if name not in TARGETS]:
        parser.error(f"{unknown[0]!r} is no target; known are {', '.join(TARGETS)}.")
    targets = [TARGETS[name] for name in asked.targets or TARGETS]
    each = -(-asked.inputs // len(targets))
    count = 0
    for target in targets:
        begun = time.monotonic()
        faults = fuzz(target, range(each), asked.seed)
        print(f"{target.name}: {each} inputs, {len(faults)} faults, {time.monotonic() - begun:.1f} s", flush=True)
        for fault in faults:
            print(f"  {fault}", flush=True)
            if asked.keep is not None:
                asked.keep.mkdir(parents=True, exist_ok=True)
                kept = asked.keep / f"{target.name}-{asked.seed}-{fault.number}{target.suffix}"
                kept.write_bytes(input_bytes(target, fault.number, asked.seed))
        count += len(faults)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
