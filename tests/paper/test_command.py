"""`python -m paper`, which `make paper` runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect
from paper.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
def test_figure_3_is_written_and_its_statements_are_printed(tmp_path, capsys):
    pytest.importorskip("faraway", reason="install dpselect[paper] for the paper's figures")
    pytest.importorskip("matplotlib", reason="install dpselect[paper] for the paper's figures")
    assert main(["fig3", "-o", str(tmp_path / "figures"), "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "reproduced" in out and "5.6837" in out
    statements = json.loads((tmp_path / "figures" / "fig3_statements.json").read_text())
    assert any("5.68" in each["found"] for each in statements)
    assert (tmp_path / "figures" / "fig3.svg").exists()


def test_figures_are_not_drawn_over_the_rows(tmp_path, capsys):
    rows = tmp_path / "fig4.csv"
    rows.write_text("mine")
    assert main(["fig4", "--data", str(rows), "-o", str(tmp_path)]) == 2
    assert "is where the rows are" in capsys.readouterr().err
    assert rows.read_text() == "mine"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["fig1", "--data", "houses.csv"], "--data belongs to fig3 or fig4"),
        (["fig1", "--jobs", "0"], "at least 1"),
        (["fig5"], "invalid choice"),
    ],
)
def test_what_is_asked_wrongly_is_refused_in_a_sentence(asked, sentence, capsys):
    with pytest.raises(SystemExit) as left:
        main(asked)
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("table", ["headline", "heldout"])
def test_a_table_of_the_results_is_printed_as_markdown(table, capsys):
    assert main([table, "--count", "1", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("|---|")
    assert len(lines) == {"headline": 2 + 8 + 1, "heldout": 2 + 12 + 1}[table]


def test_it_runs_as_a_module():
    source = str(Path(dpselect.__file__).parents[1])
    helped = subprocess.run(
        [sys.executable, "-m", "paper", "--help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "headline" in helped.stdout
