"""The documents keep their word: every block runs, every link leads somewhere, every public name is explained."""

import inspect
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import dpselect
from dpselect.use import command_line

DOCS = Path(__file__).parents[2] / "docs"
OURS = ("GUIDE.md", "CHOOSING.md", "READING_A_GUARANTEE.md", "REFERENCE.md", "MATHEMATICS.md")
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name):
    return [(kind, more.strip(), text) for kind, more, text in FENCE.findall((DOCS / name).read_text(encoding="utf-8"))]


def run_console(text, more, capsys):
    """Each line that starts with $ is typed; the others are what came out once, which is random."""
    expected = 3 if more == "exit=3" else 0
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:], comments=True)
            assert program == "dpselect"
            code = command_line.run(arguments)
            assert code == expected, f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("name", OURS)
def test_every_block_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, more, text in blocks(name):
        if more == "skip":
            continue
        if kind == "python":
            exec(compile(text, f"{name}", "exec"), names)
        elif kind == "console":
            run_console(text, more, capsys)
        elif kind == "toml":
            tomllib.loads(text)
            Path(more).write_text(text, encoding="utf-8")
        else:
            assert kind == "text", f"{name} has a block of an unknown kind: {kind}"


def test_the_guide_shows_every_step():
    typed = [
        line.split()[2]
        for kind, _, text in blocks("GUIDE.md")
        if kind == "console"
        for line in text.splitlines()
        if line.startswith("$")
    ]
    assert {"init", "plan", "check", "budget", "analyze", "verify", "select", "sql"} <= set(typed)


@pytest.mark.parametrize("name", [path.name for path in sorted(DOCS.glob("*.md"))])
def test_every_link_leads_somewhere(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http", "mailto")):
            assert (DOCS / target).exists(), target


def test_every_public_name_is_in_the_reference_and_no_other():
    text = (DOCS / "REFERENCE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^### `(?:dpselect\.)?(\w+)", text, re.MULTILINE))
    assert named == set(dpselect.__all__)


def test_every_signature_is_as_stated():
    text = (DOCS / "REFERENCE.md").read_text(encoding="utf-8")
    stated = re.findall(r"^### `dpselect\.(\w+)`\n\n```text\n(.*?)\n```", text, re.MULTILINE)
    assert len(stated) >= 15
    for name, signature in stated:
        value = getattr(dpselect, name)
        value = getattr(value, "gather_table", value)  # `gather` is a folder that can be called
        parameters = [
            each.replace(annotation=inspect.Parameter.empty)
            for each in inspect.signature(value).parameters.values()
            if each.name != "progress"
        ]
        assert signature == f"{name}{inspect.Signature(parameters)}"


def test_every_command_is_in_the_reference():
    text = (DOCS / "REFERENCE.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `dpselect (\w+)", text, re.MULTILINE)) == set(command_line.COMMANDS)


def test_every_lemma_of_the_mathematics_has_its_test_and_its_function():
    text = (DOCS / "MATHEMATICS.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"(?:src|tests)/[\w/]+\.py", text))
    assert len(paths) >= 10
    root = DOCS.parent
    assert [path for path in sorted(paths) if not os.path.exists(root / path)] == []
    for path, function in re.findall(r"`(\w+)` in (src/[\w/]+\.py)", text):
        assert f"def {path}(" in (root / function).read_text(encoding="utf-8"), path
