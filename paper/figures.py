"""Run an experiment of the paper and write it down: a figure, its points, and the paper's statements with ours beside them.

Colours are Okabe and Ito's, told apart by colour-blind readers too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpselect.errors import StudyError
from dpselect.rehearse.simulate import SEED
from dpselect.report.plan_figure import FIGURE_SETTINGS, INK, save_figure
from paper.real_tables import housing_figure, housing_table, prostate_figure, prostate_table
from paper.simulations import AS_PRINTED, EPSILONS, FIRST, NO_PRIVACY, OURS, SECOND, Row, curve, simulation_figure
from paper.statements import (
    Statement,
    figure_1_statements,
    figure_2_statements,
    figure_3_statements,
    figure_4_statements,
)

COLOURS = {0.1: "#CC79A7", 1.0: "#E69F00", 5.0: "#009E73", 10.0: "#0072B2"}
STYLES = {AS_PRINTED: "-", OURS: (0, (4, 1.5))}
LABELS = {AS_PRINTED: "Algorithm 1 as printed", OURS: "permute-and-flip, range-based noise"}


def penalty_figure(rows: list[Row], title: str, note: str, ylabel: str = "chance of the right model") -> Any:
    """Chance over penalty: a row of panels for each n, a column for each R; colours are epsilons, dashes are ours."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    sizes = sorted({int(row["n"]) for row in rows})
    radii = sorted({float(row["R"]) for row in rows})
    with rc_context(FIGURE_SETTINGS):
        figure = Figure(figsize=(9.6, 2.3 * len(sizes) + 1.5), layout="constrained")
        panels = figure.subplots(len(sizes), len(radii), sharey=True, sharex="row", squeeze=False)
        for i, n in enumerate(sizes):
            for j, radius in enumerate(radii):
                _panel(panels[i][j], rows, n, radius)
                panels[i][j].set_title(f"n = {n:,}, R = {radius:.3g}", fontsize=9, color=INK)
            panels[i][0].set_ylabel(ylabel)
        for panel in panels[-1]:
            panel.set_xlabel("penalty φ")
        figure.suptitle(f"{title}\n{note}", fontsize=10, color=INK)
        _legend(figure, rows)
    return figure


def _one_table(rows: list[Row]) -> bool:
    """Of one table, the non-private choice is right or wrong: a matter of yes and no."""
    return all(row["chance"] in (0, 1) for row in rows if row["noise"] == NO_PRIVACY)


def _panel(panel: Any, rows: list[Row], n: int, radius: float) -> None:
    highest = 0.0
    for epsilon in EPSILONS:
        for noise, style in STYLES.items():
            penalties, chances = curve(rows, noise, n=n, R=radius, epsilon=epsilon)
            panel.plot(penalties, chances, ls=style, color=COLOURS[epsilon], lw=1.5)
            highest = max(highest, float(chances.max()))
    penalties, right = curve(rows, NO_PRIVACY, n=n, R=radius, epsilon=EPSILONS[0])
    if not _one_table(rows):
        panel.plot(penalties, right, ls=":", color="black", lw=1.3)
    elif not right.all():
        panel.fill_between(penalties, 0, 1, where=right > 0, color="#DDDDDD", lw=0, step="mid")
    if _one_table(rows) and highest < 0.4:
        panel.set_ylim(-0.004, 0.2)
        panel.set_yticks([0, 0.1, 0.2])
    else:
        panel.set_ylim(-0.02, 1.02)
        panel.set_yticks([0, 0.5, 1])
    panel.grid(axis="y", color="#DDDDDD", lw=0.6)
    panel.margins(x=0.01)


def _legend(figure: Any, rows: list[Row]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colour, lw=2, label=f"ε = {epsilon:g}") for epsilon, colour in COLOURS.items()
    ]
    handles += [Line2D([], [], color=INK, ls=STYLES[noise], lw=1.5, label=label) for noise, label in LABELS.items()]
    always = all(row["chance"] == 1 for row in rows if row["noise"] == NO_PRIVACY)
    if _one_table(rows) and not always:
        handles.append(Patch(color="#DDDDDD", label="right without privacy"))
    elif not always:
        handles.append(Line2D([], [], color="black", ls=":", lw=1.3, label="no privacy"))
    figure.legend(handles=handles, loc="outside lower center", ncols=7, frameon=False, fontsize=8, columnspacing=1.2)


