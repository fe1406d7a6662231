import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpselect import (
    BudgetExceeded,
    Categorical,
    DataError,
    Estimate,
    Ledger,
    Numeric,
    Study,
    estimate,
    gather,
)
from dpselect.errors import StudyError
from dpselect.release import linear as module
from dpselect.release.families import BOX
from tests.release.exits import plan_estimate, release_estimate

PREDICTORS = [
    Numeric("size", 0, 3000),
    Numeric("age", 0, 100),
    Categorical("sex", ["f", "m"]),
    Categorical("county", ["a", "b", "c"]),
]
TRUE = {"intercept": 100, "size": 0.2, "age": -2, "sex[m]": 50, "county[b]": 30, "county[c]": -60}


def frame(n=20_000, seed=0):
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": generator.uniform(0, 3000, n),
            "age": generator.uniform(0, 100, n),
            "sex": generator.choice(["f", "m"], n),
            "county": generator.choice(["a", "b", "c"], n),
        }
    )
    table["price"] = (
        100
        + 0.2 * table["size"]
        - 2 * table["age"]
        + 50 * (table["sex"] == "m")
        + 30 * (table["county"] == "b")
        - 60 * (table["county"] == "c")
        + generator.normal(0, 40, n)
    )
    return table


def a_study(**kwargs):
    return Study(Numeric("price", -300, 1000), PREDICTORS, **kwargs)


ALL = ["size", "age", "sex", "county"]


@pytest.fixture(scope="module")
def table():
    return frame()


@pytest.fixture(scope="module")
def released(table):
    return estimate(table, ALL, study=a_study(), epsilon=2, delta=1e-6)


@pytest.fixture(scope="module")
def boxed(table):
    """From moments, which hold no rows."""
    return estimate(gather(table, a_study()), ALL, study=a_study(), epsilon=2, delta=1e-6)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (3, 0)])
def test_coefficients_come_back_in_the_users_units(table, neighbors, epsilon, delta):
    got = estimate(table, ALL, study=a_study(neighbors=neighbors), epsilon=epsilon, delta=delta)
    assert [term.name for term in got.terms] == list(TRUE)
    for term in got.terms:
        # Six errors: a false alarm once in a hundred million coefficients.
        assert abs(term.value - TRUE[term.name]) < 6 * term.error
        assert term.lower < term.value < term.upper
    assert got.rows == pytest.approx(20_000, rel=0.01)
    for amount, truth in ((got.residual_deviation, 40), (got.r_squared, 0.957)):
        # Twice the interval: far rarer than once in a million.
        room = 0 if amount.value is None else amount.upper - amount.lower
        assert amount.value is None or amount.lower - room / 2 < truth < amount.upper + room / 2


def test_with_a_huge_epsilon_it_is_least_squares(table):
    got = estimate(gather(table, a_study()), ALL, study=a_study(), epsilon=1e6, delta=1e-6)
    design = np.column_stack([np.ones(len(table)), got.design(table)])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    assert [term.value for term in got.terms] == pytest.approx(expected, rel=1e-3)
    by_rounds = estimate(table, ALL, study=a_study(), epsilon=1e4, delta=1e-6)
    for term, value in zip(by_rounds.terms, expected, strict=True):
        assert abs(term.value - value) < 0.5 * term.error and term.privacy_share < 0.5
    assert got.terms[1].privacy_share < 0.01
    residuals = table["price"] - design @ expected
    assert got.residual_deviation.value == pytest.approx(residuals.std(), rel=0.01)
    assert got.r_squared.value == pytest.approx(1 - residuals.var() / table["price"].var(), abs=0.01)
    assert got.unadjusted == ()


