import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpselect import (
    Binary,
    BudgetExceeded,
    Categorical,
    DataError,
    Estimate,
    Ledger,
    Numeric,
    Study,
    StudyError,
    estimate,
)
from dpselect.release import odds as module
from dpselect.release.equations.rounds import MAX_LOG_ODDS, whole
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.odds import odds_charge, plan_odds

TRUE = {"age": 0.03, "town[b]": 0.8}
STUDY = Study(Binary("died", ["no", "yes"]), [Numeric("age", 0, 100), Categorical("town", ["a", "b"])])


def table(n=20_000, base=-1.5, seed=5):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": generator.uniform(0, 100, n), "town": generator.choice(["a", "b"], n)})
    eta = base + TRUE["age"] * frame["age"] + TRUE["town[b]"] * (frame["town"] == "b")
    frame["died"] = np.where(generator.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return frame


def asked(source, epsilon=2, delta=1e-6, study=STUDY, **more):
    return estimate(source, ["age", "town"], study=study, epsilon=epsilon, delta=delta, family="binomial", **more)


@pytest.fixture(scope="module")
def released():
    return asked(table())


def test_odds_ratios_come_back_in_the_users_units(released):
    for name, true in TRUE.items():
        # Six errors: a false alarm once in a hundred million.
        assert abs(released[name].value - true) < 6 * released[name].error
    ratio = {term.name: term for term in released.effects}["town[b]"]
    assert ratio.value == pytest.approx(math.exp(released["town[b]"].value))
    assert ratio.lower < ratio.value < ratio.upper
    assert "odds of died ~ 1 + age + town[b]" in str(released)
    assert [row["term"] for row in released.tidy()] == ["intercept", "age", "town[b]"]
    assert released.tidy("pandas", exponentiate=False)["estimate"].tolist() == [term.value for term in released.terms]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("base", [-1.5, -5.0])
def test_with_a_huge_epsilon_it_is_maximum_likelihood(neighbors, base):
    frame = table(base=base)
    study = Study(STUDY.response, STUDY.predictors, neighbors=neighbors)
    got = asked(frame, epsilon=1e5, study=study)
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
    assert "hidden by noise" in str(got) and all(term.value is None for term in got.effects)


def test_json_round_trip(released):
    again = Estimate.from_json(released.to_json())
    assert again == released and str(again) == str(released)
    with pytest.raises(DataError, match="not the JSON"):
        Estimate.from_json("{}")
    with pytest.raises(DataError, match=r"'x' - at `\$.format`"):
        Estimate.from_json('{"format": "x"}')


def test_one_charge_for_all_rounds_before_anything_is_drawn():
    ledger = Ledger(epsilon=1, delta="1e-6")
    got = asked(table(2000), epsilon=1, ledger=ledger)
    (record,) = ledger.entries()
    assert record.parameters["family"] == "binomial" and got.receipt.hash == record.hash
    drawn = [got.released.counts, *(draw for one in got.released.rounds for draw in (one.gradient, one.gram))]
    assert sum(draw.rho for draw in drawn) <= float(record.parameters["rho"])
    with pytest.raises(BudgetExceeded):
        asked(table(2000), epsilon=1, ledger=ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"delta": 0}, "need a delta above 0"),
        ({"noise": "laplace"}, "Gaussian noise"),
        ({"study": Study(Numeric("died", 0, 1), STUDY.predictors)}, "Binary"),
        ({"study": Study(STUDY.response, STUDY.predictors, person="id")}, "max_rows_per_person"),
    ],
)
def test_impossible_requests_are_refused_before_the_ledger_is_asked(more, says):
    ledger = Ledger(epsilon=9, delta="1e-5")
    with pytest.raises(StudyError, match=says):
        asked(table(50), ledger=ledger, **more)
    assert ledger.entries() == ()


def test_persons_pay_for_all_their_rows_and_only_so_many_count():
    frame = table(12_000)
    frame["id"] = np.arange(12_000) // 2
    study = Study(STUDY.response, STUDY.predictors, person="id", max_rows_per_person=2)
    got, alone = asked(frame, epsilon=50, study=study), asked(frame, epsilon=50)
    assert got.released.counts.sensitivity == 2 * alone.released.counts.sensitivity
    first, other = got.released.rounds[0], alone.released.rounds[0]
    assert first.gram.sensitivity == 2 * other.gram.sensitivity
    assert first.gradient.sensitivity == pytest.approx(2 * other.gradient.sensitivity, rel=0.05)
    for name, true in TRUE.items():
        assert abs(got[name].value - true) < 6 * got[name].error
    assert "rows of a person" in str(got) and "rows of a person" not in str(alone)
    one = Study(STUDY.response, STUDY.predictors, person="id", max_rows_per_person=1)
    assert asked(frame, epsilon=50, study=one).rows == pytest.approx(6000, abs=60)
    assert got.rows == pytest.approx(12_000, abs=60)


def test_families_that_are_none():
    with pytest.raises(StudyError, match="'gaussian', 'binomial'"):
        estimate(table(50), ["age"], study=STUDY, epsilon=1, family="logit")


