"""Public. The sentences that depend on a result, one function a pattern. Page, terminal, notebook and studio take them from here.

A sentence with names in it is a tuple of pieces, (text, kind): "name" is a label that a person stated, "code" a column's own name,
and "" all else. `plain` joins them. What is always the same stands in `answer` and the templates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

from dpselect.assume.budget import Guarantee
from dpselect.assume.budget import plain as plain_amount
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Category, Variable
from dpselect.assume.vote_rule import VoteRule
from dpselect.assume.wide_rule import WideRule
from dpselect.release.drawn import Direction
from dpselect.release.tables import level_title, variable_title
from dpselect.report.numbers import (
    TIMES,
    estimate_text,
    interval_text,
    is_plural,
    number,
    percent,
    power_of_ten,
    response_unit,
    two_digits,
    unit_text,
    with_unit,
)

T = TypeVar("T")
Words = tuple[tuple[str, str], ...]
"""A sentence, or a part of one."""

STRONG, MODERATE = Decimal(1), Decimal(3)
"""The largest epsilon of a strong and of a moderate promise."""
LARGE_DELTA = Decimal("1e-5")
"""Above it the promise may fail for some row of a table of usual length, and no epsilon makes it strong. A new ledger allows so
much in all; more for one release is remarked upon."""
SUSPICION = 0.1
"""What somebody suspects of a person before the release, in the sentence about strength."""
VISIBLE_SHARE, LITTLE_SHARE = 0.9, 0.2
"""Of the variance: a variable that would have to explain more is not found; and one that explains so much is rare."""
SMALL_TABLE_SHARE = 0.05
"""Where a variable must explain more than this to be found, a table is small for its privacy level."""
METHOD_NAMES = {
    "votes": "block votes",
    "pcls": "penalized constrained least squares (PCLS)",
    "pcpl": "penalized constrained profile likelihood (PCPL)",
}
HIDDEN_BY_NOISE = "hidden by noise"
MAX_NAMED, FIRST_NAMED = 60, 12
"""Variables up to which all are named, and how many of more."""
COMPANIONS = (
    "There are many variables, so each was judged in blocks of a few rows. The selected ones may include companions: variables "
    "that go with the response only through another one."
)
STAND_INS = (
    "There are many variables, so those that go with the response were judged once more, beside each other. A selected one may "
    "still stand for another that is much like it."
)
ASSOCIATION = "Associations in this data set. They do not show what causes what."
PARTLY_RANDOM = (
    "The selection is partly random, by design. A second run could select another set, and would cost as much again."
)
ALL_RANDOM = (
    "The selection is random: the table is too small for this method, and every model was equally likely. "
    "It says nothing about the data."
)
_YES = ("yes", "y", "true", "1")


def plain(words: Words) -> str:
    """A sentence as text."""
    return "".join(text for text, _ in words)


def text(said: str) -> Words:
    """Text as pieces."""
    return ((said, ""),)


def named(title: str, stated: bool) -> Words:
    """A variable: by its label, or by its column's name."""
    return ((title, "name" if stated else "code"),)


def list_of(names: Sequence[Words]) -> Words:
    """Names as a sentence lists them: a, b and c."""
    pieces: list[tuple[str, str]] = []
    for place, name in enumerate(names):
        if place:
            pieces.append((" and " if place == len(names) - 1 else ", ", ""))
        pieces += name
    return tuple(pieces)


def capitalized(title: str) -> str:
    """A label at the beginning of a sentence."""
    return title[:1].upper() + title[1:]


def shown_title(variable: Variable) -> str:
    """A stated label begins a cell or a sentence with a capital letter; a column's name stays as it is."""
    return capitalized(variable.label) if variable.label else variable.name


def is_yes(category: str) -> bool:
    """Whether a category says nothing but yes."""
    return category.strip().lower() in _YES


def count_words(count: int) -> str:
    """A number of models; one that nobody could read as a power of ten."""
    return f"{count:,}" if count < 10**15 else f"about 10^{math.floor((count.bit_length() - 1) * math.log10(2))}"


