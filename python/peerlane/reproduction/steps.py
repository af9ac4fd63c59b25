"""The values to which an input is moved: 10 % more, or all over the range of a choice of ours."""

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
"""The share by which a number is moved."""

COUNTED = re.compile(r"_(cycles|symbols)$")
"""Keys whose 0 is a count. At all other keys 0 switches a limit or a delay off."""


SMALL = 10
"""Smaller whole numbers are moved by one, up and down; other numbers by a factor of two."""


class Step(NamedTuple):
    """A new value, and its relative change; a choice, and a value that was 0, have no change."""

    value: Any
    share: float | None


def steps(key: str, value: object) -> list[Step]:
    """The values to which a setting may be moved, the best first; none for other texts.

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
    """Half and twice a number, for a setting without a stated range; none without a number.

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
    """The steps of a constant of experiments; all numbers of a tuple are moved together."""
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
    """The steps of an input, the best first."""
    value = value_of(one)
    return (
        constant_steps(value) if one.kind == "constant" else steps(split_path(one.name)[-1], value)
    )


def alternatives(one: Input) -> list[Any]:
    """The other values that an input without a source could have.

    These are the ends of the input's range in the catalogue. Without a range, they are half and
    twice a number or a quantity, the next smaller and larger whole numbers for a small whole
    number, and each other value of a choice.
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
    """Steps of whole numbers: 10 % more and at least 1, else twice as many, else half."""
    near = value + max(1, math.ceil(abs(value) * STEP - 1e-9))
    found = dict.fromkeys((near, 2 * value, value // 2 if value > 1 else near))
    return [Step(one, one / value - 1) for one in found if one != value]


def _sizes(found: Quantity) -> Iterator[Step]:
    """Steps of whole bytes: 10 % more, else an eighth more, twice as many, or half as many."""
    size = found.amount
    for factor in (Fraction(11, 10), Fraction(9, 8), Fraction(2), Fraction(1, 2)):
        new = math.ceil(size * factor)
        if new != size and (factor != Fraction(9, 8) or not (size * factor) % 1):
            yield Step(f"{new} B", float(Fraction(new) / size - 1))
