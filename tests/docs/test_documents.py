"""The documents keep their word: every block runs, every link leads somewhere, every public name is explained."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect
from dpselect.use import command_line

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [  # but those that tools/docs.py makes each time anew
    str(path.relative_to(ROOT))
    for path in sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
    if path.parent.name != "reference"
]
BLOCK = re.compile(
    r"^(?:<!-- test: (\S+) -->\n)?```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$|^<!--run\n(.*?)-->$",
    re.MULTILINE | re.DOTALL,
)
SHOWN = ("text", "sql")  # not run: what came out, what stands in a file, and SQL that tests/release runs
RSCRIPT = shutil.which("Rscript")


def blocks(page):
    """(kind, title or comment above it, text) of each block; a comment <!--run ... --> is Python that readers need not see."""
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [
        ("python", "", hidden) if hidden else (kind, more or title, text) for more, kind, title, text, hidden in found
    ]


def run_console(text, more, capsys):
    """Each line that starts with $ is typed; the others are what came out once, which is random."""
    expected = 3 if more == "exit=3" else 0
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:], comments=True)
            assert program == "dpselect"
            code = command_line.run(arguments)
            assert code == expected, f"{line}\n{capsys.readouterr().err}"


def run_r(text):
    """Run by R with this Python; left out where R or a package of it is missing."""
    if RSCRIPT is None:
        pytest.skip("R is not installed; with Debian: r-base-core, r-cran-reticulate and r-cran-leaps")
    here = {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(map(str, [*sys.path[:1], ROOT / "src"]))}
    Path("block.R").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [RSCRIPT, "block.R"], env={**os.environ, **here}, capture_output=True, text=True, check=False, timeout=300
    )
    if "there is no package called" in done.stderr:
        pytest.skip("R has not all the packages of this page: reticulate, leaps")
    assert done.returncode == 0, done.stderr


def run_block(page, block, names, capsys):
    kind, more, text = block
    if kind == "python":
        exec(compile(text, page, "exec"), names)
    elif kind == "console":
        run_console(text, more, capsys)
    elif kind in ("toml", "csv"):
        Path(more).write_text(text, encoding="utf-8")
    elif kind == "r":
        run_r(text)
    else:
        assert kind in SHOWN, f"{page} has a block of an unknown kind: {kind!r}"


@pytest.mark.filterwarnings("ignore:No ledger")
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        if block[1] != "skip":
            run_block(page, block, names, capsys)


def test_the_example_for_quarto_runs_after_the_guide(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in (blocks("docs/tutorial.md")[0], blocks("docs/tutorial.md")[3]):  # the table, the study file
        run_block("docs/tutorial.md", block, {}, capsys)
    cells = re.findall(r"^```{python}\n(.*?)^```$", (DOCS / "how-to/example.qmd").read_text(), re.MULTILINE | re.DOTALL)
    for _ in range(2):  # the second time nothing is charged
        names = {}
        for cell in cells:
            exec(compile(cell, "example.qmd", "exec"), names)
    assert len(dpselect.Ledger("households.budget.db").entries()) == 2


def test_the_guide_shows_every_step():
    typed = [
        line.split()[2]
        for kind, _, text in blocks("docs/tutorial.md")
        if kind == "console"
        for line in text.splitlines()
        if line.startswith("$")
    ]
    assert {"init", "plan", "check", "budget", "analyze", "verify", "select", "sql"} <= set(typed)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http", "mailto")):
            assert (ROOT / page).parent.joinpath(target).exists(), target


def test_every_fence_is_one_that_the_site_understands():
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert [each for each in fences if not re.fullmatch(r"(\w+( title=\"[^\"]+\")?)?", each)] == [], page


def test_every_lemma_of_the_mathematics_has_its_test_and_its_function():
    text = (DOCS / "MATHEMATICS.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"(?:src|tests)/[\w/]+\.py", text))
    assert len(paths) >= 10
    root = DOCS.parent
    assert [path for path in sorted(paths) if not os.path.exists(root / path)] == []
    for path, function in re.findall(r"`(\w+)` in (src/[\w/]+\.py)", text):
        assert f"def {path}(" in (root / function).read_text(encoding="utf-8"), path
