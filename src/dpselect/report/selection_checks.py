"""Public. Checking a selection without the rows: its model, its price, and the range that it was paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpselect.assume.candidates import SubsetRule, mask_of
from dpselect.assume.edge_rule import EdgeRule
from dpselect.assume.lemmas.sensitivity import loss_sensitivity, profile_change, solver_tolerance
from dpselect.assume.penalty import candidate_penalties
from dpselect.assume.recipe import Recipe, held_votes, tells_directions
from dpselect.assume.vote_rule import LEAST_SQUARES, VoteRule
from dpselect.errors import StudyError
from dpselect.minimize.minimize import ROUNDING
from dpselect.penalize.scores import pcls_range
from dpselect.release.checks import Check, compared
from dpselect.release.selection import DIRECTIONS, Selection, named_directions


def selection_checks(selection: Selection) -> Iterator[Check]:
    """All that can be checked about a selection without the rows."""
    recipe, study = selection.recipe, selection.study
    yield Check("assumptions match their hash", recipe.study_hash == study.hash, f"sha256 {study.hash}")
    yield _model_check(selection)
    guarantee = recipe.guarantee
    yield Check("privacy cost is for the stated neighbors", guarantee.neighbors == study.neighbors, guarantee.neighbors)
    yield _rows_check(recipe)
    if recipe.method == "pcpl":
        bought = 0 < recipe.bound_epsilon < guarantee.epsilon and guarantee.delta > 0
        yield Check("privacy cost has a part for the bound and one for the selection", bought, str(guarantee))
        least = least_profile_range(recipe)
        yield Check("sensitivity is not too small", selection.range >= least, f"{selection.range:.6g}")
    else:
        whole = recipe.bound_epsilon == 0 and guarantee.delta == 0
        yield Check("all of the privacy cost pays for the selection", whole, str(guarantee))
        needed = required_range(recipe)
        enough = selection.range >= needed * (1 - 1e-12)
        yield Check("sensitivity is sufficient", enough, f"{selection.range:.6g} used, {needed:.6g} needed")
    if recipe.votes is not None:
        yield rule_check(recipe, selection.version)
    yield directions_check(selection)


def _model_check(selection: Selection) -> Check:
    columns, candidates = selection.study.columns, selection.recipe.candidates
    names = tuple(columns[place].name for place in selection.columns)
    candidate = mask_of(selection.columns) in candidates
    candidate &= names == selection.variables and candidates.width == len(columns)
    return Check("selected model is one of those considered", candidate, selection.formula)


def _rows_check(recipe: Recipe) -> Check:
    """The number of rows is stated where neighbours have the same, and nowhere else."""
    if recipe.study.neighbors == "add-remove-one":
        return Check("number of rows is not published", recipe.rows is None, "private")
    stated = recipe.rows is not None and recipe.rows > 0
    return Check("number of rows is stated", stated, f"{recipe.rows}")


def required_range(recipe: Recipe) -> float:
    """The range of the score of PCLS or of votes, computed anew from the public statements alone."""
    study = recipe.study
    if recipe.votes is not None:
        return float(recipe.votes.range)
    if recipe.method != "pcls":  # a range that is held against another method's says nothing
        raise StudyError(f"There is no range for the method {recipe.method!r}.")
    recipe.candidates.require_listable()
    penalties = candidate_penalties(np.array(recipe.penalties) / study.r**2, recipe.candidates)
    tolerance = max(solver_tolerance(1.0, study.rho, recipe.rows), ROUNDING)
    needed = pcls_range(tolerance, penalties, study.rho, study.neighbors, recipe.rows, study.rows_per_person)
    return needed if math.isfinite(needed) else math.inf


def least_profile_range(recipe: Recipe) -> float:
    """No range of PCPL's score is smaller, but with a chance of e^-50.

    The least loss is at most n, in squared units of the scaled response, and so is the range's own noise for it, but for the
    tail of one Laplace draw: the larger the noisy least loss, the smaller the range that follows from it.
    """
    study = recipe.study
    if recipe.rows is None or not recipe.bound_epsilon > 0:
        return math.inf
    sensitivity = loss_sensitivity(1.0, study.rho, study.rows_per_person)
    largest = recipe.rows + 1 + 51 * (sensitivity + 1) / float(recipe.bound_epsilon)
    return 2 * profile_change(largest, recipe.rows, sensitivity, as_printed=recipe.as_printed) * (1 - 1e-9)


def rule_check(recipe: Recipe, version: str) -> Check:
    """Blocks, partitions, threshold and price follow from stated facts, so that nobody can have fitted them to the rows."""
    assert recipe.votes is not None
    study = recipe.study
    rows = study.expected_rows or recipe.rows
    what = "block votes follow the public rule"
    if rows is None:
        return Check(what, False, "no number of rows is stated")
    if isinstance(recipe.votes, VoteRule) and recipe.votes.statistic != LEAST_SQUARES:
        # Nobody here knows what such an estimator needs of a block, so nothing is vouched for.
        return Check(what, None, f"the blocks held another statistic: {recipe.votes.statistic}")
    try:
        rule = held_votes(study, recipe.candidates, rows, float(recipe.choice_epsilon))
    except StudyError as problem:
        return compared(what, False, str(problem), version)
    blocks = recipe.votes.blocks if isinstance(recipe.votes, EdgeRule) else (recipe.votes.blocks,)
    most, least = max(blocks), min(blocks)
    held = f"{recipe.votes.partitions} times {most:,}{'' if least == most else f' to {least:,}'} blocks"
    return compared(what, rule == recipe.votes, held, version)


def directions_check(selection: Selection) -> Check:
    """One direction for each term that was chosen, where the public rule tells directions; and none anywhere else."""
    what = "directions belong to the selected variables"
    recipe, columns, models = selection.recipe, selection.study.columns, selection.recipe.candidates
    if recipe.directions != tells_directions(recipe):
        said = "the public rule says otherwise whether directions are told"
        return compared(what, False, said, selection.version)
    places = {columns[place].name: place for place in selection.columns}
    named = {places[name]: way for name, way in selection.directions.items() if way is not None and name in places}
    signs = {place: sign for place, way in named.items() for sign, word in DIRECTIONS.items() if word == way}
    right = dict(selection.directions) == named_directions(selection.study, selection.columns, signs)
    if recipe.directions and isinstance(models, SubsetRule):
        inside = models.terms_in(mask_of(selection.columns)) or ()
        # Of a part of a product that is in none is told (`penalize.edges`).
        told = [models.terms[each] for each in inside if not any((term, each) in models.needs for term in inside)]
        right &= all(sum(term >> place & 1 for place in signs) == 1 for term in told) and len(signs) == len(told)
    else:
        right &= not signs
    said = ", ".join(f"{name} {way}" for name, way in selection.directions.items() if way is not None)
    return Check(what, right, said or "none is told")
