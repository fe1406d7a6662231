"""The surface: what the outside world relies on, and what importing it costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect
from dpselect import errors

HEAVY = (
    "opendp",
    "pandas",
    "polars",
    "sklearn",
    "matplotlib",
    "scipy",
    "pyarrow",
    "duckdb",
    "pyspark",
    "jinja2",
    "rich",
)


def test_every_public_name_can_be_had():
    for name in dpselect.__all__:
        assert getattr(dpselect, name) is not None
    assert set(dpselect.__all__) <= set(dir(dpselect))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'pclss'"):
        dpselect.pclss  # noqa: B018


@pytest.mark.parametrize("name", ["StudyError", "DataError", "BudgetExceeded", "LedgerError"])
def test_the_error_tree_has_one_root(name):
    assert issubclass(getattr(errors, name), dpselect.DpselectError)
    assert getattr(dpselect, name) is getattr(errors, name)


def test_importing_dpselect_imports_nothing_heavy():
    code = f"import sys, dpselect; print([m for m in {HEAVY!r} if m in sys.modules])"
    here = {**os.environ, "PYTHONPATH": str(Path(dpselect.__file__).parents[1])}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=here)
    assert result.stdout.strip() == "[]"
