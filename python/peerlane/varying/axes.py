"""Reads the values of a varied key from `--vary KEY=SPEC`: ranges and lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import log
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from peerlane._core import read_value
from peerlane.dotted import join_path, split_path
from peerlane.figures.quantities import NUMBER, UNIT, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_VALUES = 100_000
"""The largest number of values of one key; more values are probably a typing error."""

_QUANTITY = rf"{NUMBER}\s*(?:{UNIT})?"
_RANGE = re.compile(rf"({_QUANTITY})\s*\.\.\s*({_QUANTITY})\s*(?:([*+])\s*({_QUANTITY}))?")
_EVERY = "*"
_LONGEST_BITS = 128
"""A value whose exact denominator has more bits than this is rounded to 15 digits."""
_SIGNIFICANT = 6
"""The number of significant digits of a value that is drawn from a `Span`."""

GRAMMAR = "write A..B*F, A..B+S or a list a,b,c, such as 8..256*2"


@dataclass(frozen=True, slots=True)
class Span:
    """A continuous range of values from `low` to `high`, from which samples are drawn."""

    low: Quantity
    high: Quantity

    def at(self, share: float) -> Any:  # noqa: ANN401 - a number, or text with a unit
        """The value at a share from 0 to 1 of the span; a whole number if both ends are whole."""
        low, high = self.low.amount, self.high.amount
        unit = self.low.finer(self.high)
        whole = not unit and self.low.is_whole and self.high.is_whole
        if whole:
            return int(low + int(share * (high - low + 1)))
        amount = low + Fraction(share) * (high - low)
        scale = Fraction(1) if not unit else Quantity(Fraction(1), unit, is_whole=True).amount
        short = Fraction(f"{float(amount / scale):.{_SIGNIFICANT}g}")
        return self.low.written(short * scale, unit, whole=False)


@dataclass(frozen=True, slots=True)
class Axis:
    """A key of the scenario and its values, or the span from which samples are drawn."""

    key: str
    values: tuple[Any, ...]
    span: Span | None = None

    @classmethod
    def read(cls, text: str) -> Axis:
        """Reads `KEY=SPEC`.

        Raises:
            ValueError: The text does not have this form.
        """
        key, equals, spec = text.partition("=")
        if not equals or not key.strip() or not spec.strip():
            raise ValueError(
                f"{text!r} varies nothing; write KEY=SPEC, such as devices.a.tags=8,16"
            )
        return cls.of(key.strip(), spec)

    @classmethod
    def of(cls, key: str, values: str | Iterable[Any]) -> Axis:
        """The axis of a key, from a list of values or from the text of a SPEC.

        Raises:
            ValueError: The text is not a SPEC, there are no values, or the key has `*` in a name.
        """
        parts = split_path(key)
        if any(_EVERY in part and part != _EVERY for part in parts):
            right = join_path([_EVERY if _EVERY in part else part for part in parts])
            raise ValueError(f"{key}: in a key, * stands for a whole name; write {right}")
        if not isinstance(values, str):
            found = tuple(_plain(key, value) for value in values)
        else:
            items = list(_items(values))
            if len(items) == 1 and (match := _RANGE.fullmatch(items[0])) and not match[3]:
                return cls(key, (), _span(key, match[1], match[2]))
            found = tuple(value for item in items for value in _values(key, item))
        if not found:
            raise ValueError(f"{key} has no values; {GRAMMAR}")
        unique = {repr(value): value for value in found}  # so that 1 and true are different values
        return cls(key, tuple(unique.values()))

    def grid(self) -> tuple[Any, ...]:
        """All values of the axis.

        Raises:
            ValueError: The axis is a span, which has no single values.
        """
        if self.span is not None:
            low, high = (_told(end) for end in (self.span.low, self.span.high))
            raise ValueError(
                f"{self.key}={low}..{high} has no step; write {low}..{high}*2, or"
                f" {low}..{high}+STEP, or draw from it with a sample, such as lhs:20"
            )
        return self.values

    def at(self, share: float) -> Any:  # noqa: ANN401 - any value of a scenario
        """The value at a share (from 0 to less than 1) of the list of values, or of the span."""
        if self.span is not None:
            return self.span.at(share)
        return self.values[int(share * len(self.values))]


def _plain(key: str, value: object) -> object:
    """Checks that a value has a type of TOML; types of numpy become types of Python."""
    if isinstance(value, str | bool | list):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise ValueError(f"{key}: {value!r} is no value of a scenario; give text, numbers or booleans")


def _items(spec: str) -> Iterator[str]:
    """The items of a list; commas within quotes and brackets do not separate items."""
    depth, quote, item = 0, "", ""
    for sign in spec:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        if sign == "," and not quote and not depth:
            yield item.strip()
            item = ""
        else:
            item += sign
    yield item.strip()


def _values(key: str, item: str) -> Iterable[Any]:
    if not item:
        raise ValueError(f"{key} has an empty value; {GRAMMAR}")
    if item[0] in "\"'" or ".." not in item:
        return (read_value(item),)
    match = _RANGE.fullmatch(item)
    if match is None:
        raise ValueError(f"{key}={item} is no range; {GRAMMAR}")
    if not match[3]:
        raise ValueError(f"{key}={item} has no step; {GRAMMAR}")
    return _stepped(f"{key}={item}", _span(key, match[1], match[2]), match[3], match[4])


def _span(key: str, first: str, last: str) -> Span:
    low, high = _read(key, first), _read(key, last)
    if not low.is_like(high):
        raise ValueError(
            f"{key}={first}..{last} joins different units; write both ends in one kind"
        )
    return Span(low, high)


def _read(key: str, text: str) -> Quantity:
    quantity = Quantity.read(text)
    if quantity is None:
        raise ValueError(f"{key}: {text!r} has a unit that is not known; write one like 4 KiB")
    return quantity


def _stepped(what: str, span: Span, sign: str, text: str) -> Iterator[Any]:
    """The values of a range with a step; the last value does not exceed the end of the range."""
    low, high = span.low.amount, span.high.amount
    step = _read(what, text)
    unit, whole = span.low.finer(span.high), span.low.is_whole and span.high.is_whole
    if sign == "*":
        if step.unit or step.number <= 0 or low * high <= 0:
            raise ValueError(f"{what}: a factor and both ends are numbers above 0")
        grows = step.number > 1
        is_moving = step.number != 1
    else:
        if not span.low.is_like(step):
            raise ValueError(
                f"{what}: the step has another unit than the ends; write one of {unit or 'none'}"
            )
        unit = Quantity(Fraction(1), unit, is_whole=True).finer(step)
        whole = whole and step.is_whole
        grows = step.number > 0
        is_moving = step.number != 0
    if low != high and (not is_moving or grows != (low < high)):
        raise ValueError(f"{what} never comes to its end; {GRAMMAR}")
    if _count(low, high, step, sign) > MOST_VALUES:
        raise ValueError(f"{what} has more than {MOST_VALUES:,} values; write a larger step")
    value = low
    while value <= high if grows else value >= high:
        yield span.low.written(value, unit, whole=whole)
        if low == high:
            return
        value = _short(value * step.number) if sign == "*" else value + step.amount


def _count(low: Fraction, high: Fraction, step: Quantity, sign: str) -> float:
    """The approximate number of values from `low` to `high`."""
    if low == high:
        return 1
    if sign == "*":
        return log(high / low) / log(step.number)
    return float((high - low) / step.amount)


def _short(value: Fraction) -> Fraction:
    """Rounds a value that has too many digits, as high powers of a factor have."""
    if value.denominator.bit_length() <= _LONGEST_BITS:
        return value
    return Fraction(f"{float(value):.15g}")


def _told(quantity: Quantity) -> str:
    return str(quantity.written(quantity.amount, quantity.unit, whole=quantity.is_whole))
