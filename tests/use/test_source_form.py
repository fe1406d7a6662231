"""The form of a file is part of what is released, wherever it was stated: in the study, as options, in a `Csv` or in a name."""

import json

import numpy as np
import pytest

import dpselect
from dpselect.assume.source_form import SourceForm
from dpselect.errors import DataError
from dpselect.use import command_line

STUDY = """
[response]
name = "y"
lower = 0
upper = 1

[[predictors]]
name = "a"
lower = 0
upper = 1
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(23)
    rows = [f"{a:.3f};{b:.3f}".replace(".", ",") for a, b in rng.random((300, 2))]
    (tmp_path / "people.csv").write_text("\n".join(["y;a", *rows]) + "\n")
    (tmp_path / "people.tsv").write_text("\n".join(["y;a", *rows]).replace(",", ".").replace(";", "\t") + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_options_about_a_file_are_hashed_and_printed(place, capsys):
    asked = ["people.csv", "--study", "study.toml", "--epsilon", "1", "--delimiter", ";", "--decimal", ",", "--yes"]
    assert command_line.run(["analyze", *asked, "-o", "report.html"]) == 0
    stated = json.loads((place / "report.json").read_text())["selection"]["recipe"]["study"]
    assert stated["source"] == {"delimiter": ";", "decimal": ","}
    [entry, _] = dpselect.Ledger("people.budget.db").entries()
    assert entry.study != dpselect.Study.read("study.toml").hash
    assert command_line.run(["verify", "report.html", "--ledger", "people.budget.db"]) == 0


@pytest.mark.parametrize(
    ("source", "form"),
    [
        (dpselect.Csv("people.csv", delimiter=";", decimal=","), SourceForm(delimiter=";", decimal=",")),
        ("people.tsv", SourceForm(delimiter="\t")),
    ],
)
def test_what_a_source_states_of_itself_is_part_of_the_study(place, source, form):
    study = dpselect.Study.read("study.toml")
    ledger = dpselect.Ledger(epsilon=3, delta="1e-6")
    selection = dpselect.select(source, study, epsilon=1, ledger=ledger)
    analysis = dpselect.analyze(source, study, epsilon=1, ledger=ledger)
    estimate = dpselect.estimate(source, selection, epsilon=1, ledger=ledger)
    for released in (selection, analysis.selection, estimate):
        assert released.study.source == form
    assert {entry.study for entry in ledger.entries()} == {selection.study.hash} != {study.hash}


def test_a_source_that_says_otherwise_than_the_study_is_refused(place):
    study = dpselect.Study.read("study.toml")
    stated = dpselect.Study(response=study.response, predictors=study.predictors, source=SourceForm(delimiter=";"))
    with pytest.raises(DataError, match="state it once, in the study"):
        dpselect.select(dpselect.Csv("people.csv", delimiter=";", decimal=","), stated, epsilon=1, ledger=None)


def test_a_study_that_states_the_form_needs_no_option(place, capsys):
    (place / "study.toml").write_text('[source]\ndelimiter = ";"\ndecimal = ","\n' + STUDY)
    assert command_line.run(["select", "people.csv", "--study", "study.toml", "--epsilon", "1", "--yes"]) == 0
    assert command_line.run(["check", "people.csv", "--study", "study.toml"]) == 0
    again = ["select", "people.csv", "--study", "study.toml", "--epsilon", "1", "--yes", "--ledger", "b.db"]
    assert command_line.run([*again, "--delimiter", "|"]) == 2
    assert "state it once, in the study" in capsys.readouterr().err
