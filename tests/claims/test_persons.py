"""Claim: a guarantee for persons with up to k rows is paid k times over, whichever method chooses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.lemmas.sensitivity import loss_range, loss_sensitivity
from dpselect.assume.models.choice import Choice, Method
from dpselect.assume.models.recipe import make_recipe
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.neighbors import NEIGHBORS
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError
from dpselect.gather.responses import count_responses
from dpselect.gather.sums.accumulate import Accumulator
from dpselect.gather.sums.moments import Moments
from dpselect.minimize.lattice import lattice_losses
from dpselect.minimize.minimize import minimize
from dpselect.penalize.pcpl import LocalScores
from dpselect.penalize.penalize import penalize
from dpselect.penalize.scores import Scores
from dpselect.penalize.tuning_scores import penalty_scores, radius_scores
from dpselect.randomize.interval import edges
from dpselect.release.account import Account
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.tune import release_bounds
from dpselect.use.select_tuned import select_tuned

ROWS_EACH = 5


def study(most: int | None, neighbors: str = "replace-one") -> Assumptions:
    person = None if most is None else "id"
    predictors = [Numeric("a", -1, 1), Numeric("b", -1, 1)]
    return Assumptions(Numeric("y", -1, 1), predictors, neighbors=neighbors, person=person, max_rows_per_person=most)


def scores_of(
    assumptions: Assumptions, method: Method = "pcls", penalty: float = 0.0, **settings
) -> Scores | LocalScores:
    generator = np.random.default_rng(4)
    accumulator = Accumulator(study(None))
    accumulator.add({name: generator.uniform(-1, 1, 300) for name in ("a", "b", "y")})
    moments: Moments = replace(accumulator.moments(), assumptions=assumptions.hash)
    rows = 300 if assumptions.neighbors == "replace-one" else None
    recipe = make_recipe(assumptions, Choice(method, penalty=penalty), rows=rows, epsilon=1, **settings)
    return penalize(minimize(moments, recipe), recipe)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pcls_pays_for_every_row_of_a_person(neighbors):
    scores = scores_of(study(ROWS_EACH, neighbors), penalty=1)
    assert isinstance(scores, Scores)
    assert scores.range >= ROWS_EACH * loss_range(1.0, 1.0, neighbors)


def test_pcpl_pays_for_every_row_of_a_person():
    scores = scores_of(study(ROWS_EACH), penalty=1, method="pcpl", delta="1e-6")
    assert isinstance(scores, LocalScores)
    assert Fraction(scores.sensitivity) >= ROWS_EACH * Fraction(loss_sensitivity(1.0, 1.0))
    alone = scores_of(study(None), penalty=1, method="pcpl", delta="1e-6")
    assert scores.range_for(80.0) > ROWS_EACH * alone.range_for(80.0) * 0.99


def test_the_default_penalty_grows_with_the_noise():
    few, many = (
        make_recipe(study(most), Choice("pcls"), rows=10**6, epsilon=1).penalties[0] for most in (None, ROWS_EACH)
    )
    assert many > few


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_no_person_moves_the_losses_further(neighbors):
    generator = np.random.default_rng(7)
    tightest = 0.0
    for _ in range(60):
        base = generator.uniform(-1, 1, (3, 4))
        before, after = (np.sign(generator.uniform(-1, 1, (ROWS_EACH, 4))) for _ in range(2))
        if neighbors == "add-remove-one":
            before = before[:0]
        after[:] = after[0]
        before[:] = before[:1]
        tables = [np.vstack([base, rows]) for rows in (before, after)]
        here, there = (lattice_losses(table.T @ table, 0.7)[0] for table in tables)
        tightest = max(tightest, float(np.ptp(there - here)))
    # One record's range is not enough for a person, and the person's is.
    assert loss_range(1, 0.7, neighbors) < tightest <= loss_range(1, 0.7, neighbors, ROWS_EACH) + 1e-9


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_tuning_pays_for_every_row_of_a_person(neighbors):
    ranges = []
    for most in (None, ROWS_EACH):
        assumptions = study(most, neighbors)
        generator = np.random.default_rng(4)
        accumulator = Accumulator(study(None, neighbors))
        accumulator.add({name: generator.uniform(-1, 1, 300) for name in ("a", "b", "y")})
        moments = replace(accumulator.moments(), assumptions=assumptions.hash)
        by_radius = radius_scores(moments, assumptions, (0.5, 2.0), 0.1)
        by_penalty = penalty_scores(moments, assumptions, (0.1, 1.0), (1, 2))
        ranges.append((by_radius.range, by_penalty.range))
    alone, together = np.array(ranges)
    assert (together >= 0.999 * ROWS_EACH * alone).all()
    assert together[0] >= ROWS_EACH * loss_range(1.0, 2.0, neighbors)


def test_bounds_are_not_bought_for_persons():
    """Every row counts in a quantile, so the price of a row would be charged for as many rows as a person has."""
    table = pa.table({name: np.linspace(-1, 1, 40) for name in ("a", "b", "y")} | {"id": ["p"] * 20 + ["q"] * 20})
    ledger = Ledger(epsilon=1)
    with pytest.raises(AssumptionError, match="persons"):
        select_tuned(table, study(ROWS_EACH), epsilon=1, ledger=ledger)
    rows = count_responses(table, study(None), edges(-1, 1, 256))
    with pytest.raises(AssumptionError, match="persons"):
        release_bounds(rows, study(ROWS_EACH), epsilon=1, account=Account(ledger))
    assert ledger.records() == ()
