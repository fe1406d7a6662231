"""Whether forecasts come true: `plan` and `check` beside what `analyze` then gives, on real tables.

python -m benchmarks.forecasts measure FILE [--studies FOLDER] [--runs 4] [--quick] [NAME ...]
python -m benchmarks.forecasts show FILE

`measure` adds one line of JSON for each table and epsilon to FILE, and goes on where it was stopped. Tables are those of
`benchmarks.forecast_tables` and, where a folder of study files with tables is given, its studies. Plans and checks are those of
the commands, `dpselect.plan` and `dpselect.check`; what came true is some runs of `dpselect.analyze`, each with random splits and
noise of its own. The share of R^2 that is kept is also computed from `check`'s chances, which are exact given a random split.
Lengths are over those of the sandwich's intervals of the same model and rows without privacy. Nothing here protects data.
With --quick (a third of the time) chances are of four random splits; plans with R^2 and previews of effects are left out.
"""

import argparse
import json
import os
import warnings
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd

import dpselect
from benchmarks import forecast_tables
from dpselect.assume.recipe import Choice
from dpselect.assume.variables import Binary, Categorical, Count, Numeric
from dpselect.rehearse.check.preview import names_of, terms_of
from dpselect.report.phrases import FAR_LONGER
from dpselect.use.check import Rehearsal, budget_of

EPSILONS = (1.0, 0.35)
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.001)
NEAR, FACTOR, SHORT = 0.1, 1.5, 3000
QUICK_SPLITS, LIKELIEST = 4, 300


def all_tables(studies: Path | None, wanted: list[str]):
    """(name, study, rows) of the PyPI tables, and of the studies of a folder."""
    for name in forecast_tables.names():
        if not wanted or name in wanted:
            table = forecast_tables.load(name)
            yield name, table.study, table.frame
    for path in sorted(studies.glob("*.toml")) if studies is not None else ():
        if not wanted or path.stem in wanted:
            yield f"study {path.stem}", dpselect.Study.read(path), pd.read_csv(path.with_suffix(".csv.gz"))


