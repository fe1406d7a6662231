import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpselect import (
    Assumptions,
    BudgetExceeded,
    Categorical,
    Coefficients,
    DataError,
    Ledger,
    Numeric,
    estimate,
    gather,
)
from dpselect.errors import AssumptionError
from dpselect.release import estimate as module

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


def study(**kwargs):
    return Assumptions(Numeric("price", -300, 1000), PREDICTORS, **kwargs)


ALL = ["size", "age", "sex", "county"]


@pytest.fixture(scope="module")
def table():
    return frame()


@pytest.fixture(scope="module")
def released(table):
    return estimate(table, ALL, assumptions=study(), epsilon=2, delta=1e-6)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (3, 0)])
def test_coefficients_come_back_in_the_users_units(table, neighbors, epsilon, delta):
    got = estimate(table, ALL, assumptions=study(neighbors=neighbors), epsilon=epsilon, delta=delta)
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
    got = estimate(table, ALL, assumptions=study(), epsilon=1e6, delta=1e-6)
    design = np.column_stack([np.ones(len(table)), got.design(table)])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    assert [term.value for term in got.terms] == pytest.approx(expected, rel=1e-3)
    assert got.terms[1].privacy_share < 0.01
    residuals = table["price"] - design @ expected
    assert got.residual_deviation.value == pytest.approx(residuals.std(), rel=0.01)
    assert got.r_squared.value == pytest.approx(1 - residuals.var() / table["price"].var(), abs=0.01)
    assert got.alone == ()


def test_bounds_that_are_not_symmetric_imply_an_intercept(table):
    assumptions = Assumptions(Numeric("price", -300, 1000), [Numeric("size", 0, 3000)], intercept="none")
    got = estimate(table, ["size"], assumptions=assumptions, epsilon=10)
    assert [term.name for term in got.terms] == ["intercept", "size"]
    assert got.predict({"size": np.array([1500.0])}) == pytest.approx([350.0])
    centred = Assumptions(Numeric("price", -1000, 1000), [Numeric("size", -3000, 3000)], intercept="none")
    assert [term.name for term in estimate(table, ["size"], assumptions=centred, epsilon=10).terms] == ["size"]


def test_an_empty_model_and_an_intercept_alone(table):
    assumptions = study()
    alone = estimate(table, [], assumptions=assumptions, epsilon=5)
    assert alone.formula == "price ~ 1"
    assert alone["intercept"].value == pytest.approx(table["price"].clip(-300, 1000).mean(), abs=5)
    empty = estimate(table, [], assumptions=study(intercept="none"), epsilon=5)
    assert empty.terms[0].value == 350 and empty.predict(table[:2]).tolist() == [350, 350]
    Coefficients.from_json(empty.to_json())


def test_a_submodel_is_free_and_near_its_least_squares(table, released):
    small = released.submodel(["size", "county"])
    assert small.guarantee == released.guarantee and small.noisy is released.noisy
    design = np.column_stack([np.ones(len(table)), small.design(table)])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    for term, value in zip(small.terms, expected, strict=True):
        assert abs(term.value - value) < 6 * term.error
    other = estimate(table, ["size"], assumptions=study(), epsilon=1)
    with pytest.raises(AssumptionError, match="released moments only: intercept, size"):
        other.submodel(["age"])


def test_intervals_of_another_kind_or_level_are_free(released):
    narrow = released.with_intervals(level=0.8)
    wide = released.with_intervals(intervals="after-selection")
    for one, two, three in zip(narrow.terms, released.terms, wide.terms, strict=True):
        assert one.value == two.value == three.value
        assert one.upper < two.upper < three.upper


def test_predict_from_frames_arrays_and_mappings(table, released):
    few = table[:5]
    expected = released.predict(few)
    numbers = Assumptions(Numeric("price", -300, 1000), PREDICTORS[:2])
    assert expected == pytest.approx(few["price"], abs=200)
    assert released.predict(pl.from_pandas(few)).tolist() == expected.tolist()
    assert released.predict(pa.Table.from_pandas(few)).tolist() == expected.tolist()
    assert released.predict({name: few[name].to_numpy() for name in ALL}).tolist() == expected.tolist()
    plain = estimate(table, ["age"], assumptions=numbers, epsilon=1)
    assert plain.predict(few[["size", "age"]].to_numpy()).tolist() == plain.predict(few).tolist()
    with pytest.raises(DataError, match="no column 'size'"):
        released.predict(few[["age", "sex", "county"]])
    with pytest.raises(DataError, match="2 columns"):
        plain.predict(few[["age"]].to_numpy())
    with pytest.raises(DataError, match="'sex' has cells"):
        released.predict(few.assign(sex="x"))