def test_bounds_that_are_not_symmetric_imply_an_intercept(table):
    study = Study(Numeric("price", -300, 1000), [Numeric("size", 0, 3000)], intercept="none")
    got = estimate(table, ["size"], study=study, epsilon=10)
    assert [term.name for term in got.terms] == ["intercept", "size"]
    assert got.predict({"size": np.array([1500.0])}) == pytest.approx([350.0])
    centred = Study(Numeric("price", -1000, 1000), [Numeric("size", -3000, 3000)], intercept="none")
    assert [term.name for term in estimate(table, ["size"], study=centred, epsilon=10).terms] == ["size"]


def test_an_empty_model_and_an_intercept_alone(table):
    study = a_study()
    alone = estimate(table, [], study=study, epsilon=5)
    assert alone.formula == "price ~ 1"
    assert alone["intercept"].value == pytest.approx(table["price"].clip(-300, 1000).mean(), abs=5)
    empty = estimate(table, [], study=a_study(intercept="none"), epsilon=5)
    assert empty.terms[0].value == 350 and empty.predict(table[:2]).tolist() == [350, 350]
    Estimate.from_json(empty.to_json())


def test_a_submodel_is_free_and_near_its_least_squares(table, boxed, released):
    small = boxed.submodel(["size", "county"])
    assert small.guarantee == boxed.guarantee and small.released is boxed.released
    design = np.column_stack([np.ones(len(table)), small.design(table)])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    for term, value in zip(small.terms, expected, strict=True):
        assert abs(term.value - value) < 6 * term.error
    other = estimate(table, ["size"], study=a_study(), epsilon=1)
    with pytest.raises(StudyError, match="released moments only: intercept, size"):
        other.submodel(["age"])
    with pytest.raises(StudyError, match="need a release of their own"):
        released.submodel(["age"])


def test_intervals_of_another_level_are_free(released):
    narrow = released.with_intervals(level=0.8)
    for one, two in zip(narrow.terms, released.terms, strict=True):
        assert one.value == two.value
        assert one.upper < two.upper
        # Nothing was selected from the rows, so there is nothing to adjust for.
        assert (two.adjusted_lower, two.adjusted_upper) == (two.lower, two.upper)
    assert released.with_intervals(0.5).level == 0.5 and released.with_intervals(0.999).level == 0.999
    for level in (0.499, 0.9991, 1):
        with pytest.raises(StudyError, match=f"level is {level}; it must be between 0.5 and 0.999"):
            released.with_intervals(level)


def test_predict_from_frames_arrays_and_mappings(table, released):
    few = table[:5]
    expected = released.predict(few)
    numbers = Study(Numeric("price", -300, 1000), PREDICTORS[:2])
    assert expected == pytest.approx(few["price"], abs=200)
    assert released.predict(pl.from_pandas(few)).tolist() == expected.tolist()
    assert released.predict(pa.Table.from_pandas(few)).tolist() == expected.tolist()
    assert released.predict({name: few[name].to_numpy() for name in ALL}).tolist() == expected.tolist()
    plain = estimate(table, ["age"], study=numbers, epsilon=1)
    assert plain.predict(few[["size", "age"]].to_numpy()).tolist() == plain.predict(few).tolist()
    with pytest.raises(DataError, match="no column 'size'"):
        released.predict(few[["age", "sex", "county"]])
    with pytest.raises(DataError, match="2 columns"):
        plain.predict(few[["age"]].to_numpy())
    with pytest.raises(DataError, match="'sex' has missing"):
        released.predict(few.assign(sex="x"))


def test_scikit_learn_predicts_the_same(table, released):
    model = released.to_sklearn()
    design = pd.DataFrame(released.design(table[:9]), columns=model.feature_names_in_)
    assert model.predict(design) == pytest.approx(released.predict(table[:9]))