class Plain:
    """A table without privacy: designs, R^2 and intervals of any model."""

    def __init__(self, study, frame: pd.DataFrame) -> None:
        response = study.response
        y = frame[response.name]
        if isinstance(response, Binary):
            y = y == response.categories[1]
        self.y = y.to_numpy(dtype=float)
        if isinstance(response, Numeric) and not isinstance(response, Count) and response.bounded:
            self.y = np.clip(self.y, response.lower, response.upper)
        self.family = (
            "binomial" if isinstance(response, Binary) else "poisson" if isinstance(response, Count) else "gaussian"
        )
        self.columns: dict[str, np.ndarray] = {}
        self.terms: dict[str, list[str]] = {}
        for each in study.predictors:
            x = frame[each.name]
            if isinstance(each, Binary):
                found = {each.name: (x == each.categories[1]).to_numpy(dtype=float)}
            elif isinstance(each, Categorical):
                levels = [level for level in each.categories if level != each.reference]
                found = {f"{each.name}[{level}]": (x == level).to_numpy(dtype=float) for level in levels}
            else:
                found = {each.name: np.clip(x.to_numpy(dtype=float), each.lower, each.upper)}
            self.columns |= found
            self.terms[each.name] = list(found)

    def design(self, variables) -> tuple[list[str], np.ndarray]:
        names = [column for variable in variables if variable in self.terms for column in self.terms[variable]]
        return names, np.column_stack([np.ones(len(self.y)), *(self.columns[name] for name in names)])

    def r2(self, variables) -> float:
        _, design = self.design(variables)
        left = self.y - design @ np.linalg.lstsq(design, self.y, rcond=None)[0]
        return 1 - float(left @ left) / float(((self.y - self.y.mean()) ** 2).sum())

    def best(self) -> float:
        """The R^2 of a good model by BIC: terms go out one by one from the full model while that helps."""
        n, inside = len(self.y), list(self.terms)

        def bic(variables) -> float:
            names, _ = self.design(variables)
            return n * np.log1p(-min(self.r2(variables), 1 - 1e-12)) + len(names) * np.log(n)

        while inside:
            now, (then, out) = bic(inside), min((bic([v for v in inside if v != each]), each) for each in inside)
            if then >= now:
                break
            inside.remove(out)
        return self.r2(inside)

    def lengths(self, variables) -> dict[str, float]:
        """The sandwich's 95% intervals, of coefficients on the scale of the link."""
        names, design = self.design(variables)
        middle, scale = design.mean(axis=0), design.std(axis=0)
        middle[0], scale[scale == 0] = 0.0, 1.0
        design, b = (design - middle) / scale, np.zeros(design.shape[1])
        if self.family == "gaussian":
            b = np.linalg.lstsq(design, self.y, rcond=None)[0]
            mean, weight = design @ b, np.ones(len(self.y))
        else:
            b[0] = np.log(self.y.mean() / (1 - self.y.mean())) if self.family == "binomial" else np.log(self.y.mean())
            for _ in range(50):
                mean, weight = self._link(design @ b)
                step = np.linalg.lstsq(design.T @ (design * weight[:, None]), design.T @ (self.y - mean), rcond=None)[0]
                b += np.clip(step, -5, 5)
                if np.abs(step).max() < 1e-9:
                    break
            mean, weight = self._link(design @ b)
        bread = np.linalg.pinv(design.T @ (design * weight[:, None]))
        meat = design * (self.y - mean)[:, None]
        spread = np.sqrt(np.diag(bread @ (meat.T @ meat) @ bread))
        return dict(zip(["intercept", *names], 2 * 1.96 * spread / scale, strict=True))

    def _link(self, line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.family == "poisson":
            mean = np.exp(np.clip(line, -30, 30))
            return mean, mean
        mean = 1 / (1 + np.exp(-line))
        return mean, mean * (1 - mean)


def one_run(study, frame, plain: Plain, epsilon: float) -> dict:
    """What a real run selects, and its intervals over those without privacy; None where noise hides one."""
    analysis = dpselect.analyze(frame, study, epsilon=epsilon)
    named = (name.partition("[")[0] for name in analysis.selection.variables if name != "intercept")
    chosen = list(dict.fromkeys(named))
    terms, without = {}, plain.lengths(chosen)
    ratios = plain.family != "gaussian"
    for row in analysis.coefficients.tidy():
        low, high = row["conf_low"], row["conf_high"]
        if row["term"] == "intercept":
            continue
        if low is None or high is None or not np.isfinite(high - low) or (ratios and not low > 0):
            terms[row["term"]] = (None, None, False)
            continue
        low, high = (np.log(low), np.log(high)) if ratios else (low, high)
        terms[row["term"]] = (high - low, (high - low) / without[row["term"]], bool(low > 0 or high < 0))
    return {"variables": chosen, "terms": terms, "r2": plain.r2(chosen) if chosen else 0.0}


def previewed(study, frame, epsilon: float) -> dict:
    """What `check` says of a run."""
    checked = dpselect.check(frame, study, epsilon=epsilon)
    seen = checked.preview
    return {
        "check_kept": seen.share,
        "inclusion": dict(zip(seen.terms, seen.inclusion, strict=True)),
        "effects": {each.name: [each.told, each.length] for each in checked.effects},
    }


def previewed_quickly(study, frame, epsilon: float) -> dict:
    """What `check` says of the selection, by few random splits; of counts, which have no moments, by the likeliest models."""
    rehearsal = Rehearsal(study, Choice(), budget_of(epsilon, None, "analyze"))
    rehearsed = rehearsal.rehearse(frame, rows=len(frame), dealings=QUICK_SPLITS)
    seen = rehearsed.at(Decimal(str(epsilon)), leading=LIKELIEST)
    kept = seen.share
    if kept is None:
        plain, models = Plain(study, frame), [names_of(mask, study) for mask in seen.models]
        explained = sum(
            chance * plain.r2(model) for chance, model in zip(seen.chances, models, strict=True) if chance > 1e-4
        )
        kept = explained / max(sum(seen.chances), 1e-9) / max(plain.best(), 1e-9)
    return {"check_kept": kept, "inclusion": dict(zip(terms_of(study), seen.inclusion, strict=True)), "effects": {}}


def measure(name: str, study, frame, epsilon: float, runs: int, quick: bool) -> dict:
    """One line."""
    plain, rows = Plain(study, frame), len(frame)
    r2 = plain.r2(plain.terms)
    planned = {"planned": dpselect.plan(study, rows=rows, epsilon=epsilon).to_dict()}
    if not quick:
        told = dpselect.plan(study, rows=rows, epsilon=epsilon, r2=min(max(r2, 0.01), 0.95))
        planned["planned_r2"] = told.to_dict()
    seen = (previewed_quickly if quick else previewed)(study, frame, epsilon)
    done = [one_run(study, frame, plain, epsilon) for _ in range(runs)]
    return (
        planned
        | seen
        | {
            "table": name,
            "rows": rows,
            "columns": len(study.columns),
            "family": plain.family,
            "epsilon": epsilon,
            "r2": r2,
            "bic_r2": plain.best(),
            "runs": done,
        }
    )


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasts")
    parser.add_argument("what", choices=("measure", "show"))
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--studies", type=Path, help="a folder of study files, each beside its table")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument(
        "--quick", action="store_true", help="four random splits, no plans with R^2, no previews of effects"
    )
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    if asked.what == "measure":
        known = {(line["table"], line["epsilon"]) for line in lines}
        for name, study, frame in all_tables(asked.studies, asked.names):
            for epsilon in EPSILONS:
                if (name, epsilon) not in known:
                    lines.append(measure(name, study, frame, epsilon, asked.runs, asked.quick))
                    with asked.file.open("a") as out:
                        out.write(json.dumps(lines[-1]) + "\n")
    show(lines)


