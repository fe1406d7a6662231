"""Before anything is spent: a plan from public facts, and the confidential page of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dpselect.assume.budget import Budget, exact_delta, exact_epsilon
from dpselect.assume.recipe import Choice
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.rehearse.planning.outlook import Outlook, percent
from dpselect.report.curves import curve_chart
from dpselect.use.check import Rehearsal, look_at
from dpselect.use.plan import plan
from dpselect.use.shell.terminal import together
from dpselect.use.studio.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """Public. What a plan says; no row was read for it."""

    rows: int
    epsilon: str
    r_squared: str
    mark: str
    verdict: str
    facts: tuple[tuple[str, str], ...]
    charts: tuple[tuple[str, str, str], ...]
    table: tuple[tuple[str, ...], ...]


def plan_facts(study: Study, rows: int, epsilon: str, r_squared: str, mark: str) -> PlanFacts:
    """What to expect, from public facts alone; `mark` is that of the study."""
    share = float(r_squared)
    if not 0 < share < 1:
        raise StudyError(f"The expected R² is {r_squared}; it must be between 0 and 1, such as 0.3.")
    price, planned = float(exact_epsilon(epsilon)), plan(study, rows=rows, epsilon=epsilon, delta="1e-6", r2=share)
    found = planned.found
    assert isinstance(found, Outlook)
    charts = []
    for name, points, now in (("epsilon", found.by_epsilon, price), ("rows", found.by_rows, float(rows))):
        settings, kept = [float(x) for x, _ in points], [[each] for _, each in points]
        draw = partial(curve_chart, name, settings, kept, now, what="Share of the R² that is kept")
        wide, narrow = (draw(narrow=small) for small in (False, True))
        charts.append((name, wide, narrow))
    effects = tuple((f"Smallest effect found: {name}", words) for name, words in together(found.units))
    lengths = () if planned.intervals is None else planned.intervals.words(study)
    intervals = tuple((f"Length of its 95% interval: {name}", words) for name, words in together(lengths))
    directions = (("Directions", planned.directions),) if planned.directions else ()
    return PlanFacts(
        rows=rows,
        epsilon=epsilon,
        r_squared=r_squared,
        mark=mark,
        verdict=found.verdict,
        facts=(("Scenarios", _scenarios(found.usual)), *effects, *intervals, *directions),
        charts=tuple(charts),
        table=tuple(
            (f"{e:.3g}", percent(one), f"{n:,}", percent(other))
            for (e, one), (n, other) in zip(found.by_epsilon, found.by_rows, strict=False)
        ),
    )


def _scenarios(lines: Sequence[str]) -> str:
    """The scenarios of a plan in one cell; what all of them begin with is said once."""
    heads = {line.partition(", ")[0] for line in lines}
    if len(heads) != 1:
        return "; ".join(lines)
    return f"{heads.pop()}: {'; '.join(line.partition(', ')[2] for line in lines)}"


def check_page(study: Study, source: Source, epsilon: str, delta: str) -> str:
    """The confidential page of a check: what the rows are like, and what a release at this cost would select."""
    rows, rehearsal = source.rows(), None
    if epsilon:
        rehearsal = Rehearsal(study, Choice(), Budget(exact_epsilon(epsilon), exact_delta(delta)))
    rows.require_rows()
    return look_at(rows.source, study, rehearsal).page()
