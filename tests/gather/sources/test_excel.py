"""Workbooks that another program wrote: the integers of the same rows as CSV, one sheet at a time."""

import sys

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.sources.excel import split_sheet
from dpselect.gather.sources.open import read_schema
from dpselect.gather.table import gather_table

pytest.importorskip("python_calamine", reason="No python-calamine: pip install 'dpselect[excel]'.")
pytest.importorskip("openpyxl", reason="No openpyxl, which writes the workbooks of these tests.")

STUDY = Assumptions(
    Numeric("y", -1, 1),
    [Numeric("a", -2, 2), Categorical("c", ["01", "2", "x"]), Numeric("smoker", 0, 1)],
    missing="midpoint",
)
PERSONS = Assumptions(
    Numeric("y", -1, 1), [Numeric("a", -2, 2)], person="who", max_rows_per_person=2, missing="zero-row"
)


def frame(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=rows) < 0.1, np.nan, rng.normal(size=rows)),
            "c": rng.choice(["01", "2", "x", "other"], rows),
            "y": rng.normal(size=rows),
            "smoker": rng.integers(0, 2, rows).astype(bool),
            "who": rng.integers(1, 100, rows),
            "day": pd.to_datetime(["2020-02-02"] * rows),
        }
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    with pd.ExcelWriter(folder / "t.xlsx", engine="openpyxl") as writer:
        frame().to_excel(writer, sheet_name="people", index=False)
        frame(10).to_excel(writer, sheet_name="few & more", index=False)
    frame().assign(smoker=lambda t: t["smoker"].astype(int)).to_csv(folder / "t.csv", index=False)
    return folder / "t.xlsx"


@pytest.mark.parametrize("study", [STUDY, PERSONS], ids=["all", "persons"])
def test_the_integers_are_those_of_the_same_rows_as_csv(book, study):
    assert gather_table(book, study).integers() == gather_table(book.with_suffix(".csv"), study).integers()


def test_another_sheet_is_named_after_a_question_mark(book):
    assert gather_table(f"{book}?sheet=few & more", STUDY).integers() == gather_table(frame(10), STUDY).integers()
    with pytest.raises(DataError, match="no sheet 'none'"):
        gather_table(f"{book}?sheet=none", STUDY)


def test_a_path_that_only_looks_like_an_address():
    assert split_sheet("a/b.xlsx") == ("a/b.xlsx", None)
    assert split_sheet("a/b.XLSX?sheet=2020") == ("a/b.XLSX", "2020")
    assert split_sheet("table?sheet=2020") == ("table?sheet=2020", None)


def test_types_are_those_of_the_cells(book):
    kinds = {column.name: column.kind for column in read_schema(book)}
    assert kinds == {"a": "number", "c": "text", "y": "number", "smoker": "boolean", "who": "number", "day": "date"}


@pytest.mark.parametrize("name", ["c", "day"])
def test_text_and_dates_are_not_numbers(book, name):
    with pytest.raises(DataError, match="a number is needed"):
        gather_table(book, Assumptions(Numeric("y", -1, 1), [Numeric(name, 0, 1)]))


def test_whole_numbers_may_be_stated_as_text(tmp_path):
    pd.DataFrame({"y": [0.5, 0.25], "code": [1, 2]}).to_excel(tmp_path / "t.xlsx", index=False)
    as_text = Assumptions(Numeric("y", -1, 1), [Categorical("code", ["1", "2"])])
    as_codes = Assumptions(Numeric("y", -1, 1), [Categorical("code", [1, 2])])
    assert (
        gather_table(tmp_path / "t.xlsx", as_text).integers() == gather_table(tmp_path / "t.xlsx", as_codes).integers()
    )


def test_what_is_no_workbook_is_one_sentence(tmp_path, monkeypatch, book):
    (tmp_path / "t.xlsx").write_text("y,a\nsecret,1\n")
    with pytest.raises(DataError, match="cannot be read as a workbook") as caught:
        gather_table(tmp_path / "t.xlsx", STUDY)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="one at a time"):
        gather_table([book, tmp_path / "t.xlsx"], STUDY)
    pd.DataFrame().to_excel(tmp_path / "empty.xlsx", index=False)
    with pytest.raises(DataError, match="empty"):
        gather_table(tmp_path / "empty.xlsx", STUDY)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match=r"dpselect\[excel\]"):
        gather_table(book, STUDY)
