"""The form of a file as a study states it: each part is checked, and unknown ones are named."""

import pytest

from dpselect.assume.source_form import SourceForm, form_from_dict
from dpselect.errors import StudyError


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"delimiter": ";;"}, "The delimiter is ';;'; it must be one character"),
        ({"delimiter": '"'}, "it must be one character"),
        ({"delimiter": "é"}, "it must be one character"),
        ({"decimal": ""}, "The decimal is ''; it must be one character"),
        ({"delimiter": ",", "decimal": ","}, "are both ','; they must differ"),
        ({"encoding": "utf\n8"}, "The encoding is"),
        ({"encoding": "ütf-8"}, "it must be a name such as 'utf-8'"),
        ({"sheet": ""}, "The sheet is ''; it must be the name of a sheet"),
        ({"sheet": "x" * 301}, "it must be the name of a sheet"),
        ({"separator": ";"}, "source has the unknown entry 'separator'; known are delimiter, encoding, decimal, sheet"),
    ],
)
def test_a_form_that_no_file_has_is_refused_in_a_sentence(values, words):
    with pytest.raises(StudyError) as problem:
        form_from_dict(values)
    assert words in str(problem.value)


def test_a_form_is_taken_as_it_is_and_something_else_is_not():
    form = SourceForm(delimiter=";", decimal=",", sheet="2020")
    assert form_from_dict(form) is form
    assert form_from_dict({"delimiter": ";", "decimal": ",", "sheet": "2020"}) == form
    with pytest.raises(StudyError, match="it must have a delimiter, an encoding, a decimal point or a sheet"):
        form_from_dict(";")
