"""`--show-code`: what is printed runs, and does what the command does."""

import ast
import json
from pathlib import Path

import pytest

import dpselect
from dpselect.use import command_line

STUDY = """
missing = "midpoint"

[response]
name = "income"
lower = 0
upper = 100

[[predictors]]
name = "age"
lower = 18
upper = 90

[[predictors]]
name = "region"
categories = ["north", "south"]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + age / 2};{age};{'north' if age % 3 else 'south'}" for age in range(18, 91)] * 10
    Path("people.csv").write_text("\n".join(["income;age;region", *rows]) + "\n")
    Path("study.toml").write_text(STUDY)
    return tmp_path


def shown(capsys, *arguments):
    assert command_line.run([*arguments, "--show-code"]) == 0
    return capsys.readouterr().out


def run(capsys, *arguments):
    """What the printed code prints, and its names."""
    code, names = shown(capsys, *arguments), {}
    exec(compile(code, "shown", "exec"), names)
    return capsys.readouterr().out, names


SELECT = ["select", "study.toml", "people.csv", "--delimiter", ";", "--epsilon", "0.5"]


def test_select_charges_the_same_ledger_for_the_same_recipe(place, capsys):
    run(capsys, *SELECT, "--total-epsilon", "10", "-o", "code.json")
    assert command_line.run([*SELECT, "-o", "command.json", "--yes"]) == 0
    one, other = (
        dpselect.Selection.from_json(Path(name).read_text(encoding="utf-8")) for name in ("code.json", "command.json")
    )
    assert one.recipe == other.recipe
    first, second = dpselect.Ledger("people.budget.db").entries()
    assert (first.epsilon, first.data, first.what) == (second.epsilon, second.data, second.what)
    assert dpselect.Ledger("people.budget.db").epsilon == 10


def test_unusual_options_are_kept(place, capsys):
    options = [
        "--method",
        "pcpl",
        "--delta",
        "1e-6",
        "--mechanism",
        "exponential",
        "--max-size",
        "1",
        "--penalty",
        "bic",
    ]
    totals = ["--total-epsilon", "3", "--total-delta", "1e-4", "--ledger", "mine.db"]
    _, names = run(capsys, *SELECT, *options, *totals)
    recipe = names["selection"].recipe
    assert (recipe.method, recipe.mechanism, str(recipe.guarantee.delta)) == ("pcpl", "exponential", "0.000001")
    assert str(dpselect.Ledger("mine.db").epsilon) == "3"


def test_a_total_delta_that_nobody_stated_is_that_of_the_command(place, capsys):
    run(capsys, *SELECT, "--total-epsilon", "3", "--ledger", "mine.db")
    assert dpselect.Ledger("mine.db").delta > 0


def test_stated_structure_is_kept(place, capsys):
    """The best one besides age, which is in every model; and then exactly one of both."""
    _, names = run(capsys, *SELECT, "--at-least", "1", "--always", "age", "--total-epsilon", "5")
    assert {"age", "region[south]"} < set(names["selection"].variables)
    _, names = run(capsys, *SELECT, "--one-of", "age, region")
    assert len(set(names["selection"].variables) & {"age", "region[south]"}) == 1


def test_analyze_writes_the_report_that_verifies(place, capsys):
    options = [
        "--epsilon",
        "4",
        "--delta",
        "1e-6",
        "--title",
        "Why?",
        "--level",
        "0.9",
        "--split",
        "1:1",
        "-o",
        "page.html",
        "--board",
        "board.html",
    ]
    _, names = run(capsys, "analyze", "study.toml", "people.csv", "--delimiter", ";", *options)
    assert names["analysis"].coefficients.level == 0.9
    out, _ = run(capsys, "verify", "page.html", "--ledger", "people.budget.db")
    assert "FAILED" not in out and out.count("OK") > 5
    out, _ = run(capsys, "budget", "people.csv")
    assert out.count("\n") == 3
    assert json.loads(Path("page.json").read_text(encoding="utf-8"))["title"] == "Why?"
    assert "ethics board" in Path("board.html").read_text(encoding="utf-8")


def test_a_ledger_is_opened(place, capsys):
    run(capsys, "budget", "new.db", "--open", "--epsilon", "2", "--delta", "1e-6")
    assert str(dpselect.Ledger("new.db").epsilon) == "2"


def test_what_reads_no_rows_or_shows_them_to_the_custodian(place, capsys):
    run(capsys, "init", "people.csv", "--delimiter", ";", "--response", "income", "-o", "new.toml")
    assert 'name = "age"' in Path("new.toml").read_text(encoding="utf-8")
    out, names = run(capsys, "check", "study.toml", "people.csv", "--delimiter", ";", "--epsilon", "1")
    assert "do not publish" in out and names["checked"].preview.inclusion[0] > 0.5
    out, names = run(capsys, "plan", "study.toml", "--rows", "500", "--epsilon", "1")
    assert names["plan"].verdict in out
    out, _ = run(capsys, "sql", "study.toml", "--dialect", "duckdb", "--table", "people", "--boolean", "region")
    assert "SELECT" in out


@pytest.mark.thorough
def test_plan(place, capsys):
    out, _ = run(
        capsys,
        "plan",
        "study.toml",
        "--rows",
        "500",
        "--epsilon",
        "1",
        "--method",
        "pcls",
        "--effects",
        "10,0",
        "--deviation",
        "9",
    )
    assert "500" in out


def test_what_a_plan_supposes_is_kept_and_what_is_usual_left_out(place, capsys):
    plain = ["plan", "study.toml", "--rows", "500", "--epsilon", "1", "--method", "pcls", "--effects", "10,0"]
    usual = shown(capsys, *plain)
    assert "deviation" not in usual and "split" not in usual and "effects=[10, 0]" in usual
    stated = " ".join(shown(capsys, *plain, "--deviation", "9", "--r2", "0.2").split())
    assert "deviation=9.0" in stated and "r2=0.2" in stated
    of_votes = shown(capsys, *plain[:6], "--split", "1:3", "--family", "gaussian", "--run", "select")
    assert "split=('1', '3')" in of_votes and "family='gaussian'" in of_votes and "choice_only=True" in of_votes


def test_a_report_in_another_form_is_written_by_python_too(place, capsys):
    analyze = ["analyze", "people.csv", "--study", "study.toml", "--delimiter", ";", "--epsilon", "1", "--yes", "-q"]
    assert command_line.run(analyze) == 0
    capsys.readouterr()
    run(capsys, "report", "report.json", "-o", "again.json", "-o", "again.csv")
    assert (place / "again.json").read_text() == (place / "report.json").read_text() and (place / "again.csv").exists()
    assert command_line.run(["report", "report.json", "--board", "-o", "b.html", "--show-code"]) == 2
    assert "analysis.to_html(page, board=...)" in capsys.readouterr().err


def test_nothing_is_done_when_code_is_shown(place, capsys):
    shown(capsys, *SELECT, "-o", "code.json")
    shown(capsys, "init", "people.csv", "-o", "new.toml")
    assert sorted(path.name for path in place.iterdir()) == ["people.csv", "study.toml"]


def test_a_long_call_is_broken_into_lines(place, capsys):
    code = shown(capsys, *SELECT, "--mechanism", "exponential", "--ledger", "a/rather/long/name/of/a/ledger.db")
    assert max(map(len, code.splitlines())) <= 100


def test_code_without_rows_is_a_mistake(place, capsys):
    assert command_line.run(["select", "study.toml", "--epsilon", "1", "--show-code"]) == 2
    assert "Give DATA" in capsys.readouterr().err


EVERY = {
    "init": ["init", "people.csv", "--delimiter", ";"],
    "check": ["check", "people.csv", "--study", "study.toml", "--epsilon", "1", "--run", "select", "-o", "page.html"],
    "plan": ["plan", "--study", "study.toml", "--rows", "500", "--epsilon", "1"],
    "plan by pcls": ["plan", "study.toml", "--rows", "500", "--epsilon", "1", "--method", "pcls", "--effects", "1,0"],
    "select": [*SELECT, "-o", "out.json"],
    "analyze": ["analyze", "people.csv", "--study", "study.toml", "--epsilon", "1", "--family", "binomial"],
    "budget": ["budget", "people.csv"],
    "resume": ["resume", "people.csv"],
    "report": ["report", "report.json", "-o", "table.tex", "-o", "effects.svg"],
    "verify": ["verify", "report.html", "--ledger", "people.budget.db"],
    "sql": ["sql", "study.toml", "--dialect", "duckdb", "--table", "people"],
}


@pytest.mark.parametrize("arguments", EVERY.values(), ids=EVERY)
def test_only_public_names_are_printed(place, capsys, arguments):
    code = ast.parse(shown(capsys, *arguments))
    imports = [ast.unparse(node) for node in ast.walk(code) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports == ["import dpselect"]
    names = {
        node.attr
        for node in ast.walk(code)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dpselect"
    }
    assert names and names <= set(dpselect.__all__)


def test_every_command_that_does_something_with_a_study_has_its_python():
    assert {each.split()[0] for each in EVERY} == set(command_line.COMMANDS) - {
        "demo",
        "studio",
        "completion",
        "registry",
    }
