"""Public. One page for an ethics board: what was released and promised, what epsilon means, and who is protected."""

from __future__ import annotations

from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.release.analysis import AnalysisRecord
from dpselect.report import phrases
from dpselect.report.facts import Facts, facts_of
from dpselect.report.page import render, require_public

MAX_LISTED = 12
"""Variables that are listed one by one; of more the page names how many."""


class BoardFacts(Public, frozen=True, kw_only=True):
    """All that the board's page says beyond the report's own facts."""

    report: Facts
    released: tuple[str, ...]
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
    study = analysis.selection.study
    return BoardFacts(
        report=facts_of(analysis),
        released=_released(analysis),
        protected=_protected(study),
        missing={
            "error": "Missing values were not allowed.",
            "midpoint": "Missing values were replaced by the middle of the range.",
            "zero-row": "A row with a missing value counted for nothing.",
        }[study.missing],
        more=max(len(study.predictors) - MAX_LISTED, 0),
    )


def _released(analysis: AnalysisRecord) -> tuple[str, ...]:
    selection = analysis.selection
    count, formula = phrases.count_words(selection.recipe.candidates.count), selection.formula
    with_directions = ", with the direction of each variable" if selection.recipe.directions else ""
    said = [f"The name of one model, {formula}, selected among {count}{with_directions}."]
    if analysis.coefficients is not None:
        many = analysis.coefficients.kind.words.many
        said.append(
            f"Its {many} with their intervals, computed from sums with noise. The sums are in the file of the report."
        )
    if selection.study.neighbors == "replace-one" and selection.recipe.rows is not None:
        said.append(f"The number of rows, {selection.recipe.rows:,}.")
    return tuple(said)


def _protected(study: Study) -> tuple[str, ...]:
    if study.person is None:
        who = "Every row. A person with several rows is protected for each of them, not for all together."
    else:
        most = study.max_rows_per_person
        counted = "" if most is None else f" At most {most:,} rows of each person counted."
        who = f"Every person, named by “{study.person}”, with all rows together.{counted}"
    counted = {
        "replace-one": "The number of rows is public. What any of them says is protected.",
        "add-remove-one": "Whether a person is in the data at all is protected, and so is the number of rows.",
    }[study.neighbors]
    return who, counted
