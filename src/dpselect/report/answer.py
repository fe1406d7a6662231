"""Public. The answer of a report: the headline, an effect to quote, and what is said around the table."""

from __future__ import annotations

import math

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.variables import Binary, Categorical, Category, Numeric, Variable
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.release.tables import column_titles, level_title, variable_title
from dpselect.report import phrases
from dpselect.report.numbers import interval_place, interval_text, rounded, written
from dpselect.report.phrases import Words, named, text
from dpselect.report.table import TIMES, Row, Table


def headline_of(analysis: AnalysisRecord, table: Table | None) -> Words:
    """The answer in one or two sentences; empty where nothing was selected."""
    selection, estimate = analysis.selection, analysis.coefficients
    study, columns = selection.study, [selection.study.columns[place] for place in selection.columns]
    rows = {row.term: row for row in table.effects} if table else {}
    single = {column.factors[0].variable for column in columns if len(column.factors) == 1}
    lists: dict[str, list[Words]] = {
        name: [] for name in ("up", "down", "higher", "lower", "differs", "unclear", "stated")
    }
    variables = {each.name: each for each in study.predictors}
    products = list(
        dict.fromkeys(tuple(each.variable for each in column.factors) for column in columns if len(column.factors) > 1)
    )
    models = selection.recipe.candidates
    needed = isinstance(models, SubsetRule) and models.needs
    parts = {name for factors in products for name in factors} if needed else set()
    for variable in study.predictors:
        if variable.name not in single:
            continue
        name = named(variable_title(variable), bool(variable.label))
        term = variable.name if (other := _other(variable)) is None else f"{variable.name}[{other}]"
        row = rows.get(term)
        way = selection.directions.get(term) if row is None else row.direction
        if variable.name in selection.always:
            lists["stated"].append(name)
        elif isinstance(variable, Categorical) and (other is None or way is None):
            lists["differs"].append(name)
        elif way is None:
            # One that is in with its product is named by that.
            lists["unclear"] += [] if variable.name in parts else [name]
        elif not isinstance(variable, Numeric):
            lists["higher" if way == "up" else "lower"].append(_group(variable))
        else:
            lists[way].append(name)
    for factors in products:
        joined: Words = ()
        for place, factor in enumerate(factors):
            each = variables[factor]
            joined = (*joined, *(text(" with ") if place else ()), *named(variable_title(each), bool(each.label)))
        lists["differs"].append((*text("the combination of "), *joined))
    if not any(lists.values()):
        return ()
    quantity = "" if estimate is None else estimate.kind.words.quantity
    label = study.response.label
    plural = quantity == "odds" or (not quantity and bool(label) and phrases.is_plural(label))
    if not quantity and isinstance(study.response, Binary):
        subject: Words = (*text("The probability of "), *phrases.event_of(study))
        plural = False
    else:
        subject = phrases.subject_of(study, quantity)
    return phrases.headline(subject, plural, **lists)


def _other(variable: Variable) -> Category | None:
    """Of two categories the one that is compared with the reference; None for any other variable."""
    if not isinstance(variable, Categorical) or len(variable.categories) != 2:
        return None
    return next(each for each in variable.categories if each != variable.reference)


def _group(variable: Binary | Categorical) -> Words:
    """Whom a yes is about: the label, or the category if that says more than yes.

    One of two categories has its variable's name beside it, for "other" says little by itself.
    """
    name = named(variable_title(variable), bool(variable.label))
    shown = variable.categories[1] if isinstance(variable, Binary) else _other(variable)
    assert shown is not None
    yes = level_title(variable, shown)
    if phrases.is_yes(yes):
        return name
    beside = (*text(" ("), *name, *text(")")) if isinstance(variable, Categorical) else ()
    return (*named(yes, True), *beside)


