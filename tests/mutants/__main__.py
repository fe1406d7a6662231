"""`python tests/mutants [--count N] [--seed S] [--part I/K] [MODULE ...]`: plant faults one by one and see the tests fail.

A fault that no test notices is a survivor. Survivors that change nothing a release or a price depends on are listed with their
reason in equivalent.py; any other ends this with exit code 1. Each fault is tried in a forked process that finds the
changed source in the place of the file's, so that nothing on the disk is touched.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

from equivalent import EQUIVALENT
from faults import SOURCE, Fault, planted, sample
from where import TESTS

ROOT = SOURCE.parent
MEMORY = 6 * 2**30


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from changed source."""

    def __init__(self, fault: Fault) -> None:
        self.name = fault.module.removesuffix(".py").replace("/", ".")
        self.path, self.source = SOURCE / fault.module, planted(fault)

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.path))

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def noticed(fault: Fault, seconds: float) -> str:
    """ "noticed", "survived" or "too slow" (which counts as noticed: CI would)."""
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault can ask for all there is
        os._exit(_tried(fault))
    ended, end = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return "survived" if os.waitstatus_to_exitcode(status) == 0 else "noticed"
            time.sleep(0.05)
    finally:
        if not ended:  # too slow, or this program was stopped: nothing is left running
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return "too slow"


def _tried(fault: Fault) -> int:
    import pytest

    try:
        sys.meta_path.insert(0, Planted(fault))
        os.chdir(ROOT)
        tests = [each for each in TESTS(fault.module) if (ROOT / each).exists()]
        marks = "not spark and not postgres and not browser and not slow"
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", marks, *tests]) != 0)
    except BaseException:
        return 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="such as dpselect/release/select.py; all unless named"
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--part", default="1/1", help="2/3 is the second third")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    from where import MODULES

    faults = sample(options.modules or MODULES, options.count, options.seed)
    which, parts = map(int, options.part.split("/"))
    faults = faults[which - 1 :: parts]
    import numpy  # noqa: F401
    import opendp.prelude  # noqa: F401
    import pyarrow  # noqa: F401
    import pytest  # noqa: F401

    counts = {"noticed": 0, "too slow": 0, "equivalent": 0, "survived": 0}
    for number, fault in enumerate(faults, 1):
        if fault.key in EQUIVALENT:
            counts["equivalent"] += 1
            continue
        answer = noticed(fault, options.seconds)
        counts[answer] += 1
        if answer == "survived":
            print(
                f"SURVIVED {fault.module}:{fault.line}:{fault.column} {fault.what}\n         {fault.text}", flush=True
            )
        if number % 25 == 0:
            print(f"{number} of {len(faults)}: {counts}", flush=True)
    print(f"{len(faults)} faults: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
