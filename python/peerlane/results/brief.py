"""Makes the `repr` of results: one line in a Python prompt, for results of any size."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import fields
from typing import Any

LONGEST = 100
"""The largest number of characters in the line, and in each text of the line."""


class Brief:
    """A dataclass whose `repr` is a line of its first fields, with the lengths of its lists."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - of any base class
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Brief.__repr__  # type: ignore[method-assign]  # dataclasses keep it

    def __repr__(self) -> str:
        return brief(self)


def brief(row: Any) -> str:  # noqa: ANN401 - any dataclass
    """The line of text that is the `repr` of a dataclass."""
    line = f"{type(row).__name__}("
    values = {field.name: _short(getattr(row, field.name)) for field in fields(row)}
    shown = [f"{name}={value}" for name, value in values.items() if value is not None]
    for number, one in enumerate(shown):
        if number and len(line) + len(one) > LONGEST - len(", ...)"):
            return f"{line}, ...)"
        line += f"{', ' * bool(number)}{one}"
    return f"{line})"


def _short(value: object) -> str | None:
    """A value in a few characters; `None` for a value without a short form."""
    match value:
        case float():
            return f"{value:.6g}"
        case bool() | int():
            return str(value)
        case str():
            return repr(value if len(value) < LONGEST else f"{value[: LONGEST - 3]}...")
        case (float(), float()):
            return f"({value[0]:.6g}, {value[1]:.6g})"
        case Sized() if len(value):
            return f"<{len(value)}>"
    return None
