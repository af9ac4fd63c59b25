"""Formats numbers for readers: four significant digits, with a suitable unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Units = tuple[tuple[str, float], ...]
"""Units from the largest to the smallest, each with its size in the unit of the value."""

TIMES: Units = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
SIZES: Units = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))
RATES: Units = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0))
NONE = "-"
"""The text for a value that does not exist."""

_MANY = 1000
"""Numbers of at least this value are shown with one decimal place."""


def scaled(value: float, units: Units, digits: int = 4) -> str:
    """A value with the largest unit in which the value is at least 1."""
    unit, scale = next((one for one in units if abs(value) >= one[1]), units[-1])
    return f"{value / scale:.{digits}g} {unit}"


def number(value: float | None) -> str:
    """A number with four significant digits; a whole number or one from 1000 on has all digits."""
    if value is None:
        return NONE
    if value == int(value):
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= _MANY else f"{value:.4g}"


def amount(value: float | None) -> str:
    """A count with four digits: 1.469 M for 1468875.7."""
    if value is None:
        return NONE
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= max(scale, 1e4):
            return f"{value / scale:.4g} {unit}"
    return number(value)


def duration(ns: float | None) -> str:
    """A time in a suitable unit."""
    return NONE if ns is None else scaled(ns, TIMES)


def size(count: float | None) -> str:
    """A number of bytes in the largest binary unit that keeps it readable."""
    if count is None:
        return NONE
    return f"{count} B" if isinstance(count, int) and count < 1 << 10 else scaled(count, SIZES)


def gigabytes(rate: float | None) -> str:
    """A rate in GB/s, without the unit."""
    return NONE if rate is None else f"{rate / 1e9:.4g}"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"


def counted(count: int, noun: str) -> str:
    """A count with its noun, such as "1 switch" or "64 devices"."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def named_sockets(sockets: Sequence[int]) -> str:
    """The sockets of a host in words."""
    numbers = [str(one) for one in sockets]
    if len(numbers) == 1:
        return f"socket {numbers[0]}"
    return f"sockets {', '.join(numbers[:-1])} and {numbers[-1]}"


def shortened(items: Sequence[str], most: int) -> list[str]:
    """The items, or, if there are more than `most`, the first ones and the number of the others."""
    more = len(items) - most
    return list(items) if more <= 0 else [*items[:most], f"and {more} more"]


LONGEST_WORD = 200
"""The most characters of a word in a message, such as a value that the user gave."""

_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def clipped(message: str) -> str:
    """Shortens each very long word of a message to its beginning and its end."""

    def short(found: re.Match[str]) -> str:
        word = found[0]
        return f"{word[:40]}...{word[-20:]} ({len(word):,} characters)"

    return _LONG_WORD.sub(short, message)


def wall_time(seconds: float) -> str:
    """A real time in words, in its two largest units."""
    whole = max(round(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
