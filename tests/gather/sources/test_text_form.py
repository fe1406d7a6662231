"""How a text file is written is guessed from its form, and nothing that is said holds a cell."""

import gzip

import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.text_form import guess_form, options_of, stated_form
from dpselect.gather.table import gather_table

STUDY = Assumptions(Numeric("y", 0, 10), [Numeric("größe", 0, 10), Categorical("ort", ["Köln", "Ulm"])])
ROWS = "y,größe,ort\n" + "1.5,2.25,Köln\n3.0,4,Ulm\n" * 40


def excel(text: str = ROWS) -> str:
    """As a German Excel writes it."""
    return text.replace(",", ";").replace(".", ",")


FORMS = {
    "plain": (ROWS.encode(), {}),
    "with a mark": (ROWS.encode("utf-8-sig"), {}),
    "German Excel": (excel().encode("latin-1"), {"encoding": "latin-1", "delimiter": ";", "decimal": ","}),
    "Windows": (ROWS.replace("Ulm", "Ulm\u2019").encode("cp1252"), {"encoding": "cp1252"}),
    "UTF-16": (excel().encode("utf-16"), {"encoding": "utf-16", "delimiter": ";", "decimal": ","}),
    "UTF-16 without a mark": (ROWS.encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "tabs": (ROWS.replace(",", "\t").encode(), {"delimiter": "\t"}),
    "semicolons and points": (ROWS.replace(",", ";").encode(), {"delimiter": ";"}),
    "thousands": (b"a;b\n1,500;2\n", {"delimiter": ";"}),
    "one name that holds commas": (b'"a, b, c";"d"\n1;2\n', {"delimiter": ";"}),
    "no line": (b"", {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_told(tmp_path, name):
    content, form = FORMS[name]
    (tmp_path / "t.csv").write_bytes(content)
    assert stated_form(guess_form(str(tmp_path / "t.csv"))) == form
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    assert stated_form(guess_form(str(tmp_path / "t.csv.gz"))) == form


@pytest.mark.parametrize("name", ["German Excel", "UTF-16", "UTF-16 without a mark", "tabs", "semicolons and points"])
def test_the_error_says_what_to_state_and_then_it_is_right(tmp_path, name):
    content, form = FORMS[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        gather_table(path, STUDY)
    assert f"written with {options_of(form)} (in Python: Csv(path, " in str(caught.value)
    assert not any(cell in str(caught.value) for cell in ("2.25", "2,25", "Köln", "Ulm"))
    assert caught.value.__context__ is None
    (tmp_path / "u.csv").write_text(ROWS, encoding="utf-8")
    found = gather_table(Csv(path, **form), STUDY).integers()
    assert found == gather_table(tmp_path / "u.csv", STUDY).integers()


def test_a_letter_of_another_encoding_far_down_is_found(tmp_path):
    study = Assumptions(Numeric("y", 0, 10), [Categorical("ort", ["Köln", "Ulm"])])
    rows = "y,ort\n" + "1.5,Ulm\n" * 400_000 + "2.5,Köln\n"
    (tmp_path / "t.csv").write_bytes(rows.encode("latin-1"))
    with pytest.raises(DataError, match="--encoding latin-1") as caught:
        gather_table(tmp_path / "t.csv", study)
    assert "Köln" not in str(caught.value)


def test_a_file_that_is_as_stated_gets_no_hint(tmp_path):
    (tmp_path / "t.csv").write_text("y,ort\n1,Ulm\n")
    with pytest.raises(DataError, match="is not in the table") as caught:
        gather_table(tmp_path / "t.csv", STUDY)
    assert "written with" not in str(caught.value)


def test_options_are_as_a_shell_takes_them():
    assert options_of({"delimiter": ";", "decimal": ","}) == "--delimiter ';' --decimal ','"
    assert options_of({"delimiter": "\t", "encoding": "latin-1"}) == "--delimiter tab --encoding latin-1"
