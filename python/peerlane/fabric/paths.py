"""Reads settings of a command line: the path of a key and a value, as in `devices.a.tags=16`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane._core import read_value

if TYPE_CHECKING:
    from peerlane.fabric.settings import Setting


def read_setting(text: str) -> tuple[str, Setting]:
    """Splits `PATH=VALUE`.

    Raises:
        ValueError: The text has no `=`, or no value after the `=`.
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise ValueError(f"{text!r} sets nothing; write KEY=VALUE, such as devices.a.tags=16")
    if not value.strip():
        raise ValueError(f"{text!r} has no value; write KEY=VALUE, such as devices.a.tags=16")
    try:
        return path.strip(), read_value(value)
    except ValueError:
        raise ValueError(f"{path.strip()}: the number {value} is too large") from None