def quote_of(estimate: Estimate, table: Table, clear: list[Row]) -> Words:
    """The largest clear effect that has words for one more of it, as a sentence to quote."""
    variables = {each.name: each for each in estimate.study.predictors}
    fit = [row for row in clear if row.kind in ("number", "binary") and not row.clash]
    fit = [
        row
        for row in fit
        if (row.kind == "binary" and row.stated) or variables[row.term].unit or variables[row.term].one_more
    ]
    if not fit:
        return ()
    precise = {term.name: abs(term.value or 0.0) / (term.error or math.inf) for term in estimate.terms}
    row = max(fit, key=lambda each: each.size or 0.0 if table.compared else precise[each.term])
    variable, term = variables[row.term], estimate[row.term]
    scale = 10.0**row.power * (100.0 if isinstance(estimate.study.response, Binary) and not table.ratios else 1.0)
    value, low, high = (None if end is None else end * scale for end in (term.value, term.lower, term.upper))
    assert value is not None
    others, level = len(table.effects) > 1, table.level
    name = named(variable_title(variable), bool(variable.label))
    one_more = phrases.further(variable.unit, row.power, variable.one_more, name)
    if table.ratios:
        compared = (*text("for "), *(_group(variable) if isinstance(variable, Binary) else one_more))
        ratio, *ends = (None if end is None else math.exp(end) for end in (value, low, high))
        assert ratio is not None
        subject = phrases.subject_of(estimate.study, estimate.kind.words.quantity)
        odds = estimate.kind.words.quantity == "odds"
        return phrases.ratio_effect(subject, compared, ratio, (ends[0], ends[1]), odds=odds, others=others, level=level)
    if isinstance(variable, Binary):
        group = _group(variable)
        return phrases.quotable_group(group, value, (low, high), estimate.study, others=others, level=level)
    return phrases.quotable_effect(one_more, value, (low, high), estimate.study, others=others, level=level)


def figure_words(estimate: Estimate, table: Table) -> str:
    """What the figure compares."""
    steps = {row.kind for row in table.effects}
    if table.compared:
        parts = "a typical low with a typical high value of each variable, 2 standard deviations (SD) apart"
        parts += ", or a category with its reference" if steps & {"category", "pair"} else ""
        one = table.one if table.ratios else "effect"
        said = f"The figure compares {parts}. The numbers give the {one} per unit named beside them."
    elif steps <= {"binary", "pair", "category"}:
        said = "The figure and the numbers compare one category with another."
    else:
        said = "The figure and the numbers give the change for the step named in each row."
    held = " Each effect holds the other selected variables constant." if len(table.effects) > 1 else ""
    if table.ratios:
        what = estimate.kind.words.quantity
        twice = f"An {table.one} of" if table.one[0] in "aeiou" else f"A {table.one} of"
        verb = "are" if what == "odds" else "is"
        noun = what if what == "odds" else what.removesuffix("s")
        said = f"{twice} {TIMES} 2 means that the {noun} {verb} twice as high; {TIMES} 1 means no difference. {said}"
    return f"{said}{held}"


def hidden_words(hidden: list[Row], table: Table) -> tuple[str, str]:
    """How many effects noise hides, and what that means."""
    count = len(table.effects)
    lead = f"Hidden by noise: {len(hidden)} of {count} effect{'' if count == 1 else 's'}."
    arrows = any(row.direction for row in hidden)
    return lead, phrases.hidden_note(len(hidden), count, directions=arrows, ratios=table.ratios)


def fit_words(estimate: Estimate) -> tuple[str, ...]:
    """The residual deviation, and unadjusted effects of variables that the whole model could not show."""
    said, rest = [], estimate.residual_deviation
    if rest.value is not None and not estimate.kind.ratios and not isinstance(estimate.study.response, Binary):
        ends = rest.lower, rest.upper
        size = written(rounded(rest.value, interval_place(rest.value, *ends)))
        amount = phrases.with_unit(size, estimate.study.response.unit)
        said.append(f"Residual standard deviation: {amount} ({interval_text(*ends, rest.value)}).")
    scale = 100.0 if isinstance(estimate.study.response, Binary) and not estimate.kind.ratios else 1.0
    alone = [term for term in estimate.unadjusted if term.determined and not term.hidden]
    if alone and not estimate.kind.ratios:
        parts, titles = [], column_titles(estimate.study)
        for term in alone:
            low, high = (None if end is None else end * scale for end in (term.lower, term.upper))
            place = interval_place((term.value or 0.0) * scale, low, high)
            size = written(rounded((term.value or 0.0) * scale, place), sign=True)
            parts.append(f"{titles.get(term.name, term.name)} {size} ({interval_text(low, high, place=place)})")
        said.append(f"Unadjusted effects, one variable at a time: {'; '.join(parts)}.")
    return tuple(said)


def missed_words(share: float | None, *, small: bool, left: bool) -> str:
    """What may have been missed; a small table has said already how little it shows."""
    if small:
        return "This does not show that they have no effect." if left else ""
    return phrases.found_share(share, any_left=left)