def test_json_round_trip(released, boxed):
    again = Estimate.from_json(boxed.to_json())
    assert again == boxed and str(again) == str(boxed)
    assert again.submodel(["age"]) == boxed.submodel(["age"])
    again = Estimate.from_json(released.to_json())
    assert again == released and str(again) == str(released) and again.with_intervals() == released
    swapped = json.loads(boxed.to_json()) | {"family": "binomial"}
    with pytest.raises(DataError, match="do not come from such a release"):
        Estimate.from_json(json.dumps(swapped))
    with pytest.raises(DataError, match="not the JSON text"):
        Estimate.from_json("{}")
    with pytest.raises(DataError, match=r"'dpselect selection 1' - at `\$.format`"):
        Estimate.from_json(json.dumps({"format": "dpselect selection 1"}))


def test_a_stranger_can_check_the_price_from_the_json_alone(released, boxed):
    noise = json.loads(boxed.to_json())["released"]["noise"]
    assert noise["scale"]["noise"] == "gaussian"
    assert noise["rho"] == pytest.approx((noise["scale"]["sensitivity"] / noise["spread"]) ** 2 / 2)
    values = json.loads(released.to_json())
    for draw in (each["draw"] for ask in values["released"]["asks"] for each in ask):
        assert draw["rho"] == pytest.approx((draw["sensitivity"] / draw["spread"]) ** 2 / 2)
    assert Decimal(values["guarantee"]["epsilon"]) == 2 and Decimal(values["guarantee"]["delta"]) == Decimal("1e-6")


def test_text_names_price_model_and_caveats(released):
    said = str(released)
    assert "price ~ 1 + size + age + sex[m] + county[b] + county[c]" in said
    assert "Privacy: epsilon 2, delta 1e-6 (moderate)." in said and "moved to the nearest limit" in said
    assert released.tidy("pandas")["term"].tolist() == list(TRUE)
    assert repr(released) == "<Estimate " + released.formula + ": 6 of 6 coefficients clear, epsilon 2>"
    assert released["age"].name == "age"
    with pytest.raises(KeyError):
        released["rooms"]


def test_the_ledger_has_the_charge_and_the_price_is_the_same_for_all_columns(table):
    """Columns that were drawn from the rows, and are not paid for yet, must not decide whether the charge fits."""
    ledger, sums = Ledger(epsilon=3, delta=1e-5), gather(table, a_study())
    got = estimate(sums, ALL, study=a_study(), epsilon=1, delta=1e-6, ledger=ledger, data="homes", analyst="me")
    few = estimate(sums, ["size"], study=a_study(), epsilon=1, delta=1e-6, ledger=ledger, data="homes", analyst="me")
    assert (got.released.noise.scale.noise, few.released.noise.scale.noise) == ("gaussian", "laplace")
    one, other = (entry.to_dict() for entry in ledger.entries())
    for name in ("index", "time", "hash", "release", "sealed"):
        assert one.pop(name) != other.pop(name)
    assert one == other
    entry = ledger.entries()[0]
    assert (entry.what, entry.mechanism, entry.epsilon, entry.delta) == (
        "estimate",
        "noisy-moments",
        1,
        Decimal("1e-6"),
    )
    assert (got.receipt.hash, got.guarantee.delta, few.guarantee.delta) == (entry.hash, entry.delta, entry.delta)
    named = estimate(table, ["size"], study=a_study(), epsilon=1, delta=1e-6, noise="laplace", ledger=ledger)
    assert (named.guarantee.delta, ledger.entries()[2].delta) == (0, 0)  # who asks for Laplace noise asks for no delta


