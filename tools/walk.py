"""Walk the program that people use: the commands on a CSV and a study file, and a release in the studio.

python tools/walk.py                  prints what each runs, and how often each fact is derived
python tools/walk.py analyze check    prints these alone
python tools/walk.py --table          also writes the counts of 0.2.0 and of today into docs/ARCHITECTURE.md
python tools/walk.py --json           prints the counts and the functions in the order of their first call, for the tests
python tools/walk.py --tree DIRECTORY walks the package in another src; with --save FILE the counts are kept, as walk_020.json
                                      keeps those of 0.2.0

Every command runs by its own entry in a process of its own, cold (see follow.py), on a ledger that is open already.
"""

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROLES = {
    "design columns derived for one study": ["assume/*:design_columns"],
    "study hashed": ["assume/*:Study.hash", "assume/*:Assumptions.hash"],
    "study serialized": ["assume/*:Study.to_dict", "assume/*:Assumptions.to_dict"],
    "analysis planned": ["use/*:order_analysis"],
    "recipe made": ["assume/*:make_recipe"],
    "estimate planned": ["release/linear.py:plan_moments", "release/rounds/*:plan_rounds"],
    "equations solved": [
        "release/*:coefficients_from",
        "release/linear.py:solve_moments",
        "release/rounds/*:solve_rounds",
    ],
    "source opened": ["gather/*:open_stream"],
    "ledger opened": ["release/*:Ledger.__init__"],
    "charges": ["release/*:Ledger.charge", "release/*:Ledger.commit"],
}
"""What is derived: the functions that do it, as file:name with wildcards. Each role must be met in `analyze`, or the walk fails."""

ONE_A_VALUE = {"design columns derived for one study"}
"""Roles that are counted for each of the arguments they are asked with; the largest count is told."""

PRICE = {"epsilon": "4", "delta": "1e-6"}
PAID = ["--epsilon", PRICE["epsilon"], "--yes"]
ANALYZE = ["analyze", "study.toml", "people.csv", *PAID, "--delta", PRICE["delta"]]
COMMANDS = {
    "analyze": ANALYZE,
    "select": ["select", "study.toml", "people.csv", *PAID],
    "check": ["check", "study.toml", "people.csv", "--epsilon", PRICE["epsilon"]],
    "plan": ["plan", "study.toml", "--rows", "4000", "--epsilon", PRICE["epsilon"], "--delta", PRICE["delta"]],
    "verify": ["verify", "report.html", "--ledger", "people.budget.db"],
    "studio": ["studio", "study.toml", "--no-browser"],
}
OPEN_LEDGER = ["budget", "people.budget.db", "--open", "--epsilon", "10", "--delta", "1e-5"]
BEFOREHAND = {"analyze": [OPEN_LEDGER], "select": [OPEN_LEDGER], "verify": [OPEN_LEDGER, ANALYZE]}
"""What is run in the folder first, and not followed. The studio opens its ledger itself."""

ROWS = 4000
ROOT = Path(__file__).parents[1]
BEFORE = Path(__file__).with_name("walk_020.json")
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
OPEN, CLOSE = "<!-- walks: written by `make walk` -->", "<!-- end of walks -->"


