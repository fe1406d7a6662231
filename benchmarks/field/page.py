"""What the contests found, as Markdown tables between markers of docs/COMPARISONS.md."""

import re
from pathlib import Path

import numpy as np

from benchmarks.field import selection
from benchmarks.field.estimates import Line
from benchmarks.field.selection import Result, Wide
from benchmarks.field.short import Duel

PAGE = Path(__file__).parents[2] / "docs" / "COMPARISONS.md"
AHEAD = 0.02
"""How much more of R squared a rival must keep to be named as ahead."""


def put(text: str, name: str, body: str) -> str:
    """`text` with `body` between the markers of `name`."""
    between = re.compile(rf"(<!-- field: {name} -->\n).*?(<!-- end of field -->)", re.DOTALL)
    if not between.search(text):
        raise ValueError(f"The page has no markers for {name!r}.")
    return between.sub(lambda found: f"{found[1]}\n{body}\n\n{found[2]}", text)


def grid(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratio(value: float) -> str:
    """Two digits; what is beyond all use is not spelt out."""
    if np.isnan(value):
        return "none"
    if np.isinf(value):
        return "unbounded"
    if value > 1000:
        return "over 1,000"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def share(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.2f}"


def short(duels: list[Duel]) -> str:
    """One row a duel."""
    rows = []
    for duel in duels:
        shown = share if duel.more_is_better else ratio
        quotient = duel.rival / duel.ours if duel.ours else np.inf
        times = f"{quotient:.2f}" if quotient < 10 else f"{quotient:.0f}" if np.isfinite(quotient) else "none"
        rows.append(
            [
                duel.setting,
                f"{duel.measure} ({'more' if duel.more_is_better else 'less'} is better)",
                shown(duel.ours),
                f"{shown(duel.rival)}, {duel.who}",
                times,
                duel.ahead.partition(",")[0],
            ]
        )
    return grid(["setting", "measure", "dpselect", "best private rival", "rival over dpselect", "ahead"], rows)


def real(results: list[Result]) -> str:
    """Means over tables."""
    names = list(dict.fromkeys(name for _, name in results[0].by))
    rows = []
    for name in names:
        cells = [name]
        for epsilon in selection.EPSILONS:
            each = [result.by[epsilon, name] for result in results]
            cells += [f"{np.mean([getattr(one, key) for one in each]):.2f}" for key in ("kept", "f1", "contrast")]
        rows.append(cells)
    heads = [f"{key}, ε = {epsilon:g}" for epsilon in selection.EPSILONS for key in ("kept", "F1", "contrast")]
    return grid(["method", *heads], rows)


def by_table(results: list[Result]) -> str:
    """Kept and contrast, and where a private rival is ahead."""
    shown = (selection.OURS, selection.KNOWN, selection.FIVE)
    lines = []
    for epsilon in selection.EPSILONS:
        rows = []
        for result in results:
            each = [result.by[epsilon, name] for name in shown]
            cells = [result.table.name, f"{result.table.n:,}", f"{result.size} of {result.table.x.shape[1]}"]
            rows.append([*cells, *(f"{one.kept:.2f} / {one.contrast:.2f}" for one in each)])
        heads = ["table", "rows", "in BIC's model", *(name.partition(", block")[0] for name in shown)]
        lines += [f"ε = {epsilon:g}:", "", grid(heads, rows), ""]
    rivals = (selection.KNOWN, selection.FIVE, selection.MOMENTS, selection.LEI)
    for epsilon in selection.EPSILONS:
        ahead = [
            result.table.name
            for result in results
            if max(result.by[epsilon, name].kept for name in rivals) > result.by[epsilon, selection.OURS].kept + AHEAD
        ]
        sharper = [
            result.table.name
            for result in results
            if max(result.by[epsilon, name].contrast for name in rivals)
            > result.by[epsilon, selection.OURS].contrast + AHEAD
        ]
        lines.append(f"- ε = {epsilon:g}: a private rival keeps more R² on {_named(ahead, results)}")
        lines.append(f"- ε = {epsilon:g}: a private rival has more contrast on {_named(sharper, results)}")
    return "\n".join(lines)


def _named(names: list[str], results: list[Result]) -> str:
    return f"{len(names)} of {len(results)} tables" + (f": {', '.join(names)}." if names else ".")


def _ours(one: Wide) -> list[str]:
    if one.problem is not None:
        return [one.problem.rstrip("."), "", ""]
    return [f"{one.right:.2f}", f"{one.f1:.2f}", f"{one.seconds:.1f}"]


def wide(found: list[Wide]) -> str:
    """Prastakos et al."""
    rows = [
        [f"{one.columns:,}", f"{one.rows:,}", *_ours(one), *(f"{each:.2f}" for each in one.rivals)] for one in found
    ]
    heads = ["columns", "rows", "dpselect: right", "F1", "seconds", "top-R: right", "mistakes: right"]
    return grid(heads, rows)


def walk(found: list[Wide]) -> str:
    """Roy et al."""
    rows = [[f"{one.epsilon:g}", *_ours(one), *(f"{each:.2f}" for each in one.rivals)] for one in found]
    return grid(["ε", "dpselect: right", "F1", "seconds", "walk: right", "F1"], rows)


def ties(moves: dict[int, float]) -> str:
    heads = ["rows", *(f"{n:,}" for n in moves)]
    claimed = ["sensitivity claimed", *("1.5" for _ in moves)]
    return grid(heads, [claimed, ["moved by one row", *(f"{move:,.0f}" for move in moves.values())]])


def _settings(lines: list[Line]) -> list[tuple[str, float]]:
    return list(dict.fromkeys((line.setting, line.epsilon) for line in lines))


def _of(lines: list[Line], setting: str, epsilon: float) -> dict[str, Line]:
    return {line.method: line for line in lines if (line.setting, line.epsilon) == (setting, epsilon)}


def readme(lines: list[Line]) -> str:
    """BinAgg's setting: errors of all, and coverage of those with intervals."""
    names = list(dict.fromkeys(line.method for line in lines))
    rows = []
    for setting, epsilon in _settings(lines):
        each = _of(lines, setting, epsilon)
        cells = [
            ratio(line.error) + ("" if np.isnan(line.holds) else f" / {line.holds:.2f}")
            for line in (each[name] for name in names)
        ]
        rows.append([setting, f"{epsilon:.2g}", *cells])
    return grid(["rows", "ε", *names], rows)


def wages(lines: list[Line], lengths: dict[float, np.ndarray], published: dict[float, float]) -> str:
    """CPS: one row a method and epsilon."""
    rows = [
        [f"{line.epsilon:g}", line.method, ratio(line.error), share(line.holds), ratio(line.length)] for line in lines
    ]
    rows += [
        [f"{epsilon:g}", "dp-statsmodels, with its paper's limits", "", "", ratio(value)]
        for epsilon, value in published.items()
    ]
    rows += [[epsilon, "dp-statsmodels, published", "", "", value] for epsilon, value in (("10", "300"), ("100", "37"))]
    said = "; ".join(
        f"ε = {epsilon:g}: {', '.join(ratio(each) for each in values)}" for epsilon, values in lengths.items()
    )
    table = grid(
        ["ε", "method", "distance in standard errors", "intervals that hold", "length over the sandwich's"], rows
    )
    return f"{table}\n\ndpselect's lengths for education, experience, its square and female: {said}."


def models(lines: list[Line]) -> str:
    """Real tables: medians over tables, and how often each is nearest."""
    names = list(dict.fromkeys(line.method for line in lines))
    rows = []
    for epsilon in dict.fromkeys(line.epsilon for line in lines):
        each = [_of(lines, *setting) for setting in _settings(lines) if setting[1] == epsilon]
        nearest = [min(one.values(), key=lambda line: line.error).method for one in each]
        for name in names:
            mine = [one[name] for one in each]
            where = [one[name].setting for one, best in zip(each, nearest, strict=True) if best == name]
            rows.append(
                [
                    f"{epsilon:g}",
                    name,
                    ratio(float(np.median([line.error for line in mine]))),
                    share(float(np.mean([line.holds for line in mine]))),
                    ratio(float(np.median([line.length for line in mine]))),
                    f"{len(where)}" + (f" ({', '.join(where)})" if where else ""),
                ]
            )
    heads = [
        "ε",
        "method",
        "distance in standard errors",
        "intervals that hold",
        "length over the sandwich's",
        "nearest on",
    ]
    return grid(heads, rows)


def write(blocks: dict[str, str], page: Path = PAGE) -> None:
    """All blocks into the page."""
    text = page.read_text(encoding="utf-8")
    for name, body in blocks.items():
        text = put(text, name, body)
    page.write_text(text, encoding="utf-8")
