"""A plan as two curves: the chance of the right model over epsilon and over n, with the plan's own point marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpselect.rehearse.planning.outlook import Outlook
from dpselect.rehearse.planning.plan import Plan

INK = "#333333"
LINE, POINT, GOAL = "#0072B2", "#D55E00", "#009E73"
MAX_TICKS = 5
FIGURE_SETTINGS = {
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


def plan_figure(plan: Plan) -> Any:
    """A matplotlib figure; `save_figure` writes it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # matplotlib is an extra and takes most of a second to import, so only who draws pays for it. Its `Figure` needs no backend and
    # leaves the user's own figures alone; settings hold inside only.
    facts = plan.facts
    with rc_context(FIGURE_SETTINGS):
        figure = Figure(figsize=(8.4, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _draw(left, plan.by_epsilon, (facts.epsilon, plan.recommended.chance), plan.epsilon_needed, plan.wanted)
        _draw(right, plan.by_rows, (facts.rows, plan.recommended.chance), plan.rows_needed, plan.wanted)
        left.set_xlabel(f"epsilon, at n = {facts.rows:,}")
        right.set_xlabel(f"rows n, at epsilon = {facts.epsilon:g}")
        left.set_ylabel("chance of the right model")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
        figure.suptitle(
            f"{_wrapped(plan.verdict)}\n{_wrapped('Supposed: ' + plan.supposed + '.')}", fontsize=9, color=INK
        )
    return figure


Curve = Sequence[tuple[float, float | None]]


def outlook_figure(outlook: Outlook, lengths: tuple[str, Curve, Curve] | None = None) -> Any:
    """The same for votes: the share of R^2 that is kept, as it is expected.

    `lengths` are the name of a slope, and how long its interval is over epsilon and over n; they get two panels below.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(FIGURE_SETTINGS):
        figure = Figure(figsize=(8.4, 3.9 if lengths is None else 6.6), layout="constrained")
        panels = figure.subplots(1 if lengths is None else 2, 2, sharey="row", squeeze=False)
        left, right = panels[0]
        kept, label = outlook.expected.kept, "expected"
        _draw(left, outlook.by_epsilon, (outlook.epsilon, kept), None, 0.8, label)
        _draw(right, outlook.by_rows, (outlook.rows, kept), outlook.rows_needed, 0.8, label)
        left.set_xlabel(f"epsilon, at n = {outlook.rows:,}")
        right.set_xlabel(f"rows n, at epsilon = {outlook.epsilon:g}")
        left.set_ylabel("expected share of R² kept")
        if lengths is not None:
            for panel, curve, here in zip(panels[1], lengths[1:], (outlook.epsilon, outlook.rows), strict=True):
                _draw_lengths(panel, curve, here)
            panels[1, 0].set_xlabel(f"epsilon, at n = {outlook.rows:,}")
            panels[1, 1].set_xlabel(f"rows n, at epsilon = {outlook.epsilon:g}")
            panels[1, 0].set_ylabel(f"length of the interval of {lengths[0]}")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
        figure.suptitle(_wrapped(outlook.verdict), fontsize=9, color=INK)
    return figure


def _draw(
    panel: Any,
    points: Sequence[tuple[float, float]],
    here: tuple[float, float],
    needed: float | None,
    wanted: float,
    label: str = "best of the recommended and a few typical settings",
) -> None:
    panel.axhline(wanted, color=GOAL, ls="--", lw=1, label=f"wanted: {wanted:g}")
    panel.plot(
        *zip(*points, strict=True),
        color=LINE,
        lw=1.8,
        marker="o",
        ms=3,
        label=label,
    )
    panel.plot(*here, color=POINT, marker="D", ms=8, ls="", label="this plan", zorder=5)
    if needed is not None:
        panel.axvline(needed, color=GOAL, ls=":", lw=1)
        shown = f"{needed:,}" if isinstance(needed, int) else f"{needed:.2g}"
        panel.annotate(f"needed: about {shown} ", (needed, 0.93), fontsize=8, color=GOAL, ha="right")
    _marked(panel, [x for x, _ in points])
    panel.set_ylim(-0.02, 1.04)
    panel.grid(color="#DDDDDD", lw=0.6)


def _draw_lengths(panel: Any, curve: Curve, here: float) -> None:
    """Lengths on a logarithmic scale; where nothing is seen there is no point, and a grey band says so."""
    # A length has no zero and spans decades, so its axis is logarithmic; without any length there is nothing to put on one.
    seen = [(x, length) for x, length in curve if length is not None]
    from matplotlib.ticker import LogLocator

    _marked(panel, [x for x, _ in curve])
    panel.set_xlim(curve[0][0] / 1.15, curve[-1][0] * 1.15)
    if seen:
        panel.plot(*zip(*seen, strict=True), color=LINE, lw=1.8, marker="o", ms=3)
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        for x, length in seen:
            if x == here:
                panel.plot(x, length, color=POINT, marker="D", ms=8, ls="", zorder=5)
    blind = [x for x, length in curve if length is None]
    if blind:
        panel.axvspan(curve[0][0] / 1.15, seen[0][0] if seen else curve[-1][0] * 1.15, color="#EEEEEE", zorder=0)
        panel.text(0.03, 0.93, "hidden by noise", fontsize=8, color=INK, va="top", transform=panel.transAxes)
    panel.yaxis.set_major_formatter(lambda value, place: f"{value:,.10g}")
    panel.yaxis.set_minor_formatter(lambda value, place: "")
    panel.grid(color="#DDDDDD", lw=0.6)


def _marked(panel: Any, places: Sequence[float]) -> None:
    """A logarithmic axis with a mark at each point, or at each second one of many, and no others."""
    from matplotlib.ticker import NullLocator

    panel.set_xscale("log")
    panel.set_xticks(places if len(places) <= MAX_TICKS else places[::2])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(lambda value, place: f"{value:,.6g}" if value < 1000 else f"{value:,.0f}")


def _wrapped(text: str, width: int = 125) -> str:
    from textwrap import fill

    return fill(text, width)


def save_figure(figure: Any, folder: Path, name: str) -> list[Path]:
    """The figure as PNG and SVG; the same bytes for the same numbers."""
    from matplotlib import rc_context

    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    # Dates, versions and random ids are left out: a figure under version control changes when its numbers do.
    with rc_context(FIGURE_SETTINGS):
        figure.savefig(paths[0], dpi=160, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths
