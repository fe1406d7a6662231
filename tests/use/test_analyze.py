from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dpselect
from dpselect.release.estimate import solved
from dpselect.release.sealed import Sealed
from dpselect.use.spend import resume


def source(n=5000):
    generator = np.random.default_rng(2)
    X = generator.uniform(-1, 1, (n, 4))
    return X, 0.5 * X[:, 0] - 0.3 * X[:, 2] + generator.uniform(-0.1, 0.1, n)


def a_study(**kwargs):
    predictors = [dpselect.Numeric(f"x{j}", -1, 1) for j in range(4)]
    return dpselect.Study(dpselect.Numeric("y", -1, 1), predictors, **kwargs)


def test_one_call_selects_and_estimates():
    ledger = dpselect.Ledger(epsilon=10, delta="1e-6")
    got = dpselect.analyze(source(), a_study(), epsilon=8, delta=1e-6, ledger=ledger)
    assert got.selection.columns == got.coefficients.columns
    assert {"x0", "x2"} <= set(got.selection.variables)
    assert got.coefficients["x0"].value == pytest.approx(0.5, abs=0.1)
    assert got.coefficients.selected and "adjusted for selection" in str(got)
    assert [record.what for record in ledger.entries()] == ["select", "estimate"]
    assert got.selection.receipt.hash == ledger.entries()[0].hash
    assert got.coefficients.receipt.hash == ledger.entries()[1].hash
    assert got.selection.guarantee.epsilon + got.coefficients.guarantee.epsilon == 8


def test_shares_add_up_and_go_where_they_should():
    got = dpselect.analyze(source(), a_study(), epsilon=1, delta=1e-6, split=(1, 3))
    assert got.selection.guarantee.epsilon == Decimal("0.25")
    assert got.coefficients.guarantee.epsilon == Decimal("0.75")


def test_pcpl_takes_half_of_delta():
    got = dpselect.analyze(source(), a_study(), epsilon=4, delta="2e-6", method="pcpl")
    assert got.selection.guarantee.delta == Decimal("1e-6")
    assert got.coefficients.guarantee.delta in (0, Decimal("1e-6"))


@pytest.mark.parametrize("room", [1, 1.9])
def test_a_ledger_without_room_for_both_is_left_as_it_was(room):
    ledger = dpselect.Ledger(epsilon=room, delta="1e-6")
    with pytest.raises(dpselect.BudgetExceeded, match="select and estimate"):
        dpselect.analyze(source(), a_study(), epsilon=2, delta=1e-6, ledger=ledger)
    assert ledger.entries() == ()


def test_choice_and_estimate_are_charged_together_or_not_at_all(monkeypatch):
    ledger = dpselect.Ledger(epsilon=1)
    monkeypatch.setattr(ledger, "check", lambda *_: None)  # as if somebody else had spent in between
    with pytest.raises(dpselect.BudgetExceeded):
        dpselect.analyze(source(), a_study(), epsilon=2, split=(1, 1.5), ledger=ledger)
    assert ledger.entries() == () and ledger.undelivered() == ()


def test_what_is_returned_is_delivered_and_stays_in_the_ledger():
    ledger = dpselect.Ledger(epsilon=8, delta="1e-6")
    got = dpselect.analyze(source(), a_study(), epsilon=8, delta=1e-6, ledger=ledger)
    assert ledger.undelivered() == ()
    (release,) = {entry.release for entry in ledger.entries()}
    sealed = Sealed.from_text(ledger.release(release)).with_receipts(ledger.receipts(release))
    assert (sealed.selection, solved(sealed.estimate)) == (got.selection, got.coefficients)


