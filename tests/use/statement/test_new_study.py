"""The study file that `init` writes: what a code book or a file's dictionary says, and open places for the rest."""

import json
import re
import tomllib

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.gather.sources.schema import ColumnType
from dpselect.use import command_line
from dpselect.use.init import new_study, read_codebook

BOOK = """name,lower,upper,categories,label,unit,reason
income,0,100,,Yearly income,thousand euro,the tax form
age,18,90,,Age,years,
sex,,,1=male; 2=female,Sex,,the form
region,,,north|south,,,
wealth,0,10,,not in the table,,
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"income": [10.5, 20.5], "age": [30, 41], "sex": [1, 2], "region": ["north", "south"], "note": ["a", "b"]}
    pd.DataFrame(rows).to_csv("people.csv", index=False)
    (tmp_path / "book.csv").write_text(BOOK)
    return tmp_path


def init(capsys, *arguments):
    code = command_line.run(["init", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_code_book_fills_a_study_file(place, capsys):
    code, out, err = init(capsys, "people.csv", "--response", "income", "--codebook", "book.csv")
    assert code == 0
    assert "wealth" in err
    assert "5 variables, 4 of them described by book.csv" in out and 'To do: replace "?" in line' in out
    text = (place / "study.toml").read_text().replace('["?"]', '["a", "b"]')
    (place / "study.toml").write_text(text)
    study = Study.read("study.toml")
    assert study.response.to_dict() == {
        "kind": "number",
        "name": "income",
        "lower": 0,
        "upper": 100,
        "label": "Yearly income",
        "unit": "thousand euro",
        "reason": "the tax form",
    }
    age, sex, region, note = study.predictors
    assert (age.lower, age.upper, age.label) == (18, 90, "Age")
    assert (sex.categories, sex.category_labels, sex.reason) == ((1, 2), ("male", "female"), "the form")
    assert (region.categories, region.category_labels) == (("north", "south"), ())
    assert note.categories == ("a", "b")


def test_a_response_with_two_levels_is_binary(place, capsys):
    assert init(capsys, "people.csv", "--response", "sex", "--codebook", "book.csv")[0] == 0
    assert tomllib.loads((place / "study.toml").read_text())["response"]["kind"] == "binary"


def test_a_files_own_dictionary_gives_labels_and_levels_and_asks_for_a_reason(place, capsys):
    pyreadstat = pytest.importorskip("pyreadstat", reason="No pyreadstat: pip install 'dpselect[statistics]'.")
    frame = pd.read_csv("people.csv").astype({"sex": float, "age": float})
    pyreadstat.write_sav(
        frame,
        "people.sav",
        column_labels={"age": "Age in years"},
        variable_value_labels={"sex": {1: "male", 2: "female"}},
    )
    assert init(capsys, "people.sav", "--response", "income")[0] == 0
    tables = {table["name"]: table for table in tomllib.loads((place / "study.toml").read_text())["predictors"]}
    assert tables["age"] == {"name": "age", "label": "Age in years"}
    assert tables["sex"] == {"name": "sex", "categories": [1, 2], "category_labels": ["male", "female"], "reason": "?"}
    assert command_line.run(["check", "study.toml", "people.sav"]) == 2
    assert "reason of 'sex'" in capsys.readouterr().err


def test_the_schema_is_printed(capsys):
    code, out, _ = init(capsys, "--schema")
    assert code == 0
    assert json.loads(out)["title"] == "A dpselect study"
    assert init(capsys)[0] == 2


@pytest.mark.parametrize(
    ("book", "words"),
    [
        ("name,colour\na,red\n", "'colour'; known are name"),
        ("lower,upper\n1,2\n", "no column 'name'"),
        ("name,lower\n,1\n", "Line 2"),
        ("name,lower\na,1\na,2\n", "'a' twice"),
        ("name,lower\na,low\n", "the lower limit 'low'"),
        ('name,categories\na,"x,y"\n', "one category of 'a', 'x,y'. Put semicolons"),
    ],
)
def test_a_code_book_that_cannot_be_used_is_one_sentence(place, book, words):
    (place / "bad.csv").write_text(book)
    with pytest.raises(StudyError, match=words):
        read_codebook("bad.csv")


def test_a_code_book_from_excel_in_german(place):
    book = "name;lower;upper;categories;label\nalter;0,5;99;;Größe\nart;;;a|b;\n"
    (place / "book.csv").write_bytes(book.encode("latin-1"))
    assert read_codebook("book.csv") == {
        "alter": {"label": "Größe", "lower": 0.5, "upper": 99},
        "art": {"categories": ["a", "b"]},
    }
    with pytest.raises(StudyError, match="no code book"):
        read_codebook("none.csv")


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ('income,"x\n[[predictors]]\nname = ""z"""', "The name of column 2, 'x\\\\n.*cannot be printed: rename it"),
        ("income,\x1b[2J\x1b[31mage", r"The name of column 2, '\\x1b\[2J.*cannot be printed: rename it"),
        ("income,a\u202eb", "cannot be printed: rename it"),
        ("income,income", "Two columns are named 'income': rename one"),
    ],
)
@pytest.mark.parametrize("response", [(), ("--response", "income")])
def test_hostile_names_in_a_file_get_one_clear_sentence(place, capsys, header, sentence, response):
    """A new line in a name once wrote a table of its own into the study file, and an escape cleared the screen."""
    (place / "t.csv").write_text(header + "\n1,2\n", encoding="utf-8")
    code, out, err = init(capsys, "t.csv", *response)
    assert code == 2 and not out and not (place / "study.toml").exists()
    assert re.search(sentence, err)
    assert err.count("\n") == 1 and "\x1b" not in err and "\u202e" not in err