def realized_kept(line: dict) -> float:
    """From check's chances, which are exact given random splits; from the runs where models are too many to list.

    nan where BIC's model is empty: then there is nothing to keep.
    """
    if not line["bic_r2"] > 1e-6:
        return np.nan
    if line["check_kept"] is not None:
        return min(line["check_kept"], 1.0)
    return min(float(np.mean([run["r2"] for run in line["runs"]])) / max(line["bic_r2"], 1e-9), 1.0)


def show_kept(lines: list[dict]) -> None:
    """Planned and realized share of R^2."""
    print("| share of R² kept | tables x epsilon | within .1 | mean distance | mean planned | mean realized |")
    print("|---|---|---|---|---|---|")
    lines = [line for line in lines if np.isfinite(realized_kept(line))]
    true = np.array([realized_kept(line) for line in lines])
    short = np.array([line["rows"] < SHORT for line in lines])
    pypi = np.array([not line["table"].startswith("study ") for line in lines])
    for title, key in (("plan", "planned"), ("plan with --r2", "planned_r2")):
        if any(key not in line for line in lines):
            continue
        said = np.array([line[key]["expected"]["kept"] for line in lines])
        ends = [(line[key]["low"] - 0.025, line[key]["high"] + 0.025) for line in lines]
        inside = np.array([low <= kept <= high for (low, high), kept in zip(ends, true, strict=True)])
        for part, where in (("all", true > -1), ("PyPI", pypi), ("below 3,000 rows", short)):
            off = np.abs(said - true)[where]
            means = f"{said[where].mean():.2f} | {true[where].mean():.2f}"
            print(f"| {title}, {part} | {where.sum()} | {(off <= NEAR).mean():.0%} | {off.mean():.2f} | {means} |")
        print(f"| {title}: in the range of its scenarios | | {inside.mean():.0%} | | | |")


def show_lengths(lines: list[dict]) -> None:
    """Planned and realized lengths, as multiples of those without privacy and in the response's units."""
    print(
        "\n| planned times | terms | realized, quartiles | hidden | between the planned quartiles | within a factor 1.5 |"
    )
    print("|---|---|---|---|---|---|")
    found = []
    for line in lines:
        planned = line["planned"]["intervals"] or {}
        units = {each["term"]: each["length"] for each in planned.get("terms", ())}
        for run in line["runs"]:
            for name, (length, over, _) in run["terms"].items():
                ratio = np.inf if over is None or not np.isfinite(over) else over
                unit = units.get(name)
                own = np.nan if unit is None or length is None else length / unit
                ends = [planned.get(each) or np.inf for each in ("times", "times_low", "times_high")]
                found.append((*ends, ratio, own))
    times, lows, highs, ratios, units = np.array(found).T
    inside = (ratios >= lows) & ((ratios <= highs) | (highs > FAR_LONGER))
    near = np.array([a == b or 1 / FACTOR <= b / a <= FACTOR for a, b in zip(times, ratios, strict=True)])
    for low, high in ((1, 2), (2, 3), (3, 5), (5, 10), (10, np.inf)):
        here = (times >= low) & ((times < high) | (high == np.inf))
        if here.any():
            hidden = f"{np.isinf(ratios[here]).mean():.0%} | {inside[here].mean():.0%} | {near[here].mean():.0%}"
            print(f"| {low} to {high} | {here.sum()} | {_quartiles(ratios[here])} | {hidden} |")
    print(f"| all | {near.size} | | {np.isinf(ratios).mean():.0%} | {inside.mean():.0%} | {near.mean():.0%} |")
    known = units[np.isfinite(units)]
    within = ((known >= 1 / FACTOR) & (known <= FACTOR)).mean()
    print(f"| in units, as ranges suggest | {known.size} | {_quartiles(known)} of planned | | | {within:.0%} |")


