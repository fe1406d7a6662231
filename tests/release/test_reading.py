"""What is no JSON, or would fill the memory, is refused where a release is read; tests of edits are beside `use`."""

import json

import numpy as np
import pytest

import dpselect
from dpselect.errors import DataError


@pytest.fixture(scope="module")
def text():
    X = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    return dpselect.pcls(X, X[:, 0], epsilon=5, r=1, R=1, phi=0.1).to_json()


def test_a_release_is_read_back(text):
    assert dpselect.Selection.from_json(text).to_json() == text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_refused(text, number):
    with pytest.raises(DataError, match="This is not the JSON text of"):
        dpselect.Selection.from_json(json.dumps(json.loads(text) | {"range": "HERE"}).replace('"HERE"', number))


@pytest.mark.parametrize(("place", "value"), [("width", 10**12), ("always", [10**12]), ("always", [-1])])
def test_columns_beyond_any_table_are_refused(text, place, value):
    values = json.loads(text)
    values["recipe"]["candidates"][place] = value
    with pytest.raises(DataError, match=r"<= 20001 - at `\$\.width`|outside the table's \d+ columns"):
        dpselect.Selection.from_json(json.dumps(values))
