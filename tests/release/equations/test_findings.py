import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import chi2

from dpselect.assume.lemmas.moments import moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.randomize.noisy_moments import NoisyMoments, moment_noise
from dpselect.release.equations import findings as module
from dpselect.release.equations.findings import (
    KNOWN_BETTER,
    VARIANCE_ALLOWANCE,
    _share,
    findings,
    fit,
    scheffe,
    unexplained,
)
from dpselect.release.equations.inversion import PRIOR_NORM_BOUND, kept_sets
from dpselect.release.equations.problem import problem
from dpselect.release.units import user_scale

ALL = (0, 1, 2, 3, 4, 5)


def found(tables, level=0.95, considered=None, columns=ALL, **kwargs):
    made, products = tables.noisy(**kwargs)
    solved = fit(problem(made, columns))
    return solved, findings(solved, np.eye(len(columns)), level=level, considered=considered), products


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
@pytest.mark.parametrize("intercept", ["always", "none"])
def test_without_noise_to_speak_of_it_is_least_squares_with_its_intervals(tables, neighbors, intercept):
    columns = ALL if intercept == "always" else ALL[:5]
    solved, got, products = found(
        tables, epsilon=1e5, loud=0.0, columns=columns, study=tables.a_study(neighbors, intercept=intercept), n=4000
    )
    width = len(columns)
    gram = products[:width, :width]
    expected = np.linalg.solve(gram, products[:width, width])
    assert [one.value for one in got] == pytest.approx(expected, abs=2e-3)
    rest = products[width, width] - expected @ products[:width, width]
    errors = np.sqrt(rest / (4000 - width) * np.diag(np.linalg.inv(gram)))
    assert [(one.upper - one.lower) / 2 for one in got] == pytest.approx(1.96 * errors, rel=0.05)
    deviation, share = unexplained(solved, 0.95)
    assert deviation.value == pytest.approx(np.sqrt(rest / 4000), rel=0.01)
    assert share.determined == (intercept == "always")


def test_ends_are_those_of_the_marginal_where_a_test_keeps_less(tables, monkeypatch):
    """As far to either side, though the test alone would be as long: without noise the errors are those of least squares."""
    monkeypatch.setattr(module, "kept_sets", lambda *asked: np.array([[np.inf, -np.inf]]))
    solved, got, products = found(tables, epsilon=1e5, loud=0.0, n=4000)
    expected = np.linalg.solve(products[:6, :6], products[:6, 6])
    variance = (products[6, 6] - expected @ products[:6, 6]) / (4000 - 6)
    errors = 1.96 * np.sqrt(variance * np.diag(np.linalg.inv(products[:6, :6])))
    assert [one.value - one.lower for one in got] == pytest.approx(errors, rel=0.05)
    assert [one.upper - one.value for one in got] == pytest.approx(errors, rel=0.05)
    amount, _ = unexplained(solved, 0.95)
    below, above = 1 - (amount.lower / amount.value) ** 2, (amount.upper / amount.value) ** 2 - 1
    # At least as far as the sample of normal residuals lets it vary; to the same length on both sides.
    assert below == pytest.approx(above, rel=0.01) and below > VARIANCE_ALLOWANCE * 1.96 * np.sqrt(2 / 4000)


