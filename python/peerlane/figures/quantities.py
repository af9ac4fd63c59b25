"""Numbers with units, for the arithmetic of ranges: `64 B..4 KiB*2`.

The simulator reads what comes of it; this page has only the ratios of its units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_FAMILIES: tuple[dict[str, Fraction], ...] = (
    {"": Fraction(1)},
    {
        unit: Fraction(10) ** power
        for unit, power in {"fs": -15, "ps": -12, "ns": -9, "us": -6, "ms": -3, "s": 0}.items()
    },
    {"B": Fraction(1)}
    | {f"{letter}iB": Fraction(1 << 10 * power) for power, letter in enumerate("KMGT", 1)}
    | {f"{letter}B": Fraction(10) ** (3 * power) for power, letter in enumerate("kMGT", 1)},
    {"B/s": Fraction(1)}
    | {f"{letter}iB/s": Fraction(1 << 10 * power) for power, letter in enumerate("KMG", 1)}
    | {f"{letter}B/s": Fraction(10) ** (3 * power) for power, letter in enumerate("kMG", 1)},
    {f"{letter}bit/s": Fraction(10) ** (3 * power) for power, letter in enumerate(("", *"kMG"))},
    {f"{letter}Hz": Fraction(10) ** (3 * power) for power, letter in enumerate(("", *"kMG"))},
    {unit: Fraction(10) ** power for unit, power in {"mm": -3, "cm": -2, "m": 0, "km": 3}.items()},
)
"""The units of each kind of quantity, and their sizes."""

_DIGITS = 12
"""Significant digits of a value that has no end as a decimal."""

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
        """The quantity that a text is, or nothing."""
        match = re.fullmatch(rf"({NUMBER})\s*({UNIT})?", text.strip())
        if match is None:
            return None
        unit = (match[2] or "").replace("µ", "u").replace("μ", "u")
        if not any(unit in family for family in _FAMILIES):
            return None
        number = match[1].replace("_", "")
        return cls(Fraction(number), unit, is_whole=not re.search(r"[.eE]", number))

    @property
    def amount(self) -> Fraction:
        """The quantity in the base unit of its kind."""
        return self.number * self._sizes[self.unit]

    def is_like(self, other: Quantity) -> bool:
        """Whether both are of one kind, such as times."""
        return other.unit in self._sizes

    def finer(self, other: Quantity) -> str:
        """The smaller one of both units."""
        return min(self.unit, other.unit, key=lambda unit: self._sizes[unit])

    def written(self, amount: Fraction, unit: str, *, whole: bool) -> int | float | str:
        """An amount of this kind as a scenario has it, in `unit`.

        A plain number is an integer if it is to be `whole`; bytes are always counted whole.
        """
        number = amount / self._sizes[unit]
        if not unit:
            return int(number) if whole and number.denominator == 1 else float(number)
        if unit == "B":
            number = Fraction(round(number))
        return f"{_decimal(number)} {unit}"

    @property
    def _sizes(self) -> dict[str, Fraction]:
        return next(family for family in _FAMILIES if self.unit in family)


def amount_of(value: object) -> float | None:
    """A value of a scenario as a number in the base unit of its kind; nothing if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        quantity = Quantity.read(value)
        return None if quantity is None else _finite(quantity.amount)
    return _finite(value)


def unit_of(value: object) -> str:
    """The unit that a value of a scenario is written in, if it has one."""
    quantity = Quantity.read(value) if isinstance(value, str) else None
    return "" if quantity is None else quantity.unit


def in_unit(value: object, unit: str) -> float | None:
    """A value of a scenario as a number in `unit`; nothing if it is no quantity of that kind."""
    if not unit:
        return amount_of(value)
    quantity = Quantity.read(value) if isinstance(value, str) else None
    one = Quantity.read(f"1 {unit}")
    if quantity is None or one is None or not quantity.is_like(one):
        return None
    return _finite(quantity.amount / one.amount)


def _finite(number: Fraction | float) -> float | None:
    """A number in double precision; `None` if it is not finite there."""
    try:
        return float(number)
    except OverflowError:
        return None


def _decimal(number: Fraction) -> str:
    """A number as a decimal, exactly where it ends within `_DIGITS` places."""
    places = 0
    while places < _DIGITS and (number * 10**places).denominator != 1:
        places += 1
    digits = str(abs(round(number * 10**places))).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    part = part.rstrip("0")
    return f"{'-' * (number < 0)}{whole}" + (f".{part}" if part else "")
