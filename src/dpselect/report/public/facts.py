"""Public. All that the public report says, as plain values. Whatever is not here cannot be printed on it."""

from __future__ import annotations

from dpselect.assume.records import Public


class VariableFact(Public, frozen=True, kw_only=True):
    """A variable as it was stated before any row was read; `title` is its label, or its name."""

    name: str
    statement: str
    chosen: bool
    title: str
    unit: str = ""
    reason: str = ""


class IntervalFact(Public, frozen=True, kw_only=True):
    """A released number with its interval, and the one that is also adjusted for the selection of the model.

    Without a `value` the price could not show it, and a number of the size `visible` could have been told from zero (None where
    that is beyond what the stated bounds allow). An end that is None is open.
    """

    value: float | None
    lower: float | None
    upper: float | None
    adjusted_lower: float | None = None
    adjusted_upper: float | None = None
    visible: float | None = None


class CoefficientFact(Public, frozen=True, kw_only=True):
    """A released coefficient in the user's units, and its effect.

    The effect is the coefficient times the width of the variable's stated bounds: how far the response moves from one bound
    to the other, or from the reference to a level (of odds, their ratio). None where there is no such width (intercept,
    products). A level of a category has its variable as `group`, with its reference, and itself as `label`.
    """

    name: str
    coefficient: IntervalFact
    effect: IntervalFact | None
    group: str = ""
    label: str = ""


class EstimateFact(Public, frozen=True, kw_only=True):
    """The released coefficients together, how they were drawn and how far their intervals can be trusted.

    `one` and `many` are what its numbers are called. Where they are ratios, `quantity` is what they are ratios of (the intercept's
    is that itself), and `subject` whose: the odds of "illness = yes". `selected` says that adjusted intervals are shown.
    `unadjusted` are effects of variables in models by themselves, for those that the whole model could not show. `unseen` says
    what "not seen" means, if anything is not.
    """

    coefficients: tuple[CoefficientFact, ...]
    one: str
    many: str
    quantity: str = ""
    subject: str = ""
    level: str
    selected: bool
    how: str
    residual: str
    cautions: tuple[str, ...]
    unadjusted: tuple[CoefficientFact, ...] = ()
    unseen: str = ""


class ChargeFact(Public, frozen=True, kw_only=True):
    """One charge: what it bought, what it cost, and its place in the ledger if it has one."""

    what: str
    how: str
    epsilon: str
    delta: str
    record: str
    hash: str


class GuaranteeFact(Public, frozen=True, kw_only=True):
    """The whole promise, in words and in symbols."""

    epsilon: str
    delta: str
    factor: str
    neighbors: str
    per_person: bool
    sentence: str
    symbols: str


class Facts(Public, frozen=True, kw_only=True):
    """One report."""

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
    study_hash: str
    fingerprint: str
    release: str
    made: str
    version: str
