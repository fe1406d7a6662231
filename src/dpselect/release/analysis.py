"""Public. What is published of one study: a selection and, where it was asked for, the estimate of what was selected."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from typing import Any

from msgspec.structs import force_setattr

from dpselect.assume.budget import EXACT, Guarantee, plain
from dpselect.assume.candidates import variables_of
from dpselect.assume.records import Public
from dpselect.assume.variables import is_printable, shown
from dpselect.errors import StudyError
from dpselect.release.drawn import Drawn
from dpselect.release.estimate import Estimate
from dpselect.release.families import kind_of
from dpselect.release.ledger.entries import Charge
from dpselect.release.selection import Selection, selection_charge
from dpselect.release.tables import FrameKind, effects_of, framed, result_html, result_text, tidy_rows

LONGEST_TITLE = 10_000
"""Letters of a headline, as the published form of a report has it."""


def check_title(title: str) -> str:
    """The title itself; refused is a headline that no report could have, before anything is paid for it."""
    if not isinstance(title, str) or len(title) > LONGEST_TITLE or not is_printable(title):
        raise StudyError(
            f"The title is {shown(title)}; it must be one line of text that can be printed, of at most {LONGEST_TITLE:,} letters."
        )
    return title


def today() -> str:
    """The date as a report carries it: 2026-11-15."""
    return datetime.now(UTC).date().isoformat()


def charge_of(release: Selection | Drawn) -> Charge:
    """What the ledger must have been told of a release, computed anew from what it states."""
    if isinstance(release, Selection):
        return selection_charge(release.recipe)
    return kind_of(release).charge(release.study, release.guarantee)


class AnalysisRecord(Public, frozen=True, kw_only=True, tag_field="format", tag="dpselect analysis 1"):
    """A selection and the estimate of what was selected, if there is one; each carries its price and its receipt.

    This is what report.json holds and what every page is made of. `made` is the day of the release.
    `beside` are the other responses that were released together with this one, from one budget.
    """

    title: str
    made: str
    selection: Selection
    coefficients: Estimate | None
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "title", check_title(self.title))

    @classmethod
    def _described(cls) -> str:
        return "a dpselect report"

    @property
    def releases(self) -> tuple[Selection | Estimate, ...]:
        """All that was released, in the order of their charges."""
        return (self.selection,) if self.coefficients is None else (self.selection, self.coefficients)

    @property
    def guarantee(self) -> Guarantee:
        """The price of all releases together: the sums of their epsilons and deltas; a ledger may find less."""
        parts = [release.guarantee for release in self.releases]
        return Guarantee(
            epsilon=reduce(EXACT.add, (part.epsilon for part in parts)),
            delta=reduce(EXACT.add, (part.delta for part in parts)),
            neighbors=parts[0].neighbors,
        )

    def tidy(self, frame: FrameKind = "plain") -> Any:
        """One row a term of the estimate, as `Estimate.tidy` has them, with the directions of the selection."""
        estimate = self.coefficients
        if estimate is None:
            return framed([], frame)
        effects = effects_of(estimate.terms, estimate.study, estimate.directions or self.selection.directions)
        return framed(tidy_rows(effects, ratios=estimate.kind.ratios), frame)

    def glance(self, frame: FrameKind = "plain") -> Any:
        """One row for the model; epsilon and delta are those of the selection and the estimate together."""
        row = {"formula": self.selection.formula} if self.coefficients is None else self.coefficients.glance()[0]
        whole = self.guarantee
        return framed([row | {"epsilon": float(whole.epsilon), "delta": float(whole.delta)}], frame)

    def __repr__(self) -> str:
        study, columns = self.selection.study, self.selection.study.columns
        count = len(variables_of([columns[place] for place in self.selection.columns]))
        facts = [f"{count} of {len(study.predictors)} selected"]
        if self.coefficients is not None and self.coefficients.r_squared.value is not None:
            facts.append(f"R² {self.coefficients.r_squared.value:.2f}")
        facts.append(f"epsilon {plain(self.guarantee.epsilon)}")
        return f"<Analysis {study.response.name}: {', '.join(facts)}>"

    def __str__(self) -> str:
        return result_text(self)

    def _repr_html_(self) -> str:
        return result_html(self)
