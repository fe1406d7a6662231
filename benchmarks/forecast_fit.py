"""What plans suppose, fitted to files of `benchmarks.forecasts`: on one half of the tables, by their names, and tried on the other.

python -m benchmarks.forecast_fit FILE ...

With the parts `shares` and `check` or `chances`: which share of R^2 votes see (`SEEN`), and which of the six scenarios of an R^2
that is told comes true. Best has most tables within .1, short ones counting half as much again, less half the mean distance.
With the part `runs`: the law of lengths (`release.rounds.facts.EXPECTED_LENGTHS`). Its quartiles are those of all lengths, a hidden
effect counting as infinite; the number of coefficients is that of each run.
"""

import argparse
import math
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks.forecasts import EPSILONS, FACTOR, NEAR, SHARES, SHORT, all_lines, realized_kept
from dpselect.assume.budget import DEFAULT_DELTA
from dpselect.randomize.rounds_noise import whole_mu
from dpselect.release.rounds.facts import EXPECTED_LENGTHS, LengthLaw

ESTIMATE_SHARE = 0.65
"""Of epsilon for the coefficients, as the studies of these tables have it."""
HIDDEN = math.log(1000.0)
QUARTILES = (0.25, 0.5, 0.75)


def lengths_of(lines: list[dict]) -> dict[str, np.ndarray]:
    """One entry a released coefficient: the log of its length over that without privacy, n mu^2/d, nu, its link, its half."""
    mu = {epsilon: whole_mu(ESTIMATE_SHARE * epsilon, float(DEFAULT_DELTA)) for epsilon in EPSILONS}
    found = []
    for line in lines:
        half, each = half_of(line), mu[line["epsilon"]]
        for run in line["runs"]:
            width = len(run["terms"]) + 1
            facts = line["rows"] * each**2 / width, line["rows"] * each / width**1.5, line["family"] != "gaussian", half
            found += [(HIDDEN if over is None else math.log(over), *facts) for _, over, _ in run["terms"].values()]
    return dict(zip(("length", "seen", "nu", "curved", "half"), np.array(found, float).T, strict=True))


def logs_of(law: LengthLaw, data: dict[str, np.ndarray]) -> np.ndarray:
    """The logs of the lengths that a law says."""
    counted = np.where(data["curved"] > 0, law.curved, 1.0)
    return 0.5 * np.log(
        law.sampling**2 + law.gradient / (counted * data["seen"]) + (law.gram / (counted * data["nu"])) ** 2
    )


def fitted(data: dict[str, np.ndarray], here: np.ndarray, quantile: float) -> LengthLaw:
    """The law of one quantile: least in the loss that quantiles have."""
    part = {name: values[here] for name, values in data.items()}

    def loss(logs: np.ndarray) -> float:
        left = part["length"] - logs_of(LengthLaw(*np.exp(logs)), part)
        return float(np.maximum(quantile * left, (quantile - 1) * left).mean())

    starts = np.log([EXPECTED_LENGTHS[1], (1.2, 60.0, 150.0, 0.8), (1.5, 20.0, 300.0, 0.4)])
    found = [minimize(loss, start, method="Nelder-Mead", options={"maxiter": 6000, "maxfev": 6000}) for start in starts]
    return LengthLaw(*np.exp(min(found, key=lambda each: each.fun).x).tolist())


def said(laws: list[LengthLaw], data: dict[str, np.ndarray], here: np.ndarray) -> str:
    """How near the middle comes, and how many lengths are between the quartiles."""
    low, middle, high = (logs_of(law, data)[here] for law in laws)
    true = data["length"][here]
    near, shown = np.abs(true - middle) <= math.log(FACTOR), true < HIDDEN
    between = ((true >= low) & (true <= high)).mean()
    return f"{here.sum()} | {near.mean():.0%} | {near[shown].mean():.0%} | {between:.0%} | {(true < low).mean():.0%}"


def half_of(line: dict) -> int:
    return sum(map(ord, line["table"])) % 2


def show_shares(lines: list[dict]) -> None:
    """Which shares and which scenario are best on all tables, and on either half."""
    true = np.array([realized_kept(line) for line in lines])
    curved = np.array([line["family"] != "gaussian" for line in lines])
    short, half = (np.array([which(line) for line in lines]) for which in (lambda line: line["rows"] < SHORT, half_of))
    kept = {share: np.array([line["kept_by_share"].get(str(share), [1.0] * 6) for line in lines]) for share in SHARES}
    said = {
        (number, other, place): np.where(curved, kept[other][:, place], kept[number][:, place])
        for number, other, place in product(SHARES, SHARES, range(4))
    }

    def worth(rule: tuple, here: np.ndarray) -> float:
        off = np.abs(said[rule] - true)
        return float((off <= NEAR)[here].mean() + (off <= NEAR)[here & short].mean() / 2 - off[here].mean() / 2)

    print("| tables | share of numbers, of others, scenario | within .1 | short | tried on the other half | short |")
    print("|---|---|---|---|---|---|")
    for words, here in (("all", half > -1), ("half 1", half == 0), ("half 2", half == 1)):
        best = max(said, key=lambda rule, here=here: worth(rule, here))
        near = np.abs(said[best] - true) <= NEAR
        own = [near[here], near[here & short], *([near[~here], near[~here & short]] if not here.all() else ())]
        print(f"| {words} | {best[0]}, {best[1]}, {best[2] + 1} | {' | '.join(f'{each.mean():.0%}' for each in own)} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    lines = [line for line in all_lines(parser.parse_args().files) if "runs" in line]
    if not lines:
        parser.error(
            "No runs in these files. Measure them first: python -m benchmarks.forecasts measure FILE --parts runs"
        )
    known = [
        line for line in lines if {"kept_by_share", "inclusion"} <= line.keys() and np.isfinite(realized_kept(line))
    ]
    if known:
        show_shares(known)
    data = lengths_of(lines)
    every = data["length"] > -math.inf
    print("| law | lengths | within a factor 1.5 | of those that are not hidden | between the quartiles | below |")
    print("|---|---|---|---|---|---|")
    print(f"| as the program has it | {said(list(EXPECTED_LENGTHS), data, every)} |")
    laws = [fitted(data, every, quantile) for quantile in QUARTILES]
    print(f"| fitted to all | {said(laws, data, every)} |")
    for half in (0, 1):
        here = data["half"] == half
        own = [fitted(data, here, quantile) for quantile in QUARTILES]
        print(f"| fitted to half {half + 1}, tried on the other | {said(own, data, ~here)} |")
    for law in laws:
        print(f"LengthLaw({', '.join(f'{each:.3g}' for each in law)}),")


if __name__ == "__main__":
    main()
