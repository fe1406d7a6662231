"""The experiments of Lei et al., with what comes out here beside what they say.

python -m paper fig1                             figures 1 to 4, or `all`: a picture, its points and a table of statements
python -m paper fig4 --data housing.csv.gz       figure 4 with the real rows; fig3 takes a prostate file
python -m paper headline --jobs 2                tables of docs/RESULTS.md: headline, heldout, more, formulas

Figures 3 and 4 show real rows without noise, as the paper does: with your own data they are for the custodian's eyes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dpselect.errors import DpselectError
from dpselect.rehearse.simulate import SEED
from dpselect.use.shell.files import require_apart
from paper.contest import CONTEST_TABLES
from paper.figures import ENDINGS, FIGURE_NAMES, run_figure


def main(given: Sequence[str] | None = None) -> int:
    """Run what is asked for; 2 and a sentence on stderr where it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*FIGURE_NAMES, "all", *CONTEST_TABLES])
    parser.add_argument("-o", "--output", default="paper-results", help="the folder for figures (paper-results)")
    parser.add_argument("--data", metavar="FILE", help="the housing file of fig4, or a prostate file for fig3")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; as many as cores unless stated"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of figures; same seed, same results, whatever --jobs")
    parser.add_argument(
        "--count", type=int, default=500, help="how many artificial tables stand behind a printed table"
    )
    asked = parser.parse_args(given)
    if asked.data is not None and asked.what not in ("fig3", "fig4"):
        parser.error("--data belongs to fig3 or fig4; name one of them.")
    if asked.jobs < 1 or asked.count < 1:
        parser.error("--jobs and --count must be at least 1.")
    began = time.perf_counter()
    try:
        if asked.what in CONTEST_TABLES:
            CONTEST_TABLES[asked.what](asked.count, asked.jobs)
        else:
            draw_figures(asked)
    except DpselectError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"({time.perf_counter() - began:.0f} s)")
    return 0


def draw_figures(asked: argparse.Namespace) -> None:
    """One figure or all, with the share that is done on a terminal."""
    names = FIGURE_NAMES if asked.what == "all" else (asked.what,)
    if asked.data is not None:
        written = [Path(asked.output) / f"{asked.what}{ending}" for ending in ENDINGS]
        require_apart(written, [(asked.data, "where the rows are")])
    for name in names:

        def progress(share: float, name: str = name) -> None:
            if sys.stderr.isatty():
                print(f"\r{name} {share:4.0%}", end="\n" if share >= 1 else "", file=sys.stderr, flush=True)

        print(run_figure(name, asked.output, data=asked.data, jobs=asked.jobs, seed=asked.seed, progress=progress))
    print(f"Figures and tables are in {asked.output}.")


if __name__ == "__main__":
    sys.exit(main())
