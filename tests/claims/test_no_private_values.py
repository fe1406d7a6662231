"""Claim: nothing that is printed or raised after rows were read shows a number, a level or a count from them."""

import copy
import re
import traceback
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import dpselect
from dpselect.assume.candidates import all_subsets
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.errors import DpselectError, DpselectWarning
from dpselect.gather.moments import MomentSummary
from dpselect.gather.sources.source import Database
from dpselect.gather.sql import answer_names, moments_from_answer
from dpselect.minimize.minimize import minimize, minimize_all
from dpselect.penalize.penalize import penalize

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


STUDY = dpselect.Study(
    dpselect.Numeric("y", 0, 1),
    [dpselect.Numeric("a", 0, 1), dpselect.Categorical("c", ["x", "z"])],
    neighbors="add-remove-one",
)


def private_values():
    moments = dpselect.gather(table(), STUDY)
    recipe = make_recipe(STUDY, Choice("pcls"), rows=None, epsilon=1)
    public_n = dpselect.Study(STUDY.response, STUDY.predictors)
    local = make_recipe(public_n, Choice("pcpl"), rows=ROWS, epsilon=1, delta=1e-6)
    accumulator = MomentSummary(STUDY)
    yield moments
    yield moments + dpselect.gather(table(), STUDY)
    yield copy.copy(moments)
    yield minimize_all(moments, all_subsets(3), 1.0)
    yield penalize(minimize(moments, recipe), recipe)
    yield penalize(minimize(dpselect.gather(table(), public_n), local), local)
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
    "numbers, then text": lambda: spoil(set_cell("a", SECRET_LEVEL)),
    "rows as a tuple": lambda: tuple((SECRET_NUMBERS[0], 1.0) for _ in range(ROWS)),
    "a transposed matrix": lambda: (np.zeros((2, ROWS)), np.zeros(2)),
    "text in lists": lambda: ([[SECRET_LEVEL, 1.0]] * 3, np.zeros(3)),
    "text as long as a secret": lambda: ([["x" * ROWS, 1.0]], np.zeros(1)),
}


def whole_chain(error: BaseException) -> str:
    """All that an exception and those it was raised from or during can say, shown by a traceback or not."""
    texts = ["".join(traceback.format_exception(error))]
    for earlier in (error.__cause__, error.__context__):
        if earlier is not None:
            texts += [repr(earlier), whole_chain(earlier)]
    return "".join(texts)


@pytest.mark.parametrize("kind", BROKEN)
def test_no_exception_and_no_traceback_shows_a_private_value(kind):
    source = BROKEN[kind]()
    try:
        dpselect.select(source, STUDY, epsilon=1)
    except DpselectError as error:
        text = whole_chain(error)
        message = str(error)
    else:
        pytest.fail("the broken table was accepted")
    if kind != "a string":
        assert secrets_in(text) == []
    assert "\n" not in message


def spoiled_csv(folder, last: bytes):
    path = folder / "rows.csv"
    path.write_bytes(b"a,c,y\n" + b"0.5,x,0.5\n" * 200_000 + last)
    return path


LAST_LINES = {
    "text": b"Zanzibar,x,0.5\n",
    "fields": b"0.6180339,x,0.5,Zanzibar\n",
    "bytes": b"0.5,Zanzibar\xff,0.5\n",
}


@pytest.mark.parametrize("last", LAST_LINES.values(), ids=LAST_LINES)
def test_no_exception_remembers_a_cell_of_a_text_file(tmp_path, last):
    with pytest.raises(dpselect.DataError) as caught:
        dpselect.gather(spoiled_csv(tmp_path, last), STUDY)
    assert caught.value.__context__ is None
    assert secrets_in(whole_chain(caught.value)) == []


@pytest.mark.parametrize("text", [b'{"n": 7919, \xff', b'{"n": 7919', b"\xff7919"])
def test_no_exception_remembers_a_file_of_moments(tmp_path, text):
    path = tmp_path / "site.moments"
    path.write_bytes(text)
    with pytest.raises(dpselect.DataError) as caught:
        dpselect.gather(path, STUDY)
    assert caught.value.__context__ is None
    path = tmp_path / "answer.csv"
    path.write_bytes(b"assumptions,n\n" + text)
    with pytest.raises(dpselect.DataError) as caught:
        moments_from_answer(path, STUDY)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("n", ["7919\u00b2", "--7919", "7919" * 2000, Decimal("NaN"), Decimal("Infinity"), 7919.0])
