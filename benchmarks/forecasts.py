"""Whether forecasts come true: `plan` and `check` beside what `analyze` then gives, on real tables.

python -m benchmarks.forecasts measure FILE [--studies FOLDER] [--parts plan r2 check runs] [--runs 4] [--only NAME ...]
python -m benchmarks.forecasts show FILE ...

`measure` adds one line of JSON for each part, table and epsilon to FILE, and goes on where it was stopped. Tables are those of
`benchmarks.forecast_tables` and, where a folder of study files with tables is given, its studies. Plans and checks are those of
the commands, `dpselect.plan` (r2: told R^2) and `dpselect.check`; what came true is some runs of `dpselect.analyze`, each with
random splits and noise of its own. The share of R^2 that is kept is also computed from `check`'s chances, which are exact given a
random split; the part `chances` has them alone, of four random splits, in a third of the time, and `shares` is for
`benchmarks.forecast_fit`. Lengths are over those of the
sandwich's intervals of the same model and rows without privacy. `show` puts files together, the last one first to be believed, so
that after a change only what it concerns is measured anew. Nothing here protects data.
"""

import argparse
import json
import os
import warnings
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from unittest import mock

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd
from msgspec.structs import replace

import dpselect
from benchmarks import forecast_tables
from dpselect.assume.candidates import candidates_for
from dpselect.assume.recipe import Choice, held_votes
from dpselect.assume.variables import Binary, Categorical, Count, Numeric
from dpselect.assume.wide_rule import WideRule
from dpselect.rehearse.check.preview import names_of, terms_of
from dpselect.rehearse.planning.forecast import Held, forecast
from dpselect.rehearse.planning.scenarios import SEEN, layout_of, scenarios_of
from dpselect.report.phrases import FAR_LONGER
from dpselect.use.check import Rehearsal, budget_of
from dpselect.use.plan import price_of_estimate

EPSILONS = (1.0, 0.35)
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.001)
NEAR, FACTOR, SHORT, PROMISE = 0.1, 1.5, 3000, 0.8
QUICK_SPLITS, LIKELIEST = 4, 300
SHARES = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0)


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


def planned(study, rows: int, epsilon: float, r2: float | None = None) -> dict:
    """What `plan` says of a run; what it says of other numbers of rows and other prices, most of its time, is left out."""
    without = {"STEPS": (1.0,), "smallest_effect": lambda *_: None, "_needed": lambda *_: None}
    with mock.patch.multiple("dpselect.rehearse.planning.outlook", **without):
        said = dpselect.plan(study, rows=rows, epsilon=epsilon, r2=r2).to_dict()
    return {name: said[name] for name in ("expected", "low", "high", "r2_matters", "intervals")}


def kept_by_share(study, rows: int, epsilon: float, r2: float) -> dict[str, list[float]]:
    """What each kind of scenario keeps, in order, were this share of R^2 seen by votes."""
    layout, models = layout_of(study), candidates_for(study, None)
    price = epsilon - price_of_estimate(study, epsilon)
    rule = held_votes(replace(study, rows=None), models, rows, price)
    assert not isinstance(rule, WideRule)
    told = {share: share * r2 / SEEN[layout.response] for share in SHARES}
    return {
        str(share): sorted(forecast(each, Held(rule, rows, price)).kept for each in scenarios_of(layout, own))
        for share, own in told.items()
        if own < 1
    }


def measure(part: str, study, frame, epsilon: float, runs: int) -> dict:
    """What one part adds to a table's line."""
    rows, plain = len(frame), Plain(study, frame)
    if part == "plan":
        return {"planned": planned(study, rows, epsilon)}
    if part == "r2":
        return {"planned_r2": planned(study, rows, epsilon, min(max(plain.r2(plain.terms), 0.01), 0.95))}
    if part == "shares":
        return {"kept_by_share": kept_by_share(study, rows, epsilon, max(plain.r2(plain.terms), 0.01))}
    if part in ("check", "chances"):
        return (previewed if part == "check" else previewed_quickly)(study, frame, epsilon)
    facts = {"rows": rows, "columns": len(study.columns), "family": plain.family}
    facts |= {"r2": plain.r2(plain.terms), "bic_r2": plain.best()}
    return facts | {"runs": [one_run(study, frame, plain, epsilon) for _ in range(runs)]}


PARTS = ("plan", "r2", "check", "runs")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasts")
    told = parser.add_subparsers(dest="what", required=True)
    measuring, showing = told.add_parser("measure"), told.add_parser("show")
    measuring.add_argument("file", type=Path)
    measuring.add_argument("--only", nargs="+", default=[], help="names of tables")
    measuring.add_argument("--studies", type=Path, help="a folder of study files, each beside its table")
    measuring.add_argument("--parts", nargs="+", choices=(*PARTS, "chances", "shares"), default=PARTS)
    measuring.add_argument("--runs", type=int, default=4)
    showing.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args()
    if asked.what == "measure":
        known = {(line["part"], line["table"], line["epsilon"]) for line in _lines(asked.file)}
        for name, study, frame in all_tables(asked.studies, asked.only):
            for part, epsilon in ((part, epsilon) for part in asked.parts for epsilon in EPSILONS):
                if (part, name, epsilon) not in known:
                    line = {"part": part, "table": name, "epsilon": epsilon}
                    with asked.file.open("a") as out:
                        out.write(json.dumps(line | measure(part, study, frame, epsilon, asked.runs)) + "\n")
    lines = all_lines(asked.files if asked.what == "show" else [asked.file])
    whole = [line for line in lines if {"planned", "inclusion", "runs"} <= line.keys()]
    if whole:
        show(whole)


