"""Public. From a document to the facts on its page: every sentence and number that the public report shows."""

from __future__ import annotations

import math

from dpselect.assume.models.budget import about, plain
from dpselect.assume.models.candidates import LISTED_AT_MOST
from dpselect.assume.models.recipe import Recipe
from dpselect.assume.models.subsets import variables_of
from dpselect.assume.models.vote_rule import VoteRule
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Binary, Numeric, Variable
from dpselect.release.ledger.records import Receipt
from dpselect.release.odds.odds_ratios import OddsRatios
from dpselect.release.selection import Selection
from dpselect.release.tune import Tuned
from dpselect.release.tuned_selection import TunedSelection
from dpselect.report.public.document import Document, Release
from dpselect.report.public.estimate_facts import estimate_facts, odds_noise
from dpselect.report.public.facts import ChargeFact, Facts, GuaranteeFact, VariableFact
from dpselect.report.public.numbers import MINUS, listed, number
from dpselect.report.public.titles import level_title, variable_title
from dpselect.report.public.words import (
    METHOD_NAMES,
    choice_note,
    factor_text,
    guarantee_sentence,
    guarantee_symbols,
    visible_sentence,
)


def facts_of(document: Document) -> Facts:
    """The facts of a report."""
    selection, guarantee = document.selection, document.guarantee
    assumptions = document.stated
    chosen = set(variables_of([assumptions.columns[j] for j in selection.columns]))
    return Facts(
        title=document.title or f"What explains {variable_title(assumptions.response)}?",
        response=_variable(assumptions.response, chosen=True),
        predictors=tuple(_variable(each, chosen=each.name in chosen) for each in assumptions.predictors),
        formula=selection.formula,
        summary=_summary(assumptions, chosen),
        visible=visible_sentence(selection, assumptions, chosen=bool(chosen)),
        note=choice_note(selection.range),
        settings=(*_settings(assumptions), *(_radius(assumptions) if selection.recipe.votes is None else ())),
        choice=(*_bought(document.tuned), *_choice(selection)),
        estimate=estimate_facts(document.coefficients) if document.coefficients else None,
        guarantee=GuaranteeFact(
            epsilon=plain(guarantee.epsilon),
            delta=plain(guarantee.delta),
            factor=factor_text(guarantee.epsilon),
            neighbors=guarantee.neighbors,
            per_person=assumptions.person is not None,
            sentence=guarantee_sentence(guarantee, assumptions.max_rows_per_person),
            symbols=guarantee_symbols(guarantee),
        ),
        charges=tuple(_charge(release) for release in document.releases),
        left=_left(document.releases[-1].receipt),
        by_votes=selection.recipe.votes is not None,
        assumptions_hash=assumptions.hash,
        fingerprint=document.fingerprint,
        release=document.to_json(),
        made=document.made,
        version=selection.version,
    )


def _variable(variable: Variable, *, chosen: bool) -> VariableFact:
    if isinstance(variable, Numeric):
        unit = f" {variable.unit}" if variable.unit else ""
        bounds = " to ".join(number(bound, 6) for bound in variable.bounds) if variable.bounded else "a number"
        statement = f"{bounds}{unit}" if variable.bounded else f"{bounds}{unit and f' of{unit}'}"
    else:
        shown = [level_title(variable, level) for level in variable.levels]
        if isinstance(variable, Binary):
            statement = f"{shown[0]} (0) or {shown[1]} (1)"
        else:
            assert variable.reference is not None
            statement = f"one of {', '.join(shown)} (reference {level_title(variable, variable.reference)})"
    return VariableFact(
        name=variable.name,
        statement=statement,
        chosen=chosen,
        title=variable_title(variable),
        unit=variable.unit,
        reason=variable.reason,
    )


def _summary(assumptions: Assumptions, chosen: set[str]) -> str:
    titles = {each.name: variable_title(each) for each in assumptions.predictors}
    inside = [title for name, title in titles.items() if name in chosen]
    outside = [title for name, title in titles.items() if name not in chosen]
    count = len(titles)
    if not inside:
        return f"None of the {count} variables was chosen."
    text = f"Of {count} variables, {listed(inside)} {'was' if len(inside) == 1 else 'were'} chosen"
    return f"{text}; {listed(outside)} {'was' if len(outside) == 1 else 'were'} not." if outside else f"{text}."


def _settings(assumptions: Assumptions) -> tuple[tuple[str, str], ...]:
    intercept = {"always": "in every model", "candidate": "competes like a variable", "none": "in no model"}
    missing = {
        "error": "none allowed",
        "midpoint": "replaced by the middle of the bounds",
        "zero-row": "the row counts for nothing",
    }
    neighbors = {
        "replace-one": "one record replaced by another; the number of rows is public",
        "add-remove-one": "one record added or removed; the number of rows is secret",
    }
    person = () if assumptions.person is None else (("Persons", _persons(assumptions)),)
    return (
        ("Intercept", intercept[assumptions.intercept]),
        ("Missing cells", missing[assumptions.missing]),
        *person,
        ("Neighbouring tables", f"{assumptions.neighbors}: {neighbors[assumptions.neighbors]}"),
    )


