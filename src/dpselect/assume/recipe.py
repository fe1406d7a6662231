"""Public. Everything about a selection but its outcome, fixed from public values before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from msgspec.structs import force_setattr, replace

from dpselect.assume.budget import (
    EXACT,
    Budget,
    Guarantee,
    Price,
    exact_delta,
    exact_epsilon,
    split_for_scores,
    split_for_votes,
)
from dpselect.assume.candidates import (
    Candidates,
    Model,
    SubsetRule,
    Subsets,
    candidates_for,
    vote_units,
)
from dpselect.assume.edge_rule import EdgeRule, clear_edge_directions, edge_rule_for
from dpselect.assume.penalty import Penalty, column_penalties, default_penalty
from dpselect.assume.records import Public, sha256_of
from dpselect.assume.study import Study
from dpselect.assume.variables import check_choice
from dpselect.assume.vote_rule import VoteRule, clear_directions, deals_equally, vote_rule
from dpselect.assume.wide_rule import (
    WideRule,
    clear_wide_directions,
    is_wide,
    looks_again,
    wide_rule,
)
from dpselect.errors import StudyError

Method = Literal["votes", "pcls", "pcpl"]
Mechanism = Literal["permute-and-flip", "exponential", "laplace"]
KNOWN_METHODS: tuple[Method, ...] = get_args(Method)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


@dataclass(frozen=True, slots=True)
class Choice:
    """Public. Method, mechanism, the models that compete and what a column costs; made once, at the door.

    `penalty` None stands for a public default, the only one with votes; `as_printed` asks for the looser bound that the
    paper prints for PCPL.
    """

    method: Method = "votes"
    mechanism: Mechanism = "permute-and-flip"
    candidates: Subsets | Iterable[Model] | Candidates | None = None
    penalty: Penalty | None = None
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_choice("method", self.method, KNOWN_METHODS)
        check_choice("mechanism", self.mechanism, MECHANISMS)
        if RULES[self.method].holds_votes and self.mechanism == "laplace":
            raise StudyError("Votes are drawn by 'permute-and-flip' or 'exponential': choose one of them.")
        if self.candidates is not None and not isinstance(self.candidates, Subsets | Candidates):
            _require_list(self.candidates)
            # Models may come from a generator, and a recipe may be made more than once.
            object.__setattr__(self, "candidates", [_model(each) for each in self.candidates])


def _require_list(given: object) -> None:
    if not isinstance(given, Iterable):
        raise StudyError(f"candidates is {given!r}; it must be a list of models, Subsets(...) or left out.")


def _model(model: Model) -> Model:
    return model if isinstance(model, str) or not isinstance(model, Iterable) else list(model)


class Recipe(Public, frozen=True, kw_only=True, dict=True):
    """Method, mechanism, price and study of a selection; `study_hash` is written out, so that an edited study shows.

    `penalties` are per column, in squared units of the response for PCLS and in units of -2 log-likelihood for PCPL; with
    votes there are none, and `votes` says how they are held. `bound_epsilon` is the part of epsilon that buys PCPL's bound,
    else zero; `rows` is n where it is public. `directions` says whether the choice tells of its variables which way they go.
    """

    method: Method
    mechanism: Mechanism
    guarantee: Guarantee
    bound_epsilon: Decimal
    penalties: tuple[float, ...]
    rows: int | None
    candidates: Candidates
    study: Study
    as_printed: bool = False
    votes: VoteRule | EdgeRule | WideRule | None = None
    directions: bool = False
    study_hash: str = ""

    def __post_init__(self) -> None:
        if not self.study_hash:
            force_setattr(self, "study_hash", self.study.hash)
        Choice(self.method, self.mechanism)  # refuses what it does not know, for a recipe may come from a file
        if self.directions and not isinstance(self.candidates, SubsetRule):
            raise StudyError("Directions are for votes on sets of terms, not on models that are named one by one.")
        if RULES[self.method].holds_votes != (self.votes is not None):
            raise StudyError("A recipe for votes says how they are held, and no other recipe does.")

    @property
    def choice_epsilon(self) -> Decimal:
        """The part of epsilon that pays for the choice itself."""
        return EXACT.subtract(self.guarantee.epsilon, self.bound_epsilon)

    @property
    def step(self) -> Fraction:
        """With votes, the price of a term in units of the score: price * range / epsilon, a whole multiple of 2^-20.

        So that scores are exact in doubles. Rounded down; public, so that rounding it costs nothing.
        """
        assert self.votes is not None
        exact = Fraction(self.votes.price) * self.votes.range / Fraction(self.choice_epsilon)
        return min(Fraction(int(exact * 2**20), 2**20), Fraction(2**30))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the recipe in canonical JSON: the ledger keeps it, so that no part of it can be changed afterwards."""
        return sha256_of(self.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRule:
    """Public. What a method needs before a row is read, and what follows from public facts alone.

    `counts_rows` says that it has to know about how many rows there are before they are gathered; `needs_delta` that its choice
    costs a delta, without which it is pure; `holds_votes` that its recipe says how votes are held. `settle` completes the facts
    of a recipe, and `split` divides epsilon between the choice and the estimate (by rows, columns and epsilon).
    """

    needs_bounds: bool
    needs_delta: bool
    counts_rows: bool
    holds_votes: bool
    settle: Callable[[dict[str, Any], Choice], Recipe]
    split: Callable[[int | None, int, Price], tuple[int, int]]


def make_recipe(study: Study, choice: Choice, *, rows: int | None, epsilon: Price, delta: Price = 0) -> Recipe:
    """Everything about the selection but the outcome; from public values alone. `rows` is n where it is public."""
    guarantee, bound_epsilon = _price(study, choice.method, exact_epsilon(epsilon), delta)
    facts = {
        "method": choice.method,
        "mechanism": choice.mechanism,
        "guarantee": guarantee,
        "bound_epsilon": bound_epsilon,
        "penalties": (),
        "rows": rows,
        "candidates": candidates_for(study, choice.candidates),
        "study": study,
        "as_printed": choice.as_printed,
    }
    return RULES[choice.method].settle(facts, choice)


def price_choice(study: Study, choice: Choice, *, epsilon: Price, delta: Price = 0) -> tuple[Guarantee, Decimal]:
    """The guarantee of a choice, and the part of its epsilon that buys a bound; refused is what no rows would make right."""
    rule = RULES[choice.method]
    price = _price(study, choice.method, exact_epsilon(epsilon), delta)
    models = candidates_for(study, choice.candidates)
    if rule.holds_votes:
        _require_no_penalty(choice)
    if rule.needs_bounds:
        study.require_bounds(f"The method {choice.method!r}")
        models.require_listable()
        if choice.penalty is not None:
            column_penalties(choice.penalty, models.width, study.public_rows(2))
    return price


def _require_no_penalty(choice: Choice) -> None:
    if choice.penalty is not None:
        raise StudyError(
            "A penalty is for the methods 'pcls' and 'pcpl'; block votes need none: leave it out, or name a method."
        )


def _settle_votes(facts: dict[str, Any], choice: Choice) -> Recipe:
    study, models, rows = facts["study"], facts["candidates"], facts["rows"]
    _require_no_penalty(choice)
    held = held_votes(study, models, rows, float(facts["guarantee"].epsilon))
    recipe = Recipe(**facts | {"votes": held})
    return replace(recipe, directions=tells_directions(recipe))


def _settle_scores(facts: dict[str, Any], choice: Choice) -> Recipe:
    recipe = Recipe(**facts)
    recipe.study.require_bounds(f"The method {choice.method!r}")
    recipe.candidates.require_listable()
    return replace(recipe, penalties=_penalties(recipe, choice.penalty))


def _penalties(recipe: Recipe, penalty: Penalty | None) -> tuple[float, ...]:
    if penalty is None:
        left, slack = float(recipe.choice_epsilon), float(recipe.guarantee.delta)
        penalty = default_penalty(recipe.study, recipe.candidates, left, recipe.method, recipe.rows, slack)
    return tuple(column_penalties(penalty, recipe.candidates.width, recipe.rows).tolist())


def held_votes(study: Study, models: Candidates, rows: int | None, epsilon: float) -> VoteRule | EdgeRule | WideRule:
    """How the votes are held, by the public rules: each set of terms in blocks of its own where that serves, else all in one.

    Where there are too many columns for that, each column is judged in blocks of a few rows. `rows` is n where it is public; what
    the study states comes first.
    """
    about = study.expected_rows or rows
    if about is None:
        raise StudyError(
            "Votes need to know about how many rows there are, and here that number is private: state rows in the study, such "
            "as rows = 20000 (a wrong one costs accuracy, never privacy)."
        )
    if edges := edge_rule_for(study, models, about, epsilon):
        return edges
    if isinstance(models, SubsetRule) and models.needs:
        models.require_listable()
    columns, terms = len(study.columns), max(len(vote_units(models)), 1)
    if is_wide(about, columns, terms, epsilon) and study.intercept != "candidate":
        return wide_rule(
            about, columns, terms, epsilon, equal=deals_equally(study, rows), again=looks_again(study, models)
        )
    return vote_rule(about, columns, terms, epsilon)


def tells_directions(recipe: Recipe) -> bool:
    """Whether a choice by votes tells directions: where they cost it nothing, by the public rule."""
    rule, models = recipe.votes, recipe.candidates
    if rule is None or not isinstance(models, SubsetRule):
        return False
    widths, epsilon = [term.bit_count() for term in models.terms], float(recipe.choice_epsilon)
    if isinstance(rule, EdgeRule):
        return clear_edge_directions(rule, widths, epsilon)
    if models.needs:  # drawn from a list
        return False
    clear = clear_wide_directions if isinstance(rule, WideRule) else clear_directions
    return clear(rule, widths, epsilon)  # type: ignore[arg-type]


def _price(study: Study, method: Method, epsilon: Decimal, delta: Price) -> tuple[Guarantee, Decimal]:
    """The guarantee, and the part of its epsilon that buys PCPL's bound."""
    if not RULES[method].needs_delta:
        if exact_delta(delta) != 0:
            raise StudyError(f"delta buys nothing with {method}, whose guarantee is pure: leave it out or set it to 0.")
        return Guarantee(epsilon=epsilon, delta=Decimal(0), neighbors=study.neighbors), Decimal(0)
    if study.neighbors != "replace-one":
        raise StudyError("pcpl uses the number of rows, so it needs neighbors='replace-one'; or use method 'pcls'.")
    whole = Guarantee(epsilon=epsilon, delta=exact_delta(delta, positive=True), neighbors=study.neighbors)
    return whole, Budget(epsilon).split(1, 1)[0].epsilon


_OF_SCORES: dict[str, Any] = {
    "needs_bounds": True,
    "counts_rows": False,
    "holds_votes": False,
    "settle": _settle_scores,
}

RULES: dict[Method, MethodRule] = {
    "votes": MethodRule(
        needs_bounds=False,
        needs_delta=False,
        counts_rows=True,
        holds_votes=True,
        settle=_settle_votes,
        split=split_for_votes,
    ),
    "pcls": MethodRule(**_OF_SCORES, needs_delta=False, split=split_for_scores),
    "pcpl": MethodRule(**_OF_SCORES, needs_delta=True, split=split_for_scores),
}
"""The part of the table of methods that is known before a row is read; `use.methods` has the whole."""
