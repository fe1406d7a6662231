"""Top-R and "mistakes": the exponential mechanism over models of s columns, told s, without a list of them all.

Prastakos, Behdin, Mazumder, "Differentially Private High-dimensional Variable Selection via Integer Programming", NeurIPS 2025,
arXiv:2510.22062; its code, petrosprastakos/DP-variable-selection, needs Gurobi, and is not on PyPI. Pure epsilon, replace-one.
A model's objective is min ||y - Xb||^2/2n + ridge ||b||^2/2n over ||b||_2 <= r, cells clipped to [-b_x, b_x], the response to
[-b_y, b_y]; its sensitivity is (b_y + b_x r sqrt(s))^2/2n. Here its law is computed, not sampled, and the integer program is
replaced by what it finds where the best model is clear: that model, and the best ones with one column exchanged.
Setting, constants and generator are those of the script (bss_neurips.py): s = 5, signal to noise 5, rho 0.1, clipping at 0.5.
"""

import math
from dataclasses import dataclass

import numpy as np

SPARSITY, SIGNAL_TO_NOISE, RHO = 5, 5.0, 0.1
CLIP, RIDGE, RADIUS = 0.5, 120.0, 1.1
TRUTH = tuple(range(1, 2 * SPARSITY, 2))


def generate(n: int, p: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a normal autoregression, five equal effects, noise scaled to the stated ratio."""
    x = rng.standard_normal((n, p), dtype=np.float32)
    for j in range(1, p):
        x[:, j] = RHO * x[:, j - 1] + math.sqrt(1 - RHO**2) * x[:, j]
    signal = x[:, TRUTH].astype(float).sum(axis=1) / math.sqrt(SPARSITY)
    noise = rng.standard_normal(n)
    return x, signal + noise * np.linalg.norm(signal) / (math.sqrt(SIGNAL_TO_NOISE) * np.linalg.norm(noise))


@dataclass(frozen=True)
class Law:
    """The best model found, and its chance by both of the paper's estimators."""

    best: tuple[int, ...]
    top_r: float
    mistakes: float


def law(x: np.ndarray, y: np.ndarray, epsilon: float, s: int = SPARSITY, start: tuple[int, ...] | None = None) -> Law:
    """The chance that each estimator releases the best model of `s` columns.

    `start` is where the search begins, as a solver may be warm-started; without it, at the largest correlations.
    """
    p = x.shape[1]
    clipped, response = np.clip(x, -CLIP, CLIP), np.clip(y, -CLIP, CLIP).astype(x.dtype)
    cross = (clipped.T @ response).astype(float)
    squares = np.einsum("ij,ij->j", clipped, clipped).astype(float)
    best = tuple(sorted(start or np.argsort(-abs(cross))[:s].tolist()))
    while True:  # exchange one column for another as long as that helps
        value, swapped, exchange = _neighbours(clipped, cross, squares, best)
        if swapped.min() >= value - 1e-9:
            break
        best = exchange(int(swapped.argmin()))
    # In units of the objective, 1/2n of the loss, so the sensitivity has the same 1/2n.
    scale = epsilon / (2 * (CLIP + CLIP * RADIUS * math.sqrt(s)) ** 2)
    gaps = swapped - value
    # Two exchanges cost what both do where columns are nearly orthogonal, as here; the programs of the paper solve for it.
    cheapest = np.cumsum(np.sort(gaps.reshape(s, p - s).min(axis=1)))
    rest = math.comb(p, s) - 1 - gaps.size
    last = max(gaps.max(), cheapest[1] if s > 1 else 0)
    top_r = _share([*(-scale * gaps), *([math.log(rest) - scale * last] if rest > 0 else [])])
    # Every model with i wrong columns has the weight of the best such model.
    sizes = [math.log(math.comb(s, i) * math.comb(p - s, i)) for i in range(1, min(s, p - s) + 1)]
    mistakes = _share([size - scale * gap for size, gap in zip(sizes, cheapest, strict=False)])
    return Law(best, top_r, mistakes)


def _share(others: list[float]) -> float:
    """1 over 1 plus all others, which are given as logarithms."""
    return float(np.exp(-np.logaddexp.reduce([0.0, *others])))


def _neighbours(x, cross, squares, best):
    """(loss of `best`, losses with one column exchanged, which model each is), short of ||y||^2; the ridge is in them."""
    at = list(best)
    with_best = (x.T @ x[:, at]).astype(float)
    gram = with_best[at] + RIDGE * np.eye(len(at))
    outside = np.setdiff1d(np.arange(len(cross)), at)
    losses = []
    for out in range(len(at)):
        left = [each for each in range(len(at)) if each != out]
        inverse = np.linalg.inv(gram[np.ix_(left, left)])
        c = cross[[at[each] for each in left]]
        g = with_best[np.ix_(outside, left)]
        residual = cross[outside] - g @ (inverse @ c)
        room = squares[outside] + RIDGE - np.einsum("ij,jk,ik->i", g, inverse, g)
        losses.append(-(c @ inverse @ c) - residual**2 / room)

    def exchange(place: int) -> tuple[int, ...]:
        out, entering = divmod(place, outside.size)
        return tuple(sorted([*(each for k, each in enumerate(at) if k != out), int(outside[entering])]))

    b = np.linalg.solve(gram, cross[at])
    if np.linalg.norm(b) > RADIUS:
        raise ValueError("The radius binds, and this file solves the ridge alone; state a larger radius.")
    return float(-b @ cross[at]), np.concatenate(losses), exchange
