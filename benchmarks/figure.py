"""The figure: time per subset against the number of columns, and how many times slower the others are."""

COLORS = {
    "dpselect (C)": "#c1121f",
    "dpselect (NumPy)": "#e76f51",
    "numpy.linalg.solve": "#457b9d",
    "quadprog": "#2a6f6f",
    "Clarabel": "#6d597a",
    "lars_path_gram": "#344e41",
    "mlxtend": "#7f7f7f",
}
NOTES = {"numpy.linalg.solve": "least squares only", "mlxtend": "least squares only"}


def draw(report, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[3, 2], layout="constrained")
    _lines(left, report)
    _bars(right, report)
    processor = report["machine"]["processor"]
    figure.suptitle(
        "The loss of every subset of the columns, each certified", x=0.01, ha="left", weight="bold", size=13
    )
    figure.supxlabel(
        f"{processor}, one thread, processor time, best of several rounds taken in turns; radius = the response's bound.",
        x=0.01, ha="left", size=8, color="#555555",
    )  # fmt: skip
    figure.savefig(path, dpi=160)
    plt.close(figure)


def _lines(axes, report):
    names = [name for name in COLORS if any(name in each for each in report["per_subset"].values())]
    ends = {}
    for name in names:
        points = [(int(d), each[name]) for d, each in report["per_subset"].items() if name in each]
        columns, seconds = zip(*points, strict=True)
        ours = name.startswith("dpselect")
        axes.plot(columns, seconds, "o-", color=COLORS[name], lw=2.4 if ours else 1.4, ms=5 if ours else 4, zorder=3)
        ends[name] = (columns[-1], seconds[-1])
    for name, y in _apart({name: seconds for name, (_, seconds) in ends.items()}).items():
        axes.annotate(
            name, (ends[name][0], ends[name][1]), xytext=(ends[name][0] + 0.5, y), va="center", size=9, color=COLORS[name],
            weight="bold" if name.startswith("dpselect") else "normal",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(5, 26.5)
    axes.set_xticks([int(d) for d in report["per_subset"]])
    axes.set_xlabel("columns")
    axes.set_yticks([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3], ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms"])
    axes.minorticks_off()
    axes.set_title("time per subset", loc="left", size=10)
    axes.grid(axis="y", color="#e5e5e5", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _apart(heights, factor=1.45):
    """Heights of the labels, moved up where two would touch."""
    placed, last = {}, 0.0
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        last = max(height, last * factor)
        placed[name] = last
    return placed


def _bars(axes, report):
    each = report["per_subset"]["13"]
    ours = each.get("dpselect (C)", each["dpselect (NumPy)"])
    ratios = sorted(((s / ours, name) for name, s in each.items() if name != "dpselect (C)"))
    for i, (ratio, name) in enumerate(ratios):
        axes.plot([1, ratio], [i, i], color=COLORS[name], lw=1.2, alpha=0.5)
        axes.plot(ratio, i, "o", color=COLORS[name], ms=8)
        note = f", {NOTES[name]}" if name in NOTES else ""
        axes.annotate(
            f"{ratio:,.0f} times{note}", (ratio, i), xytext=(9, 0), textcoords="offset points", va="center", size=9,
            color=COLORS[name],
        )  # fmt: skip
    axes.set_yticks(range(len(ratios)), [name for _, name in ratios])
    axes.set_xscale("log")
    axes.set_xlim(1, max(r for r, _ in ratios) * 25)
    axes.set_ylim(-0.6, len(ratios) - 0.4)
    axes.set_xticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.minorticks_off()
    axes.grid(axis="x", color="#e5e5e5", lw=0.8)
    axes.set_axisbelow(True)
    axes.set_title("13 columns: times slower than the C kernel", loc="left", size=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
