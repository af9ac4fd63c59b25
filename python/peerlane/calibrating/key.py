"""Reads the keys that are fitted, and finds the possible values of each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane._core import ScenarioError
from peerlane.dotted import split_path
from peerlane.errors import PeerlaneError
from peerlane.figures.quantities import Quantity, in_unit
from peerlane.models.registry import catalogue
from peerlane.varying.axes import Axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from peerlane._core import Scenario

_WIDTHS = tuple(f"{width} B" for width in (8, 16, 32, 64, 128))
"""The widths of datapaths between a core and its user, 64 to 1024 bits."""
_SECTIONS, _OF_TABLE = ("hosts", "switches", "devices", "links", "flows"), 3
"""The sections whose tables contain no other tables, and the number of parts in the path of a key
in these sections."""
_DIGITS = 6
_LEAST_COUNT = 256
_SPREAD = 16
"""The range of values to try is from the scenario's value divided by this factor to the value times
this factor."""


class CalibrationError(PeerlaneError, ValueError):
    """A calibration is not possible; the message has the reason and the correction."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that is fitted; its value is one of `choices`, or a number from `low` to `high`."""

    path: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    is_whole: bool = False

    def written(self, number: float) -> Any:  # noqa: ANN401 - a number, or text with a unit
        """A number in the form of a scenario."""
        if self.is_whole:
            return round(number)
        shown = f"{float(f'{number:.{_DIGITS}g}'):.{4 if self.unit else 9}f}"
        shown = shown.rstrip("0").rstrip(".")
        return f"{shown} {self.unit}" if self.unit else float(shown)


def free_keys(scenario: Scenario, free: str | Iterable[str], longest_ns: float) -> list[Key]:
    """Reads the keys of `--free`, each written as KEY or as KEY=SPEC.

    Args:
        scenario: The scenario that has the keys.
        free: "devices.d.datapath,hosts.h.latency", or "devices.d.datapath=8 B,16 B".
        longest_ns: The longest latency that was measured, which is the upper limit for times.

    Raises:
        CalibrationError: A key has no default range, is given twice, or is not a key.
        ScenarioError: The scenario does not have a key.
    """
    found = [
        _key(scenario, path.strip(), spec, longest_ns)
        for one in ([free] if isinstance(free, str) else free)
        for path, spec in _split(one)
        if path.strip()
    ]
    paths = [key.path for key in found]
    if not paths:
        raise CalibrationError("no key is free; name one, such as --free devices.d.idle_cycles")
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise CalibrationError(f"{twice} is free twice; write it once")
    return found


def _split(text: str) -> Iterator[tuple[str, str]]:
    """The keys of a list, or the key and the values of KEY=SPEC."""
    if "=" in text:
        path, _, spec = text.partition("=")
        yield path, spec
    else:
        yield from ((path, "") for path in text.split(","))


def _key(scenario: Scenario, path: str, spec: str, longest_ns: float) -> Key:
    row = _row(path)
    now = scenario.effective(path)[0]
    if spec:
        return _of_spec(path, spec, row)
    kind, value = row["kind"], _number(now, row["unit"])
    found: Key | None = None
    if row["choices"] or kind == "flag":
        found = Key(path, tuple(row["choices"]) or (False, True))
    elif row["key"] == "datapath":
        found = Key(path, _WIDTHS)
    elif kind == "count":
        least = 1 if value else 0
        found = Key(path, (), least, max(4 * (value or 0), _LEAST_COUNT), is_whole=True)
    elif kind == "time":
        found = Key(path, (), 0.0, max(4 * (value or 0.0), longest_ns), "ns")
    elif value and kind == "size":
        powers = [2**power for power in range(48) if 1 / _SPREAD <= 2**power / value <= _SPREAD]
        found = Key(path, tuple(f"{power} B" for power in powers))
    elif value and kind in {"bandwidth", "frequency", "ratio"}:
        found = Key(path, (), value / _SPREAD, value * _SPREAD, row["unit"])
    if found is None:
        raise CalibrationError(
            f"{path} has no range of its own: it is a {kind}, and {now or 'nothing'} in the"
            f" scenario; write its values, such as --free {path}=1..8 or --free {path}=1,2,4"
        )
    return found


def _row(path: str) -> Mapping[str, Any]:
    """The row of a key in the catalogue."""
    parts = split_path(path)
    name = parts[-1]
    rows = [row for row in catalogue()["parameters"] if row["key"] == name]
    fitting = [row for row in rows if parts[0] in row["sections"]]
    if not fitting and (parts[0] not in _SECTIONS or len(parts) > _OF_TABLE):
        fitting = rows  # a key of a profile, of a node's link, or of a part of a network
    if not fitting:
        others = " or ".join(dict.fromkeys(one for row in rows for one in row["sections"]))
        right = f"it is a key of {others}" if rows else "peerlane list parameters has all keys"
        raise ScenarioError(f"{path}: {parts[0]} have no key {name!r}; {right}")
    found: Mapping[str, Any] = fitting[0]
    return found


def _of_spec(path: str, spec: str, row: Mapping[str, Any]) -> Key:
    axis = Axis.of(path, spec)
    if axis.span is None:
        return Key(path, _several(path, axis.values))
    low, high = axis.span.low, axis.span.high
    unit = row["unit"] if low.unit and row["unit"] else low.finer(high)
    first, last = (
        _number(str(end.written(end.amount, unit, whole=False)), unit) for end in (low, high)
    )
    if first is None or last is None or first >= last:
        raise CalibrationError(f"{path}={spec} is no range; write the lower end first")
    return Key(path, (), first, last, unit, is_whole=not unit and row["kind"] == "count")


def _several(path: str, values: Sequence[Any]) -> tuple[Any, ...]:
    if len(values) < 2:  # noqa: PLR2004 - one value leaves nothing to fit
        raise CalibrationError(f"{path}={values[0]} is one value; write several, or use --set")
    return tuple(values)


def _number(value: object, unit: str) -> float | None:
    """A value as a number in a unit; `None` for a value that is no number in this unit."""
    if isinstance(value, str) and (found := Quantity.read(value)) is not None and not found.unit:
        return float(found.number)
    return in_unit(value, unit) if isinstance(value, str) else in_unit(value, "")
