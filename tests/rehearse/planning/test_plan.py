import json

import numpy as np
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError
from dpselect.rehearse.planning.plan import plan, plan_study, recommended
from dpselect.rehearse.planning.supposed import suppose
from paper.contest import with_stated_bounds
from paper.simulations import FIRST


@pytest.fixture(scope="module")
def good():
    return plan(rows=1000, epsilon=1, r=2.5, supposed=suppose(6, 2.5, (1, 1, 1, 0, 0, 0), 1.0))


@pytest.fixture(scope="module")
def hopeless():
    return plan(rows=100, epsilon=0.5, columns=4, r=1.0)


@pytest.fixture(scope="module")
def weak():
    return plan(rows=2000, epsilon=1, r=10.0, supposed=suppose(4, 10.0, (1, 2, 0, 0)))


def test_the_defaults_have_the_chance_of_the_contest(good):
    """The plan's default option is the contest's stated bounds; both average over tables, 100 and 200 of them."""
    assert good.defaults.chance == pytest.approx(with_stated_bounds(FIRST, 1.0, r=2.5, radius=2.5), abs=0.03)
    assert good.defaults.radius == 2.5


def test_the_recommendation_is_nearly_the_best_and_the_widest_of_those(good):
    best = good.options[0].chance
    assert good.recommended.chance >= 0.97 * best
    near = [option for option in good.options if option.chance >= 0.97 * best]
    assert good.recommended.upper == max(option.upper for option in near)
    assert good.works
    assert "chance of 0.9" in good.verdict
    assert recommended(list(good.options)) == good.recommended


def test_every_method_mechanism_radius_and_bound_is_rehearsed(good):
    assert {option.method for option in good.options} == {"pcls", "pcpl"}
    assert {option.mechanism for option in good.options} == {"permute-and-flip", "exponential", "laplace"}
    assert len({option.upper for option in good.options}) == 4
    assert all(0 <= option.chance <= 1 for option in good.options)


def test_more_epsilon_and_more_rows_help(good):
    for points in (good.by_epsilon, good.by_rows):
        chances = [chance for _, chance in points]
        assert len(chances) == 11
        assert np.diff(chances).min() > -0.03
        assert chances[0] < 0.3
        assert chances[-1] > 0.95


@pytest.mark.parametrize("which", ["good", "hopeless", "weak"])
def test_the_curves_pass_through_the_recommended_option_or_above_it(which, request):
    made = request.getfixturevalue(which)
    for points, here in ((made.by_epsilon, made.facts.epsilon), (made.by_rows, made.facts.rows)):
        (chance,) = [chance for at, chance in points if at == pytest.approx(here, rel=1e-6)]
        assert chance >= made.recommended.chance - 1e-9


def test_when_nothing_works_it_says_so_and_what_would(hopeless):
    assert not hopeless.works
    assert "nothing works" in hopeless.verdict
    assert f"n of about {hopeless.rows_needed:,}" in hopeless.verdict
    more = plan(rows=hopeless.rows_needed, epsilon=0.5, columns=4, r=1.0)
    assert more.recommended.chance > 0.75
    fewer = plan(rows=hopeless.rows_needed // 2, epsilon=0.5, columns=4, r=1.0)
    assert fewer.recommended.chance < 0.8


def test_a_plan_is_plain_values_and_text(hopeless):
    plain = json.loads(json.dumps(hopeless.to_dict()))
    assert plain["works"] is False
    assert plain["recommended"]["method"] in {"pcls", "pcpl"}
    assert "Recommended" in str(hopeless)


def test_a_study_brings_its_terms_its_range_and_its_neighbours():
    study = Study(
        Numeric("price", 0, 10),
        [Numeric("size", 0, 1), Categorical("county", ["a", "b", "c"])],
        neighbors="add-remove-one",
    )
    seen = []
    made = plan_study(study, rows=400, epsilon=2, progress=seen.append)
    assert made.facts.r == 5
    assert made.facts.neighbors == "add-remove-one"
    assert "effects 3.06, 0;" in made.supposed  # two terms besides the intercept
    assert {option.method for option in made.options} == {"pcls"}  # pcpl needs a public n
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_a_supposed_null_model_lets_the_empty_model_compete():
    assert plan(rows=500, epsilon=1, r=1.0, supposed=suppose_null()).facts.empty


def suppose_null():
    from dataclasses import replace

    supposed = suppose(3, 1.0)
    setting = replace(supposed.setting, effects=(0.0, 0.0, 0.0), empty=True)
    return replace(supposed, truth=0, setting=setting)


@pytest.mark.parametrize("wrong", [{"rows": 1}, {"epsilon": 0}, {"r": 0.0}, {"columns": None}, {"delta": 0.7}])
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(StudyError):
        plan(**({"rows": 100, "epsilon": 1.0, "columns": 3, "r": 1.0} | wrong))
