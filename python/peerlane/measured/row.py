"""A number of a measuring tool."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE = "bytes_per_second"
LATENCY = "latency_ns"
PERCENTILES = {"50": "p50", "90": "p90", "99": "p99", "99.9": "p999"}
"""The percentiles that results of Peerlane have, by their names there."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measured rate or latency.

    Args:
        name: What was measured, as the tool names it: a job, a test and its devices or its size.
        field: The field of a result of Peerlane that has such a number: "bytes_per_second", or
            "latency_ns.p50".
        value: The number, in bytes per second or nanoseconds.
        size: The bytes of one transfer, if the tool says them.
        direction: "read" or "write", if the tool says it.
        labels: Whatever else the tool says of the row.
    """

    name: str
    field: str
    value: float
    size: int | None = None
    direction: str | None = None
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def quantity(self) -> str:
        """The kind of the number: "rate" or "latency"."""
        return "rate" if self.field.endswith(RATE) else "latency"


def number(cell: str) -> float | None:
    """The number of a cell of a table, if it is one."""
    try:
        return float(cell)
    except ValueError:
        return None
