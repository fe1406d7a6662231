"""diffprivlib's LinearRegression on the tables of `estimates.py pure`, delta = 0: `python diffprivlib_peer.py ours.json COUNT`.

Runs in an environment of its own, because diffprivlib 0.6.6 needs scikit-learn below 1.6. It prints ratios of the root mean
squared error of the coefficients, theirs over ours.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression
from scipy.stats import norm

TRUTH = np.array([0.1, 0.25, -0.2, 0.1, 0.0, 0.05])


def table(generator: np.random.Generator, n: int, width: int, design: str) -> tuple[np.ndarray, np.ndarray]:
    """As in estimates.py."""
    if design == "independent":
        x = generator.uniform(-1, 1, (n, width - 1))
    else:
        places = np.arange(width - 1)
        root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(places, places)))
        x = 2 * norm.cdf(generator.standard_normal((n, width - 1)) @ root.T) - 1
    return x, TRUTH[0] + x @ TRUTH[1:width] + generator.uniform(-0.3, 0.3, n)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        ours = json.load(file)
    warnings.simplefilter("ignore")
    for place, (cell, error) in enumerate(ours.items()):
        n, width, design, epsilon = cell.split()
        generator, errors = np.random.default_rng(place // 3), []
        for repeat in range(int(sys.argv[2])):
            x, y = table(generator, int(n), int(width), design)
            model = LinearRegression(
                epsilon=float(epsilon), bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), random_state=repeat
            )
            model.fit(x, y)
            errors.append(np.append(model.intercept_, model.coef_) - TRUTH[: int(width)])
        print(cell, f"{error:.4f} {np.sqrt(np.mean(np.square(errors))) / error:.2f}", flush=True)


if __name__ == "__main__":
    main()
