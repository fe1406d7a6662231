"""tools/house.py counts what it says it counts, on a house of a few small rooms."""

import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

sys.path.remove(str(ROOT / "tools"))

ROOMS = {
    "dpselect/__init__.py": '"""All."""\n_HOMES = {"exported": "low"}\n',
    "dpselect/low.py": '''"""Low."""

MOST = 3
SIZES, CHUNK = (1, 2), 1 << 10
T = TypeVar("T")

def exported(): ...
def once(): ...
def twice(): ...
def at_home(): return at_home_too()
def at_home_too(): ...
def never(): ...
def _hidden(): ...
''',
    "dpselect/middle.py": '''"""Middle."""

from dpselect.low import (
    exported,
    once,
)
import os

MOST: int = 4
CHUNK = 4 * 2**8
SIZES = (1, 3)
T = TypeVar("T", bound=int)

def run():
    """Run."""
    # A comment.
    exported()
    return once()
''',
    "dpselect/high.py": '''"""High."""

from dpselect import low, middle

low.twice(), low.twice()
middle.run()
MOST = 4
''',
}


@pytest.fixture
def modules(tmp_path):
    for name, text in ROOMS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return house.read_package(tmp_path)


def test_constants_of_one_name_and_several_values(modules):
    assert {name: dict(values) for name, values in house.clashes(modules).items()} == {
        "MOST": {"3": ["dpselect.low"], "4": ["dpselect.high", "dpselect.middle"]},
        "SIZES": {"(1, 2)": ["dpselect.low"], "(1, 3)": ["dpselect.middle"]},
    }


def test_public_functions_with_one_caller_elsewhere(modules):
    assert house.one_caller(modules) == ["dpselect.low.once", "dpselect.middle.run"]


def test_who_imports_whom(modules):
    assert dict(house.importers(modules)) == {
        "dpselect.low": {"dpselect.middle", "dpselect.high"},
        "dpselect.middle": {"dpselect.high"},
    }


def test_imports_comments_and_code(modules):
    assert house.import_lines(modules["dpselect.middle"]) == 5
    assert house.comments_and_code(modules["dpselect.middle"]) == (1, 12)


def test_the_survey_tells_all_of_it(tmp_path, modules):
    found = {what: (count, names) for what, count, names in house.survey(tmp_path)}
    assert found["modules"] == ("3", [])
    assert found["modules below 80 lines that one other imports"] == ("1", ["dpselect.middle (18)"])
    assert found["names of constants with several values"][0] == "2"
    assert found["public functions with one caller, in another module"][0] == "2 of 7 (29%)"


def test_the_gate_lets_no_new_clash_in(modules, monkeypatch, capsys):
    monkeypatch.setattr(house, "read_package", lambda source: modules)
    monkeypatch.setattr(house, "tree", lambda package: house.tree_told())  # the other gate, which is open
    monkeypatch.setattr(sys, "argv", ["house.py", "--check"])
    monkeypatch.setattr(house, "CLASHES", 2)
    assert not house.main()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(house, "CLASHES", 1)
    assert house.main()
    assert "MOST: 4 in dpselect.high, dpselect.middle; 3 in dpselect.low" in capsys.readouterr().out
    monkeypatch.setattr(house, "CLASHES", 3)
    assert not house.main()
    assert "lower CLASHES" in capsys.readouterr().out


def test_the_tree_is_the_docstrings(tmp_path):
    package = tmp_path / "dpselect"
    for name, text in {
        "__init__.py": '"""All."""',
        "top.py": '"""Private. Top: one line.\n\nAnd more."""',
        "room/__init__.py": '"""A room."""',
        "room/mute.py": "",
        "room/data/notes.txt": "no module",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert [line.split(maxsplit=1) for line in house.tree(package).splitlines()[2:-1]] == [
        ["__init__.py", "All."],
        ["top.py", "Top: one line."],
        [],
        ["room/", "A room."],
        ["mute.py"],
    ]


def test_the_tree_in_the_docs_is_current():
    assert house.tree_told() == house.tree(house.PACKAGE), "write it anew: python tools/house.py --tree"


def test_a_tree_that_is_not_current_does_not_pass_the_gate(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "ARCHITECTURE.md"
    stale.write_text(house.PAGE.read_text(encoding="utf-8").replace("spend.py  ", "spent.py  "), encoding="utf-8")
    monkeypatch.setattr(house, "PAGE", stale)
    monkeypatch.setattr(house, "read_package", lambda source: {})  # no clashes: `make check` reads the package itself
    monkeypatch.setattr(house, "tree", cache(house.tree))
    monkeypatch.setattr(sys, "argv", ["house.py", "--check"])
    assert house.main()
    assert "--tree" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["house.py", "--tree"])
    assert not house.main()
    monkeypatch.setattr(sys, "argv", ["house.py", "--check"])
    assert not house.main()
