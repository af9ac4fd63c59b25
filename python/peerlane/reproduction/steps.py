"""Chooses the other values with which an input is tried when the sensitivity is studied.

An input whose value has a source is increased by 10 %. An input whose value is our own choice gets
each of the other values that it could have.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from peerlane.dotted import split_path
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.inputs import choices, range_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.reproduction.inputs import Input

STEP = 0.1
"""The relative change of a number whose value has a source."""

COUNTED = re.compile(r"_(cycles|symbols)$")
"""The ends of keys for which 0 is a number like others; at other keys, 0 switches a limit off."""


SMALL = 10
"""A whole number below this is tried one lower and one higher; other numbers halved and doubled."""


class Step(NamedTuple):
    """A new value of an input, and the relative change; `None` for a name, a flag, and after 0."""

    value: Any
    share: float | None


def steps(key: str, value: object) -> list[Step]:
    """The new values with which a setting may be tried, the best first; none for a name.

    Args:
        key: The name of the setting.
        value: The value of the setting, in the form of TOML.
    """
    if isinstance(value, bool):
        return [Step(not value, None)]
    if isinstance(value, str):
        return _of_quantity(value)
    if not isinstance(value, int | float):
        return []
    if not value:
        return [Step(1, None)] if COUNTED.search(key) else []
    whole = _whole(value) if isinstance(value, int) else []
    return [*(Step(value * (1 + share), share) for share in (STEP, -STEP)), *whole]


def ends(key: str, value: object) -> list[Any]:
    """Half and twice the value of a setting, if it is a number without a stated range.

    Args:
        key: The name of the setting.
        value: The value of the setting, in the form of TOML.
    """
    if isinstance(value, str):
        return _ends_of_quantity(value)
    if isinstance(value, int) and value and not isinstance(value, bool):
        return [one for one in (max(value // 2, 1), 2 * value) if one != value]
    if isinstance(value, float) and value:
        return [value / 2, value * 2]
    return [1] if value == 0 and COUNTED.search(key) else []


def _ends_of_quantity(value: str) -> list[Any]:
    found = Quantity.read(value)
    if found is None or not found.number or not found.unit:
        return []
    if found.unit.endswith("B"):
        return [f"{math.ceil(found.amount * factor)} B" for factor in (Fraction(1, 2), 2)]
    return [f"{float(found.number) * factor:.9g} {found.unit}" for factor in (0.5, 2.0)]


def _of_quantity(value: str) -> list[Step]:
    found = Quantity.read(value)
    if found is None or not found.number or not found.unit:
        return []
    if found.unit.endswith("B"):
        return list(_sizes(found))
    number = float(found.number)
    return [Step(f"{number * (1 + share):.9g} {found.unit}", share) for share in (STEP, -STEP)]


def constant_steps(value: object) -> list[Step]:
    """The new values of a constant of experiments; all numbers of a tuple change together."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole(value) if value else []
    if not isinstance(value, tuple):
        return steps("", value)
    moved = {at: found for at, part in enumerate(value) if (found := constant_steps(part))}
    attempts = range(max(map(len, moved.values()), default=0))
    return [_together(value, moved, attempt) for attempt in attempts]


def _together(value: tuple[object, ...], moved: dict[int, list[Step]], attempt: int) -> Step:
    chosen = {at: found[min(attempt, len(found) - 1)] for at, found in moved.items()}
    shares = [step.share for step in chosen.values() if step.share is not None]
    new = tuple(chosen[at].value if at in chosen else part for at, part in enumerate(value))
    return Step(new, max(shares, default=None))


def steps_of(one: Input) -> list[Step]:
    """The new values with which an input may be tried, the best first."""
    value = value_of(one)
    return (
        constant_steps(value) if one.kind == "constant" else steps(split_path(one.name)[-1], value)
    )


def alternatives(one: Input) -> list[Any]:
    """The other values that an input without a source could have.

    If the catalogue states a range for the input, these are the ends of the range. Without a range,
    a number or quantity is halved and doubled, a whole number below `SMALL` is changed by one down
    and up, and an input with named values or a flag gets each other value.
    """
    value, key = value_of(one), split_path(one.name)[-1]
    if stated := range_of(one.name):
        return [end for end in dict.fromkeys(stated) if end != value]
    if isinstance(value, tuple):
        parts = [_alternatives_of("", part) or [part, part] for part in value]
        both = [tuple(part[at] for part in parts) for at in (0, -1)]
        return [other for other in both if other != value]
    return _alternatives_of(key, value)


def _alternatives_of(key: str, value: object) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) and 0 < value < SMALL:
        return [other for other in (value - 1, value + 1) if other]
    if isinstance(value, str) and value != "none" and Quantity.read(value) is None:
        return [choice for choice in choices(key) if choice != value]
    return ends(key, value)


def _whole(value: int) -> list[Step]:
    """New values of a whole number: 10 % more but at least 1 more, then twice, then half."""
    near = value + max(1, math.ceil(abs(value) * STEP - 1e-9))
    found = dict.fromkeys((near, 2 * value, value // 2 if value > 1 else near))
    return [Step(one, one / value - 1) for one in found if one != value]


def _sizes(found: Quantity) -> Iterator[Step]:
    """New sizes in whole bytes: 10 % more, then an eighth more, then twice, then half."""
    size = found.amount
    for factor in (Fraction(11, 10), Fraction(9, 8), Fraction(2), Fraction(1, 2)):
        new = math.ceil(size * factor)
        if new != size and (factor != Fraction(9, 8) or not (size * factor) % 1):
            yield Step(f"{new} B", float(Fraction(new) / size - 1))