def first_of(things: Sequence[T]) -> tuple[Sequence[T], str]:
    """Things, or the first of very many; and how many more there are, in words."""
    if len(things) <= MAX_NAMED:
        return things, ""
    return things[:FIRST_NAMED], f"and {len(things) - FIRST_NAMED:,} more"


def names_with_more(names: Sequence[str]) -> str:
    """Names, or the first of very many and how many more there are."""
    first, more = first_of(names)
    return f"{', '.join(first)}{f' {more}' if more else ''}"


def share_text(share: float) -> str:
    """A share of the variance that is enough to be found: rounded up, since less may not be."""
    hundredths = 100 * share
    power = math.floor(math.log10(hundredths))
    step = 1.0 if power >= 1 else 10.0 ** (power - 1 if hundredths / 10.0**power < 3 else power)
    return f"{number(math.ceil(hundredths / step - 1e-9) * step, 3)}%"


def subject_of(study: Study, quantity: str) -> Words:
    """What is explained, as the subject of a sentence: the response, or the odds or the rate of it."""
    response = study.response
    stated = bool(response.label)
    title = variable_title(response)
    if not quantity:
        return text(capitalized(title)) if stated else named(title, stated)
    one = quantity if quantity == "odds" else quantity.removesuffix("s")
    return (*text(f"The {one} of "), *event_of(study))


def event_of(study: Study) -> Words:
    """What the odds, chances or rates are of."""
    response = study.response
    name = named(variable_title(response), bool(response.label))
    if isinstance(response, Binary):
        yes = level_title(response, response.categories[1])
        return name if is_yes(yes) else (*name, *text(f" = {yes}"))
    return name


def headline(
    subject: Words,
    plural: bool,
    up: Sequence[Words],
    down: Sequence[Words],
    higher: Sequence[Words],
    lower: Sequence[Words],
    differs: Sequence[Words],
    unclear: Sequence[Words],
    stated: Sequence[Words] = (),
    *,
    tells: bool = True,
) -> Words:
    """The answer: {Response} rises with {up}. It falls with {down}. It also differs by {categorical}.

    `tells` is whether the release tells directions at all: where it does not, none may be called unclear.
    """
    sentences: list[Words] = []

    def who() -> Words:
        return text("They" if plural else "It") if sentences else subject

    def ending(verb: str) -> str:
        return verb if plural else f"{verb}s"

    for verb, compared, rising, groups in (("rise", "higher", up, higher), ("fall", "lower", down, lower)):
        parts: list[Words] = []
        if rising:
            parts.append((*text(f" {ending(verb)} with "), *list_of(rising)))
        if groups:
            parts.append((*text(f" {'are' if plural else 'is'} {compared} for "), *list_of(groups)))
        if parts:
            comma = ", and" if len(rising) > 1 else " and"
            joined = parts[0] if len(parts) == 1 else (*parts[0], *text(comma), *parts[1])
            sentences.append((*who(), *joined, *text(".")))
    if differs:
        also = " also" if sentences else ""
        verb = "differ" if plural else "differs"
        sentences.append((*who(), *text(f"{also} {verb} by "), *list_of(differs), *text(".")))
    if unclear:
        # That it was selected is all that is known: a sentence of its own, which begins with the name.
        verb = "was" if len(unclear) == 1 else "were"
        (first, kind), *rest = list_of(unclear)
        begin = (capitalized(first) if kind == "name" else first, kind)
        way = ", without a clear direction." if tells else ". Directions are not part of this selection."
        sentences.append((begin, *rest, *text(f" {verb} selected{way}")))
    if stated:
        verb = "is" if len(stated) == 1 else "are"
        sentences.append(
            (*text("In every model by statement, not selected, " + verb + " "), *list_of(stated), *text("."))
        )
    return tuple(piece for place, each in enumerate(sentences) for piece in (*(text(" ") if place else ()), *each))


def companions(rule: object) -> str:
    """What a selection of many variables cannot tell, by how the votes were held; empty where there is nothing to say."""
    if not isinstance(rule, WideRule):
        return ""
    return COMPANIONS if rule.second is None else STAND_INS


