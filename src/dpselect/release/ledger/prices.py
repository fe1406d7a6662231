"""Public. Prices as whole numbers: epsilon in units of 1e-12, delta in units of 1e-18, rho in units of 1e-24.

Sums of whole numbers are exact, so ten charges of 0.1 are 1 and not a hair more or less. A charge is rounded up to a
unit and a total is rounded down. The unit of rho is the square of that of epsilon: epsilon^2 is then exact as well.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from dpselect.assume.models.budget import Price, exact_decimal, plain
from dpselect.errors import AssumptionError

Amount = Price
"""What a person may write for epsilon or delta: 0.1, "0.1" and Decimal("0.1") are the same."""

EPSILON_DIGITS = 12
DELTA_DIGITS = 18
EPSILON_UNIT = 10**12  # so many units are 1
DELTA_UNIT = 10**18
RHO_UNIT = 10**24

_LARGEST = {"epsilon": 10**9, "delta": 1}
_EXACT = Context(prec=2000)


def amount(value: Amount, name: str) -> Decimal:
    """An epsilon or a delta as the exact decimal number that was written; zero is allowed."""
    number = exact_decimal(value, name)
    if not 0 <= number <= _LARGEST[name]:
        raise AssumptionError(f"{name} is {value}; it must be between 0 and {_LARGEST[name]}.")
    return number


def units_up(value: Decimal, digits: int) -> int:
    """The fewest units of 10^-digits that are at least `value`."""
    return int(value.scaleb(digits, _EXACT).to_integral_value(ROUND_CEILING, _EXACT))


def units_down(value: Decimal, digits: int) -> int:
    """The most units of 10^-digits that are at most `value`."""
    return int(value.scaleb(digits, _EXACT).to_integral_value(ROUND_FLOOR, _EXACT))


def decimal_of(units: int, digits: int) -> Decimal:
    """The exact decimal number of so many units, without needless zeros."""
    number = Decimal(units).scaleb(-digits, _EXACT).normalize(_EXACT)
    return number.quantize(Decimal(1), context=_EXACT) if number == number.to_integral_value() else number


def amounts(epsilon: Decimal, delta: Decimal) -> str:
    """An epsilon and a delta for a message."""
    return f"epsilon={plain(epsilon)}, delta={plain(delta)}"
