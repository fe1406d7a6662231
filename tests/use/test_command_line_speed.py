"""The command line starts fast: heavy libraries wait until they are needed. Times of processors, as ratios in one run."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from dpselect.use import command_line

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(command_line.__file__).parents[2]),
    "OPENBLAS_NUM_THREADS": "1",
}


def seconds(*arguments, tries=5):
    """The least time that the processor spent on a fresh interpreter."""
    spent = []
    for _ in range(tries):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=ENVIRONMENT, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def test_help_takes_no_longer_than_importing_numpy():
    numpy = seconds("-c", "import numpy")
    assert seconds("-m", "dpselect.use.command_line", "--help") < 1.5 * numpy  # measured: 0.6


def test_a_small_selection_takes_a_few_imports_of_numpy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bounds = "lower = 0\nupper = 1\n"
    Path("study.toml").write_text(f'[response]\nname = "y"\n{bounds}[[predictors]]\nname = "x"\n{bounds}')
    Path("rows.csv").write_text("x,y\n0.5,0.5\n0.2,0.1\n")
    numpy = seconds("-c", "import numpy")
    asked = ("-m", "dpselect.use.command_line", "select", "study.toml", "rows.csv", "--epsilon", "0.01")
    assert seconds(*asked, tries=3) < 12 * numpy  # measured: 5
