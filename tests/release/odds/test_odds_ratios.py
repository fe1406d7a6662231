import math

import numpy as np
import pandas as pd
import pytest

from dpselect import (
    AssumptionError,
    Assumptions,
    Binary,
    BudgetExceeded,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    OddsRatios,
    estimate,
)
from dpselect.release.odds.release import plan_odds, release_odds
from dpselect.release.odds.rounds import MOST, whole

TRUE = {"age": 0.03, "town[b]": 0.8}
STUDY = Assumptions(Binary("died", ["no", "yes"]), [Numeric("age", 0, 100), Categorical("town", ["a", "b"])])


def table(n=20_000, base=-1.5, seed=5):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": generator.uniform(0, 100, n), "town": generator.choice(["a", "b"], n)})
    eta = base + TRUE["age"] * frame["age"] + TRUE["town[b]"] * (frame["town"] == "b")
    frame["died"] = np.where(generator.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return frame


def asked(source, epsilon=2, delta=1e-6, assumptions=STUDY, **more):
    return estimate(
        source, ["age", "town"], assumptions=assumptions, epsilon=epsilon, delta=delta, scale="odds", **more
    )


@pytest.fixture(scope="module")
def released():
    return asked(table())


def test_odds_ratios_come_back_in_the_users_units(released):
    for name, true in TRUE.items():
        # Six errors: a false alarm once in a hundred million.
        assert abs(released[name].value - true) < 6 * released[name].error
    ratio = {term.name: term for term in released.ratios}["town[b]"]
    assert ratio.value == pytest.approx(math.exp(released["town[b]"].value))
    assert ratio.lower < ratio.value < ratio.upper
    assert "odds of died ~ 1 + age + town[b]" in str(released)
    assert [row["term"] for row in released.tidy()] == ["intercept", "age", "town[b]"]
    assert released.tidy("pandas", exponentiate=False)["estimate"].tolist() == [term.value for term in released.terms]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("base", [-1.5, -5.0])
def test_with_a_huge_epsilon_it_is_maximum_likelihood(neighbors, base):
    frame = table(base=base)
    assumptions = Assumptions(STUDY.response, STUDY.predictors, neighbors=neighbors)
    got = asked(frame, epsilon=1e5, assumptions=assumptions)
    design = np.column_stack([np.ones(len(frame)), frame["age"], frame["town"] == "b"]).astype(float)
    y, b = (frame["died"] == "yes").to_numpy(float), np.zeros(3)
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ b))
        b += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    assert [term.value for term in got.terms] == pytest.approx(b, rel=0.03, abs=0.02)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))))
    assert [term.error for term in got.terms] == pytest.approx(errors, rel=0.15)
    assert got.predict(frame[:5]) == pytest.approx(p[:5], rel=0.1)


def test_what_noise_drowns_is_not_said():
    got = asked(table(400), epsilon=0.2)
    assert not any(term.determined for term in got.terms)
    assert "not seen" in str(got) and all(term.value is None for term in got.ratios)


def test_json_round_trip(released):
    again = OddsRatios.from_json(released.to_json())
    assert again == released and str(again) == str(released)
    with pytest.raises(DataError, match="not the JSON"):
        OddsRatios.from_json("{}")
    with pytest.raises(DataError, match="'dpselect odds ratios 1' is needed"):
        OddsRatios.from_json('{"format": "x"}')


def test_one_charge_for_all_rounds_before_anything_is_drawn():
    ledger = Ledger(epsilon=1, delta="1e-6")
    got = asked(table(2000), epsilon=1, ledger=ledger)
    (record,) = ledger.records()
    assert record.parameters["scale"] == "odds" and got.receipt.hash == record.hash
    drawn = [got.counts, *(draw for one in got.rounds for draw in (one.gradient, one.gram))]
    assert sum(draw.rho for draw in drawn) <= float(record.parameters["rho"])
    with pytest.raises(BudgetExceeded):
        asked(table(2000), epsilon=1, ledger=ledger)
    assert len(ledger.records()) == 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"delta": 0}, "need a delta above 0"),
        ({"noise": "laplace"}, "Gaussian noise"),
        ({"assumptions": Assumptions(Numeric("died", 0, 1), STUDY.predictors)}, "Binary"),
        ({"assumptions": Assumptions(STUDY.response, STUDY.predictors, person="id")}, "max_rows_per_person"),
    ],
)
def test_impossible_requests_are_refused_before_the_ledger_is_asked(more, says):
    ledger = Ledger(epsilon=9, delta="1e-5")
    with pytest.raises(AssumptionError, match=says):
        asked(table(50), ledger=ledger, **more)
    assert ledger.records() == ()


