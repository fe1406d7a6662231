"""Confidential. The page that must not be published: how the data fit the study, and what a run would select."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpselect.assume.budget import plain
from dpselect.assume.power import visible_share
from dpselect.assume.study import Study
from dpselect.assume.variables import LEAVE_OUT, Categorical
from dpselect.gather.fit import TableFit, VariableFit, WeightFit
from dpselect.rehearse.check.effects import REHEARSED_RELEASES, EffectPreview, Setting
from dpselect.rehearse.check.preview import Curve, Preview, model_names
from dpselect.report.curves import LETTERS, curve_chart
from dpselect.report.numbers import interval_text, number, percent
from dpselect.report.page import render
from dpselect.report.phrases import (
    LITTLE_SHARE,
    METHOD_NAMES,
    VISIBLE_SHARE,
    count_words,
    direction_against,
    hardly_anything,
    names_with_more,
)

WATERMARK = "Confidential: do not publish"
OFTEN = 0.05
"""A share of values outside the range, or missing, above which the study deserves a second look."""
WEIGHTS_APART = 0.2
"""A share of the stated population by which the sum of weights may be off: blocks of a survey are that much smaller or larger."""
FITS = "The data fit the study."
PROBABLY_HIDDEN = 0.5
"""A chance of being clear below which an effect will probably stay hidden."""
LIKELY = 0.5
"""A chance from which something is likely to be selected."""
RARE_CATEGORY = 0.05
"""A share of the rows below which a category is worth merging."""
SETTINGS = (
    "The same run at other privacy costs and with another split: the share of the best model's R² that the selection explains, "
    "and how many effects are expected to be clear."
)


def share(count: int, rows: int) -> str:
    """A count as a share people read: 0, 3 (3.1%), 97 (100%)."""
    percentage = 100 * count / max(rows, 1)
    return "0" if count == 0 else f"{count:,} ({percentage:{'.0f' if percentage >= 10 else '.2g'}}%)"


def remarkable_rows(fit: TableFit) -> list[list[str]]:
    """The rows of the variables that have values outside their range, or missing ones."""
    return [row for row in fit_rows(fit) if set(row[1:]) != {"0"}]


NOTHING_REMARKABLE = "No missing values. No values outside a stated range."


def fit_rows(fit: TableFit) -> list[list[str]]:
    """One row a variable: name, below, above, missing."""
    return [
        [each.name, share(each.below, fit.rows), share(each.above, fit.rows), share(each.missing, fit.rows)]
        for each in fit.variables
    ]


def advice(fit: TableFit, missing: str) -> list[str]:
    """What the custodian should look at, one sentence each; none only if nothing is remarkable."""
    sentences: list[str] = []
    response = fit.variables[0].name
    for one, other in fit.twins:
        if other == response:
            sentences.append(
                f"'{one}' is nearly the same as the response. If it was computed from the response, leave it out."
            )
        else:
            sentences.append(
                f"'{one}' and '{other}' are nearly the same: either may be selected for both. Keep one of them."
            )
    sentences += [sentence for each in fit.variables for sentence in _remarks(each, fit.rows, missing)]
    if fit.weights is not None:
        sentences += _weight_remarks(fit.weights, fit.rows, missing)
    unusable = fit.weights is not None and fit.weights.unusable
    if missing == "error" and (unusable or any(each.missing for each in fit.variables)):
        sentences.append("A run would stop at the first such cell and spend nothing, so there is no preview.")
    return sentences


def _remarks(each: VariableFit, rows: int, missing: str) -> Iterator[str]:
    # One sentence for all that is missing, the likeliest cause first: an unused category beside unknown cells is a spelling.
    unknown = each.missing > OFTEN * rows
    if each.missing and each.unused:
        yield (
            f"'{each.name}': {share(each.missing, rows)} of the cells are missing or have an unknown category, and no row has the "
            f"stated {_quoted(each.unused)}. Check its spelling in the code book."
        )
    elif each.missing and missing == "error":
        yield (
            f"'{each.name}' has missing values, or values that are not among its categories. Correct them, state the category, "
            f"or leave such rows out: {LEAVE_OUT}."
        )
    elif unknown:
        yield f"'{each.name}': {share(each.missing, rows)} of the cells have no usable value. Check its type."
    elif each.unused and not each.constant:
        yield f"No row has the category {_quoted(each.unused)} of '{each.name}'."
    if each.below + each.above > OFTEN * rows:
        yield (
            f"Many values of '{each.name}' are outside its range. Check the unit. Change the range only for reasons "
            "that do not come from these rows."
        )
    # A column with no usable cell, or a single row, is constant too, but a unit is not what is wrong with it.
    if each.constant and rows > 1 and each.missing < rows:
        yield f"'{each.name}' is the same in every row after values were moved to the nearest limit. Check the unit."


def _weight_remarks(weights: WeightFit, rows: int, missing: str) -> Iterator[str]:
    if weights.unusable and missing == "error":
        yield (
            f"'{weights.name}' has weights that are missing, negative or infinite. Correct them, or leave such rows out: "
            f"{LEAVE_OUT}."
        )
    if weights.above > OFTEN * rows:
        yield f"Many weights are above the limit. Check weight_limit: it should be near the largest weight of '{weights.name}'."
    # Written so that a sum that is no number is remarked on too.
    if not abs(weights.total / weights.population - 1) <= WEIGHTS_APART:
        yield (
            f"The weights add up to about {number(weights.total)}, and the study states a population of "
            f"{number(weights.population)}. Check both in the survey's documentation."
        )


def _quoted(levels: tuple[str, ...]) -> str:
    shown = ", ".join(repr(level) for level in levels[:5])
    return shown + (f" and {len(levels) - 5} more" if len(levels) > 5 else "")


def price_sentence(seen: Preview) -> str:
    """What is previewed: the privacy cost, and the part of it that pays for the selection."""
    whole, part = seen.epsilon, seen.recipe.guarantee.epsilon
    method = METHOD_NAMES[seen.recipe.method].partition(" (")[0]
    how = f"{method} by {seen.recipe.mechanism} among {count_words(seen.recipe.candidates.count)} models"
    if part == whole:
        return f"Preview of select at epsilon {plain(whole)}: {how}."
    return f"Preview of analyze at epsilon {plain(whole)}, of which {plain(part)} pays for the selection: {how}."


def too_short_sentence(seen: Preview) -> str:
    """That a table is far too short for its columns and its privacy cost; empty where it is not.

    The rule is public, but for a table in which something is likely to be selected all the same.
    """
    recipe = seen.recipe
    rows, share = recipe.study.expected_rows or recipe.rows, visible_share(recipe, math.inf)
    # The range of PCPL is bought from the rows, so no share is known beforehand.
    if rows is None or share is None or share < LITTLE_SHARE or recipe.bound_epsilon:
        return ""
    if share < VISIBLE_SHARE and max(seen.inclusion, default=0.0) >= LIKELY:
        return ""
    return hardly_anything(f"{rows:,}", plain(seen.epsilon), share)


def chosen_rows(seen: Preview) -> list[list[str]]:
    """One row a term: its chance of being in the chosen model, the likeliest first; and its direction, where that is told."""
    return [
        [percent(seen.inclusion[place]), name, *([direction_text(name, seen)] if seen.directions else [])]
        for place, name in _ranked(seen)
    ]


def direction_text(term: str, seen: Preview) -> str:
    """The likeliest direction of a term, with the chance that it is told: "up 98.0%", or "[Napa] down 71.2%"."""
    own = {name: chances for name, chances in seen.directions.items() if name == term or name.startswith(f"{term}[")}
    ways = [(chance, name, way) for name, each in own.items() for chance, way in zip(each, ("up", "down"), strict=True)]
    chance, name, way = max(ways, default=(0.0, "", ""))
    return f"{name.removeprefix(term)} {way} {percent(chance)}".strip() if chance > 0 else ""


def direction_words(seen: Preview) -> str:
    """What the direction of a category compares; empty where none is told."""
    told = any(direction_text(term, seen).startswith("[") for term in seen.terms)
    return (
        f"In brackets: the direction of that category, against {direction_against(seen.recipe.votes)}." if told else ""
    )


def model_rows(seen: Preview) -> list[list[str]]:
    """One row a model: the likeliest ones, then those asked for."""
    leading = zip(seen.chances, model_names(seen.models), strict=True)
    asked = [(chance, f"{model_names([model])[0]}  (asked for)") for model, chance in seen.asked]
    return [[percent(chance), name] for chance, name in [*leading, *asked]]


EFFECTS = (
    "If the first model is selected: the chance that an effect is clear (not hidden by noise), and a typical 95% interval of its "
    "coefficient. Coefficients of odds and rates are logarithms."
)


def effect_rows(effects: Sequence[EffectPreview]) -> list[list[str]]:
    """One row a coefficient: its name, the chance that it is told from zero, and the interval to expect."""
    return [[each.name, _rehearsed(each.told), _interval(each)] for each in effects]


def _rehearsed(share: float) -> str:
    """A share of a few rehearsed releases: none of them is not never, and all of them is not always."""
    least = 1 / REHEARSED_RELEASES
    if share < least:
        return f"under {percent(least)}"
    return f"over {percent(1 - least)}" if share > 1 - least else percent(share)


def setting_rows(settings: Sequence[Setting]) -> list[list[str]]:
    """One row a setting: cost, the part of it for the selection, the share of R^2 that is kept, and effects that are clear."""
    return [
        [
            f"{each.epsilon:g}",
            f"{each.selection:.0%}",
            "not known" if each.share is None else percent(each.share),
            f"{each.clear:.1f} of {each.slopes}",
        ]
        for each in settings
    ]


def hints(study: Study, fit: TableFit, effects: Sequence[EffectPreview]) -> list[str]:
    """What to merge or leave out for clearer effects, one sentence each; from the rows, so as confidential as they are."""
    hidden = {each.name for each in effects if each.told < PROBABLY_HIDDEN}
    shares = {each.name: [count / max(fit.rows, 1) for count in each.rows_by_category] for each in fit.variables}
    rare: dict[str, list[str]] = {}
    others = []
    for column in study.columns:
        if column.name not in hidden or not column.factors:
            continue
        factor, *more = column.factors
        variable = next(each for each in study.predictors if each.name == factor.variable)
        # Of two categories there is nothing to merge: the variable could only be left out.
        if not more and isinstance(variable, Categorical) and len(variable.categories) > 2:
            share = shares[variable.name][variable.categories.index(factor.level)]
            if share < RARE_CATEGORY:
                rare.setdefault(variable.name, []).append(f"{factor.level!r} ({percent(share)} of the rows)")
                continue
        others.append(column.name)
    sentences = [
        f"Merge categories of '{name}' if the code book gives a reason: {', '.join(some)} would probably stay hidden by noise."
        for name, some in rare.items()
    ]
    for variable in study.predictors:
        own = [column.name for column in study.columns if [each.variable for each in column.factors] == [variable.name]]
        # A rare reference makes every effect of its variable uncertain, however common the other categories are.
        if isinstance(variable, Categorical) and hidden.intersection(own):
            share = shares[variable.name][variable.categories.index(variable.reference)]
            if share < RARE_CATEGORY and len(variable.categories) > 2:
                sentences.append(
                    f"The reference category of '{variable.name}', {variable.reference!r}, has {percent(share)} of the rows. "
                    "State a larger one: all its effects are measured against it."
                )
    if others:
        sentences.append(
            f"Probably hidden by noise: {names_with_more(others)}. Intervals of the other effects become shorter if you leave out "
            "variables that your question does not need."
        )
    return sentences


def _interval(each: EffectPreview) -> str:
    if each.lower is None and each.upper is None:
        return "hidden by noise"
    return interval_text(each.lower, each.upper, None)


def share_sentence(seen: Preview) -> str:
    """How much of what could be explained the choice is expected to explain."""
    if seen.best is None:
        return ""
    if seen.share is None:
        return "No model explains the response here, even without privacy."
    model, r2 = seen.best
    return (
        f"Without privacy, BIC would select {model_names([model])[0]} (R² {r2:.2f}). The private selection should explain "
        f"{percent(seen.share)} of that."
    )


@dataclass(frozen=True, slots=True, repr=False)
class CurveFact:
    """Private. The chart over the price, in two widths; below it a table: what, and a chance at each price with its shade."""

    wide: str
    narrow: str
    prices: tuple[str, ...]
    models: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    variables: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]

    def __repr__(self) -> str:
        return "CurveFact(values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class PreviewFacts:
    """Private. What the page shows of a selection to expect."""

    too_short: str
    price: str
    how: str
    share: str
    models: tuple[tuple[str, str, str], ...]
    asked: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str, int, str], ...]
    directions: bool
    direction_words: str
    curves: tuple[CurveFact, ...]

    def __repr__(self) -> str:
        return "PreviewFacts(values=<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateFacts:
    """Private. All that the custodian's page shows. No template of the public report accepts it."""

    response: str
    rows: str
    fit: tuple[tuple[str, ...], ...]
    advice: tuple[str, ...]
    preview: PreviewFacts | None
    effects: tuple[tuple[str, ...], ...]
    hints: tuple[str, ...]
    settings: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return "PrivateFacts(values=<private>)"


