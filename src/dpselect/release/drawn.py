"""Public. What an estimate is asked for, what was drawn for it, and the terms that follow: one form for every family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypedDict

import numpy as np
from msgspec import Meta, field
from msgspec.structs import replace

from dpselect.assume.budget import Guarantee
from dpselect.assume.queries import FamilyName
from dpselect.assume.records import Public
from dpselect.assume.study import Study
from dpselect.errors import StudyError
from dpselect.randomize.noisy_moments import NoisyMoments
from dpselect.randomize.rounds_noise import Rounds
from dpselect.release.equations.findings import Amount, Finding
from dpselect.release.ledger.entries import Receipt

Direction = Literal["up", "down"]
Released = NoisyMoments | Rounds
"""What a mechanism has released; an estimate is computed from it, at no further cost."""

MIN_LEVEL, MAX_LEVEL = 0.5, 0.999
"""Of confidence."""


class Request(Public, frozen=True, kw_only=True):
    """What is estimated, of which study, at which price: all of it known before anything is drawn.

    `columns` are places in `study.columns`. `selected` says that the model was selected from the same rows, which the adjusted
    intervals allow for, and `directions` what the selection said about each column.
    """

    family: FamilyName
    columns: tuple[int, ...]
    level: Annotated[float, Meta(ge=MIN_LEVEL, le=MAX_LEVEL)]
    selected: bool
    directions: dict[str, Direction | None] = field(default_factory=dict)
    study: Study
    guarantee: Guarantee

    def __post_init__(self) -> None:
        self.study.require_places(self.columns)  # a text may state any

    @property
    def considered(self) -> int | None:
        """The number of columns that the model was selected from; None if it was not selected."""
        return len(self.study.columns) if self.selected else None


class Drawn(Request, frozen=True, kw_only=True, tag_field="format", tag="dpselect drawn estimate 1"):
    """A request and what was drawn for it: whatever an estimate says can be computed from this, once nothing is left to draw.

    Formal guarantee: `released` is the outcome of a `guarantee.epsilon`, `guarantee.delta` differentially private mechanism for
    tables that are `guarantee.neighbors` neighbours.
    """

    released: Released
    receipt: Receipt | None
    version: str

    def with_receipts(self, receipts: Sequence[Receipt]) -> Self:
        """The same with the receipt of its charge."""
        return replace(self, receipt=receipts[0])


def is_done(drawn: Drawn) -> bool:
    """Whether nothing is left to draw: moments are drawn at once, rounds one after another."""
    return not isinstance(drawn.released, Rounds) or drawn.released.done


def as_level(level: float) -> float:
    """A level of confidence as a plain float: a NumPy number would be paid for and could not be written."""
    if not (isinstance(level, float | int | np.floating) and MIN_LEVEL <= level <= MAX_LEVEL):
        raise StudyError(f"level is {level!r}; it must be between {MIN_LEVEL} and {MAX_LEVEL} (0.95 is usual).")
    return float(level)


class Term(Public, frozen=True, kw_only=False):
    """One coefficient in the user's units, or the word that this price could not show it; of ratios their logarithm.

    Without a `value` it could not be estimated at this price. An end of an interval that is None is unbounded. `lower` and `upper`
    allow for sampling error and privacy noise, the adjusted ends also for the selection of the model; they are the same where it
    was not selected from the same rows. `error` counts sampling and privacy noise, `privacy_share` is the part of its square
    that privacy noise brings, and `visible` is the size of a coefficient that could have been told from zero: None where an end
    is unbounded, for then no size could.
    """

    name: str
    value: float | None
    error: float | None
    lower: float | None
    upper: float | None
    adjusted_lower: float | None
    adjusted_upper: float | None
    privacy_share: float | None
    visible: float | None

    @property
    def determined(self) -> bool:
        """Whether this price could show it."""
        return self.value is not None

    @property
    def hidden(self) -> bool:
        """Whether noise hides it: there is no value, or the interval includes zero."""
        return self.value is None or self.lower is None or self.upper is None or self.lower <= 0 <= self.upper

    def exponential(self) -> Term:
        """The ratio of a logarithm; its `error` stays that of the logarithm, and `visible` becomes a ratio too."""

        def grown(value: float | None) -> float | None:
            return None if value is None else math.exp(min(value, MAX_LOGARITHM))

        return Term(
            self.name,
            grown(self.value),
            self.error,
            grown(self.lower),
            grown(self.upper),
            grown(self.adjusted_lower),
            grown(self.adjusted_upper),
            self.privacy_share,
            grown(self.visible),
        )


MAX_LOGARITHM = 700.0
"""Of a ratio that is still a double."""


class Solved(TypedDict):
    """What a family computes from a release, as the fields of an estimate.

    `unadjusted` are slopes of a variable in a model by itself, for terms whose slopes in the whole model could not be estimated.
    `scales` are the standard deviations of columns of numbers, in the user's units, where the release shows them.
    """

    terms: tuple[Term, ...]
    unadjusted: tuple[Term, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    scales: dict[str, float]


def terms_of(names: Sequence[str], offsets: Sequence[float], findings: Sequence[Finding]) -> tuple[Term, ...]:
    """Findings by name, counted from where each one's zero is."""

    def plain(number: float | None) -> float | None:
        return None if number is None else float(number)  # a NumPy number could not be written

    def moved(number: float | None, offset: float) -> float | None:
        return float(number + offset) if number is not None and math.isfinite(number) else None

    return tuple(
        Term(
            name,
            moved(one.value, offset),
            plain(one.error),
            moved(one.lower, offset),
            moved(one.upper, offset),
            moved(one.adjusted_lower, offset),
            moved(one.adjusted_upper, offset),
            plain(one.privacy_share),
            plain(one.visible),
        )
        for name, offset, one in zip(names, offsets, findings, strict=True)
    )