def test_an_answer_that_is_no_number_is_not_quoted(n):
    answer = dict.fromkeys(answer_names(STUDY), "0") | {"study": STUDY.hash, "n": n}
    with pytest.raises(dpselect.DataError) as caught:
        moments_from_answer(answer, STUDY)
    assert secrets_in(whole_chain(caught.value)) == []


@pytest.mark.parametrize(
    "address",
    ["postgresql://u:Zanzibar 1@[::1/b", "postgresql://u:Zanzibar@127.0.0.1:1/b", "postgresql://u:Zanzibar 1@h/b"],
)
def test_no_exception_remembers_a_password(address):
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(dpselect.DataError) as caught:
        dpselect.gather(Database(address, table="t"), STUDY)
    assert secrets_in(whole_chain(caught.value)) == []


def test_a_selector_of_secrets_would_be_caught():
    assert secrets_in(f"row has {SECRET_NUMBERS[0]} and {SECRET_LEVEL}") == ["0.6180", SECRET_LEVEL]


def rows_for_sklearn() -> tuple[np.ndarray, np.ndarray]:
    return np.full((ROWS, 2), SECRET_NUMBERS[0]), np.full(ROWS, SECRET_NUMBERS[1])


X, Y = rows_for_sklearn()

UNFIT = {
    "one dimension": (X[:, 0], Y),
    "a number": (SECRET_NUMBERS[0], Y),
    "three dimensions": (X[None], Y),
    "no columns": (X[:, :0], Y),
    "no rows": (X[:0], Y[:0]),
    "lengths": (X, Y[1:]),
    "text": (pd.DataFrame({"a": [SECRET_LEVEL] * ROWS, "b": 1.0}), Y),
    "text in lists": ([[SECRET_LEVEL, 1.0]] * 3, Y[:3]),
    "a text response": (X[:3], [SECRET_LEVEL] * 3),
    "a text response among objects": (X[:3], np.array([SECRET_LEVEL, 1.0, 2.0], object)),
    "two responses": (X, np.column_stack([Y, Y])),
    "complex": (X + 1j, Y),
    "NaN": (np.where(np.arange(2) > 0, np.nan, X), Y),
    "infinity": (X, np.where(np.arange(ROWS) == 5, np.inf, Y)),
    "no response": (X, None),
    "unequal rows": ([[SECRET_NUMBERS[0]], [1.0, 2.0]], Y[:2]),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_scikit_learns_exceptions_show_no_private_value(kind):
    with pytest.raises(dpselect.DataError) as caught:
        dpselect.PCLSSelector(neighbors="add-remove-one").fit(*UNFIT[kind])
    assert secrets_in(whole_chain(caught.value)) == []
    assert "\n" not in str(caught.value)


def test_transform_shows_no_private_value_either():
    selector = dpselect.PCLSSelector(penalty=0, fit_intercept=False).fit(X, Y)
    for wrong in (X[:, 0], X[:, :1], X + 1j):
        with pytest.raises(dpselect.DataError) as caught:
            selector.transform(wrong)
        assert secrets_in(whole_chain(caught.value)) == []


HUGE = 1.7e308
LONG = np.longdouble(HUGE) * 10  # no more than a double where long doubles are none
EXTREMES = {
    "sums beyond every double": (HUGE, HUGE, -HUGE, -HUGE, HUGE),
    "the least double": (5e-324, -5e-324, 5e-324, -5e-324, 5e-324),
    "beyond every double": (LONG, LONG, -LONG, -LONG, LONG),
    "a response beyond every double": (np.longdouble(0), 0.5, 0.5, 0.5, LONG),
    "whole numbers beyond every double": (10**400, 1, -(10**400), 1, 10**400),
    "masked": (np.ma.masked, 0.5, 0.5, 0.5, np.ma.masked),
    "infinite": (np.inf, -np.inf, np.nan, np.inf, np.inf),
    "signalling": (Decimal("sNaN"), Decimal("1e5000"), 0.5, 0.5, None),
}
WITHOUT_BOUNDS, WITH_BOUNDS = (
    dpselect.Study(
        dpselect.Numeric("y", *bounds), [dpselect.Numeric(name, *bounds) for name in "abcd"], missing="zero-row"
    )
    for bounds in ((), (-1, 1))
)


def selecting(source, **how):
    study = WITHOUT_BOUNDS if how.get("method") == "votes" else WITH_BOUNDS
    return dpselect.select(source, study, epsilon=1, **how)


def polars_frame(rows):
    polars = pytest.importorskip("polars")
    doubles = [[cell if isinstance(cell, float) else None for cell in row] for row in rows]
    return polars.DataFrame(columns(doubles))


def columns(rows) -> dict[str, list]:
    return dict(zip("abcdy", map(list, zip(*rows, strict=True)), strict=True))


def halves(rows) -> tuple[list, list]:
    return [row[:4] for row in rows], [row[4] for row in rows]


def arrays(rows) -> tuple[np.ndarray, np.ndarray]:
    """Of objects, or of the one type that NumPy finds where that is a number's."""
    kinds = {type(cell) for row in rows for cell in row}
    dtype = np.longdouble if np.longdouble in kinds else float if kinds <= {float} else object
    return tuple(np.array(half, dtype=dtype) for half in halves(rows))


DOORS = {
    "lists, votes": lambda rows: selecting(halves(rows), method="votes"),
    "lists, pcls": lambda rows: selecting(halves(rows), method="pcls"),
    "arrays, votes": lambda rows: selecting(arrays(rows), method="votes"),
    "arrays, pcls": lambda rows: selecting(arrays(rows), method="pcls"),
    "arrays, pcpl": lambda rows: selecting(arrays(rows), method="pcpl", delta=1e-6),
    "pandas": lambda rows: selecting(pd.DataFrame(columns(rows)), method="votes"),
    "polars": lambda rows: selecting(polars_frame(rows), method="votes"),
    "a dictionary": lambda rows: selecting(columns(rows), method="votes"),
    "analyze": lambda rows: dpselect.analyze(arrays(rows), WITH_BOUNDS, epsilon=1, delta=1e-6),
    "the paper's": lambda rows: dpselect.pcls(*arrays(rows), epsilon=1, r=1, R=1, phi=1),
    "PCLSSelector": lambda rows: dpselect.PCLSSelector().fit(*arrays(rows)),
    "PCPLSelector, lists": lambda rows: dpselect.PCPLSelector().fit(*halves(rows)),
    "PrivateSelector": lambda rows: dpselect.PrivateSelector().fit(*arrays(rows)),
    "PrivateSelector, lists": lambda rows: dpselect.PrivateSelector().fit(*halves(rows)),
    "an estimator": lambda rows: dpselect.PrivateSelector(LinearRegression()).fit(*arrays(rows)),
    "an estimator, lists": lambda rows: dpselect.PrivateSelector(LinearRegression()).fit(*halves(rows)),
    "transform": lambda rows: (
        dpselect.PCLSSelector().fit(np.zeros((9, 4)), np.zeros(9)).transform(arrays(rows)[0])
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("door", DOORS)
def test_no_warning_tells_of_an_extreme_record(door, extreme, recwarn):
    """Words of NumPy's that one record decides: a table that was taken with it told of it, at no price."""
    rows = np.random.default_rng(1).uniform(-1, 1, (60, 5)).tolist()
    rows[42] = list(EXTREMES[extreme])
    try:
        DOORS[door](rows)
    except DpselectError as error:
        assert "\n" not in str(error)
        assert error.__context__ is None
        if extreme == "masked":
            return  # NumPy warns inside scikit-learn of what is refused in the same breath
    heard = [each for each in recwarn if not issubclass(each.category, DpselectWarning)]
    assert [str(each.message) for each in heard if "No features were selected" not in str(each.message)] == []
