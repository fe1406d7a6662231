"""Figures of the paper's experiments. Colours are Okabe and Ito's, told apart by colour-blind readers too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpselect.rehearse.paper.experiments import AS_PRINTED, EPSILONS, NO_PRIVACY, OURS, Row, curve

COLOURS = {0.1: "#CC79A7", 1.0: "#E69F00", 5.0: "#009E73", 10.0: "#0072B2"}
INK = "#333333"
STYLES = {AS_PRINTED: "-", OURS: (0, (4, 1.5))}
LABELS = {AS_PRINTED: "Algorithm 1 as printed", OURS: "permute-and-flip, range-based noise"}
SETTINGS = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpselect",
}


def penalty_figure(rows: list[Row], title: str, note: str, ylabel: str = "chance of the right model") -> Any:
    """Chance over penalty: a row of panels for each n, a column for each R; colours are epsilons, dashes are ours."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    sizes = sorted({int(row["n"]) for row in rows})
    radii = sorted({float(row["R"]) for row in rows})
    with rc_context(SETTINGS):
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


def save_figure(figure: Any, folder: Path, name: str) -> list[Path]:
    """The figure as PNG and SVG; the same bytes for the same numbers."""
    from matplotlib import rc_context

    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with rc_context(SETTINGS):
        figure.savefig(paths[0], dpi=160, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths
