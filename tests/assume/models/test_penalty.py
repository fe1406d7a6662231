import math

import numpy as np
import pytest

from dpselect.assume.candidates import Subsets, all_subsets, candidates_for
from dpselect.assume.lemmas.sensitivity import loss_range, profile_change, profile_shift
from dpselect.assume.penalty import (
    balanced_penalty,
    candidate_penalties,
    column_penalties,
    default_penalty,
    loss_penalty,
    profile_penalty,
    term_sizes,
)
from dpselect.assume.study import Study, plain_study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError


def test_criteria_are_what_they_are_known_for():
    assert column_penalties("aic", 2, None).tolist() == [2, 2]
    assert column_penalties("bic", 2, 100).tolist() == [math.log(100)] * 2
    assert column_penalties(3.5, 2, None).tolist() == [3.5, 3.5]
    assert column_penalties([1, 2], 2, None).tolist() == [1, 2]


def test_a_candidate_pays_for_each_of_its_columns():
    candidates = all_subsets(3)
    each = np.array([1.0, 10.0, 100.0])
    assert candidate_penalties(each, candidates).tolist() == [1, 10, 11, 100, 101, 110, 111]
    assert candidate_penalties(np.full(3, 2.0), candidates).tolist() == [2, 2, 4, 2, 4, 4, 6]
    # Equal ones are multiplied, and rounded once: six tenths added up would be another double.
    assert candidate_penalties(np.full(6, 0.1), all_subsets(6))[-1] == 6 * 0.1 != 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        ("cp", "'aic' or 'bic'"),
        (-1, "at least 0"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        ([1, 2, 3], "3 penalties for 2 columns"),
        ([1, -2], "at least 0"),
        (["a", "b"], "must be a number"),
        (None, "must be a number"),
    ],
)
def test_impossible_penalties_are_refused_in_one_sentence(penalty, message):
    with pytest.raises(StudyError, match=message):
        column_penalties(penalty, 2, 10)


def test_bic_is_refused_where_the_number_of_rows_is_private():
    with pytest.raises(StudyError, match="private"):
        column_penalties("bic", 2, None)


STUDY = plain_study(list("abcdef"), r=2.5, R=2.5)
SIX = all_subsets(6)


def test_the_default_penalty_is_the_noise_times_log_two_columns():
    # Range 8rR = 50 and half of r^2 for the sample: (50 + 3.125) log 12, with epsilon 1.
    assert default_penalty(STUDY, SIX, 1.0, "pcls", 1000) == pytest.approx(53.125 * math.log(12), rel=1e-6)
    assert default_penalty(STUDY, SIX, 1.0, "pcls", None) == pytest.approx(53.125 * math.log(12), rel=1e-6)


def test_the_default_penalty_follows_the_units_of_the_response():
    other = plain_study(list("abcdef"), r=250, R=250)
    for epsilon in (0.1, 1.0, 10.0):
        ours = default_penalty(STUDY, SIX, epsilon, "pcls", 1000)
        assert default_penalty(other, SIX, epsilon, "pcls", 1000) == pytest.approx(1e4 * ours)


def test_with_it_models_with_idle_columns_weigh_less_than_the_right_one():
    for count in (3, 63, 1023, 2**20 - 1):
        columns = round(math.log2(count + 1))
        idle = (1 + math.exp(-balanced_penalty(1.0, None, count))) ** columns - 1
        assert idle < math.exp(0.5) - 1 < 1


def test_the_penalty_grows_over_the_noise_with_plenty_of_rows_and_never_past_the_signal():
    over_noise = [balanced_penalty(10.0, rows / 4, 63) / 10.0 for rows in (1000, 10_000, 10**6, 10**8)]
    assert over_noise == sorted(over_noise)
    assert over_noise[3] - over_noise[2] == pytest.approx(math.log(10))
    assert balanced_penalty(1e6, 100.0, 63) == pytest.approx(100 / math.sqrt(6))
    # It grows from 150 times the noise on, by half of the logarithm.
    assert balanced_penalty(1.0, 150.0, 63) == pytest.approx(math.log(12), rel=1e-12)
    assert balanced_penalty(1.0, 150.0 * math.e, 63) == pytest.approx(math.log(12) + 0.5, rel=1e-12)


