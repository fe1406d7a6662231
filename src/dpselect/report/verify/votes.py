"""Public. Checking how votes were held, from the public statements alone."""

from __future__ import annotations

from dpselect.assume.models.candidates import vote_units
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.models.vote_rule import LEAST_SQUARES, vote_rule
from dpselect.errors import AssumptionError
from dpselect.report.verify.answers import Check


def rule_check(recipe: Recipe) -> Check:
    """Blocks, partitions, threshold and price follow from stated facts, so that nobody can have fitted them to the rows."""
    assert recipe.votes is not None
    assumptions = recipe.assumptions
    rows = assumptions.rows or recipe.rows
    what = "the votes were held by the public rule"
    if rows is None:
        return Check(what, False, "no number of rows is stated")
    terms = max(len(vote_units(recipe.candidates)), 1)
    if recipe.votes.statistic != LEAST_SQUARES:
        # Nobody here knows what such an estimator needs of a block, so nothing is vouched for.
        return Check(what, None, f"the blocks held another statistic: {recipe.votes.statistic}")
    try:
        rule = vote_rule(rows, len(assumptions.columns), terms, float(recipe.choice_epsilon))
    except AssumptionError as problem:
        return Check(what, False, str(problem))
    held = f"{recipe.votes.partitions} times {recipe.votes.blocks:,} blocks"
    return Check(what, rule == recipe.votes, held)
