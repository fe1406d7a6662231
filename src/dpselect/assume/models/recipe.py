"""Public. All about a selection that is known before it is drawn: enough for a stranger to check its price."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

from dpselect.assume.models.budget import EXACT, Budget, Guarantee, Price, exact_delta, exact_epsilon
from dpselect.assume.models.candidates import Candidates
from dpselect.assume.models.penalty import Penalty, column_penalties, default_penalty
from dpselect.assume.models.subsets import Model, Subsets, candidates_for
from dpselect.assume.study.assumptions import Assumptions, canonical_json
from dpselect.errors import AssumptionError

Method = Literal["pcls", "pcpl"]
Mechanism = Literal["permute-and-flip", "exponential", "laplace"]
METHODS: tuple[Method, ...] = get_args(Method)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Public. Method, mechanism, price and assumptions of a selection.

    `penalties` are per column, in squared units of the response for PCLS and in units of -2 log-likelihood for PCPL;
    `bound_epsilon` is the part of epsilon that buys PCPL's bound, zero for PCLS; `rows` is n where it is public;
    `bounds_epsilon` was paid before and apart, for bounds among the assumptions that were bought from the rows.
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
    bounds_epsilon: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AssumptionError(f"method is {self.method!r}; it must be one of {', '.join(map(repr, METHODS))}.")
        if self.mechanism not in MECHANISMS:
            raise AssumptionError(
                f"mechanism is {self.mechanism!r}; it must be one of {', '.join(map(repr, MECHANISMS))}."
            )

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
        return values | ({"bounds_epsilon": str(self.bounds_epsilon)} if self.bounds_epsilon else {})

    @property
    def hash(self) -> str:
        """SHA-256 of the recipe in canonical JSON: the ledger keeps it, so that no part of it can be changed afterwards."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()


def make_recipe(
    assumptions: Assumptions,
    *,
    rows: int | None,
    epsilon: Price,
    delta: Price = 0,
    method: Method = "pcls",
    mechanism: Mechanism = "permute-and-flip",
    candidates: Subsets | Iterable[Model] | Candidates | None = None,
    penalty: Penalty | None = None,
    as_printed: bool = False,
) -> Recipe:
    """Everything about the selection but the outcome; from public values alone."""
    whole = exact_epsilon(epsilon)
    if method == "pcpl":
        if assumptions.neighbors != "replace-one":
            raise AssumptionError(
                "pcpl uses the number of rows, so it needs neighbors='replace-one'; or use method 'pcls'."
            )
        exact = exact_delta(delta, positive=True)
        bound_epsilon = Budget(whole).split(1, 1)[0]
    else:
        exact = exact_delta(delta)
        bound_epsilon = Decimal(0)
        if exact != 0:
            raise AssumptionError("delta buys nothing with pcls, whose guarantee is pure: leave it out or set it to 0.")
    models = candidates_for(assumptions, candidates)
    models.require_listable()
    if penalty is None:
        penalty = default_penalty(assumptions, models, float(whole - bound_epsilon), method, rows, float(exact))
    return Recipe(
        method=method,
        mechanism=mechanism,
        guarantee=Guarantee(epsilon=whole, delta=exact, neighbors=assumptions.neighbors),
        bound_epsilon=bound_epsilon,
        penalties=tuple(column_penalties(penalty, models.width, rows).tolist()),
        rows=rows,
        candidates=models,
        assumptions=assumptions,
        as_printed=as_printed,
    )
