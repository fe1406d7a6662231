"""Public. All about a run that is known before its rows are read: refused here if anything is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpselect.assume.budget import Budget, Price
from dpselect.assume.candidates import Candidates, Model, Subsets, candidates_for
from dpselect.assume.lemmas.moments import NoiseKind
from dpselect.assume.queries import FamilyName
from dpselect.assume.recipe import Choice, Recipe, make_recipe, price_choice
from dpselect.assume.records import sha256_of
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.gather.rows import count_rows
from dpselect.gather.sources.open import with_form_of
from dpselect.release.account import charge_about
from dpselect.release.analysis import check_title
from dpselect.release.drawn import Direction, as_level
from dpselect.release.families import Family, family_for
from dpselect.release.ledger.entries import Charge
from dpselect.release.selection import charged_mechanism
from dpselect.use.methods import METHODS, Method

Competing = Subsets | Iterable[Model] | Candidates | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimating:
    """Public. What is asked of an estimate; `columns` where the model is settled, None where it is chosen first."""

    price: Budget
    level: float
    family: Family
    noise: NoiseKind | None = None
    columns: tuple[int, ...] | None = None
    selected: bool = True
    directions: Mapping[str, Direction | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Order:
    """Public. A choice, an estimate, or both, and what they cost; refused when it is made if any number of rows is.

    `choice` and `for_choice` are None where nothing is chosen. `charges` are what the ledger will be asked for, but for the hash of
    a recipe, which costs nothing. `budget` is the whole price. `draws` is what the family of the estimate has planned, from which
    its charge follows.
    """

    study: Study
    budget: Budget
    charges: tuple[Charge, ...]
    choice: Choice | None = None
    for_choice: Budget | None = None
    method: Method | None = None
    estimating: Estimating | None = None
    draws: Any = None
    title: str = ""

    def request(self, *where: Any) -> str:
        """A hash of all that is asked for, and of where the rows and the ledger are, by which the same request is known again."""
        asked, choice = self.estimating, self.choice
        wanted = [] if asked is None else [asked.level, asked.family.name, asked.noise, asked.columns]
        chosen: list[Any] = []
        if choice is not None:
            models = candidates_for(self.study, choice.candidates).to_dict()
            chosen = [choice.method, choice.mechanism, models, repr(choice.penalty), choice.as_printed]
        # The places count too: the same words about other rows, or on another ledger, must not find this release.
        price = [str(self.budget.epsilon), str(self.budget.delta)]
        return sha256_of([self.title, price, chosen, wanted, [each.to_dict() for each in self.charges], list(where)])

    @property
    def work(self) -> str:
        """What is done once the rows are read, for whoever waits."""
        parts = {"selecting variables": self.choice, "estimating effects": self.estimating}
        return " and ".join(what for what, asked in parts.items() if asked is not None).capitalize()

    def recipe(self, rows: int | None) -> Recipe:
        """The recipe of the choice, where so many rows are public."""
        if rows not in self._recipes:
            assert self.choice is not None and self.for_choice is not None and self.method is not None
            price = self.for_choice
            made = make_recipe(self.study, self.choice, rows=rows, epsilon=price.epsilon, delta=price.delta)
            self._recipes[rows] = self.method.adapt(made)
        return self._recipes[rows]

    @cached_property
    def _recipes(self) -> dict[int | None, Recipe]:
        """Those that were made: what is said before a charge and the run itself ask for the same one."""
        return {}


def require_study(study: object) -> None:
    """A dictionary or a path in place of a study is a mistake that deserves a sentence."""
    if not isinstance(study, Study):
        raise StudyError(
            f"The study is a {type(study).__name__}; it must be dpselect.Study, stated in Python or read from a study file: "
            "Study.read('study.toml')."
        )


def rows_beforehand(source: Any, order: Order) -> int | None:
    """About how many rows there are, where the method has to know before they are gathered: as stated, or counted."""
    if order.method is None or not order.method.rule.counts_rows:
        return None
    return public_count(order.study, lambda: count_rows(source, order.study))


def public_count(study: Study, count: Callable[[], int]) -> int | None:
    """About how many rows, where that is public: stated, or counted. A person's rows are private, and so is their number."""
    if study.neighbors != "replace-one":
        return None
    if study.expected_rows is not None:
        return study.expected_rows
    return None if study.person is not None else max(count(), 1)


