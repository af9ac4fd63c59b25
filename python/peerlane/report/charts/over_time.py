"""Draws the samples of a run: rates and queue lengths over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from peerlane.charts.chart import Chart, Panel, Spec
from peerlane.charts.lines import Axis, Line, lines
from peerlane.charts.names import wire_name
from peerlane.charts.scales import beside, rows
from peerlane.report.words import duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane.results.series import Series

    Values = Mapping[str, Sequence[float]]

_MOST_POINTS = 160
_MOST_LINES = 4
"""The largest number of lines of one plot; more values are shown as rows of a map of colours."""

_MOST_ROWS, _MOST_COLUMNS = 20, 60
_ROW = 13
_UNITS = (("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


@dataclass(frozen=True, slots=True)
class _Shown:
    """The contents of a panel: the values over time of each wire or workload."""

    title: str
    words: str
    axis: Axis
    factor: float
    values: Values
    highest: float | None = None


def over_time(name: str, series: Series) -> Chart | None:
    """Panels of samples: rates, use of wires, waiting TLPs, bytes in replay buffers.

    Args:
        name: The name of the chart's images.
        series: The samples; if there are many, groups of them are averaged.
    """
    if not series.end_ns:
        return None
    shown = [one for one in map(_that_is_there, _panels(series)) if one.values]
    if not shown:
        return None
    edges = [series.begin_ns, *series.end_ns]
    count = _active(series)
    if count < len(series.end_ns) / 2:
        edges = edges[: count + 1]
    panels = tuple(_panel(one, edges) for one in shown)
    *first, last = (one.words for one in shown)
    caption = f"{', '.join(first)} and {last}" if first else last
    caption = f"{caption[0].upper()}{caption[1:]} over time"
    if edges[-1] < series.end_ns[-1]:
        caption += f", up to the last payload; the run ends at {duration(series.end_ns[-1])}"
    if any(len(one.values) > _MOST_LINES for one in shown):
        caption += "; in maps a fuller colour is more, up to the number above"
    text = f"{caption}. {len(series.end_ns)} samples, each of {series.interval_ns:.4g} ns."
    return Chart(name, f"{caption}.", text, panels)


def _active(series: Series) -> int:
    """The number of samples until payload arrived for the last time."""
    moved = [one.bytes_per_second for one in series.flows]
    moved += [one.payload_bytes_per_second for one in series.links]
    moved += [one.payload_bytes_per_second for one in series.fibres]
    samples = range(len(series.end_ns))
    return max((at + 1 for at in samples if any(one[at] for one in moved)), default=len(samples))


def _panels(series: Series) -> list[_Shown]:
    wires = {f"{one.id} {one.direction}": one for one in series.links}
    sockets = {f"{one.id} {one.direction}": one for one in series.sockets}
    fibres = {wire_name(one.id, one.source): one for one in series.fibres}
    flows = {
        f"{one.id} {one.direction}" if one.direction else one.id: one.bytes_per_second
        for one in series.flows
    }
    busy = {name: one.utilisation for name, one in wires.items()}
    busy |= {name: one.utilisation for name, one in (sockets | fibres).items()}
    memories = {f"{one.host} memory {one.socket}": one.utilisation for one in series.memories}
    waiting = {name: one.waiting_tlps for name, one in wires.items()}
    replay = {name: one.replay_buffer_bytes for name, one in wires.items()}
    return [
        _Shown("Rates", "rates", Axis("bytes that arrive", "GB/s"), 1e-9, flows),
        _Shown("Wires", "use of wires", Axis("share of the time in use", "%"), 100, busy, 100),
        _Shown(
            "Memory", "use of memory", Axis("share of the time in use", "%"), 100, memories, 100
        ),
        _Shown("Queues", "queues", Axis("TLPs that wait for the wire"), 1, waiting),
        _Shown(
            "Replay buffers",
            "replay buffers",
            Axis("TLPs kept for replay", "KiB"),
            1 / 1024,
            replay,
        ),
    ]


def _that_is_there(one: _Shown) -> _Shown:
    """The contents of a panel, reduced to the lines with the highest values, without zero lines."""
    sums = {name: sum(values) for name, values in one.values.items() if any(values)}
    kept = set(sorted(sums, key=lambda name: -sums[name])[:_MOST_ROWS])
    values = {name: values for name, values in one.values.items() if name in kept}
    return replace(one, values=values)


def _panel(one: _Shown, times: Sequence[float]) -> Panel:
    """The plot, or the map of colours, of the contents of a panel at these times."""
    unit, scale = next(
        (unit, scale) for unit, scale in _UNITS if times[-1] >= 2 * scale or scale == 1
    )
    is_map = len(one.values) > _MOST_LINES
    most = _MOST_COLUMNS if is_map else _MOST_POINTS
    groups = _groups(times, most)
    edges = [times[0] / scale, *(times[last] / scale for _, last in groups)]
    lengths = [end - begin for begin, end in pairwise(times)]
    means = {
        name: [one.factor * _mean(values, lengths, *group) for group in groups]
        for name, values in one.values.items()
    }
    x = Axis("time", unit)
    if is_map:
        return _map(one, means, edges, x)
    drawn = [
        Line(name, edges, [values[0], *values], name_at=sum(values) / len(values))
        for name, values in means.items()
    ]
    return lines(one.title, drawn, x, one.axis, steps="before", highest=one.highest)


def _groups(times: Sequence[float], most: int) -> list[tuple[int, int]]:
    """Divides samples into at most `most` groups.

    A group is given by the index of its first sample, and the index after its last sample. If the
    last group is shorter than the others, it is joined with the previous group, because in a very
    short time the bytes of one packet would result in a rate that no wire has.
    """
    count = len(times) - 1
    every = -(-count // most)
    starts = list(range(0, count, every))
    if len(starts) > 1:
        before, last = starts[-2:]
        if times[-1] - times[last] < 0.999 * (times[last] - times[before]):
            starts.pop()
    return list(pairwise([*starts, count]))


def _mean(values: Sequence[float], lengths: Sequence[float], first: int, last: int) -> float:
    """The mean over time of samples of different lengths."""
    total = sum(lengths[first:last])
    weighted = (value * lengths[first + at] for at, value in enumerate(values[first:last]))
    return sum(weighted) / total if total else 0.0


def _map(
    one: _Shown, means: Mapping[str, Sequence[float]], edges: Sequence[float], x: Axis
) -> Panel:
    """A map: a row of fields for each wire; a field with a higher value has a stronger colour."""
    highest = one.highest or max(max(values) for values in means.values())
    fields = [
        {"of": name, "from": edges[at], "to": edges[at + 1], "value": value}
        for name, values in means.items()
        for at, value in enumerate(values)
        if value > 0
    ]
    names = list(means)
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
            "y": rows("of", names, "band", 0.12, grid=False),
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
    return Panel(one.title, spec, *beside(names))
