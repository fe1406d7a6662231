"""The R package in r/, installed by R itself and run over this command: a data frame in, a selection, a table and a figure out."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
R = shutil.which("R")


@pytest.mark.thorough
def test_the_r_package_installs_and_runs(tmp_path):
    if R is None or subprocess.run([R, "-s", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode:
        pytest.skip("R with jsonlite is not installed; with Debian: r-base-core and r-cran-jsonlite")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in (("dpselect", "-m dpselect"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (folder / name).chmod(0o755)
    here = {"R_LIBS": str(tmp_path), "DPSELECT": str(folder / "dpselect"), "PYTHONPATH": str(ROOT / "src")}
    run = {"env": {**os.environ, **here}, "capture_output": True, "text": True, "cwd": tmp_path}
    shutil.copytree(ROOT / "r", tmp_path / "source")
    done = subprocess.run([R, "CMD", "INSTALL", "-l", str(tmp_path), "source"], check=False, **run)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([R, "-s", "-f", str(ROOT / "r/tests/doors.R")], check=False, **run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Left out" not in done.stderr and "Selected 1 of 3 variables that explain income" in done.stdout


SAME = """
source("{root}/r/R/run.R"); source("{root}/r/R/methods.R")
fromJSON <- function(...) stop("arguments are written")
n <- 30
people <- data.frame(income = 1:n, visits = rep(1:3, n / 3), smoker = rep(c(TRUE, FALSE), n / 2),
                     region = factor(rep(c("north", "south"), n / 2)), name = sprintf("P%03d", 1:n))
{change}
try(dp_select(people, "income", epsilon = 1, predictors = c("visits", "smoker"),
              categories = list(region = c("north", "far, \\"west\\"")), ledger = "budget.db"), silent = TRUE)
"""
STRANGE = {
    "nothing": "",
    "text where read.csv found T and F": 'cells <- rep(c("T", "F"), n / 2); cells[2] <- "n/a"; people$smoker <- cells',
    "another level": 'levels(people$region) <- c("north", "south", "HIV"); people$region[2] <- "HIV"',
    "text in a number": 'people$visits <- as.character(people$visits); people$visits[2] <- "n/a"',
    "text in a logical": 'people$smoker <- as.character(people$smoker); people$smoker[2] <- "n/a"',
    "text in the response": 'people$income <- as.character(people$income); people$income[2] <- "1,5"',
    "a cell of a column that nobody named": "people$name <- factor(people$name); people$name[2] <- NA",
}


@pytest.mark.skipif(R is None, reason="R is not installed")
def test_one_cell_of_a_data_frame_decides_its_own_row_alone(tmp_path):
    """Types and levels of a frame are made from its rows: what R passes on may not follow from them."""
    command = tmp_path / "dpselect"
    command.write_text(
        '#!/bin/sh\ncp "$2" rows.csv; shift 2; for each; do printf "%s\\n" "$each"; done > arguments.txt\n'
    )
    command.chmod(0o755)
    found = {}
    for what, change in STRANGE.items():
        (tmp_path / "arguments.txt").unlink(missing_ok=True)
        done = subprocess.run(
            [R, "-s", "-e", SAME.format(root=ROOT, change=change)],
            env={**os.environ, "DPSELECT": str(command)}, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        with (tmp_path / "rows.csv").open() as file:
            found[what] = (tmp_path / "arguments.txt").read_text(), list(csv.reader(file))
    arguments, rows = found["nothing"]
    assert 'region="north","far, ""west"""' in arguments and '"visits","smoker","region"' in arguments
    assert len(rows) == 31 and set(rows[0]) == {"income", "visits", "smoker", "region"}
    assert {row[rows[0].index("smoker")] for row in rows[1:]} == {"0", "1"}
    for what, (its_arguments, its_rows) in found.items():
        assert its_arguments == arguments, what
        assert len(its_rows) == 31 and its_rows[0] == rows[0], what
        assert [j for j in range(31) if its_rows[j] != rows[j]] in ([], [2]), what


def test_the_version_is_the_same_everywhere():
    """0.3.0 in what is published; pyproject.toml follows when the release is made."""
    versions = {
        re.search(r"^Version: (\S+)", (ROOT / "r/DESCRIPTION").read_text(), re.MULTILINE)[1],
        re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1],
        re.search(r'"version": "([^"]+)"', (ROOT / "codemeta.json").read_text())[1],
        re.search(r'set version = "([^"]+)"', (ROOT / "packaging/conda/meta.yaml").read_text())[1],
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"],
    }
    assert versions == {"0.3.0"}