def too_many(crowd: int, most: int | None = None) -> str:
    """Why nothing may have been selected though much explains the response: so many variables cannot be told apart.

    `most` is how many there may be beside each other, where variables are looked at again.
    """
    if most is not None:
        return (
            f"If more than {most} variables matter beside each other, or {crowd} or more go along with the response, none is "
            "selected either: so many cannot be told apart."
        )
    return f"If {crowd} or more variables go along with the response, none is selected either: so many cannot be told apart."


def selection_note(spread: float) -> str:
    """What to make of a selection that was drawn with this range."""
    return ALL_RANDOM if math.isinf(spread) else PARTLY_RANDOM


def nothing_selected(rows: str, epsilon: str, share: float | None) -> str:
    """The answer where nothing was selected."""
    if share is None or not rows:
        return "No variable was selected."
    if not share < VISIBLE_SHARE:
        return f"No variable was selected. With {rows} rows and ε = {epsilon}, none could have been found."
    return (
        f"No variable was selected. With {rows} rows and ε = {epsilon}, only a variable that explains "
        f"{share_text(share)} or more of the variance would have been found."
    )


def no_interval_clear(selected: int) -> str:
    """What the headline is followed by where no effect has a known size."""
    which = "Its size" if selected == 1 else "The size of each effect"
    return f"{which} is hidden by noise."


def found_share(share: float | None, *, any_left: bool) -> str:
    """What a variable that was not selected may still be worth."""
    if share is None:
        return "This does not show that they have no effect: a smaller effect can be missed." if any_left else ""
    if not share < VISIBLE_SHARE:
        return "With so few rows at this privacy level, no variable could have been found."
    found = f"A variable that explains {share_text(share)} or more of the variance would have been found with probability 80%"
    return (
        f"This does not show that they have no effect. {found}; a smaller effect can be missed."
        if any_left
        else f"{found}."
    )


def small_table(rows: str, epsilon: str, share: float) -> str:
    """Few rows."""
    if not share < VISIBLE_SHARE:
        return (
            f"With {rows} rows at ε = {epsilon}, this selection is close to a draw at random: no variable, however strong, "
            "could be expected to be found."
        )
    return (
        f"With {rows} rows at ε = {epsilon}, expect to miss most effects: only a variable that explains "
        f"{share_text(share)} or more of the variance is found with probability 80%."
    )


def hardly_anything(rows: str, epsilon: str, share: float) -> str:
    """A table that is far too short, before anything is spent; `share` is what a variable must explain to be found."""
    found = (
        f"expect hardly anything: only a variable that explains {share_text(share)} or more of the variance is likely to be found"
        if share < VISIBLE_SHARE
        else "expect nothing: no variable, however strong, is likely to be found"
    )
    return (
        f"With {rows} rows and epsilon {epsilon}, {found}. More rows, a higher epsilon or fewer variables help; `dpselect plan` "
        "says how much."
    )


def further(unit: str, power: int, one_more: str, name: Words) -> Words:
    """One more of a variable: each further child, each further 10 years of age."""
    if one_more and power == 0:
        return text(one_more)
    (label, kind), one = name[0], unit_text(unit)
    if kind == "name" and not power:
        # Where the label has the unit in it, the unit is not said twice: year of admission, chronic conditions.
        first, _, rest = label.partition(" ")
        if first.lower() in (unit, one):
            return text(f"each further {' '.join(filter(None, (one, rest)))}")
        if label.lower().startswith("number of ") and unit_text(label[len("number of ") :]) == one:
            return text(f"each further {one}")
        if label.endswith(f" {unit}") and " of " not in label:
            return text(f"each further {label.removesuffix(unit)}{one}")
    return (*text(f"each further {unit_text(unit, power)} of "), *name)


def quotable_effect(
    one_more: Words, value: float, ends: tuple[float | None, float | None], study: Study, *, others: bool, level: str
) -> Words:
    """Each further {unit} goes with about {x} more/fewer {response unit} (95% interval {a} to {b}), others held constant."""
    size, span = _sizes(value, ends)
    begin = ((capitalized(one_more[0][0]), one_more[0][1]), *one_more[1:])
    amount = _amount(size, value, response_unit(study), study)
    return (*begin, *text(" goes with "), *amount, *_with_interval(level, span, others))


