"""Public. What a report says, in order: the answer (headline, an effect to quote, what surrounds the table), then the fine print.

The fine print says how to read the uncertainty, what is not promised, what it cost, and how it was made.
"""

from __future__ import annotations

import math

from dpselect.assume.budget import plain as plain_amount
from dpselect.assume.candidates import SubsetRule, columns_of, vote_units
from dpselect.assume.edge_rule import EdgeRule, listed_sets
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.power import expected_false
from dpselect.assume.recipe import Recipe
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.subgroup import subgroup_words
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Binary, Categorical, Category, Numeric, Variable
from dpselect.assume.wide_rule import WideRule
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection
from dpselect.release.tables import column_titles, level_title, variable_title
from dpselect.report import phrases
from dpselect.report.numbers import (
    MINUS,
    TIMES,
    estimate_text,
    interval_text,
    is_plural,
    number,
    power_of_ten,
    with_unit,
)
from dpselect.report.phrases import Words, named, text
from dpselect.report.table import Row, Table, response_scale


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
    plural = quantity == "odds" or (not quantity and bool(label) and is_plural(label))
    if not quantity and isinstance(study.response, Binary):
        subject: Words = (*text("The probability of "), *phrases.event_of(study))
        plural = False
    else:
        subject = phrases.subject_of(study, quantity)
    tells = bool(rows) or selection.recipe.directions or any(selection.directions.values())
    return phrases.headline(subject, plural, **lists, tells=tells)


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
    scale = 10.0**row.power * response_scale(estimate)
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
        amount = with_unit(estimate_text(rest.value, *ends, sign=False), estimate.study.response.unit)
        said.append(f"Residual standard deviation: {amount} ({interval_text(*ends, rest.value)}).")
    scale = response_scale(estimate)
    alone = [term for term in estimate.unadjusted if term.determined and not term.hidden]
    if alone and not estimate.kind.ratios:
        parts, titles = [], column_titles(estimate.study)
        for term in alone:
            low, high = (None if end is None else end * scale for end in (term.lower, term.upper))
            value = (term.value or 0.0) * scale
            size, span = estimate_text(value, low, high), interval_text(low, high, value)
            parts.append(f"{titles.get(term.name, term.name)} {size} ({span})")
        said.append(f"Unadjusted effects, one variable at a time: {'; '.join(parts)}.")
    return tuple(said)


def missed_words(share: float | None, *, small: bool, left: bool) -> str:
    """What may have been missed; a small table has said already how little it shows."""
    if small:
        return "This does not show that they have no effect." if left else ""
    return phrases.found_share(share, any_left=left)


class ChargeFact(Public, frozen=True, kw_only=True):
    """One charge: what it was spent on, how, and its place in the ledger if it has one."""

    what: str
    how: str
    epsilon: str
    delta: str
    entry: str


def uncertainty(analysis: AnalysisRecord, table: Table | None) -> tuple[tuple[str, str], ...]:
    """How to read the uncertainty: each point with what comes first."""
    selection = analysis.selection
    said: list[tuple[str, str]] = []
    if table is not None:
        said.append(
            (
                f"The {table.level} interval allows for two sources of error:",
                "chance in the sample, and the noise added for privacy. Intervals made this way contain the true value in about "
                f"{table.level} of studies.",
            )
        )
        if table.adjusted:
            said.append(
                (
                    "The thin line is adjusted for selection.",
                    "The same data selected the variables and estimated their effects, which favors large estimates. The adjusted "
                    "interval allows for that too.",
                )
            )
    if selection.recipe.directions:
        category = "" if table is None or not any(row.level for row in table.rows) else phrases.CATEGORY_ARROW
        said.append(
            (
                "The direction comes with the selection,",
                f"from votes of many small blocks of rows. It does not depend on the estimated size.{category}",
            )
        )
    elif table is not None and table.adjusted and any(row.direction for row in table.effects):
        said.append(
            (
                "The direction is that of the estimate.",
                "Where the adjusted interval includes zero, it is clear only without that adjustment.",
            )
        )
    if selection.columns and (note := phrases.companions(selection.recipe.votes)):
        lead, _, rest = note.partition(". ")
        said.append((f"{lead}.", rest))
    lead, _, rest = phrases.selection_note(selection.range).partition(". ")
    said.append((f"{lead}.", rest))
    expected = expected_false(selection.recipe)
    if expected is not None:
        said.append(("Chance alone selects few variables.", phrases.false_findings(expected, "the response")))
    if analysis.coefficients is not None and table is not None:
        said += interval_limits(analysis.coefficients)
    return tuple(said)


