import json

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.errors import AssumptionError, BudgetExceeded, DataError
from dpselect.rehearse.simulate.settings import FIRST, draw
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.selection import Selection
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.public.document import Document
from dpselect.report.verify.verify import check_report
from dpselect.use.estimate import estimate
from dpselect.use.select_tuned import select_tuned

X, Y = draw(FIRST.with_rows(5000), np.random.SeedSequence(3))
STUDY = plain_assumptions(list("abcdef"), r=10, R=10)


def test_the_right_model_comes_out_of_loose_bounds_for_one_price():
    """Epsilon 20 and 5,000 rows leave a chance of error of about 1e-4 for idle columns; the default penalty decides."""
    ledger = Ledger(epsilon=20)
    tuned = select_tuned((X, Y), STUDY, epsilon=20, ledger=ledger)
    assert set(tuned.variables) >= {"a", "b", "c"}
    assert tuned.bounds.values == pytest.approx(np.quantile(Y, [0.25, 0.75]), abs=0.3)
    assert [record.what for record in ledger.records()] == ["tune bounds", "select"]
    assert ledger.left().epsilon == 0
    assert tuned.guarantee.epsilon == 20
    assert tuned.stated == STUDY
    assert tuned.selection.assumptions.response.upper == tuned.bounds.values[1]


def test_it_prints_and_writes_itself():
    tuned = select_tuned((X, Y), STUDY, epsilon=1)
    assert "epsilon=1, replace-one" in str(tuned)
    assert "clipped to" in str(tuned)
    plain = json.loads(tuned.to_json())
    assert plain["selection"]["columns"] == list(tuned.columns)


def test_the_selection_alone_says_that_its_bounds_were_bought_and_makes_no_report():
    tuned = select_tuned((X, Y), STUDY, epsilon=1)
    bought = tuned.selection.recipe.paid_before
    assert bought == tuned.bounds.guarantee.epsilon > 0
    assert f"after epsilon={bought.normalize():f} for bounds" in str(tuned.selection)
    assert Selection.from_json(tuned.selection.to_json()) == tuned.selection
    with pytest.raises(DataError, match="leave their price out"):
        Document(title="t", made="2026-11-15", selection=tuned.selection)


def test_nothing_is_charged_unless_there_is_room_for_both():
    ledger = Ledger(epsilon="0.5")
    with pytest.raises(BudgetExceeded):
        select_tuned((X, Y), STUDY, epsilon=1, ledger=ledger)
    assert ledger.records() == ()


@pytest.mark.parametrize("broken", ["missing", "candidates", "share"])
def test_nothing_is_charged_if_something_is_wrong(broken):
    ledger = Ledger(epsilon=1)
    columns = {name: X[:, j] for j, name in enumerate("abcdef")} | {"y": Y.copy()}
    options = {}
    if broken == "missing":
        columns["f"] = np.where(np.arange(5000) == 7, np.nan, columns["f"])
    elif broken == "candidates":
        options = {"candidates": [["no such column"]]}
    else:
        options = {"share": 1}
    with pytest.raises(Exception, match=r"f|column|share"):
        select_tuned(pa.table(columns), STUDY, epsilon=1, ledger=ledger, **options)
    assert ledger.records() == ()


def test_a_private_n_takes_no_part_in_the_split():
    study = plain_assumptions(list("abcdef"), r=10, R=10, neighbors="add-remove-one")
    tuned = select_tuned((X, Y), study, epsilon=1, candidates=(model for model in [["a"], ["a", "b"]]))
    assert str(tuned.bounds.guarantee.epsilon) == "0.1"
    assert tuned.variables in {("a",), ("a", "b")}


def test_a_stream_is_refused():
    reader = pa.table({name: X[:, j] for j, name in enumerate("abcdef")} | {"y": Y}).to_reader()
    with pytest.raises(DataError, match="stream"):
        select_tuned(reader, STUDY, epsilon=1)


def test_coefficients_are_estimated_under_the_stated_bounds():
    tuned = select_tuned((X, Y), STUDY, epsilon=50)
    got = estimate((X, Y), tuned, epsilon=50, delta=1e-6)
    assert got.assumptions == STUDY and got.selected and got.columns == tuned.columns
    assert estimate((X, Y), tuned.selection, assumptions=STUDY, epsilon=50).assumptions == STUDY
    with pytest.raises(AssumptionError, match="bought for the choice"):
        estimate((X, Y), tuned.selection, epsilon=1)
    with pytest.raises(AssumptionError, match="other assumptions"):
        estimate((X, Y), tuned, assumptions=tuned.bounds.assumptions, epsilon=1)


def test_it_reads_itself_back():
    tuned = select_tuned((X, Y), STUDY, epsilon=1, ledger=Ledger(epsilon=1))
    assert TunedSelection.from_dict(json.loads(tuned.to_json())) == tuned


def test_a_tuned_release_verifies_and_an_edited_one_does_not():
    ledger = Ledger(epsilon=2)
    tuned = select_tuned((X, Y), STUDY, epsilon=1, ledger=ledger)
    assert {check.answer for check in check_report(tuned.to_json(), ledger)} == {"yes"}
    assert {check.answer for check in check_report(tuned.to_json(), Ledger(epsilon=2))} == {"yes", "no"}

    def edited(change):
        values = json.loads(tuned.to_json())
        change(values)
        try:
            return [check.what for check in check_report(json.dumps(values), ledger) if check.answer != "yes"]
        except DataError as problem:
            return [str(problem)]

    other = tuned.bounds.values[1] + 0.01
    lies = [
        lambda values: values["bounds"].update(values=[tuned.bounds.values[0], other]),
        lambda values: values["bounds"]["guarantee"].update(epsilon="0.001"),
        lambda values: values["bounds"].update(range=1.0),
        lambda values: values["bounds"].update(receipt=None),
        lambda values: values["stated"]["response"].update(upper=99.0),
        lambda values: values["tuning"].update(radius=1.0),
        lambda values: values["tuning"].update(steps=255),  # 128 steps share every second place with 256
        lambda values: values["guarantee"].update(epsilon="0.5"),
        lambda values: values["selection"]["recipe"].update(bounds_epsilon="0.001"),
        lambda values: values["selection"].update(range=0.1),
        lambda values: values.update(format="dpselect report 1"),
        lambda values: values.update(more=1),
    ]
    for lie in lies:
        assert edited(lie), lies.index(lie)
