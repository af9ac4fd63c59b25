"""Calculates with numbers that have units, as in the range `64 B..4 KiB*2`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from peerlane._core import quantity, unit_size

_DIGITS = 12
"""The number of decimal places of a value that has no finite decimal form."""

NUMBER = r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
UNIT = r"[A-Za-zµμ]+(?:/s)?"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit, which is empty for a plain number.

    `is_whole` is whether the number is written without a point and an exponent.
    """

    number: Fraction
    unit: str
    is_whole: bool

    @classmethod
    def read(cls, text: str) -> Quantity | None:
        """Reads a quantity from a text; `None` if the text is no quantity."""
        if (found := quantity(text)) is None:
            return None
        number, unit = found
        return cls(Fraction(number), unit, is_whole=not set(number) & set(".eE"))

    @property
    def amount(self) -> Fraction:
        """The quantity in the base unit of its kind."""
        return self.number * _size(self.unit)

    def is_like(self, other: Quantity) -> bool:
        """Whether both quantities are of one kind, such as times."""
        return unit_size(other.unit)[0] == unit_size(self.unit)[0]

    def finer(self, other: Quantity) -> str:
        """The smaller one of the units of two quantities."""
        return min(self.unit, other.unit, key=_size)

    def written(self, amount: Fraction, unit: str, *, whole: bool) -> int | float | str:
        """Writes an amount in `unit`, in the form that scenarios have.

        A plain number is an integer if `whole` is set; bytes are always whole.
        """
        number = amount / _size(unit)
        if not unit:
            return int(number) if whole and number.denominator == 1 else float(number)
        if unit == "B":
            number = Fraction(round(number))
        return f"{_decimal(number)} {unit}"


def _size(unit: str) -> Fraction:
    """The size of a unit in the base unit of its kind."""
    _, numerator, denominator = unit_size(unit)
    return Fraction(numerator, denominator)


def amount_of(value: object) -> float | None:
    """A value of a scenario as a number in the base unit of its kind; `None` if there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        quantity = Quantity.read(value)
        return None if quantity is None else _finite(quantity.amount)
    return _finite(value)


def unit_of(value: object) -> str:
    """The unit in which a value of a scenario is written; empty if it has none."""
    quantity = Quantity.read(value) if isinstance(value, str) else None
    return "" if quantity is None else quantity.unit


def in_unit(value: object, unit: str) -> float | None:
    """A value of a scenario as a number in `unit`; `None` if it is of another kind."""
    if not unit:
        return amount_of(value)
    quantity = Quantity.read(value) if isinstance(value, str) else None
    one = Quantity.read(f"1 {unit}")
    if quantity is None or one is None or not quantity.is_like(one):
        return None
    return _finite(quantity.amount / one.amount)


def nanoseconds(time: str | float) -> float:
    """Converts a time to nanoseconds: a number in nanoseconds, or a text such as "10 us".

    Raises:
        ValueError: The text is not a time.
    """
    if not isinstance(time, str):
        return time
    if (found := in_unit(time, "ns")) is None:
        right = 'write one like "10 us", or a number of nanoseconds'
        raise ValueError(f"{time!r} is not a time; {right}")
    return found


def _finite(number: Fraction | float) -> float | None:
    """A number in double precision; `None` if the number is too large."""
    try:
        return float(number)
    except OverflowError:
        return None


def _decimal(number: Fraction) -> str:
    """A number as a decimal; it is exact if `_DIGITS` decimal places are enough."""
    places = 0
    while places < _DIGITS and (number * 10**places).denominator != 1:
        places += 1
    digits = str(abs(round(number * 10**places))).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    part = part.rstrip("0")
    return f"{'-' * (number < 0)}{whole}" + (f".{part}" if part else "")
