"""Makes line plots over numbers or names, with each line's name at the line's end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from peerlane.charts.chart import Panel, Spec
from peerlane.charts.colours import SERIES
from peerlane.charts.names import LONG, SHORT, short_names
from peerlane.charts.scales import BYTES, NARROW, Scale, is_geometric, letters, round_values, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HEIGHT = 170
MOST = len(SERIES)
"""The number of lines in one plot that have different colours."""

_MOST_POINTS = 20_000
"""The most points of one plot, so that pages stay small."""

_NAME = 14
"""The height of the name of a line, in pixels."""

_MARKED, _SPARSE = 30, 10
"""A line of at most `_MARKED` points has a mark at each point; a longer line has `_SPARSE` marks.
"""

_SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "M-1,-1L1,1M-1,1L1,-1",
    "triangle-right",
    "M-1,0L1,0M0,-1L0,1",
    "triangle-left",
)
"""The marks by which lines of one colour differ."""

_DASHES = ([1, 0], [7, 4], [2, 4], [9, 3, 2, 3])
"""The patterns of dashes, so that a line under another line is visible."""

_BESIDE = 15
"""The width of the mark beside the name of a line, in pixels."""

_NARROW = 340
"""The width of a plot on a narrow page, in pixels; names along its axis are horizontal if they fit.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A line; a missing value makes a gap in the line.

    `spread` is half the width of the confidence interval of each value. The line's name is written
    beside its last value, or beside `name_at`. Lines with the same `hue` have one colour and
    different marks; a line without a `hue` has a colour of its own.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    spread: Sequence[float | None] = ()
    name_at: float | None = None
    hue: str = ""

    def thinned(self, most: int) -> Line:
        """The line with about `most` of its points, always including the last one."""
        step = -(-len(self.x) // most)
        if step <= 1:
            return self
        kept = [*range(0, len(self.x) - 1, step), len(self.x) - 1]
        spread = [self.spread[at] for at in kept] if self.spread else ()
        x, y = [self.x[at] for at in kept], [self.y[at] for at in kept]
        return replace(self, x=x, y=y, spread=spread)

    @property
    def end(self) -> float | None:
        """The value beside which the line's name is written, if the line has any value."""
        if self.name_at is not None:
            return self.name_at
        return next((value for value in reversed(self.y) if value is not None), None)


@dataclass(frozen=True, slots=True)
class Axis:
    """The title, the unit and the scale of an axis; values with the unit B are sizes in bytes."""

    label: str
    unit: str = ""
    log: bool = False

    @property
    def words(self) -> str:
        """The title of the axis, with its unit."""
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
    is_wide: bool = False,
) -> Panel:
    """A plot of lines; lines beyond the first `MOST` repeat the colours, with other marks.

    Args:
        title: The title above the plot.
        drawn: The lines; if the values of x are names, they have the order of the first line.
        x: The horizontal axis.
        y: The vertical axis.
        steps: Draws steps: each value is constant before its point or after it. By default lines
            between points are straight.
        joined: Whether lines join the points.
        highest: The upper end of the vertical axis.
        is_wide: Whether a plot of several lines fills the width of a page, with names that are not
            shortened.
    """
    drawn = [line.thinned(_MOST_POINTS // max(len(drawn), 1)) for line in drawn]
    wide, narrow = (
        short_names((line.name for line in drawn), most)
        for most in (LONG if is_wide else SHORT, SHORT)
    )
    series = list(wide)
    points = [*_points(drawn)]
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
    looks = list(_looks(drawn))
    colour, shape, dash = (
        {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": series, "range": [look[part] for look in looks]},
            "legend": None,
        }
        for part in range(3)
    )
    # If there are several shapes of marks, marks are outlines, so that marks at the same place are
    # visible.
    has_shapes = len({mark for _, mark, _ in looks}) > 1
    mark: Spec = {"type": "point", "filled": True, "size": 32, "opacity": 1}
    if has_shapes:
        mark |= {"filled": False, "size": 55, "strokeWidth": 1.4}
    look = {"color": colour} | ({"shape": shape} if has_shapes else {})
    tooltip = [
        {"field": "series", "title": "of"},
        {"field": "x", "title": x.words},
        {"field": "y", "title": y.words, "format": ".4~g"},
    ]
    there = {"transform": [{"filter": "isValid(datum.y)"}]}
    interpolate = {"interpolate": f"step-{steps}"} if steps else {}
    longest = max((len(line.x) for line in drawn), default=0)
    is_dense = joined and (steps is not None or longest > _MARKED)
    has_dashes = is_wide and not is_dense and len(series) > 1
    layers: list[Spec] = []
    if joined:
        layers.append(
            {
                "mark": {"type": "line", "strokeWidth": 1.5} | interpolate,
                "encoding": {"x": across, "y": up, "color": colour, "tooltip": tooltip}
                | ({"strokeDash": dash} if has_dashes else {}),
            }
        )
    if has_shapes or not is_dense:
        few = [*_points([line.thinned(_SPARSE) for line in drawn])] if is_dense else []
        layers.append(
            {
                **({"data": {"values": few}} if is_dense else {}),
                "mark": mark,
                "encoding": {"x": across, "y": up, "tooltip": tooltip} | look,
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
    right, narrow_right = 16, None
    if len(series) > 1:
        room = _BESIDE * has_shapes
        right, narrow_right = (room + letters(list(names.values())) for names in (wide, narrow))
        ends = _ends(drawn, scale, wide, narrow)
        layers += _labels(ends, {"x": across, "y": up} | look, mark if has_shapes else None)
    spec: Spec = {
        "data": {"values": points},
        "height": height,
        "title": y.words,
        "layer": layers,
    }
    return Panel(title, spec, right, narrow_right if is_wide else None)


def _points(drawn: Sequence[Line]) -> Iterator[dict[str, float | str | None]]:
    """The points of lines, each with both ends of its confidence interval."""
    for line in drawn:
        halves = line.spread or [None] * len(line.x)
        for at, value, half in zip(line.x, line.y, halves, strict=True):
            point = {"series": line.name, "x": at, "y": value}
            if value is not None and half is not None:
                point |= {"low": value - half, "high": value + half}
            yield point


def _looks(drawn: Sequence[Line]) -> Iterator[tuple[str, str, list[int]]]:
    """The colour, mark and dashes of each line; no two lines have the same colour and mark."""
    hues = {line.name: line.hue or line.name for line in drawn}
    order = {hue: number for number, hue in enumerate(dict.fromkeys(hues.values()))}
    most = max(Counter(hues.values()).values(), default=1)
    seen: Counter[str] = Counter()
    for hue in hues.values():
        again, number = divmod(order[hue], MOST)
        mark = _SHAPES[(again * most + seen[hue]) % len(_SHAPES)]
        yield SERIES[number], mark, _DASHES[number % len(_DASHES)]
        seen[hue] += 1


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


def _ends(
    drawn: Sequence[Line], scale: Scale, wide: dict[str, str], narrow: dict[str, str]
) -> list[Spec]:
    """The positions of the lines' names on the right, with the long and the short name."""
    found = {line.name: line.end for line in drawn if line.end is not None}
    beside = scale.apart(list(found.values()))
    right = max((one for line in drawn for one in line.x), key=_rank(drawn))
    return [
        {"series": name, "text": wide[name], "narrow": narrow[name], "x": right, "y": place}
        for name, place in zip(found, beside, strict=True)
    ]


def _labels(values: Sequence[Spec], encoding: Spec, mark: Spec | None) -> list[Spec]:
    """The name of each line beside the line's end, after its mark, if there is one."""
    text: Spec = {"field": "text"}
    if any(one["text"] != one["narrow"] for one in values):
        text["condition"] = {"test": NARROW, "field": "narrow"}
    kept = {channel: one for channel, one in encoding.items() if channel != "shape"}
    away = _BESIDE if mark else 0
    marks: list[tuple[Spec, Spec]] = [
        ({"type": "text", "align": "left", "dx": 9 + away, "aria": False}, kept | {"text": text})
    ]
    if mark:
        marks.append((mark | {"xOffset": away, "aria": False}, encoding))
    data = {"data": {"values": values}}
    return [data | {"mark": one, "encoding": where} for one, where in marks]


def _rank(drawn: Sequence[Line]) -> Callable[[float | str], float]:
    """Returns a function from a value of the horizontal axis to its order from left to right."""
    order = list(dict.fromkeys(one for line in drawn for one in line.x))
    return order.index if any(isinstance(one, str) for one in order) else float