def write_study(folder, categories="categories"):
    """A made-up table of people, whose income goes so clearly with four of five columns that a run takes the same way each time."""
    chance = random.Random(22)
    lines = ["income,age,school,height,region,member"]
    for _ in range(ROWS):
        age, school, height = chance.uniform(18, 80), chance.uniform(0, 20), chance.uniform(140, 210)
        region, member = chance.choice(["north", "south", "east"]), chance.choice(["no", "yes"])
        income = 10 + 0.5 * age + 1.5 * school + 12 * (region == "south") + 9 * (member == "yes") + chance.gauss(0, 4)
        lines.append(f"{income:.2f},{age:.1f},{school:.1f},{height:.1f},{region},{member}")
    Path(folder, "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    bounds = {"age": (18, 80), "school": (0, 20), "height": (140, 210)}
    numbers = [
        f'[[predictors]]\nname = "{name}"\nlower = {low}\nupper = {high}' for name, (low, high) in bounds.items()
    ]
    rest = [
        f'[[predictors]]\nname = "region"\n{categories} = ["north", "south", "east"]',
        f'[[predictors]]\nname = "member"\nkind = "binary"\n{categories} = ["no", "yes"]',
    ]
    response = '[response]\nname = "income"\nlower = 0\nupper = 120'
    Path(folder, "study.toml").write_text("\n".join([response, *numbers, *rest]) + "\n", encoding="utf-8")


def walk(name, tree):
    """What one command runs: its counts, its functions by their first call, and where it crosses from use/ into a stage."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "120"}
    with tempfile.TemporaryDirectory() as folder:
        is_020 = (tree / "dpselect/assume/study/assumptions.py").exists()
        write_study(folder, "levels" if is_020 else "categories")
        for words in BEFOREHAND.get(name, ()):
            _run([sys.executable, "-m", "dpselect", *words], folder, environment)
        _run([sys.executable, str(Path(__file__).absolute()), "--follow", name], folder, environment)
        return json.loads(Path(folder, "walk.json").read_text(encoding="utf-8"))


def _run(words, folder, environment):
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(words[1:])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def follow(name):
    """In the process of its own: follow the command, and leave the walk in the folder."""
    from importlib.util import find_spec

    from follow import Browser, Walk, run_command

    package = Path(find_spec("dpselect").origin).parent  # found, not imported
    the_walk, printed = Walk(package, ROLES, ONE_A_VALUE, "people.csv"), io.StringIO()
    the_walk.watch_the_world()
    browser = Browser(the_walk, printed, "people.csv", PRICE) if name == "studio" else None
    if browser is not None:
        browser.start()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), the_walk.followed():
        code = run_command(COMMANDS[name])
    problem = browser.problem if browser is not None else ""
    if code or problem:
        sys.exit(f"{problem}\n{printed.getvalue()}\nexit code {code}")
    found = {
        "counts": the_walk.counts(),
        "functions": dict(the_walk.functions),
        "crossings": the_walk.crossings,
    }
    Path("walk.json").write_text(json.dumps(found), encoding="utf-8")


def require_roles(counts):
    """A role that nothing plays any more was renamed: its count would be 0, and every bound would hold."""
    lost = [what for what, count in counts.items() if not count]
    if lost:
        raise SystemExit(
            f"Nothing in `analyze` plays these roles: {', '.join(lost)}. Name the functions that do it now, in ROLES of "
            "tools/walk.py."
        )


def lines_of(walks):
    """The counts as lines of text, one a count and one column a command."""
    what = next(iter(walks.values()))["counts"]
    width = max(map(len, what))
    yield " " * width + "".join(f"{name:>10}" for name in walks)
    for each in what:
        yield f"{each:<{width}}" + "".join(f"{walk['counts'][each]:>10,}" for walk in walks.values())


def table_of(walks):
    """The counts of 0.2.0 and of today, as Markdown."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    yield f"| 0.2.0 → today | {' | '.join(walks)} |"
    yield "|---|" + "---:|" * len(walks)
    for what in next(iter(walks.values()))["counts"]:
        cells = [f"{before[name][what]:,} → {walk['counts'][what]:,}" for name, walk in walks.items()]
        yield f"| {what} | {' | '.join(cells)} |"


def write(table):
    """Put the table between its markers."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(OPEN)
    if CLOSE not in rest:
        raise SystemExit(f"{PAGE.name} has no {OPEN} with a {CLOSE} after it, so the walks were not written there.")
    PAGE.write_text(f"{head}{OPEN}\n{table}\n{CLOSE}{rest.partition(CLOSE)[2]}", encoding="utf-8")


def main():
    """Walk, check the roles, print, and write where it is asked for."""
    parser = argparse.ArgumentParser(prog="python tools/walk.py", description="Walk the program that people use.")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"some of {', '.join(COMMANDS)}; all if none")
    parser.add_argument(
        "--tree", type=Path, default=ROOT / "src", metavar="DIRECTORY", help="walk the package in this src"
    )
    parser.add_argument("--json", action="store_true", help="print all as JSON")
    parser.add_argument("--table", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the counts as JSON")
    parser.add_argument("--follow", metavar="COMMAND", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.follow:
        return follow(asked.follow)
    walks = {name: walk(name, asked.tree.absolute()) for name in asked.commands or COMMANDS}
    if "analyze" in walks:
        require_roles(walks["analyze"]["counts"])
    print(json.dumps(walks) if asked.json else "\n".join(lines_of(walks)))
    if asked.save:
        counts = {name: each["counts"] for name, each in walks.items()}
        asked.save.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    if asked.table:
        write("\n".join(table_of(walks)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
