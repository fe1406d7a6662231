"""The best model by BIC without privacy: exhaustively here, and by R's leaps where R has it."""

import shutil
import subprocess
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

LEAPS = """
suppressMessages(library(leaps)); table <- read.csv(commandArgs(TRUE)[1]); n <- ncol(table)
began <- proc.time()[["user.self"]]
found <- summary(regsubsets(table[, -n], table[, n], nvmax = n - 1, really.big = TRUE))
took <- proc.time()[["user.self"]] - began
cat(took, which(found$which[which.min(found$bic), -1]) - 1)
"""


def centered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Second moments of (x, y) about the mean: an intercept is in every model."""
    both = np.column_stack([x, y])
    both = both - both.mean(axis=0)
    both = both / np.maximum(both.std(axis=0), 1e-12)
    return both.T @ both


def explained(products: np.ndarray, columns: tuple[int, ...]) -> float:
    """R squared of the model of `columns`, from `centered` moments."""
    if not columns:
        return 0.0
    at = list(columns)
    b = np.linalg.lstsq(products[np.ix_(at, at)], products[at, -1], rcond=None)[0]
    return float(b @ products[at, -1] / products[-1, -1])


def best_by_bic(x: np.ndarray, y: np.ndarray) -> tuple[int, ...]:
    """Of all models with an intercept."""
    products, n = centered(x, y), len(y)
    best, least = (), 0.0
    for size in range(1, x.shape[1] + 1):
        models = np.array(list(combinations(range(x.shape[1]), size)))
        cross = products[models, -1]
        b = np.linalg.solve(products[models[:, :, None], models[:, None, :]], cross[..., None])[..., 0]
        bic = n * np.log1p(-(b * cross).sum(axis=1) / products[-1, -1]) + size * np.log(n)
        if bic.min() < least:
            least, best = float(bic.min()), tuple(models[bic.argmin()].tolist())
    return best


def leaps(x: np.ndarray, y: np.ndarray) -> tuple[tuple[int, ...], float] | None:
    """(columns, seconds of the search) by R's leaps; None where there is no R or no leaps."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path, script = Path(folder) / "table.csv", Path(folder) / "leaps.R"
        heads = ",".join(f"c{j}" for j in range(x.shape[1] + 1))
        np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=heads, comments="")
        script.write_text(LEAPS)
        done = subprocess.run(["Rscript", script, path], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds, *columns = done.stdout.split()
    return tuple(map(int, columns)), float(seconds)
