"""Public. The guarantee and the price in words that a person who is no mathematician can act on."""

from __future__ import annotations

import math
from decimal import Decimal

from dpselect.assume.models.budget import Guarantee, plain

METHOD_NAMES = {
    "votes": "block votes",
    "pcls": "penalized constrained least squares (PCLS)",
    "pcpl": "penalized constrained profile likelihood (PCPL)",
}


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
        return "That is a strong promise: taking part changes almost nothing for you, whatever others know already."
    if epsilon <= 10:
        return (
            "That is a promise of middling strength: useful against most attacks, but not a tight one in the worst case. "
            "A smaller epsilon would be stronger."
        )
    return "That is a weak promise: in the worst case it rules out very little. A smaller epsilon would be stronger."


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
