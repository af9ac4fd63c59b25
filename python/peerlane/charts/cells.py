"""A matrix of numbers as cells, which have the more colour the larger their number is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.chart import Panel, Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

_CELL = 26
"""The height of a cell, in pixels."""

_OPACITY = [0.08, 0.6]
"""The opacity of the smallest and of the largest number; text is readable on both."""


def cells(
    title: str, names: Sequence[str], rows: Sequence[Sequence[float | None]], unit: str
) -> Panel:
    """A square matrix, in which a missing number leaves its cell empty.

    Args:
        title: The title above the plot.
        names: The names of rows and columns.
        rows: The numbers.
        unit: The unit of the numbers.
    """
    values = [
        {"row": row, "column": column, "value": value, "text": f"{value:.3g}"}
        for row, line in zip(names, rows, strict=True)
        for column, value in zip(names, line, strict=True)
        if value is not None
    ]
    place: Spec = {"type": "nominal", "sort": None, "scale": {"domain": list(names)}}
    axis: Spec = {"title": None, "domain": False, "ticks": False, "labelAngle": 0}
    across = place | {"field": "column", "axis": axis | {"orient": "top"}}
    down = place | {"field": "row", "axis": axis}
    known = [value for line in rows for value in line if value is not None]
    spec: Spec = {
        "data": {"values": values},
        "height": _CELL * len(names),
        "title": unit,
        "layer": [
            {
                "mark": {"type": "rect", "color": "var(--c1)"},
                "encoding": {
                    "x": across,
                    "y": down,
                    "opacity": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {
                            "domain": [min(known, default=0.0), max(known, default=1.0)],
                            "range": _OPACITY,
                        },
                        "legend": None,
                    },
                    "tooltip": [
                        {"field": "row", "title": "from"},
                        {"field": "column", "title": "to"},
                        {"field": "value", "title": unit, "format": ".4g"},
                    ],
                },
            },
            {
                "mark": {"type": "text", "aria": False},
                "encoding": {"x": across, "y": down, "text": {"field": "text"}},
            },
        ],
    }
    return Panel(title, spec)
