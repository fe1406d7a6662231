"""Custodian's eyes only. Do the rows fit the study, and what would a run choose? Nothing is drawn and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple, get_args

from dpselect.assume.budget import Budget, Price
from dpselect.assume.candidates import candidates_for, mask_of, model_mask
from dpselect.assume.penalty import Penalty
from dpselect.assume.recipe import Choice, Mechanism, Method, Recipe, make_recipe, price_choice
from dpselect.assume.study import Study
from dpselect.errors import DataError, StudyError
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import Moments, MomentSummary
from dpselect.gather.rows import Telling, engine_of, gather
from dpselect.gather.summary import Both
from dpselect.rehearse.check.fit import FitSummary, TableFit, near_twins
from dpselect.rehearse.check.preview import Preview, Rehearsed, Step, preview
from dpselect.report.confidential import FITS, WATERMARK, advice, confidential_page, price_sentence
from dpselect.use.methods import METHODS, Look
from dpselect.use.order import Competing, divided, public_count, require_study

Run = Literal["analyze", "select"]
RUNS: tuple[Run, ...] = get_args(Run)
Looks = Callable[[int], AbstractContextManager[Step]]
"""Told how many looks there will be, it gives what is called at each."""


@dataclass(frozen=True, slots=True, repr=False)
class Checked:
    """Private. How the rows fit the study (`fit`), and what a run would choose (`preview`), where one was rehearsed.

    It was computed from the rows without noise: it must not be published, and nothing in the study may be changed because of it,
    unless for reasons that have nothing to do with these rows.
    """

    study: Study
    fit: TableFit
    preview: Preview | None

    @property
    def stops(self) -> bool:
        """Whether a run would stop at a cell that is missing or of an unstated category."""
        weights = self.fit.weights
        unusable = weights is not None and weights.unusable > 0
        return self.study.missing == "error" and (unusable or any(each.missing for each in self.fit.variables))

    @property
    def advice(self) -> list[str]:
        """What to look at, one sentence each."""
        return advice(self.fit, self.study.missing)

    def page(self) -> str:
        """The custodian's page, in HTML."""
        return confidential_page(self.study, self.fit, self.preview)

    def __str__(self) -> str:
        lines = [f"[{WATERMARK}]", *(self.advice or [FITS])]
        return "\n".join([*lines, *([] if self.preview is None else [price_sentence(self.preview)])])

    def __repr__(self) -> str:
        return "Checked(values=<private>)"


def check(
    source: Any,
    study: Study,
    *,
    epsilon: Price | None = None,
    delta: Price = 0,
    run: Run = "analyze",
    split: tuple[Price, Price] | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    models: Sequence[str] = (),
) -> Checked:
    """Whether rows fit a study; with `epsilon` also what `analyze` (or with run="select" `select`) would choose. Confidential.

    Example: `print(check("people.csv", study, epsilon=1))`. The rows are read twice. `models` such as "age+income" are asked for.
    """
    require_study(study)
    rehearsal = None
    if epsilon is not None:
        choice = Choice(method, mechanism, candidates, penalty)
        rehearsal = Rehearsal(study, choice, Budget(epsilon, delta), split, run, models)
    return look_at(source, study, rehearsal)


def look_at(
    source: Any,
    study: Study,
    rehearsal: Rehearsal | None,
    *,
    progress: Telling | None = None,
    looks: Looks = lambda count: nullcontext(lambda name: None),
) -> Checked:
    """The same, of a rehearsal that is made once at the door."""
    fit = gather(source, study, FitSummary(study), progress)
    if fit.rows == 0:
        raise DataError("The table has no rows: give one with at least one.")
    checked = Checked(study, fit, None)
    if checked.stops:
        return checked
    rows = fit.rows
    held = hold(source, study, keep=False) if rehearsal is None else rehearsal.hold(source, rows=rows)
    fit = replace(fit, twins=() if held.moments is None else near_twins(held.moments, study))
    if rehearsal is None:
        return Checked(study, fit, None)
    rehearsed = rehearsal.rehearse(source, rows=rows, held=held)
    with looks(1 + len(rehearsed.factors)) as step:
        return Checked(study, fit, rehearsal.preview(rehearsed, step))


