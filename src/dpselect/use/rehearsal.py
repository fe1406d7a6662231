"""Custodian's eyes only. A run that is not made: `analyze` or `select` with the same arguments, its choice rehearsed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, get_args

from dpselect.assume.models.budget import Budget, Price
from dpselect.assume.models.candidates import mask_of
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import Recipe, make_recipe
from dpselect.assume.models.subsets import candidates_for, model_mask
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table
from dpselect.rehearse.check.listed import Listed
from dpselect.rehearse.check.preview import Preview, Rehearsed, Step, preview
from dpselect.rehearse.check.voted import Voted
from dpselect.use.analysis_plan import plan_analysis, rows_to_suppose
from dpselect.use.gathering import Telling, public_count

Run = Literal["analyze", "select"]
RUNS: tuple[Run, ...] = get_args(Run)


class Rehearsal:
    """Public. What would be run, refused here as the run itself would be; `models` such as "age+income" are asked for."""

    def __init__(
        self,
        assumptions: Assumptions,
        choice: Choice,
        budget: Budget,
        split: tuple[Price, Price] | None = None,
        run: str = "analyze",
        models: Sequence[str] = (),
    ) -> None:
        if split is not None and run == "select":
            raise AssumptionError(
                "A split divides the price of an analysis, and a selection has one part: leave it out."
            )
        self._assumptions, self._choice, self._budget = assumptions, choice, budget
        self._split, self._run = split, run
        self.recipe(budget.epsilon, rows_to_suppose(assumptions, choice))
        self._asked = [self._model(text) for text in models]

    def _model(self, text: str) -> int:
        names = [name.strip() for name in text.split("+")]
        mask = model_mask(self._assumptions, [name for name in names if name not in ("", "0", "1")])
        if "1" in names and not self._assumptions.columns[0].factors:
            mask |= mask_of([0])
        try:
            candidates_for(self._assumptions, self._choice.candidates).index(mask)
        except ValueError:
            raise AssumptionError(
                f"The model {text!r} does not compete: name whole variables, joined by +, within max_size."
            ) from None
        return mask

    def recipe(self, epsilon: Decimal, rows: int | None) -> Recipe:
        """The recipe of the choice that the run would make at a whole price, every default as it is at that price."""
        price = Budget(epsilon, self._budget.delta)
        if self._run == "analyze":
            price = plan_analysis(self._assumptions, budget=price, split=self._split, choice=self._choice).for_choice
        return make_recipe(self._assumptions, self._choice, rows=rows, epsilon=price.epsilon, delta=price.delta)

    def rehearse(
        self,
        source: Any,
        *,
        rows: int,
        moments: Moments | None = None,
        progress: Telling | None = None,
        dealings: int | None = None,
    ) -> Rehearsed:
        """Read the rows for the run, as it would; `rows` is how many there are. Private.

        `moments` are those of the source if they were gathered already. `dealings` is over how many dealings of the rows into
        blocks votes are averaged; without it, as many as there is time for.
        """
        bounded = not self._assumptions.unbounded
        if moments is None and bounded:
            moments = gather_table(source, self._assumptions, progress)
        public = public_count(source, self._assumptions) if self._choice.method == "votes" else None
        if self._choice.method != "votes":
            assert moments is not None
            public = self._assumptions.public_rows(moments.n)
            return Listed(moments, lambda price: self.recipe(price, public), self._budget.epsilon)
        epsilon = self._budget.epsilon
        return Voted(source, lambda price: self.recipe(price, public), epsilon, rows, moments, dealings)

    def preview(self, rehearsed: Rehearsed, step: Step = lambda name: None) -> Preview:
        """What the run would choose. Private."""
        return preview(rehearsed, self._budget.epsilon, asked=self._asked, step=step)