def confidential_page(
    study: Study,
    fit: TableFit,
    seen: Preview | None,
    effects: Sequence[EffectPreview] = (),
    settings: Sequence[Setting] = (),
) -> str:
    """The page as HTML."""
    facts = PrivateFacts(
        response=study.response.name,
        rows=f"{fit.rows:,}",
        fit=tuple(tuple(row) for row in fit_rows(fit)),
        advice=tuple(advice(fit, study.missing)),
        preview=None if seen is None else _preview(seen),
        effects=tuple(map(tuple, effect_rows(effects))),
        hints=tuple(hints(study, fit, effects)),
        settings=tuple(map(tuple, setting_rows(settings))),
    )
    captions = {"effects_caption": EFFECTS, "settings_caption": SETTINGS}
    return render("confidential.html.j2", facts=facts, watermark=WATERMARK, fits=FITS, **captions)


def _preview(seen: Preview) -> PreviewFacts:
    return PreviewFacts(
        too_short=too_short_sentence(seen),
        price=price_sentence(seen),
        how=seen.how,
        share=share_sentence(seen),
        models=_models(seen),
        asked=tuple((percent(chance), model_names([model])[0]) for model, chance in seen.asked),
        variables=_variables(seen),
        directions=bool(seen.directions),
        direction_words=direction_words(seen),
        curves=tuple(_curve(curve, seen) for curve in seen.curves),
    )