def test_nothing_is_drawn_without_a_charge(table, monkeypatch):
    ledger = Ledger(epsilon=1)

    def draw(*_):
        raise AssertionError("drawn")

    monkeypatch.setattr(module, "noisy_moments", draw)
    with pytest.raises(BudgetExceeded):
        estimate(table, ALL, study=a_study(), epsilon=2, delta=0, ledger=ledger)
    assert ledger.entries() == ()
    # And the other way round: a draw that fails is charged, for that it failed may tell something of the rows.
    with pytest.raises(AssertionError):
        estimate(table, ALL, study=a_study(), epsilon=1, delta=0, ledger=ledger)
    assert len(ledger.entries()) == 1
    assert ledger.undelivered() == ()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": 1, "delta": 0.7}, "delta is 0.7"),
        ({"epsilon": 1, "level": 2}, "level is 2"),
        ({"epsilon": 1, "family": "magic"}, "family is 'magic'; it must be one of 'gaussian', 'binomial'"),
        ({"epsilon": 1, "noise": "gaussian"}, "Gaussian noise needs a delta"),
    ],
)
def test_impossible_requests_are_refused_before_the_ledger_is_asked(table, asked, says):
    ledger = Ledger(epsilon=9)
    with pytest.raises(StudyError, match=says):
        estimate(table, ["size"], study=a_study(), ledger=ledger, **asked)
    assert ledger.entries() == ()


def test_moments_of_another_study_are_refused(table):
    other = gather(table, a_study(neighbors="add-remove-one"))
    with pytest.raises(DataError, match="other assumptions"):
        estimate(other, ["size"], study=a_study(), epsilon=1)
    with pytest.raises(StudyError, match="needs a study"):
        estimate(other, ["size"], epsilon=1)


def test_persons_with_several_rows_cost_accuracy_in_proportion(table):
    """Each person has one row, so the tables are the same; only the promise differs."""
    errors = []
    for most in (1, 10):
        study = a_study(person="id", max_rows_per_person=most)
        got = estimate(table.assign(id=range(len(table))), ["size"], study=study, epsilon=0.3)
        errors.append(got["size"].error)
        assert got.rows == pytest.approx(20_000, rel=0.6)  # twenty deviations of its noise
        assert (most > 1) == ("If the rows of a person are alike" in str(got))
    assert 4 < errors[1] / errors[0] < 25


def test_products_of_variables_are_measured_from_the_middle(table):
    study = a_study(terms=["size", "sex", "county", ["size", "age"], ["size", "sex"]])
    got = estimate(table, ["size", "sex", "size:age", "size:sex[m]"], study=study, epsilon=1e6, delta=1e-6)
    size, age, male = table["size"], table["age"], table["sex"] == "m"
    design = np.column_stack([np.ones(len(table)), size, male, (size - 1500) * (age - 50), (size - 1500) * male])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    assert [term.value for term in got.terms] == pytest.approx(expected, rel=1e-2, abs=1e-3)
    assert got.predict(table[:4]) == pytest.approx(design[:4] @ expected, rel=1e-2)


def test_drowned_models_say_so():
    got = estimate(frame(300), ALL, study=a_study(), epsilon=0.2, delta=1e-6)
    assert not any(term.determined for term in got.terms)
    assert all(term.value is term.error is term.privacy_share is None for term in got.terms)
    assert not got.residual_deviation.determined and not got.r_squared.determined
    assert "Hidden by noise: 5 of 5 effects." in str(got) and "unbounded" in str(got)
    assert np.isfinite(got.predict(frame(3))).all()
    assert Estimate.from_json(got.to_json()) == got


def test_one_variable_at_a_time_where_all_together_are_drowned():
    """A slope that could not be told from others may be seen by itself, from the same noisy moments."""
    generator = np.random.default_rng(8)
    x = generator.uniform(-1, 1, 6000)
    table = pd.DataFrame({"a": x, "b": np.clip(x + 0.05 * generator.normal(size=6000), -1, 1)})
    table["y"] = 0.4 * table["a"] + generator.uniform(-0.2, 0.2, 6000)
    study = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", -1, 1)])
    # One release in sixteen tells them apart by luck; that all of twelve do has a chance of 1e-14.
    releases = (estimate(table, ["a", "b"], study=study, epsilon=1) for _ in range(12))
    got = next(each for each in releases if not each["a"].determined and not each["b"].determined)
    alone = {term.name: term for term in got.unadjusted}
    assert abs(alone["a"].value - 0.4) < 6 * alone["a"].error and abs(alone["b"].value - 0.4) < 6 * alone["b"].error
    assert "Unadjusted effects, one variable at a time: a +0." in str(got)


