"""The answer first: dpselect and the best private rival in each setting, as ratios from one run."""

from dataclasses import dataclass

import numpy as np

from benchmarks.field import estimates, selection
from benchmarks.field.estimates import Line
from benchmarks.field.selection import Result, Wide

EVEN = 0.02
"""A relative difference below which nobody is ahead."""


@dataclass(frozen=True)
class Duel:
    """One measure in one setting."""

    setting: str
    measure: str
    ours: float
    rival: float
    who: str
    more_is_better: bool

    @property
    def ahead(self) -> str:
        """Whose number is better."""
        if np.isnan(self.ours):
            return self.who
        if np.isfinite(self.ours) and abs(self.ours - self.rival) <= EVEN * max(abs(self.ours), abs(self.rival)):
            return "even"
        return "**dpselect**" if (self.ours > self.rival) == self.more_is_better else self.who


def of_selection(results: list[Result]) -> list[Duel]:
    rivals = (selection.KNOWN, selection.FIVE, selection.MOMENTS, selection.LEI)
    found = []
    for epsilon in selection.EPSILONS:
        for key, measure in (("kept", "R² kept"), ("f1", "F1"), ("contrast", "contrast")):
            means = {
                name: float(np.mean([getattr(result.by[epsilon, name], key) for result in results]))
                for name in (selection.OURS, *rivals)
            }
            best = max(rivals, key=means.__getitem__)
            setting = f"{len(results)} real tables, ε = {epsilon:g}"
            found.append(Duel(setting, measure, means[selection.OURS], means[best], best, True))
    return found


def of_wide(found: list[Wide]) -> list[Duel]:
    """By number of columns, means over the numbers of rows; no answer is never right."""
    duels = []
    for columns in dict.fromkeys(one.columns for one in found):
        each = [one for one in found if one.columns == columns]
        mine = float(np.mean([np.nan_to_num(one.right) for one in each]))
        rivals = dict(zip(("top-R", "mistakes"), np.mean([one.rivals for one in each], axis=0).tolist(), strict=True))
        best = max(rivals, key=rivals.__getitem__)
        rows = " to ".join(f"{n:,}" for n in sorted({min(one.rows for one in each), max(one.rows for one in each)}))
        duels.append(Duel(f"{columns:,} columns, {rows} rows, ε = 1", "right model", mine, rivals[best], best, True))
    return duels


def of_lines(lines: list[Line], name: str) -> list[Duel]:
    """By epsilon, medians over settings: distance from least squares or the truth, and length of intervals."""
    duels = []
    for epsilon in dict.fromkeys(line.epsilon for line in lines):
        here = [line for line in lines if line.epsilon == epsilon]
        for key, measure in (("error", "distance"), ("length", "length of intervals")):
            medians = {
                who: float(np.median([getattr(line, key) for line in here if line.method == who]))
                for who in dict.fromkeys(line.method for line in here)
            }
            ours = medians.pop(estimates.OURS)
            rivals = {who: value for who, value in medians.items() if not np.isnan(value)}
            best = min(rivals, key=rivals.__getitem__)
            duels.append(Duel(f"{name}, ε = {epsilon:.2g}", measure, ours, rivals[best], best, False))
    return duels