def _models(seen: Preview) -> tuple[tuple[str, str, str], ...]:
    named = zip(LETTERS, seen.chances, model_names(seen.models), strict=False)
    return tuple((letter, percent(chance), name) for letter, chance, name in named)


def _variables(seen: Preview) -> tuple[tuple[str, str, int, str], ...]:
    """Each term with its chance, in words and in percent, the likeliest first; and its direction, where that is told."""
    return tuple(
        (name, percent(seen.inclusion[i]), round(100 * seen.inclusion[i]), direction_text(name, seen))
        for i, name in _ranked(seen)
    )


def _ranked(seen: Preview) -> list[tuple[int, str]]:
    """The terms and their places, the likeliest first."""
    return sorted(enumerate(seen.terms), key=lambda pair: -seen.inclusion[pair[0]])


def _curve(curve: Curve, seen: Preview) -> CurveFact:
    now = float(seen.epsilon)
    wide, narrow = (
        curve_chart("total epsilon", curve.settings, curve.chances, now, narrow=narrow) for narrow in (False, True)
    )
    variables = [(name, _shaded([row[i] for row in curve.inclusion])) for i, name in _ranked(seen)]
    shares = [share for share in curve.shares if share is not None]
    if len(shares) == len(curve.shares):
        variables.append(("expected share of R²", _shaded(shares)))
    models = [(letter, _shaded([row[i] for row in curve.chances])) for i, (letter, _, _) in enumerate(_models(seen))]
    prices = tuple(number(setting, 3) for setting in curve.settings)
    return CurveFact(wide, narrow, prices, tuple(models), tuple(variables))


def _shaded(chances: Sequence[float]) -> tuple[tuple[str, int], ...]:
    """Chances in words, each with a shade from 0 to 30%, which leaves the words legible."""
    return tuple((percent(chance), round(30 * chance)) for chance in chances)
