"""What section 5 of the paper says, with what comes out here beside it: reproduced, or not and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from paper.real_tables import PROSTATE_RADIUS, PaperTable
from paper.simulations import AS_PRINTED, EPSILONS, NO_PRIVACY, OURS, RADII, ROWS, UNSQUARED, Row, curve

Verdict = Literal["reproduced", "in part", "not reproduced"]


@dataclass(frozen=True, slots=True)
class Statement:
    """Public. One sentence of the paper, our number, and the verdict."""

    figure: str
    said: str
    found: str
    verdict: Verdict
    why: str = ""

    @property
    def here(self) -> str:
        """What was found and, if there is more to say, why."""
        return f"{self.found}; {self.why}" if self.why else self.found

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def best(rows: list[Row], noise: str = AS_PRINTED, **place: float) -> float:
    """The chance with the best penalty."""
    return float(curve(rows, noise, **place)[1].max())


def best_penalty(rows: list[Row], noise: str = AS_PRINTED, **place: float) -> float:
    """The best penalty, which no one can know."""
    penalties, chances = curve(rows, noise, **place)
    return float(penalties[np.argmax(chances)])


def share_above(rows: list[Row], level: float, noise: str = AS_PRINTED, **place: float) -> float:
    """The share of the penalties with a chance above the level."""
    return float((curve(rows, noise, **place)[1] > level).mean())


def _verdict(whole: bool, part: bool = False) -> Verdict:
    return "reproduced" if whole else "in part" if part else "not reproduced"


def _falls(values: list[float], slack: float = 1e-3) -> bool:
    return all(later <= earlier + slack for earlier, later in pairwise(values))


SQUARED = "the noise has to be of scale 2(r+R)^2/epsilon; with 2(r+R)/epsilon, which is not private, it would be {:.2f}"


def figure_1_statements(rows: list[Row]) -> list[Statement]:
    """Section 5.1 on the first beta."""
    return [*_on_the_radius(rows), *_on_price_and_penalty(rows)]


def _on_the_radius(rows: list[Row]) -> list[Statement]:
    at_5 = {radius: best(rows, n=1000, R=radius, epsilon=5.0) for radius in RADII}
    return [
        Statement(
            "fig1",
            "Except with the smallest R the procedure is very successful over a wide range of phi.",
            f"n = 1000, epsilon = 5, best phi: {at_5[2.5]:.2f} (R = 2.5), {at_5[3.5]:.2f} (3.5), {at_5[10.0]:.2f} (10)",
            _verdict(min(at_5[2.5], at_5[3.5], at_5[10.0]) > 0.9, at_5[2.5] > 0.9),
            "true for n = 1000 and epsilon from 5 on with R = 2.5 and 3.5; at R = 10 the noise is too large",
        ),
        Statement(
            "fig1",
            "The results for R = 1 are poor.",
            f"n = 1000, epsilon = 5, best phi: {at_5[1.0]:.2f} (R = 1) against {at_5[2.5]:.2f} (R = 2.5)",
            _verdict(at_5[1.0] < at_5[2.5] - 0.2),
        ),
        Statement(
            "fig1",
            "When R is too large there is a small drop in utility.",
            f"n = 1000, epsilon = 5, best phi: from {at_5[3.5]:.2f} (R = 3.5) to {at_5[10.0]:.2f} (R = 10)",
            _verdict(0 < at_5[3.5] - at_5[10.0] < 0.2, at_5[10.0] < at_5[3.5]),
            "a drop, but not a small one: the noise grows with the square of R",
        ),
    ]


def _on_price_and_penalty(rows: list[Row]) -> list[Statement]:
    at_1 = best(rows, n=1000, R=2.5, epsilon=1.0)
    unsquared = best(rows, UNSQUARED, n=1000, R=2.5, epsilon=1.0)
    by_epsilon = [[best(rows, n=n, R=radius, epsilon=e) for e in EPSILONS[::-1]] for n in ROWS for radius in RADII]
    wide = {n: share_above(rows, 0.9, n=n, R=2.5, epsilon=5.0) for n in ROWS}
    ratio = best_penalty(rows, n=1000, R=2.5, epsilon=10.0) / best_penalty(rows, n=100, R=2.5, epsilon=10.0)
    return [
        Statement(
            "fig1",
            "Decreasing epsilon leads to decreased utility.",
            "for every n and R, with the best phi",
            _verdict(all(_falls(values) for values in by_epsilon)),
        ),
        Statement(
            "fig1",
            "For n = 1000 the method is very accurate for a wide range of phi even for epsilon as small as 1.",
            f"best phi and best R = 2.5: {at_1:.2f}",
            _verdict(at_1 > 0.9, at_1 > 0.7),
            SQUARED.format(unsquared),
        ),
        Statement(
            "fig1",
            "The choice of phi is less crucial for larger samples: it works on an entire interval.",
            f"share of [0, n/2] with a chance above .9 (R = 2.5, epsilon = 5): {wide[100]:.2f} (n = 100), "
            f"{wide[1000]:.2f} (n = 1000)",
            _verdict(wide[1000] > wide[100] and wide[1000] > 0.1),
        ),
        Statement(
            "fig1",
            "The optimal phi increases roughly linearly with n.",
            f"ten times the rows, {ratio:.1f} times the phi (R = 2.5, epsilon = 10)",
            _verdict(5 < ratio < 20),
        ),
    ]


def figure_2_statements(first: list[Row], second: list[Row]) -> list[Statement]:
    """Section 5.1 on the second beta, against the first."""
    at_5 = max(best(second, n=1000, R=radius, epsilon=5.0) for radius in RADII)
    at_1 = best(second, n=1000, R=2.5, epsilon=1.0)
    unsquared = {e: best(second, UNSQUARED, n=1000, R=2.5, epsilon=e) for e in (1.0, 5.0)}
    width = [share_above(rows, 0.6, n=1000, R=3.5, epsilon=10.0) for rows in (first, second)]
    return [
        Statement(
            "fig2",
            "The first model should be easier to recover.",
            f"n = 1000, R = 2.5, epsilon = 5, best phi: {best(first, n=1000, R=2.5, epsilon=5.0):.2f} against "
            f"{best(second, n=1000, R=2.5, epsilon=5.0):.2f}",
            _verdict(best(first, n=1000, R=2.5, epsilon=5.0) > best(second, n=1000, R=2.5, epsilon=5.0) + 0.1),
        ),
        Statement(
            "fig2",
            "The choice of R and phi is more important.",
            f"share of [0, n/2] with a chance above .6 (n = 1000, R = 3.5, epsilon = 10): {width[0]:.2f} for the first beta, "
            f"{width[1]:.2f} for the second",
            _verdict(width[1] < width[0] / 2),
        ),
        Statement(
            "fig2",
            "For n = 1000 a proper choice leads to completely accurate selection with epsilon = 5.",
            f"best phi and best R: {at_5:.2f}",
            _verdict(at_5 > 0.95, at_5 > 0.8),
            SQUARED.format(unsquared[5.0]),
        ),
        Statement(
            "fig2",
            "... and even very accurate selection for epsilon = 1 with R = 2.5.",
            f"best phi: {at_1:.2f}",
            _verdict(at_1 > 0.9, at_1 > 0.7),
            SQUARED.format(unsquared[1.0]),
        ),
    ]


def figure_3_statements(table: PaperTable, rows: list[Row]) -> list[Statement]:
    """Section 5.2 on the prostate data."""
    chosen = table.names(table.best())
    penalties, right = curve(rows, NO_PRIVACY, R=PROSTATE_RADIUS, epsilon=1.0)
    by_epsilon = [best(rows, R=PROSTATE_RADIUS, epsilon=e) for e in EPSILONS[::-1]]
    return [
        Statement(
            "fig3",
            "Without privacy the penalized likelihood selects the intercept, the volume and the weight.",
            f"BIC: {' + '.join(chosen)}",
            _verdict(chosen == ("intercept", "lcavol", "lweight")),
        ),
        Statement(
            "fig3",
            "R = 5.68, obtained with the non-private algorithm.",
            f"the l1 norm of the full model's least squares: {table.norm():.4f}",
            _verdict(abs(table.norm() - PROSTATE_RADIUS) < 0.005),
        ),
        Statement(
            "fig3",
            "Even without privacy, too large a phi does not identify the correct model.",
            f"it does for phi from {penalties[right > 0].min(initial=np.inf):.1f} to {penalties[right > 0].max(initial=0):.1f}",
            _verdict(bool(right.any()) and not right[-1]),
        ),
        Statement(
            "fig3",
            "The utility decreases rapidly with epsilon, and is quite small for usual choices of epsilon.",
            "best phi, R = 5.68: "
            + ", ".join(f"{p:.2f} (epsilon = {e:g})" for p, e in zip(by_epsilon, EPSILONS[::-1], strict=True)),
            _verdict(_falls(by_epsilon) and by_epsilon[-2] < 0.2),
            "with the noise as proved it is small at every epsilon here: 97 rows against noise of scale 2(r+R)^2/epsilon",
        ),
    ]


def figure_4_statements(table: PaperTable, rows: list[Row]) -> list[Statement]:
    """Section 5.2 on the housing data."""
    found = {
        radius: share_above(rows, 0.95, R=radius, epsilon=1.0) for radius in sorted({float(row["R"]) for row in rows})
    }
    ours = {radius: share_above(rows, 0.95, OURS, R=radius, epsilon=1.0) for radius in found}
    whose = "synthetic stand-in, not the real rows" if table.synthetic else f"{table.rows:,} rows"
    listed = ", ".join(f"{found[radius]:.2f} ({ours[radius]:.2f}) at R = {radius:g}" for radius in found)
    return [
        Statement(
            "fig4",
            "Even for epsilon = 1 the private choice is the non-private one, for phi large enough.",
            f"{whose}: share of phi in [0, n/36] with a chance above .95, as printed (ours): {listed}",
            _verdict(max(found.values()) > 0.2),
            "for every R but the largest" if min(found.values()) < 0.2 < max(found.values()) else "",
        ),
    ]
