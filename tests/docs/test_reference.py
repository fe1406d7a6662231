"""The reference is made from docstrings: every public function and estimator lists each of its parameters, and no other."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import dpselect
from dpselect.gather.rows import gather

ROOT = Path(__file__).parents[2]
LISTED = [
    name
    for name in dpselect.__all__
    if name not in ("gather", "rehearse") and (inspect.isfunction(getattr(dpselect, name)) or name.endswith("Selector"))
]
PUBLIC = {name: getattr(dpselect, name) for name in LISTED} | {"gather": gather}


def section(text, title):
    """The names and types in a section of a docstring, and what is said of each."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return [] if found is None else re.findall(r"^(\S[^\n]*)\n((?:    [^\n]*\n?)+)", found[1] + "\n", re.MULTILINE)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_explained_and_no_other(name):
    value = PUBLIC[name]
    entries = section(inspect.getdoc(value), "Parameters")
    named = [each.strip() for head, _ in entries for each in head.partition(" : ")[0].split(",")]
    assert named == [each for each in inspect.signature(value).parameters if each != "self"] or set(named) == set(
        inspect.signature(value).parameters
    )
    assert all(" : " in head and said.strip() for head, said in entries)


@pytest.mark.parametrize("name", [name for name in PUBLIC if not name.endswith("Selector") and name != "save_moments"])
def test_what_a_function_returns_is_said(name):
    assert section(inspect.getdoc(PUBLIC[name]), "Returns")


def test_examples_become_code_and_parameters_a_list():
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.reference()
    part = text[text.index("## `select`") :].partition("\n## ")[0]
    assert "- `epsilon` (number or str): The privacy cost of this call" in part
    assert '```python\nselection = dpselect.select(frame, "income ~ .", epsilon=1)\nselection.directions\n```' in part
    assert "doctest" not in text and "----" not in text
    assert "- `lower`: Known without the rows" in text
