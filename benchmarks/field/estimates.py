"""Whose coefficients are nearer, and whose intervals hold: in BinAgg's own setting, on CPS wages, and on the real tables."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.field import adassp, best_subset, binagg, libraries, noisy_bic, noisy_ols, ours, tukey
from benchmarks.field.gaussian import epsilon_of, mu_of
from benchmarks.field.tables import Table, real_tables

TWO_SIDED = 1.959964
README_TRUTH = np.array([1.5, -2.0, 0.5])
OURS, BINAGG, NOISY, TUKEY, ADASSP, DIFFPRIVLIB = (
    "**dpselect**",
    "BinAgg",
    "dp-statsmodels",
    "TukeyEM",
    "AdaSSP",
    "diffprivlib",
)


@dataclass(frozen=True)
class Fit:
    """Slopes in the table's units; methods without intervals have none."""

    slopes: np.ndarray
    lows: np.ndarray | None = None
    highs: np.ndarray | None = None


Method = Callable[[float, np.random.Generator], Fit]


def methods_of(table: Table) -> dict[str, Method]:
    """All on one table: functions of epsilon. All but ours and TukeyEM see an intercept and columns scaled to [-1, 1]."""
    scaled = noisy_bic.design(table)
    moments, x, y = scaled.T @ scaled, scaled[:, 1:-1], scaled[:, -1]
    half = (table.y_limits[1] - table.y_limits[0]) / (table.upper - table.lower)  # back to the table's units
    ones, width = np.ones(scaled.shape[1] - 1), x.shape[1]
    source, study = ours.frame_of(table), ours.study_of(table)
    low = np.where(np.arange(width + 1), -ones, ones)

    def with_errors(slopes: np.ndarray, errors: np.ndarray) -> Fit:
        b, reach = slopes * half, TWO_SIDED * errors * half
        return Fit(b, b - reach, b + reach)

    def dpselect_fit(epsilon: float, _: np.random.Generator) -> Fit:
        found = ours.coefficients(source, study, epsilon)
        return Fit(
            np.nan_to_num(found.estimates), found.lows, found.highs
        )  # no value counts as 0, as a failed test does

    def binagg_fit(epsilon: float, rng: np.random.Generator) -> Fit:
        found = binagg.regress(scaled[:, :-1], y, low, ones, 1.0, mu_of(epsilon, ours.DELTA), rng)
        return with_errors(found.coefficients[1:], found.errors[1:])

    def noisy_fit(epsilon: float, rng: np.random.Generator) -> Fit:
        found = noisy_ols.regress(x, y, (-1, 1), (-1, 1), epsilon, ours.DELTA, rng)
        return with_errors(found.coefficients[1:], found.errors[1:])

    def tukey_fit(epsilon: float, rng: np.random.Generator) -> Fit:
        return Fit(tukey.coefficients(scaled[:, :-1], y, epsilon, ours.DELTA, rng)[1:] * half)

    found = {OURS: dpselect_fit, BINAGG: binagg_fit, NOISY: noisy_fit, TUKEY: tukey_fit}
    found[ADASSP] = lambda epsilon, rng: Fit(adassp.coefficients(moments, epsilon, ours.DELTA, rng)[1:] * half)
    if libraries.diffprivlib_problem() is None:
        found[DIFFPRIVLIB] = lambda epsilon, _: Fit(libraries.diffprivlib_coefficients(x, y, epsilon) * half)
    return found


