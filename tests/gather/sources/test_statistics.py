"""Files that other programs write: the integers of the same rows as CSV, labels from the dictionary, one sentence otherwise."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources import statistics
from dpselect.gather.sources.open import open_stream
from dpselect.gather.sources.schema import read_schema

pyreadstat = pytest.importorskip("pyreadstat", reason="No pyreadstat: pip install 'dpselect[statistics]'.")

CODES = Study(
    Numeric("weeks", 0, 52),
    [Numeric("age", 18, 35), Categorical("sex", [1, 2]), Categorical("town", ["Ulm", "Köln"])],
    missing="midpoint",
)
WORDS = Study(
    Numeric("weeks", 0, 52), [Categorical("sex", ["male", "female"]), Numeric("age", 18, 35)], missing="midpoint"
)
PERSONS = Study(
    Numeric("weeks", 0, 52), [Numeric("age", 18, 35)], person="who", max_rows_per_person=2, missing="midpoint"
)
SEXES = {1: "male", 2: "female"}


def frame(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(21)
    return pd.DataFrame(
        {
            "weeks": rng.uniform(-3, 60, rows),
            "age": np.where(rng.uniform(size=rows) < 0.1, np.nan, rng.normal(27, 5, rows)),
            "sex": rng.integers(1, 4, rows).astype(float),
            "town": rng.choice(["Ulm", "Köln", "Bonn"], rows),
            "who": rng.integers(1, 200, rows).astype(float),
            "born": pd.to_datetime(["1990-05-05"] * rows),
        }
    )


def as_csv(folder: Path, words: bool = False) -> Path:
    table = frame()
    table["who"] = table["who"].astype(int)
    if words:
        table["sex"] = [SEXES.get(code, "unlabelled") for code in table["sex"]]
    table.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def stata(folder: Path) -> Path:
    """By pandas' own writer, which shares nothing with the reader."""
    frame().to_stata(
        folder / "t.dta",
        write_index=False,
        version=118,
        value_labels={"sex": SEXES},
        variable_labels={"age": "Age in years"},
    )
    return folder / "t.dta"


def written_by(function: str, name: str):
    def write(folder: Path) -> Path:
        labels = {"variable_value_labels": {"sex": SEXES}} if function != "write_xport" else {}
        getattr(pyreadstat, function)(frame(), folder / name, column_labels={"age": "Age in years"}, **labels)
        return folder / name

    return write


FILES = {
    "Stata, by pandas": stata,
    "Stata": written_by("write_dta", "t.dta"),
    "SPSS": written_by("write_sav", "t.sav"),
    "SAS transport": written_by("write_xport", "t.xpt"),
}


@pytest.mark.parametrize("study", [CODES, PERSONS], ids=["codes", "persons"])
@pytest.mark.parametrize("name", FILES)
def test_the_integers_are_those_of_the_same_rows_as_csv(tmp_path, name, study):
    assert gather(FILES[name](tmp_path), study).integers() == gather(as_csv(tmp_path), study).integers()


@pytest.mark.parametrize("name", ["Stata, by pandas", "Stata", "SPSS"])
def test_codes_are_read_as_their_labels_where_the_levels_are_stated_as_text(tmp_path, name):
    found = gather(FILES[name](tmp_path), WORDS).integers()
    assert found == gather(as_csv(tmp_path, words=True), WORDS).integers()


def test_a_table_in_many_chunks_and_several_files(tmp_path, monkeypatch):
    expected = gather(FILES["SPSS"](tmp_path), CODES)
    monkeypatch.setattr(statistics, "CHUNK_ROWS", 100)  # the last chunk is full
    assert gather(tmp_path / "t.sav", CODES).integers() == expected.integers()
    (tmp_path / "copy.sav").write_bytes((tmp_path / "t.sav").read_bytes())
    both = gather([tmp_path / "t.sav", tmp_path / "copy.sav"], CODES)
    assert both.integers() == (expected + gather(tmp_path / "t.sav", CODES)).integers()


def test_the_dictionary_is_told_and_no_range_is(tmp_path):
    columns = {column.name: column for column in read_schema(FILES["SPSS"](tmp_path))}
    assert columns["age"].label == "Age in years"
    assert columns["sex"].categories == ((1, "male"), (2, "female"))
    assert columns["town"].kind == "text"
    assert columns["born"].kind == "date"


@pytest.mark.parametrize("name", ["Stata", "SPSS"])
def test_a_date_is_refused_by_its_type(tmp_path, name):
    study = Study(Numeric("weeks", 0, 52), [Numeric("born", 0, 10)])
    with pytest.raises(DataError, match="days since a fixed day"):
        gather(FILES[name](tmp_path), study)


@pytest.mark.parametrize("name", ["t.dta", "t.sav", "t.sas7bdat", "t.xpt", "t.por"])
def test_a_file_of_something_else_is_one_sentence(tmp_path, name):
    (tmp_path / name).write_text("weeks,age\nsecret,41\n")
    with pytest.raises(DataError, match="cannot be read as a file of") as caught:
        gather(tmp_path / name, CODES)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = FILES["SPSS"](tmp_path)
    monkeypatch.setattr(statistics, "CHUNK_ROWS", 100)
    with open_stream(path) as stream:
        batches = stream.read(["age"])
        next(batches)
        os.utime(path, ns=(1, 1))
        with pytest.raises(DataError, match="changed while it was read"):
            next(batches)


def test_the_missing_package_and_a_packed_file_are_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "t.sav.gz").write_bytes(b"")
    with pytest.raises(DataError, match="unpack it first"):
        gather(tmp_path / "t.sav.gz", CODES)
    path = FILES["SPSS"](tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(DataError, match=r"dpselect\[statistics\]"):
        gather(path, CODES)


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".xpt"])
@pytest.mark.parametrize("part", [0.3, 0.61, 0.97])
def test_half_a_file_is_no_table(tmp_path, suffix, part):
    """A SAS transport file that is cut short was read as a shorter table."""
    writers = {".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    path = tmp_path / f"t{suffix}"
    writers.get(suffix, pyreadstat.write_sav)(frame()[["weeks", "age"]], path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content)) // 80 * 80 + 7])
    with pytest.raises(DataError, match=r"cut short"):
        gather(path, Study(Numeric("weeks", 0, 52), [Numeric("age", 18, 35)], missing="midpoint"))


def test_two_columns_of_one_name_are_refused(tmp_path):
    pyreadstat.write_dta(pd.DataFrame({"weeks": [1.0], "weekx": [2.0]}), tmp_path / "t.dta")
    (tmp_path / "t.dta").write_bytes((tmp_path / "t.dta").read_bytes().replace(b"weekx", b"weeks"))
    with pytest.raises(DataError, match="two columns of the same name"):
        read_schema(tmp_path / "t.dta")


def test_a_second_file_without_a_column_of_the_first_is_refused(tmp_path):
    for name, table in (("1.dta", frame(9)[["weeks", "age"]]), ("2.dta", frame(9)[["weeks", "sex"]])):
        table.to_stata(tmp_path / name, write_index=False)
    study = Study(Numeric("weeks", 0, 52), [Numeric("age", 18, 35)], missing="midpoint")
    with pytest.raises(DataError, match=r"'age' is not in '.*2\.dta' exactly once"):
        gather([tmp_path / "1.dta", tmp_path / "2.dta"], study)
