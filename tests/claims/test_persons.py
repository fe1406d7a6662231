"""Claim: a guarantee for persons with up to k rows is paid k times over, whichever method chooses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpselect.assume.budget import NEIGHBORS
from dpselect.assume.lemmas.sensitivity import loss_range, loss_sensitivity
from dpselect.assume.recipe import Choice, Method, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.gather.moments import Moments
from dpselect.gather.rows import gather
from dpselect.minimize.losses.lattice import lattice_losses
from dpselect.minimize.minimize import minimize
from dpselect.penalize.penalize import penalize
from dpselect.penalize.scores import LocalScores, Scores

ROWS_EACH = 5


def a_study(most: int | None, neighbors: str = "replace-one") -> Study:
    person = None if most is None else "id"
    predictors = [Numeric("a", -1, 1), Numeric("b", -1, 1)]
    return Study(Numeric("y", -1, 1), predictors, neighbors=neighbors, person=person, max_rows_per_person=most)


def scores_of(study: Study, method: Method = "pcls", penalty: float = 0.0, **settings) -> Scores | LocalScores:
    generator = np.random.default_rng(4)
    table = {name: generator.uniform(-1, 1, 300) for name in ("a", "b", "y")}
    moments: Moments = replace(gather(table, a_study(None)), study=study.hash)
    rows = 300 if study.neighbors == "replace-one" else None
    recipe = make_recipe(study, Choice(method, penalty=penalty), rows=rows, epsilon=1, **settings)
    return penalize(minimize(moments, recipe), recipe)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pcls_pays_for_every_row_of_a_person(neighbors):
    scores = scores_of(a_study(ROWS_EACH, neighbors), penalty=1)
    assert isinstance(scores, Scores)
    assert scores.range >= ROWS_EACH * loss_range(1.0, 1.0, neighbors)


def test_pcpl_pays_for_every_row_of_a_person():
    scores = scores_of(a_study(ROWS_EACH), penalty=1, method="pcpl", delta="1e-6")
    assert isinstance(scores, LocalScores)
    assert Fraction(scores.sensitivity) >= ROWS_EACH * Fraction(loss_sensitivity(1.0, 1.0))
    alone = scores_of(a_study(None), penalty=1, method="pcpl", delta="1e-6")
    assert scores.range_for(80.0) > ROWS_EACH * alone.range_for(80.0) * 0.99


def test_the_default_penalty_grows_with_the_noise():
    few, many = (
        make_recipe(a_study(most), Choice("pcls"), rows=10**6, epsilon=1).penalties[0] for most in (None, ROWS_EACH)
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
