"""Faults to plant: small changes of the syntax tree where a price, a bound or a record is made."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
SWAPPED = {
    "max": "min", "min": "max", "units_up": "units_down", "units_down": "units_up", "ROUND_CEILING": "ROUND_FLOOR",
    "ROUND_FLOOR": "ROUND_CEILING", "all": "any", "any": "all",
}  # fmt: skip
DROPPED = {"round_up", "float_below", "abs", "certified_range", "nextafter", "_up"}
"""Calls that only move a number to the safe side: without them the first argument stands alone."""


@dataclass(frozen=True)
class Fault:
    """One change: where, which, and the line it is on, by which it is known after others move."""

    module: str
    line: int
    column: int
    what: str
    text: str
    indent: int = 0

    @property
    def name(self) -> str:
        return f"{self.module}: {self.text} [{self.what}]"

    @property
    def key(self) -> str:
        """The name, and the letter of the line where it is: one line may offer the same change twice."""
        return f"{self.name} at {self.column - self.indent}"


Change = tuple[str, Callable[[ast.AST], ast.AST | None]]


def _changes(node: ast.AST) -> Iterator[Change]:
    """What can go wrong at a node, by name, and how."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {other.__name__}", lambda n: _with(n, ops=[other()])
    if isinstance(node, ast.Compare) and len(node.ops) == 2:
        yield "lower end open", lambda n: _with(n, left=n.comparators[0], ops=n.ops[1:], comparators=n.comparators[1:])
        yield "upper end open", lambda n: _with(n, ops=n.ops[:1], comparators=n.comparators[:1])
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda n: _with(n, op=other())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0,):
        yield "half the number", lambda n: ast.Constant(n.value / 2 if type(n.value) is float else n.value // 2)
        yield "one more", lambda n: ast.Constant(n.value + 1)
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "and <-> or", lambda n: _with(n, op=other())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", lambda n: n.operand
    if isinstance(node, ast.IfExp):
        yield "the other branch", lambda n: _with(n, body=n.orelse, orelse=n.body)
    if isinstance(node, ast.Raise):
        yield "no refusal", lambda n: ast.Pass()
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in DROPPED and node.args:
            yield f"without {name}", lambda n: n.args[0]
        if name in SWAPPED and isinstance(node.func, ast.Name):
            yield f"{name} -> {SWAPPED[name]}", lambda n: _with(n, func=ast.Name(SWAPPED[name], ast.Load()))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    values = {name: getattr(node, name) for name in node._fields} | fields
    return type(node)(**values)


def faults_in(module: str) -> Iterator[Fault]:
    """Every fault that can be planted in a module, docstrings, messages and annotations left alone."""
    text = (SOURCE / module).read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    for node in _meant(tree):
        for what, _ in _changes(node):
            line = lines[node.lineno - 1]
            yield Fault(module, node.lineno, node.col_offset, what, line.strip(), len(line) - len(line.lstrip()))


def _meant(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute something: no annotations, no texts for people, no defaults of the type system."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield from _meant(ast.Expression(child.value))
            continue
        if isinstance(child, ast.arguments | ast.JoinedStr | ast.If) and _idle(child):
            continue
        if hasattr(child, "lineno"):
            yield child
        if isinstance(child, ast.Raise):
            continue  # its words are no computation
        if isinstance(child, ast.FunctionDef):
            for inner in child.body:
                yield from _meant(ast.Module([inner], []))
            continue
        yield from _meant(child)


def _idle(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return True


def changed_source(fault: Fault) -> str:
    """The module's source with the fault."""
    tree = ast.parse((SOURCE / fault.module).read_text(encoding="utf-8"))

    class Plant(ast.NodeTransformer):
        done = False

        def generic_visit(self, node: ast.AST) -> ast.AST:
            here = (getattr(node, "lineno", 0), getattr(node, "col_offset", -1)) == (fault.line, fault.column)
            if here and not self.done:
                for what, change in _changes(node):
                    if what == fault.what:
                        self.done = True
                        changed = change(node)
                        assert changed is not None
                        return ast.copy_location(changed, node)
            return super().generic_visit(node)

        visit = generic_visit

    plant = Plant()
    new = ast.fix_missing_locations(plant.visit(tree))
    assert plant.done, fault
    return ast.unparse(new)


def sample(modules: list[str], count: int, seed: int) -> list[Fault]:
    """So many faults or a few more, spread over the modules in proportion to what each offers.

    A fault is picked by the digest of its own line, so that an edit elsewhere leaves it in the sample.
    """
    offered = {module: sorted(set(faults_in(module)), key=lambda f: (f.line, f.column, f.what)) for module in modules}
    whole = sum(map(len, offered.values()))
    wanted = next(
        wanted for wanted in range(count, whole + count + 1) if sum(_shares(offered, wanted)) >= min(count, whole)
    )
    picked: list[Fault] = []
    for faults, share in zip(offered.values(), _shares(offered, wanted), strict=True):
        ranked = sorted(faults, key=lambda f: hashlib.sha256(f"{seed} {f.name} {f.column}".encode()).digest())
        picked += ranked[:share]
    return picked


def _shares(offered: dict[str, list[Fault]], wanted: int) -> list[int]:
    whole = sum(map(len, offered.values()))
    return [max(1, round(wanted * len(faults) / whole)) for faults in offered.values()]