def has_ranges(study: Study) -> bool:
    """Whether values outside a stated range can have been moved to its limit."""
    return any(isinstance(each, Numeric) and each.bounded for each in (study.response, *study.predictors))


def interval_limits(estimate: Estimate) -> list[tuple[str, str]]:
    """What the intervals do not allow for, each point with what comes first."""
    study, said = estimate.study, []
    if has_ranges(study):
        moved = "Values outside the stated ranges were moved to the nearest limit."
        said.append((moved, "The intervals do not allow for that."))
    if study.unbounded:
        lead = "No range was stated for some variables."
        said.append(
            (lead, "Extreme values of these count for less. The intervals allow for what of that could be seen.")
        )
    if study.rows_per_person > 1 and not isinstance(estimate.released, Rounds):  # rounds count persons
        said.append(
            ("A person can have several rows.", "If the rows of a person are alike, the intervals are too short.")
        )
    return said


def not_covered(study: Study) -> tuple[str, ...]:
    """What the promise does not cover."""
    said = [
        "What is true of people in general, whether or not they took part.",
        "Other publications from the same data. Their costs add up.",
        "Ranges, categories and other assumptions that were read from the data.",
    ]
    if study.person is None:
        said.append("A person with several rows: the promise is for one row.")
    if study.neighbors == "replace-one":
        said.append("The number of rows, which is public.")
    said.append("How long the computation took, if someone could measure it.")
    return tuple(said)


def charge_fact(release: Selection | Estimate) -> ChargeFact:
    """What a release was charged for, and how it was drawn."""
    if isinstance(release, Selection):
        what = "Selection and directions" if release.recipe.directions else "Selection"
        method = phrases.METHOD_NAMES[release.recipe.method].partition(" (")[0]
        how = f"{method}, {release.recipe.mechanism}"
    else:
        many = release.kind.words.many
        what, how = f"{many.capitalize()} and intervals", release.kind.noise(release.released)
    receipt = release.receipt
    return ChargeFact(
        what=what,
        how=how,
        epsilon=plain_amount(release.guarantee.epsilon),
        delta=power_of_ten(plain_amount(release.guarantee.delta)),
        entry=str(receipt.index) if receipt else "none",
    )


def remaining_words(receipt: Receipt | None) -> str:
    """What the ledger had left. A delta of 0 is not told: zCDP puts all of it to use, and more may still fit."""
    if receipt is None:
        return "Not charged to a ledger."
    left = receipt.remaining
    return phrases.remaining_budget(phrases.cost_symbols(left.epsilon, left.delta) if left.epsilon else "")


def methodology(analysis: AnalysisRecord) -> tuple[tuple[str, str], ...]:
    """One line a subject, for methodologists."""
    selection, estimate = analysis.selection, analysis.coefficients
    study, recipe = selection.study, selection.recipe
    constant = {"always": "constant always included", "candidate": "constant considered", "none": "no constant"}
    missing = {
        "error": "none allowed",
        "midpoint": "replaced by the middle of the range",
        "zero-row": "the row counts for nothing",
    }
    neighbors = {
        "replace-one": "replace-one: one row replaced by another; the number of rows is public",
        "add-remove-one": "add-remove-one: one row added or removed; the number of rows is not public",
    }
    kind = {"": "linear regression", "odds": "logistic regression"}
    quantity = "" if estimate is None else estimate.kind.words.quantity
    model = kind.get(quantity, "Poisson regression")
    said = [
        ("Model", f"{model}, {constant[study.intercept]}"),
        ("Selection", _selection_line(selection, recipe)),
    ]
    if analysis.beside:
        others = ", ".join(analysis.beside)
        said.append(("Several responses", f"released together with reports on {others}, from one budget; costs add up"))
    if stated := stated_terms(recipe):
        said.append(("Terms", stated))
    if estimate is not None:
        said.append((estimate.kind.words.many.capitalize(), estimate.kind.noise(estimate.released)))
    if recipe.votes is None and study.radius is not None:
        said.append(
            ("Radius", f"{number(study.radius)}: limit on the sum of |coefficients|, variables scaled to [{MINUS}1, 1]")
        )
    weights = "none"
    if study.weights is not None and study.population is not None and study.weight_limit is not None:
        weights = (
            f"{study.weights}, limit {number(study.weight_limit)}; population {number(study.population)}; about "
            f"{study.expected_rows:,} rows are expected to count in each random split"
        )
    if study.only is not None:
        said.append(("Subgroup", f"rows with {subgroup_words(study.only)}; the result describes these alone"))
    said += [
        ("Neighbors", neighbors[study.neighbors]),
        ("Weights", weights),
        ("Missing values", missing[study.missing]),
    ]
    if study.person is not None:
        most = study.max_rows_per_person
        rows = "all rows count in the selection" if most is None else f"{most:,} rows of each count at most"
        said.append(("Person-level privacy", f"persons named by {study.person}; {rows}"))
    if study.cluster is not None:
        said.append(
            (
                "Clusters",
                f"named by {study.cluster}; the rows of a cluster are in one block, and intervals allow for rows that are alike",
            )
        )
    said.append(("Random numbers", "from the operating system, by OpenDP and exact draws; no seed"))
    return tuple(said)


