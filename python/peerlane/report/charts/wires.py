"""Draws, for each wire, the shares of its time that payload, overhead and idle time take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.bars import Part, bars
from peerlane.charts.chart import Chart
from peerlane.charts.names import wire_name
from peerlane.formats import percent
from peerlane.report.overhead import BEFORE, FIBRE_PARTS, LINK_PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.report.overhead import Overhead

_MOST = 24

_COLOURS = {
    "payload": "var(--c1)",
    "headers": "var(--c2)",
    "envelopes": "var(--c2)",
    "framing": "var(--c5)",
    "replays": "var(--c4)",
    "DLLPs": "var(--c3)",
    "control": "var(--c3)",
    "ordered sets": "var(--c8)",
    BEFORE: "var(--c7)",
    "idle": "var(--line)",
}


_LINKS = "share of the time in which its workloads were under way"
_FIBRES = "share of the measured time"
_AXES = {
    frozenset({"link"}): _LINKS,
    frozenset({"fibre"}): _FIBRES,
    frozenset({"link", "fibre"}): f"{_FIBRES}; of links, in which their workloads were under way",
}
"""The title of the axis, by the kinds of wires in the chart; it depends on the kinds, because the
shares of links and the shares of fibres refer to different times."""


def wires(name: str, found: Sequence[Overhead]) -> Chart:
    """A chart with a bar for each direction of a wire; of many directions, only the busiest.

    Args:
        name: The name of the chart's images.
        found: The use of every wire; there must be at least one.
    """
    busiest = sorted(found, key=lambda one: one.shares["idle"])[:_MOST]
    order = (*dict.fromkeys((*LINK_PARTS[:-1], *FIBRE_PARTS[:-1], BEFORE)), "idle")
    shown = [one for one in found if one in busiest]
    parts = [
        Part(_name(one), part, one.shares[part], (f"{part} {percent(one.shares[part])}",))
        for one in shown
        for part in order
        if one.shares.get(part, 0) > 0
    ]
    caption = "Time of each direction of each wire, by what was on it"
    if len(found) > len(busiest):
        caption += f"; the {len(busiest)} busiest of {len(found)}"
    first = busiest[0]
    text = f"{caption}. The busiest is {first.id} {first.sender}: " + ", ".join(
        f"{part} {percent(first.shares[part])}" for part in order if first.shares.get(part, 0) > 0
    )
    panel = bars(parts, _COLOURS, _AXES[frozenset(one.kind for one in shown)], plain=("idle",))
    return Chart(name, f"{caption}.", f"{text}.", (panel,))


def _name(one: Overhead) -> str:
    return wire_name(one.id, one.sender)
