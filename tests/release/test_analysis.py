"""What a selection and its estimate say together."""

import numpy as np
import pytest
from msgspec.structs import replace

import dpselect
from dpselect import Numeric, Study

STUDY = Study(Numeric("y", -3, 3), [Numeric("a", -1, 1), Numeric("b", -1, 1)])


@pytest.fixture(scope="module")
def analysis():
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (2, 2000))
    table = {"a": a, "b": b, "y": 2 * a - b + rng.normal(0, 0.3, 2000)}
    return dpselect.analyze(table, STUDY, epsilon=20, delta="1e-6", candidates=[["a", "b"]])


@pytest.mark.parametrize(
    ("of_estimate", "of_selection", "told"),
    [({}, {"a": "up", "b": "down"}, ("up", "down")), ({"a": "down"}, {"a": "up", "b": "up"}, ("down", None))],
)
def test_directions_are_those_of_the_estimate_or_else_of_the_selection(analysis, of_estimate, of_selection, told):
    stated = replace(
        analysis,
        selection=replace(analysis.selection, directions=of_selection),
        coefficients=replace(analysis.coefficients, directions=of_estimate),
    )
    assert {row["term"]: row["direction"] for row in stated.tidy()} == {
        "intercept": None, "a": told[0], "b": told[1],
    }  # fmt: skip


def test_a_selection_alone_has_no_rows_to_tell(analysis):
    assert replace(analysis, coefficients=None).tidy() == []
