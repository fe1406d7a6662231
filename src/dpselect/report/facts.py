"""Public. All that a report says, worked out once from a release. Whatever is not here cannot be printed on a public page."""

from __future__ import annotations

import math
from datetime import date

from dpselect.assume.budget import plain as plain_amount
from dpselect.assume.candidates import crowd_place, mask_of, variables_of, vote_units
from dpselect.assume.power import visible_share
from dpselect.assume.records import Public, readable_json, sha256_of
from dpselect.assume.subgroup import subgroup_words
from dpselect.assume.variables import Binary, Categorical, Numeric, Variable
from dpselect.assume.wide_rule import WideRule
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.drawn import Direction
from dpselect.release.estimate import Estimate
from dpselect.release.selection import Selection
from dpselect.release.tables import level_title, variable_title
from dpselect.report import phrases
from dpselect.report.answer import (
    ChargeFact,
    charge_fact,
    figure_words,
    fit_words,
    has_ranges,
    headline_of,
    hidden_words,
    methodology,
    missed_words,
    not_covered,
    quote_of,
    remaining_words,
    uncertainty,
    weights_words,
)
from dpselect.report.numbers import (
    number,
    percent,
    range_text,
    rounded,
    written,
)
from dpselect.report.phrases import Words, plain, text
from dpselect.report.table import ARROWS, Table, table_of

BELIEFS = (0.01, 0.1, 0.5)
"""What somebody may believe of a person beforehand."""
OUTCOMES = {"binomial": "Yes or no", "poisson": "A count"}
"""What the response of a family of ratios is, for readers."""


class VariableFact(Public, frozen=True, kw_only=True):
    """A variable as it was stated before any row was read; `title` is its label, or its name."""

    name: str
    title: str
    stated: bool
    statement: str
    selected: bool
    reason: str = ""
    direction: Direction | None = None

    @property
    def arrow(self) -> str:
        """Its direction as a sign."""
        return ARROWS[self.direction]


class Facts(Public, frozen=True, kw_only=True):
    """One report. Sentences with names in them are pieces (`phrases.Words`); each card has a name, a value and a note."""

    title: str
    date: str
    made: str
    headline: Words
    hidden_sentence: str
    quote: Words
    cards: tuple[tuple[str, str, str], ...]
    strength: str
    suspicion: str
    association: str
    cost: str
    response: VariableFact
    predictors: tuple[VariableFact, ...]
    category_directions: tuple[str, ...]
    table: Table | None
    figure_words: str
    hidden: tuple[str, str]
    clashes: tuple[tuple[str, str], ...]
    small: str
    fit: tuple[str, ...]
    weights: str
    missed: str
    companions: str
    uncertainty: tuple[tuple[str, str], ...]
    promise: str
    symbols: str
    neighbors: str
    beliefs: tuple[tuple[str, str], ...]
    not_covered: tuple[str, ...]
    limits: bool
    charges: tuple[ChargeFact, ...]
    remaining: str
    methodology: tuple[tuple[str, str], ...]
    formula: str
    citation: str
    by_votes: bool
    study_hash: str
    fingerprint: str
    release: str
    version: str

    @property
    def selected(self) -> tuple[VariableFact, ...]:
        """The variables of the model."""
        return tuple(each for each in self.predictors if each.selected)

    @property
    def considered(self) -> tuple[VariableFact, ...]:
        """The variables that were considered and not selected."""
        return tuple(each for each in self.predictors if not each.selected)

    @property
    def named(self) -> tuple[VariableFact, ...]:
        """Of these the ones that a page names: all, or the first of very many."""
        return self.considered if len(self.considered) <= phrases.MAX_NAMED else self.considered[: phrases.FIRST_NAMED]

    @property
    def assumed(self) -> tuple[VariableFact, ...]:
        """The response and the variables whose assumptions a page lists: all, or of very many those that it names."""
        names = {each.name for each in (*self.selected, *self.named)}
        return (self.response, *(each for each in self.predictors if each.name in names))

    @property
    def assumed_together(self) -> tuple[tuple[VariableFact, ...], ...]:
        """The same, with variables of which the same was stated in one line."""
        groups: dict[tuple[str, str], list[VariableFact]] = {}
        for each in self.assumed[1:]:
            groups.setdefault((each.statement, each.reason), []).append(each)
        return ((self.response,), *map(tuple, groups.values()))

    @property
    def summary(self) -> str:
        """The answer as one line of text."""
        return " ".join(filter(None, (plain(self.headline), self.hidden_sentence)))