def test_pcpl_s_default_is_above_the_noise_of_its_choice_and_bic_where_nothing_helps():
    few, many = (default_penalty(STUDY, SIX, 0.5, "pcpl", rows, 1e-6) for rows in (50, 10_000))
    assert few == pytest.approx(math.log(50))
    scale = 2 * profile_change(10_000 / 4 - 8 * profile_shift(1e-6), 10_000, 4.0) / 0.5
    assert math.log(12) * scale < many < 2 * math.log(12) * (scale + 2)
    # A quarter of the rows is the loss that is expected, and the signal.
    assert many == pytest.approx(balanced_penalty(scale + 2, 10_000 / 4, 63), rel=1e-9)


@pytest.mark.parametrize("columns", [1, 3])
def test_pcpl_s_default_pays_for_privacy_once_a_term_and_for_the_sample_once_a_column(columns):
    one = profile_penalty(1.0, 63, 0.5, 10_000, 1e-6)
    scale = 2 * profile_change(10_000 / 4 - 8 * profile_shift(1e-6), 10_000, 4.0) / 0.5
    several = profile_penalty(1.0, 63, 0.5, 10_000, 1e-6, columns=columns)
    assert several == pytest.approx(one * (scale + 2 * columns) / (scale + 2), rel=1e-9)
    assert profile_penalty(1.0, 63, 0.5, 50, 1e-6, columns=columns) == pytest.approx(columns * math.log(50))


WAGES = Study(
    response=Numeric("wage", 0, 100),
    predictors=[
        Numeric("age", 18, 65),
        Categorical("education", ["none", "school", "college", "university"]),
        Categorical("union", ["no", "yes"]),
    ],
)


def test_a_category_pays_for_privacy_once_and_for_the_sample_once_a_column():
    models = candidates_for(WAGES)
    each = default_penalty(WAGES, models, 1.0, "pcls", 5000)
    columns = [column.name for column in WAGES.columns]
    prices = {name: price for name, price in zip(columns, each, strict=True)}
    education = [price for name, price in prices.items() if name.startswith("education")]
    assert len(education) == 3
    scale = loss_range(1.0, WAGES.rho, "replace-one")
    assert sum(education) / prices["age"] == pytest.approx((scale + 1.5) / (scale + 0.5))
    assert prices["age"] == pytest.approx(loss_penalty(scale, 5000, models.count) * WAGES.r**2)
    assert sum(education) < 1.2 * prices["age"]  # as one column, not as three


def test_columns_that_do_not_enter_together_pay_each_for_themselves():
    split = candidates_for(WAGES, Subsets(split=True))
    assert isinstance(default_penalty(WAGES, split, 1.0, "pcls", 5000), float)
    whole = candidates_for(WAGES, [["age"], ["education"], ["age", "education"], ["union"]])
    assert term_sizes(WAGES, whole) == term_sizes(WAGES, candidates_for(WAGES))
    parts = candidates_for(WAGES, [["age"], ["education"], ["education[college]"]])
    sizes = dict(zip([column.name for column in WAGES.columns], term_sizes(WAGES, parts), strict=True))
    assert (sizes["education[college]"], sizes["education[university]"]) == (1, 2)


def test_pcpl_prices_a_category_alike():
    models = candidates_for(WAGES)
    each = default_penalty(WAGES, models, 2.0, "pcpl", 50_000, 1e-6)
    single = profile_penalty(WAGES.rho, models.count, 2.0, 50_000, 1e-6)
    three = profile_penalty(WAGES.rho, models.count, 2.0, 50_000, 1e-6, columns=3)
    assert single < three < 3 * single
    assert sorted(each)[0] == pytest.approx(three / 3)