def order_selection(
    study: Study, choice: Choice, budget: Budget, *, source: Any = None, title: str = "", method: Method | None = None
) -> Order:
    """A choice alone. What `source` states of its own form becomes part of the study (`with_form_of`)."""
    require_study(study)
    study = with_form_of(source, study)
    return Order(
        study=study,
        budget=budget,
        charges=(_charge_for_choice(study, choice, budget),),
        choice=choice,
        for_choice=budget,
        method=method or METHODS[choice.method],
        title=check_title(title),
    )


def order_analysis(
    study: Study,
    choice: Choice,
    budget: Budget,
    *,
    source: Any = None,
    split: tuple[Price, Price] | None = None,
    level: float = 0.95,
    family: FamilyName | None = None,
    rows_again: bool = True,
    title: str = "",
) -> Order:
    """A choice and the estimate of what it chose, from one budget.

    `split` are the shares of epsilon for the choice and for the estimate; without it public facts decide. `rows_again` says
    whether the rows can be read several times.
    """
    require_study(study)
    study = with_form_of(source, study)
    for_choice, for_estimate = divided(study, choice, budget, split)
    kind = family_for(study, family, delta=for_estimate.delta, rows_again=rows_again)
    asked = Estimating(price=for_estimate, level=as_level(level), family=kind)
    draws = kind.plan(study, (), epsilon=for_estimate.epsilon, delta=for_estimate.delta)
    return Order(
        study=study,
        budget=budget,
        charges=(_charge_for_choice(study, choice, for_choice), kind.charge(study, draws.guarantee)),
        choice=choice,
        for_choice=for_choice,
        method=METHODS[choice.method],
        estimating=asked,
        draws=draws,
        title=check_title(title),
    )


def order_estimate(study: Study, budget: Budget, asked: Estimating, *, source: Any = None) -> Order:
    """An estimate of a model that is settled."""
    study = with_form_of(source, study)
    kind = asked.family
    if kind.reads_rows and not asked.columns:
        raise StudyError("A model without columns has no coefficients: name a variable, or state an intercept.")
    draws = kind.plan(study, asked.columns, epsilon=asked.price.epsilon, delta=asked.price.delta, noise=asked.noise)
    charges = (kind.charge(study, draws.guarantee),)
    return Order(study=study, budget=budget, charges=charges, estimating=asked, draws=draws)


def divided(
    study: Study, choice: Choice, budget: Budget, split: tuple[Price, Price] | None = None
) -> tuple[Budget, Budget]:
    """The parts of a budget for the choice and for the estimate. A method that needs no delta leaves it to the estimate."""
    require_study(study)
    rule = METHODS[choice.method].rule
    if split is None:
        split = rule.split(study.expected_rows, len(study.columns), budget.epsilon)
    elif not (isinstance(split, tuple | list) and len(split) == 2):
        raise StudyError(f"split is {split!r}; it must be two shares of epsilon, such as (1, 1).")
    for_choice, for_estimate = budget.split(*split, delta=(1, 1) if rule.needs_delta else (0, 1))
    return for_choice, for_estimate


def _charge_for_choice(study: Study, choice: Choice, price: Budget) -> Charge:
    """The charge for a choice, without the recipe."""
    guarantee, bound = price_choice(study, choice, epsilon=price.epsilon, delta=price.delta)
    return Charge(
        what="select",
        mechanism=charged_mechanism(choice.method, choice.mechanism),
        parameters={"method": choice.method, "bound_epsilon": str(bound)},
        **charge_about(study, guarantee),
    )