def quotable_group(
    group: Words, value: float, ends: tuple[float | None, float | None], study: Study, *, others: bool, level: str
) -> Words:
    """The same for a yes or no: {Response} is about {x} {unit} higher for {label}."""
    size, span = _sizes(value, ends)
    subject = subject_of(study, "")
    verb = "are" if study.response.label and is_plural(study.response.label) else "is"
    amount = with_unit(size, response_unit(study))
    way = "higher" if value > 0 else "lower"
    return (*subject, *text(f" {verb} about {amount} {way} for "), *group, *_with_interval(level, span, others))


def _with_interval(level: str, span: str, others: bool) -> Words:
    """How a sentence about an effect ends; `others` says that other variables are in the model."""
    held = ", with the other selected variables held constant" if others else ""
    return text(f" ({level} interval {span}){held}.")


def _sizes(value: float, ends: tuple[float | None, float | None]) -> tuple[str, str]:
    """The size of an effect and its interval, without their sign: the words say which way."""
    low, high = ends if value > 0 else (_minus(ends[1]), _minus(ends[0]))
    return estimate_text(abs(value), low, high, sign=False), interval_text(low, high, abs(value))


def _minus(end: float | None) -> float | None:
    return None if end is None else -end


def _amount(size: str, value: float, unit: str, study: Study) -> Words:
    if not unit:
        response = study.response
        way = "a rise" if value > 0 else "a fall"
        return (*text(f"{way} of about {size} in "), *named(variable_title(response), bool(response.label)))
    if not unit[0].isalpha():
        return text(f"about {with_unit(size, unit)} {'more' if value > 0 else 'less'}")
    fewer = "fewer" if is_plural(unit) else "less"
    return text(f"about {size} {'more' if value > 0 else fewer} {unit}")


def ratio_effect(
    subject: Words,
    compared: Words,
    ratio: float,
    ends: tuple[float | None, float | None],
    *,
    odds: bool,
    others: bool,
    level: str,
) -> Words:
    """The odds of {event} are {x} times as high for {whom}; the rate of {event} is {p}% higher or lower."""
    if odds:
        span = interval_text(*ends, ratio, ratio=True)
        size = f" are about {estimate_text(ratio, *ends, sign=False, ratio=True)} times as high "
        return (*subject, *text(size), *compared, *_with_interval(level, span, others))
    change = [None if end is None else 100 * (end - 1) for end in (ratio, *ends)]
    percentage, span = _sizes(change[0] or 0.0, (change[1], change[2]))
    way = "higher" if ratio > 1 else "lower"
    span = f"{span.replace(' to ', '% to ')}%"
    return (*subject, *text(f" is about {percentage}% {way} "), *compared, *_with_interval(level, span, others))


def hidden_note(hidden: int, count: int, *, directions: bool, ratios: bool) -> str:
    """What it means that effects are hidden."""
    nothing = f"{TIMES} 1" if ratios else "zero"
    if hidden == 1:
        said = f"Its interval includes {nothing}, so its size is not known at this privacy level and number of rows."
        more = " The variable was still selected."
    else:
        said = (
            f"Their intervals include {nothing}, so their size is not known at this privacy level and number of rows."
        )
        more = " The variables were still selected."
    known = " Where an arrow is shown, the direction is known." if directions else ""
    return f"{said}{more}{known}"


def clash(selected: Direction, estimated: Direction) -> str:
    """Direction and estimate disagree."""
    return f"The selection says {selected}, the estimate says {estimated}. Treat both as unclear."


def weights_note(limit: float | None) -> str:
    """What weighted effects describe."""
    moved = "" if limit is None else f" Weights above {number(limit)} were moved to {number(limit)}."
    return f"Effects describe the population that the weights stand for.{moved}"


