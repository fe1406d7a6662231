"""Which tests reach a line, as coverage saw it: `pytest --cov --cov-context=test ...`, and then `--reached .coverage`."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from coverage import CoverageData
from faults import SOURCE, Fault


class Reached:
    """The tests of each line of each module; a line that runs once, when the module is loaded, is reached by all of its tests."""

    def __init__(self, path: Path) -> None:
        self._data = CoverageData(str(path))
        self._data.read()
        self._files = {file.rpartition("/src/")[2]: file for file in self._data.measured_files()}
        self._known: dict[str, dict[int, set[str]]] = {}

    def tests(self, fault: Fault) -> list[str]:
        """The tests that reach a fault; of a statement over several lines coverage may know the first alone."""
        lines = self._lines(fault.module)
        first, last = _statement(fault)
        found = set().union(*(lines.get(line, set()) for line in range(first, last + 1)))
        return sorted(found or set().union(*lines.values()))

    def _lines(self, module: str) -> dict[int, set[str]]:
        if module not in self._known:
            lines: dict[int, set[str]] = defaultdict(set)
            contexts = self._data.contexts_by_lineno(self._files[module]) if module in self._files else {}
            for line, names in contexts.items():
                lines[line] |= {name.rpartition("|")[0] for name in names if "|" in name}
            self._known[module] = lines
        return self._known[module]


def _statement(fault: Fault) -> tuple[int, int]:
    """The lines of the innermost statement that a fault is in, without those of statements within it."""
    tree = ast.parse((SOURCE / fault.module).read_text(encoding="utf-8"))
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= fault.line <= (node.end_lineno or 0)
    ]
    inner = max(around, key=lambda node: node.lineno)
    within = [
        each.lineno for name in ("body", "orelse") for each in getattr(inner, name, ()) if isinstance(each, ast.stmt)
    ]
    return inner.lineno, min([line - 1 for line in within] + [inner.end_lineno or inner.lineno])
