"""Whole study files that `init` writes, letter by letter: every kind of column, with and without a code book.

After a change of words, read what changed: `WRITE=1 python -m pytest tests/use/statement/test_whole_studies.py`, then `git diff`.
"""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from dpselect.errors import DataError, StudyError
from dpselect.gather.sources.schema import ColumnType
from dpselect.use.init import named_and_unnamed, new_study, read_codebook, require_column

WHOLE = Path(__file__).with_name("whole")


def column(name, kind="number", **facts):
    return ColumnType(name, kind, {"number": "double", "text": "string"}.get(kind, kind), **facts)


COLUMNS = [
    column("income", label="Income a year"), column("age"), column("birth_year"), column("pct_time"), column("share"),
    column("month"),
    column("flag", zero_one=True), column("told", "boolean"), column("guessed", "boolean", stated=False), column("region", "text"),
    column("day", "date"), column("parts", "other"), column("person_id"), column("coded", categories=((1, "low"), (2, "high"))),
    column("no_yes", categories=((0, "no"), (1, "yes"))), column("weight"), column("ward", "text"), column("sex", "text"),
]  # fmt: skip
BOOK = """\ufeffName;lower;upper;categories;label;unit;reason
income;0;500,5;;Yearly income;EUR;the form
weight;;;;;kg;
ward;;;a=Internal|b|c=Other;;;
sex;;;0=no|1=yes;;;
person_id;1;9;;;;
flag;;;0|1;;;
"""
ASKED = {
    "open": (None, False),
    "number": ("income", False),
    "yes": ("flag", False),
    "text": ("region", False),
    "truth": ("told", False),
}
ASKED |= {"book": ("income", True), "book-binary": ("sex", True), "known": ("age", True)}


@pytest.mark.parametrize("name", ASKED)
def test_a_study_file_is_what_it_was(name, tmp_path):
    response, by_book = ASKED[name]
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    found = new_study(COLUMNS, response, read_codebook(str(tmp_path / "book.csv")) if by_book else None)
    file = WHOLE / f"{name}.toml"
    if os.environ.get("WRITE"):
        WHOLE.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found.splitlines() == file.read_text(encoding="utf-8").splitlines()


def test_names_that_no_study_could_tell_apart_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("y,a,,a\n1,2,3,4\n", encoding="utf-8")
    with pytest.raises(DataError, match="Two columns are named 'a': rename one of them"):
        named_and_unnamed(tmp_path / "t.csv")
    with pytest.raises(DataError, match="The name of column 2, "):
        named_and_unnamed(pa.table([pa.array([1.0])] * 2, names=["y", "a\x1b"]))
    assert named_and_unnamed(pa.table([pa.array([1.0])] * 3, names=["y", " ", "b"]))[1] == [2]


def test_a_column_that_is_not_there_is_told_from_those_that_are():
    with pytest.raises(StudyError, match=r"has no column 'incme'\. Did you mean 'Income'\?"):
        require_column("incme", ["age", "Income"], "people.csv")
    names = [f"c{k}" for k in range(14)]
    with pytest.raises(StudyError, match=r"It has 'c0', .*'c11' and 2 more\.$"):
        require_column("other", names, "people.csv")
    with pytest.raises(StudyError, match=r"It has 'c0', 'c1'\.$"):
        require_column("other", names[:2], "people.csv")
