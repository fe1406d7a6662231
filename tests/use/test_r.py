"""The R package in r/, installed by R itself and run over this command: a data frame in, a selection, a table and a figure out."""

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
