"""Public. What a choice could have seen at its price, and what not, in words."""

from __future__ import annotations

import math

from dpselect.assume.models.visible import visible_share
from dpselect.assume.study.variables import Numeric
from dpselect.release.selection import Selection
from dpselect.report.public.numbers import number, significant
from dpselect.report.public.titles import variable_title


def visible_sentence(selection: Selection, *, chosen: bool) -> str:
    """How much a variable had to explain to be found; empty where no number of rows is public."""
    share = visible_share(selection.recipe, selection.range)
    if share is None:
        return ""
    response = selection.assumptions.response
    title = variable_title(response)
    if not share < 0.9:
        return f"At this price and with so many rows no variable could have been found, however much of {title} it explains."
    begin = (
        "Variables that were not chosen may matter all the same" if chosen else "That does not say that none matters"
    )
    such = ""
    if isinstance(response, Numeric) and response.bounded:
        # For values spread evenly over the bounds, whose deviation is the width over the root of 12.
        moved = math.sqrt(12 * share) * response.half_width / 2
        unit = f" {response.unit}" if response.unit else ""
        such = (
            f", such as one that moves {title} by about {number(significant(moved, 2))}{unit} from its lower to its upper bound, "
            f"if its values are spread evenly and {title} has a standard deviation of a quarter of its stated range"
        )
    return (
        f"{begin}: at this price a variable is found, with a chance of 0.8, if it explains at least about {_percent(share)} of "
        f"what varies in {title}{such}."
    )


def _percent(share: float) -> str:
    return f"{number(significant(100 * share, 2))}%"
