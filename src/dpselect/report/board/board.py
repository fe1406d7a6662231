"""Public. One page for an ethics board: what was promised, what epsilon means here, who is protected, what was assumed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from dpselect.assume.study.assumptions import Assumptions
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.report.public.choice_facts import facts_of
from dpselect.report.public.document import Document
from dpselect.report.public.facts import Facts
from dpselect.report.public.guard import require_public
from dpselect.report.public.numbers import number
from dpselect.report.public.page import render

BELIEFS = (0.01, 0.1, 0.5)
"""What an attacker may believe beforehand."""
MANY = 12
"""Variables that are listed one by one; of more the page names how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardFacts:
    """Public. All that the board's page says beyond the report's own facts."""

    report: Facts
    released: tuple[str, ...]
    beliefs: tuple[tuple[str, str], ...]
    protected: tuple[str, ...]
    missing: str
    more: int


def board_page(document: Document) -> str:
    """The page as HTML, made to be printed on one sheet."""
    facts = board_facts(document)
    require_public(facts)
    return render("board.html.j2", facts=facts, report=facts.report)


def board_facts(document: Document) -> BoardFacts:
    """From a document to the page's sentences; nothing but what the document makes public."""
    assumptions, guarantee = document.stated, document.guarantee
    report = facts_of(document)
    return BoardFacts(
        report=report,
        released=_released(document),
        beliefs=tuple((_percent(belief), _percent(belief_after(belief, guarantee.epsilon))) for belief in BELIEFS),
        protected=_protected(assumptions),
        missing={
            "error": "Empty cells were not allowed.",
            "midpoint": "Empty cells counted as the middle of the stated bounds.",
            "zero-row": "A record with an empty cell counted for nothing.",
        }[assumptions.missing],
        more=max(len(assumptions.predictors) - MANY, 0),
    )


def belief_after(belief: float, epsilon: Decimal) -> float:
    """The most that somebody who believed something of a person with this probability can believe after the release.

    Why: the odds of two neighbouring tables, given the outcome, change by a factor of exp(epsilon) at most (Bayes).
    Tested: tests/report/board/test_board.py
    """
    odds = belief / (1 - belief) * math.exp(min(float(epsilon), 500.0))
    return odds / (1 + odds)


def _released(document: Document) -> tuple[str, ...]:
    count = f"{document.selection.recipe.candidates.count:,}"
    model = f"The name of one model, {document.selection.formula}, chosen among {count} by a chance that favours better ones."
    bounds: tuple[str, ...] = ()
    estimate: tuple[str, ...] = ()
    if document.tuned is not None:
        low, high = (number(end) for end in document.tuned.bounds.values)
        bounds = (
            f"Two numbers near the quartiles of the response, {low} and {high}, within which the model was chosen.",
        )
    if document.coefficients is not None:
        bought = "odds ratios" if isinstance(document.coefficients, OddsRatios) else "coefficients"
        estimate = (f"Its {bought} with their intervals, computed from sums to which noise was added.",)
    return (*bounds, model, *estimate)


def _protected(assumptions: Assumptions) -> tuple[str, ...]:
    if assumptions.person is None:
        who = "Every record. A person with several records is protected for each of them, not for all together."
    else:
        who = (
            f"Every person, named by “{assumptions.person}”, with all records together; of each person at most "
            f"{assumptions.max_rows_per_person:,} records counted."
        )
    counted = {
        "replace-one": "The number of records is public; what any of them says is protected.",
        "add-remove-one": "Whether a person is in the data at all is protected, and so is the number of records.",
    }[assumptions.neighbors]
    return who, counted


def _percent(share: float) -> str:
    text = f"{100 * share:.3g}"
    return f"{text}%" if share < 0.9995 else "nearly 100%"