FIGURE_NAMES = ("fig1", "fig2", "fig3", "fig4")
ENDINGS = (".png", ".svg", ".csv", "_statements.csv", "_statements.json")
"""Of the files that a figure is written to, after its name."""
ShareDone = Callable[[float], None]
NOT_PRIVATE = "As in the paper, and not private: r is the largest |y|. "


@dataclass(frozen=True, slots=True)
class PaperRun:
    """Public. Where a figure went and what it says; figures 3 and 4 show real data without noise: custodian's eyes only."""

    name: str
    statements: tuple[Statement, ...]
    paths: tuple[Path, ...]

    def __str__(self) -> str:
        lines = [f"{each.verdict:>15}: {each.said}\n{'':17}{each.here}" for each in self.statements]
        return "\n".join([f"{self.name}: {', '.join(path.name for path in self.paths)}", *lines])


def run_figure(
    name: str,
    out: str | Path,
    *,
    data: str | Path | None = None,
    jobs: int = 1,
    seed: int = SEED,
    progress: ShareDone | None = None,
) -> PaperRun:
    """Run "fig1", "fig2", "fig3" or "fig4" and write NAME.png, .svg, .csv and NAME_statements.csv and .json into the folder.

    Example: `run_figure("fig1", "paper", jobs=2)`. `data` is the housing file of figure 4, or a prostate file for figure 3; the
    results are the same for a seed, whatever the number of jobs. `progress` is called with the share that is done.
    """
    if name not in _RUNS:
        raise StudyError(f"There is no figure {name!r} in the paper; choose one of {', '.join(FIGURE_NAMES)}.")
    rows, statements, figure = _RUNS[name](data, jobs, seed, progress)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    paths = save_figure(figure, folder, name)
    paths.append(write_rows(rows, folder / f"{name}.csv"))
    paths += write_statements(statements, folder, name)
    return PaperRun(name, tuple(statements), tuple(paths))


Result = tuple[list[Row], list[Statement], Any]


def _figure_1(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    rows = simulation_figure(FIRST, jobs=jobs, seed=seed, progress=progress)
    title = "Figure 1: β = (1, 1, 1, 0, 0, 0), 63 models, 500 tables"
    return rows, figure_1_statements(rows), penalty_figure(rows, title, NOT_PRIVATE)


def _figure_2(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    rows = simulation_figure(SECOND, jobs=jobs, seed=seed, progress=progress)
    # Two panels of figure 1, to compare with.
    first = simulation_figure(FIRST, sizes=[1000], radii=[2.5, 3.5], jobs=jobs, seed=seed)
    title = "Figure 2: β = (1.5, 1, 0.5, 0, 0, 0), 63 models, 500 tables"
    return rows, figure_2_statements(first, rows), penalty_figure(rows, title, NOT_PRIVATE)


def _figure_3(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    table = prostate_table(data)
    rows = prostate_figure(table, progress)
    title = "Figure 3: prostate data, the chance of intercept + lcavol + lweight among 63 models"
    note = NOT_PRIVATE + "Exact chances in place of 5,000 replications."
    return rows, figure_3_statements(table, rows), penalty_figure(rows, title, note, "chance of BIC's model")


def _figure_4(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    table = housing_table(data, seed)
    rows = housing_figure(table, progress)
    source = "SYNTHETIC stand-in, not real houses" if table.synthetic else "house sales"
    title = f"Figure 4: {source}, agreement with the non-private choice among 8,191 models"
    note = "r is the largest |y|, not private. Exact chances; each dip is where the non-private choice changes."
    return rows, figure_4_statements(table, rows), penalty_figure(rows, title, note, "chance of agreement")


_RUNS: dict[str, Callable[[str | Path | None, int, int, ShareDone | None], Result]] = {
    "fig1": _figure_1,
    "fig2": _figure_2,
    "fig3": _figure_3,
    "fig4": _figure_4,
}


def write_rows(rows: Iterable[Row], path: Path) -> Path:
    """A tidy CSV, one point a row."""
    listed = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()} for row in listed
        )
    return path


def write_statements(statements: list[Statement], folder: Path, name: str) -> list[Path]:
    """The statements as CSV and JSON."""
    table, text = folder / f"{name}_statements.csv", folder / f"{name}_statements.json"
    write_rows([statement.to_dict() for statement in statements], table)
    plain = [statement.to_dict() for statement in statements]
    text.write_text(json.dumps(plain, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [table, text]
