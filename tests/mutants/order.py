"""Two pytest plugins: one that orders tests, one that tells how they went."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Collection, Mapping
from typing import IO

import pytest


class Quickest:
    """The quickest tests first, and none that has passed already: most faults are noticed by a test of milliseconds.

    A test that takes much longer than it usually does ends the process, so that a loop without end costs seconds.
    """

    def __init__(self, seconds: Mapping[str, float], passed: Collection[str] = ()) -> None:
        self.seconds, self.passed = seconds, passed

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.passed]
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        allowed = 20 + 3 * self.seconds[nodeid] if nodeid in self.seconds else 0  # 0: no limit
        signal.setitimer(signal.ITIMER_PROF, allowed)


class Told:
    """Which test failed, and how long each took, a line each: the process may be ended at any moment."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell(report.nodeid, report.failed, report.duration)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._tell(report.nodeid, report.failed, 0.0)

    def _tell(self, test: str, failed: bool, seconds: float) -> None:
        os.write(self.file.fileno(), json.dumps([test, failed, seconds]).encode() + b"\n")
