"""Claim: nothing that is printed or raised after rows were read shows a number, a level or a count from them."""

import copy
import re
import traceback

import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.assume.candidates import all_subsets
from dpselect.assume.recipe import make_recipe
from dpselect.errors import DpselectError
from dpselect.gather.accumulate import Accumulator
from dpselect.minimize.all import minimize_all
from dpselect.penalize.score import score

# Numbers that occur nowhere but in the rows, and a level that nobody declared.
SECRET_NUMBERS = (0.6180339, 0.5772156, 0.3678794)
SECRET_LEVEL = "Zanzibar"
ROWS = 7919  # a prime, and the private count with add-remove-one


def secrets_in(text: str) -> list[str]:
    needles = [str(number)[:6] for number in SECRET_NUMBERS] + [SECRET_LEVEL, str(ROWS), f"{ROWS:,}"]
    return [needle for needle in needles if needle in text]


def table() -> pd.DataFrame:
    frame = pd.DataFrame({"a": np.full(ROWS, SECRET_NUMBERS[0]), "c": "x", "y": SECRET_NUMBERS[1]})
    frame.loc[5, "a"] = SECRET_NUMBERS[2]
    return frame


STUDY = dpselect.Assumptions(
    dpselect.Numeric("y", 0, 1),
    [dpselect.Numeric("a", 0, 1), dpselect.Categorical("c", ["x", "z"])],
    neighbors="add-remove-one",
)


def private_values():
    moments = dpselect.gather(table(), STUDY)
    recipe = make_recipe(STUDY, rows=None, epsilon=1)
    public_n = dpselect.Assumptions(STUDY.response, STUDY.predictors)
    local = make_recipe(public_n, rows=ROWS, epsilon=1, delta=1e-6, method="pcpl")
    accumulator = Accumulator(STUDY)
    yield moments
    yield moments + moments
    yield copy.copy(moments)
    yield minimize_all(moments, all_subsets(3), 1.0)
    yield score(moments, recipe)
    yield score(dpselect.gather(table(), public_n), local)
    yield accumulator


def test_private_objects_print_no_private_number():
    for value in private_values():
        for text in (repr(value), str(value), f"{value}", repr([value]), repr({"k": value})):
            assert "<private>" in text
            assert secrets_in(text) == []
            # No number at all but the public width of the design, the number of candidates and the range.
            assert not re.search(r"\d{3,}", re.sub(r"range=[\d.e+-]+", "", text))


def spoil(change) -> pd.DataFrame:
    frame = table()
    change(frame)
    return frame


def set_cell(column, value):
    def change(frame):
        frame[column] = frame[column].astype(object)
        frame.loc[3, column] = value

    return change


BROKEN = {
    "NaN": lambda: spoil(set_cell("a", float("nan"))),
    "infinity": lambda: spoil(set_cell("a", float("inf"))),
    "unknown level": lambda: spoil(set_cell("c", SECRET_LEVEL)),
    "text among numbers": lambda: spoil(set_cell("a", "0.3678794")),
    "a missing column": lambda: table().drop(columns="a"),
    "a doubled column": lambda: pd.concat([table(), table()[["a"]]], axis=1),
    "dates": lambda: table().assign(a=pd.Timestamp("2020-01-01")),
    "lists": lambda: table().assign(a=[[SECRET_NUMBERS[0]]] * ROWS),
    "lengths": lambda: (np.zeros((ROWS, 2)), np.zeros(ROWS - 1)),
    "text levels in arrays": lambda: (np.full((ROWS, 2), SECRET_NUMBERS[0]), np.zeros(ROWS)),
    "a string": lambda: SECRET_LEVEL,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_no_exception_and_no_traceback_shows_a_private_value(kind):
    source = BROKEN[kind]()
    try:
        dpselect.select(source, STUDY, epsilon=1)
    except DpselectError as error:
        text = "".join(traceback.format_exception(error))
        message = str(error)
    else:
        pytest.fail("the broken table was accepted")
    if kind != "a string":
        assert secrets_in(text) == []
    assert "\n" not in message


def test_a_selector_of_secrets_would_be_caught():
    assert secrets_in(f"row has {SECRET_NUMBERS[0]} and {SECRET_LEVEL}") == ["0.6180", SECRET_LEVEL]
