"""Studies of the released coefficients: coverage, error against peers, rate, split. `python benchmarks/estimates.py coverage`.

Nothing here protects data: tables are simulated and noise is NumPy's, of the law and size that a release would have. What is
measured is the code of a release from the noisy entries on. Numbers of 2026-11 are in docs/ESTIMATES.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np
from scipy.stats import norm

from dpselect import analyze, estimate, gather, select
from dpselect.assume.lemmas.gaussian_price import largest_mu
from dpselect.assume.lemmas.moment_layout import moment_layout
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.randomize.moment_noise import moment_noise
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.release.coefficients.coefficients import Coefficients
from dpselect.release.coefficients.intervals import Redraws, half_widths
from dpselect.release.coefficients.normal_equations import equations, solve

DELTA = 1e-6
TRUTH = np.array([0.1, 0.25, -0.2, 0.1, 0.0, 0.05])
CELLS = [
    (n, d, design, e)
    for n in (1_000, 10_000, 100_000)
    for d in (3, 6)
    for design in ("independent", "correlated")
    for e in (0.5, 1, 5)
]


def study(width: int, neighbors: str = "replace-one") -> Assumptions:
    """An intercept and width - 1 numbers, all in [-1, 1]."""
    predictors = [Numeric(f"x{j}", -1, 1) for j in range(1, width)]
    return Assumptions(Numeric("y", -1, 1), predictors, neighbors=neighbors)


def table(
    generator: np.random.Generator, n: int, width: int, design: str, truth: np.ndarray | None = None
) -> np.ndarray:
    """Rows (1, x, y): x uniform on [-1, 1], independent or with normal-copula correlations 0.5^|i-j|; y never clipped."""
    truth = TRUTH[:width] if truth is None else truth
    if design == "independent":
        x = generator.uniform(-1, 1, (n, width - 1))
    else:
        places = np.arange(width - 1)
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(places, places)))
        x = 2 * norm.cdf(generator.standard_normal((n, width - 1)) @ root.T) - 1
    rows = np.empty((n, width + 1))
    rows[:, 0], rows[:, 1:width] = 1, x
    rows[:, width] = rows[:, :width] @ truth + generator.uniform(-0.3, 0.3, n)
    return rows


def products(seed: int, count: int, n: int, width: int, design: str) -> np.ndarray:
    generator = np.random.default_rng(seed)
    tables = (table(generator, n, width, design) for _ in range(count))
    return np.array([rows.T @ rows for rows in tables])


class Release:
    """The noise of one release, without OpenDP's draw."""

    def __init__(
        self, width: int, epsilon: float, delta: float = DELTA, noise: str | None = None, neighbors: str = "replace-one"
    ) -> None:
        self.assumptions = study(width, neighbors)
        self.layout = moment_layout(self.assumptions, range(width))
        self.noise = moment_noise(self.layout, epsilon, delta, noise=noise)
        self.cells = [cells[0] for cells in self.layout.entries]
        self.laplace = self.noise.scale.noise == "laplace"

    def model(self, n: int | None):
        return equations(self.noisy(n), list(range(self.layout.width - 1)))

    def noisy(self, n: int | None) -> NoisyMoments:
        return NoisyMoments(layout=self.layout, noise=self.noise, values=(0,) * len(self.cells), known_rows=n)

    def entries(self, moments: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        exact = np.stack([moments[:, i, j] for i, j in self.cells], axis=1)
        draw = (
            generator.laplace(0, np.sqrt(0.5), exact.shape) if self.laplace else generator.standard_normal(exact.shape)
        )
        return exact + draw * self.noisy(None).deviations


def coverage(count: int, only: int | None = None) -> None:
    """Coverage of 95% intervals of both kinds, the model fixed; and their median half-widths."""
    print("n d design epsilon noise | bootstrap: mean (least-most over coefficients) half-width | delta: the same")
    for place, (n, width, design, epsilon) in enumerate(CELLS):
        if only is not None and n != only:
            continue
        moments = products(place // 3, count, n, width, design)
        release = Release(width, epsilon)
        model = release.model(n)
        entries = release.entries(moments, np.random.default_rng([7, place]))
        directions, truth = np.eye(width), TRUTH[:width]
        kinds = ("bootstrap", "delta")
        hits, widths = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
        for seed, one in enumerate(entries):
            redraws = Redraws(release.laplace, seed)
            fit = solve(one[None], model)
            for kind in kinds:
                half = half_widths(fit, model, directions, level=0.95, kind=kind, redraws=redraws, columns=width)
                hits[kind].append(np.abs(fit.coefficients[0] - truth) <= half)
                widths[kind].append(half)
        said = []
        for kind in kinds:
            each = np.mean(hits[kind], axis=0)
            said.append(f"{each.mean():.3f} ({each.min():.3f}-{each.max():.3f}) {np.median(widths[kind]):.4f}")
        print(n, width, design, epsilon, release.noise.scale.noise, "|", " | ".join(said), flush=True)


def adassp(moments: np.ndarray, epsilon: float, generator: np.random.Generator, *, analytic: bool) -> np.ndarray:
    """AdaSSP (Wang 2018, arXiv:1803.02596, Algorithm 2) from exact moments: add-remove, ||x|| <= sqrt(d), |y| <= 1.

    `analytic` replaces its sqrt(log(6/delta))/(epsilon/3) by the least noise for three Gaussian releases together, which is
    kinder to it than the paper.
    """
    width = len(moments) - 1
    log = np.log(6 / DELTA)
    scale = np.sqrt(3) / largest_mu(epsilon, DELTA) if analytic else np.sqrt(log) / (epsilon / 3)
    least = np.linalg.eigvalsh(moments[:width, :width])[0] + scale * width * generator.standard_normal()
    least = max(0.0, least - scale * width * np.sqrt(log))
    ridge = max(0.0, scale * width * np.sqrt(width * np.log(2 * width**2 / 0.05)) - least)
    upper = np.triu(generator.standard_normal((width, width)))
    noise = upper + np.triu(upper, 1).T
    gram = moments[:width, :width] + scale * width * noise + ridge * np.eye(width)
    right = moments[:width, width] + scale * np.sqrt(width) * generator.standard_normal(width)
    return np.linalg.solve(gram, right)


def peers(count: int) -> None:
    """Root mean squared error of the coefficients on the scale [-1, 1], as ratios to ours: same epsilon, delta, add-remove."""
    print("n d design epsilon noise | ours | AdaSSP/ours | AdaSSP with analytic noise/ours | least squares/ours")
    for place, (n, width, design, epsilon) in enumerate(CELLS):
        moments = products(place // 3, count, n, width, design)
        release = Release(width, epsilon, neighbors="add-remove-one")
        fit = solve(release.entries(moments, np.random.default_rng([8, place])), release.model(None))
        generator, truth = np.random.default_rng([9, place]), TRUTH[:width]
        errors = [rmse(fit.coefficients - truth)]
        for analytic in (False, True):
            theirs = np.array([adassp(one, epsilon, generator, analytic=analytic) for one in moments])
            errors.append(rmse(theirs - truth))
        ols = np.linalg.solve(moments[:, :width, :width], moments[:, :width, width, None])[:, :, 0]
        ratios = " | ".join(f"{error / errors[0]:.2f}" for error in [*errors[1:], rmse(ols - truth)])
        print(n, width, design, epsilon, release.noise.scale.noise, "|", f"{errors[0]:.4f} | {ratios}", flush=True)


def rmse(errors: np.ndarray) -> float:
    return float(np.sqrt((errors**2).mean()))


def pure(count: int) -> None:
    """The same for delta = 0 and replace-one, written as JSON for `diffprivlib_peer.py`, which runs where diffprivlib does."""
    result = {}
    for place, (n, width, design, epsilon) in enumerate(CELLS):
        moments = products(place // 3, count, n, width, design)
        release = Release(width, epsilon, delta=0.0)
        model = release.model(n)
        fit = solve(release.entries(moments, np.random.default_rng([10, place])), model)
        result[f"{n} {width} {design} {epsilon}"] = rmse(fit.coefficients - TRUTH[:width])
    print(json.dumps(result, indent=1))


def rate(count: int, path: str) -> None:
    """How the private estimate approaches least squares as n grows: the root mean square of their difference, and a figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sizes = 2 ** np.arange(9, 21, dtype=np.int64)
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for width, epsilon, style in ((3, 1, "o-"), (6, 1, "s-"), (6, 0.1, "^-")):
        release, points, sampling = Release(width, epsilon), [], []
        for n in sizes:
            moments = products(int(n), 8, int(n), width, "correlated").repeat(count // 8, axis=0)
            model = release.model(int(n))
            fit = solve(release.entries(moments, np.random.default_rng([11, int(n)])), model)
            ols = np.linalg.solve(moments[:, :width, :width], moments[:, :width, width, None])[:, :, 0]
            points.append(rmse(fit.coefficients - ols))
            sampling.append(rmse(ols - TRUTH[:width]))
        slope = np.polyfit(np.log(sizes[-6:]), np.log(points[-6:]), 1)[0]
        print(width, epsilon, release.noise.scale.noise, [f"{point:.2g}" for point in points], f"slope {slope:.3f}")
        axes.loglog(sizes, points, style, label=f"private - least squares: {width} columns, epsilon {epsilon:g}")
    axes.loglog(sizes, sampling, "k--", label="least squares - truth (6 columns)")
    axes.loglog(sizes, 30 / sizes, color="0.6", lw=0.8)
    axes.text(sizes[-3], 30 / sizes[-3] * 0.45, "slope -1", color="0.4", fontsize=8)
    axes.set_xlabel("rows")
    axes.set_ylabel("root mean square difference")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def population_gram(width: int, design: str) -> np.ndarray:
    """The expected xx' of a row: uniform columns, whose copula correlation rho becomes 6/pi asin(rho/2)."""
    places = np.arange(width - 1)
    latent = 0.5 ** np.abs(np.subtract.outer(places, places)) if design == "correlated" else np.eye(width - 1)
    gram = np.eye(width)
    gram[1:, 1:] = 6 / np.pi * np.arcsin(latent / 2) / 3
    return gram


def selected(count: int) -> None:
    """Coverage after private selection, of the best coefficients of the chosen model, through the whole program and OpenDP."""
    print(
        "n d design epsilon | distinct models, share of the true one | bootstrap | delta | after-selection (coverage, half-width)"
    )
    kinds = ("bootstrap", "delta", "after-selection")
    for n, width, design, epsilon in [
        (n, 6, design, e) for n in (1_000, 10_000) for design in ("independent", "correlated") for e in (1, 2, 10)
    ]:
        generator = np.random.default_rng(n)
        gram = population_gram(width, design)
        models: dict[tuple[int, ...], int] = {}
        hits, widths = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
        for _ in range(count):
            rows = table(generator, n, width, design)
            got = analyze((rows[:, 1:width], rows[:, width]), study(width), epsilon=epsilon, delta=DELTA).coefficients
            chosen = list(got.columns)
            models[got.columns] = models.get(got.columns, 0) + 1
            target = np.linalg.solve(gram[np.ix_(chosen, chosen)], gram[chosen] @ TRUTH)
            for kind in kinds:
                terms = got.with_intervals(intervals=kind).terms
                hits[kind] += [t.lower <= b <= t.upper for t, b in zip(terms, target, strict=True)]
                widths[kind] += [(t.upper - t.lower) / 2 for t in terms]
        said = [f"{np.mean(hits[kind]):.3f} {np.median(widths[kind]):.3f}" for kind in kinds]
        true = models.get((0, 1, 2, 3, 5), 0) / count
        print(n, width, design, epsilon, "|", len(models), f"{true:.2f}", "|", " | ".join(said), flush=True)


def winner(count: int) -> None:
    """The worst case for intervals after selection: eleven columns without effect, and the best one must be chosen."""
    print(
        "epsilon of the choice | of the estimate | bootstrap | after-selection: coverage of the chosen slope, n = 1000"
    )
    assumptions = study(12)
    for choice, rest in ((1, 5), (10, 5), (100, 5), (1000, 5), (1000, 1000)):
        generator, hits = np.random.default_rng(3), {"bootstrap": [], "after-selection": []}
        for _ in range(count):
            x, y = generator.uniform(-1, 1, (1000, 11)), generator.uniform(-0.3, 0.3, 1000)
            moments = gather((x, y), assumptions)
            chosen = select(moments, assumptions, epsilon=choice, penalty=0.0, candidates=[[j] for j in range(1, 12)])
            got = estimate(moments, chosen, epsilon=rest, delta=DELTA)
            for kind, values in hits.items():
                term = got.with_intervals(intervals=kind).terms[-1]
                values.append(term.lower <= 0 <= term.upper)
        print(choice, "|", rest, "|", " | ".join(f"{np.mean(values):.3f}" for values in hits.values()), flush=True)


def split(count: int) -> None:
    """Mean squared error of predictions, beyond the residual's, by the share of epsilon that the choice gets; least = 1."""
    shares = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8)
    print(
        "n d design epsilon | error by share of the choice",
        shares,
        "relative to the least | all columns, whole epsilon",
    )
    for n, width, design, epsilon in [
        (n, w, design, e)
        for n in (1_000, 10_000)
        for w in (6, 12)
        for design in ("independent", "correlated")
        for e in (1, 5)
    ]:
        truth = np.zeros(width)
        truth[:4] = TRUTH[:4] * 1.2
        gram, assumptions = population_gram(width, design), study(width)
        errors = np.zeros(len(shares) + 1)
        generator = np.random.default_rng(n + width)
        for _ in range(count):
            rows = table(generator, n, width, design, truth)
            moments = gather((rows[:, 1:width], rows[:, width]), assumptions)
            for place, share in enumerate(shares):
                got = analyze(
                    moments, assumptions, epsilon=epsilon, delta=DELTA, split=(share, 1 - share), intervals="delta"
                ).coefficients
                errors[place] += excess(got, truth, gram)
            whole = estimate(
                moments, list(range(width)), assumptions=assumptions, epsilon=epsilon, delta=DELTA, intervals="delta"
            )
            errors[-1] += excess(whole, truth, gram)
        print(
            n,
            width,
            design,
            epsilon,
            "|",
            np.round(errors / errors[:-1].min(), 2),
            f"{errors[:-1].min() / count:.2g}",
            flush=True,
        )


def excess(got: Coefficients, truth: np.ndarray, gram: np.ndarray) -> float:
    off = -truth.copy()
    off[list(got.columns)] += got.scaled
    return float(off @ gram @ off)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["coverage", "peers", "pure", "rate", "selected", "winner", "split"])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--only", type=int)
    parser.add_argument("--figure", default="docs/estimates_rate.png")
    asked = parser.parse_args()
    start = time.perf_counter()
    if asked.what == "coverage":
        coverage(asked.count, asked.only)
    elif asked.what == "rate":
        rate(asked.count, asked.figure)
    else:
        {"peers": peers, "pure": pure, "selected": selected, "winner": winner, "split": split}[asked.what](asked.count)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
