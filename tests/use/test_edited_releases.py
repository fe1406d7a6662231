"""Whatever somebody has made of a release's JSON text, reading it ends in a value that prints and writes, or in one sentence."""

import copy
import json

import numpy as np
import pytest

import dpselect
from dpselect.errors import DataError, DpselectError

JUNK = (
    None,
    -1,
    0,
    1e308,
    10**12,
    10**400,
    "x",
    "",
    [],
    {},
    [1],
    True,
    float("nan"),
    float("inf"),
    "\ud800",
    {"a": 1},
    "1e400",
    "NaN",
    [[[[]]]],
)
GONE = object()


def table():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (2, 400))
    return {"a": a, "b": b, "y": (a + rng.normal(0, 0.5, 400) > 0).astype(float)}


def releases():
    predictors = [dpselect.Numeric("a", -1, 1), dpselect.Numeric("b", -1, 1)]
    line = dpselect.Study(dpselect.Numeric("y", 0, 1), predictors)
    odds = dpselect.Study(dpselect.Binary("y", [0, 1]), predictors)
    analysis = dpselect.analyze(
        table(), odds, epsilon=4, delta=1e-6, family="binomial", ledger=dpselect.Ledger(epsilon=9, delta=1e-3)
    )
    return {
        "selection": dpselect.select(table(), line, epsilon=1),
        "coefficients": dpselect.estimate(table(), ["a", "b"], study=line, epsilon=1, delta=1e-6),
        "odds ratios": analysis.coefficients,
        "analysis": analysis,
    }


@pytest.fixture(scope="module")
def released():
    return releases()


def places(values, here=()):
    """The way to every part; of long lists to the first three."""
    yield here
    keys = values if isinstance(values, dict) else range(min(len(values), 3)) if isinstance(values, list) else ()
    for key in keys:
        yield from places(values[key], (*here, key))


def edited(values, way, junk):
    if not way:
        return None if junk is GONE else junk
    values = copy.deepcopy(values)
    part = values
    for key in way[:-1]:
        part = part[key]
    if junk is GONE:
        del part[way[-1]]
    else:
        part[way[-1]] = junk
    return values


@pytest.mark.parametrize("each", [19, pytest.param(1, marks=pytest.mark.thorough)], ids=["one of 19", "all"])
@pytest.mark.parametrize("kind", ["selection", "coefficients", "odds ratios", "analysis"])
def test_every_edit_is_read_or_refused_in_a_sentence(released, kind, each):
    release, outcomes = released[kind], {"read": 0, "refused": 0}
    values = json.loads(release.to_json())
    for start, way in enumerate(places(values)):
        for junk in (*JUNK, GONE)[start % each :: each]:
            text = json.dumps(edited(values, way, junk))
            try:
                again = type(release).from_json(text)
            except DpselectError as refusal:
                assert "\n" not in str(refusal)
                outcomes["refused"] += 1
            else:
                shown = (str(again), repr(again), again._repr_html_(), again.to_json())
                assert all(each.encode() for each in shown)
                outcomes["read"] += 1
    assert min(outcomes.values()) > 0


@pytest.mark.parametrize(
    ("place", "junk"),
    [
        ("width", 10**12),
        ("always", [10**12]),
        ("always", [-1]),
        ("terms", [[10**12]]),
    ],
)
def test_columns_that_would_fill_the_memory_are_refused(released, place, junk):
    values = edited(json.loads(released["selection"].to_json()), ("recipe", "candidates", place), junk)
    with pytest.raises(DataError, match=r"<= 20001 - at `\$\.width`|is outside the table's \d+ columns"):
        dpselect.Selection.from_json(json.dumps(values))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_of_json_is_refused(released, number):
    text = released["coefficients"].to_json()
    values = json.loads(text)
    values["released"]["asks"][0][0]["draw"]["values"][0] = "HERE"
    with pytest.raises(DataError, match="not the JSON text"):
        dpselect.Estimate.from_json(json.dumps(values).replace('"HERE"', number))


@pytest.mark.parametrize("text", ["", "null", "[" * 100_000, "{}", '{"format": []}', "1e999"])
@pytest.mark.parametrize("kind", [dpselect.Selection, dpselect.Estimate, dpselect.Analysis])
def test_so_is_every_other_text(kind, text):
    with pytest.raises(DataError):
        kind.from_json(text)


def test_a_report_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.html' cannot be read \(No such file or directory\)\. Give the JSON"):
        dpselect.verify(tmp_path / "nothing.html")
    with pytest.raises(DataError, match=r"cannot be read \(Is a directory\)\. Give the JSON"):
        dpselect.verify(tmp_path)
