"""A strong category competes: it pays for the noise of the choice once, not once for each of its levels."""

import numpy as np
from msgspec.structs import replace

from dpselect import Categorical, Numeric, Study
from dpselect.assume.lemmas.sensitivity import loss_range
from dpselect.assume.penalty import loss_penalty
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.gather.rows import gather
from dpselect.rehearse.check.listed import recipe_probabilities

LEVELS = ["none", "school", "some college", "college", "university"]


def wages(rows=2000):
    """Wages that education explains best, in steps; age a little, and three numbers not at all."""
    rng = np.random.default_rng(20261511)
    level, age, idle = rng.integers(0, 5, rows), rng.uniform(18, 65, rows), rng.uniform(0, 1, (rows, 3))
    wage = 40 + 6 * (level - 2) + 3 * (age - 41.5) / 23.5 + rng.normal(0, 14, rows)
    table = {"wage": wage, "age": age, "education": [LEVELS[k] for k in level]}
    table |= {f"idle{j}": idle[:, j] for j in range(3)}
    predictors = [Numeric("age", 18, 65), Categorical("education", LEVELS)]
    predictors += [Numeric(f"idle{j}", 0, 1) for j in range(3)]
    return table, Study(response=Numeric("wage", 0, 100), predictors=predictors)


def chance_of_education(moments, recipe):
    masks = recipe.candidates.masks()
    place = next(i for i, c in enumerate(recipe.study.columns) if c.name.startswith("education"))
    return recipe_probabilities(moments, recipe)[masks >> np.uint64(place) & np.uint64(1) == 1].sum()


def test_education_is_chosen():
    table, study = wages()
    moments = gather(table, study)
    recipe = make_recipe(study, Choice("pcls"), rows=moments.n, epsilon=1)
    assert chance_of_education(moments, recipe) > 0.95
    # as it was: each of the four columns pays as if it stood alone
    scale = loss_range(1.0, study.rho, "replace-one")
    alone = loss_penalty(scale, moments.n, recipe.candidates.count) * study.r**2
    before = replace(recipe, penalties=(alone,) * recipe.candidates.width)
    assert chance_of_education(moments, before) < 0.05
    assert sum(recipe.penalties) < sum(before.penalties)
