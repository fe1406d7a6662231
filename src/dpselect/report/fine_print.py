"""Public. The fine print of a report: how to read its uncertainty, what is not promised, what it cost, and how it was made."""

from __future__ import annotations

import math

from dpselect.assume.budget import plain as plain_amount
from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule, listed_sets
from dpselect.assume.false_findings import expected_false
from dpselect.assume.recipe import Recipe
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.assume.subgroup import subgroup_words
from dpselect.assume.terms import INTERCEPT
from dpselect.assume.variables import Numeric
from dpselect.assume.wide_rule import WideRule
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.estimate import Estimate
from dpselect.release.ledger.entries import Receipt
from dpselect.release.selection import Selection
from dpselect.report import phrases
from dpselect.report.numbers import MINUS, number, power_of_ten
from dpselect.report.table import Table


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
        said.append(
            (
                "The direction comes with the selection,",
                "from votes of many small blocks of rows. It does not depend on the estimated size.",
            )
        )
    if isinstance(selection.recipe.votes, WideRule) and selection.columns:
        lead, _, rest = phrases.COMPANIONS.partition(". ")
        said.append((f"{lead}.", rest))
    lead, _, rest = phrases.selection_note(selection.range).partition(". ")
    said.append((f"{lead}.", rest))
    expected = expected_false(selection.recipe)
    if expected is not None:
        said.append(("Chance alone selects few variables.", phrases.false_findings(expected, "the response")))
    if analysis.coefficients is not None and table is not None:
        said += interval_limits(analysis.coefficients)
    return tuple(said)


def interval_limits(estimate: Estimate) -> list[tuple[str, str]]:
    """What the intervals do not allow for, each point with what comes first."""
    study, said = estimate.study, []
    if any(isinstance(each, Numeric) and each.bounded for each in (study.response, *study.predictors)):
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
    if not left.epsilon:
        return "Remaining budget: none."
    return f"Remaining budget: {phrases.cost_symbols(left.epsilon, left.delta)}."


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
    else:
        how = (
            f"the rows are split at random into {rule.blocks:,} blocks, {split}; each block votes on the direction of each "
            "variable; variables with a clear majority are selected"
        )
    return f"{name} by {recipe.mechanism}: {how}. {price} (range {4 * rule.partitions}); {models}"


def weights_words(study: Study) -> str:
    """What weighted effects describe; empty without weights."""
    return "" if study.weights is None else phrases.weights_note(study.weight_limit)
