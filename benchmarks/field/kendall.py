"""DPKendall: the k columns of largest rank correlation, one after the other. It must be told k.

Dick, Gillenwater, Joseph, "Better Private Linear Regression Through Better Private Feature Selection", NeurIPS 2023,
arXiv:2306.00920; its code is google-research/private_kendall, not on PyPI. Pure epsilon, no bounds; neighbours add or
remove a row. (Replacing one, as dpselect's guarantee has it, would need sensitivities 2 and 4: here it has the kinder ones.)
"""

import numpy as np
from scipy.stats import kendalltau

FIRST, LATER = 1.5, 3.0
"""The sensitivities that the paper proves for its scores: of the first column, and of those that follow."""


def tau_a(a: np.ndarray, b: np.ndarray) -> float:
    """(concordant - discordant) / all pairs. A tied pair is neither and counts among all: the paper's definition."""
    value = kendalltau(a, b, variant="b").statistic
    if not np.isfinite(value):
        return 0.0
    pairs = len(a) * (len(a) - 1)
    tied = [
        int((counts * (counts - 1)).sum()) for counts in (np.unique(each, return_counts=True)[1] for each in (a, b))
    ]
    return float(value * np.sqrt((1 - tied[0] / pairs) * (1 - tied[1] / pairs)))


def strengths(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|n tau / 2| of every two columns of (x, y), the response last. Drawn from as often as one likes."""
    both = np.column_stack([x, y])
    width = both.shape[1]
    found = np.zeros((width, width))
    for i in range(width):
        for j in range(i):
            found[i, j] = found[j, i] = len(y) / 2 * abs(tau_a(both[:, i], both[:, j]))
    return found


def choose(strength: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> tuple[int, ...]:
    """`k` columns: each time the largest of correlation with the response minus the mean correlation with the chosen ones.

    Each costs epsilon/k: Gumbel noise of scale 2 sensitivity k/epsilon is the exponential mechanism.
    """
    with_response, among = strength[-1, :-1], strength[:-1, :-1]
    chosen: list[int] = []
    for _ in range(min(k, len(with_response))):
        score = with_response - (among[chosen].mean(axis=0) if chosen else 0)
        sensitivity = LATER if chosen else FIRST
        noisy = score + rng.gumbel(scale=2 * sensitivity * k / epsilon, size=score.size)
        noisy[chosen] = -np.inf
        chosen.append(int(noisy.argmax()))
    return tuple(sorted(chosen))


def move_with_ties(n: int) -> float:
    """How far one replaced row moves a score of the published code, which has tau-b: about 0.35 n, where 3/2 is claimed.

    One row has x = 1, it and a second have y = 1, all else is 0. Then the first one's y becomes 0.
    """
    x, y = np.zeros(n), np.zeros(n)
    x[0] = y[0] = y[1] = 1
    before = n / 2 * abs(kendalltau(x, y, variant="b").statistic)
    y[0] = 0
    return float(abs(before - n / 2 * abs(kendalltau(x, y, variant="b").statistic)))
