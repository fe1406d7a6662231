"""Claim: one person moves the weighted moments by no more than the lemmas say, and some pair of records moves them so far."""

import itertools
import math

import numpy as np
import pytest

from dpselect.assume.lemmas.moments import (
    TYPICAL_SQUARE,
    WEIGHT_BITS,
    balance,
    gaussian_weights,
    l1_sensitivity,
    l2_sensitivity,
    laplace_weights,
    moment_layout,
    moment_scale,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.rows import gather
from dpselect.randomize.noisy_moments import weighted_integers

NUMBERS = [Numeric(name, -1, 1) for name in "uvw"]
SEX, COUNTY = Categorical("sex", [0, 1]), Categorical("county", [0, 1, 2, 3])
STUDIES = {
    "numbers": ([*NUMBERS[:2]], "always"),
    "three numbers": (NUMBERS, "always"),
    "numbers alone": (NUMBERS[:2], "none"),
    "binary": ([NUMBERS[0], SEX], "always"),
    "binary alone": ([NUMBERS[0], SEX], "none"),
    "category": ([NUMBERS[0], COUNTY], "always"),
    "category alone": ([NUMBERS[0], COUNTY], "none"),
    "all": ([NUMBERS[0], SEX, COUNTY], "always"),
    "category only": ([COUNTY], "always"),
    "two categories": ([COUNTY, Categorical("town", [0, 1, 2])], "always"),
    "intercept": ([NUMBERS[0]], "only"),
}
RELATIONS = [("replace-one", "error"), ("replace-one", "zero-row"), ("add-remove-one", "error")]


def a_study(name, neighbors="replace-one", missing="error"):
    predictors, intercept = STUDIES[name]
    kind = "always" if intercept == "only" else intercept
    study = Study(Numeric("y", -1, 1), predictors, intercept=kind, neighbors=neighbors, missing=missing)
    columns = [0] if intercept == "only" else range(len(study.columns))
    return study, moment_layout(study, columns)


def records(study, values):
    """Every record with numbers among `values`, in user units."""
    choices = [values if isinstance(v, Numeric) else v.categories for v in study.predictors]
    return list(itertools.product(*choices, values))


def rows_of(study, layout, listed):
    """The model's rows z of records, by the words of MomentLayout and independently of gather."""
    table = []
    for record in listed:
        cells = dict(zip([v.name for v in study.predictors], record, strict=False))
        columns = study.columns
        row = []
        for place, kind in zip(layout.columns, layout.kinds, strict=False):
            (factor,) = columns[place].factors or (None,)
            if factor is None:
                row.append(1.0)
            elif factor.level is None:
                row.append(float(cells[factor.variable]))
            else:
                dummy = float(cells[factor.variable] == factor.level)
                row.append(2 * dummy - 1 if kind == "sign" else dummy)
        table.append([*row, float(record[-1])])
    return np.array(table)


def versions(study, layout, values):
    """All rows, and the row of zeros that a missing cell leaves."""
    rows = rows_of(study, layout, records(study, values))
    return np.vstack([rows, np.zeros(rows.shape[1])]) if study.missing == "zero-row" else rows


def entries_of(rows, layout):
    """The entries that each row alone would have."""
    return np.stack([rows[:, c[0][0]] * rows[:, c[0][1]] if c else np.ones(len(rows)) for c in layout.entries], axis=1)


def furthest(study, layout, noise, values):
    """The furthest that any pair of records moves the weighted entries: (distance, lemma)."""
    response, _ = balance(layout, noise)
    entries = entries_of(versions(study, layout, values), layout)
    if noise == "gaussian":
        weighted = entries * np.sqrt(np.array(gaussian_weights(layout, response)) / 2)
        limit = math.sqrt(l2_sensitivity(layout, response) / 2)
    else:
        weighted = entries * np.array(laplace_weights(layout, response)) / 2
        limit = l1_sensitivity(layout, response) / 2
    norm = 2 if noise == "gaussian" else 1
    if study.neighbors == "add-remove-one":
        return np.linalg.norm(weighted, norm, axis=1).max(), limit
    return max(np.linalg.norm(weighted - one, norm, axis=1).max() for one in weighted), limit


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("neighbors", "missing"), RELATIONS)
@pytest.mark.parametrize("name", STUDIES)
def test_no_pair_of_records_moves_the_moments_further(name, neighbors, missing, noise):
    values = np.linspace(-1, 1, 5 if name != "three numbers" else 3)
    distance, limit = furthest(*a_study(name, neighbors, missing), noise, values)
    assert distance <= limit * (1 + 1e-12)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("name", ["numbers", "three numbers", "numbers alone", "binary", "category", "intercept"])
def test_gaussian_lemma_is_attained(name, neighbors):
    distance, limit = furthest(*a_study(name, neighbors), "gaussian", np.array([-1.0, 0, 1]))
    assert distance == pytest.approx(limit, rel=1e-12)


def test_the_squares_of_numbers_weigh_as_much_as_costs_nothing():
    """A number that goes from 1 to 0 while all else turns moves them as far as the lemma says: a smaller weight wastes noise."""
    study, layout = a_study("all")
    response, _ = balance(layout, "gaussian")
    rows = rows_of(study, layout, [(1.0, 0, 1, 1.0), (0.0, 1, 2, 0.0)])
    weighted = entries_of(rows, layout) * np.sqrt(np.array(gaussian_weights(layout, response)) / 2)
    moved = np.linalg.norm(weighted[1] - weighted[0])
    assert moved == pytest.approx(math.sqrt(l2_sensitivity(layout, response) / 2), rel=1e-12)