def test_a_share_is_as_unsure_as_its_two_squares_though_the_residuals_are_known(tables):
    """Fieller's set by the roots of its equation; RSS has the noise of t'Mt at the model's t where its interval is shorter."""
    made, _ = tables.noisy(epsilon=20.0, n=4000)
    solved = fit(problem(made, ALL))
    whole, rows = solved.problem, solved.problem.rows
    rest, total, model = 0.3 * whole.total / rows, whole.total / rows, np.append(solved.top.unknowns[0], -1.0)
    mean = np.zeros(len(model))
    mean[[whole.constant, -1]] = whole.pivot.moments[whole.constant, -1] / rows, -1.0
    of_mean, of_model = whole.pivot.noise.of_vector(np.stack([mean, model])) / rows**2
    squares, both = [(t @ noise @ t) for t, noise in ((mean, of_mean), (model, of_model))], model @ of_mean @ model
    rss, tss, shared = squares[1] + 2 / rows * rest**2, squares[0] + 2 / rows * total**2, both + 2 / rows * rest**2
    z = 1.959964
    ends = np.roots([total**2 - z**2 * tss, -2 * (rest * total - z**2 * shared), rest**2 - z**2 * rss])
    got = _share(solved, (rest, rest, rest), 0.95)
    assert (got.lower, got.upper) == pytest.approx((1 - ends.max(), 1 - ends.min()), abs=0.0011)
    assert got.value == pytest.approx(0.7)
    nothing_left = _share(solved, (0.0, 0.0, 0.0), 0.95)
    assert nothing_left.lower < nothing_left.value == nothing_left.upper == 1.0  # as far as a share can go


def test_more_noise_longer_intervals_until_nothing_is_said(tables):
    lengths = []
    for epsilon in (20.0, 2.0, 0.7):
        _, got, _ = found(tables, epsilon=epsilon, n=4000)
        lengths.append(got[1].upper - got[1].lower)
    assert lengths[0] < lengths[1] < lengths[2]
    solved, got, _ = found(tables, epsilon=0.05, n=300)
    assert not solved.quiet and not any(one.determined for one in got)
    assert all(one.value is None and one.error is None for one in got)
    assert any(np.isinf(one.lower) or np.isinf(one.upper) for one in got)
    assert not unexplained(solved, 0.95)[0].determined


def test_noise_is_quiet_from_six_rows_on_for_each_of_its_deviations_times_the_root_of_the_width(tables):
    ratios = []
    for rows in (300, 500, 550, 700):
        made, _ = tables.noisy(epsilon=1.0, n=rows)
        solved = fit(problem(made, ALL))
        ratios.append(rows / (np.sqrt(6) * solved.problem.loudness))
        assert solved.quiet == (ratios[-1] >= 6)
    assert min(ratios) < 6 and any(6 < ratio < 7 for ratio in ratios)


def test_what_is_determined_is_known_twice_as_well_as_before(tables):
    solved, got, _ = found(tables, epsilon=0.5, n=2500, seed=4)
    beforehand = 1.96 * np.sqrt((solved.problem.change**2 / solved.problem.precision).sum(axis=1))
    assert {one.determined for one in got} == {True, False}
    for one, before in zip(got, beforehand, strict=True):
        if one.determined:
            assert one.upper - one.lower <= 2 * before * KNOWN_BETTER


def test_adjusted_intervals_contain_the_plain_and_levels_nest(tables):
    for epsilon in (0.2, 1.0, 10.0):
        _, plain, _ = found(tables, epsilon=epsilon)
        _, both, _ = found(tables, epsilon=epsilon, considered=12)
        _, narrow, _ = found(tables, epsilon=epsilon, level=0.8)
        for one, two, inner in zip(plain, both, narrow, strict=True):
            # One solve gives both: the plain ends are those of a model that was not selected, to the last bit.
            assert (two.lower, two.upper, two.value, two.visible) == (one.lower, one.upper, one.value, one.visible)
            assert (one.adjusted_lower, one.adjusted_upper) == (one.lower, one.upper)
            assert two.adjusted_lower <= one.lower and one.upper <= two.adjusted_upper
            if one.determined and inner.determined:
                assert one.lower < inner.lower < inner.upper < one.upper
                assert two.adjusted_upper - two.adjusted_lower > one.upper - one.lower


def test_the_same_release_reads_the_same(tables):
    assert found(tables, epsilon=0.5)[1] == found(tables, epsilon=0.5)[1]


