"""The gate on coverage: lines and branches of each stage that tests ran, from .coverage, against the least that is allowed.

Run by `make coverage` and, after both halves of the tests, by CI: python tools/covered.py [--missing]
What runs in processes that tests start (the studio, programs that are killed, Spark's workers) is not seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "src/dpselect/"

LEAST = {
    "assume": 98,
    "gather": 94,
    "minimize": 96,
    "penalize": 97,
    "randomize": 98,
    "rehearse": 94,
    "release": 98,
    "report": 95,
    "use": 74,
}
"""Percent of lines and branches, a point or two below what `make test` alone reached.

The studio runs in processes that are not seen.
"""


def measured(files: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Of each stage how many lines and branches there are, and how many ran."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path, facts in files.items():
        stage = Path(path).as_posix().rpartition(PACKAGE)[2].partition("/")[0]
        counts = facts["summary"]
        found[stage][0] += counts["num_statements"] + counts["num_branches"]
        found[stage][1] += counts["covered_lines"] + counts["covered_branches"]
    return {stage: (whole, ran) for stage, (whole, ran) in found.items()}


def main(missing: bool) -> int:
    """Print one line a stage; 1 if one is below its least, or was not measured at all."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", file], cwd=ROOT, check=True)
        files = json.loads(file.read_text(encoding="utf-8"))["files"]
    stages, below = measured(files), []
    for stage, least in LEAST.items():
        whole, ran = stages.get(stage, (0, 0))
        share = 100 * ran / whole if whole else 0.0
        print(f"{stage:<10} {share:6.2f}% of {whole:,} lines and branches, at least {least}%")
        if not share >= least:
            below.append(stage)
    if missing or below:
        for path, facts in files.items():
            stage = Path(path).as_posix().rpartition(PACKAGE)[2].partition("/")[0]
            if (lines := facts["missing_lines"]) and (missing or stage in below):
                print(f"  {path}: {', '.join(map(str, lines))}")
    if below:
        print(f"Below the least: {', '.join(below)}.")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main("--missing" in sys.argv[1:]))
