"""Public. From a document to the facts on its page: every sentence and number that the public report shows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpselect.assume.budget import about, plain
from dpselect.assume.candidates import SubsetRule, variables_of
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.recipe import Recipe
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Count, Numeric, Variable
from dpselect.assume.vote_rule import VoteRule
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection
from dpselect.release.titles import level_title, variable_title
from dpselect.report.public.estimate_facts import estimate_facts
from dpselect.report.public.facts import ChargeFact, Facts, GuaranteeFact, VariableFact
from dpselect.report.public.numbers import MINUS, listed, number
from dpselect.report.public.words import (
    METHOD_NAMES,
    choice_note,
    factor_text,
    guarantee_sentence,
    guarantee_symbols,
    visible_sentence,
)


def facts_of(analysis: AnalysisRecord) -> Facts:
    """The facts of a report."""
    selection, guarantee = analysis.selection, analysis.guarantee
    study = selection.study
    chosen = set(variables_of([study.columns[j] for j in selection.columns]))
    return Facts(
        title=analysis.title or f"What explains {variable_title(study.response)}?",
        response=_variable(study.response, chosen=True),
        predictors=tuple(_variable(each, chosen=each.name in chosen) for each in study.predictors),
        formula=selection.formula,
        summary=_summary(study, chosen),
        visible=visible_sentence(selection, chosen=bool(chosen)),
        note=choice_note(selection.range),
        settings=(*_settings(study), *(_radius(study) if selection.recipe.votes is None else ())),
        choice=_choice(selection),
        estimate=estimate_facts(analysis.coefficients) if analysis.coefficients else None,
        guarantee=GuaranteeFact(
            epsilon=plain(guarantee.epsilon),
            delta=plain(guarantee.delta),
            factor=factor_text(guarantee.epsilon),
            neighbors=guarantee.neighbors,
            per_person=study.person is not None,
            sentence=guarantee_sentence(guarantee, study.max_rows_per_person),
            symbols=guarantee_symbols(guarantee),
        ),
        charges=tuple(_charge(release) for release in analysis.releases),
        left=_left(analysis.releases[-1].receipt),
        by_votes=selection.recipe.votes is not None,
        study_hash=study.hash,
        fingerprint=analysis.hash,
        release=analysis.to_json(),
        made=analysis.made,
        version=selection.version,
    )


def _variable(variable: Variable, *, chosen: bool) -> VariableFact:
    if isinstance(variable, Numeric):
        unit = f" {variable.unit}" if variable.unit else ""
        kind = "a count" if isinstance(variable, Count) else "a number"
        bounds = " to ".join(number(bound, 6) for bound in variable.bounds) if variable.bounded else kind
        statement = f"{bounds}{unit}" if variable.bounded else f"{bounds}{unit and f' of{unit}'}"
    else:
        shown = [level_title(variable, level) for level in variable.categories]
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


def _summary(study: Study, chosen: set[str]) -> str:
    titles = {each.name: variable_title(each) for each in study.predictors}
    inside = [title for name, title in titles.items() if name in chosen]
    outside = [title for name, title in titles.items() if name not in chosen]
    count = len(titles)
    if not inside:
        return f"None of the {count} variables was chosen."
    text = f"Of {count} variables, {listed(inside)} {'was' if len(inside) == 1 else 'were'} chosen"
    return f"{text}; {listed(outside)} {'was' if len(outside) == 1 else 'were'} not." if outside else f"{text}."


def _settings(study: Study) -> tuple[tuple[str, str], ...]:
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
    person = () if study.person is None else (("Persons", _persons(study)),)
    return (
        ("Intercept", intercept[study.intercept]),
        ("Missing cells", missing[study.missing]),
        *person,
        *_sample(study),
        ("Neighbouring tables", f"{study.neighbors}: {neighbors[study.neighbors]}"),
    )


def _radius(study: Study) -> tuple[tuple[str, str], ...]:
    if study.radius is None:
        return ()
    bound = number(study.radius)
    return (("Radius", f"{bound} (bound on the sum of |coefficients|, variables scaled to [{MINUS}1, 1])"),)


def _sample(study: Study) -> Iterator[tuple[str, str]]:
    """Weights and clusters, where the study states them, and what they do to the choice."""
    if study.cluster is not None:
        yield "Clusters", f"named by {study.cluster}; the rows of a cluster are in one block together"
    if study.weights is not None and study.weight_limit is not None and study.population is not None:
        limit = number(study.weight_limit)
        yield (
            "Weights",
            f"{study.weights}: effects describe the population of {number(study.population)} that the weights stand for. Weights "
            f"above {limit} were moved to {limit}; about {study.expected_rows:,} rows are expected to count in each random split",
        )


def _persons(study: Study) -> str:
    most = study.max_rows_per_person
    return f"named by {study.person}" + ("" if most is None else f"; {most:,} rows of each count at most")


def _choice(selection: Selection) -> tuple[tuple[str, str], ...]:
    recipe = selection.recipe
    if recipe.votes is not None:
        return _choice_by_votes(selection, recipe, recipe.votes)
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


def _choice_by_votes(selection: Selection, recipe: Recipe, rule: VoteRule) -> tuple[tuple[str, str], ...]:
    votes = rule.blocks * rule.partitions
    by_levels = isinstance(recipe.candidates, SubsetRule)
    return (
        ("Score", METHOD_NAMES["votes"]),
        (
            "How it works",
            f"{rule.partitions} times the rows are dealt at random into {rule.blocks:,} groups; each group is fitted by itself and "
            "says of each variable whether it raises or lowers the response. Where enough groups agree, it is chosen. One "
            "person sits in one group of each deal, so no one can sway more than that group.",
        ),
        ("Candidates", f"{recipe.candidates.count:,} models"),
        ("Lead needed", f"about {rule.threshold / WHOLE_VOTE:,.0f} of {votes:,} votes for a variable"),
        (
            "Drawn by",
            f"{recipe.mechanism}, " + ("exact sampling by levels" if by_levels else "exact sampling by OpenDP"),
        ),
        (
            "Sensitivity paid for",
            f"range {number(4.0 * rule.partitions)} votes: one person moves a score by {2 * rule.partitions} at most",
        ),
        ("Directions", _directions(selection)),
        ("Rows", _rows(recipe)),
    )


def _directions(selection: Selection) -> str:
    """Which way each selected variable goes, or why that is not known."""
    if not selection.recipe.directions:
        return "not part of the selection: this table is too short for them at this privacy cost"
    told = [f"{name} {way}" for name, way in selection.directions.items() if way is not None]
    return listed(told) if told else "no variable was selected"


def _rows(recipe: Recipe) -> str:
    if recipe.rows is None:
        return "secret"
    if recipe.study.weights is not None:
        return f"about {recipe.rows:,} are expected to count in each random split: the stated population over the largest weight"
    return f"{recipe.rows:,}" if recipe.study.rows is None else f"about {recipe.rows:,}, as stated"


def _charge(release: Selection | Estimate) -> ChargeFact:
    receipt = release.receipt
    if isinstance(release, Selection):
        what, how = "which model", f"{release.recipe.method}, {release.recipe.mechanism}"
    else:
        what, how = f"its {release.kind.words.many}", release.kind.noise(release.released)
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
    left = receipt.remaining
    return f"epsilon={about(left.epsilon)}" + (f", delta={about(left.delta)}" if left.delta else "")