def r_squared_text(value: float, lower: float | None, upper: float | None) -> tuple[str, str]:
    """The variance explained, and its interval, in whole percentages with ends rounded outward."""
    low, high = math.floor(100 * (lower or 0.0)), math.ceil(100 * (1.0 if upper is None else upper))
    return "under 1%" if value < 0.005 else f"{100 * value:.0f}%", f"{low}% to {high}%"


def compared_with(kind: str, category: str | None, reference: str | None) -> str:
    """Which category is compared with which."""
    return f"{category} compared with {reference}" if kind == "binary" else f"compared with {reference}"


CATEGORY_ARROW = " The arrow of a category is that of its estimate, against the reference category."
OTHERS, REFERENCE = "all other categories together", "the reference category"


def direction_against(votes: object) -> str:
    """What the votes compare a category with: only a fit of all columns of a variable at once leaves its reference to compare."""
    return REFERENCE if isinstance(votes, VoteRule) else OTHERS


def category_direction(variable: Categorical, category: Category, direction: Direction, votes: object) -> str:
    """What the votes say of a category: {Region}: higher for {north} than for {all other categories together}."""
    one = len(variable.categories) == 2 or direction_against(votes) == REFERENCE
    assert variable.reference is not None
    against = level_title(variable, variable.reference) if one else OTHERS
    way = "higher" if direction == "up" else "lower"
    return f"{shown_title(variable)}: {way} for {level_title(variable, category)} than for {against}."


def strength(epsilon: Decimal, delta: Decimal) -> str:
    """Strong, moderate or weak; weak in any case where the promise may well fail for someone in the table."""
    if delta > LARGE_DELTA:
        return "weak"
    return "strong" if epsilon <= STRONG else "moderate" if epsilon <= MODERATE else "weak"


def belief_after(belief: float, epsilon: Decimal) -> float:
    """The most that somebody who believed something of a person with this probability can believe after the release.

    Why: the odds of two neighbouring tables, given the outcome, change by a factor of exp(epsilon) at most (Bayes).
    Tested: tests/report/test_board.py
    """
    odds = belief / (1 - belief) * math.exp(min(float(epsilon), 500.0))
    return odds / (1 + odds)


def suspicion(epsilon: Decimal) -> str:
    """Taking part can raise a 10% suspicion about a person to {p}% at most."""
    after = percent(belief_after(SUSPICION, epsilon))
    most = "" if after.startswith("over") else " at most"
    return f"Taking part can raise a {percent(SUSPICION)} suspicion about a person to {after}{most}."


def strength_sentence(epsilon: Decimal, delta: Decimal) -> str:
    """Strong privacy: taking part can raise a 10% suspicion about a person to 23% at most."""
    said = suspicion(epsilon)
    return f"{strength(epsilon, delta).capitalize()} privacy: {said[0].lower()}{said[1:]}"


def promise(guarantee: Guarantee, rows_per_person: int | None, *, person: bool) -> str:
    """What is promised to one person in the data."""
    rows = "row" if not person else "rows" if rows_per_person is None else f"rows ({rows_per_person:,} at most count)"
    change = {
        "replace-one": f"If your {rows} had been replaced by someone else's",
        "add-remove-one": f"If your {rows} had been left out",
    }[guarantee.neighbors]
    outcome = "this report would have been almost as likely to come out as it did"
    if guarantee.epsilon > STRONG:
        factor = number(math.exp(min(float(guarantee.epsilon), 700.0)), 2)
        outcome = f"the chance of this report would have changed by a factor of {factor} at most"
    fails = power_of_ten(plain_amount(guarantee.delta))
    tail = f" This promise can fail with probability {fails} at most." if guarantee.delta else ""
    return f"{change}, {outcome}. {strength_sentence(guarantee.epsilon, guarantee.delta)}{tail}"


def promise_symbols(guarantee: Guarantee) -> str:
    """The same in symbols."""
    tail = f" + {power_of_ten(plain_amount(guarantee.delta))}" if guarantee.delta else ""
    return f"P[release(D) ∈ A]  ≤  exp({plain_amount(guarantee.epsilon)}) · P[release(D\N{PRIME}) ∈ A]{tail}"


