"""Public. What a ledger keeps: the opening that fixes what it counts, the entries that charges become, receipts and amounts.

An entry states facts and no verdict, so that a better theorem can price old entries anew (`accounting`). Epsilon is counted in
whole units of 1e-12 and delta in units of 1e-18: sums of whole numbers are exact, so ten charges of 0.1 are 1 and not a hair more
or less. A charge is rounded up to a unit and a total is rounded down.
"""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Any, Literal, get_args

from msgspec import field
from msgspec.structs import force_setattr

from dpselect.assume.budget import (
    DELTA_DIGITS,
    EPSILON_DIGITS,
    Neighbors,
    Price,
    check_neighbors,
    exact_decimal,
    plain,
)
from dpselect.assume.records import Public
from dpselect.errors import StudyError

EPSILON_UNIT, DELTA_UNIT = 10**12, 10**18  # so many units are 1
LARGEST_AMOUNT = {"epsilon": 10**9, "delta": 1}

FORMAT = "dpselect ledger 2"
Composition = Literal["basic", "zcdp"]
ROW, PERSON = "row", "person:"
"""The units of protection: a row, or all rows of a person, as "person:" and the name of the column that tells persons apart."""

STAGE = "stage"
"""The act and the mechanism of an entry that holds a later stage of a release, whose price was charged before."""

_EXACT = Context(prec=2000)


