"""Public. One page for an ethics board: what was promised, what epsilon means here, who is protected, what was assumed."""

from __future__ import annotations

import math
from decimal import Decimal

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.facts import Facts
from dpselect.report.public.guard import require_public
from dpselect.report.public.page import render

BELIEFS = (0.01, 0.1, 0.5)
"""What an attacker may believe beforehand."""
MANY = 12
"""Variables that are listed one by one; of more the page names how many."""


class BoardFacts(Public, frozen=True, kw_only=True):
    """All that the board's page says beyond the report's own facts."""

    report: Facts
    released: tuple[str, ...]
    beliefs: tuple[tuple[str, str], ...]
    protected: tuple[str, ...]
    missing: str
    more: int


def board_page(analysis: AnalysisRecord) -> str:
    """The page as HTML, made to be printed on one sheet."""
    facts = board_facts(analysis)
    require_public(facts)
    return render("board.html.j2", facts=facts, report=facts.report)


def board_facts(analysis: AnalysisRecord) -> BoardFacts:
    """From an analysis to the page's sentences; nothing but what it makes public."""
    study, guarantee = analysis.selection.study, analysis.guarantee
    report = facts_of(analysis)
    return BoardFacts(
        report=report,
        released=_released(analysis),
        beliefs=tuple((_percent(belief), _percent(belief_after(belief, guarantee.epsilon))) for belief in BELIEFS),
        protected=_protected(study),
        missing={
            "error": "Empty cells were not allowed.",
            "midpoint": "Empty cells counted as the middle of the stated bounds.",
            "zero-row": "A record with an empty cell counted for nothing.",
        }[study.missing],
        more=max(len(study.predictors) - MANY, 0),
    )


def belief_after(belief: float, epsilon: Decimal) -> float:
    """The most that somebody who believed something of a person with this probability can believe after the release.

    Why: the odds of two neighbouring tables, given the outcome, change by a factor of exp(epsilon) at most (Bayes).
    Tested: tests/report/board/test_board.py
    """
    odds = belief / (1 - belief) * math.exp(min(float(epsilon), 500.0))
    return odds / (1 + odds)


def _released(analysis: AnalysisRecord) -> tuple[str, ...]:
    count = f"{analysis.selection.recipe.candidates.count:,}"
    model = f"The name of one model, {analysis.selection.formula}, chosen among {count} by a chance that favours better ones."
    if analysis.coefficients is None:
        return (model,)
    bought = analysis.coefficients.kind.words.many
    return model, f"Its {bought} with their intervals, computed from sums to which noise was added."


def _protected(study: Study) -> tuple[str, ...]:
    if study.person is None:
        who = "Every record. A person with several records is protected for each of them, not for all together."
    else:
        who = (
            f"Every person, named by “{study.person}”, with all records together; of each person at most "
            f"{study.max_rows_per_person:,} records counted."
        )
    counted = {
        "replace-one": "The number of records is public; what any of them says is protected.",
        "add-remove-one": "Whether a person is in the data at all is protected, and so is the number of records.",
    }[study.neighbors]
    return who, counted


def _percent(share: float) -> str:
    text = f"{100 * share:.3g}"
    return f"{text}%" if share < 0.9995 else "nearly 100%"
