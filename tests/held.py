"""Recipes whose votes are held in another way than the public rule says."""

from msgspec.structs import replace

from dpselect.assume.candidates import vote_units
from dpselect.assume.recipe import tells_directions
from dpselect.assume.vote_rule import vote_rule


def whole_models(recipe):
    """The recipe with votes in blocks that fit all terms, also where each set of terms would have blocks of its own."""
    rows, terms = recipe.study.rows or recipe.rows, max(len(vote_units(recipe.candidates)), 1)
    rule = vote_rule(rows, len(recipe.study.columns), terms, float(recipe.choice_epsilon))
    recipe = replace(recipe, votes=rule, directions=False)
    return replace(recipe, directions=tells_directions(recipe))