def test_what_was_stopped_after_the_commit_is_there_for_the_next_call(monkeypatch):
    ledger = dpselect.Ledger(epsilon=8, delta="1e-6")
    with monkeypatch.context() as patch:
        patch.setattr("dpselect.use.spend.solved", lambda drawn: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            dpselect.analyze(source(), a_study(), epsilon=8, delta=1e-6, ledger=ledger, data="homes")
    assert len(ledger.entries()) == 2 and len(ledger.undelivered()) == 1
    arrived = []
    assert resume(ledger, None, arrived.append) == 1 and resume(ledger, None, arrived.append) == 0
    assert [each.analysis.selection.receipt.index for each in arrived] == [1]
    assert len(ledger.entries()) == 2


def test_impossible_requests_are_refused_before_anything_is_charged():
    ledger = dpselect.Ledger(epsilon=9)
    for asked in (
        {"epsilon": -1},
        {"epsilon": 1, "level": 7},
        {"epsilon": 1, "split": (1, 0)},
        {"epsilon": 1, "delta": 2},
    ):
        with pytest.raises(dpselect.StudyError):
            dpselect.analyze(source(100), a_study(), ledger=ledger, **asked)
    assert ledger.entries() == ()


def test_json_round_trip():
    got = dpselect.analyze(source(), a_study(), epsilon=2, delta=1e-6)
    assert dpselect.Analysis.from_json(got.to_json()) == got
    with pytest.raises(dpselect.DataError):
        dpselect.Analysis.from_json("[]")


def test_a_selection_can_be_estimated_afterwards():
    moments = dpselect.gather(source(), a_study())
    selection = dpselect.select(moments, a_study(), epsilon=4, method="pcls")
    got = dpselect.estimate(moments, selection, epsilon=1, delta=1e-6)
    assert got.columns == selection.columns and got.selected
    with pytest.raises(dpselect.StudyError, match="another study"):
        dpselect.estimate(moments, selection, epsilon=1, study=a_study(intercept="none"))


def test_an_analysis_as_tables_pages_and_files(tmp_path):
    generator = np.random.default_rng(4)
    table = pd.DataFrame({"x": generator.uniform(0, 10, 4000), "kind": generator.choice(["a", "b", "c"], 4000)})
    table["y"] = table["x"] + 4 * (table["kind"] == "c") + generator.normal(0, 1, 4000)
    study = dpselect.Study(
        dpselect.Numeric("y", -5, 25), [dpselect.Numeric("x", 0, 10), dpselect.Categorical("kind", ["a", "b", "c"])]
    )
    got = dpselect.analyze(table, study, epsilon=8, delta=1e-6)
    tidy = got.tidy("pandas")
    assert tidy.loc[tidy["term"] == "kind[c]", ["label", "category"]].to_numpy().tolist() == [["kind", "c"]]
    assert got.tidy("polars")["term"].to_list() == [row["term"] for row in got.tidy()] == list(tidy["term"])
    (row,) = got.glance()
    share = [row[name] for name in ("r_squared_low", "r_squared", "r_squared_high")]
    assert row["epsilon"] == 8 and (share == [None] * 3 or share == sorted(share))
    with pytest.raises(dpselect.StudyError, match="'plain', 'pandas', 'polars'"):
        got.tidy("excel")
    page = got.to_html(tmp_path / "report.html", title="Homes")
    assert "Homes" in page.read_text(encoding="utf-8")
    again = dpselect.Analysis.from_json((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert again.coefficients == got.coefficients and again.selection == got.selection
    assert again.guarantee.epsilon == 8 and dpselect.Analysis.from_json(again.to_json()) == again
    with pytest.raises(dpselect.StudyError, match="already exists"):
        got.to_html(page)
    with pytest.raises(dpselect.StudyError, match=r"End it in \.html"):
        got.to_html(tmp_path / "report.txt")


def test_a_full_ledger_refuses_before_a_row_is_read():
    class Rows:
        """Anything that is asked of it is a row that was read."""

        def __getattr__(self, name):
            pytest.fail(f"the rows were asked for {name}")

    ledger = dpselect.Ledger(epsilon=1)
    for method in ("votes", "pcls"):
        with pytest.raises(dpselect.BudgetExceeded):
            dpselect.analyze(Rows(), a_study(), epsilon=2, method=method, ledger=ledger)
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"split": 3}, "split is 3; it must be two"),
        ({"split": "ab"}, "split is 'ab'; it must be two"),
        ({"split": (1, 2, 3)}, "it must be two"),
        ({"level": None}, "level is None; it must be between"),
        ({"level": "0.95"}, "level is '0.95'; it must be between"),
        ({"level": [0.95]}, "it must be between"),
    ],
)
def test_a_wrong_type_is_refused_in_a_sentence(asked, said):
    a_study = dpselect.Study(dpselect.Numeric("y", 0, 1), [dpselect.Numeric("x", 0, 1)])
    ledger = dpselect.Ledger(epsilon=1)
    with pytest.raises(dpselect.StudyError, match=said):
        dpselect.analyze((np.zeros((9, 1)), np.zeros(9)), a_study, epsilon=1, ledger=ledger, **asked)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("method", ["votes", "pcls"])
@pytest.mark.parametrize(
    ("source", "said"), [((), "of another length"), ((np.zeros((9, 1)),), "of another length"), ([["a"]], "list")]
)
def test_what_is_no_table_is_refused_in_a_sentence(source, said, method):
    a_study = dpselect.Study(dpselect.Numeric("y", 0, 1), [dpselect.Numeric("x", 0, 1)])
    for door in (dpselect.select, dpselect.analyze):
        with pytest.raises(dpselect.DataError, match=said):
            door(source, a_study, epsilon=1, method=method)