def least_squares(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and their sandwich (HC1) errors, without privacy, of rows moved to the stated limits."""
    rows = np.column_stack([np.ones(table.n), np.clip(table.x, table.lower, table.upper)])
    y = np.clip(table.y, *table.y_limits)
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-12)
    rows = rows / scale
    inverse = np.linalg.inv(rows.T @ rows)
    b = inverse @ rows.T @ y
    scores = rows * (y - rows @ b)[:, None]
    variance = np.diag(inverse @ scores.T @ scores @ inverse) * table.n / (table.n - rows.shape[1])
    return (b / scale)[1:], (np.sqrt(variance) / scale)[1:]


@dataclass(frozen=True)
class Line:
    """One method in one setting: error over that of least squares, share of intervals that hold, length over least squares'."""

    setting: str
    epsilon: float
    method: str
    error: float
    holds: float
    length: float


def readme_table(n: int, rng: np.random.Generator) -> Table:
    """BinAgg's README: three uniform columns, normal errors, no constant."""
    x = rng.uniform(0, 10, (n, 3))
    y = x @ README_TRUTH + rng.normal(0, 1, n)
    return Table(f"{n:,}", ("a", "b", "c"), x, y, np.zeros(3), np.full(3, 10.0), (-30.0, 30.0))


def in_binagg_setting(sizes: tuple[int, ...], tables: int) -> list[Line]:
    """Median distance from the truth over that of least squares on the same rows. BinAgg runs as its README has it."""
    lines = []
    for n in sizes:
        for epsilon in (1.0, epsilon_of(1.0, ours.DELTA)):
            rng = np.random.default_rng([2510, n])
            fits: dict[str, list[Fit]] = {}
            plain, plain_errors = [], []
            for _ in range(tables):
                table = readme_table(n, rng)
                methods = methods_of(table)
                methods[BINAGG] = lambda e, r, table=table: _as_in_readme(table, e, r)
                for name, method in methods.items():
                    fits.setdefault(name, []).append(method(epsilon, rng))
                slopes, errors = least_squares(table)
                plain.append(slopes)
                plain_errors.append(errors)
            base = np.median(np.abs(np.array(plain) - README_TRUTH))
            for name, each in fits.items():
                error = np.median(np.abs(np.array([fit.slopes for fit in each]) - README_TRUTH)) / base
                holds, length = _intervals(each, [README_TRUTH] * tables, plain_errors)
                lines.append(Line(f"{n:,}", epsilon, name, float(error), holds, length))
    return lines


def _as_in_readme(table: Table, epsilon: float, rng: np.random.Generator) -> Fit:
    y = np.clip(table.y, *table.y_limits)
    mu = mu_of(epsilon, ours.DELTA)
    found = binagg.regress(table.x, y, table.lower, table.upper, table.y_limits[1], mu, rng)
    reach = TWO_SIDED * found.errors
    return Fit(found.coefficients, found.coefficients - reach, found.coefficients + reach)


def _intervals(fits: list[Fit], targets: list[np.ndarray], errors: list[np.ndarray]) -> tuple[float, float]:
    """(share that holds the target, median length over that of least squares' intervals); NaN without intervals."""
    if fits[0].lows is None:
        return np.nan, np.nan
    pairs = list(zip(fits, targets, errors, strict=True))
    holds = [(fit.lows <= target) & (target <= fit.highs) for fit, target, _ in pairs]
    lengths = [(fit.highs - fit.lows) / (2 * TWO_SIDED * error) for fit, _, error in pairs]
    return float(np.mean(holds)), float(np.median(lengths))


def on_table(table: Table, epsilons: tuple[float, ...], draws: int, seed: int = 7) -> list[Line]:
    """Against the table's own least squares: median distance in its standard errors, whether intervals hold its slopes."""
    target, errors = least_squares(table)
    rng = np.random.default_rng([seed, table.n])
    lines = []
    for epsilon in epsilons:
        for name, method in methods_of(table).items():
            fits = [method(epsilon, rng) for _ in range(draws)]
            error = np.median([np.abs(fit.slopes - target) / errors for fit in fits])
            holds, length = _intervals(fits, [target] * draws, [errors] * draws)
            lines.append(Line(table.name, epsilon, name, float(error), holds, length))
    return lines


def on_real_tables(draws: int) -> list[Line]:
    """BIC's model of each, settled beforehand for all methods alike."""
    lines = []
    for table in real_tables():
        lines += on_table(table.part(best_subset.best_by_bic(table.x, table.y)), (1.0, 3.0), draws)
    return lines


def noisy_ols_as_published(table: Table, epsilon: float, draws: int) -> float:
    """dp-statsmodels' intervals over the sandwich's with the limits of its paper: 0 to 50 for every column as it stands."""
    _, errors = least_squares(table)
    units = np.maximum(1.0, table.upper / 50)  # the square of experience does not fit as it stands
    rng = np.random.default_rng(300)
    rows = np.clip(table.x, table.lower, table.upper) / units
    fits = [noisy_ols.regress(rows, table.y, (0, 50), table.y_limits, epsilon, ours.DELTA, rng) for _ in range(draws)]
    return float(np.median([fit.errors[1:] / units / errors for fit in fits]))


def length_by_slope(table: Table, epsilons: tuple[float, ...], draws: int) -> dict[float, np.ndarray]:
    """Of our intervals over the sandwich's: the median for each slope."""
    _, errors = least_squares(table)
    source, study = ours.frame_of(table), ours.study_of(table)
    found = {}
    for epsilon in epsilons:
        each = [ours.coefficients(source, study, epsilon) for _ in range(draws)]
        found[epsilon] = np.median([(one.highs - one.lows) / (2 * TWO_SIDED * errors) for one in each], axis=0)
    return found
