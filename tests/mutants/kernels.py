"""`python tests/mutants/kernels.py [WORD ...]`: faults in the C sources, one by one, against the tests of their twins.

A copy of the sources is changed and one extension is built from it; the tests then run in a tree that has it. WORD picks the
faults whose file has it in its name. Exit code 1: one survived without a reason.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path

from faults import SOURCE
from kernel_faults import FAULTS, KernelFault
from order import Quickest
from plant import changed_tree, run

PACKAGE = SOURCE / "dpselect"
PROCESSOR_SECONDS = 240
"""For the tests of one fault; one that is slower than that is noticed too."""
FLAGS = ("-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-Wno-psabi", "-w")
CERTIFICATE_FLAGS = ("-O1", "-fPIC", "-shared", "-fno-math-errno", "-Wno-psabi", "-w")
"""As setup.py has them, but for less of what takes a compiler's time."""
GRID = ["tests/gather/test_grid.py", "tests/gather/sources/test_text_bytes.py"]
ROUNDS = ["tests/gather/test_rounds_twins.py", "tests/gather/test_rounds.py"]
VOTES = ["tests/minimize/votes/test_votes.py"]
EDGES = ["tests/minimize/votes/test_edges.py", "tests/penalize/test_edges.py"]
SUMS = ["tests/gather/test_block_sums.py", "tests/gather/test_blocks.py", "tests/claims/test_block_independence.py"]
LATTICE = [
    *(f"tests/minimize/losses/test_lattice{each}.py" for each in ("_twins", "_certificate", "")),
    "tests/claims/test_kernel.py",
]
TERMS = ["tests/minimize/losses/test_terms.py"]
BUILT = {
    "gather/_grid": ("dpselect.gather._grid", "gather/_grid.c", GRID),
    "gather/_blocks": ("dpselect.gather._blocks", "gather/_blocks.c", SUMS),
    "gather/_rounds": ("dpselect.gather._rounds", "gather/_rounds.c", ROUNDS),
    "minimize/votes/_votes": ("dpselect.minimize.votes._votes", "minimize/votes/_votes.c", VOTES),
    "minimize/votes/_edges": ("dpselect.minimize.votes._edges", "minimize/votes/_edges.c", EDGES),
    "minimize/losses/kernel": ("dpselect.minimize.losses._lattice", "minimize/losses/kernel/lattice.c", LATTICE),
    "minimize/losses/kernel/t": ("dpselect.minimize.losses._terms", "minimize/losses/kernel/terms.c", TERMS),
    "minimize/losses/kernel/a": ("dpselect.minimize.losses._terms", "minimize/losses/kernel/terms.c", TERMS),
}
"""By how the path of a file begins: the extension, its source, and the tests that compare it with NumPy."""


def build(fault: KernelFault | None, start: str, folder: Path) -> bytes:
    """One extension from the changed sources; a fault whose line is not there, or not once, stops all."""
    _, source, _ = BUILT[start]
    copy = folder / "dpselect"
    shutil.copytree(PACKAGE, copy, ignore=lambda _, names: [n for n in names if Path(n).suffix not in ("", ".c", ".h")])
    if fault is not None:
        text = (copy / fault.file).read_text(encoding="utf-8")
        if text.count(fault.was) != 1:
            raise SystemExit(f"{fault.file} has {fault.was!r} {text.count(fault.was)} times: mend kernel_faults.py.")
        (copy / fault.file).write_text(text.replace(fault.was, fault.becomes), encoding="utf-8")
    library = folder / "built.so"
    flags = CERTIFICATE_FLAGS if "kernel" in source else FLAGS
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run(["cc", *flags, include, "-o", library, copy / source, "-lm"], check=True)
    return library.read_bytes()


def tried(fault: KernelFault | None, start: str) -> str:
    """Which test noticed the fault, "too slow", or nothing."""
    name, _, tests = BUILT[start]
    with tempfile.TemporaryDirectory() as folder:
        library = build(fault, start, Path(folder))
    with changed_tree({f"{name.replace('.', '/')}.abi3.so": library}) as tree:
        seen = run(tests, tree, PROCESSOR_SECONDS, Quickest({}))
    return {"failed": seen.by, "passed": ""}.get(seen.outcome, seen.outcome)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/mutants/kernels.py", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    words = parser.parse_args().words
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    counts: Counter[str] = Counter()
    sound: dict[str, str] = {}
    for fault in FAULTS:
        if words and not any(word in fault.file for word in words):
            continue
        start = max((each for each in BUILT if fault.file.startswith(each)), key=len)
        if start not in sound:
            sound[start] = tried(None, start)
            if sound[start]:
                raise SystemExit(f"Without a fault, {sound[start]} fails: repair that first.")
        by = tried(fault, start)
        counts["noticed" if by else "equivalent" if fault.reason else "survived"] += 1
        line = f"{fault.file}: {fault.was!r} -> {fault.becomes!r}"
        print(f"{by or ('EQUIVALENT' if fault.reason else 'SURVIVED')}  {line}", flush=True)
    print(f"{counts.total()} faults: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return int(counts["survived"] > 0)


if __name__ == "__main__":
    sys.exit(main())
