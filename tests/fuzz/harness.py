"""Runs changed inputs in child processes, so that one that kills a process is found, named and does not end the others.

A child announces each input before it reads it. When a child dies or hangs, the parent counts that input as a fault and
starts another child after it.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutate import mutated
from target import Target

from dpselect.errors import DpselectError

MOST_MEMORY = 1 << 30
"""Bytes of memory that an input may take, the libraries included."""
ADDRESS_SPACE = 8 << 30
"""Where the system itself says no, before the machine is full."""
MOST_SECONDS = 60
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """An input that ended in something other than success or one sentence."""

    target: str
    number: int
    what: str

    def __str__(self) -> str:
        return f"{self.target} input {self.number}: {self.what}"


def input_bytes(target: Target, number: int, seed: int) -> bytes:
    """The same bytes for the same target, number and seed."""
    return mutated(list(target.seeds()), random.Random(f"{target.name} {seed} {number}"))


def fuzz(target: Target, numbers: range, seed: int) -> list[Fault]:
    """The faults among some inputs."""
    faults: list[Fault] = []
    start = numbers.start
    while start < numbers.stop:
        last, found, ending = _child(target, range(start, numbers.stop), seed)
        faults += found
        if not ending:
            break
        if not any(fault.number == last for fault in found):
            faults.append(Fault(target.name, last, ending))
        start = last + 1
    return faults


def _child(target: Target, numbers: range, seed: int) -> tuple[int, list[Fault], str]:
    """The last input that was begun, the faults, and how the child died, if it did."""
    program = os.environ.get("FUZZ", str(FOLDER))  # for the tests of this harness, with targets of their own
    command = [sys.executable, program, "child", target.name, str(numbers.start), str(numbers.stop), str(seed)]
    source = str(FOLDER.parent.parent / "src")
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    last, faults, ending = numbers.start, [], "the process ended before it said so"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in _lines(process):
            said = json.loads(line)
            last = said.get("begun", last)
            if "fault" in said:
                faults.append(Fault(target.name, last, said["fault"]))
            if "done" in said:
                ending = ""
        code = process.wait()
    if ending and code:
        ending = f"the process died ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"
    return last, faults, ending


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """What the child says; it is killed if it says nothing for a minute."""
    assert process.stdout is not None
    while True:
        clock = threading.Timer(MOST_SECONDS, process.kill)
        clock.start()
        try:
            line = process.stdout.readline()
        finally:
            clock.cancel()
        if not line:
            return
        yield line


def run_child(target: Target, numbers: range, seed: int) -> None:
    """In the child: read each input and say what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seeds = list(target.seeds())
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            data = mutated(seeds, random.Random(f"{target.name} {seed} {number}"))
            path = Path(folder) / f"input{target.suffix}"
            path.write_bytes(data)
            _say(begun=number)
            _forget_peak()
            fault = _outcome(target, path)
            peak = _peak()
            if not fault and peak > MOST_MEMORY:
                fault = f"{peak >> 20} MB of memory"
            if fault:
                _say(fault=fault)
            if peak > MOST_MEMORY:
                return  # a process that keeps the memory would blame the inputs that follow
            for left in Path(folder).iterdir():
                left.unlink()
    _say(done=True)


def _outcome(target: Target, path: Path) -> str:
    """What is wrong with what a reader did; nothing if it read the input, or refused it in one sentence."""
    try:
        target.run(path)
    except DpselectError as error:
        return _wrong_sentence(str(error), target.secrets)
    except BaseException as error:
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        return f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}: {error}"[:300]
    return ""


def _wrong_sentence(message: str, secrets: Sequence[str]) -> str:
    if not message.endswith((".", "?", "!")):
        return f"a message that is no sentence: {message!r}"[:300]
    if any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in message):
        return f"a message with control characters: {message!r}"[:300]
    if len(message) > 2_000:
        return f"a message of {len(message)} characters"
    return next((f"a message that tells a cell: {message!r}"[:300] for secret in secrets if secret in message), "")


def _say(**values: object) -> None:
    print(json.dumps(values), flush=True)


def _forget_peak() -> None:
    """Begin to measure the most memory anew (Linux); elsewhere the most of all inputs so far is measured."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