def _radius(assumptions: Assumptions) -> tuple[tuple[str, str], ...]:
    if assumptions.radius is None:
        return ()
    bound = number(assumptions.radius)
    return (("Radius", f"{bound} (bound on the sum of |coefficients|, variables scaled to [{MINUS}1, 1])"),)


def _persons(assumptions: Assumptions) -> str:
    most = assumptions.max_rows_per_person
    return f"named by {assumptions.person}" + ("" if most is None else f"; {most:,} rows of each count at most")


def _bought(tuned: TunedSelection | None) -> tuple[tuple[str, str], ...]:
    """The bounds that were bought, and what was done with them."""
    if tuned is None:
        return ()
    low, high = tuned.bounds.values
    response, radius = variable_title(tuned.stated.response), tuned.bounds.assumptions.radius
    text = (
        f"{number(low)} to {number(high)}: for the choice alone {response} was moved to the nearer of them where it lies beyond, "
        f"with a radius of {number(radius or 0.0)}; what follows the choice goes by the stated bounds"
    )
    return (("Bounds bought from the rows", text),)


def _choice(selection: Selection) -> tuple[tuple[str, str], ...]:
    recipe = selection.recipe
    if recipe.votes is not None:
        return _choice_by_votes(recipe, recipe.votes)
    penalties = sorted(set(recipe.penalties))
    penalty = number(penalties[0]) if len(penalties) == 1 else f"{number(penalties[0])} to {number(penalties[-1])}"
    unit = "squared units of the response" if recipe.method == "pcls" else f"units of {MINUS}2 log-likelihood"
    exact = "exact sampling by OpenDP"
    spread = "infinite: the choice was uniform" if math.isinf(selection.range) else number(selection.range)
    return (
        ("Score", METHOD_NAMES[recipe.method]),
        ("Candidates", f"{recipe.candidates.count:,} models"),
        ("Penalty a column", f"{penalty} {unit}"),
        ("Drawn by", f"{recipe.mechanism}, {exact}"),
        ("Sensitivity paid for", f"range {spread}"),
        ("Rows", "secret" if recipe.rows is None else f"{recipe.rows:,}"),
    )


def _choice_by_votes(recipe: Recipe, rule: VoteRule) -> tuple[tuple[str, str], ...]:
    votes = rule.blocks * rule.partitions
    listed = recipe.mechanism == "permute-and-flip" or recipe.candidates.count <= LISTED_AT_MOST
    return (
        ("Score", METHOD_NAMES["votes"]),
        (
            "How it works",
            f"{rule.partitions} times the rows are dealt at random into {rule.blocks:,} groups; each group is fitted by itself and "
            "says of each variable whether it raises or lowers the response. Where enough groups agree, it is chosen. One "
            "person sits in one group of each deal, so no one can sway more than that group.",
        ),
        ("Candidates", f"{recipe.candidates.count:,} models"),
        ("Lead needed", f"about {rule.threshold:,} of {votes:,} votes for a variable"),
        ("Drawn by", f"{recipe.mechanism}, " + ("exact sampling by OpenDP" if listed else "exact sampling by levels")),
        (
            "Sensitivity paid for",
            f"range {number(4.0 * rule.partitions)}: one person moves a score by {2 * rule.partitions} votes at most",
        ),
        ("Rows", _rows(recipe)),
    )


def _rows(recipe: Recipe) -> str:
    if recipe.rows is None:
        return "secret"
    return f"{recipe.rows:,}" if recipe.assumptions.rows is None else f"about {recipe.rows:,}, as stated"


def _charge(release: Release) -> ChargeFact:
    receipt = release.receipt
    if isinstance(release, Selection):
        what, how = "which model", f"{release.recipe.method}, {release.recipe.mechanism}"
    elif isinstance(release, Tuned):
        what, how = "bounds for the choice", "two private quantiles, permute-and-flip"
    elif isinstance(release, OddsRatios):
        what, how = "its odds ratios", odds_noise(release)
    else:
        what, how = "its coefficients", f"{release.noisy.noise.scale.noise} noise on the moments"
    return ChargeFact(
        what=what,
        how=how,
        epsilon=plain(release.guarantee.epsilon),
        delta=plain(release.guarantee.delta),
        record=str(receipt.index) if receipt else "not charged to a ledger",
        hash=receipt.hash if receipt else "",
    )


def _left(receipt: Receipt | None) -> str:
    """What the ledger had left, for eyes. A delta of 0 is not told: zCDP puts all of it to use, and more may fit all the same."""
    if receipt is None:
        return ""
    left = receipt.left
    return f"epsilon={about(left.epsilon)}" + (f", delta={about(left.delta)}" if left.delta else "")
