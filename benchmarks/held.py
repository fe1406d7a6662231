"""Votes of a table as a release holds them, and the exact chances of what is chosen: for all benchmarks of the choice."""

from typing import Any

from msgspec.structs import replace

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.recipe import Choice, Recipe, make_recipe
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import VoteRule
from dpselect.gather.blocks import vote_summary
from dpselect.gather.rows import gather
from dpselect.minimize.minimize import minimize
from dpselect.penalize.edges import EdgeMargins
from dpselect.penalize.penalize import penalize
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.chances.votes import VoteChances

Rule = VoteRule | EdgeRule
Chances = VoteChances | EdgeChances


def recipe_for(study: Study, rows: int, epsilon: float) -> Recipe:
    """The recipe of a release of a table with so many rows."""
    return make_recipe(study, Choice(method="votes"), rows=rows, epsilon=epsilon)


def votes_of(source: Any, recipe: Recipe) -> Any:
    """The votes of one dealing."""
    assert recipe.votes is not None
    return minimize(gather(source, recipe.study, vote_summary(recipe.study, recipe.votes, recipe.rows)), recipe)


def chances_of(votes: Any, recipe: Recipe) -> Chances:
    """The law of the choice, given the votes."""
    margins: Any = penalize(votes, recipe)
    chances = EdgeChances if isinstance(margins, EdgeMargins) else VoteChances
    return chances(margins, float(recipe.choice_epsilon), recipe.mechanism)


def held(source: Any, study: Study, rows: int, epsilon: float, **hindsight: float) -> Chances:
    """The law of the choice in one dealing; `hindsight` changes the rule."""
    recipe = recipe_for(study, rows, epsilon)
    assert recipe.votes is not None
    recipe = replace(recipe, votes=changed(recipe.votes, **hindsight))
    return chances_of(votes_of(source, recipe), recipe)


def changed(rule: Rule, size: float = 1.0, bar: float = 1.0, ridge: float = 1.0, partitions: int | None = None) -> Any:
    """A rule with multiples of its block sizes, thresholds and ridges, or with other partitions, as hindsight might have them."""
    if (size, bar, ridge, partitions) == (1.0, 1.0, 1.0, None):
        return rule
    count = partitions or rule.partitions
    if isinstance(rule, VoteRule):
        blocks, threshold = _scaled(rule.blocks, rule.threshold, rule.partitions, size, bar, count)
        return replace(rule, blocks=blocks, partitions=count, threshold=threshold, ridge=rule.ridge * ridge)
    each = [
        _scaled(blocks, threshold, rule.partitions, size, bar, count)
        for blocks, threshold in zip(rule.blocks, rule.thresholds, strict=True)
    ]
    numbers, bars = zip(*each, strict=True)
    ridges = tuple(own * ridge for own in rule.ridges)
    return replace(rule, blocks=numbers, partitions=count, thresholds=bars, ridges=ridges)


def _scaled(blocks: int, threshold: int, partitions: int, size: float, bar: float, count: int) -> tuple[int, int]:
    number = max(1, round(blocks / size))
    share = min(threshold / (WHOLE_VOTE * blocks * partitions) * bar, 0.6)
    return number, max(1, round(share * WHOLE_VOTE * number * count))


def mask_of_terms(recipe: Recipe, inside: Any) -> int:
    """The model of these terms; those that are not named are out."""
    rule = recipe.candidates
    assert isinstance(rule, SubsetRule)
    return rule.always | sum(unit for unit, taken in zip(rule.terms, inside, strict=False) if taken)
