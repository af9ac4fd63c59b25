"""Defines error bars: the range in which each number of a result may lie, and its causes."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - pydantic reads it
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerlane.dotted import join_path
from peerlane.results.document import Document, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STILL = 0.002
"""A change of a number by at most this share of the number counts as no change."""


@dataclass(frozen=True, slots=True)
class MovedDefault(Document):
    """A changed default and its effect on a number of a result.

    `value` is the default, `to` is an end of its range, and `number` is the number of the result
    with this end.
    """

    name: str
    value: str
    to: str
    number: float

    @property
    def key(self) -> str:
        """The key of the default, without the sections of a scenario that share the default."""
        return key_of(self.name)


@dataclass(frozen=True, slots=True)
class ErrorBar(Document):
    """A number of a result and the range in which it may lie; the strongest cause is first."""

    value: float
    low: float
    high: float
    causes: tuple[MovedDefault, ...]

    @classmethod
    def of(cls, value: float, moved: Iterable[MovedDefault]) -> ErrorBar:
        """The error bar of a number, from its values with changed defaults.

        The upper end is calculated from the largest increase of the number by each default: these
        increases are added in quadrature, because the errors are independent. The lower end is
        calculated in the same way from the largest decreases.
        """
        up: dict[str, float] = {}
        down: dict[str, float] = {}
        causes = [one for one in moved if abs(one.number - value) > STILL * abs(value)]
        for one in causes:
            side = up if one.number > value else down
            side[one.name] = max(side.get(one.name, 0.0), abs(one.number - value))
        causes.sort(key=lambda cause: -abs(cause.number - value))
        low, high = (math.hypot(*side.values()) for side in (down, up))
        return cls(value, max(value - low, 0.0), value + high, tuple(causes))

    def said(self, text: Callable[[float], str]) -> str:
        """The range, and the default on which it depends most, in words.

        Args:
            text: A function from a number to its text without the unit.
        """
        if not self.causes:
            return f"no default of ours moves it by {100 * STILL:.1g} %"
        return f"{text(self.low)} to {text(self.high)}: `{self.causes[0].key}` is our choice"


@dataclass(frozen=True, slots=True)
class ErrorBars(Document):
    """The error bars of a scenario's rates and latencies.

    Attributes:
        name: The name of the scenario.
        bars: The error bars, by the paths of the numbers.
        moved: For each default that was changed, by its name, the ends of its range.
        refused: The ends of ranges with which the scenario cannot be built or run, and the reasons.
        runs: The number of runs.
    """

    name: str
    bars: Mapping[str, ErrorBar]
    moved: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]
    runs: int

    def of_flows(self, ids: Iterable[str], section: str = "flows") -> ErrorBar | None:
        """The error bar of the total rate of some flows; `None` if no flow has a rate.

        Args:
            ids: The ids of the flows, or of schedules, whose rates are their bus bandwidths.
            section: "flows" or "schedules".
        """
        rate = "bytes_per_second" if section == "flows" else "bus_bytes_per_second"
        paths = (join_path((section, one, rate)) for one in ids)
        bars = [self.bars[path] for path in paths if path in self.bars]
        if not bars:
            return None
        total = sum(bar.value for bar in bars)
        moved: dict[tuple[str, str, str], float] = {}
        for bar in bars:
            for one in bar.causes:
                move = one.name, one.value, one.to
                moved[move] = moved.get(move, total) + one.number - bar.value
        return ErrorBar.of(total, (MovedDefault(*move, now) for move, now in moved.items()))

    def to_json(self) -> dict[str, Any]:
        """The error bars as the command line writes them."""
        return encode(self)


def key_of(name: str) -> str:
    """The key in the name of a default, without the sections that share the default."""
    return name.partition(":")[2].removeprefix("*.")
