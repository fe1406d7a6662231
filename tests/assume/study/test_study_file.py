"""A study's file: how long it may be, and the line that a refusal is about."""

import pytest

from dpselect.assume.study_file import MAX_STUDY_LENGTH, located, parse_tables
from dpselect.assume.variables import variable_from_dict
from dpselect.errors import StudyError

TEXT = """\
[response]
name = "wage"

[[predictors]]
name = "age"
lower = 118
upper = 18

[[predictors]]
name = "school"
lower = 0
upper = 20
"""


def test_a_file_of_as_many_characters_as_are_said_is_read_and_one_more_is_refused():
    whole = TEXT + "#" * (MAX_STUDY_LENGTH - len(TEXT))
    assert parse_tables(whole)["response"] == {"name": "wage"}
    with pytest.raises(StudyError, match=f"more than {MAX_STUDY_LENGTH:,} characters"):
        parse_tables(whole + "#")


def test_a_refusal_names_the_line_of_the_entry_that_it_speaks_of():
    """Within the table that is to blame, and not in the one after it; the table's first line if its entries are quoted."""
    with pytest.raises(StudyError, match="range of 'age'") as found:
        variable_from_dict(parse_tables(TEXT)["predictors"][0])
    quoted = TEXT.replace("lower = 118", "'lower' = 118")
    for text, line in ((TEXT, 6), (quoted, 7), (quoted.replace("upper = 18", "'upper' = 18"), 4)):
        said = located(found.value, parse_tables(text), text, "somewhere/study.toml")
        assert str(said).startswith(f"study.toml line {line}: the range of 'age'")