def test_adjusted_intervals_contain_the_plain_ones_always_and_are_longer():
    longer = 0
    for n, epsilon in ((300, 0.2), (1000, 0.5), (4000, 1), (20_000, 5)):
        study = a_study()
        plan = plan_estimate(study, tuple(range(6)), epsilon=epsilon, delta=1e-6, selected=True, family=BOX)
        got = release_estimate(gather(frame(n), study), plan)
        for term in (*got.terms, *got.unadjusted):
            assert term.adjusted_lower is None or (term.lower is not None and term.adjusted_lower <= term.lower)
            assert term.adjusted_upper is None or (term.upper is not None and term.adjusted_upper >= term.upper)
            longer += (term.adjusted_lower, term.adjusted_upper) != (term.lower, term.upper)
            # The size that the plain interval could have told from zero, or none.
            closed = term.lower is not None and term.upper is not None
            assert term.visible == (pytest.approx((term.upper - term.lower) / 2) if closed else None)
        assert "adjusted for selection" in str(got)
    assert longer > 6


def test_a_tidy_row_has_the_words_of_the_study_and_both_intervals(table):
    study = Study(
        Numeric("price", -300, 1000, unit="dollars"),
        [
            Numeric("size", 0, 3000, label="Living area", unit="square feet"),
            Numeric("age", 0, 100),
            Categorical("sex", ["f", "m"], label="Sex of the owner", category_labels=["woman", "man"]),
            Categorical("county", ["a", "b", "c"]),
        ],
        terms=["size", "age", "sex", "county", ["size", "age"]],
    )
    asked = {"selected": True, "directions": {"size": "up"}, "family": BOX}
    plan = plan_estimate(study, (0, 1, 2, 3, 6), epsilon=20, delta=1e-6, **asked)
    got = release_estimate(gather(table, study), plan)
    rows = {row["term"]: row for row in got.tidy()}
    assert (
        list(rows["size"])
        == (
            "term label category direction estimate std_error conf_low conf_high adjusted_low adjusted_high unit hidden"
        ).split()
    )
    labels = [(row["label"], row["category"], row["direction"], row["unit"]) for row in rows.values()]
    assert labels == [
        ("intercept", None, None, None),
        ("Living area", None, "up", "square feet"),
        ("age", None, None, None),
        ("Sex of the owner", "man", None, None),
        ("Living area \N{MULTIPLICATION SIGN} age", None, None, None),
    ]
    size, term = rows["size"], got["size"]
    assert (size["estimate"], size["std_error"]) == (term.value, term.error)
    assert (size["conf_low"], size["conf_high"]) == (term.lower, term.upper)
    assert (size["adjusted_low"], size["adjusted_high"]) == (term.adjusted_lower, term.adjusted_upper)
    assert size["adjusted_low"] < size["conf_low"] < size["estimate"] < size["conf_high"] < size["adjusted_high"]
    assert [row["hidden"] for row in rows.values()] == [term.hidden for term in got.terms]
    assert not rows["size"]["hidden"] and rows["size:age"]["hidden"]
    assert got.tidy("polars")["category"].to_list() == [row["category"] for row in rows.values()]
    assert Estimate.from_json(got.to_json()) == got


def test_one_release_is_solved_once(table, monkeypatch):
    """0.2.0 solved it again for the page, for the terminal and for each look at either."""
    times = []
    fit = module.fit
    monkeypatch.setattr(module, "fit", lambda problem: (times.append(1), fit(problem))[1])
    got = estimate(table, ["size"], study=a_study(), epsilon=2)
    for look in (
        str,
        repr,
        Estimate.tidy,
        Estimate.glance,
        Estimate.to_json,
        Estimate._repr_html_,
    ):
        look(got)
    assert len(times) == 1
    got.with_intervals(level=0.5)
    assert len(times) == 2
