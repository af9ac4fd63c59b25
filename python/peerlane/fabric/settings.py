"""Converts values of parameters from the form of arguments in Python to the form of scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.fabric.keys import is_of_link, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

Setting = str | int | float | bool | None
"""A parameter's value: a unit is part of the text ("4 KiB"); with `None` the default applies."""

Quantity = str | None
"""A number with its unit, such as "166 ns" or "250 MHz"."""
Size = str | int | None
"""A text such as "4 KiB", or a number of bytes."""
Rate = str | float | None
"""A text such as "1 GB/s", or a number of bytes a second."""
Count = int | str | None
"""A whole number; in a repeated table also an expression, such as "{i + 1}"."""
Ratio = float | str | None
"""A number without a unit; in a repeated table also an expression, such as "{i + 1}"."""
Requests = (
    str | Sequence[tuple[float | str, int | str, int | str] | tuple[int | str, int | str]] | None
)
"""Recorded requests: (time, offset, size) or (offset, size) of each; numbers are nanoseconds and
bytes."""
Text = str | int | None
Flag = bool | None


def rate(load: Setting) -> str:
    """Converts a load to the form of scenarios: the unit of a number is bytes a second."""
    if isinstance(load, str):
        return load
    if load is None or isinstance(load, bool) or not isfinite(load):
        right = 'write one like "1 GB/s", or a number of bytes a second'
        raise ScenarioError(f"load: {load!r} is not a bandwidth; {right}")
    return f"{round(load)} B/s"


def with_unit(section: str, key: str, value: Any) -> Any:  # noqa: ANN401 - as it is given
    """Adds the unit to a value that is a number: bytes for a size, bytes a second for a rate.

    Recorded requests become their text.

    Args:
        section: The section of the scenario, such as "devices".
        key: The key, such as "bar".
        value: Any value.
    """
    if (section, key) == ("flows", "requests") and isinstance(value, Iterable):
        return value if isinstance(value, str) else "".join(map(_request, value))
    kind = None if isinstance(value, bool) else kind_of(section, key)
    if kind == "size" and isinstance(value, Integral):
        return size(int(value))
    if kind == "bandwidth" and isinstance(value, Real) and isfinite(value):
        return rate(float(value))
    return value


def _request(one: object) -> str:
    """A line of recorded requests."""
    fields = tuple(one) if isinstance(one, Iterable) and not isinstance(one, str) else ()
    if len(fields) not in {2, 3}:
        raise ScenarioError(
            f"requests: {one!r} is no request; write (time, offset, size) or (offset, size)"
        )
    return ", ".join(map(_field, fields)) + "\n"


def _field(value: object) -> str:
    """A number without an exponent, exact to a millionth, or any other value."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def size(count: int) -> str:
    """A number of bytes as text in a scenario, with the largest unit that divides it exactly."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale and count % scale == 0:
            return f"{count // scale} {unit}"
    return f"{count} B"


def attached(to: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a node below `to`, with a table for the settings of its link."""
    link, own = split(settings)
    return {"upstream": {"to": to} | link} | own


def split(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divides settings into settings of the link above a node and settings of the node itself."""
    link = {key: value for key, value in settings.items() if is_of_link(key)}
    return link, {key: value for key, value in settings.items() if key not in link}
