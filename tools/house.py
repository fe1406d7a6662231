"""What hurts who lives here, counted: how much one release runs, what is cut too small, what shares a name, what is not explained.

python tools/house.py            prints all with names, and writes the counts and the tree into docs/ARCHITECTURE.md
python tools/house.py --tree     writes the tree alone: each file with the first line of its docstring
python tools/house.py --check    fails if constants of different values share a name, or the tree is not current; writes nothing

Nothing else is a gate. 0.2.0 had maxima for files, functions and folders, and they bred fragments: 271 modules, of which one
analysis ran 116. A number here is a question, and the reader of the code answers it.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

CLASHES = 0
"""Names of module-level constants that have different values in different modules. This number only ever goes down."""

SMALL = 80
"""Lines below which a module that one other imports may as well stand in it."""
LONG = 150
"""Lines from which a module without a comment is listed."""
SHOWN = 12
"""Names told of each kind."""

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dpselect"
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
COUNTS = "<!-- house: written by `make house` -->", "<!-- end of house -->"
TREE = "<!-- tree: written by `python tools/house.py --tree` -->", "<!-- end of tree -->"
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
ARITHMETIC = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
"""What may be in a number that is written as a sum: 4 << 20 and 4 * 2**20 are one value."""


@dataclass
class Module:
    """A file, what it imports by which name, and what it defines."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    bound: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """Its length."""
        return len(self.text.splitlines())

    @property
    def functions(self) -> set[str]:
        """The public ones that stand in the module itself."""
        found = (each for each in self.tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        return {f"{self.name}.{each.name}" for each in found if not each.name.startswith("_")}

    @property
    def constants(self) -> list[tuple[str, str]]:
        """Name and value, as text, of what is assigned in the module itself and written in capitals; type variables are none."""
        found = []
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                pairs = _pairs(node.target, node.value)
            else:
                continue
            found += [(name, value) for name, value in pairs if CONSTANT.fullmatch(name) and "TypeVar(" not in value]
        return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, str]]:
    if isinstance(target, ast.Name):
        arithmetic = all(isinstance(each, ARITHMETIC) for each in ast.walk(value))
        return [(target.id, repr(eval(ast.unparse(value))) if arithmetic else ast.unparse(value))]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for each in zip(target.elts, value.elts, strict=True) for pair in _pairs(*each)]
    return []


def read_package(source: Path) -> dict[str, Module]:
    """All modules below a folder, with what their imports mean."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        modules[name] = Module(name, path, text, ast.parse(text))
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                module.bound |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            elif isinstance(node, ast.Import):
                module.bound |= {each.asname: each.name for each in node.names if each.asname}
                module.bound |= {each.name.partition(".")[0]: each.name.partition(".")[0] for each in node.names}
    return modules


def importers(modules: dict[str, Module]) -> dict[str, set[str]]:
    """{module: those that import it, or something from it}."""
    found = defaultdict(set)
    for module in modules.values():
        for target in module.bound.values():
            place = target if target in modules else target.rpartition(".")[0]
            if place in modules and place != module.name:
                found[place].add(module.name)
    return found


def callers(modules: dict[str, Module]) -> dict[str, Counter]:
    """{public function: how often each module mentions it}."""
    functions = {each for module in modules.values() for each in module.functions}
    found = {each: Counter() for each in functions}
    for module in modules.values():
        for node in ast.walk(module.tree):
            mentioned = _mentioned(node, module)
            if mentioned in functions:
                found[mentioned][module.name] += 1
    return found


