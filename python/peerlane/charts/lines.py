"""Lines over an axis of numbers or names, with their names at their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from peerlane.charts.chart import Panel, Spec
from peerlane.charts.colours import SERIES
from peerlane.charts.names import short_names
from peerlane.charts.scales import BYTES, Scale, is_geometric, letters, round_values, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HEIGHT = 170
MOST = len(SERIES)
"""Lines of one plot that have a colour of their own."""

_MOST_POINTS = 20_000
"""Points of one plot, so that pages stay small."""

_NAME = 14
"""Pixels of the name of a line."""

_MARKED = 30
"""Points of a line that are marked, at most."""

_NARROW = 340
"""Pixels of the plot on a narrow page, where names side by side lie flat if they fit."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line; a value that is missing is a gap in it.

    `spread` are the halves of intervals. The line's name stands beside its last value, or at
    `name_at`.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    spread: Sequence[float | None] = ()
    name_at: float | None = None

    def thinned(self, most: int) -> Line:
        """The line with about `most` of its points, the last among them."""
        step = -(-len(self.x) // most)
        if step <= 1:
            return self
        kept = [*range(0, len(self.x) - 1, step), len(self.x) - 1]
        spread = [self.spread[at] for at in kept] if self.spread else ()
        x, y = [self.x[at] for at in kept], [self.y[at] for at in kept]
        return replace(self, x=x, y=y, spread=spread)

    @property
    def end(self) -> float | None:
        """The value that its name stands beside, if there is any."""
        if self.name_at is not None:
            return self.name_at
        return next((value for value in reversed(self.y) if value is not None), None)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it shows, and how; values with the unit B are sizes in bytes."""

    label: str
    unit: str = ""
    log: bool = False

    @property
    def words(self) -> str:
        """What the axis shows, with its unit."""
        unit = "" if self.unit == "B" else self.unit
        return f"{self.label}, {unit}" if self.label and unit else self.label or unit


def lines(  # noqa: PLR0913 - each says one thing of the plot
    title: str,
    drawn: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    steps: Literal["before", "after"] | None = None,
    joined: bool = True,
    highest: float | None = None,
) -> Panel:
    """A plot of lines; those beyond `MOST` have the colours of the first ones again.

    Args:
        title: Above it.
        drawn: The lines; names of x stand side by side in the order of the first line.
        x: The horizontal axis.
        y: The vertical axis.
        steps: Whether each value holds before its point or after it; lines are straight if absent.
        joined: Whether points are joined at all.
        highest: The upper end of the vertical axis.
    """
    drawn = [line.thinned(_MOST_POINTS // max(len(drawn), 1)) for line in drawn]
    series = short_names(line.name for line in drawn)
    points = [
        {"series": line.name, "x": at, "y": value, "low": value - half, "high": value + half}
        if value is not None and half is not None
        else {"series": line.name, "x": at, "y": value}
        for line in drawn
        for at, value, half in zip(line.x, line.y, line.spread or [None] * len(line.x), strict=True)
    ]
    height = max(HEIGHT, _NAME * len(series))
    known = [value for point in points for key in ("y", "low", "high") if (value := point.get(key))]
    scale = Scale(
        [value for value in (*known, highest) if isinstance(value, float | int)],
        height,
        log=y.log,
    )
    across = _across([at for line in drawn for at in line.x], x)
    up: Spec = {
        "field": "y",
        "type": "quantitative",
        "scale": scale.spec,
        "axis": scale.axis,
    }
    colours = [SERIES[number % MOST] for number, _ in enumerate(series)]
    colour: Spec = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(series), "range": colours},
        "legend": None,
    }
    tooltip = [
        {"field": "series", "title": "of"},
        {"field": "x", "title": x.words},
        {"field": "y", "title": y.words, "format": ".4~g"},
    ]
    there = {"transform": [{"filter": "isValid(datum.y)"}]}
    interpolate = {"interpolate": f"step-{steps}"} if steps else {}
    layers: list[Spec] = []
    if joined:
        layers.append(
            {
                "mark": {"type": "line", "strokeWidth": 1.5} | interpolate,
                "encoding": {"x": across, "y": up, "color": colour, "tooltip": tooltip},
            }
        )
    longest = max((len(line.x) for line in drawn), default=0)
    if not joined or (not steps and longest <= _MARKED):
        layers.append(
            {
                "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
                "encoding": {"x": across, "y": up, "color": colour, "tooltip": tooltip},
                **there,
            }
        )
    if any("low" in point for point in points):
        layers.append(
            {
                "mark": {"type": "rule", "strokeWidth": 1},
                "transform": [{"filter": "isValid(datum.low)"}],
                "encoding": {
                    "x": across,
                    "y": up | {"field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            }
        )
    if len(series) > 1:
        layers.append(_labels(drawn, series, scale, (across, up, colour)))
    spec: Spec = {
        "data": {"values": points},
        "height": height,
        "title": y.words,
        "layer": layers,
    }
    return Panel(title, spec, letters(list(series.values())) if len(series) > 1 else 16)


def _across(at: Sequence[float | str], x: Axis) -> Spec:
    if any(isinstance(one, str) for one in at):
        names = list(dict.fromkeys(map(str, at)))
        return {
            "field": "x",
            "type": "nominal",
            "sort": list(dict.fromkeys(at)),
            "scale": {"type": "point", "padding": 0.5},
            "axis": {
                "title": x.words,
                "labelAngle": 0 if len(names) * letters(names) <= _NARROW else -90,
                "labelLimit": 90,
                "labelOverlap": "parity",
            },
        }
    values = [one for one in at if not isinstance(one, str)] or [0.0]
    log = x.log or is_geometric(values)
    low, high = min(values), max(values)
    spare = 0.02 * (high - low) or 1.0
    domain = [low / 1.15, high * 1.15] if log else [low, high + spare]
    axis: Spec = {"title": x.words, "labelFlush": False, "labelOverlap": "parity"} | {
        "tickCount": 6,
    }
    if len(set(values)) <= _MARKED:
        axis |= ticks(values, log=log)
    elif log:
        axis |= {"values": round_values(*domain)}
    axis |= {"labelExpr": BYTES} if x.unit == "B" else {}
    return {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": domain, "nice": False, "zero": False}
        | ({"type": "log", "base": 2} if log else {}),
        "axis": axis,
    }


def _labels(
    drawn: Sequence[Line], series: dict[str, str], scale: Scale, channels: tuple[Spec, Spec, Spec]
) -> Spec:
    """The name of each line, at the right."""
    across, up, colour = channels
    found = {line.name: line.end for line in drawn if line.end is not None}
    beside = scale.apart(list(found.values()))
    right = max((one for line in drawn for one in line.x), key=_rank(drawn))
    values = [
        {"series": name, "text": series[name], "x": right, "y": place}
        for name, place in zip(found, beside, strict=True)
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "text", "align": "left", "dx": 9, "aria": False},
        "encoding": {"x": across, "y": up, "text": {"field": "text"}, "color": colour},
    }


def _rank(drawn: Sequence[Line]) -> Callable[[float | str], float]:
    """The place of a value from left to right."""
    order = list(dict.fromkeys(one for line in drawn for one in line.x))
    return order.index if any(isinstance(one, str) for one in order) else float