def stated_terms(recipe: Recipe) -> str:
    """What was stated of the terms of every model, such as which are always in; empty if nothing was."""
    models, columns = recipe.candidates, recipe.study.columns
    if not isinstance(models, SubsetRule):
        return ""

    def name(term: int) -> str:
        return ":".join(factor.variable for factor in columns[columns_of(term)[0]].factors) or INTERCEPT

    always = dict.fromkeys(name(1 << place) for place in columns_of(models.always) if columns[place].factors)
    said = [f"in every model, not selected: {', '.join(always)}"] if always else []
    said += [f"exactly one of {', '.join(name(models.terms[place]) for place in group)}" for group in models.one_of]
    said += ["products only with their parts, of which no direction is told"] if models.needs else []
    said += [f"at least {models.at_least} selected"] if models.at_least > 1 else []
    said += [f"at most {models.limit} columns selected"] if models.limit is not None else []
    return "; ".join(said)


def _selection_line(selection: Selection, recipe: Recipe) -> str:
    name = phrases.METHOD_NAMES[recipe.method]
    rule = recipe.votes
    count = recipe.candidates.count if not isinstance(rule, EdgeRule) else len(listed_sets(recipe.candidates, rule))
    if isinstance(rule, WideRule) and rule.second is not None:
        terms = len(vote_units(recipe.candidates))
        count = sum(math.comb(terms, size) for size in range(min(rule.second.top, terms) + 1))
    models = f"{phrases.count_words(count)} models considered"
    if rule is None:
        penalties = sorted(set(recipe.penalties))
        penalty = number(penalties[0]) if len(penalties) == 1 else f"{number(penalties[0])} to {number(penalties[-1])}"
        spread = "infinite" if math.isinf(selection.range) else number(selection.range)
        return f"{name} by {recipe.mechanism}; penalty {penalty} per column; range of the score {spread}; {models}"
    split, price = f"{rule.partitions} times", f"One row changes a score by at most {2 * rule.partitions} votes"
    if isinstance(rule, EdgeRule):
        how = (
            f"for each size of model the rows are split at random, {split}, into {max(rule.blocks):,} down to "
            f"{min(rule.blocks):,} blocks; each block votes on the direction of each variable beside each set of others. A model "
            "is selected if its variables all have a clear majority beside the others, and no other variable has one beside it"
        )
    elif isinstance(rule, WideRule):
        rows = "the rows are" if rule.share == 1 else f"a random {number(100 * rule.share, 2)}% of the rows is"
        how = (
            f"{rows} split at random into {rule.blocks:,} blocks of about {rule.size} rows, {split}; each block votes on the "
            "direction of each variable; variables with a clear majority are selected"
        )
        if (second := rule.second) is not None:
            how = how.removesuffix("are selected") + (
                f"are looked at again, up to {second.leaders}: {second.partitions} more splits into {second.blocks:,} blocks, "
                "which vote on each of them beside sets of the others. A model is selected if its variables all have a clear "
                f"majority beside the others, and no other variable has one beside it; it has up to {second.top} variables"
            )
    else:
        how = (
            f"the rows are split at random into {rule.blocks:,} blocks, {split}; each block votes on the direction of each "
            "variable; variables with a clear majority are selected"
        )
    return f"{name} by {recipe.mechanism}: {how}. {price} (range {rule.range // WHOLE_VOTE}); {models}"


def weights_words(study: Study) -> str:
    """What weighted effects describe; empty without weights."""
    return "" if study.weights is None else phrases.weights_note(study.weight_limit)
