"""Survey weights: how often the right model is chosen from informative samples, weighted and not, and what a real survey gives.

python -m benchmarks.survey              made-up samples, and CPS 2024 where its file is in ../shared/data/cps or named by --cps
python -m benchmarks.survey --samples 2  fewer samples
python -m benchmarks.survey --strata 4   whether it helps to deal rows to blocks by stratum, which dpselect does not do

Informative: the chance to be in the sample depends on the response and on a variable that is idle in the population, which makes it
strong in the sample. Weights are inverse chances, 5 and 50. CPS: the public file of wage earners, with four idle columns added; and
its weighted coefficients by rounds, against weighted least squares and its sandwich on all rows.
"""

import argparse
import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dpselect
from benchmarks.timing import table
from dpselect.gather import dealing
from dpselect.gather.rows import gather
from dpselect.release.rounds.drawing import (
    begin_rounds,
    draw_round,
    found_by,
    kept_between_rounds,
    plan_rounds,
    with_rounds,
)

POPULATIONS = (45_500, 218_000)
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


RANGES = {"educ_years": (0, 22), "experience": (0, 60), "experience_sq": (0, 3600), "female": (0, 1)}
RELEASES = 60


def cps_coefficients(path):
    """How often intervals hold the weighted coefficients of all rows, and how long they are beside the weighted sandwich's."""
    if not path.exists():
        return
    with gzip.open(path) as file:
        frame = pd.read_csv(file)
    weight = frame.A_FNLWGT.to_numpy(float)
    stated = {
        "weights": "A_FNLWGT",
        "weight_limit": float(np.quantile(weight, 0.995)),
        "population": float(weight.sum()),
    }
    predictors = [dpselect.Numeric(name, *limits) for name, limits in RANGES.items()]
    study = dpselect.Study(dpselect.Numeric("log_wage", 4, 16), predictors, **stated)
    design = np.column_stack([np.ones(len(frame)), *(frame[name].clip(*limits) for name, limits in RANGES.items())])
    known, errors = weighted_fit(
        design, frame.log_wage.clip(4, 16).to_numpy(), np.minimum(weight / study.weight_limit, 1)
    )
    columns = tuple(range(len(study.columns)))
    rows = gather(frame, study, kept_between_rounds(study))
    held, lengths = [], []
    for _ in range(RELEASES):
        plan = plan_rounds("gaussian", study, columns, epsilon="0.65", delta="1e-6")
        drawn = begin_rounds(rows, plan)
        while not drawn.done:
            drawn = with_rounds(drawn, plan, draw_round(rows, study, plan, drawn))
        found = found_by("gaussian", drawn, study, columns).findings
        low, high = (np.array([getattr(each, end) for each in found]) for end in ("lower", "upper"))
        held.append((low <= known) & (known <= high))
        lengths.append((high - low) / (2 * 1.96 * errors))
    lines = zip(["intercept", *RANGES], np.mean(held, axis=0), np.median(lengths, axis=0), strict=True)
    table(
        f"CPS 2024, weighted coefficients at epsilon 0.65: {RELEASES} releases, {np.mean(held):.3f} of intervals hold",
        ["column", "held", "length over the weighted sandwich's"],
        [[name, f"{share:.3f}", f"{length:.2f}"] for name, share, length in lines],
    )


def weighted_fit(design, response, share):
    """Weighted least squares, and its standard errors by the sandwich."""
    hessian = (design.T * share) @ design
    known = np.linalg.solve(hessian, (design.T * share) @ response)
    gradient = design * (share * (response - design @ known))[:, None]
    inverse = np.linalg.inv(hessian)
    return known, np.sqrt(np.diag(inverse @ gradient.T @ gradient @ inverse))


STRATA = 8


def stratified_table(rows, seed):
    """Rows by stratum: strata differ in the mean of the response and of x0; x0 and x2 act on y, four columns are idle."""
    chance = np.random.default_rng([27, rows, seed])
    stratum = np.sort(chance.integers(0, STRATA, rows))
    x = chance.normal(size=(rows, 6))
    x[:, 0] += chance.normal(size=STRATA)[stratum]
    effect = 6 / np.sqrt(rows)
    y = effect * (x[:, 0] - x[:, 2]) + chance.normal(size=STRATA)[stratum] + chance.normal(size=rows)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(6)]).assign(y=y, stratum=stratum.astype(str))


def dealt_by_stratum(blocks, rows):
    """Labels of equal blocks for rows that are sorted by stratum: of each run of as many rows as blocks one row in each."""
    chance = np.random.default_rng()
    runs = [chance.permutation(blocks) for _ in range(-(-rows // blocks))]
    return np.concatenate(runs)[:rows].astype(np.uint32)


def strata(tables, draws=10):
    """Whether dealing by stratum helps: the share of right models, the stratum left out of the model and always in it."""
    usual, lines = dealing._random_labels, []
    names = [f"x{j}" for j in range(6)]
    levels = dpselect.Categorical("stratum", [str(each) for each in range(STRATA)])
    plain = dpselect.Study(dpselect.Numeric("y"), [dpselect.Numeric(name) for name in names])
    within = dpselect.Study(plain.response, [*plain.predictors, levels], always=["stratum"])
    for rows in (1000, 4000):
        frames = [stratified_table(rows, seed) for seed in range(tables)]
        for what, study, right in (("left out", plain, ["x0", "x2"]), ("always in", within, ["x0", "x2"])):
            shares = []
            for labels in (usual, dealt_by_stratum):
                dealing._random_labels = labels
                found = [
                    {name for name in dpselect.select(frame, study, epsilon=1).variables if name in names}
                    for frame in frames
                    for _ in range(draws)
                ]
                shares.append(np.mean([each == set(right) for each in found]))
            dealing._random_labels = usual
            lines.append([f"{rows:,}", what, *(f"{share:.3f}" for share in shares)])
    table(
        "Share of releases with exactly the right model: rows dealt at random, and by stratum",
        ["rows", "stratum", "at random", "by stratum"],
        lines,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=8)
    warnings.simplefilter("ignore", dpselect.errors.NoLedgerWarning)
    parser.add_argument("--cps", type=Path, default=CPS)
    parser.add_argument("--strata", type=int, default=0, metavar="TABLES", help="only: does dealing by stratum help?")
    asked = parser.parse_args()
    if asked.strata:
        strata(asked.strata)
        raise SystemExit
    made_up(asked.samples)
    cps(asked.cps)
    cps_coefficients(asked.cps)
