"""How long tests take without a fault, kept in a file beside the answers; they must pass then."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path

from faults import SOURCE
from order import Quickest
from plant import ROOT, run


class Usual:
    """Processor seconds of each file of tests, and seconds of each test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"files": {}, "tests": {}}
        self._files: dict[str, float] = kept["files"]
        self.tests: dict[str, float] = kept["tests"]

    def of(self, tests: list[str]) -> float:
        return sum(self._of_file(file) for each in tests for file in _files(each))

    def _of_file(self, file: Path) -> float:
        known = identity_of(file)
        if known not in self._files:
            seen = run([str(file.relative_to(ROOT))], ROOT, 3600, Quickest(self.tests))
            if seen.outcome != "passed":
                raise SystemExit(f"Without a fault, {seen.by} fails: repair that first.")
            self._files[known] = seen.processor
            self.tests |= seen.seconds
            self._path.write_text(json.dumps({"files": self._files, "tests": self.tests}), encoding="utf-8")
        return self._files[known]


def identity_of(file: Path) -> str:
    """The file and the package as they stand: after an edit of either it is to pass again."""
    return f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes() + _package()).hexdigest()[:16]}"


@functools.cache
def _package() -> bytes:
    return hashlib.sha256(b"".join(each.read_bytes() for each in sorted(SOURCE.rglob("*.py")))).digest()


def _files(place: str) -> list[Path]:
    whole = ROOT / place
    return sorted(whole.rglob("test_*.py")) if whole.is_dir() else [whole]
