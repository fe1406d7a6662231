"""Rounds as a family draws them: asked in turn, kept before they are used, resumed after a kill, and never beyond their price."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

import dpselect
from dpselect import Binary, Categorical, Count, DataError, Ledger, Numeric, Study, StudyError
from dpselect.assume.budget import Guarantee, exact_delta, exact_epsilon
from dpselect.assume.lemmas.rounds import MAX_ROUND_COLUMNS, NORM_SLACK, query_sensitivity
from dpselect.assume.queries import Gradient, Histograms, RoundsPlan, Rows, Standard
from dpselect.errors import DpselectError, LedgerError
from dpselect.randomize import rounds_noise
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release.drawn import Request
from dpselect.release.equations.findings import HIDDEN
from dpselect.release.families import BOX, FAMILIES, family_for
from dpselect.release.rounds import checking, drawing
from dpselect.release.rounds.intervals import Found
from dpselect.release.rounds.path import replay
from dpselect.release.sealed import Sealed
from dpselect.use.spend import resume
from tests.release.exits import plan_estimate, release_estimate

PREDICTORS = [Numeric("a"), Numeric("b", -4, 4), Categorical("k", ["u", "v", "w"]), Binary("s", [0, 1])]
RESPONSES = {"gaussian": Numeric("y"), "binomial": Binary("died", ["no", "yes"]), "poisson": Count("visits")}
PRICE = {"epsilon": 4, "delta": "1e-6"}
GUARANTEE = Guarantee(epsilon=exact_epsilon(4), delta=exact_delta("1e-6"), neighbors="replace-one")
MODEL = ["a", "b", "k", "s"]


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(50, 10, n), rng.normal(size=n)
    linear = 0.05 * (a - 50) - 0.5 * b
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "k": rng.choice(["u", "v", "w"], n),
            "s": rng.integers(0, 2, n),
            "y": 3 + linear + rng.normal(size=n),
            "died": np.where(rng.random(n) < 1 / (1 + np.exp(-linear)), "yes", "no"),
            "visits": rng.poisson(np.exp(0.5 + linear / 2)),
            "id": rng.integers(0, n // 2, n),
        }
    )


def a_study(family, **settings):
    return Study(RESPONSES[family], PREDICTORS, **settings)


@pytest.fixture
def silent(monkeypatch):
    """No noise, so that runs can be compared; its size is as it would be."""
    monkeypatch.setattr(rounds_noise, "invoke", lambda measurement, numbers: numbers)


@pytest.mark.parametrize("family", RESPONSES)
def test_every_place_of_the_rows_gives_the_same_rounds(family, silent, tmp_path, monkeypatch):
    """The same integers in every round, so the same queries, and in the end the same terms."""
    rows, study = table(), a_study(family)
    expected = dpselect.estimate(rows, MODEL, study=study, **PRICE)
    rows.to_csv(tmp_path / "t.csv", index=False)
    rows.sample(frac=1, random_state=1).to_parquet(tmp_path / "t.parquet")
    pq.write_table(pq.read_table(tmp_path / "t.parquet"), tmp_path / "t.parquet", row_group_size=300)
    monkeypatch.setattr(drawing, "MAX_ROUND_BYTES", 0)  # read again for each round
    for source in (rows, tmp_path / "t.csv", str(tmp_path / "t.parquet")):
        found = dpselect.estimate(source, MODEL, study=study, **PRICE)
        assert found.released == expected.released and found.terms == expected.terms
    assert expected.family == family and expected.released.done
    truth = {"gaussian": 0.05, "binomial": 0.05, "poisson": 0.025}[family]
    assert abs(expected["a"].value - truth) < 4 * expected["a"].error


def test_dask_gives_the_same_rounds(silent):
    dask = pytest.importorskip("dask.dataframe", reason="No Dask: pip install 'dpselect[dask]'.")
    rows, study = table(1500), a_study("gaussian")
    expected = dpselect.estimate(rows, MODEL, study=study, **PRICE)
    frame = dask.from_pandas(rows.convert_dtypes(dtype_backend="pyarrow"), npartitions=3)
    assert dpselect.estimate(frame, MODEL, study=study, **PRICE).released == expected.released


class Killed(BaseException):
    """What no except clause of the program catches."""


@pytest.mark.parametrize("family", RESPONSES)
@pytest.mark.parametrize("when", [1, 3])
def test_a_run_that_is_killed_between_rounds_goes_on_where_it_was(family, when, monkeypatch, tmp_path):
    monkeypatch.setattr("dpselect.gather.kept.KeptRows.whole", False)  # else all rounds are drawn before the commit
    rows, study, ledger = (
        tmp_path / "rows.csv",
        a_study(family),
        Ledger(tmp_path / "budget.db", epsilon=9, delta="1e-4"),
    )
    table().to_csv(rows, index=False)
    real, times = Ledger.keep, []

    def keep(self, id, text, *, after):
        real(self, id, text, after=after)
        times.append(1)
        if len(times) == when:
            raise Killed

    monkeypatch.setattr(Ledger, "keep", keep)
    with pytest.raises(Killed):
        dpselect.analyze(rows, study, ledger=ledger, split=(1, 3), **PRICE)
    monkeypatch.setattr(Ledger, "keep", real)
    (waiting,) = ledger.undelivered()
    paid = [entry for entry in ledger.entries() if entry.what != "stage"]
    with pytest.raises(LedgerError, match="stopped between its rounds"):
        resume(ledger, None, lambda released: None)
    arrived = []
    assert resume(ledger, rows, arrived.append) == 1
    assert len(paid) == 2 and [entry for entry in ledger.entries() if entry.what != "stage"] == paid
    assert ledger.undelivered() == ()
    estimate = arrived[0].coefficients
    before = Sealed.from_text(waiting.text).estimate.released
    assert [entry.what for entry in ledger.entries()].count("stage") == len(estimate.released.asks)
    assert len(before.asks) == when and estimate.released.asks[:when] == before.asks  # nothing is drawn twice
    assert estimate.released.done and estimate.with_intervals() == estimate


class TinyPath:
    """In the place of the real one: a count of all rows and a gradient, with a share of mu each, that find nothing."""

    def __init__(self, shares, stop=2):
        self.shares, self.stop = shares, stop

    def __call__(self, plan, answers):
        if len(answers) == self.stop:
            return Found(
                names=(),
                findings=(),
                residual_deviation=HIDDEN,
                r_squared=HIDDEN,
                rows=plan.rows,
                predictive=(),
                scales={},
            )
        own = Standard(columns=(1,), centers=(0.0,), factors=(1.0,), response_center=0.0, response_factor=1.0)
        first = Histograms(columns=(1,), edges=((0.0,),), response_edges=(), family="gaussian")
        last = Gradient(family="gaussian", standard=own, matrix=((1.0,), (0.0,)), center=(0.0, 0.0), radius=1.0)
        return (((first, last)[len(answers)], plan.mu * self.shares[len(answers)] ** 0.5),)


@pytest.mark.parametrize(("shares", "fits"), [((0.5, 0.5), True), ((0.5, 0.5001), False), ((1.001, 0.0), False)])
def test_no_path_can_spend_more_than_the_price(shares, fits, monkeypatch, tmp_path):
    monkeypatch.setattr("dpselect.gather.kept.KeptRows.whole", False)  # else all rounds are drawn before the commit
    monkeypatch.setattr(drawing, "replay", TinyPath(shares))
    ledger, rows = Ledger(epsilon=9, delta="1e-4"), tmp_path / "rows.csv"
    table(500).to_csv(rows, index=False)
    if fits:
        got = dpselect.estimate(rows, ["a"], study=a_study("gaussian"), ledger=ledger, **PRICE)
        assert len(got.released.draws) == 2 and got.terms == ()
        return
    with pytest.raises(DpselectError, match="asks for more than its price buys"):
        dpselect.estimate(rows, ["a"], study=a_study("gaussian"), ledger=ledger, **PRICE)
    (waiting,) = ledger.undelivered()
    drawn = Sealed.from_text(waiting.text).estimate.released
    assert sum(shares[: len(drawn.asks)]) <= 1 and not drawn.done
    assert [entry.what for entry in ledger.entries()] == ["estimate", *["stage"] * len(drawn.asks)]


@pytest.mark.parametrize("settings", [{"neighbors": "add-remove-one"}, {"person": "id", "max_rows_per_person": 3}])
def test_a_private_number_of_rows_is_asked_for_or_stated(settings):
    rows = table(20_000)
    asked = dpselect.estimate(rows, ["a", "b"], study=a_study("gaussian", **settings), **PRICE)
    first = asked.released.asks[0][0]
    assert asked.released.rows is None and first.query == Rows()
    counted = rows.groupby("id").size().clip(upper=3).sum() if "person" in settings else 20_000
    assert asked.released.noisy_rows == pytest.approx(counted, rel=0.02)
    stated = dpselect.estimate(rows, ["a", "b"], study=a_study("gaussian", rows=19_000, **settings), **PRICE)
    assert stated.released.rows == 19_000 and not isinstance(stated.released.draws[0].query, Rows)
    for got in (asked, stated):
        assert abs(got["b"].value + 0.5) < 6 * got["b"].error
        assert [check.holds for check in checks_of(got)] == [True] * 4


def checks_of(estimate):
    study = a_study("gaussian")
    recipe = dpselect.select(table(300), study, epsilon=1).recipe
    return list(checking.rounds_checks(estimate, replace(recipe, rows=estimate.released.rows)))


def test_a_short_table_is_asked_nothing():
    got = dpselect.estimate(table(60), MODEL, study=a_study("gaussian"), epsilon="0.1", delta="1e-6")
    assert got.released.asks == () and got.released.done
    assert not any(term.determined for term in got.terms) and "hidden by noise" in str(got)


def test_what_cannot_be_is_refused_before_anything_is_charged():
    ledger, rows = Ledger(epsilon=9, delta="1e-4"), table(100)
    refused = {
        "state Binary": {"family": "binomial", "study": a_study("gaussian")},
        "state Count": {"family": "poisson", "study": a_study("gaussian")},
        "needs max_rows_per_person": {"study": a_study("gaussian", person="id")},
        "needs the range of 'y', 'a'": {"study": a_study("gaussian"), "noise": "laplace"},
        "need a delta above 0": {"study": a_study("binomial"), "family": "binomial", "delta": 0},
        "family is 'logit'": {"study": a_study("binomial"), "family": "logit"},
    }
    for sentence, asked in refused.items():
        with pytest.raises(StudyError, match=sentence):
            dpselect.estimate(rows, ["a"], ledger=ledger, **PRICE | asked)
    with pytest.raises(StudyError, match="noise is 'laplace'"):
        plan_estimate(a_study("binomial"), (0, 1), family="binomial", noise="laplace", **PRICE)
    bounded = Study(Numeric("y", -9, 9), [Numeric("b", -4, 4)])
    with pytest.raises(DataError, match="read the rows again for each round"):
        release_estimate(dpselect.gather(rows, bounded), plan_estimate(bounded, (0, 1), family="gaussian", **PRICE))
    assert ledger.entries() == ()


def test_a_model_without_columns_is_refused_before_anything_is_charged():
    ledger = Ledger(epsilon=9, delta="1e-5")
    study = a_study("gaussian", intercept="none")
    with pytest.raises(StudyError, match="no coefficients"):
        dpselect.estimate(table(), [], study=study, ledger=ledger, **PRICE)
    assert ledger.entries() == ()


def test_the_family_follows_from_the_response_where_rounds_are_possible():
    for name, response in RESPONSES.items():
        study = Study(response, PREDICTORS)
        assert family_for(study, None, delta="1e-6") is FAMILIES[name]
        assert family_for(study, None, delta=0) is family_for(study, None, delta="1e-6", rows_again=False) is BOX
        assert family_for(study, "gaussian", delta="1e-6") is FAMILIES["gaussian"]
        assert family_for(study, "gaussian", delta="1e-6", noise="laplace") is BOX


def test_a_stream_is_read_once_and_has_moments():
    study = Study(Numeric("y", -9, 9), [Numeric("b", -4, 4)])
    import pyarrow as pa

    stream = pa.Table.from_pandas(table(3000)).to_reader()
    got = dpselect.estimate(stream, ["b"], study=study, **PRICE)
    assert got.kind is BOX and abs(got["b"].value + 0.5) < 6 * got["b"].error


@pytest.mark.parametrize("family", RESPONSES)
def test_scikit_learn_predicts_the_same(family):
    rows = table()
    got = dpselect.estimate(rows, MODEL, study=a_study(family), **PRICE)
    model = got.to_sklearn()
    design = pd.DataFrame(got.design(rows[:9]), columns=model.feature_names_in_)
    expected = model.predict_proba(design)[:, 1] if family == "binomial" else model.predict(design)
    assert got.predict(rows[:9]) == pytest.approx(expected)
    if family == "poisson":
        assert "rate of visits ~" in str(got) and "rate ratio" in str(got)


def test_an_unfinished_release_says_nothing():
    study = a_study("gaussian")
    got = dpselect.estimate(table(), MODEL, study=study, **PRICE)
    part = replace(got.released, asks=got.released.asks[:2], done=False)
    with pytest.raises(StudyError, match="Rounds of this release are missing"):
        drawing.solve_rounds("gaussian", part, study, got.columns, level=0.95, considered=None)
    assert isinstance(Rounds.from_json(part.to_json()), Rounds)


@pytest.mark.parametrize("wrong", [{"values": (1,)}, {"rho": 0.0}])
def test_a_draw_that_is_no_answer_to_its_query_is_refused(wrong):
    """A text that was committed may state any; it ended in an error of NumPy, or in a division by zero."""
    made = dpselect.estimate(table(), MODEL, study=a_study("gaussian"), **PRICE)
    (first, *rest), *later = made.released.asks
    bad = replace(first, draw=replace(first.draw, **wrong))
    rounds = replace(made.released, asks=((bad, *rest), *later))
    with pytest.raises(DataError, match="other numbers than were asked for"):
        drawing.what_follows("gaussian", rounds, made.study, made.columns)


def test_a_model_without_columns_is_asked_nothing():
    study = a_study("gaussian", intercept="none")
    plan = RoundsPlan(study=study, columns=(), family="gaussian", rows=4000, mu=1.0)
    assert isinstance(replay(plan, []), Found)


def test_plain_values_are_compared_up_to_their_last_digits():
    assert checking.near({"a": [1.0, 2]}, {"a": [1.00001, 2]}) and checking.near([1.0], [1])
    for other in ({"a": [1.0, 3]}, {"a": [1.01, 2]}, {"b": [1.0, 2]}, {"a": [1.0]}, {"a": "x"}, 1.0):
        assert not checking.near({"a": [1.0, 2]}, other)


def test_more_columns_than_the_sensitivity_is_proved_for_are_refused():
    """Of a plan, and of a model that is selected later."""
    study = Study(RESPONSES["gaussian"], [Numeric(f"x{place}") for place in range(MAX_ROUND_COLUMNS)])
    most = drawing.plan_rounds("gaussian", study, tuple(range(MAX_ROUND_COLUMNS)), **PRICE)
    assert len(most.columns) == 4000
    beyond = tuple(range(MAX_ROUND_COLUMNS + 1))
    with pytest.raises(StudyError, match="at most 4000 columns"):
        drawing.plan_rounds("gaussian", study, beyond, **PRICE)
    with pytest.raises(StudyError, match="at most 4000 columns"):
        drawing.settle_rounds(drawing.plan_rounds("gaussian", study, (), **PRICE), study, beyond, None)


@pytest.mark.parametrize("columns", [(0, 3, 3), (3, 0), (-1, 0), (0, 6)])
def test_columns_that_are_not_places_each_once_and_in_order_are_refused(columns):
    """Copies of a dummy move together, and would be paid for as levels of a category, of which a row has one."""
    study = Study(RESPONSES["gaussian"], PREDICTORS)
    for refused in (
        lambda: drawing.plan_rounds("gaussian", study, columns, **PRICE),
        lambda: drawing.settle_rounds(drawing.plan_rounds("gaussian", study, (), **PRICE), study, columns, None),
        lambda: query_sensitivity(
            Histograms(columns=columns, edges=((),) * len(columns), response_edges=(), family="gaussian"), study
        ),
        lambda: Request(
            family="gaussian", columns=columns, level=0.95, selected=False, study=study, guarantee=GUARANTEE
        ),
    ):
        with pytest.raises(DataError, match="each once and in order"):
            refused()


def test_the_slack_is_that_of_as_many_cells_as_are_allowed():
    """By the count of roundings in the lemma: (d + 2) / 2 of a length, and six more, of 2^-53 each."""
    cells = MAX_ROUND_COLUMNS + 1
    assert (1 + Fraction(1, 2**53)) ** ((cells + 2) // 2 + 1 + 6) < NORM_SLACK
