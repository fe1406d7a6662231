"""Confidential. Do the rows fit the study, and what would a run select? Nothing is drawn and nothing is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple, get_args

from dpselect.assume.budget import DEFAULT_DELTA, EXACT, Budget, Price
from dpselect.assume.candidates import candidates_for, columns_of, mask_of, model_mask
from dpselect.assume.penalty import Penalty
from dpselect.assume.queries import FamilyName, RoundsPlan
from dpselect.assume.recipe import Choice, Mechanism, Method, Recipe, make_recipe, price_choice
from dpselect.assume.study import Missing, Study
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Category
from dpselect.errors import DataError, StudyError
from dpselect.gather.fit import FitAnd, FitSummary, TableFit, near_twins
from dpselect.gather.kept import KeptRows
from dpselect.gather.moments import Moments, MomentSummary
from dpselect.gather.rows import Telling, engine_of, gather
from dpselect.gather.summary import Both
from dpselect.rehearse.check.effects import REHEARSED_RELEASES, Again, EffectPreview, Setting, rehearse_effects
from dpselect.rehearse.check.preview import Preview, Rehearsed, Step, names_of, preview
from dpselect.release.families import family_for
from dpselect.release.rounds.drawing import plan_rounds
from dpselect.release.rounds.path import path
from dpselect.report.confidential import (
    FITS,
    WATERMARK,
    advice,
    confidential_page,
    hints,
    price_sentence,
    too_short_sentence,
)
from dpselect.report.phrases import first_of
from dpselect.use.methods import METHODS, Look
from dpselect.use.order import Competing, divided, public_count, require_study
from dpselect.use.proposal import study_for

Run = Literal["analyze", "select"]
RUNS: tuple[Run, ...] = get_args(Run)
REHEARSED_CELLS, MIN_RELEASES = 5e6, 4
"""Cells that are added up again for rehearsed releases, about, so that a check takes seconds; and releases at least."""
Looks = Callable[[int], AbstractContextManager[Step]]
"""Told how many looks there will be, it gives what is called at each."""


@dataclass(frozen=True, slots=True, repr=False)
class Checked:
    """Private. How the rows fit the study (`fit`), and what a run would select (`preview`), where one was rehearsed.

    `effects` are what its coefficients would look like if the likeliest model were selected; none where no run would give any.
    `settings` are what the run would give at other costs and with another split, itself among them.

    It was computed from the rows without noise: it must not be published, and nothing in the study may be changed because of it,
    unless for reasons that have nothing to do with these rows.
    """

    study: Study
    fit: TableFit
    preview: Preview | None
    effects: tuple[EffectPreview, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def stops(self) -> bool:
        """Whether a run would stop at a cell that is missing or of an unstated category."""
        weights = self.fit.weights
        unusable = weights is not None and weights.unusable > 0
        return self.study.missing == "error" and (unusable or any(each.missing for each in self.fit.variables))

    @property
    def too_short(self) -> str:
        """One sentence where the rows are far too few for anything to be found; else empty."""
        return "" if self.preview is None else too_short_sentence(self.preview)

    @property
    def advice(self) -> list[str]:
        """What to look at, one sentence each."""
        return advice(self.fit, self.study.missing)

    @property
    def hints(self) -> list[str]:
        """What to merge or leave out for clearer effects, one sentence each."""
        return hints(self.study, self.fit, self.effects)

    def page(self) -> str:
        """The confidential page, in HTML."""
        return confidential_page(self.study, self.fit, self.preview, self.effects, self.settings)

    def __str__(self) -> str:
        first, more = first_of(self.advice or [FITS])
        lines = [f"[{WATERMARK}]", *filter(None, [self.too_short]), *first, *([f"{more} in `advice`"] if more else [])]
        return "\n".join([*lines, *([] if self.preview is None else [price_sentence(self.preview)])])

    def __repr__(self) -> str:
        return "Checked(values=<private>)"


def check(
    source: Any,
    study: Study | str | None = None,
    *,
    epsilon: Price | None = None,
    delta: Price | None = None,
    response: str | None = None,
    predictors: Iterable[str] | None = None,
    categories: Mapping[str, Sequence[Category]] | None = None,
    missing: Missing | None = None,
    run: Run = "analyze",
    split: tuple[Price, Price] | None = None,
    method: Method = "votes",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Competing = None,
    penalty: Penalty | None = None,
    models: Sequence[str] = (),
) -> Checked:
    """Check whether rows fit a study, and preview what a run would select. Confidential: do not publish the answer.

    Parameters
    ----------
    source : table, path or address
        Anything that `gather` reads; read once, unless its rows do not fit in memory.
    study : Study or str, optional
        What is stated before the rows are read; or a formula, "income ~ ." or "income ~ age + school".
    epsilon : number or str, optional
        The privacy cost of the run to preview; without it only the fit is checked.
    delta : number or str, optional
        The delta of that run; left out, that of `analyze` or `select` by default.
    response, predictors, categories, missing : optional
        In place of a study, as in `select`.
    run : {"analyze", "select"}, optional
        Which run to preview.
    split, method, mechanism, candidates, penalty : optional
        As in `analyze`.
    models : list of str, optional
        Models such as "age+income" whose chance is wanted.

    Returns
    -------
    Checked
        How the rows fit (`fit`), what would be selected (`preview`), and `page()`, the confidential page.

    Examples
    --------
    >>> print(dpselect.check("people.csv", study, epsilon=1))  # doctest: +SKIP
    """
    study = study_for(source, study, response=response, predictors=predictors, categories=categories, missing=missing)
    require_study(study)
    rehearsal = None
    if epsilon is not None:
        choice = Choice(method, mechanism, candidates, penalty)
        rehearsal = Rehearsal(study, choice, budget_of(epsilon, delta, run), split, run, models)
    return look_at(source, study, rehearsal)


def budget_of(epsilon: Price, delta: Price | None, run: str) -> Budget:
    """The privacy cost of a run, its default delta as the run itself has it."""
    usual = DEFAULT_DELTA if run == "analyze" else 0
    return Budget(epsilon, usual if delta is None else delta)


def look_at(
    source: Any,
    study: Study,
    rehearsal: Rehearsal | None,
    *,
    progress: Telling | None = None,
    looks: Looks = lambda count: nullcontext(lambda name: None),
) -> Checked:
    """Check rows, and preview the run of `rehearsal`, which was refused already if anything is wrong with it."""
    held = hold(source, study, keep=False, progress=progress) if rehearsal is None else rehearsal.hold(source, progress)
    fit = held.fit
    if fit.rows == 0:
        raise DataError("The table has no rows: give one with at least one.")
    fit = replace(fit, twins=() if held.moments is None else near_twins(held.moments, study))
    checked = Checked(study, fit, None)
    if checked.stops or rehearsal is None:
        return checked
    rehearsed = rehearsal.rehearse(source, rows=fit.rows, held=held)
    releases, others = rehearsal.releases(fit.rows), rehearsal.others(rehearsed)
    with looks(1 + len(rehearsed.factors) + releases + len(others)) as step:
        seen = rehearsal.preview(rehearsed, step)
        model = seen.models[0] if seen.models else ()
        effects = rehearsal.effects(source, model, held=held, releases=releases, step=lambda: step("effects"))
        settings = [rehearsal.summed(seen.share, effects)] if effects and others else []
        for other in others if effects else ():
            step("settings")
            settings.append(other.setting(source, seen, held, max(MIN_RELEASES, releases // 4)))
        settings.sort(key=lambda each: (each.epsilon, each.selection))
        return Checked(study, fit, seen, effects, tuple(settings))


class Held(NamedTuple):
    """Private. What a check has read: how rows fit; moments, where every variable has bounds; and rows, where they are kept.

    Where a run would stop at a row there is nothing but the fit.
    """

    fit: TableFit
    moments: Moments | None
    kept: KeptRows | None

    def __repr__(self) -> str:
        return "Held(values=<private>)"


def hold(source: Any, study: Study, *, keep: bool, progress: Telling | None = None) -> Held:
    """Read the rows once. Private."""
    fit = FitSummary(study)
    if study.unbounded or study.is_sample:
        if not keep:
            return Held(gather(source, study, fit, progress), None, None)
        found, kept = gather(source, study, FitAnd(fit, KeptRows(study)), progress)
        return Held(found, None, kept)
    if not keep:
        found, moments = gather(source, study, FitAnd(fit, MomentSummary(study)), progress)
        return Held(found, moments, None)
    found, both = gather(source, study, FitAnd(fit, Both(MomentSummary(study), KeptRows(study))), progress)
    return Held(found, *(both or (None, None)))


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
            raise StudyError("A split divides the cost of an analysis, and a selection has one part: leave it out.")
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
                f"The model {text!r} is not considered: name whole variables, joined by +, within max_size."
            ) from None
        return mask

    def recipe(self, epsilon: Decimal, rows: int | None) -> Recipe:
        """The recipe of the choice that the run would make at a whole price, every default as it is at that price."""
        price = self._price(epsilon)
        return make_recipe(self._study, self._choice, rows=rows, epsilon=price.epsilon, delta=price.delta)

    def _price(self, epsilon: Decimal) -> Budget:
        return self._parts(epsilon)[0] if self._run == "analyze" else Budget(epsilon, self._budget.delta)

    def hold(self, source: Any, progress: Telling | None = None) -> Held:
        """Read the rows once for all that the run's rehearsal adds up. Private."""
        again, here = self._method.rule.counts_rows, engine_of(source)[0] == "here"
        return hold(source, self._study, keep=again and here, progress=progress)

    def rehearse(self, source: Any, *, rows: int, held: Held | None = None, dealings: int | None = None) -> Rehearsed:
        """What the run would choose at any price; `held` is what `hold` made of the same source. Private.

        `dealings` is over how many dealings of the rows into blocks votes are averaged; without it, as many as there is time for.
        """
        _, moments, kept = self.hold(source) if held is None else held
        study = self._study
        counted = self._method.rule.counts_rows or moments is None
        public = public_count(study, lambda: rows) if counted else study.public_rows(moments.n)  # type: ignore[union-attr]

        return self._method.rehearse(
            Look(
                _again(source, study, kept),
                lambda price: self.recipe(price, public),
                self._budget.epsilon,
                rows,
                moments,
                dealings,
            )
        )

    def preview(self, rehearsed: Rehearsed, step: Step = lambda name: None) -> Preview:
        """What the run would choose. Private."""
        return preview(rehearsed, self._budget.epsilon, asked=self._asked, step=step)

    def releases(self, rows: int) -> int:
        """How many releases of coefficients are rehearsed: fewer of a long table, none where the run gives no coefficients."""
        if self._run != "analyze" or self._family() is None:
            return 0
        cells = rows * len(self._study.columns)
        return max(MIN_RELEASES, min(REHEARSED_RELEASES, round(REHEARSED_CELLS / cells)))

    def effects(
        self,
        source: Any,
        names: tuple[str, ...],
        *,
        held: Held,
        releases: int,
        step: Callable[[], None] = lambda: None,
    ) -> tuple[EffectPreview, ...]:
        """What the coefficients of a model would look like, given by the names of its terms. Private."""
        family, study = self._family(), self._study
        if family is None or not releases or not names:
            return ()
        columns = set(columns_of(model_mask(study, [name for name in names if name != INTERCEPT])))
        if study.intercept == "always" or INTERCEPT in names:
            columns.add(0)
        price, model = self._parts(self._budget.epsilon)[1], tuple(sorted(columns))
        draws = plan_rounds(family, study, model, epsilon=price.epsilon, delta=price.delta)
        facts = {"study": study, "columns": model, "family": family, "considered": len(study.columns)}
        plan = RoundsPlan(rows=float(study.rows or held.fit.rows), mu=draws.mu, **facts)  # type: ignore[arg-type]
        again: Again = _again(source, study, held.kept)
        return rehearse_effects(lambda: path(plan), again, study, releases=releases, step=step)

    def others(self, rehearsed: Rehearsed) -> list[Rehearsal]:
        """The same run at half and at twice its cost, and with another split, where there is time to look at them."""
        if not rehearsed.factors or self._family() is None:
            return []
        study, choice, budget = self._study, self._choice, self._budget
        half, double = (Budget(EXACT.multiply(budget.epsilon, Decimal(each)), budget.delta) for each in ("0.5", "2"))
        changed = (60, 40) if self._share < 0.5 else (35, 65)
        settings = ((half, self._split), (budget, changed), (double, self._split))
        return [Rehearsal(study, choice, *each) for each in settings]

    def setting(self, source: Any, seen: Preview, held: Held, releases: int) -> Setting:
        """What the run would give: as the curve of a preview has it at this cost, else by one random split. Private."""
        for curve in seen.curves if self._share == float(seen.recipe.guarantee.epsilon / seen.epsilon) else ():
            if (price := float(self._budget.epsilon)) in curve.settings:
                place = curve.settings.index(price)
                chances = curve.chances[place]
                return self._summed(
                    source, seen.models[chances.index(max(chances))], curve.shares[place], held, releases
                )
        rehearsed = self.rehearse(source, rows=held.fit.rows, held=held, dealings=1)
        now = rehearsed.at(self._budget.epsilon, leading=1)
        return self._summed(source, names_of(now.models[0], self._study), now.share, held, releases)

    def _summed(self, source: Any, model: tuple[str, ...], share: float | None, held: Held, releases: int) -> Setting:
        return self.summed(share, self.effects(source, model, held=held, releases=releases))

    def summed(self, share: float | None, effects: Sequence[EffectPreview]) -> Setting:
        """A preview in one line. Private."""
        slopes = [each.told for each in effects if each.name != INTERCEPT]
        return Setting(float(self._budget.epsilon), self._share, share, sum(slopes), len(slopes))

    @property
    def _share(self) -> float:
        """Of the cost, what pays for the selection."""
        return float(self._parts(self._budget.epsilon)[0].epsilon / self._budget.epsilon)

    def _family(self) -> FamilyName | None:
        """The family that the run would estimate by rounds; None where it has no delta for them."""
        if self._run != "analyze":
            return None
        price = self._parts(self._budget.epsilon)[1]
        kind = family_for(self._study, None, delta=price.delta)
        return kind.name if kind.reads_rows else None

    def _parts(self, epsilon: Decimal) -> tuple[Budget, Budget]:
        return divided(self._study, self._choice, Budget(epsilon, self._budget.delta), self._split)


def _again(source: Any, study: Study, kept: KeptRows | None) -> Callable[[Any], Any]:
    """What a summary of all rows comes to: from memory where they are kept, else by another reading of their source."""
    return lambda summary: kept.replay(summary) if kept is not None and kept.whole else gather(source, study, summary)
