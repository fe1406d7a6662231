"""One fault in one forked process, in a tree of its own: nothing of the repository is touched."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import SOURCE, Fault, changed_source
from order import Quickest, Told

ROOT = SOURCE.parent
MEMORY = 6 * 2**30
MARKS = "not spark and not postgres and not browser and not thorough"


@contextmanager
def changed_tree(changes: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder like the repository's in which files of the package are others: what tests start as programs sees them too."""
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made).resolve()
        for each in ROOT.iterdir():
            if each.name != SOURCE.name:
                (tree / each.name).symlink_to(each)
        shutil.copytree(SOURCE, tree / SOURCE.name)  # with compiled modules, which are the same for what is unchanged
        for name, content in changes.items():
            (tree / SOURCE.name / name).write_bytes(content)
        yield tree


def planted(fault: Fault) -> AbstractContextManager[Path]:
    """A tree with a fault."""
    return changed_tree({fault.module: changed_source(fault).encode()})


@dataclass(frozen=True)
class Run:
    """How the tests ended: "passed", "failed" or "too slow"; which test failed; processor seconds; how long each test took."""

    outcome: str
    by: str
    processor: float
    seconds: dict[str, float]


def run(tests: Sequence[str], tree: Path, processor: float, order: Quickest) -> Run:
    """The tests of a tree up to the first failure, within so many processor seconds."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            os._exit(_limited(tests, tree, processor, (order, Told(file))))
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


def _limited(tests: Sequence[str], tree: Path, processor: float, plugins: Sequence[object]) -> int:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # this program's own handler is none of the tests'
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault can ask for all there is
    resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 1))
    gc.freeze()  # nothing of the parent's is looked through again
    try:
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree / SOURCE.name)
        sys.path.insert(0, str(tree / SOURCE.name))  # before any plugin looks for the package
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", MARKS, "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = pytest.main([*options, *tests], plugins=plugins)
        return int(code not in (0, 5))  # 5: no test for this machine
    except BaseException:
        return 1