def test_a_test_keeps_what_a_search_over_a_grid_keeps(tables):
    """Two unknowns: the least of misfit and what the other pays, over a fine grid of the other."""
    made, _ = tables.noisy(epsilon=0.6, n=1500)
    solved = fit(problem(made, (0, 1)))
    ends = kept_sets(solved.problem, solved.pivot, solved.top, np.array([[0.0, 1.0]]), 1.96)[0]
    line = np.linspace(-1.5, 1.5, 601)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    counted = np.array([[1.0, 0.0]])
    values = solved.problem.within_bounds(solved.pivot, points, counted).values.reshape(601, 601).min(axis=0)
    paid = solved.problem.precision[0] * solved.top.unknowns[0, 0] ** 2
    kept = line[values <= 1.96**2 + paid]
    wider = line[values <= 1.96**2 + PRIOR_NORM_BOUND]
    assert wider[0] - 0.02 <= ends[0] <= kept[0] + 0.02 and kept[-1] - 0.02 <= ends[1] <= wider[-1] + 0.02


@pytest.mark.thorough
def test_they_cover_after_all(tables):
    """25 releases of a hard case, 6 numbers each: below 0.85 comes once in a hundred thousand if 0.95 is true."""
    hits = []
    for seed in range(25):
        _, got, _ = found(tables, epsilon=0.7, n=1500, seed=seed)
        hits += [one.lower <= true <= one.upper for one, true in zip(got, tables.truth, strict=True)]
    assert np.mean(hits) > 0.85


@pytest.mark.parametrize("columns", [1, 2, 6, 30])
@pytest.mark.parametrize("level", [0.9, 0.975, 0.995])
def test_scheffe_is_the_root_of_a_chi_squared_quantile(columns, level):
    assert scheffe(columns, level) == pytest.approx(np.sqrt(chi2.ppf(level, columns)), rel=0.02)


def test_scheffe_is_never_short():
    for columns in range(1, 65):
        for level in np.linspace(0.75, 0.9995, 100):
            assert scheffe(columns, level) >= np.sqrt(chi2.ppf(level, columns)) * (1 - 1e-12)


def test_predictions_expect_less_of_slopes_than_intervals_do(tables):
    made, _ = tables.noisy(epsilon=0.3, n=800)
    wide = problem(made, ALL)
    close = wide.expecting_less(2.0)
    assert close.precision[1:].tolist() == (4 * wide.precision[1:]).tolist() and close.precision[0] == wide.precision[0]
    sizes = [np.abs(fit(one).top.unknowns[0][1:]).sum() for one in (wide, close)]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize("seed", range(4))
def test_an_intercept_is_as_open_as_the_slopes_that_carry_it(seed):
    """Numbers far from 0 in tables of 250 rows: the intercept's interval was closed, and long as many ranges of the response."""
    generator = np.random.default_rng(seed)
    hip = generator.normal(100, 7, 250)
    rows = np.column_stack([hip, generator.normal(60, 5, 250), 19 + 0.7 * (hip - 100) + generator.normal(0, 6, 250)])
    a_study = Study(Numeric("fat", 0, 50), [Numeric("hip", 70, 150), Numeric("thigh", 40, 90)])
    layout = moment_layout(a_study, (0, 1, 2))
    scaled = np.column_stack([np.ones(250), (rows - [110, 65, 25]) / [40, 25, 25]])
    noise = moment_noise(layout, 0.3, 0)
    empty = NoisyMoments(layout=layout, noise=noise, values=(0,) * len(layout.entries), known_rows=250)
    exact = np.array([(scaled.T @ scaled)[cells[0]] for cells in layout.entries])
    drawn = exact + generator.laplace(0, np.sqrt(0.5), exact.size) * empty.deviations
    values = tuple(map(int, np.round(drawn / (empty.deviations / noise.deviation))))
    solved = fit(problem(replace(empty, values=values), (0, 1, 2)))
    got = findings(solved, user_scale(a_study, (0, 1, 2)).matrix, level=0.95)
    assert [(one.lower, one.upper, one.visible) for one in got] == [(-np.inf, np.inf, None)] * 3
