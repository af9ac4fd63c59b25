"""Defines a row of a measuring tool's output: one rate or latency."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE = "bytes_per_second"
LATENCY = "latency_ns"
PERCENTILES = {"50": "p50", "90": "p90", "99": "p99", "99.9": "p999"}
"""The percentiles of Peerlane's results, with their names in the results."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rate or latency that a measuring tool reports.

    Args:
        name: The tool's name for the measurement: a job, or a test with its devices or its size.
        field: The field of Peerlane's results for this kind of number: "bytes_per_second", or
            "latency_ns.p50".
        value: The number, in bytes per second or nanoseconds.
        size: The bytes of one transfer, if the tool reports them.
        direction: "read" or "write", if the tool reports it.
        labels: Other properties of the row that the tool reports.
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
    """The number in a cell of a table; `None` if the cell has no number."""
    try:
        return float(cell)
    except ValueError:
        return None