def facts_of(analysis: AnalysisRecord) -> Facts:
    """The facts of a report."""
    selection, estimate, cost = analysis.selection, analysis.coefficients, analysis.guarantee
    study, recipe = selection.study, selection.recipe
    selected = set(variables_of([study.columns[place] for place in selection.columns]))
    predictors = tuple(
        _variable(each, selected=each.name in selected, direction=selection.directions.get(each.name))
        for each in study.predictors
    )
    table = table_of(analysis)
    share = _found_share(selection)
    rows, rows_note = _rows(analysis)
    epsilon = plain_amount(cost.epsilon)
    crowd = 0 if selected.difference(selection.always) else _crowd(selection)
    headline = headline_of(analysis, table) or text(phrases.nothing_selected(rows, epsilon, share))
    if crowd:
        again = recipe.votes.second if isinstance(recipe.votes, WideRule) else None
        headline = (*headline, *text(f" {phrases.too_many(crowd, None if again is None else again.top)}"))
    clear = [row for row in table.effects if not row.hidden] if table else []
    hidden = [row for row in table.effects if row.hidden] if table else []
    quote = quote_of(estimate, table, clear) if estimate is not None and table is not None else ()
    made = _date(analysis.made)
    title = analysis.title or f"What explains {variable_title(study.response)}?"
    # The hash and the text inside the page are of the same plain values, so that a page cannot hold one without the other.
    values = analysis.to_dict()
    fingerprint = sha256_of(values)
    small = share is not None and share > phrases.SMALL_TABLE_SHARE and selected
    return Facts(
        title=title,
        date=made,
        made=analysis.made,
        headline=headline,
        hidden_sentence=phrases.no_interval_clear(len(hidden)) if hidden and not clear else "",
        quote=quote,
        cards=(
            ("Rows", rows or "not public", rows_note),
            *_fit_card(estimate),
            (
                "Variables selected",
                f"{len(selected.difference(selection.always))} of {len(predictors) - len(selection.always)}",
                _directions_note(selection, predictors, bool(clear)),
            ),
        ),
        strength=phrases.strength(cost.epsilon, cost.delta),
        suspicion=phrases.suspicion(cost.epsilon),
        association=phrases.ASSOCIATION,
        cost=phrases.cost_symbols(cost.epsilon, cost.delta),
        response=_variable(study.response, selected=True),
        predictors=predictors,
        # A table says of a category how it stands beside its reference; what the votes compared might seem to contradict it.
        category_directions=() if table is not None and table.effects else _category_directions(selection),
        table=table,
        figure_words=figure_words(estimate, table) if estimate is not None and table is not None else "",
        hidden=hidden_words(hidden, table) if hidden and table is not None else ("", ""),
        clashes=tuple((row.label, row.clash) for row in table.effects if row.clash) if table else (),
        small=phrases.small_table(rows, epsilon, share) if small and share is not None else "",
        fit=fit_words(estimate) if estimate is not None else (),
        weights=weights_words(study),
        companions=phrases.companions(recipe.votes) if selected else "",
        missed=missed_words(share, small=bool(small), left=len(selected) < len(predictors)) if selected else "",
        uncertainty=uncertainty(analysis, table if table is not None and table.effects else None),
        promise=phrases.promise(cost, study.max_rows_per_person, person=study.person is not None),
        symbols=phrases.promise_symbols(cost),
        neighbors=study.neighbors,
        beliefs=tuple((percent(each), percent(phrases.belief_after(each, cost.epsilon))) for each in BELIEFS),
        not_covered=not_covered(study),
        limits=has_ranges(study),
        charges=tuple(charge_fact(release) for release in analysis.releases),
        remaining=remaining_words(analysis.releases[-1].receipt),
        methodology=methodology(analysis),
        formula=selection.formula if estimate is None else estimate.formula,
        citation=f"“{title}”{f', {made}' if made else ''}. Differentially private model selection with dpselect "
        f"{selection.version}, {phrases.cost_symbols(cost.epsilon, cost.delta)}, release {fingerprint[:16]}.",
        by_votes=recipe.votes is not None,
        study_hash=study.hash,
        fingerprint=fingerprint,
        release=readable_json(values),
        version=selection.version,
    )


