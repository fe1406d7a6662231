"""Run an experiment of the paper and write it down: a figure, its points, and the paper's statements with ours beside them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpselect.errors import AssumptionError
from dpselect.rehearse.paper.experiments import FIGURES, Row, simulation_figure
from dpselect.rehearse.paper.housing import housing_figure, housing_table
from dpselect.rehearse.paper.prostate import prostate_figure, prostate_table
from dpselect.rehearse.paper.statements import (
    Statement,
    figure_1_statements,
    figure_2_statements,
    figure_3_statements,
    figure_4_statements,
)
from dpselect.rehearse.simulate.tables import SEED
from dpselect.report.paper.figures import penalty_figure, save_figure

NAMES = ("fig1", "fig2", "fig3", "fig4")
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
        raise AssumptionError(f"There is no figure {name!r} in the paper; choose one of {', '.join(NAMES)}.")
    rows, statements, figure = _RUNS[name](data, jobs, seed, progress)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    paths = save_figure(figure, folder, name)
    paths.append(write_rows(rows, folder / f"{name}.csv"))
    paths += write_statements(statements, folder, name)
    return PaperRun(name, tuple(statements), tuple(paths))


Result = tuple[list[Row], list[Statement], Any]


def _figure_1(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    rows = simulation_figure(FIGURES["fig1"], jobs=jobs, seed=seed, progress=progress)
    title = "Figure 1: β = (1, 1, 1, 0, 0, 0), 63 models, 500 tables"
    return rows, figure_1_statements(rows), penalty_figure(rows, title, NOT_PRIVATE)


def _figure_2(data: str | Path | None, jobs: int, seed: int, progress: ShareDone | None) -> Result:
    rows = simulation_figure(FIGURES["fig2"], jobs=jobs, seed=seed, progress=progress)
    # Two panels of figure 1, to compare with.
    first = simulation_figure(FIGURES["fig1"], sizes=[1000], radii=[2.5, 3.5], jobs=jobs, seed=seed)
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
