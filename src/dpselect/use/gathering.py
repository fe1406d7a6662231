"""One reading of the rows for whatever is chosen: blocks for votes, moments for the rest, both where both are wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpselect.assume.models.budget import Budget
from dpselect.assume.models.choice import Choice
from dpselect.assume.models.recipe import Recipe, make_recipe
from dpselect.assume.models.subsets import candidates_for
from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import AssumptionError
from dpselect.gather.block_table import gather_blocks
from dpselect.gather.count import count_rows
from dpselect.gather.sources.stream import Progress
from dpselect.gather.sums.blocks import BlockSums
from dpselect.gather.sums.moments import Moments
from dpselect.gather.table import gather_table

Telling = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Gathered:
    """Private. What the choice is made from, its recipe, and the moments for an estimate where they were asked for."""

    sums: Moments | BlockSums
    recipe: Recipe
    moments: Moments | None

    def __repr__(self) -> str:
        return "Gathered(values=<private>)"


def gather_for(
    source: Any,
    assumptions: Assumptions,
    choice: Choice,
    price: Budget,
    *,
    moments: bool = False,
    progress: Telling | None = None,
) -> Gathered:
    """Read the rows once, for a choice and, with `moments`, for an estimate too.

    Votes have to know beforehand how many blocks there are, and so about how many rows: as stated in the study, or counted
    where that number is public.
    """
    require_study(assumptions)
    if choice.method != "votes":
        assumptions.require_bounds(f"The method {choice.method!r}")
        candidates_for(assumptions, choice.candidates).require_listable()  # refused before a long table is read
        found = gather_table(source, assumptions, progress)
        rows = assumptions.public_rows(found.n)
        recipe = make_recipe(assumptions, choice, rows=rows, epsilon=price.epsilon, delta=price.delta)
        return Gathered(found, recipe, found)
    recipe = make_recipe(
        assumptions, choice, rows=public_count(source, assumptions), epsilon=price.epsilon, delta=price.delta
    )
    assert recipe.votes is not None
    blocks, partitions = recipe.votes.blocks, recipe.votes.partitions
    sums, both = gather_blocks(source, assumptions, blocks, partitions, moments=moments, progress=progress)
    return Gathered(sums, recipe, both)


def require_study(assumptions: object) -> None:
    """A dictionary or a path in place of a study is a mistake that deserves a sentence."""
    if not isinstance(assumptions, Assumptions):
        raise AssumptionError(
            f"The assumptions are a {type(assumptions).__name__}; they must be dpselect.Assumptions, stated in Python or read from "
            "a study file: read_assumptions('study.toml')."
        )


def public_count(source: Any, assumptions: Assumptions) -> int | None:
    """About how many rows, where that is public: stated, or counted. A person's rows are private, and so is their number."""
    if assumptions.neighbors != "replace-one":
        return None
    if assumptions.rows is not None:
        return assumptions.rows
    return None if assumptions.person is not None else max(count_rows(source, assumptions), 1)
