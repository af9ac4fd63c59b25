"""The values to which an input is moved: 10 % more, or the nearest one that there can be."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from peerlane.figures.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 0.1
"""The share by which a number is moved."""

COUNTED = re.compile(r"_(cycles|symbols)$")
"""Keys at which 0 is a number of things. Elsewhere 0 takes a limit or a delay away."""


class Step(NamedTuple):
    """A new value, and by which share it is larger; a choice, and 0, have no share."""

    value: Any
    share: float | None


def steps(key: str, value: object) -> list[Step]:
    """The values to which a setting may be moved, the best first; none for what is no number.

    Args:
        key: The name of the setting.
        value: Its value, as TOML has it.
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


def _of_quantity(value: str) -> list[Step]:
    found = Quantity.read(value)
    if found is None or not found.number or not found.unit:
        return []
    if found.unit.endswith("B"):
        return list(_sizes(found))
    number = float(found.number)
    return [Step(f"{number * (1 + share):.9g} {found.unit}", share) for share in (STEP, -STEP)]


def constant_steps(value: object) -> list[Step]:
    """The same of a constant of a program, in which all numbers are moved together."""
    if isinstance(value, bool):
        return [Step(not value, None)]
    if isinstance(value, int):
        return _whole(value) if value else []
    if isinstance(value, str | float):
        return steps("", value)
    parts = _parts(value)
    moved = {at: found for at, part in parts.items() if (found := constant_steps(part))}
    if not moved:
        return []
    most = max(map(len, moved.values()))
    return [_together(value, moved, attempt) for attempt in range(most)]


def _together(value: object, moved: dict[Any, list[Step]], attempt: int) -> Step:
    chosen = {at: found[min(attempt, len(found) - 1)] for at, found in moved.items()}
    shares = [step.share for step in chosen.values() if step.share is not None]
    new = {at: step.value for at, step in chosen.items()}
    return Step(_with(value, new), max(shares, default=None))


def _parts(value: object) -> dict[Any, object]:
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value) if one.init}
    return {}


def _with(value: Any, new: dict[Any, object]) -> Any:  # noqa: ANN401 - any constant
    if isinstance(value, dict):
        return type(value)({**value, **new})
    if isinstance(value, tuple | list):
        changed: list[Any] = [new.get(at, one) for at, one in enumerate(value)]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    return replace(value, **new)


def _whole(value: int) -> list[Step]:
    """Whole numbers: 10 % more and at least 1, else twice as many, else half."""
    near = value + max(1, math.ceil(abs(value) * STEP - 1e-9))
    found = dict.fromkeys((near, 2 * value, value // 2 if value > 1 else near))
    return [Step(one, one / value - 1) for one in found if one != value]


def _sizes(found: Quantity) -> Iterator[Step]:
    """Whole bytes: 10 % more, else an eighth more, twice as many, or half as many."""
    family = {"B": 1} | {f"{p}iB": 1 << 10 * n for n, p in enumerate("KMGT", 1)}
    family |= {f"{p}B": 10 ** (3 * n) for n, p in enumerate("kMGT", 1)}
    size = found.number * family[found.unit]
    for factor in (Fraction(11, 10), Fraction(9, 8), Fraction(2), Fraction(1, 2)):
        new = math.ceil(size * factor)
        if new != size and (factor != Fraction(9, 8) or not (size * factor) % 1):
            yield Step(f"{new} B", float(Fraction(new) / size - 1))
