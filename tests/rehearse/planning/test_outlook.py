"""The outlook of a study: what is said, and that it moves the right way."""

import json
import math

import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import StudyError
from dpselect.rehearse.planning.outlook import Outlook, forecast_losses, outlook_study, percent
from dpselect.rehearse.planning.scenarios import layout_of, scenarios_of

BOUNDED = Study(
    Numeric("wage", 0, 100),
    [Numeric("age", 20, 60), Numeric("years", 0, 40), Categorical("region", ["n", "s", "w"])]
    + [Numeric(f"x{j}", 0, 1) for j in range(4)],
)
OPEN = Study(Binary("ill", ["no", "yes"]), [Numeric(f"x{j}") for j in range(7)])


@pytest.fixture(scope="module")
def long() -> Outlook:
    return outlook_study(BOUNDED, rows=30_000, epsilon=1.0)


@pytest.fixture(scope="module")
def short() -> Outlook:
    return outlook_study(BOUNDED, rows=200, epsilon=0.3)


def test_a_long_table_works_and_no_promise_is_certain(long):
    assert long.works
    assert long.expected.kept > 0.9
    assert "supposes that the variables explain 20% of the variance" in long.verdict
    assert "100%" not in long.verdict
    assert long.rows_needed is None
    assert len(long.scenarios) == 18


def test_a_short_table_does_not_and_the_rows_needed_would(short):
    assert not short.works
    assert short.rows_needed > 1000
    assert f"{short.rows_needed:,} rows are needed" in short.verdict
    assert outlook_study(BOUNDED, rows=round(1.3 * short.rows_needed), epsilon=0.3).expected.kept > 0.75


def test_the_range_holds_every_scenario_and_is_rounded_outwards(long, short):
    for each in (long, short):
        kept = [one.kept for _, one in each.scenarios]
        assert each.low <= min(kept)
        assert max(kept) <= each.high
        assert (20 * each.low) % 1 == pytest.approx(0, abs=1e-9)


def test_what_is_expected_is_the_second_lowest_scenario_and_so_are_the_curves(long, short):
    for each in (long, short):
        named = dict(each.scenarios)
        assert len(each.usual) == 6
        assert each.typical in named
        assert all(words.startswith("R² = 0.2,") for words in each.usual)
        kept = sorted(named[words].kept for words in each.usual)
        assert each.expected in [named[words] for words in each.usual] and each.expected.kept == kept[1]
        assert dict(each.by_rows)[each.rows] == dict(each.by_epsilon)[each.epsilon] == each.expected.kept
    half = outlook_study(BOUNDED, rows=15_000, epsilon=1.0)
    assert half.expected.kept == pytest.approx(dict(long.by_rows)[15_000])


def test_the_smallest_effect_falls_with_rows_and_is_in_own_units(long):
    longer = outlook_study(BOUNDED, rows=300_000, epsilon=1.0, r2=0.1)
    assert longer.smallest < long.smallest / 2
    units = dict(long.units)
    assert units["age"].endswith("of wage for one unit")
    assert "between a category and the others" in units["region"]
    said = float(units["age"].split()[0].replace(",", ""))
    assert said == pytest.approx(long.smallest * 25 * math.sqrt(0.8) / 10, rel=0.01)


def test_without_bounds_effects_are_in_standard_deviations():
    found = outlook_study(OPEN, rows=20_000, epsilon=1.0, r2=0.2, choice_only=True)
    assert found.choice_epsilon == 1.0
    assert all("for one standard deviation" in words for _, words in found.units)
    assert found.recommended == "votes"


def test_an_analysis_pays_a_part_for_its_choice(long):
    assert long.choice_epsilon < long.epsilon
    assert outlook_study(BOUNDED, rows=30_000, epsilon=1.0, r2=0.1, choice_only=True).choice_epsilon == 1.0


def test_more_rows_and_more_epsilon_keep_more(long):
    for curve in (long.by_rows, long.by_epsilon):
        assert [x for x, _ in curve] == sorted(x for x, _ in curve)
        assert curve[-1][1] >= curve[0][1] - 0.02


def test_votes_are_recommended_where_the_losses_do_not_win_everywhere(long):
    assert long.recommended == "votes"
    scenario = scenarios_of(layout_of(BOUNDED))[-1]
    assert forecast_losses(scenario, 30_000, 1.0).kept < forecast_losses(scenario, 10**7, 1.0).kept


def test_plain_values(long):
    values = json.loads(json.dumps(long.to_dict()))
    assert values["verdict"] == long.verdict
    assert values["rule"]["blocks"] == list(long.rule.blocks)


@pytest.mark.parametrize("facts", [{"rows": 1}, {"epsilon": 0}, {"epsilon": math.nan}, {"r2": 0.0}, {"r2": 1.0}])
def test_facts_that_cannot_be_are_refused(facts):
    with pytest.raises(StudyError):
        outlook_study(BOUNDED, **({"rows": 100, "epsilon": 1.0} | facts))


@pytest.mark.thorough
def test_thirty_columns_are_foretold():
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(29)])
    found = outlook_study(study, rows=3000, epsilon=1.0)
    assert 0 <= found.low <= found.high <= 1


def test_shares_as_people_read_them():
    assert [percent(x) for x in (0.0, 0.934, 0.99, 0.9999)] == ["0%", "93%", "99%", "99% or more"]


def test_the_chance_of_the_right_model_is_the_mean_of_the_scenarios(long, short):
    for each in (long, short):
        assert each.chance == pytest.approx(sum(one.right for _, one in each.scenarios) / 18)
        assert each.to_dict()["chance"] == each.chance
    assert short.chance < 0.2
    assert long.chance > 0.4


def test_one_variable_has_one_effect_in_words():
    layout = layout_of(Study(Numeric("y"), [Numeric("x")]))
    assert {scenario.words.split(", ")[1] for scenario in scenarios_of(layout, 0.3)} == {"1 effect"}


def test_a_plan_asks_for_r2_where_it_matters_and_only_there(long):
    short = outlook_study(BOUNDED, rows=1000, epsilon=1.0)
    assert short.r2_matters and "state it: it matters here" in short.verdict
    assert not long.r2_matters and "state it" not in long.verdict
    assert not outlook_study(BOUNDED, rows=1000, epsilon=1.0, r2=0.1).r2_matters


def test_a_split_pays_for_the_selection():
    usual, half, whole = (
        outlook_study(BOUNDED, rows=2000, epsilon=1.0, r2=0.1, **asked)
        for asked in ({}, {"split": (1, 1)}, {"choice_only": True})
    )
    assert (usual.choice_epsilon, half.choice_epsilon, whole.choice_epsilon) == pytest.approx((0.35, 0.5, 1.0))
    assert usual.expected.kept < half.expected.kept < whole.expected.kept


def test_as_many_terms_are_expected_as_the_usual_scenarios_select_on_average(short):
    named = dict(short.scenarios)
    assert short.selected == pytest.approx(sum(named[words].selected for words in short.usual) / 6)
    assert short.selected != short.expected.selected
