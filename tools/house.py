"""The counts of the house: prints them, keeps docs/ARCHITECTURE.md true, and fails where a limit is broken.

python tools/house.py            writes the counts between the two markers of docs/ARCHITECTURE.md
python tools/house.py --check    writes nothing
"""

import argparse
import ast
import graphlib
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs/ARCHITECTURE.md"
OPEN, CLOSE = "<!-- house: written by `make house` -->", "<!-- end of house -->"
LIMITS = {"module": 250, "C file": 350, "function": 40, "folder": 12}


def lines_of(path):
    """How long a file is."""
    return len(path.read_text().splitlines())


def functions_of(tree):
    """(name, lines of its body) of every function; a docstring is no body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1


def imports_of(tree, modules):
    """The modules of the package that one names in its import statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in names]
        else:
            continue
        yield from (name for name in names if name in modules)


def cycle_in(trees):
    """The modules of an import cycle, or none."""
    graph = {name: set(imports_of(tree, trees)) - {name} for name, tree in trees.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def survey():
    """{what: [(size, name), ...]}, the largest first, and an import cycle if there is one."""
    paths = sorted(SOURCE.rglob("*.py"))
    trees = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text())
        for path in paths
    }
    in_c = [path for end in ("c", "h") for path in SOURCE.rglob(f"*.{end}")]
    folders = Counter(path.parent.relative_to(SOURCE).as_posix() for path in paths if path.name != "__init__.py")
    sizes = {
        "module": [(lines_of(path), path.relative_to(SOURCE).as_posix()) for path in paths],
        "C file": [(lines_of(path), path.relative_to(SOURCE).as_posix()) for path in in_c],
        "function": [(size, f"{m}.{name}") for m, tree in trees.items() for name, size in functions_of(tree)],
        "folder": [(count, name) for name, count in folders.items()],
    }
    return {what: sorted(found, reverse=True) for what, found in sizes.items()}, cycle_in(trees)


def page_of(sizes, cycle):
    """The counts as a table, without names that would change with every commit."""
    plural = {"module": "modules", "C file": "C files", "function": "functions", "folder": "folders"}
    unit = dict.fromkeys(sizes, "lines") | {"folder": "modules", "function": "lines of body"}
    rows = [
        f"| {plural[what]} | {len(found):,} | {found[0][0]} {unit[what]} | {LIMITS[what]} |"
        for what, found in sizes.items()
    ]
    heads = ["| what | how many | the largest | limit |", "|---|---|---|---|"]
    return "\n".join([*heads, *rows, f"| import cycles | {int(bool(cycle))} | | 0 |"])


def faults_of(sizes, cycle):
    """A sentence for every limit that is broken."""
    for what, found in sizes.items():
        yield from (
            f"{name}: {size}, and a {what} has at most {LIMITS[what]}" for size, name in found if size > LIMITS[what]
        )
    if cycle:
        yield "an import cycle: " + " -> ".join(cycle)


def write(table):
    """Put the table between the markers; whether they were there."""
    text = PAGE.read_text()
    if OPEN not in text or CLOSE not in text:
        return False
    before, rest = text.split(OPEN, 1)
    after = rest.split(CLOSE, 1)[1]
    PAGE.write_text(f"{before}{OPEN}\n{table}\n{CLOSE}{after}")
    return True


def main():
    """Count, write, and say what is broken."""
    parser = argparse.ArgumentParser(prog="python tools/house.py", description="The counts of the house.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    sizes, cycle = survey()
    table = page_of(sizes, cycle)
    print(table)
    if not parser.parse_args().check and not write(table):
        print(f"{PAGE.name} has no markers, so the counts were not written there")
    faults = list(faults_of(sizes, cycle))
    print("\n".join(faults), file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