def _category_directions(selection: Selection) -> tuple[str, ...]:
    """What the votes say of categories, one sentence each."""
    variables = {each.name: each for each in selection.study.predictors}
    said = []
    for column in (selection.study.columns[place] for place in selection.columns):
        way, factors = selection.directions.get(column.name), column.factors
        variable = variables[factors[0].variable] if len(factors) == 1 else None
        if way is not None and isinstance(variable, Categorical):
            assert factors[0].level is not None
            said.append(phrases.category_direction(variable, factors[0].level, way, selection.recipe.votes))
    return tuple(said)


def _crowd(selection: Selection) -> int:
    """From how many leading variables on none is selected; 0 where that is no outcome."""
    rule = selection.recipe.votes
    return crowd_place(rule.crowd, selection.recipe.candidates) if isinstance(rule, WideRule) else 0


def _found_share(selection: Selection) -> float | None:
    """The share of the variance that was enough to be found beside what is selected.

    None where it is not known, or an edited release states nonsense.
    """
    try:
        selected = mask_of(selection.columns)
        beside = sum(unit & selected == unit for unit in vote_units(selection.recipe.candidates))
        return visible_share(selection.recipe, selection.range, beside)
    except (ArithmeticError, ValueError):
        return None


def _variable(variable: Variable, *, selected: bool, direction: Direction | None = None) -> VariableFact:
    if isinstance(variable, Numeric):
        limits = " to ".join(number(limit, 6) for limit in variable.bounds) if variable.bounded else "a number"
        statement = (
            range_text(limits, variable.unit)
            if variable.bounded or not variable.unit
            else f"a number, in {variable.unit}"
        )
    else:
        shown = [level_title(variable, level) for level in variable.categories]
        if isinstance(variable, Binary):
            statement = f"{shown[0]} (0) or {shown[1]} (1)"
        else:
            assert variable.reference is not None
            statement = f"{', '.join(shown)} (reference: {level_title(variable, variable.reference)})"
    return VariableFact(
        name=variable.name,
        title=phrases.shown_title(variable),
        stated=bool(variable.label),
        statement=statement,
        selected=selected,
        reason=variable.reason,
        direction=direction,
    )


def _date(made: str) -> str:
    """17 November 2026, from 2026-11-17."""
    try:
        day = date.fromisoformat(made)
    except ValueError:
        return made
    return f"{day.day} {day:%B %Y}"


def _rows(analysis: AnalysisRecord) -> tuple[str, str]:
    """The number of rows as far as it is public, and what it is."""
    selection, estimate = analysis.selection, analysis.coefficients
    study = selection.study
    per = "" if study.max_rows_per_person is None else f"at most {study.max_rows_per_person:,} per person"
    if study.weights is not None:
        return f"about {study.expected_rows:,}", "expected to count"
    if study.only is not None:
        return f"about {study.expected_rows:,}", f"with {subgroup_words(study.only)}"
    if study.neighbors == "replace-one" and selection.recipe.rows is not None:
        return f"{selection.recipe.rows:,}", per
    if estimate is not None and estimate.rows > 0:
        place = max(math.floor(math.log10(estimate.rows)) - 1, 0)
        return f"about {written(rounded(estimate.rows, place))}", per or "counted with noise"
    return (f"about {study.rows:,}", per or "as stated") if study.rows is not None else ("", per)


def _directions_note(selection: Selection, predictors: tuple[VariableFact, ...], clear: bool) -> str:
    told = [way for way in selection.directions.values() if way is not None]
    count = sum(each.selected for each in predictors)
    if not count:
        return ""
    if not selection.recipe.directions or not told:
        return "directions from the estimates" if clear else "directions not part of the selection"
    return "direction known" if count == 1 else "directions known"


def _fit_card(estimate: Estimate | None) -> tuple[tuple[str, str, str], ...]:
    if estimate is None or not any(estimate.study.columns[place].factors for place in estimate.columns):
        return ()
    if estimate.kind.ratios:
        outcome = OUTCOMES[estimate.family]
        return (("Outcome", outcome, f"result: {estimate.kind.words.many}"),)
    share = estimate.r_squared
    if share.value is None:
        return (("Variance explained", "hidden", "R², by noise"),)
    value, span = phrases.r_squared_text(share.value, share.lower, share.upper)
    return (("Variance explained", value, f"R², {span}"),)