@pytest.mark.parametrize("name", STUDIES)
def test_the_balance_is_the_best_of_all_strengths(name):
    _, layout = a_study(name)
    best, variance = balance(layout, "laplace")
    others = [l1_sensitivity(layout, s) ** 2 / 4 * (1 / s**2 + TYPICAL_SQUARE) for s in range(1, 20)]
    assert variance == min(others) == others[best - 1]
    best, variance = balance(layout, "gaussian")
    others = [l2_sensitivity(layout, s) / 2 * (1 / s + TYPICAL_SQUARE) for s in range(2 - best % 2, 20, 2)]
    assert variance == min(others) == others[(best - 1) // 2]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_model_without_columns_has_a_balance_too(noise):
    """Nothing but the response's square is released."""
    layout = moment_layout(Study(Numeric("y", -1, 1), NUMBERS, intercept="none"), [])
    response, variance = balance(layout, noise)
    assert layout.entries == (((0, 0),),) and response >= 1 and 0 < variance < math.inf


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("name", ["numbers", "three numbers", "numbers alone", "intercept"])
def test_laplace_lemma_is_attained(name, neighbors):
    # Numbers go from 1 to 0 and the response from 1 to -1/s: the halves g and h then balance.
    study, layout = a_study(name, neighbors)
    response, _ = balance(layout, "laplace")
    distance, limit = furthest(study, layout, "laplace", np.unique([-1.0, -1 / response, 0, 1]))
    assert distance == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("name", ["binary", "category", "all", "category only", "category alone", "two categories"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_other_lemmas_are_nearly_attained(name, noise):
    distance, limit = furthest(*a_study(name), noise, np.linspace(-1, 1, 9))
    assert distance >= 0.9 * limit


def test_random_records_of_many_columns_stay_within():
    generator = np.random.default_rng(5)
    predictors = [Numeric(f"x{j}", -1, 1) for j in range(5)] + [SEX, COUNTY]
    study = Study(Numeric("y", -1, 1), predictors)
    layout = moment_layout(study, range(len(study.columns)))
    for noise in ("gaussian", "laplace"):
        response, _ = balance(layout, noise)
        listed = [
            (*np.round(generator.uniform(-1.5, 1.5, 5)).clip(-1, 1), int(g), int(c), y)
            for g, c, y in zip(
                generator.integers(0, 2, 400),
                generator.integers(0, 4, 400),
                generator.choice([-1, 1, 0.5], 400),
                strict=True,
            )
        ]
        entries = entries_of(rows_of(study, layout, listed), layout)
        if noise == "gaussian":
            weighted = entries * np.sqrt(np.array(gaussian_weights(layout, response)) / 2)
            reach = max(np.linalg.norm(weighted - one, axis=1).max() for one in weighted)
            limit = math.sqrt(l2_sensitivity(layout, response) / 2)
        else:
            weighted = entries * np.array(laplace_weights(layout, response)) / 2
            reach = max(np.abs(weighted - one).sum(axis=1).max() for one in weighted)
            limit = l1_sensitivity(layout, response) / 2
        assert 0.8 * limit < reach <= limit


def whole_numbers(study, layout, scale, listed):
    """What noise is added to, through the program's own gathering."""
    table = np.array(listed, dtype=float).reshape(len(listed), len(study.predictors) + 1)
    moments = gather((table[:, :-1], table[:, -1]), study)
    return np.array(weighted_integers(moments, layout, scale), dtype=object)


@pytest.mark.parametrize("rows_per_person", [1, 3])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("name", ["numbers", "binary", "category", "all", "numbers alone"])
def test_whole_numbers_move_within_the_integer_sensitivity(name, neighbors, noise, rows_per_person):
    """On real tables, to the last unit, rounding included; the furthest pair comes within a millionth of it."""
    study, layout = a_study(name, neighbors)
    scale = moment_scale(layout, noise, rows_per_person)
    listed = records(study, [-1.0, -0.5, -1 / 3, 0, 1.0] if noise == "laplace" else [-1.0, 1 / 3, 0, 1])
    others = [listed[7], listed[-3], listed[11]]
    with_each = [whole_numbers(study, layout, scale, others + [one] * rows_per_person) for one in listed]
    without = whole_numbers(study, layout, scale, others)
    furthest_yet = 0
    for here in [without] if neighbors == "add-remove-one" else with_each:
        for there in with_each:
            moved = [abs(int(a) - int(b)) for a, b in zip(here, there, strict=True)]
            distance = sum(moved) if noise == "laplace" else math.isqrt(sum(m * m for m in moved)) + 1
            furthest_yet = max(furthest_yet, distance)
    assert furthest_yet <= scale.sensitivity
    if name in ("numbers", "category") and not (noise == "laplace" and neighbors == "replace-one"):
        assert furthest_yet >= scale.sensitivity * (1 - 1e-6)


def test_weights_are_rounded_down():
    _, layout = a_study("all")
    response, _ = balance(layout, "gaussian")
    scale = moment_scale(layout, "gaussian")
    for weight, doubled in zip(scale.weights, gaussian_weights(layout, response), strict=True):
        assert 2 * weight**2 <= doubled << (2 * WEIGHT_BITS) < 2 * (weight + 1) ** 2


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("columns", [1, 2, 5, 20, 200])
def test_sums_of_the_most_rows_fit_and_leave_at_most_three_bits(columns, noise):
    many = Study(Numeric("y", -1, 1), [Numeric(f"x{j}", -1, 1) for j in range(columns)])
    scale = moment_scale(moment_layout(many, range(columns + 1)), noise)
    assert 2**59 << WEIGHT_BITS <= 2**32 * max(scale.weights) << scale.bits <= 2**62 << WEIGHT_BITS
