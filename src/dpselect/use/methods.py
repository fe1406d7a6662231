"""The methods of choice, each a record: what it needs, what it gathers, and how that is scored and rehearsed.

What a method is made of stands in the stages: its rule in `assume.recipe`, its losses or votes in `minimize`, its scores in
`penalize`, its draw in `release.selection`, its words and checks in `report`. Here it is put together; nobody asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpselect.assume.budget import exact_delta
from dpselect.assume.recipe import RULES, MethodRule, Recipe
from dpselect.assume.recipe import Method as MethodName
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import VoteRule
from dpselect.assume.wide_rule import WideRule
from dpselect.errors import DataError, StudyError
from dpselect.gather.blocks import vote_summary
from dpselect.gather.moments import Moments, MomentSummary
from dpselect.gather.rows import Telling, engine_of, gather
from dpselect.gather.summary import Both, Summary
from dpselect.gather.wide_rows import STAYS
from dpselect.minimize.minimize import minimize
from dpselect.minimize.votes.estimator_votes import FitBlock, estimator_votes
from dpselect.penalize.penalize import PrivateScores, penalize
from dpselect.rehearse.check.listed import Listed, Recipes
from dpselect.rehearse.check.preview import Rehearsed
from dpselect.rehearse.check.voted import Voted
from dpselect.rehearse.planning.outlook import Outlook, outlook_study
from dpselect.rehearse.planning.plan import Plan, plan_study


@dataclass(frozen=True, slots=True, repr=False)
class Look:
    """Private. What a choice is rehearsed from: `again` adds up all rows once more, `recipes` has the recipe at any whole price.

    `rows` is how many rows there are, and `dealings` over how many dealings votes are averaged, None for as many as there is time.
    """

    again: Callable[[Any], Any]
    recipes: Recipes
    epsilon: Decimal
    rows: int
    moments: Moments | None
    dealings: int | None

    def __repr__(self) -> str:
        return "Look(values=<private>)"


@dataclass(frozen=True, slots=True)
class Supposing:
    """Public. What a plan supposes about rows that nobody has read; each method takes its own part and refuses the others'."""

    r2: float | None = None
    choice_only: bool = False
    effects: Sequence[float] | None = None
    deviation: float | None = None
    wanted: float = 0.8
    delta: str | None = None
    split: tuple[float, float] | None = None


ShareDone = Callable[[float], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Public. One way to choose a model.

    `gather` reads the rows once for a recipe (None where the method does not count rows beforehand): the sums that the choice is
    made from, and what another summary comes to that an estimate may want of the same pass. `scores` makes the scores of all
    candidates from the sums. `rehearse` makes of a `Look` what is chosen at any price, and `plan` says what is to be expected of
    so many rows at a whole price. `adapt` may change a recipe from public facts.
    """

    rule: MethodRule
    gather: Callable[[Any, Study, Recipe | None, Summary[Any] | None, Telling | None], tuple[Any, Any]]
    scores: Callable[[Any, Recipe], PrivateScores]
    rehearse: Callable[[Look], Rehearsed]
    plan: Callable[[Study, int, float, Supposing, ShareDone], Outlook | Plan]
    adapt: Callable[[Recipe], Recipe] = lambda recipe: recipe


def _block_sums(
    source: Any, study: Study, recipe: Recipe | None, beside: Summary[Any] | None, progress: Telling | None
) -> tuple[Any, Any]:
    assert recipe is not None and recipe.votes is not None
    blocks = vote_summary(study, recipe.votes, recipe.rows)
    if isinstance(recipe.votes, WideRule) and engine_of(source)[0] != "here":
        raise DataError(STAYS)
    if beside is None:
        return gather(source, study, blocks, progress), None
    return gather(source, study, Both(blocks, beside), progress)


def _moments(
    source: Any, study: Study, recipe: Recipe | None, beside: Summary[Any] | None, progress: Telling | None
) -> tuple[Any, Any]:
    if beside is None or isinstance(beside, MomentSummary):
        found = gather(source, study, progress=progress)
        return found, found
    return gather(source, study, Both(MomentSummary(study), beside), progress)


def _scores(sums: Any, recipe: Recipe) -> PrivateScores:
    return penalize(minimize(sums, recipe), recipe)


def _rehearsed_votes(look: Look) -> Rehearsed:
    return Voted(look.again, look.recipes, look.epsilon, look.rows, look.moments, look.dealings)


def _rehearsed_list(look: Look) -> Rehearsed:
    assert look.moments is not None
    return Listed(look.moments, look.recipes, look.epsilon)


def _plan_votes(study: Study, rows: int, epsilon: float, supposed: Supposing, progress: ShareDone) -> Outlook:
    if supposed.effects is not None or supposed.deviation is not None:
        raise StudyError(OTHERS_PART)
    asked: dict[str, Any] = {"r2": supposed.r2, "choice_only": supposed.choice_only, "split": supposed.split}
    return outlook_study(study, rows=rows, epsilon=epsilon, progress=progress, **asked)


def _plan_scores(study: Study, rows: int, epsilon: float, supposed: Supposing, progress: ShareDone) -> Plan:
    if supposed.r2 is not None or supposed.choice_only:
        raise StudyError(OTHERS_PART)
    study.require_bounds("The paper's methods")
    return plan_study(
        study,
        rows=rows,
        epsilon=epsilon,
        effects=supposed.effects,
        deviation=supposed.deviation,
        delta=float(exact_delta(supposed.delta or "1e-6", positive=True)),
        wanted=supposed.wanted,
        progress=progress,
    )


OTHERS_PART = (
    "r2 and choice_only (--run select) are for votes, effects and deviation for pcls and pcpl: name the method, leave the "
    "others out."
)

METHODS: dict[MethodName, Method] = {
    "votes": Method(
        rule=RULES["votes"], gather=_block_sums, scores=_scores, rehearse=_rehearsed_votes, plan=_plan_votes
    ),
    "pcls": Method(rule=RULES["pcls"], gather=_moments, scores=_scores, rehearse=_rehearsed_list, plan=_plan_scores),
    "pcpl": Method(rule=RULES["pcpl"], gather=_moments, scores=_scores, rehearse=_rehearsed_list, plan=_plan_scores),
}


def votes_by(fit: FitBlock, adapt: Callable[[Recipe], Recipe]) -> Method:
    """Votes where any estimator with coefficients is fitted in each block; its source is a pair of arrays."""

    def votes(
        source: Any, study: Study, recipe: Recipe | None, beside: Summary[Any] | None, progress: Telling | None
    ) -> tuple[Any, None]:
        assert recipe is not None and isinstance(recipe.votes, VoteRule)
        rule = recipe.votes
        names = tuple(column.name for column in study.columns)
        asked = {"columns": names, "intercept": study.intercept != "none", "study": study.hash}
        found = estimator_votes(fit, *source, blocks=rule.blocks, partitions=rule.partitions, **asked)  # type: ignore[arg-type]
        return found, None

    return Method(
        rule=RULES["votes"], gather=votes, scores=penalize, rehearse=_rehearsed_votes, plan=_plan_votes, adapt=adapt
    )
