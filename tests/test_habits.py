"""What others who join rely on: one version everywhere, files that parse, and a source archive that can test itself."""

import importlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PARSED = [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]


@pytest.mark.parametrize("path", PARSED, ids=lambda path: path.name)
def test_a_file_for_robots_parses_and_names_no_host(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    assert "://" not in text


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == PROJECT["version"]
    assert json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"] == PROJECT["version"]
    assert f"\nVersion: {PROJECT['version']}\n" in (ROOT / "r" / "DESCRIPTION").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None and newest[1] == PROJECT["version"] and newest[2] == str(citation["date-released"])


def test_every_version_of_the_changelog_is_in_the_form_of_keep_a_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(versions) >= 3
    for version in versions:
        head, _, body = version.partition("\n")
        assert re.fullmatch(r"\d+\.\d+\.\d+ (- \d{4}-\d\d-\d\d|\(never published\))", head), head
        kinds = re.findall(r"^### (.+)$", body, re.MULTILINE)
        assert kinds and kinds == [
            each for each in ("Added", "Changed", "Removed", "Fixed", "Security") if each in kinds
        ]
        before = body.partition("### ")[0]
        assert not before.strip(), f"{head}: what is neither added, changed, removed nor fixed"


def test_every_source_that_the_article_cites_is_listed_and_no_other():
    article = (ROOT / "joss/paper.md").read_text(encoding="utf-8")
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "joss/paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", article)) == set(listed) and len(listed) == len(set(listed))


def test_every_action_is_pinned_to_a_commit_and_no_system_is_claimed_that_is_not_built():
    workflows = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")}
    if not workflows:
        pytest.skip("the source archive has no files for one host's CI")
    used = [line for text in workflows.values() for line in text.splitlines() if "uses:" in line]
    assert used and all(re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d", line) for line in used), used
    claimed = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["operatingSystem"]
    assert claimed == ["Linux", "macOS"]
    for name in ("publish.yml", "test.yml", "wheels.yml"):
        assert "macos-latest" in workflows[name] and "windows-" not in workflows[name], name


def test_every_python_that_is_promised_is_tested():
    workflow = ROOT / ".github/workflows/test.yml"
    if not workflow.exists():
        pytest.skip("the source archive has no files for one host's CI")
    promised = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    tested = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert promised == set(tested) == {"3.11", "3.12", "3.13", "3.14"}


def test_planted_faults_meet_tests_that_are_there_and_every_room_has_modules(monkeypatch):
    """A ring of tests that was moved away would notice nothing, and say nothing."""
    monkeypatch.syspath_prepend(ROOT / "tests" / "mutants")
    where = importlib.import_module("where")
    named = {place for table in (where._MIRRORS, where._ROOMS) for places in table.values() for place in places}
    named |= {f"tests/claims/test_{each}.py" for claims in where._CLAIMS.values() for each in claims}
    assert [place for place in sorted({*named, *where._WIDER}) if not (ROOT / place).exists()] == []
    for patterns in where.ROOMS.values():
        assert all(list((ROOT / "src/dpselect").glob(f"{pattern}.py")) for pattern in patterns), patterns


FAKE_PYTHON = """#!/bin/sh
echo "$0 $*" >> {log}
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/dpselect"; fi
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("left", ["nothing", "an environment without pip", "a whole one"])
def test_an_environment_whose_making_was_interrupted_is_made_anew(left, tmp_path):
    """A `make demo` that was stopped at the wrong moment said "No module named pip" for ever."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=lambda _, names: [n for n in names if n.endswith((".py", ".so"))]
    )
    log, fake, inside = (tmp_path / each for each in ("log", "python", ".venv-demo/bin/python"))
    fake.write_text(FAKE_PYTHON.format(log=log))
    fake.chmod(0o755)
    if left != "nothing":
        inside.parent.mkdir(parents=True)
        inside.write_text("#!/bin/sh\nexit 1\n" if left == "an environment without pip" else fake.read_text())
        inside.chmod(0o755)
    done = subprocess.run(["make", f"PYTHON={fake}", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = log.read_text()
    assert (f"{fake} -m venv .venv-demo" in said) == (left != "a whole one"), done.stdout + done.stderr
    assert "pip install" in said


@pytest.mark.thorough
def test_the_source_archive_holds_all_that_its_tests_need_and_passes_some(tmp_path):
    command = [sys.executable, "setup.py", "-q", "egg_info", "-e", tmp_path, "sdist", "-d", tmp_path / "dist"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("dpselect-*/")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    missing = [each for each in listed if not (unpacked / each).exists() and not each.startswith((".github", ".git"))]
    assert missing == []
    some = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/assume/study",
        "tests/test_habits.py",
    ]
    done = subprocess.run([*some, "-k", "not archive"], cwd=unpacked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_lowest_versions_are_those_that_are_allowed():
    """`make test-lowest` runs with what pyproject.toml promises to work."""
    lines = (ROOT / "lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("==") for line in lines if "==" in line)
    allowed = dict(re.match(r"([\w-]+)>=([\d.]+)", each).groups() for each in PROJECT["dependencies"])
    assert lowest.keys() == allowed.keys()
    for name, version in allowed.items():
        assert lowest[name].split(".")[: len(version.split("."))] == version.split("."), name
