"""Public. The guarantee and the price in words that a person who is no mathematician can act on."""

from __future__ import annotations

import math
from decimal import Decimal

from dpselect.assume.budget import Guarantee, plain
from dpselect.assume.recipe import visible_share
from dpselect.assume.variables import Numeric
from dpselect.release.selection import Selection
from dpselect.release.titles import variable_title
from dpselect.report.public.numbers import number, significant

METHOD_NAMES = {
    "votes": "block votes",
    "pcls": "penalized constrained least squares (PCLS)",
    "pcpl": "penalized constrained profile likelihood (PCPL)",
}

MIDDLING = Decimal(10)
"""Above this epsilon a promise is weak."""
USUAL_DELTA = Decimal("1e-5")
"""Above this delta a word is said: it is what a new ledger allows in all."""


def factor_text(epsilon: Decimal) -> str:
    """exp(epsilon) as people say it."""
    factor = math.exp(min(float(epsilon), 700.0))
    if factor < 1.1:
        return f"{factor:.4f}"
    return f"{factor:.2f}" if factor < 100 else f"{factor:,.0f}" if factor < 1e9 else f"{factor:.1e}"


def guarantee_sentence(guarantee: Guarantee, rows_per_person: int | None = None) -> str:
    """What the guarantee promises to one person in the data; `rows_per_person` if several rows of each may count."""
    yours = "your record" if rows_per_person is None else f"your records ({rows_per_person:,} at most count)"
    change = {
        "replace-one": f"{yours} had been replaced by any other",
        "add-remove-one": f"{yours} had been left out",
    }[guarantee.neighbors]
    tail = f", except with probability {plain(guarantee.delta)}" if guarantee.delta else ""
    return (
        f"If {change}, the chance of every outcome of this release, and so of anything that anyone concludes from it, would "
        f"have been the same within a factor of {factor_text(guarantee.epsilon)}{tail}. {strength(guarantee.epsilon)}"
    )


def strength(epsilon: Decimal) -> str:
    """How much such a promise is worth, in the three tiers of Ponomareva et al., *How to DP-fy ML* (2023)."""
    if epsilon <= 1:
        return "That is a strong promise: taking part changes little for you, whatever others know already."
    if epsilon <= MIDDLING:
        return (
            "That is a promise of middling strength: useful against most attacks, but not a tight one in the worst case. "
            "A smaller epsilon would be stronger."
        )
    return "That is a weak promise: in the worst case it rules out very little. A smaller epsilon would be stronger."


def weaknesses(epsilon: Decimal, delta: Decimal) -> list[str]:
    """What a custodian should hear before such a price is paid; nothing for usual ones."""
    said = []
    if epsilon > MIDDLING:
        said.append(
            f"Epsilon {plain(epsilon)} is a weak promise: in the worst case it rules out very little. 1 or less is a strong one."
        )
    if delta > USUAL_DELTA:
        said.append(
            f"Delta {plain(delta)} lets the promise fail with that probability; 1e-6 or less is usual, and less than one in "
            "the number of persons a must."
        )
    return said


def guarantee_symbols(guarantee: Guarantee) -> str:
    """The same in symbols."""
    tail = f" + {plain(guarantee.delta)}" if guarantee.delta else ""
    return f"P[release(D) ∈ A]  ≤  exp({plain(guarantee.epsilon)}) · P[release(D\N{PRIME}) ∈ A]{tail}"


def choice_note(spread: float) -> str:
    """What to make of a choice that was drawn with this range."""
    if math.isinf(spread):
        return (
            "A lottery: with so few rows the method could promise nothing about the scores, so every model was equally "
            "likely, whatever the rows say."
        )
    return (
        "The choice is random on purpose, within what was paid for: likelier are models that explain more with fewer variables. "
        "Another draw would cost as much again."
    )


def price_text(epsilon: Decimal, delta: Decimal) -> str:
    """A price in one line."""
    return f"epsilon {plain(epsilon)}" + (f", delta {plain(delta)}" if delta else "")


def visible_sentence(selection: Selection, *, chosen: bool) -> str:
    """How much a variable had to explain to be found; empty where no number of rows is public."""
    share = visible_share(selection.recipe, selection.range)
    if share is None:
        return ""
    response = selection.study.response
    title = variable_title(response)
    if not share < 0.9:
        return f"At this price and with so few rows no variable could have been found, however much of {title} it explains."
    begin = (
        "Variables that were not chosen may matter all the same" if chosen else "That does not say that none matters"
    )
    such = ""
    if isinstance(response, Numeric) and response.bounded:
        # As plans suppose: stated bounds span four standard deviations.
        moved = 2 * math.sqrt(share) * response.half_width
        unit = f" {response.unit}" if response.unit else ""
        such = (
            f", such as one that moves {title} by about {number(significant(moved, 2))}{unit} from its lower to its upper bound, "
            "if the standard deviation of each is a quarter of its stated range"
        )
    return (
        f"{begin}: at this price a variable is found, with a chance of 0.8, if it explains at least about {_percent(share)} of "
        f"what varies in {title}{such}."
    )


def _percent(share: float) -> str:
    return f"{number(significant(100 * share, 2))}%"
