"""Draws a plot of a source: published and simulated points, with the residuals below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from peerlane.charts.chart import Chart, Panel, Spec
from peerlane.charts.colours import SERIES
from peerlane.charts.scales import SIGNED, Scale, letters, sizes, ticks
from peerlane.report.words import number, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.reproduction.plots import Place, Plot, XAxis
    from peerlane.reproduction.row import Row

    Point = dict[str, Any]

HEIGHT = 200
RESIDUALS = 56
"""The height of the plot of residuals, which is below the plot of values, in pixels."""

SHAPES = {
    "predicted": "circle",
    "calibrated": "diamond",
    "derived": "triangle-up",
    "analytic": "square",
    "check": "triangle-down",
    "gap": "cross",
    "simulated": "triangle-right",
}
"""The shape of a simulated point, by the kind of its row; "simulated" means no published value."""


def published(name: str, plot: Plot, rows: Sequence[Row]) -> Chart:
    """The chart of a plot that `expected.toml` describes.

    Args:
        name: The name of the chart's images.
        plot: The plot as `expected.toml` describes it.
        rows: The rows of the plot's figure.
    """
    known = {row.id: row for row in rows}
    places = plot.places(list(known))
    points = [_point(known[one], place) for one, place in places.items()]
    unit = next(known[one].expected.unit for one in places)
    panels = tuple(
        _Shown(plot, [point for point in points if point["panel"] == label], unit).panel(label)
        for label in dict.fromkeys(point["panel"] for point in points)
    )
    return Chart(name, plot.caption, _text(plot, points, unit), panels)


def _point(row: Row, place: Place) -> Point:
    error = row.error_percent
    low, high = row.expected.ends or (None, None)
    return {
        "row": row.id,
        "panel": place.panel,
        "series": place.series,
        "x": place.x,
        "simulated": row.simulated,
        "published": row.expected.value,
        "low": low,
        "high": high,
        "error": error if error is not None and math.isfinite(error) else None,
        "tolerance": row.expected.tolerance_percent if row.expected.kind != "gap" else 0,
        "kind": row.expected.kind or "simulated",
    }


class _Shown:
    """The published and simulated points of one panel."""

    def __init__(self, plot: Plot, points: list[Point], unit: str) -> None:
        self._plot = plot
        self._points = points
        self._unit = "" if unit == "1" else unit
        self._series = list(dict.fromkeys(point["series"] for point in points))
        values = [
            point[key]
            for point in points
            for key in ("simulated", "published", "low", "high")
            if point[key] is not None
        ]
        self._scale = Scale(values, HEIGHT, log=plot.y.scale == "log")
        self._colour: Spec = {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": self._series, "range": list(SERIES[: len(self._series)])},
            "legend": None,
        }

    def panel(self, title: str) -> Panel:
        """The panel with the values and, if there are residuals, the residuals below."""
        has_residuals = any(point["error"] is not None for point in self._points)
        views = [self._values(titled=not has_residuals)]
        if has_residuals:
            views.append(self._residuals())
        labels = self._series if self._series != [""] else []
        spec: Spec = {"data": {"values": self._points}, "vconcat": views}
        return Panel(title, spec, letters(labels) if labels else 12)

    def _x(self, *, titled: bool) -> Spec:
        axis = self._plot.x
        title = None
        if titled:
            title = axis.label + (f", {axis.unit}" if axis.unit not in {"", "B"} else "")
        if axis.scale == "names":
            lines = {"labelExpr": "split(datum.label, ', ')", "labelAngle": 0, "title": title}
            if not titled:
                lines = {"labels": False, "ticks": False, "title": None}
            names = list(axis.names.values())
            return {
                "field": "x",
                "type": "nominal",
                "sort": names,
                "scale": {"type": "point", "padding": 0.5, "domain": names},
                "axis": lines,
            }
        return _numbers(axis, [point["x"] for point in self._points], title)

    def _values(self, *, titled: bool) -> Spec:
        x = self._x(titled=titled)
        y: Spec = {
            "type": "quantitative",
            "scale": self._scale.spec,
            "axis": self._scale.axis,
        }
        what = f"{self._plot.y.label}{', ' if self._unit else ''}{self._unit}"
        layers: list[Spec] = [
            self._line(),
            {
                "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.35, "color": "var(--ink)"},
                "transform": [{"filter": "isValid(datum.low)"}],
                "encoding": {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "transform": [{"filter": "isValid(datum.simulated)"}],
                "encoding": {
                    "x": x,
                    "y": y | {"field": "simulated"},
                    "color": self._colour,
                    "shape": shapes(),
                    "size": sizes_of_marks(38),
                    "tooltip": _tooltip(self._unit),
                },
            },
            {
                "mark": {
                    "type": "point",
                    "filled": False,
                    "size": 110,
                    "strokeWidth": 1.4,
                    "color": "var(--ink)",
                    "opacity": 1,
                },
                "transform": [{"filter": "isValid(datum.published)"}],
                "encoding": {
                    "x": x,
                    "y": y | {"field": "published"},
                    "tooltip": _tooltip(self._unit),
                },
            },
        ]
        if self._plot.x.scale == "names":
            del layers[0]
        else:
            layers[0]["encoding"] = {"x": x, "y": y | {"field": "simulated"}, "color": self._colour}
        if self._series != [""]:
            layers.append(self._labels(x, y))
        return {"height": HEIGHT, "title": what, "layer": layers}

    def _line(self) -> Spec:
        return {
            "mark": {"type": "line", "strokeWidth": 1.5},
            "transform": [{"filter": "isValid(datum.simulated)"}],
        }

    def _labels(self, x: Spec, y: Spec) -> Spec:
        """The layer of the chart that writes the name of each line at its end."""
        ends: dict[str, tuple[Point, float]] = {}
        for point in self._points:
            value = point["simulated"] if point["simulated"] is not None else point["published"]
            last = ends.get(point["series"])
            if value is not None and (last is None or self._rank(point) >= self._rank(last[0])):
                ends[point["series"]] = (point, value)
        labels: list[Spec] = []
        for x_end in dict.fromkeys(point["x"] for point, _ in ends.values()):
            here = {name: value for name, (point, value) in ends.items() if point["x"] == x_end}
            beside = self._scale.apart(list(here.values()))
            labels += [
                {"series": name, "x": x_end, "at": place}
                for name, place in zip(here, beside, strict=True)
            ]
        return {
            "data": {"values": labels},
            "mark": {"type": "text", "align": "left", "dx": 10, "aria": False},
            "encoding": {
                "x": x,
                "y": y | {"field": "at"},
                "text": {"field": "series"},
                "color": self._colour,
            },
        }

    def _rank(self, point: Point) -> float:
        names = list(self._plot.x.names.values())
        return names.index(point["x"]) if names else float(point["x"])

    def _residuals(self) -> Spec:
        x = self._x(titled=True)
        reach = 1.15 * max(
            max(abs(point["error"]), point["tolerance"])
            for point in self._points
            if point["error"] is not None
        )
        y: Spec = {
            "type": "quantitative",
            "scale": {"domain": [-reach or -1, reach or 1], "nice": False},
            "axis": {"title": None, "tickCount": 3, "labelExpr": SIGNED},
        }
        there = [{"filter": "isValid(datum.error)"}]
        return {
            "height": RESIDUALS,
            "title": "error, % (bars: tolerance)",
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 7, "color": "var(--line)"},
                    "transform": [
                        *there,
                        {"calculate": "-datum.tolerance", "as": "least"},
                    ],
                    "encoding": {"x": x, "y": y | {"field": "least"}, "y2": {"field": "tolerance"}},
                },
                {
                    "mark": {"type": "rule", "color": "var(--muted)", "strokeWidth": 1},
                    "encoding": {"y": y | {"datum": 0}},
                },
                {
                    "mark": {"type": "point", "filled": True, "opacity": 1},
                    "transform": there,
                    "encoding": {
                        "x": x,
                        "y": y | {"field": "error"},
                        "color": self._colour,
                        "shape": shapes(),
                        "size": sizes_of_marks(30),
                        "tooltip": _tooltip(self._unit),
                    },
                },
            ],
        }


def _numbers(axis: XAxis, values: list[float], title: str | None) -> Spec:
    log = axis.scale == "log"
    marks = (sizes if axis.unit == "B" else ticks)(values, log=log)
    if title is None:
        marks |= {"labels": False, "ticks": False}
    low, high = min(values), max(values)
    spare = 0.04 * (high - low) or 1.0
    domain = [low / 1.25, high * 1.25] if log else [low - spare, high + spare]
    scale: Spec = {"domain": domain, "nice": False, "zero": False}
    return {
        "field": "x",
        "type": "quantitative",
        "scale": scale | ({"type": "log", "base": 2} if log else {}),
        "axis": {"title": title, "labelFlush": False, "labelOverlap": "parity"} | marks,
    }


def sizes_of_marks(size: int) -> Spec:
    """The size of points; a diamond is larger, so that it looks as large as the others."""
    diamond = {"test": "datum.kind === 'calibrated'", "value": 1.7 * size}
    return {"condition": diamond, "value": size}


def shapes() -> Spec:
    """The shapes of points, by the kinds of their rows."""
    return {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(SHAPES), "range": list(SHAPES.values())},
        "legend": None,
    }


def _tooltip(unit: str) -> list[Spec]:
    unit = f" ({unit})" if unit else ""
    shown = {
        "row": "row",
        "published": f"published{unit}",
        "simulated": f"simulated{unit}",
        "error": "error (%)",
        "kind": "kind",
    }
    return [
        {"field": field, "title": title}
        | ({"format": ".4~r"} if field in {"published", "simulated", "error"} else {})
        for field, title in shown.items()
    ]


def _text(plot: Plot, points: list[Point], unit: str) -> str:
    """A description of the chart in words."""
    simulated = [point["simulated"] for point in points if point["simulated"] is not None]
    unit = "" if unit == "1" else f" {unit}"
    words = [plot.caption, f"{plot.y.label.capitalize()} over {plot.x.label}."]
    if simulated:
        least, most = number(min(simulated)), number(max(simulated))
        words.append(f"Simulated: {len(simulated)} points from {least} to {most}{unit}.")
    errors = [point["error"] for point in points if point["error"] is not None]
    if errors:
        worst = max(errors, key=abs)
        words.append(f"Published: {len(errors)} of them; the largest error is {percent(worst)}.")
    else:
        words.append("The source has no value for these points.")
    return " ".join(words)
