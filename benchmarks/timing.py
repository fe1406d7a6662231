"""Best of several rounds, the contestants taking turns, so that a busy minute of the machine hits all of them."""

import time


def best_of(rounds, contestants, clock=time.thread_time):
    """{name: seconds of the best round} for {name: function of no argument}."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def once(run, clock=time.perf_counter):
    start = clock()
    result = run()
    return clock() - start, result


def in_words(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(title, heads, rows):
    cells = [heads, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    print(f"\n{title}")
    for row in cells:
        first, *others = [
            f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(["", first, *others]))
