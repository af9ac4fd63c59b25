"""Draws published and simulated values of a figure or table that has no plot in `expected.toml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.chart import Chart, Panel, Spec
from peerlane.charts.scales import beside, rows
from peerlane.report.charts.published import shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.row import Row

_ROW = 20


def held(name: str, caption: str, found: Sequence[Row]) -> Chart:
    """A chart with a line of marks for each row that has a value, and a plot for each unit.

    Args:
        name: The name of the chart's images.
        caption: The sentence below the chart.
        found: The rows of a figure or table.
    """
    units = dict.fromkeys(row.expected.unit for row in found)
    panels = tuple(
        _panel(unit, [row for row in found if row.expected.unit == unit]) for unit in units
    )
    words = "A ring is published, a full mark simulated."
    return Chart(name, caption, f"{caption} {words} {len(found)} rows.", panels)


def _panel(unit: str, found: Sequence[Row]) -> Panel:
    points = [
        {
            "of": row.id,
            "what": row.expected.what,
            "simulated": row.simulated,
            "published": row.expected.value,
            "low": (row.expected.ends or (None, None))[0],
            "high": (row.expected.ends or (None, None))[1],
            "kind": row.expected.kind or "simulated",
        }
        for row in found
    ]
    names = [row.id for row in found]
    y = rows("of", names, "point", 0.6, grid=True)
    x: Spec = {
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"title": "value" if unit == "1" else unit},
    }
    tooltip = [{"field": key} for key in ("of", "what", "published", "simulated", "kind")]

    def marks(mark: Spec, field: str, **more: Spec) -> Spec:
        return {
            "mark": mark,
            "transform": [{"filter": f"isValid(datum.{field})"}],
            "encoding": {"x": x | {"field": field}, "y": y, "tooltip": tooltip} | more,
        }

    ring: Spec = {"type": "point", "filled": False, "size": 110, "color": "var(--ink)"}
    full: Spec = {"type": "point", "filled": True, "size": 38, "color": "var(--c1)"}
    spec: Spec = {
        "data": {"values": points},
        "height": max(60, _ROW * len(names)),
        "layer": [
            marks(
                {"type": "rule", "strokeWidth": 5, "opacity": 0.35, "color": "var(--ink)"},
                "low",
                x2={"field": "high"},
            ),
            marks(full | {"opacity": 1}, "simulated", shape=shapes()),
            marks(ring | {"opacity": 1, "strokeWidth": 1.4}, "published"),
        ],
    }
    return Panel("", spec, *beside(names))
