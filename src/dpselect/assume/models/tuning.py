"""Public. How much of epsilon is spent on tuning, and what it buys: the bounds of the response."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dpselect.assume.models.budget import EXACT, Budget, Price, exact_decimal, exact_epsilon
from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Numeric
from dpselect.errors import AssumptionError

ROWS_FOR_QUARTILES = 150
"""Epsilon times rows that finds the quartiles to about five in a hundred rows."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Public. Clip the response to two private quantiles, and give the coefficients a radius in proportion.

    `outside` is the share of the responses beyond either bound: a quarter by default, so the bounds are the quartiles. They
    should be that narrow because the noise of the choice grows with the square of the bounds, whereas a clipped response
    still tells which columns matter. It must be a multiple of 1/1024, so that counts times it are exact. `radius` is
    in units of the response's new half range, `steps` the number of places for a bound within the stated ones.

    Source: ours; measured in docs/RESULTS.md.
    """

    outside: float = 0.25
    radius: float = 1.5
    steps: int = 256

    def __post_init__(self) -> None:
        if not (0 < self.outside < 0.5 and (self.outside * 1024).is_integer()):
            raise AssumptionError(f"outside is {self.outside:g}; it must be a multiple of 1/1024 between 0 and 1/2.")
        if not 0 < self.radius <= 1e6:
            raise AssumptionError(f"The tuned radius is {self.radius:g} half ranges; it must be above 0, at most 1e6.")
        if not 2 <= self.steps <= 1024:
            raise AssumptionError(f"There are {self.steps} steps between the bounds; from 2 to 1024 are allowed.")


DEFAULT_TUNING = Tuning()


def tuning_share(rows: int | None, epsilon: float) -> float:
    """The share of epsilon that buys the bounds: 150 / (n epsilon), at least 1/50 and at most 1/5; 1/10 where n is private.

    Why: a quantile's error in rows is in proportion to 1/(share * epsilon), and a few in a hundred rows do no harm; so a long
    table needs less. Below a fiftieth nothing is left to save; above a fifth the choice itself would starve.
    """
    if rows is None:
        return 0.1
    return min(0.2, max(0.02, ROWS_FOR_QUARTILES / (rows * epsilon)))


def split_for_tuning(epsilon: Price, rows: int | None, share: Price | None = None) -> tuple[Decimal, Decimal]:
    """Epsilon for the bounds and epsilon for the choice, adding up to the whole exactly."""
    whole = exact_epsilon(epsilon)
    part = exact_decimal(round(tuning_share(rows, float(whole)), 4) if share is None else share, "The tuning's share")
    if not 0 < part < 1:
        raise AssumptionError(f"The tuning's share is {part}; it must be above 0 and below 1.")
    bounds, choice = Budget(whole).split(part, EXACT.subtract(Decimal(1), part))
    return bounds.epsilon, choice.epsilon


def tuned_assumptions(
    assumptions: Assumptions, lower: float, upper: float, tuning: Tuning = DEFAULT_TUNING
) -> Assumptions:
    """The same study with released bounds for the response, and the radius that goes with them."""
    stated = assumptions.response
    response = Numeric(stated.name, lower, upper, label=stated.label, unit=stated.unit)
    changed = {"response": response.to_dict(), "radius": tuning.radius * response.half_width}
    # All else as stated, whatever it is: terms, persons, and what later versions add.
    return Assumptions.from_dict(assumptions.to_dict() | changed)


def check_rows_are_persons(assumptions: Assumptions) -> None:
    """Refuse to buy bounds for a study that protects whole persons: every row counts in them, however many a person has."""
    if assumptions.person is not None:
        raise AssumptionError(
            "Bounds are bought with a price for rows, and this study protects whole persons: state the response's bounds, "
            "and use select or analyze."
        )
