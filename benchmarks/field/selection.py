"""Who selects what: on real tables against BIC's model, and on wide made-up tables of the rivals' own papers."""

from dataclasses import dataclass

import numpy as np

from benchmarks.field import best_subset, kendall, noisy_bic, ours, subset_walk, top_r
from benchmarks.field.tables import Table, real_tables

EPSILONS = (1.0, 0.35)
FEW = 5
"""The number of columns that DPKendall is told where nobody knows it."""
OURS, KNOWN, FIVE, MOMENTS, LEI, RANDOM, BIC = (
    "**dpselect**, block votes",
    "DPKendall, told BIC's size",
    f"DPKendall, told {FEW}",
    "noise-aware BIC on noisy moments",
    "PCLS of Lei et al., as dpselect runs it",
    "a random set of BIC's size",
    "BIC, exhaustive: not private",
)


@dataclass(frozen=True)
class Marks:
    """Of one selection: share of BIC's R squared, F1 against BIC's columns, and how much likelier theirs are in than others."""

    kept: float
    f1: float
    contrast: float


def marks(products: np.ndarray, chosen: tuple[int, ...], best: tuple[int, ...]) -> Marks:
    """`products` are centered moments, as `best_subset.centered` gives them."""
    common, others = len({*chosen} & {*best}), len(products) - 1 - len(best)
    contrast = common / len(best) - (len(chosen) - common) / others
    kept = best_subset.explained(products, chosen) / best_subset.explained(products, best)
    return Marks(kept, 2 * common / max(1, len(chosen) + len(best)), contrast)


@dataclass(frozen=True)
class Result:
    """Means over draws, by table, epsilon and method."""

    table: Table
    size: int
    by: dict[tuple[float, str], Marks]


def contest(table: Table, draws: int, rng: np.random.Generator) -> Result:
    """All methods on one table."""
    best = best_subset.best_by_bic(table.x, table.y)
    products = best_subset.centered(table.x, table.y)
    strength = kendall.strengths(table.x, table.y)
    rows = noisy_bic.design(table)
    moments, width = rows.T @ rows, table.x.shape[1]
    source, study = ours.frame_of(table), ours.study_of(table)
    found = {}
    for epsilon in EPSILONS:
        methods = {
            OURS: lambda e=epsilon: ours.select(source, study, e),
            KNOWN: lambda e=epsilon: kendall.choose(strength, len(best), e, rng),
            FIVE: lambda e=epsilon: kendall.choose(strength, FEW, e, rng),
            MOMENTS: lambda e=epsilon: noisy_bic.choose(moments, table.n, e, ours.DELTA, rng),
            LEI: lambda e=epsilon: ours.select(source, study, e, method="pcls"),
            RANDOM: lambda: tuple(rng.choice(width, len(best), replace=False).tolist()),
            BIC: lambda: best,
        }
        for name, choose in methods.items():
            times = 1 if name == BIC else draws
            each = [marks(products, choose(), best) for _ in range(times)]
            means = np.mean([(one.kept, one.f1, one.contrast) for one in each], axis=0).tolist()
            found[epsilon, name] = Marks(*means)
    return Result(table, len(best), found)


def on_real_tables(draws: int, seed: int = 20261118) -> list[Result]:
    return [contest(table, draws, np.random.default_rng([seed, table.n])) for table in real_tables()]


def leaps_agrees(results: list[Result]) -> tuple[int, int] | None:
    """(tables on which R's leaps finds the model that the exhaustive search finds, tables); None without R."""
    agreed = 0
    for result in results:
        theirs = best_subset.leaps(result.table.x, result.table.y)
        if theirs is None:
            return None
        agreed += theirs[0] == best_subset.best_by_bic(result.table.x, result.table.y)
    return agreed, len(results)


@dataclass(frozen=True)
class Wide:
    """One setting of the rivals' papers: chances of exactly the true columns. `problem` says why ours has none."""

    rows: int
    columns: int
    epsilon: float
    right: float
    f1: float
    seconds: float
    problem: str | None
    rivals: tuple[float, ...]


def f1_of(chosen: tuple[int, ...], truth: tuple[int, ...]) -> float:
    return 2 * len({*chosen} & {*truth}) / max(1, len(chosen) + len(truth))


def _ours_on(
    made: list, epsilon: float, truth: tuple[int, ...], limit: float
) -> tuple[float, float, float, str | None]:
    found = []
    for x, y in made:
        answer = ours.select_wide(x, y, epsilon, limit)
        if isinstance(answer, str):
            return np.nan, np.nan, np.nan, answer
        found.append((answer[0] == truth, f1_of(answer[0], truth), answer[1]))
    return (*np.mean(found, axis=0).tolist(), None)


def against_top_r(settings: list[tuple[int, int]], tables: int, limit: float) -> list[Wide]:
    """In Prastakos et al.'s setting at epsilon 1; rivals' numbers are the exact chances of top-R and of mistakes."""
    found = []
    for p, n in settings:
        rng = np.random.default_rng([2510, p, n])
        made = [top_r.generate(n, p, rng) for _ in range(tables)]
        laws = [top_r.law(x, y, 1.0) for x, y in made]
        rivals = np.mean([(law.top_r, law.mistakes) if law.best == top_r.TRUTH else (0, 0) for law in laws], axis=0)
        mine = _ours_on(made, 1.0, top_r.TRUTH, limit)
        found.append(Wide(n, p, 1.0, *mine, tuple(rivals.tolist())))
    return found


def against_walk(epsilons: tuple[float, ...], tables: int, steps: int, limit: float) -> list[Wide]:
    """In Roy et al.'s setting; the rival's numbers are how often its walk ends in the true columns, and its F1."""
    truth = tuple(range(subset_walk.SPARSITY))
    rng = np.random.default_rng(2310)
    made = [subset_walk.generate(900, 2000, rng) for _ in range(tables)]
    found = []
    for epsilon in epsilons:
        ends = [subset_walk.walk(x, y, limit_of_y, epsilon, steps, rng) for x, y, limit_of_y in made]
        mine = _ours_on([(x, y) for x, y, _ in made], epsilon, truth, limit)
        rivals = (float(np.mean([end == truth for end in ends])), float(np.mean([f1_of(end, truth) for end in ends])))
        found.append(Wide(900, 2000, epsilon, *mine, rivals))
    return found