class Charge(Public, frozen=True, kw_only=True):
    """One request to the ledger: what is done to the data, with all that prices it.

    `epsilon` and `delta` are the guarantee of one such act for tables that are `neighbors` neighbours in one `unit`, rounded up
    to a unit of account (1e-12 and 1e-18); `count` acts alike are one entry. `rows_per_person` is how many rows of a person the
    act counts. `parameters` are plain public values: a Gaussian release adds `rho`, its zCDP price; PCPL adds `bound_epsilon`,
    the part of its epsilon that pays for the bound. `study` is the hash of the study, `data` the label of the data set.
    """

    what: str
    mechanism: str
    epsilon: Decimal
    delta: Decimal = Decimal(0)
    parameters: dict[str, Any] = field(default_factory=dict)
    study: str = ""
    unit: str = ROW
    rows_per_person: int = 1
    neighbors: Neighbors = "replace-one"
    data: str = ""
    analyst: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        for name in ("what", "mechanism", "study", "data", "analyst"):
            if not isinstance(getattr(self, name), str):
                raise StudyError(f"{name} of a charge must be text, not {getattr(self, name)!r}.")
        for name in ("count", "rows_per_person"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not value >= 1:
                raise StudyError(f"{name} of a charge must be a whole number of at least 1, not {value!r}.")
        check_unit(self.unit)
        check_neighbors(self.neighbors)
        force_setattr(self, "epsilon", decimal_of(charged_units(self.epsilon, "epsilon"), EPSILON_DIGITS))
        force_setattr(self, "delta", decimal_of(charged_units(self.delta, "delta"), DELTA_DIGITS))
        force_setattr(self, "parameters", plain_copy(self.parameters))

    @property
    def epsilon_units(self) -> int:
        """Epsilon of one act in units of 1e-12."""
        return charged_units(self.epsilon, "epsilon")

    @property
    def delta_units(self) -> int:
        """Delta of one act in units of 1e-18."""
        return charged_units(self.delta, "delta")


class Entry(Charge, frozen=True, kw_only=True):
    """A charge as the ledger holds it: its place, its time (UTC, ISO 8601), the id of the release that it pays for, its link.

    `sealed` is the SHA-256 of what was drawn: of the request, a line feed and the release as it was committed in the first entry
    that pays for it, and of what a later stage adds in an entry of its own, which costs nothing (`stage`). `hash` is the link in
    the chain. It is computed from the text of the entry, so that text is without it.
    """

    index: int
    time: str
    release: str = ""
    sealed: str = ""
    hash: str = ""

    def stage(self, *, index: int, time: str, sealed: str) -> Entry:
        """The entry of a later stage of the release that this one pays for."""
        return Entry(
            what=STAGE,
            mechanism=STAGE,
            epsilon=Decimal(0),
            study=self.study,
            unit=self.unit,
            neighbors=self.neighbors,
            data=self.data,
            index=index,
            time=time,
            release=self.release,
            sealed=sealed,
        )

    def states(self, paid: Charge) -> bool:
        """Neither less was charged than is stated nor more: a stated price below the true one is the lie to look for."""
        facts = ("what", "mechanism", "epsilon", "delta", "study", "unit", "rows_per_person", "neighbors", "count")
        same = all(getattr(self, fact) == getattr(paid, fact) for fact in facts)
        return same and all(self.parameters.get(name) == value for name, value in paid.parameters.items())


class Spent(Public, frozen=True, kw_only=True):
    """What the entries of a ledger cost together, and which theorem says so ("basic" or "zCDP")."""

    epsilon: Decimal
    delta: Decimal
    method: str = "basic"

    def __str__(self) -> str:
        return amounts(self.epsilon, self.delta)


class Remaining(Public, frozen=True, kw_only=True):
    """Total minus spent: a charge of at most this is always accepted; under zCDP composition a little more may be."""

    epsilon: Decimal
    delta: Decimal

    def __str__(self) -> str:
        return amounts(self.epsilon, self.delta)


class Receipt(Public, frozen=True, kw_only=True):
    """Proof of one charge: kept outside the ledger, it shows later that the ledger still holds the entry.

    `epsilon` and `delta` are those of the whole entry (its `count` acts together, added up).
    """

    index: int
    hash: str
    epsilon: Decimal
    delta: Decimal
    remaining: Remaining


class Commitment(Public, frozen=True, kw_only=True):
    """What `Ledger.commit` has written: a receipt for each charge, and the id under which the sealed release is kept."""

    receipts: tuple[Receipt, ...]
    id: str


class Undelivered(Public, frozen=True, kw_only=True):
    """A release that was paid for and not yet handed over: its id, when and by which request it was committed, and its text."""

    id: str
    time: str
    request: str
    text: str


class Opening(Public, frozen=True, kw_only=True):
    """What a ledger is opened with and never changes: its totals, how entries are added up, and what a charge must be about.

    Where `unit` or `neighbors` is None, the first charge fixes it. `id` makes the chains of two ledgers differ from the start.
    """

    index: int
    format: str
    id: str
    time: str
    epsilon: Decimal
    delta: Decimal
    composition: Composition = "basic"
    unit: str | None = None
    neighbors: Neighbors | None = None

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise StudyError(f"The format of a ledger must be {FORMAT!r}.")
        if self.composition not in get_args(Composition):
            raise StudyError(f"composition is {self.composition!r}; it must be 'basic' or 'zcdp'.")
        if self.unit is not None:
            check_unit(self.unit)
        if self.neighbors is not None:
            check_neighbors(self.neighbors)
        for name, digits in (("epsilon", EPSILON_DIGITS), ("delta", DELTA_DIGITS)):
            units = units_down(_amount(getattr(self, name), name), digits)
            force_setattr(self, name, decimal_of(units, digits))

    @property
    def epsilon_units(self) -> int:
        """The total epsilon in units of 1e-12."""
        return units_down(self.epsilon, EPSILON_DIGITS)

    @property
    def delta_units(self) -> int:
        """The total delta in units of 1e-18."""
        return units_down(self.delta, DELTA_DIGITS)

    @property
    def conversion_delta_units(self) -> int:
        """The delta at which zCDP may be converted: none under basic composition."""
        return self.delta_units if self.composition == "zcdp" else 0

    def __str__(self) -> str:
        stated = [f"the unit {self.unit!r}" if self.unit else "", self.neighbors or ""]
        more = ["zCDP composition" if self.composition == "zcdp" else "", *stated]
        return ", ".join([amounts(self.epsilon, self.delta), *filter(None, more)])


def check_unit(unit: object) -> None:
    """Refuse what is no unit of protection."""
    if not (isinstance(unit, str) and (unit == ROW or (unit.startswith(PERSON) and unit != PERSON))):
        raise StudyError(f"unit is {unit!r}; it must be 'row', or 'person:' and the name of the column of persons.")


def plain_copy(values: dict[str, Any]) -> dict[str, Any]:
    """A copy made of what JSON can hold; a Decimal becomes its text."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False, default=_decimal_text)) if values else {}
    except (TypeError, ValueError) as problem:
        raise StudyError(f"The parameters of a charge must be plain finite values, but: {problem}.") from None
    return copy


def _decimal_text(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not plain")


def _amount(value: Price, name: str) -> Decimal:
    """An epsilon or a delta as the exact decimal number that was written; zero is allowed."""
    number = exact_decimal(value, name)
    if not 0 <= number <= LARGEST_AMOUNT[name]:
        raise StudyError(f"{name} is {value}; it must be between 0 and {LARGEST_AMOUNT[name]}.")
    return number


@lru_cache(maxsize=10_000, typed=True)
def charged_units(value: Price, name: str) -> int:
    """An epsilon or a delta of a charge in whole units, rounded up. A long ledger has few different ones, so they are kept."""
    return units_up(_amount(value, name), EPSILON_DIGITS if name == "epsilon" else DELTA_DIGITS)


def units_up(value: Decimal, digits: int) -> int:
    """The fewest units of 10^-digits that are at least `value`."""
    return int(value.scaleb(digits, _EXACT).to_integral_value(ROUND_CEILING, _EXACT))


def units_down(value: Decimal, digits: int) -> int:
    """The most units of 10^-digits that are at most `value`."""
    return int(value.scaleb(digits, _EXACT).to_integral_value(ROUND_FLOOR, _EXACT))


@lru_cache(maxsize=10_000)
def decimal_of(units: int, digits: int) -> Decimal:
    """The exact decimal number of so many units, without needless zeros."""
    number = Decimal(units).scaleb(-digits, _EXACT).normalize(_EXACT)
    return number.quantize(Decimal(1), context=_EXACT) if number == number.to_integral_value() else number


def amounts(epsilon: Decimal, delta: Decimal) -> str:
    """An epsilon and a delta for a message."""
    return f"epsilon={plain(epsilon)}, delta={plain(delta)}"