def test_every_setting_is_offered():
    """But for those of experts, and the form of the file, which `init` states by itself where it must be."""
    text = new_study([ColumnType("income", "number", "double")], "income")
    elsewhere = {"response", "predictors", "intercept", "radius", "terms", "source"}
    for name in set(Study.__struct_fields__) - elsewhere:
        assert f"\n# {name} = " in text or f"\n# [[{name}]]" in text, name


def test_hostile_names_inside_a_type_or_a_question_stay_on_their_line(place, capsys):
    struct = pa.array([{"u\nv = 1": 1}])
    pq.write_table(pa.table({"income": [1.0], 'a "b" \\ #c': [2.0], "s": struct}), "t.parquet")
    assert init(capsys, "t.parquet")[0] == 0
    text = (place / "study.toml").read_text()
    assert [each["name"] for each in tomllib.loads(text)["predictors"]] == ["income", 'a "b" \\ #c']
    assert "v = 1" not in tomllib.loads(text)
    code, _, err = init(capsys, "t.parquet", "--response", "none\x1b[2J", "--force")
    assert code == 2 and "\x1b" not in err


@pytest.mark.parametrize("response", [None, "income"])
def test_whatever_a_name_holds_it_writes_nothing_into_the_study_file_but_itself(response):
    """The names are refused before; if one ever came so far, it would stay on its line."""
    hostile = 'x\n[evil]\nz = 1\n"'
    columns = [ColumnType("income", "number", "double"), ColumnType(hostile, "number", "double")]
    values = tomllib.loads(new_study(columns, response))
    assert values["predictors"][-1]["name"] == hostile
    assert set(values) == {"response", "predictors"}


def test_a_response_of_words_is_no_or_yes_and_one_of_numbers_may_be():
    words, numbers = ColumnType("died", "text", "string"), ColumnType("ill", "number", "int64")
    study = tomllib.loads(new_study([words, numbers], "died"))
    assert study["response"] == {"name": "died", "kind": "binary", "categories": ["?", "?"]}
    text = new_study([words, numbers], "ill")
    assert 'kind = "binary" and categories = [0, 1]' in text
    assert tomllib.loads(text)["response"] == {"name": "ill"}


def test_names_that_everybody_knows_suggest_a_range_that_a_person_confirms():
    columns = [ColumnType(name, "number", "double") for name in ("y", "age", "survey_year", "pct_urban", "wage")]
    text = new_study(columns, "y")
    assert text.count("suggested by the name") == 3 and "# upper = 120" in text
    assert all(
        "lower" not in each for each in tomllib.loads(text)["predictors"]
    )  # nothing is stated before somebody does


def test_codes_of_no_and_yes_are_binary_and_identifiers_are_left_out():
    columns = [
        ColumnType("y", "number", "double"),
        ColumnType("member", "boolean", "bool"),
        ColumnType("ill", "number", "double", categories=((0, "no"), (1, "yes"))),
        ColumnType("person_id", "number", "int64"),
    ]
    member, ill = tomllib.loads(new_study(columns, "y"))["predictors"]
    assert member == {"name": "member", "kind": "binary", "categories": [0, 1]}
    assert (ill["kind"], ill["categories"], ill["reason"]) == ("binary", [0, 1], "?")


def test_a_study_of_what_was_selected(place, capsys):
    rows = [f"{3 * k + k % 7},{k},{k * 37 % 101},{'north' if k % 3 else 'south'}" for k in range(3000)]
    (place / "long.csv").write_text("\n".join(["income,age,noise,region", *rows]) + "\n")
    asked = [
        "select",
        "long.csv",
        "--response",
        "income",
        "--predictors",
        "age,noise",
        "--categories",
        "region=north,south",
    ]
    assert command_line.run([*asked, "--epsilon", "3", "--yes", "-o", "found.json"]) == 0
    code, out, _ = init(capsys, "--from", "found.json", "-o", "selected.toml")
    assert code == 0 and "2 variables, from found.json" in out
    study = Study.read("selected.toml")
    assert [each.name for each in (study.response, *study.predictors)] == ["income", "age"]
    assert init(capsys, "--from", "book.csv", "-o", "other.toml")[0] == 2
    assert init(capsys, "long.csv", "--from", "found.json")[0] == 2