def test_scikit_learn_predicts_the_same(table, released):
    model = released.to_sklearn()
    design = pd.DataFrame(released.design(table[:9]), columns=model.feature_names_in_)
    assert model.predict(design) == pytest.approx(released.predict(table[:9]))


def test_json_round_trip(released):
    again = Coefficients.from_json(released.to_json())
    assert again == released and str(again) == str(released)
    assert again.submodel(["age"]) == released.submodel(["age"])
    with pytest.raises(DataError, match="not the JSON text"):
        Coefficients.from_json("{}")
    with pytest.raises(DataError, match="a 'dpselect selection 1'"):
        Coefficients.from_json(json.dumps({"format": "dpselect selection 1"}))


def test_a_stranger_can_check_the_price_from_the_json_alone(released):
    values = json.loads(released.to_json())
    noise = values["noisy_moments"]["noise"]
    assert noise["kind"] == "gaussian"
    assert noise["rho"] == pytest.approx((noise["sensitivity"] / noise["spread"]) ** 2 / 2)
    assert Decimal(values["guarantee"]["epsilon"]) == 2 and Decimal(values["guarantee"]["delta"]) == Decimal("1e-6")


def test_text_names_price_model_and_caveats(released):
    said = str(released)
    assert "price ~ 1 + size + age + sex[m] + county[b] + county[c]" in said
    assert "epsilon=2, delta=1e-6, replace-one" in said and "clipping" in said
    assert pd.DataFrame(released.table())["name"].tolist() == list(TRUE)
    assert released["age"].name == "age"
    with pytest.raises(KeyError):
        released["rooms"]


def test_the_ledger_has_the_charge_with_its_rho(table):
    ledger = Ledger(epsilon=3, delta=1e-5)
    got = estimate(table, ALL, assumptions=study(), epsilon=1, delta=1e-6, ledger=ledger, data="homes", analyst="me")
    (record,) = ledger.records()
    assert (record.what, record.mechanism, record.epsilon, record.delta) == ("estimate", "gaussian", 1, Decimal("1e-6"))
    assert Decimal(record.parameters["rho"]) == Decimal(got.noisy.noise.rho)
    assert got.receipt.hash == record.hash
    pure = estimate(table, ["size"], assumptions=study(), epsilon=1, delta=1e-6, ledger=ledger)
    assert ledger.records()[1].mechanism == "laplace-moments" and ledger.records()[1].delta == 0
    assert pure.guarantee.delta == 0


def test_nothing_is_drawn_without_a_charge(table, monkeypatch):
    ledger = Ledger(epsilon=1)

    def draw(*_):
        raise AssertionError("drawn")

    monkeypatch.setattr(module, "noisy_moments", draw)
    with pytest.raises(BudgetExceeded):
        estimate(table, ALL, assumptions=study(), epsilon=2, delta=0, ledger=ledger)
    assert ledger.records() == ()
    # And the other way round: what fails after the charge leaves the charge.
    with pytest.raises(AssertionError):
        estimate(table, ALL, assumptions=study(), epsilon=1, delta=0, ledger=ledger)
    assert len(ledger.records()) == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": 1, "delta": 0.7}, "delta is 0.7"),
        ({"epsilon": 1, "level": 2}, "level is 2"),
        ({"epsilon": 1, "intervals": "magic"}, "intervals is 'magic'"),
        ({"epsilon": 1, "noise": "gaussian"}, "Gaussian noise needs a delta"),
    ],
)
def test_impossible_requests_are_refused_before_the_ledger_is_asked(table, asked, says):
    ledger = Ledger(epsilon=9)
    with pytest.raises(AssumptionError, match=says):
        estimate(table, ["size"], assumptions=study(), ledger=ledger, **asked)
    assert ledger.records() == ()


def test_moments_of_another_study_are_refused(table):
    other = gather(table, study(neighbors="add-remove-one"))
    with pytest.raises(DataError, match="other assumptions"):
        estimate(other, ["size"], assumptions=study(), epsilon=1)
    with pytest.raises(AssumptionError, match="needs assumptions"):
        estimate(other, ["size"], epsilon=1)


