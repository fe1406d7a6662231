"""The field, side by side in one run: prints tables and writes them into docs/COMPARISONS.md.

python -m benchmarks.field [--full] [--only NAME ...] [--dry]

Quick by default, under three minutes of one core; --full has more draws and tables. Rivals and made-up tables have fixed seeds;
dpselect's noise comes from the operating system and has none, so its numbers differ a little from run to run.
"""

import argparse
import os
import time
from datetime import UTC, datetime

# One thread each, so that processor time is comparable; before NumPy is imported.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.field import estimates, kendall, libraries, page, selection, short, tables

CPS_EPSILONS = (1.0, 3.0, 10.0)


Found = tuple[dict[str, str], list[short.Duel]]
"""Blocks of the page by name, and rows of its first table."""


def real(full: bool) -> Found:
    results = selection.on_real_tables(50 if full else 4)
    agreed = selection.leaps_agrees(results)
    said = (
        "R's leaps is not installed here, so the exhaustive search stands for it."
        if agreed is None
        else f"R's leaps finds the same model as the exhaustive search on {agreed[0]} of {agreed[1]} tables."
    )
    blocks = {"real": f"{page.real(results)}\n\n{said}", "tables": page.by_table(results)}
    return blocks, short.of_selection(results)


def wide(full: bool) -> Found:
    narrow = [(100, n) for n in ((2000, 2500, 3000, 4000, 5000) if full else (2000, 3000, 4000))]
    found = selection.against_top_r(narrow, 10 if full else 2, 60)
    broad = [(p, n) for p in (1000, 10_000) for n in ((3000, 4000, 5000, 6000) if full else (4000,))]
    found += selection.against_top_r(broad, 3 if full else 1, 120 if full else 30)
    if full:
        walks = selection.against_walk((1.0, 3.0, 5.0, 10.0), tables=5, steps=100_000, limit=120)
    else:
        walks = selection.against_walk((1.0, 10.0), tables=1, steps=30_000, limit=15)
    return {"wide": page.wide(found), "walk": page.walk(walks)}, short.of_wide(found)


def ties(full: bool) -> Found:
    sizes = (100, 1000, 10_000, 100_000)
    return {"ties": page.ties({n: kendall.move_with_ties(n) for n in sizes})}, []


def readme(full: bool) -> Found:
    lines = estimates.in_binagg_setting((500, 2000, 10_000), 60 if full else 8)
    return {"readme": page.readme(lines)}, short.of_lines(lines, "BinAgg's setting")


def wages(full: bool) -> Found:
    table = tables.wages()
    if table is None:
        print("CPS wages: left out, its file is not beside the project.")
        return {}, []
    draws = 40 if full else 4
    lines = estimates.on_table(table, CPS_EPSILONS, draws)
    published = {epsilon: estimates.noisy_ols_as_published(table, epsilon, 20) for epsilon in (10.0, 100.0)}
    lengths = estimates.length_by_slope(table, CPS_EPSILONS, draws)
    return {"wages": page.wages(lines, lengths, published)}, short.of_lines(lines, "CPS wages")


def models(full: bool) -> Found:
    lines = estimates.on_real_tables(20 if full else 3)
    return {"models": page.models(lines)}, short.of_lines(lines, "BIC's models of the real tables")


PARTS = {each.__name__: each for each in (real, ties, wide, readme, wages, models)}


def how(full: bool, seconds: float) -> str:
    """What was run, when, and what could not be."""
    problem = libraries.diffprivlib_problem()
    kind, day = "full" if full else "quick", f"{datetime.now(UTC):%Y-%m-%d}"
    lines = [
        f"- Run: {kind}, {day}, {seconds:.0f} s of one core; {libraries.versions()}.",
        f"- Not on PyPI, so written anew from paper and code: {', '.join(libraries.NOT_ON_PYPI)}.",
        f"- diffprivlib: {problem or 'run'}.",
        "- Not run: R's DPrivStats, FDPCox and SimBaRepro (not installed here), Gurobi (a licence).",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field")
    parser.add_argument("--full", action="store_true", help="more draws and tables: half an hour")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts alone")
    parser.add_argument("--dry", action="store_true", help="print, and leave the page as it is")
    asked = parser.parse_args()
    began, blocks, duels = time.process_time(), {}, []
    for part in asked.only or PARTS:
        found, more = PARTS[part](asked.full)
        blocks |= found
        duels += more
        for name, body in found.items():
            print(f"\n{name}\n\n{body}", flush=True)
    print(f"\nshort\n\n{page.short(duels)}")
    if not asked.only:
        children = os.times().children_user + os.times().children_system
        blocks |= {"short": page.short(duels), "how": how(asked.full, time.process_time() - began + children)}
        print(f"\n{blocks['how']}")
    if not asked.dry:
        page.write(blocks)


if __name__ == "__main__":
    main()
