import itertools
import json

import numpy as np
import pytest

from dpselect.assume.models.tuning import Tuning
from dpselect.assume.study.paper_setting import plain_assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError, BudgetExceeded, DataError
from dpselect.gather.responses import count_responses
from dpselect.gather.table import gather_table
from dpselect.randomize.interval import edges
from dpselect.rehearse.simulate.settings import Setting, draw
from dpselect.release.account import Account
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.tune import PENALTIES, RADII, release_bounds, release_penalty, release_radius

SETTING = Setting("s", 4000, (1.0, 1.0, 0.0, 0.0))
X, Y = draw(SETTING, np.random.SeedSequence(8))
STUDY = plain_assumptions(["a", "b", "c", "d"], r=10, R=10)
PLENTY = 1000  # so much epsilon that the choice is the best candidate, but for a chance far below 1e-9


@pytest.fixture(scope="module")
def beyond():
    return count_responses((X, Y), STUDY, edges(-10, 10, 256))


def test_bounds_are_the_quartiles_if_epsilon_is_plenty(beyond):
    tuned = release_bounds(beyond, STUDY, epsilon=PLENTY)
    assert tuned.values == pytest.approx(np.quantile(Y, [0.25, 0.75]), abs=20 / 256)
    half = (tuned.values[1] - tuned.values[0]) / 2
    assert tuned.assumptions.radius == pytest.approx(1.5 * half)
    assert tuned.assumptions.response.upper == tuned.values[1]
    assert tuned.range == 2


def test_the_ledger_has_the_charge_and_the_release_says_what_it_cost(beyond):
    ledger = Ledger(epsilon=1)
    tuned = release_bounds(beyond, STUDY, epsilon="0.15", account=Account(ledger, "men"))
    (record,) = ledger.records()
    assert (record.what, str(record.epsilon), record.data) == ("tune bounds", "0.15", "men")
    assert tuned.receipt is not None
    assert "epsilon=0.15" in str(tuned)
    assert json.loads(json.dumps(tuned.to_dict()))["guarantee"]["epsilon"] == "0.15"


def test_nothing_is_drawn_that_the_ledger_refuses(beyond, monkeypatch):
    monkeypatch.setattr("dpselect.release.tune.choose", lambda *_: pytest.fail("drawn before it was charged"))
    with pytest.raises(BudgetExceeded):
        release_bounds(beyond, STUDY, epsilon=2, account=Account(Ledger(epsilon=1)))


def test_counts_at_other_places_are_refused(beyond):
    with pytest.raises(AssumptionError, match="other places"):
        release_bounds(beyond, STUDY, epsilon=1, tuning=Tuning(steps=16))


def test_bounds_too_close_for_their_size_are_refused_before_the_ledger_is_asked(beyond):
    from dataclasses import replace

    far = plain_assumptions(["a"], r=10, R=10)
    far = type(far)(replace(far.response, lower=1e15, upper=1e15 + 8), far.predictors, intercept="none")
    ledger = Ledger(epsilon=1)
    with pytest.raises(AssumptionError, match="The bounds of"):
        release_bounds(beyond, far, epsilon=1, account=Account(ledger))
    assert ledger.records() == ()
    assert isinstance(far.response, Numeric)


def test_the_radius_is_as_large_as_the_fit_is_worth():
    """The coefficients' norm is 2, so of radii 1, 2 and 4 the second is wanted where noise is cheap, the first where not."""
    study = plain_assumptions(["a", "b", "c", "d"], r=4, R=4)
    moments = gather_table((X, Y), study)
    cheap = release_radius(moments, study, epsilon=PLENTY, choice_epsilon=10, rhos=(0.25, 0.5, 1.0))
    dear = release_radius(moments, study, epsilon=PLENTY, choice_epsilon="0.005", rhos=(0.25, 0.5, 1.0))
    assert (cheap.values, dear.values) == ((2.0,), (1.0,))
    assert cheap.assumptions.radius == 2
    ledger = Ledger(epsilon=1)
    release_radius(moments, study, epsilon=1, choice_epsilon=1, account=Account(ledger))
    assert ledger.records()[0].what == "tune radius"


def test_the_penalty_lies_between_what_idle_and_real_columns_are_worth():
    study = plain_assumptions(["a", "b", "c", "d"], r=4, R=4)
    moments = gather_table((X, Y), study)
    tuned = release_penalty(moments, study, epsilon=PLENTY, choice_epsilon=1)
    drops = {j: _loss(np.delete(X, j, axis=1)) - _loss(X) for j in range(4)}
    assert max(drops[2], drops[3]) < tuned.values[0] < min(drops[0], drops[1])


def _loss(columns):
    coefficients, *_ = np.linalg.lstsq(columns, Y, rcond=None)
    return float(((Y - columns @ coefficients) ** 2).sum())


@pytest.mark.parametrize("rhos", [(), (0.0, 1.0), (float("nan"),)])
def test_impossible_radii_are_refused(rhos):
    moments = gather_table((X, Y), STUDY)
    with pytest.raises(AssumptionError, match="radius"):
        release_radius(moments, STUDY, epsilon=1, choice_epsilon=1, rhos=rhos)


@pytest.mark.parametrize("release", [release_radius, release_penalty])
def test_moments_of_another_study_are_refused_before_the_charge(release):
    ledger = Ledger(epsilon=1)
    other = plain_assumptions(["a", "b", "c", "d"], r=4, R=4, neighbors="add-remove-one")
    with pytest.raises(DataError, match="other assumptions"):
        release(gather_table((X, Y), STUDY), other, epsilon=1, choice_epsilon=1, account=Account(ledger))
    assert ledger.records() == ()


@pytest.mark.parametrize(("menu", "ends"), [(RADII, (0.25, 4.0)), (PENALTIES, (0.25, 20.0))])
def test_the_menus_hold_the_default_and_leave_no_wide_gap(menu, ends):
    """A choice among them can be no better than the nearest: 1 is the default, and none is more than twice the one before."""
    assert 1.0 in menu and (menu[0], menu[-1]) == ends
    assert all(here < there <= 2 * here for here, there in itertools.pairwise(menu))
