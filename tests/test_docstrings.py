"""Docstrings keep their promises: every test that a docstring names exists, every value says who may see it."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted([*(ROOT / "src" / "dpselect").rglob("*.py"), *(ROOT / "paper").rglob("*.py")])


@functools.cache
def docstrings():
    """Of all modules, each parsed once."""
    return list(_docstrings())


def _docstrings():
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield module, node, ast.get_docstring(node) or ""


def test_every_named_test_exists():
    named = {path for _, _, text in docstrings() for path in re.findall(r"tests/[\w/]+\.py", text)}
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_every_dataclass_says_who_may_see_it():
    silent = [
        f"{module.name}:{node.name}"
        for module, node, text in docstrings()
        if isinstance(node, ast.ClassDef) and is_dataclass(node) and not text.startswith(("Public.", "Private."))
    ]
    assert silent == []


def test_every_private_dataclass_hides_its_values_when_printed():
    open_ones = [
        f"{module.name}:{node.name}"
        for module, node, text in docstrings()
        if isinstance(node, ast.ClassDef)
        and is_dataclass(node)
        and text.startswith("Private.")
        and not any(isinstance(each, ast.FunctionDef) and each.name == "__repr__" for each in node.body)
        and not any("repr=False" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    assert open_ones == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_names_a_machine_or_a_registry(module):
    text = module.read_text(encoding="utf-8")
    assert not re.search(r"(^|[^\w.])/(work|root|home)/", text)
    assert not re.search(r"https?://(pypi|files\.pythonhosted|deb\.debian|registry\.npmjs)", text)