def test_persons_with_several_rows_cost_accuracy_in_proportion(table):
    """Each person has one row, so the tables are the same; only the promise differs."""
    errors = []
    for most in (1, 10):
        assumptions = study(person="id", max_rows_per_person=most)
        got = estimate(table.assign(id=range(len(table))), ["size"], assumptions=assumptions, epsilon=0.3)
        errors.append(got["size"].error)
        assert got.rows == pytest.approx(20_000, rel=0.6)  # twenty deviations of its noise
        assert (most > 1) == any("rows of a person count as if" in caveat for caveat in got.caveats)
    assert 4 < errors[1] / errors[0] < 25


def test_products_of_variables_are_measured_from_the_middle(table):
    assumptions = study(terms=["size", "sex", "county", ["size", "age"], ["size", "sex"]])
    got = estimate(table, ["size", "sex", "size:age", "size:sex[m]"], assumptions=assumptions, epsilon=1e6, delta=1e-6)
    size, age, male = table["size"], table["age"], table["sex"] == "m"
    design = np.column_stack([np.ones(len(table)), size, male, (size - 1500) * (age - 50), (size - 1500) * male])
    expected, *_ = np.linalg.lstsq(design, table["price"], rcond=None)
    assert [term.value for term in got.terms] == pytest.approx(expected, rel=1e-2, abs=1e-3)
    assert got.predict(table[:4]) == pytest.approx(design[:4] @ expected, rel=1e-2)


def test_drowned_models_say_so():
    got = estimate(frame(300), ALL, assumptions=study(), epsilon=0.2, delta=1e-6)
    assert not any(term.determined for term in got.terms)
    assert all(term.value is term.error is term.privacy_share is None for term in got.terms)
    assert not got.residual_deviation.determined and not got.r_squared.determined
    assert any("None of the coefficients could be estimated at this price" in caveat for caveat in got.caveats)
    assert "not seen" in str(got) and "open" in str(got)
    assert np.isfinite(got.predict(frame(3))).all()
    assert Coefficients.from_json(got.to_json()) == got


def test_one_variable_at_a_time_where_all_together_are_drowned():
    """A slope that could not be told from others may be seen by itself, from the same noisy moments."""
    generator = np.random.default_rng(8)
    x = generator.uniform(-1, 1, 6000)
    table = pd.DataFrame({"a": x, "b": np.clip(x + 0.05 * generator.normal(size=6000), -1, 1)})
    table["y"] = 0.4 * table["a"] + generator.uniform(-0.2, 0.2, 6000)
    assumptions = Assumptions(Numeric("y", -1, 1), [Numeric("a", -1, 1), Numeric("b", -1, 1)])
    # One release in sixteen tells them apart by luck; that all of twelve do has a chance of 1e-14.
    releases = (estimate(table, ["a", "b"], assumptions=assumptions, epsilon=1) for _ in range(12))
    got = next(each for each in releases if not each["a"].determined and not each["b"].determined)
    alone = {term.name: term for term in got.alone}
    assert abs(alone["a"].value - 0.4) < 6 * alone["a"].error and abs(alone["b"].value - 0.4) < 6 * alone["b"].error
    assert "alone: a" in str(got) and any("hold the others fixed" in caveat for caveat in got.caveats)


def test_counting_the_choice_contains_the_plain_interval_always():
    for n, epsilon in ((300, 0.2), (1000, 0.5), (4000, 1), (20_000, 5)):
        got = estimate(frame(n), ALL, assumptions=study(), epsilon=epsilon, delta=1e-6)
        wide = got.with_intervals(intervals="after-selection")
        for plain, outer in zip((*got.terms, *got.alone), (*wide.terms, *wide.alone), strict=True):
            assert plain.name == outer.name and plain.value == outer.value
            assert outer.lower is None or (plain.lower is not None and outer.lower <= plain.lower)
            assert outer.upper is None or (plain.upper is not None and outer.upper >= plain.upper)
            for term in (plain, outer):  # the size that the printed interval could have told from zero, or none
                closed = term.lower is not None and term.upper is not None
                assert term.visible == (pytest.approx((term.upper - term.lower) / 2) if closed else None)


def test_what_version_0_1_0_wrote_is_read_and_solved_anew():
    old = json.loads((Path(__file__).parent.parent / "golden" / "v010" / "report.json").read_text())["coefficients"]
    got = Coefficients.from_json(json.dumps(old))
    assert got.version == "0.1.0" and got.intervals == "plain"
    for term, then in zip(got.terms, old["terms"], strict=True):
        assert term.name == then["name"] and abs(term.value - then["value"]) < 2 * then["error"]
    assert Coefficients.from_json(got.to_json()) == got
