"""Whole runs on made-up studies of every kind: some here, more with `make runs`."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.thorough
def test_each_run_ends_in_a_report_that_verifies_or_in_one_sentence():
    """Their noise is drawn anew each time, so a fault here is one that a user could meet."""
    done = subprocess.run(
        [sys.executable, str(FOLDER), "--runs", "60", "--first", "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "faults" not in done.stdout and " verified" in done.stdout
