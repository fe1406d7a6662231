"""What commands print beside their answer: lines that other tests do not look at, each in one run."""

import re
from pathlib import Path

import pytest

from dpselect.use.shell.terminal import _joined
from tests.use.test_command_line import STUDY, run

CURATOR = ["--curator", "Office", "--use", "Yearbook", "--author", "Ada"]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with a study, rows, a report and its ledger."""
    folder = tmp_path_factory.mktemp("released")
    rows = [f"{20 + age / 2},{age},{'north' if age % 3 else 'south'}" for age in range(18, 91)] * 4
    (folder / "people.csv").write_text("\n".join(["income,age,region", *rows]) + "\n")
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_a_release_and_what_is_asked_of_it(released, monkeypatch, capsys):
    monkeypatch.chdir(released)
    hints = []
    monkeypatch.setattr("dpselect.use.runs.spending.hint", hints.append)  # which are for a terminal
    code, out, _ = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "-o", "found.json")
    assert code == 0 and "Wrote found.json (public)." in out and not hints
    asked = ["select", "study.toml", "people.csv", "--epsilon", "1", "--ledger", "second.db", "-o", "page.html"]
    code, out, _ = run(capsys, *asked)
    assert code == 0 and "(both public)." in out and hints == ["dpselect verify page.html"]
    code, out, _ = run(capsys, "budget", "second.db")
    assert code == 0 and re.search(r" 1 +\d{4}-\d\d-\d\d \d\d:\d\d +\S", out)  # the entry, and when, to the minute
    code, out, _ = run(capsys, "verify", "page.html")
    count = int(re.search(r"\((\d+) checks\)", out)[1])
    assert code == 0 and f"Every one of the {count} checks: add --details." in out
    code, out, _ = run(capsys, "verify", "page.html", "--details")
    assert code == 0 and "add --details" not in out and out.count("  OK  ") == count
    code, out, _ = run(capsys, "registry", "page.html", *CURATOR, "-o", "entry.yaml")
    assert code == 0 and "Wrote entry.yaml, a draft" in out
    assert run(capsys, "registry", "page.html", *CURATOR, "-o", "quiet.yaml", "--quiet")[:2] == (0, "")
    code, _, err = run(capsys, "report", "page.html", "-o", "table.xyz")
    assert code == 2 and "'table.xyz' has no known ending. Use one of html, md" in err


def test_a_plan_needs_rows_and_a_query_ends_its_line(released, monkeypatch, capsys):
    monkeypatch.chdir(released)
    code, out, err = run(capsys, "plan", "study.toml", "--epsilon", "1")
    assert (code, out) == (2, "") and "Add --rows N, about how many rows there are: a plan reads none." in err
    assert run(capsys, "sql", "study.toml", "--dialect", "duckdb", "--table", "t", "-o", "query.sql")[0] == 0
    code, out, _ = run(capsys, "sql", "study.toml", "--dialect", "duckdb", "--table", "t")
    assert Path("query.sql").read_text() == out.rstrip("\n") + "\n"


def test_names_are_joined_as_far_as_a_line_holds_them():
    assert _joined(["a", "b"]) == "a, b"
    assert _joined(["a" * 50]) == "a" * 50 and _joined(["a" * 50, "b"]) == f"{'a' * 50} and 1 more"
    assert _joined(["a" * 19, "b" * 19, "c"]) == f"{'a' * 19}, {'b' * 19} and 1 more"
