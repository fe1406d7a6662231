"""Public. All about a selection that is known before it is drawn: enough for a stranger to check its price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpselect.assume.models.budget import EXACT, Budget, Guarantee, Price, exact_delta, exact_epsilon
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.choice import Choice, Mechanism, Method
from dpselect.assume.models.penalty import column_penalties, default_penalty
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.canonical import sha256_of
from dpselect.errors import AssumptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Public. Method, mechanism, price and assumptions of a selection.

    `penalties` are per column, in squared units of the response for PCLS and in units of -2 log-likelihood for PCPL;
    `bound_epsilon` is the part of epsilon that buys PCPL's bound, zero for PCLS; `rows` is n where it is public;
    `paid_before` was paid before and apart, for bounds among the assumptions that were bought from the rows.
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

    def __post_init__(self) -> None:
        Choice(self.method, self.mechanism)  # refuses what it does not know, for a recipe may come from a file

    @property
    def choice_epsilon(self) -> Decimal:
        """The part of epsilon that pays for the choice itself."""
        return EXACT.subtract(self.guarantee.epsilon, self.bound_epsilon)

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
        # Left out where nothing was bought, so that the text of a release without tuning stays what it was.
        return values | ({"bounds_epsilon": str(self.paid_before)} if self.paid_before else {})

    @property
    def hash(self) -> str:
        """SHA-256 of the recipe in canonical JSON: the ledger keeps it, so that no part of it can be changed afterwards."""
        return sha256_of(self.to_dict())


def make_recipe(
    assumptions: Assumptions, choice: Choice, *, rows: int | None, epsilon: Price, delta: Price = 0
) -> Recipe:
    """Everything about the selection but the outcome; from public values alone."""
    assumptions.require_bounds(f"The method {choice.method!r}")
    guarantee, bound_epsilon = _price(assumptions, choice.method, exact_epsilon(epsilon), delta)
    models = candidates_for(assumptions, choice.candidates)
    models.require_listable()
    penalty = choice.penalty
    if penalty is None:
        left = float(EXACT.subtract(guarantee.epsilon, bound_epsilon))
        penalty = default_penalty(assumptions, models, left, choice.method, rows, float(guarantee.delta))
    return Recipe(
        method=choice.method,
        mechanism=choice.mechanism,
        guarantee=guarantee,
        bound_epsilon=bound_epsilon,
        penalties=tuple(column_penalties(penalty, models.width, rows).tolist()),
        rows=rows,
        candidates=models,
        assumptions=assumptions,
        as_printed=choice.as_printed,
    )


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
