"""What 0.1.0 left behind is still read, means the same and can still be charged. Made by tests/golden/v010/make.py."""

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

import dpselect
from dpselect.report.verify.verify import check_report

GOLDEN = Path(__file__).parents[1] / "golden" / "v010"


@pytest.fixture
def left_behind(tmp_path):
    for file in GOLDEN.iterdir():
        if file.suffix != ".py":
            shutil.copy(file, tmp_path / file.name)
    return tmp_path


def test_a_study_file_has_the_hash_that_its_report_carries(left_behind):
    study = dpselect.read_assumptions(left_behind / "study.toml")
    selection = dpselect.Selection.from_json((left_behind / "selection.json").read_text())
    assert selection.assumptions.hash == study.hash
    assert selection.recipe.method == "pcls"


def test_moments_are_still_read_and_still_the_same(left_behind):
    study = dpselect.read_assumptions(left_behind / "study.toml")
    moments = dpselect.load_moments(left_behind / "people.moments", study)
    assert moments.integers() == dpselect.gather(str(left_behind / "people.csv"), study).integers()


def test_a_ledger_goes_on_where_it_was(left_behind):
    ledger = dpselect.Ledger(left_behind / "ledger.sqlite")
    assert [record.what for record in ledger.records()] == ["select", "select", "estimate"]
    assert ledger.spent().epsilon == 5
    study = dpselect.read_assumptions(left_behind / "study.toml")
    dpselect.select(str(left_behind / "people.csv"), study, epsilon=1, ledger=ledger)
    assert ledger.spent().epsilon == Decimal(6)


@pytest.mark.parametrize("name", ["report.json", "report.html", "selection.json"])
def test_a_report_is_not_found_wrong(left_behind, name):
    """Each answer is yes or "not checked": a page of another version cannot be rendered anew."""
    ledger = dpselect.Ledger(left_behind / "ledger.sqlite")
    answers = check_report((left_behind / name).read_text(), ledger)
    assert len(answers) > 5
    assert [each.what for each in answers if each.answer == "no"] == []