def all_lines(files: list[Path]) -> list[dict]:
    """The parts of every table and epsilon put together; of two that are the same the later one."""
    found: dict[tuple[str, float], dict] = {}
    for line in (line for file in files for line in _lines(file)):
        found.setdefault((line["table"], line["epsilon"]), {}).update(line)
    return list(found.values())


def _lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


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
    for line in (line for line in lines if "planned_r2" in line):
        line["asked"] = line["planned_r2" if line["planned"]["r2_matters"] else "planned"]
    for title, key in (
        ("plan", "planned"),
        ("plan with --r2 where it asks for it", "asked"),
        ("plan with --r2", "planned_r2"),
    ):
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
        high = said >= PROMISE
        broken = (
            f"{(high & (true < said - NEAR)).sum()} below it by more than .1, {(high & (true < 0.5)).sum()} below .5"
        )
        print(f"| {title}: where it says .8 or more | {high.sum()} | {broken} | | | |")


def show_lengths(lines: list[dict]) -> None:
    """Planned and realized lengths, as multiples of those without privacy and in the response's units."""
    print(
        "\n| planned times | terms | realized, quartiles | hidden | between the planned quartiles | within a factor 1.5 "
        "| of what is planned for as many variables as the run selected |"
    )
    print("|---|---|---|---|---|---|---|")
    times, *_, ratios = _lengths(lines, "planned")
    parts = {f"{low} to {high}": (times >= low) & (times < high) for low, high in pairwise((1, 2, 3, 5, 10))}
    parts |= {"over 10": times >= 10, "all": times > 0, "all that are not hidden": np.isfinite(ratios)}
    for words, here in parts.items():
        _show_part(words, *_lengths(lines, "planned"), here)
    if all("planned_r2" in line for line in lines):
        for words in ("all", "all that are not hidden"):
            _show_part(f"{words}, with --r2", *_lengths(lines, "planned_r2"), parts[words])
    units = []
    for line in lines:
        terms = (line["planned"]["intervals"] or {}).get("terms", ())
        said = {each["term"]: each["length"] for each in terms if each["length"] is not None}
        seen = ((name, each[0]) for run in line["runs"] for name, each in run["terms"].items() if each[0] is not None)
        units += [length / said[name] for name, length in seen if name in said]
    within = _near(np.ones(len(units)), np.array(units)).mean()
    print(
        f"| in units, as ranges suggest | {len(units)} | {_quartiles(np.array(units))} of planned | | | {within:.0%} | |"
    )
    show_oracles(lines)


def _lengths(lines: list[dict], key: str) -> np.ndarray:
    """For each released coefficient: the middle that is planned, its quartiles, that for as many variables, and what came true."""
    found = []
    for line in lines:
        planned = line[key]["intervals"] or {}
        ends = [planned.get(each) or np.inf for each in ("times", "times_low", "times_high")]
        by_selected = dict(planned.get("by_selected", ()))
        for run in line["runs"]:
            own = by_selected.get(len(run["variables"])) or np.inf
            found += [(*ends, own, _times(over)) for _, over, _ in run["terms"].values()]
    return np.array(found).T


def _times(over: float | None) -> float:
    return np.inf if over is None or not np.isfinite(over) else over


def _show_part(words: str, times, lows, highs, own_times, ratios, here) -> None:
    if here.any():
        inside = (ratios >= lows) & ((ratios <= highs) | (highs > FAR_LONGER))
        measures = (np.isinf(ratios), inside, _near(times, ratios), _near(own_times, ratios))
        shares = " | ".join(f"{each[here].mean():.0%}" for each in measures)
        print(f"| {words} | {here.sum()} | {_quartiles(ratios[here])} | {shares} |")


def show_oracles(lines: list[dict]) -> None:
    """How near a forecast comes that knows what no public fact says: the middle length of the others of its kind."""
    places, ratios = [], []
    for line in lines:
        for turn, run in enumerate(line["runs"]):
            places += [(line["table"], line["epsilon"], turn, name) for name in run["terms"]]
            ratios += [_times(over) for _, over, _ in run["terms"].values()]
    print("\n| a forecast that knew the middle of the other | lengths within a factor 1.5 |\n|---|---|")
    for words, kind in (
        ("terms and runs of its table and epsilon", (0, 1)),
        ("terms of its own run", (0, 1, 2)),
        ("runs of its own term", (0, 1, 3)),
    ):
        groups: dict[tuple, list[int]] = {}
        for place, each in enumerate(places):
            groups.setdefault(tuple(each[k] for k in kind), []).append(place)
        pairs = [
            (np.quantile([ratios[other] for other in some if other != own], 0.5, method="lower"), ratios[own])
            for some in groups.values()
            if len(some) > 1
            for own in some
        ]
        near = f"{_near(*np.array(pairs).T).mean():.0%}" if pairs else "none"
        print(f"| {words} | {near} of {len(pairs)} |")


def _near(said: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Within a factor; what is said to be hidden, and is."""
    finite = np.isfinite(said) & np.isfinite(true)
    ratio = np.where(finite, true, 1.0) / np.where(finite, said, 1.0)
    return np.where(finite, (ratio >= 1 / FACTOR) & (ratio <= FACTOR), np.isinf(said) & np.isinf(true))


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
