"""The command line starts fast: heavy libraries wait until they are needed. What is loaded is counted, for times are the machine's:
`python -m benchmarks.start_up` measures them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect.use import command_line

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(command_line.__file__).parents[2])}
NUMBERS = {"numpy", "pyarrow", "pandas", "polars", "narwhals", "opendp"}
OTHERS = {
    "scipy",
    "sklearn",
    "duckdb",
    "matplotlib",
    "jinja2",
    "starlette",
    "uvicorn",
    "psycopg",
    "pyspark",
    "dask",
    "openpyxl",
}
RUN = "from dpselect.use import command_line; assert command_line.run({!r}) == 0"
SELECT = ["select", "study.toml", "rows.csv", "--epsilon", "0.01", "-q", "--yes"]


def loaded(program):
    """The libraries that a fresh interpreter has loaded when a program has ended."""
    asked = f"import sys\n{program}\nprint('LOADED', *{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", asked], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    return set(line.split()[1:])


@pytest.fixture(autouse=True)
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bounds = "lower = 0\nupper = 1\n"
    Path("study.toml").write_text(f'[response]\nname = "y"\n{bounds}[[predictors]]\nname = "x"\n{bounds}')
    Path("rows.csv").write_text("x,y\n0.5,0.5\n0.2,0.1\n")


def test_help_needs_no_library_of_numbers():
    assert not loaded(RUN.format(["--help"])) & (NUMBERS | OTHERS)


EVERY_HELP = """from dpselect.use import command_line
for name in command_line.COMMANDS:
    for help in ("--help", *(["--help-advanced"] if name in ("select", "analyze", "check", "plan") else [])):
        assert command_line.run([name, help]) == 0
        heavy = {top for top in map(first, sys.modules) if top in NUMBERS | OTHERS}
        runs = {module for module in sys.modules if module.startswith(("dpselect.use.runs", "dpselect.release"))}
        assert not heavy | runs, f"{name} {help} imports {heavy | runs}"
"""


def test_no_help_of_a_command_needs_a_library_of_numbers_or_what_the_command_does():
    named = f"NUMBERS, OTHERS, first = {NUMBERS}, {OTHERS}, lambda module: module.partition('.')[0]\n"
    loaded(named + EVERY_HELP)


def test_a_small_selection_needs_no_library_but_those_of_its_numbers():
    with Path("study.toml").open("a") as study:
        study.write('[[predictors]]\nname = "c"\ncategories = ["u", "v"]\n')
    Path("rows.csv").write_text("x,y,c\n0.5,0.5,u\n0.2,0.1,v\n")
    found = loaded(RUN.format(SELECT))
    assert {"numpy", "pyarrow"} <= found  # it looks where there is something to see
    assert not found & (OTHERS | {"pandas", "polars"})  # though both are installed


def test_the_studio_starts_without_what_its_pages_do_not_need():
    found = loaded("import dpselect.use.studio.server")
    assert "starlette" in found
    assert not found & (OTHERS - {"starlette", "uvicorn"})
