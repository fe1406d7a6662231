"""Public. All that the public report says, as plain values. Whatever is not here cannot be printed on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableFact:
    """Public. A variable as it was stated before any row was read; `title` is its label, or its name."""

    name: str
    statement: str
    chosen: bool
    title: str
    unit: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFact:
    """Public. A released number with its interval, and the wider one that also counts how the model was chosen, if any.

    Without a `value` the price could not show it, and a number of the size `visible` could have been told from zero (None where
    that is beyond what the stated bounds allow). An end that is None is open.
    """

    value: float | None
    lower: float | None
    upper: float | None
    wide_lower: float | None = None
    wide_upper: float | None = None
    visible: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientFact:
    """Public. A released coefficient in the user's units, and its effect.

    The effect is the coefficient times the width of the variable's stated bounds: how far the response moves from one bound
    to the other, or from the reference to a level (of odds, their ratio). None where there is no such width (intercept,
    products). A level of a category has its variable as `group`, with its reference, and itself as `label`.
    """

    name: str
    coefficient: IntervalFact
    effect: IntervalFact | None
    group: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateFact:
    """Public. The released coefficients together, how they were drawn and how far their intervals can be trusted.

    `alone` are effects of variables in models by themselves, for those that the whole model could not show. With `odds` all numbers
    are odds ratios of `yes`, that of the intercept the odds themselves. `unseen` says what "not seen" means, if anything is not.
    """

    coefficients: tuple[CoefficientFact, ...]
    level: str
    wide: bool
    how: str
    residual: str
    cautions: tuple[str, ...]
    alone: tuple[CoefficientFact, ...] = ()
    odds: bool = False
    yes: str = ""
    unseen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeFact:
    """Public. One charge: what it bought, what it cost, and its place in the ledger if it has one."""

    what: str
    how: str
    epsilon: str
    delta: str
    record: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """Public. The whole promise, in words and in symbols."""

    epsilon: str
    delta: str
    factor: str
    neighbors: str
    per_person: bool
    sentence: str
    symbols: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Public. One report."""

    title: str
    response: VariableFact
    predictors: tuple[VariableFact, ...]
    formula: str
    summary: str
    visible: str
    note: str
    settings: tuple[tuple[str, str], ...]
    choice: tuple[tuple[str, str], ...]
    estimate: EstimateFact | None
    guarantee: GuaranteeFact
    charges: tuple[ChargeFact, ...]
    left: str
    by_votes: bool = False
    assumptions_hash: str
    fingerprint: str
    release: str
    made: str
    version: str
