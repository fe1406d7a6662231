"""Changed inputs end in success or in one sentence: a few hundred for every reader here, more with `make fuzz`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).parent


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(FOLDER), *arguments], capture_output=True, text=True, check=False)


TARGETS = (
    "study moments answers csv parquet arrow stata spss sas report page ledger neighbour excel sheet opendocument table"
).split()


def test_every_reader_is_among_them():
    assert fuzz("--list").stdout.split() == TARGETS


@pytest.mark.skipif(os.name != "posix", reason="children are limited the POSIX way")
@pytest.mark.parametrize("target", TARGETS)
def test_every_changed_input_ends_in_success_or_one_sentence(target):
    done = fuzz("--inputs", "400", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 inputs, 0 faults" in done.stdout


FAULTY = """
import os, sys, time
sys.path.insert(0, {folder!r})
import targets
from target import Target
from dpselect.errors import DataError

def die(path): os.kill(os.getpid(), 11)
def raise_it(path): raise KeyError("x")
def two_lines(path): raise DataError("One line.\\nAnd another.")
def tell(path): raise DataError("The cell is 73.0625.")
def eat(path): bytearray(1_200_000_000)
def be_well(path): raise DataError("This is refused.")

for run in (die, raise_it, two_lines, tell, eat, be_well):
    targets.TARGETS[run.__name__] = Target(run.__name__, ".x", lambda: [b"seed"], run, secrets=("73.0625",))
sys.argv[0] = {folder!r}
import runpy
runpy.run_path({folder!r}, run_name="__main__")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured the Linux way")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("die", "the process died (SIGSEGV)"),
        ("raise_it", "KeyError"),
        ("two_lines", "control characters"),
        ("tell", "tells a cell"),
        ("eat", "MB of memory"),
        ("be_well", ""),
    ],
)
def test_each_kind_of_fault_is_found(name, fault, tmp_path):
    """The harness itself: a fault in every input of a target, and none in the last."""
    (tmp_path / "faulty.py").write_text(FAULTY.format(folder=str(FOLDER)))
    asked = [sys.executable, str(tmp_path / "faulty.py"), "--inputs", "2", name]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=False, env={**os.environ, "FUZZ": str(tmp_path / "faulty.py")}
    )
    assert done.stdout.count(fault) >= 2 and f"{2 if fault else 0} faults" in done.stdout, done.stdout + done.stderr
    assert done.returncode == (1 if fault else 0)