def _mentioned(node: ast.AST, module: Module) -> str:
    """The full name of what a name, or an attribute of a module, stands for; an inner part of a longer one matches nothing."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return module.bound.get(node.id, f"{module.name}.{node.id}")
    if isinstance(node, ast.Attribute):
        parts = ast.unparse(node).split(".")
        return ".".join([module.bound.get(parts[0], ""), *parts[1:]])
    return ""


def one_caller(modules: dict[str, Module]) -> list[str]:
    """The public functions that one line of one other module mentions; what the package itself exports has callers outside."""
    exported = re.findall(r"\"(\w+)\"", modules["dpselect"].text) if "dpselect" in modules else []
    return sorted(
        function
        for function, found in callers(modules).items()
        if found.total() == 1
        and function.rpartition(".")[0] not in found
        and function.rpartition(".")[2] not in exported
    )


def clashes(modules: dict[str, Module]) -> dict[str, dict[str, list[str]]]:
    """{name: {value: modules}} of the constants that have different values in different modules."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for module in modules.values():
        for name, value in module.constants:
            found[name][value].append(module.name)
    return {name: values for name, values in sorted(found.items()) if len(values) > 1}


def import_lines(module: Module) -> int:
    """The lines that imports take."""
    nodes = (each for each in ast.walk(module.tree) if isinstance(each, ast.Import | ast.ImportFrom))
    return sum(each.end_lineno - each.lineno + 1 for each in nodes)


