"""One fault in one forked process: the changed source stands in the place of the file's, and nothing on the disk is touched."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import pytest
from faults import SOURCE, Fault, changed_source
from order import Quickest, Told

ROOT = SOURCE.parent
MEMORY = 6 * 2**30
MARKS = "not spark and not postgres and not browser and not thorough"


class Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from changed source."""

    def __init__(self, fault: Fault) -> None:
        self.name = fault.module.removesuffix(".py").replace("/", ".")
        self.path, self.source = SOURCE / fault.module, changed_source(fault)

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self.path))

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


@dataclass(frozen=True)
class Run:
    """How the tests ended: "passed", "failed" or "too slow"; which test failed; processor seconds; how long each test took."""

    outcome: str
    by: str
    processor: float
    seconds: dict[str, float]


def run(tests: Sequence[str], planted: importlib.abc.MetaPathFinder | None, processor: float, order: Quickest) -> Run:
    """The tests up to the first failure, with what finds a fault or with none, within so many processor seconds."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            os._exit(_limited(tests, planted, processor, (order, Told(file))))
        code, used = _awaited(child, 60 + 20 * processor)  # by the clock it may wait for others
        file.seek(0)
        lines = [json.loads(line) for line in file.read().splitlines()]
    by = next((test for test, failed, _ in lines if failed), "")
    slow = not by and code in (-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGKILL)
    seconds: Counter[str] = Counter()
    for test, _, took in lines:
        seconds[test] += took
    outcome = "passed" if code == 0 else "too slow" if slow else "failed"
    return Run(outcome, by or f"exit {code}", used, dict(seconds))


def _awaited(child: int, wall: float) -> tuple[int, float]:
    """The exit code and the processor seconds of a process that may take so long."""
    end, ended = time.monotonic() + wall, 0
    try:
        while not ended and time.monotonic() < end:
            ended, status, used = os.wait4(child, os.WNOHANG)
            time.sleep(0 if ended else 0.05)
    finally:  # also when this program was stopped: nothing is left running
        if not ended:
            os.killpg(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), round(used.ru_utime + used.ru_stime, 1)


def _limited(
    tests: Sequence[str], planted: importlib.abc.MetaPathFinder | None, processor: float, plugins: Sequence[object]
) -> int:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault can ask for all there is
    resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 1))
    gc.freeze()  # nothing of the parent's is looked through again
    try:
        if planted is not None:
            sys.meta_path.insert(0, planted)
        os.chdir(ROOT)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", MARKS, "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = pytest.main([*options, *tests], plugins=plugins)
        return int(code not in (0, 5))  # 5: no test for this machine
    except BaseException:
        return 1
