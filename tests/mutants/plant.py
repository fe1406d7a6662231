"""One fault in one forked process: the changed source stands in the place of the file's, and nothing on the disk is touched."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from faults import SOURCE, Fault, planted

ROOT = SOURCE.parent
MEMORY = 6 * 2**30
MARKS = "not spark and not postgres and not browser and not slow"


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


class FirstFailure:
    """A pytest plugin that tells which test noticed."""

    def __init__(self, told: int) -> None:
        self.told = told

    def pytest_runtest_logreport(self, report: object) -> None:
        if report.failed:  # type: ignore[attr-defined]
            os.write(self.told, report.nodeid.encode() + b"\n")  # type: ignore[attr-defined]

    def pytest_collectreport(self, report: object) -> None:
        self.pytest_runtest_logreport(report)


@dataclass(frozen=True)
class Run:
    """How the tests ended: "passed", "failed" or "too slow"; which test failed; processor and wall seconds."""

    outcome: str
    by: str
    processor: float
    wall: float


def run(tests: Sequence[str], fault: Fault | None, processor: float, wall: float) -> Run:
    """The tests up to the first failure, with a fault or with none, within so many seconds."""
    here, there = os.pipe()
    start, child = time.monotonic(), os.fork()
    if not child:
        os.close(here)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault can ask for all there is
        resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 1))
        os._exit(_tested(tests, fault, there))
    os.close(there)
    ended, status, used = 0, 0, None
    try:
        while not ended and time.monotonic() < start + wall:
            ended, status, used = os.wait4(child, os.WNOHANG)
            time.sleep(0 if ended else 0.05)
    finally:  # also when this program was stopped: nothing is left running
        if not ended:
            os.killpg(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
    with os.fdopen(here, "rb") as told:
        os.set_blocking(told.fileno(), False)  # a grandchild may still hold the other end
        by = (told.read() or b"").decode().partition("\n")[0]
    code = os.waitstatus_to_exitcode(status)
    outcome = (
        "passed" if code == 0 else "too slow" if not by and code in (-signal.SIGXCPU, -signal.SIGKILL) else "failed"
    )
    seconds = used.ru_utime + used.ru_stime if used else 0.0
    return Run(outcome, by or f"exit {code}", round(seconds, 1), round(time.monotonic() - start, 1))


def _tested(tests: Sequence[str], fault: Fault | None, told: int) -> int:
    import pytest

    try:
        if fault is not None:
            sys.meta_path.insert(0, Planted(fault))
        os.chdir(ROOT)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", MARKS]
        code = pytest.main([*options, *tests], plugins=[FirstFailure(told)])
        return int(code not in (0, 5))  # 5: no test for this machine
    except BaseException:
        return 1