def cost_text(epsilon: Decimal, delta: Decimal) -> str:
    """A privacy cost in a command: epsilon 1, delta 1e-6."""
    return f"epsilon {plain_amount(epsilon)}" + (f", delta {plain_amount(delta)}" if delta else "")


def remaining_budget(left: str) -> str:
    """What a ledger has left, as a cost in symbols or in a command; empty where nothing is."""
    return f"Remaining budget: {left or 'none'}."


def cost_symbols(epsilon: Decimal, delta: Decimal) -> str:
    """A privacy cost in a report: ε = 1, δ = 10⁻⁶."""
    tail = f", δ = {power_of_ten(plain_amount(delta))}" if delta else ""
    return f"ε = {plain_amount(epsilon)}{tail}"


def warnings(epsilon: Decimal, delta: Decimal) -> list[str]:
    """What to hear before such a cost is paid; nothing for usual ones."""
    said = []
    if epsilon > MODERATE:
        said.append(f"Epsilon {plain_amount(epsilon)} is weak. {suspicion(epsilon)}")
    if delta > LARGE_DELTA:
        said.append(
            f"Delta {plain_amount(delta)} lets the promise fail with that probability. "
            "Use 1e-6, or less than one in the number of persons."
        )
    return said


def false_findings(expected: float, response: str) -> str:
    """How many variables chance alone would select; a small number is said in runs, of which so many select any at most."""
    if expected < 0.5:
        runs = "one run in 100" if expected < 0.01 else f"one run in {two_digits(1 / expected)}"
        much = "fewer than" if expected < 0.01 else "at most about"
        return f"If no variable were associated with {response}, {much} {runs} would select any."
    return f"If no variable were associated with {response}, about {two_digits(expected)} variables would be selected on average."


MANY_TIMES = 8.0
"""Intervals that are longer than this many times those without privacy mostly hide effects."""
FAR_LONGER = 20.0
"""A length that nobody would call an estimate any more."""


def are_long(times: tuple[float, float, float] | None) -> bool:
    """Whether intervals will be so long, many of them, that a run would show little."""
    return times is None or times[1] > MANY_TIMES or times[2] > FAR_LONGER


def length_sentence(times: tuple[float, float, float] | None, selected: int | None = None) -> str:
    """How long intervals are expected to be, if so many variables are selected: the quartiles over those without privacy."""
    if times is None:
        many = (
            "many variables are"
            if selected is None
            else "1 variable is"
            if selected == 1
            else f"{selected} variables are"
        )
        return f"Noise would hide all effects if {many} selected."
    low, middle, high = times
    about = f"95% intervals should be {_times(middle)} as long as without privacy"
    counted = (
        "" if selected is None else f" if {selected} {'variable is' if selected == 1 else 'variables are'} selected"
    )
    if middle > MANY_TIMES:
        return f"{about}{counted}: noise would hide most effects."
    rest = f"half of them {low:.2g} to {high:.2g} times" if high <= FAR_LONGER else "a quarter of them far longer"
    return f"{about} ({rest}){counted}."


def other_lengths(fewer: tuple[int, float] | None, every: tuple[int, float | None] | None) -> str:
    """How long they are if fewer variables are selected, and if all are; each a number of variables and its length."""
    said = []
    if fewer is not None:
        said.append(f"with {fewer[0]}, {_times(fewer[1])}")
    if every is not None:
        said.append(f"with all {every[0]}, " + ("none would be estimated" if every[1] is None else _times(every[1])))
    both = "; ".join(said)
    return both and f"{both[0].upper()}{both[1:]}."


def _times(middle: float) -> str:
    return f"about {middle:.2g} times" if middle <= FAR_LONGER else f"more than {FAR_LONGER:g} times"


BETTER = "To see more: spend all of epsilon on the selection (`dpselect select`), consider fewer variables, or use more epsilon."


def no_directions(estimated: bool) -> str:
    """Said before a run whose selection tells no directions."""
    instead = "; the estimates show them" if estimated else ""
    return f"The selection tells no directions, which a public rule leaves out where they would cost accuracy{instead}."
