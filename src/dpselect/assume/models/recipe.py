"""Public. All about a selection that is known before it is drawn: enough for a stranger to check its price."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpselect.assume.lemmas.margins import margin_range
from dpselect.assume.models.budget import EXACT, Budget, Guarantee, Price, exact_delta, exact_epsilon
from dpselect.assume.models.candidates import LISTED_AT_MOST, Candidates, vote_units
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.penalty import Penalty, column_penalties, default_penalty
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.models.vote_rule import VoteRule, vote_rule
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import sha256_of
from dpselect.errors import AssumptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Public. Method, mechanism, price and assumptions of a selection.

    `penalties` are per column, in squared units of the response for PCLS and in units of -2 log-likelihood for PCPL; with
    votes there are none, and `votes` says how they are held. `bound_epsilon` is the part of epsilon that buys PCPL's bound,
    else zero; `rows` is n where it is public; `paid_before` was paid before and apart, for bounds among the assumptions
    that were bought from the rows.
    """

    method: Method
    mechanism: Mechanism
    guarantee: Guarantee
    bound_epsilon: Decimal
    penalties: tuple[float, ...]
    rows: int | None
    candidates: Candidates
    assumptions: Assumptions
    as_printed: bool = False
    paid_before: Decimal = Decimal(0)
    votes: VoteRule | None = None

    def __post_init__(self) -> None:
        Choice(self.method, self.mechanism)  # refuses what it does not know, for a recipe may come from a file
        if (self.method == "votes") != (self.votes is not None):
            raise AssumptionError("A recipe for votes says how they are held, and no other recipe does.")

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
        exact = Fraction(self.votes.price) * margin_range(self.votes.partitions) / Fraction(self.choice_epsilon)
        return min(Fraction(int(exact * 2**20), 2**20), Fraction(2**30))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values: dict[str, Any] = {
            "method": self.method,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "bound_epsilon": str(self.bound_epsilon),
            "penalties": list(self.penalties),
            "rows": self.rows,
            "candidates": self.candidates.describe(),
            "assumptions": self.assumptions.to_dict(),
            "assumptions_hash": self.assumptions.hash,
            "as_printed": self.as_printed,
        }
        # Left out where they say nothing, so that the text of a release without them stays what it was.
        values |= {"bounds_epsilon": str(self.paid_before)} if self.paid_before else {}
        return values | ({} if self.votes is None else {"votes": self.votes.to_dict()})

    @property
    def hash(self) -> str:
        """SHA-256 of the recipe in canonical JSON: the ledger keeps it, so that no part of it can be changed afterwards."""
        return sha256_of(self.to_dict())


def make_recipe(
    assumptions: Assumptions, choice: Choice, *, rows: int | None, epsilon: Price, delta: Price = 0
) -> Recipe:
    """Everything about the selection but the outcome; from public values alone. `rows` is n where it is public."""
    guarantee, bound_epsilon = _price(assumptions, choice.method, exact_epsilon(epsilon), delta)
    models = candidates_for(assumptions, choice.candidates)
    recipe = Recipe(
        method=choice.method,
        mechanism=choice.mechanism,
        guarantee=guarantee,
        bound_epsilon=bound_epsilon,
        penalties=(),
        rows=rows,
        candidates=models,
        assumptions=assumptions,
        as_printed=choice.as_printed,
        votes=None if choice.method != "votes" else _held(assumptions, choice, models, rows, float(guarantee.epsilon)),
    )
    if choice.method == "votes":
        return replace(recipe, mechanism=_listed_or_not(choice.mechanism, models))
    assumptions.require_bounds(f"The method {choice.method!r}")
    models.require_listable()
    return replace(recipe, penalties=_penalties(recipe, choice.penalty))


def _penalties(recipe: Recipe, penalty: Penalty | None) -> tuple[float, ...]:
    if penalty is None:
        left, slack = float(recipe.choice_epsilon), float(recipe.guarantee.delta)
        penalty = default_penalty(recipe.assumptions, recipe.candidates, left, recipe.method, recipe.rows, slack)
    return tuple(column_penalties(penalty, recipe.candidates.width, recipe.rows).tolist())


def _held(assumptions: Assumptions, choice: Choice, models: Candidates, rows: int | None, epsilon: float) -> VoteRule:
    """How the votes are held: by the public rule."""
    about = assumptions.rows or rows
    if about is None:
        raise AssumptionError(
            "Votes need to know about how many rows there are, and here that number is private: state rows in the study, such "
            "as rows = 20000 (a wrong one costs accuracy, never privacy)."
        )
    if choice.penalty is not None:
        raise AssumptionError(
            "A penalty is for the methods 'pcls' and 'pcpl'; votes have a public price of their own: leave it out, or name a "
            "method."
        )
    return vote_rule(about, len(assumptions.columns), max(len(vote_units(models)), 1), epsilon)


def _listed_or_not(mechanism: Mechanism, models: Candidates) -> Mechanism:
    """Permute-and-flip needs a list; beyond what can be listed votes are drawn by levels, by the exponential mechanism."""
    if models.count <= LISTED_AT_MOST or mechanism == "exponential":
        return mechanism
    if mechanism == "laplace":
        raise AssumptionError(
            f"There are {models.count:,} candidate models, too many for the laplace mechanism: choose 'exponential'."
        )
    return "exponential"


def _price(assumptions: Assumptions, method: Method, epsilon: Decimal, delta: Price) -> tuple[Guarantee, Decimal]:
    """The guarantee, and the part of its epsilon that buys PCPL's bound."""
    if method != "pcpl":
        if exact_delta(delta) != 0:
            raise AssumptionError(
                f"delta buys nothing with {method}, whose guarantee is pure: leave it out or set it to 0."
            )
        return Guarantee(epsilon=epsilon, delta=Decimal(0), neighbors=assumptions.neighbors), Decimal(0)
    if assumptions.neighbors != "replace-one":
        raise AssumptionError(
            "pcpl uses the number of rows, so it needs neighbors='replace-one'; or use method 'pcls'."
        )
    whole = Guarantee(epsilon=epsilon, delta=exact_delta(delta, positive=True), neighbors=assumptions.neighbors)
    return whole, Budget(epsilon).split(1, 1)[0].epsilon
