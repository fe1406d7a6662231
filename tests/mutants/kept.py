"""What was seen, one line of JSON each, so that a stopped run goes on where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from faults import SOURCE, Fault


def identity(fault: Fault) -> str:
    """A fault of a module as it stands: after an edit it is another one."""
    source = (SOURCE / fault.module).read_bytes()
    return hashlib.sha256(source + f"{fault.name} {fault.line} {fault.column}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Answer:
    """What became of a fault: "noticed", "too slow" (which CI would notice) or "survived", where and by which test."""

    identity: str
    place: str
    key: str
    outcome: str
    stage: str
    by: str
    processor: float


class Answers:
    """Read at the start, and longer by one line after each fault."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.known = {answer.identity: answer for answer in (Answer(**json.loads(line)) for line in lines)}

    def add(self, answer: Answer) -> None:
        self.known[answer.identity] = answer
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(answer)) + "\n")
