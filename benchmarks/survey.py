"""Survey weights: how often the right model is chosen from informative samples, weighted and not, and what a real survey gives.

python -m benchmarks.survey              made-up samples, and CPS 2024 where its file is in ../shared/data/cps or named by --cps
python -m benchmarks.survey --samples 2  fewer samples

Informative: the chance to be in the sample depends on the response and on a variable that is idle in the population, which makes it
strong in the sample. Weights are inverse chances, 5 and 50. CPS: the public file of wage earners, with four idle columns added.
"""

import argparse
import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dpselect
from benchmarks.timing import table

POPULATIONS = (60_000, 250_000)
PRICES = ("1", "0.35")
LIMIT = 50
DRAWS = 25
"""Releases from each sample."""
CPS = "../shared/data/cps/cps_asec_2024_wages.csv.gz"


def informative_sample(population, seed):
    """The rows of a sample: x0 and x2 act on y, x1 is idle in the population and strong in the sample."""
    chance = np.random.default_rng([26, population, seed])
    x = chance.normal(size=(population, 6))
    y = 0.5 * x[:, 0] - 0.4 * x[:, 2] + chance.normal(size=population)
    inclusion = np.where((y > 0) == (x[:, 1] > 0), 0.2, 0.02)
    taken = chance.random(population) < inclusion
    frame = pd.DataFrame(x[taken], columns=[f"x{j}" for j in range(6)])
    return frame.assign(y=y[taken], weight=1 / inclusion[taken])


def right_share(frame, study, epsilon, right, draws=DRAWS):
    """The share of releases that have exactly the right variables."""
    found = [dpselect.select(frame, study, epsilon=epsilon).variables for _ in range(draws)]
    return np.mean([set(each) - {"intercept"} == set(right) for each in found])


def made_up(samples):
    """Each population: rows, rows expected to count, and the shares of right models."""
    names = [f"x{j}" for j in range(6)]
    plain = dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric(name) for name in names])
    lines = []
    for population in POPULATIONS:
        frames = [informative_sample(population, seed) for seed in range(samples)]
        sampled = {"weights": "weight", "weight_limit": LIMIT, "population": population}
        weighted = dpselect.Study(plain.response, plain.predictors, **sampled)
        rows = [len(frame) for frame in frames]
        for epsilon in PRICES:
            shares = [
                np.mean([right_share(frame, study, epsilon, ["x0", "x2"]) for frame in frames])
                for study in (plain, weighted)
            ]
            about = [f"{population:,}", f"{min(rows):,} to {max(rows):,}", f"{weighted.expected_rows:,}", epsilon]
            lines.append([*about, *(f"{share:.3f}" for share in shares)])
    table(
        "Share of releases with exactly the right model",
        ["population", "rows", "expected to count", "epsilon", "unweighted", "weighted"],
        lines,
    )


def cps(path):
    """The model of education, experience and sex, among four idle columns."""
    if not path.exists():
        print("CPS 2024 is left out: its file is not here.")
        return
    with gzip.open(path) as file:
        frame = pd.read_csv(file)
    chance = np.random.default_rng(2024)
    right = ["educ_years", "experience", "experience_sq", "female"]
    idle = [f"idle{j}" for j in range(4)]
    frame = frame[["log_wage", *right, "A_FNLWGT"]].assign(**{name: chance.normal(size=len(frame)) for name in idle})
    limit = float(np.quantile(frame.A_FNLWGT, 0.995))  # here read from the public file; offices state it
    stated = {"weights": "A_FNLWGT", "weight_limit": limit, "population": float(frame.A_FNLWGT.sum())}
    study = dpselect.Study(dpselect.Numeric("log_wage"), [dpselect.Numeric(name) for name in right + idle], **stated)
    shares = [[epsilon, f"{right_share(frame, study, epsilon, right, 40):.3f}"] for epsilon in PRICES]
    table(
        f"CPS 2024: {len(frame):,} rows, about {study.expected_rows:,} expected to count",
        ["epsilon", "right model"],
        shares,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=8)
    warnings.simplefilter("ignore", dpselect.errors.NoLedgerWarning)
    parser.add_argument("--cps", type=Path, default=CPS)
    asked = parser.parse_args()
    made_up(asked.samples)
    cps(asked.cps)
