"""Recorded requests, and the units of their fields."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from peerlane.figures.quantities import Quantity

_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")

FS = 10**15
"""Femtoseconds in a second."""
NS = 10**6
"""Femtoseconds in a nanosecond."""

_PLAIN = re.compile(r"[0-9]+(\.[0-9]*)?")
_PARTS = {"B": 1, "ns": NS, "us": 10**9, "ms": 10**12, "s": FS}
"""The bytes or femtoseconds of the units of plain numbers."""


class Request(NamedTuple):
    """A recorded read or write.

    `time` is in femtoseconds; `None` if only the order of the requests is recorded. `place` is the
    address or the offset of the first byte in the target; `None` if the record has neither.
    """

    time: int | None
    source: str
    target: str
    is_read: bool
    place: int | None
    size: int
    has_address: bool = False


@dataclass(slots=True)
class Recording:
    """The requests of all files, and how many events of each kind are left out."""

    requests: list[Request] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class Ends(NamedTuple):
    """The nodes that the user names as the ends of all requests, in place of the recorded nodes."""

    source: str | None = None
    target: str | None = None


def amount(value: object, unit: str) -> int:
    """A time in femtoseconds, or a size or address in bytes, which may be hexadecimal.

    Args:
        value: A number in `unit`, or a text with a number and perhaps another unit of its kind.
        unit: "B" or a unit of time; empty for a time that must be written with a unit.

    Raises:
        ValueError: The value is not a time or a whole number of bytes, or is negative.
    """
    text = "" if value is None else str(value).strip()
    if not text:
        raise ValueError("the cell is empty")
    is_size = unit == "B"
    if is_size and _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _PLAIN.fullmatch(text) and unit:
        return _whole(text, Fraction(text.rstrip(".")) * _PARTS[unit], is_size=is_size)
    found, one = Quantity.read(text), Quantity.read("1 B" if is_size else "1 s")
    if found is not None and not found.unit:
        found = Quantity.read(f"{text} {unit}")
    if found is None or one is None or not found.is_like(one) or found.amount < 0:
        what, right = ("number of bytes", "4096 or 4 KiB") if is_size else ("time", "1.5 us")
        raise ValueError(f"{text!r} is not a {what}; write {right}")
    return _whole(text, Fraction(found.amount) * (1 if is_size else FS), is_size=is_size)


def _whole(text: str, amount: Fraction, *, is_size: bool) -> int:
    """A whole number of bytes, or of femtoseconds, to which a time is rounded."""
    if is_size and amount.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bytes; write 4096 or 4 KiB")
    return round(amount)
