"""Public. Prices as whole numbers: epsilon in units of 1e-12, delta in units of 1e-18, rho in units of 1e-24.

Sums of whole numbers are exact, so ten charges of 0.1 are 1 and not a hair more or less. A charge is rounded up to a
unit and a total is rounded down. The unit of rho is the square of that of epsilon: epsilon^2 is then exact as well.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation

from dpselect.errors import AssumptionError

Amount = Decimal | int | str | float
"""What a person may write for epsilon or delta. A float means the decimal that Python prints for it: 0.1 is 0.1."""

EPSILON_DIGITS = 12
DELTA_DIGITS = 18
LARGEST_EPSILON = 10**6

_EXACT = Context(prec=2000)


def exact(value: Amount, name: str) -> Decimal:
    """`value` as the exact decimal number that was written."""
    try:
        number = Decimal(repr(float(value)) if isinstance(value, float) else value)
    except (InvalidOperation, TypeError, ValueError):
        raise AssumptionError(f"{name} must be a decimal number, not {str(value)!r}.") from None
    largest = 1 if name == "delta" else LARGEST_EPSILON
    if not number.is_finite() or not 0 <= number <= largest:
        raise AssumptionError(f"{name} must be between 0 and {largest}, not {str(value)!r}.")
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
    return number.quantize(Decimal(1)) if number == number.to_integral_value() else number


def text_of(number: Decimal) -> str:
    """A number for a message: 0.000001 as 1e-6, and 0.25 as it is."""
    if number and number < Decimal("1e-4"):
        _, digits, exponent = number.normalize(_EXACT).as_tuple()
        mantissa = "".join(map(str, digits))
        power = int(exponent) + len(mantissa) - 1
        return f"{mantissa[0]}{'.' + mantissa[1:] if mantissa[1:] else ''}e{power}"
    return f"{number:f}"
