"""What a person reads when something fails: our own faults are told by their kind and place alone."""

import errno
import re

import pytest

from dpselect.errors import BudgetExceeded, DataError
from dpselect.gather.sources.text_numbers import numbers_of
from dpselect.use.shell.failures import explain


def caught(act):
    with pytest.raises(BaseException) as problem:
        act()
    return explain(problem.value)


def test_a_fault_of_ours_is_told_by_its_kind_and_place(monkeypatch):
    monkeypatch.delenv("DPSELECT_TRACEBACK", raising=False)
    said = caught(lambda: numbers_of("SECRET"))  # no column of text
    assert said.code == 1 and "SECRET" not in said.sentence
    assert re.search(r"This is a fault of dpselect \(\w+ at text_numbers\.py:\d+\)\.", said.sentence)


def test_a_fault_elsewhere_has_no_place_of_ours(monkeypatch):
    monkeypatch.delenv("DPSELECT_TRACEBACK", raising=False)
    said = explain(KeyError("SECRET"))
    assert "(KeyError)" in said.sentence and "SECRET" not in said.sentence


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (BudgetExceeded("Too much."), 3, "Too much."),
        (DataError("No such column."), 2, "No such column."),
        (MemoryError(), 1, "Not enough memory."),
        (OSError(errno.ENOSPC, "full", "r.html"), 2, "the disk is full"),
        (OSError(errno.EACCES, "Permission denied", "r.html"), 2, "cannot be read or written: Permission denied."),
    ],
)
def test_every_failure_has_its_code_and_its_sentence(problem, code, words):
    said = explain(problem)
    assert said.code == code and words in said.sentence
