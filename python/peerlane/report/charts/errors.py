"""Draws the errors of the rows of one system, grouped by figure, or of all systems."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from peerlane.charts.chart import Chart, Panel, Spec
from peerlane.charts.scales import SIGNED, beside, rows
from peerlane.report.charts.published import shapes, sizes_of_marks
from peerlane.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.reproduction.row import Row

_LINE = 20
"""The distance between two lines, in pixels."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The error of a row that is compared with a value, in percent."""

    row: str
    error: float
    kind: str
    passes: bool


def deviations(found: Iterable[Row]) -> tuple[Deviation, ...]:
    """The errors of all rows that have an error; rows of the kind `gap` are left out."""
    return tuple(
        Deviation(row.id, row.error_percent, row.expected.kind or "", row.passes)
        for row in found
        if row.expected.kind != "gap"
        and row.error_percent is not None
        and math.isfinite(row.error_percent)
    )


def errors(name: str, caption: str, groups: Mapping[str, Sequence[Deviation]]) -> Chart | None:
    """A chart with a line of points, the errors of its rows, for each group; `None` without errors.

    Args:
        name: The name of the chart's images.
        caption: The caption of the chart.
        groups: The errors of each group; the keys are the labels of the lines.
    """
    known = [one for group in groups.values() for one in group]
    if not known:
        return None
    points = [
        asdict(one)
        | {"group": group, "within": "within its tolerance" if one.passes else "beyond it"}
        for group, ones in groups.items()
        for one in ones
    ]
    shown = [group for group, ones in groups.items() if ones]
    reach = max(1.0, *(abs(one.error) for one in known)) * 1.3
    ticks = [tick for tick in (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100) if abs(tick) <= reach]
    spec: Spec = {
        "data": {"values": points},
        "height": _LINE * len(shown),
        "layer": [
            {
                "mark": {"type": "rule", "color": "var(--muted)", "strokeWidth": 1},
                "encoding": {"x": {"datum": 0, "type": "quantitative"}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 0.75},
                "encoding": {
                    "x": {
                        "field": "error",
                        "type": "quantitative",
                        "scale": {
                            "type": "symlog",
                            "constant": 1,
                            "domain": [-reach, reach],
                            "nice": False,
                        },
                        "axis": {
                            "title": "error, %",
                            "values": ticks,
                            "labelExpr": SIGNED,
                            "grid": True,
                        },
                    },
                    "y": rows("group", shown, "point", 0.5, grid=True),
                    "shape": shapes(),
                    "size": sizes_of_marks(42),
                    "color": {
                        "field": "within",
                        "type": "nominal",
                        "scale": {
                            "domain": ["within its tolerance", "beyond it"],
                            "range": ["var(--c1)", "var(--c2)"],
                        },
                        "legend": None,
                    },
                    "tooltip": [
                        {"field": "row"},
                        {"field": "error", "format": "+.2f", "title": "error (%)"},
                        {"field": "kind"},
                        {"field": "within", "title": "it is"},
                    ],
                },
            },
        ],
    }
    worst = max(known, key=lambda one: abs(one.error))
    text = (
        f"{caption} {len(known)} rows; the largest error is {percent(worst.error)}, of {worst.row}."
    )
    return Chart(name, caption, text, (Panel("", spec, *beside(shown)),))