class Held(NamedTuple):
    """Private. What a check has read: moments, where every variable has bounds, and the rows, where they are kept."""

    moments: Moments | None
    kept: KeptRows | None

    def __repr__(self) -> str:
        return "Held(values=<private>)"


def hold(source: Any, study: Study, *, keep: bool, progress: Telling | None = None) -> Held:
    """Read the rows once. Private."""
    if study.unbounded or study.is_sample:
        return Held(None, gather(source, study, KeptRows(study), progress) if keep else None)
    if not keep:
        return Held(gather(source, study, progress=progress), None)
    return Held(*gather(source, study, Both(MomentSummary(study), KeptRows(study)), progress))


class Rehearsal:
    """Public. What would be run, refused here as the run itself would be; `models` such as "age+income" are asked for."""

    def __init__(
        self,
        study: Study,
        choice: Choice,
        budget: Budget,
        split: tuple[Price, Price] | None = None,
        run: str = "analyze",
        models: Sequence[str] = (),
    ) -> None:
        if run not in RUNS:
            raise StudyError(f"run is {run!r}; it must be 'analyze' or 'select'.")
        if split is not None and run == "select":
            raise StudyError("A split divides the price of an analysis, and a selection has one part: leave it out.")
        self._study, self._choice, self._budget = study, choice, budget
        self._split, self._run, self._method = split, run, METHODS[choice.method]
        price = self._price(budget.epsilon)
        price_choice(study, choice, epsilon=price.epsilon, delta=price.delta)
        self._asked = [self._model(text) for text in models]

    def _model(self, text: str) -> int:
        names = [name.strip() for name in text.split("+")]
        mask = model_mask(self._study, [name for name in names if name not in ("", "0", "1")])
        if "1" in names and not self._study.columns[0].factors:
            mask |= mask_of([0])
        try:
            candidates_for(self._study, self._choice.candidates).index(mask)
        except ValueError:
            raise StudyError(
                f"The model {text!r} does not compete: name whole variables, joined by +, within max_size."
            ) from None
        return mask

    def recipe(self, epsilon: Decimal, rows: int | None) -> Recipe:
        """The recipe of the choice that the run would make at a whole price, every default as it is at that price."""
        price = self._price(epsilon)
        return make_recipe(self._study, self._choice, rows=rows, epsilon=price.epsilon, delta=price.delta)

    def _price(self, epsilon: Decimal) -> Budget:
        whole = Budget(epsilon, self._budget.delta)
        return divided(self._study, self._choice, whole, self._split)[0] if self._run == "analyze" else whole

    def hold(self, source: Any, *, rows: int, progress: Telling | None = None) -> Held:
        """Read the rows once for all that the run's rehearsal adds up; `rows` is how many there are. Private."""
        again, here = self._method.rule.counts_rows, engine_of(source)[0] == "here"
        return hold(source, self._study, keep=again and here and KeptRows.fit(self._study, rows), progress=progress)

    def rehearse(self, source: Any, *, rows: int, held: Held | None = None, dealings: int | None = None) -> Rehearsed:
        """What the run would choose at any price; `held` is what `hold` made of the same source. Private.

        `dealings` is over how many dealings of the rows into blocks votes are averaged; without it, as many as there is time for.
        """
        moments, kept = self.hold(source, rows=rows) if held is None else held
        study = self._study
        counted = self._method.rule.counts_rows or moments is None
        public = public_count(study, lambda: rows) if counted else study.public_rows(moments.n)  # type: ignore[union-attr]

        def again(summary: Any) -> Any:
            return kept.replay(summary) if kept is not None and kept.whole else gather(source, study, summary)

        return self._method.rehearse(
            Look(again, lambda price: self.recipe(price, public), self._budget.epsilon, rows, moments, dealings)
        )

    def preview(self, rehearsed: Rehearsed, step: Step = lambda name: None) -> Preview:
        """What the run would choose. Private."""
        return preview(rehearsed, self._budget.epsilon, asked=self._asked, step=step)
