"""Makes the tables of `peerlane bench shapes`: the cost of each shape, and the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from peerlane.benchmark.shapes.measure import UNITS
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import amount, duration, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.benchmark.shapes.baseline import Change
    from peerlane.benchmark.shapes.measure import Measured

_WORSE = {"time": "slower"}
_BETTER = {"time": "faster"}
"""By quantity, the word for a decrease; quantities that are absent have the word "less"."""


def shapes_table(found: Sequence[Measured]) -> Sheet:
    """For each shape, the time, instructions and memory for a unit of work."""
    table = Sheet("shape", "unit")
    table.numbers("units/s", "ns/unit", "events/unit", "ns/event", "instructions/unit")
    counted = any(one.valgrind for one in found)
    if counted:
        table.numbers("L1 misses/unit", "L2 misses/unit")
    table.numbers("peak memory")
    table.fold("unit", "ns/event", "units/s", "L1 misses/unit")
    for one in found:
        keys = ("l1_misses", "l2_misses") if counted else ()
        columns = [getattr(one.valgrind, key, None) for key in keys]
        table.add_row(
            one.shape,
            UNITS[one.shape],
            f"{1e9 / one.ns_per_unit:,.0f}",
            f"{one.ns_per_unit:,.0f}",
            f"{one.events / one.work:.2f}",
            f"{one.ns_per_unit * one.work / one.events:,.1f}",
            _whole(one.instructions_per_unit),
            *("-" if value is None else f"{value:.1f}" for value in columns),
            size(one.peak_bytes or None),
        )
    return table


def changes_table(changes: Sequence[Change]) -> Sheet:
    """Each quantity in both measurements, with a word if the difference is more than noise."""
    table = Sheet("shape", "quantity")
    table.numbers("before", "now", "ratio")
    table.add_column("change")
    for one in changes:
        table.add_row(
            one.shape,
            one.quantity,
            _told(one.quantity, one.before),
            _told(one.quantity, one.now),
            f"{one.ratio:.3f}",
            _word(one),
        )
    return table


def _word(change: Change) -> Text:
    if change.is_noise:
        return Text("")
    if change.ratio > 1:
        return Text(_WORSE.get(change.quantity, "more"), "bold red")
    return Text(_BETTER.get(change.quantity, "less"), "green")


def _told(quantity: str, value: float) -> str:
    if quantity == "time":
        return duration(value)
    if quantity == "peak memory":
        return size(round(value))
    return f"{value:.3f}" if quantity == "events" else amount(round(value, 1))


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