def test_differences_of_chances_are_the_plain_estimate():
    frame = table()
    got = estimate(frame, ["age", "town"], study=STUDY, epsilon=5)
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
    assert released.with_intervals(0.5).with_intervals(released.level) == released
    html = released._repr_html_()
    assert "odds of died ~ 1 + age + town[b]" in html and "<table" in html


def test_without_an_intercept_the_rounds_start_from_even_odds_and_stay_in_reach():
    none = Study(STUDY.response, [Numeric("age", -1, 1)], intercept="none")
    ages = np.tile([-1.0, 1.0], 3000)
    frame = pd.DataFrame({"age": ages, "died": np.where(ages > 0, "yes", "no")})  # no finite slope fits
    got = estimate(frame, ["age"], study=none, epsilon=20, delta=1e-6, family="binomial")
    assert got.released.rounds[0].center == (0,)
    assert max(abs(one.at).sum() for one in got.released.rounds) <= MAX_LOG_ODDS
    assert got.released.rounds[-1].at[0] > 3
    with pytest.raises(StudyError, match="has no columns"):
        estimate(frame, [], study=none, epsilon=20, delta=1e-6, family="binomial")


def test_a_round_is_never_evaluated_out_of_reach():
    kept = np.array(whole(np.array([9.0, 8.0, -8.0]), 0)) / 2**20
    assert kept[0] == pytest.approx(MAX_LOG_ODDS - 0.01)
    assert kept[1:] == pytest.approx([MAX_LOG_ODDS / 2, -MAX_LOG_ODDS / 2])
    assert whole(np.array([0.5, -0.25]), None) == (2**19, -(2**18))


def test_ratios_of_a_model_that_was_selected_have_adjusted_intervals_too():
    plan = plan_estimate(STUDY, (0, 1, 2), epsilon=5, delta=1e-6, family="binomial", selected=True)
    got = release_estimate(table(2000), plan)
    for term in got.terms:
        assert term.adjusted_lower < term.lower < term.upper < term.adjusted_upper
    assert "adjusted for selection" in str(got)
    assert "adjusted for selection" not in str(asked(table(400)))


def test_scikit_learn_predicts_the_same_chances(released):
    new = table(9, seed=1)
    model = released.to_sklearn()
    design = pd.DataFrame(released.design(new), columns=model.feature_names_in_)
    assert model.predict_proba(design)[:, 1] == pytest.approx(released.predict(new))
    assert set(model.predict(design)) <= {"no", "yes"}


def test_a_smaller_model_needs_rounds_of_its_own(released):
    with pytest.raises(StudyError, match="odds ratios of a smaller model need a release of their own"):
        released.submodel(["age"])


TWO = Study(Binary("y", [0, 1]), [Numeric("u", -1, 1), Numeric("v", -1, 1)])


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2, 1e-9)])
def test_the_rho_of_the_charge_is_half_of_mu_squared_rounded_up(epsilon, delta):
    plan = plan_odds(TWO, (0, 1, 2), epsilon=epsilon, delta=delta)
    rho = Fraction(Decimal(odds_charge(TWO, plan.guarantee).parameters["rho"]))
    half = Fraction(plan.mu) ** 2 / 2
    assert half < rho < half * (1 + Fraction(1, 2**50))


def test_all_draws_together_cost_what_is_charged_and_the_last_round_is_reported(monkeypatch):
    asked, fit = [], module.last_fit
    monkeypatch.setattr(module, "last_fit", lambda *given: (asked.append(given[0]), fit(*given))[1])
    rng = np.random.default_rng(3)
    source = rng.uniform(-1, 1, (300, 2)), rng.integers(0, 2, 300).astype(float)
    plan = plan_estimate(TWO, (0, 1, 2), epsilon=2, delta=1e-6, family="binomial")
    drawn = release_estimate(source, plan).released
    assert asked == [drawn.rounds[-1]] and len(drawn.rounds) == 3
    draws = [drawn.counts, *(draw for one in drawn.rounds for draw in (one.gradient, one.gram))]
    rho = Fraction(Decimal(plan.charge.parameters["rho"]))
    assert 0.99 * rho < sum(Fraction(draw.rho) for draw in draws) <= rho


def test_bounds_much_wider_than_the_rows_leave_nothing_said():
    """Sizes around 75 stated as 0 to 1,000: an odds ratio over half that range lies beyond what a round is evaluated at.

    Intercepts were covered 0.00 of the time there, and slopes 0.32.
    """
    generator = np.random.default_rng(4)
    size = np.clip(generator.normal(75, 25, 60_000), 15, 150)
    yes = (generator.random(60_000) < 1 / (1 + np.exp(-(size - 75) / 25))).astype(int)
    for upper, said in ((1000, False), (160, True)):
        study = Study(Binary("yes", [0, 1]), [Numeric("size", 0, upper)])
        rows = {"size": size, "yes": yes}
        got = estimate(rows, ["size"], study=study, epsilon=2, delta=1e-6, family="binomial")
        assert [term.determined for term in got.terms] == [said, said]
        if not said:
            assert all(term.lower is term.upper is term.visible is None for term in got.terms)
            assert "Hidden by noise: 1 of 1 effect." in str(got)
        assert Estimate.from_json(got.to_json()) == got