def test_persons_pay_for_all_their_rows_and_only_so_many_count():
    frame = table(12_000)
    frame["id"] = np.arange(12_000) // 2
    assumptions = Assumptions(STUDY.response, STUDY.predictors, person="id", max_rows_per_person=2)
    got, alone = asked(frame, epsilon=50, assumptions=assumptions), asked(frame, epsilon=50)
    assert got.counts.sensitivity == 2 * alone.counts.sensitivity
    assert got.rounds[0].gram.sensitivity == 2 * alone.rounds[0].gram.sensitivity
    assert got.rounds[0].gradient.sensitivity == pytest.approx(2 * alone.rounds[0].gradient.sensitivity, rel=0.05)
    for name, true in TRUE.items():
        assert abs(got[name].value - true) < 6 * got[name].error
    assert "rows of a person" in str(got) and "rows of a person" not in str(alone)
    one = Assumptions(STUDY.response, STUDY.predictors, person="id", max_rows_per_person=1)
    assert asked(frame, epsilon=50, assumptions=one).rows == pytest.approx(6000, abs=60)
    assert got.rows == pytest.approx(12_000, abs=60)


def test_scales_that_are_none():
    with pytest.raises(AssumptionError, match="'response' or 'odds'"):
        estimate(table(50), ["age"], assumptions=STUDY, epsilon=1, scale="logit")


def test_differences_of_chances_are_the_plain_estimate():
    frame = table()
    got = estimate(frame, ["age", "town"], assumptions=STUDY, epsilon=5)
    design = np.column_stack([np.ones(len(frame)), frame["age"], frame["town"] == "b"]).astype(float)
    expected, *_ = np.linalg.lstsq(design, (frame["died"] == "yes").astype(float), rcond=None)
    for term, value in zip(got.terms, expected, strict=True):
        assert abs(term.value - value) < 6 * term.error


def test_what_is_asked_of_a_release_costs_nothing_and_agrees(released):
    with pytest.raises(KeyError):
        released["height"]
    (row,) = released.glance()
    assert (row["formula"], row["terms"], row["epsilon"]) == (released.formula, 3, 2.0)
    assert row["nobs"] == released.rows == pytest.approx(20_000, rel=0.01)
    narrow, wide = released.with_intervals(0.5)["age"], released.with_intervals(0.999)["age"]
    assert wide.lower < narrow.lower < narrow.upper < wide.upper
    assert released.with_intervals(0.5).with_intervals(released.intervals.level) == released
    html = released._repr_html_()
    assert "odds of died ~ 1 + age + town[b]" in html and "<table" in html


def test_without_an_intercept_the_rounds_start_from_even_odds_and_stay_in_reach():
    none = Assumptions(STUDY.response, [Numeric("age", -1, 1)], intercept="none")
    ages = np.tile([-1.0, 1.0], 3000)
    frame = pd.DataFrame({"age": ages, "died": np.where(ages > 0, "yes", "no")})  # no finite slope fits
    got = estimate(frame, ["age"], assumptions=none, epsilon=20, delta=1e-6, scale="odds")
    assert got.rounds[0].center == (0,)
    assert max(abs(one.at).sum() for one in got.rounds) <= MOST
    assert got.rounds[-1].at[0] > 3
    with pytest.raises(AssumptionError, match="has no columns"):
        estimate(frame, [], assumptions=none, epsilon=20, delta=1e-6, scale="odds")


def test_a_round_is_never_evaluated_out_of_reach():
    kept = np.array(whole(np.array([9.0, 8.0, -8.0]), 0)) / 2**20
    assert kept[0] == pytest.approx(MOST - 0.01)
    assert kept[1:] == pytest.approx([MOST / 2, -MOST / 2])
    assert whole(np.array([0.5, -0.25]), None) == (2**19, -(2**18))


def test_ratios_of_a_model_that_was_chosen_say_so():
    chosen = plan_odds(STUDY, (0, 1, 2), epsilon=5, delta=1e-6, selected=True)
    got = release_odds(table(2000), chosen)
    assert "the same rows" in " ".join(got.caveats)
    assert "the same rows" not in " ".join(got.with_intervals(intervals="after-selection").caveats)
