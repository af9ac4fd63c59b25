"""Rates and queue lengths over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.report.charts.chart import Chart, Panel, Spec
from peerlane.report.charts.lines import Axis, Line, lines
from peerlane.report.charts.names import short_names, wire_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane.results.series import Series

    Values = Mapping[str, Sequence[float]]

_MOST_POINTS = 160
_MOST_LINES = 4
"""Lines of one plot; more are rows of a map."""

_MOST_ROWS, _MOST_COLUMNS = 20, 60
_ROW = 13
_UNITS = (("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a panel shows of each wire or workload."""

    title: str
    axis: Axis
    factor: float
    values: Values
    highest: float | None = None


def over_time(name: str, series: Series) -> Chart | None:
    """Panels of what was sampled: rates, use of wires, waiting TLPs, bytes in replay buffers.

    Args:
        name: The name of its images.
        series: The samples, which are joined where there are many.
    """
    if not series.end_ns:
        return None
    shown = [_that_is_there(one) for one in _panels(series)]
    panels = tuple(_panel(one, series) for one in shown if one.values)
    if not panels:
        return None
    caption = "Rates, use of wires, queues and replay buffers over time"
    if any(len(one.values) > _MOST_LINES for one in shown):
        caption += "; in maps a fuller colour is more, up to the number above"
    text = f"{caption}. {len(series.end_ns)} samples, each of {series.interval_ns:.4g} ns."
    return Chart(name, f"{caption}.", text, panels)


def _panels(series: Series) -> list[_Shown]:
    wires = {f"{one.id} {one.direction}": one for one in series.links}
    fibres = {wire_name(one.id, one.source): one for one in series.fibres}
    flows = {
        f"{one.id} {one.direction}" if one.direction else one.id: one.bytes_per_second
        for one in series.flows
    }
    busy = {name: one.utilisation for name, one in wires.items()}
    busy |= {name: one.utilisation for name, one in fibres.items()}
    waiting = {name: one.waiting_tlps for name, one in wires.items()}
    replay = {name: one.replay_buffer_bytes for name, one in wires.items()}
    return [
        _Shown("Rates", Axis("bytes that arrive", "GB/s"), 1e-9, flows),
        _Shown("Wires", Axis("share of the time in use", "%"), 100, busy, highest=100),
        _Shown("Queues", Axis("TLPs that wait for the wire"), 1, waiting),
        _Shown("Replay buffers", Axis("TLPs kept for replay", "KiB"), 1 / 1024, replay),
    ]


def _that_is_there(one: _Shown) -> _Shown:
    """The highest of those that are ever above nothing, in their order."""
    sums = {name: sum(values) for name, values in one.values.items() if any(values)}
    kept = set(sorted(sums, key=lambda name: -sums[name])[:_MOST_ROWS])
    values = {name: values for name, values in one.values.items() if name in kept}
    return _Shown(one.title, one.axis, one.factor, values, one.highest)


def _panel(one: _Shown, series: Series) -> Panel:
    unit, scale = next(
        (unit, scale) for unit, scale in _UNITS if series.end_ns[-1] >= 2 * scale or scale == 1
    )
    is_map = len(one.values) > _MOST_LINES
    most = _MOST_COLUMNS if is_map else _MOST_POINTS
    every = -(-len(series.end_ns) // most)
    groups = [
        (first, min(first + every, len(series.end_ns)))
        for first in range(0, len(series.end_ns), every)
    ]
    ends = [series.end_ns[last - 1] / scale for _, last in groups]
    means = {
        name: [one.factor * sum(values[first:last]) / (last - first) for first, last in groups]
        for name, values in one.values.items()
    }
    x = Axis("time", unit)
    if is_map:
        return _map(one, means, [series.begin_ns / scale, *ends], x)
    drawn = [
        Line(name, ends, values, name_at=sum(values) / len(values))
        for name, values in means.items()
    ]
    return lines(one.title, drawn, x, one.axis, steps="before", highest=one.highest)


def _map(
    one: _Shown, means: Mapping[str, Sequence[float]], edges: Sequence[float], x: Axis
) -> Panel:
    """A row of fields for each wire; the fuller a field, the higher the value."""
    highest = one.highest or max(max(values) for values in means.values())
    shown = short_names(means)
    fields = [
        {"of": shown[name], "from": edges[at], "to": edges[at + 1], "value": value}
        for name, values in means.items()
        for at, value in enumerate(values)
        if value > 0
    ]
    names = list(shown.values())
    extent = round(6.0 * max(map(len, names))) + 8
    axis = one.axis
    spec: Spec = {
        "data": {"values": fields},
        "height": _ROW * len(names),
        "title": f"{axis.words}, up to {highest:.3g}",
        "mark": {"type": "rect", "color": "var(--c1)", "aria": False},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "scale": {"domain": [edges[0], edges[-1]], "nice": False},
                "axis": {"title": x.words, "tickCount": 6, "labelOverlap": "parity"},
            },
            "x2": {"field": "to"},
            "y": {
                "field": "of",
                "type": "nominal",
                "sort": names,
                "scale": {"type": "band", "padding": 0.12},
                "axis": {
                    "title": None,
                    "grid": False,
                    "labelFontSize": 10,
                    "minExtent": extent,
                    "maxExtent": extent,
                    "labelLimit": extent,
                },
            },
            "opacity": {
                "field": "value",
                "type": "quantitative",
                "scale": {"domain": [0, highest], "range": [0.03, 1]},
                "legend": None,
            },
            "tooltip": [
                {"field": "of"},
                {"field": "from", "title": x.words, "format": ".4~g"},
                {"field": "value", "title": axis.words, "format": ".4~g"},
            ],
        },
    }
    return Panel(one.title, spec, right=max(8, extent - 30))