def comments_and_code(module: Module) -> tuple[int, int]:
    """Comments, and lines of code: those with a token that is neither a comment nor a text that stands for itself."""
    alone = {
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    comments, code = 0, set()
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            comments += 1
        elif token.type not in layout:
            code |= set(range(token.start[0], token.end[0] + 1))
    return comments, len(code - alone)


def survey(source: Path) -> list[tuple[str, str, list[str]]]:
    """What was counted: what, how many, and the names behind it, the worst first."""
    modules = read_package(source)
    whole = {name: each for name, each in modules.items() if each.path.stem not in ("__init__", "__main__")}
    lines = sum(each.lines for each in modules.values())
    asked = importers(modules)
    few = sorted((each.lines, name) for name, each in whole.items() if len(asked[name]) == 1 and each.lines < SMALL)
    functions, single = sum(len(each.functions) for each in modules.values()), one_caller(modules)
    spoken = {name: comments_and_code(each) for name, each in whole.items()}
    silent = sorted(((whole[name].lines, name) for name, (said, _) in spoken.items() if not said), reverse=True)
    comments, code = (sum(each) for each in zip(*spoken.values(), strict=True))
    by_size = sorted(((each.lines, name) for name, each in modules.items()), reverse=True)
    in_c = sorted(((len(path.read_text().splitlines()), path.name) for path in source.rglob("*.[ch]")), reverse=True)
    return [
        ("modules", f"{len(whole):,}", []),
        ("lines of Python", f"{lines:,}", _sized(by_size)),
        ("lines of C", f"{sum(size for size, _ in in_c):,}", _sized(in_c)),
        (f"modules below {SMALL} lines that one other imports", f"{len(few)}", [f"{n} ({size})" for size, n in few]),
        ("public functions with one caller, in another module", _of(len(single), functions), single),
        ("names of constants with several values", f"{len(clashes(modules))}", _clashing(clashes(modules))),
        ("lines that are imports", _of(sum(map(import_lines, modules.values())), lines), []),
        ("comments a hundred lines of code", f"{100 * comments / code:.1f}", []),
        (
            f"modules from {LONG} lines on without a comment",
            f"{sum(size >= LONG for size, _ in silent)}",
            _sized([each for each in silent if each[0] >= LONG]),
        ),
    ]


def _of(some: int, whole: int) -> str:
    return f"{some:,} of {whole:,} ({some / whole:.0%})"


def _sized(found: list[tuple[int, str]]) -> list[str]:
    return [f"{name} ({size})" for size, name in found]


def _clashing(found: dict[str, dict[str, list[str]]]) -> list[str]:
    def told(value: str, homes: list[str]) -> str:
        return f"{value if len(value) <= 24 else value[:21] + '...'} in {', '.join(homes)}"

    most = sorted(found.items(), key=lambda each: -len(each[1]))
    return [f"{name}: {'; '.join(told(*each) for each in values.items())}" for name, values in most]


def of_one_release() -> list[tuple[str, str, list[str]]]:
    """What the walk of `dpselect analyze` says of the house."""
    from walk import ROLES, walk

    counts = walk("analyze", ROOT / "src")["counts"]
    again = [f"{role} ({counts[role]})" for role in ROLES if counts[role] > 1]
    return [
        ("modules that one `analyze` runs", f"{counts['modules run']} of {counts['modules loaded']} loaded", []),
        ("facts that it derives more than once", f"{len(again)} of {len(ROLES)} followed", again),
    ]


def counts_table(found: list[tuple[str, str, list[str]]]) -> str:
    """The counts, without the names behind them, which change with every commit."""
    return "\n".join(["| what | how many |", "|---|---:|", *(f"| {what} | {count} |" for what, count, _ in found)])


def tree(package: Path) -> str:
    """Every file with the first line of its docstring; what a folder holds is said by its __init__."""
    lines = ["```text", f"src/{package.name}/"]
    for folder in sorted(path for path in (package, *package.rglob("*/")) if (path / "__init__.py").exists()):
        depth = len(folder.relative_to(package).parts)
        if depth:
            lines += ["", _line(depth, folder.name + "/", folder / "__init__.py")]
        files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py" or not depth)
        lines += [_line(depth + 1, path.name, path) for path in files]
    return "\n".join([*lines, "```"])


def tree_told() -> str:
    """The tree as the page has it."""
    return PAGE.read_text(encoding="utf-8").partition(TREE[0])[2].partition(TREE[1])[0].strip()


def _line(depth: int, name: str, file: Path) -> str:
    told = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    return f"{'  ' * depth + name:30}{re.sub(r'^(Public|Private|Confidential)[.] ', '', told)}"


def write(content: str, markers: tuple[str, str]) -> None:
    """Put it between its markers."""
    opened, closed = markers
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(opened)
    if closed not in rest:
        raise SystemExit(f"{PAGE.name} has no {opened} with a {closed} after it, so nothing was written there.")
    PAGE.write_text(f"{head}{opened}\n{content}\n{closed}{rest.partition(closed)[2]}", encoding="utf-8")


def main() -> int:
    """Count, print, write; or the tree alone; or check the gates."""
    parser = argparse.ArgumentParser(prog="python tools/house.py", description="What hurts who lives here, counted.")
    parser.add_argument(
        "--check", action="store_true", help="the gates: constants that share a name, a tree that is stale"
    )
    parser.add_argument("--all", action="store_true", help=f"print all names, not {SHOWN} of each kind")
    parser.add_argument("--tree", action="store_true", help="write the tree alone")
    asked = parser.parse_args()
    if asked.check:
        clashing = clashes(read_package(ROOT / "src"))
        if len(clashing) > CLASHES:
            print("\n".join(_clashing(clashing)))
            print(
                f"{len(clashing)} names of constants have several values, and at most {CLASHES} may: say the quantity."
            )
        elif len(clashing) < CLASHES:
            print(f"{len(clashing)} names of constants have several values: lower CLASHES in tools/house.py to that.")
        stale = tree_told() != tree(PACKAGE)
        if stale:
            print(f"The tree in docs/{PAGE.name} is not current; write it anew: python tools/house.py --tree")
        return len(clashing) > CLASHES or stale
    write(tree(PACKAGE), TREE)
    if asked.tree:
        return 0
    found = [*of_one_release(), *survey(ROOT / "src")]
    for what, count, names in found:
        print(f"{what}: {count}")
        shown = names if asked.all else names[:SHOWN]
        print("".join(f"    {name}\n" for name in shown), end="")
        if len(shown) < len(names):
            print(f"    and {len(names) - len(shown)} more: --all")
    write(counts_table(found), COUNTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