def _quartiles(values: np.ndarray) -> str:
    return ", ".join(f"{each:.1f}" for each in np.quantile(values, [0.25, 0.5, 0.75], method="nearest"))


def show_chances(lines: list[dict]) -> None:
    """check's chances beside what runs selected and told."""
    pairs, told = [], []
    for line in lines:
        for run in line["runs"]:
            pairs += [(chance, name in run["variables"]) for name, chance in line["inclusion"].items()]
            known = {name: each[2] for name, each in run["terms"].items() if name in line["effects"]}
            told += [(line["effects"][name][0], seen) for name, seen in known.items()]
    _bins("check: chance of a variable", pairs, "selected")
    if told:
        _bins("check: told from zero", told, "told")


def _bins(title: str, pairs: list[tuple[float, bool]], what: str) -> None:
    said, true = np.array(pairs, dtype=float).T
    print(f"\n| {title} | number | mean said | {what} |\n|---|---|---|---|")
    off = []
    for low, high in pairwise(BINS):
        here = (said >= low) & (said < high)
        if here.any():
            off.append((here.sum(), abs(said[here].mean() - true[here].mean())))
            print(f"| {low:g} to {min(high, 1):g} | {here.sum()} | {said[here].mean():.2f} | {true[here].mean():.2f} |")
    total = sum(count for count, _ in off)
    print(f"| all | {total} | off by {sum(count * each for count, each in off) / total:.3f} in a bin on average | |")


def told_share(line: dict) -> float:
    """Of the released coefficients, those whose interval excludes zero; nan where nothing was selected."""
    told = [each[2] for run in line["runs"] for each in run["terms"].values()]
    return float(np.mean(told)) if told else np.nan


def show_tables(lines: list[dict]) -> None:
    """What `analyze` gives, a table a line."""
    print("| table | rows | variables | R² | ε = 1: kept | told from zero | ε = 0.35: kept | told |")
    print("|---|---|---|---|---|---|---|---|")
    found = {(line["table"], line["epsilon"]): line for line in lines}
    pairs = [
        (found[name, 1.0], found[name, 0.35]) for name, epsilon in found if epsilon == 1.0 and (name, 0.35) in found
    ]
    pairs.sort(key=lambda pair: pair[0]["rows"])
    pypi = [pair for pair in pairs if not pair[0]["table"].startswith("study ")]
    for pair in pypi:
        told = [_or_none(told_share(line)) for line in pair]
        cells = [f"{_or_none(realized_kept(line))} | {each}" for line, each in zip(pair, told, strict=True)]
        one = pair[0]
        print(f"| {one['table']} | {one['rows']:,} | {len(one['inclusion'])} | {one['r2']:.2f} | {' | '.join(cells)} |")
    parts = {
        f"{len(pypi)} tables": pypi,
        "below 3,000 rows": [pair for pair in pypi if pair[0]["rows"] < SHORT],
        "3,000 rows or more": [pair for pair in pypi if pair[0]["rows"] >= SHORT],
        "the ten development studies": [pair for pair in pairs if pair[0]["table"].startswith("study ")],
    }
    for title, some in parts.items():
        measures = [(which, k) for k in (0, 1) for which in (realized_kept, told_share)]
        means = [f"{np.nanmean([which(pair[k]) for pair in some]):.2f}" for which, k in measures if some]
        print(f"| **mean, {title}** | | | | {' | '.join(means)} |")
    print()


def _or_none(share: float) -> str:
    return "none" if np.isnan(share) else f"{share:.2f}"


def show(lines: list[dict]) -> None:
    """All tables of docs/RESULTS.md about real tables and forecasts."""
    lines = [line for line in lines if line["runs"]]
    show_tables(lines)
    print(f"{len({line['table'] for line in lines})} tables, {sum(len(line['runs']) for line in lines)} runs")
    show_kept(lines)
    show_lengths(lines)
    show_chances(lines)


if __name__ == "__main__":
    main()
