"""Draws the latencies of workloads: percentiles, and the share of requests above each latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.chart import Chart, Panel, Spec
from peerlane.charts.lines import MOST, Axis, Line, lines
from peerlane.charts.scales import beside, round_values, rows
from peerlane.report.words import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peerlane.results.latency import Latency

_ROW = 20
_MOST_STEPS = 160
_MOST_ROWS = 24
_WIDE = 20
"""The ratio of the greatest latency to the least above which the axis is logarithmic."""
_MOST_CURVES = 4
"""The largest number of workloads whose whole distributions are shown."""


def latencies(name: str, known: Mapping[str, Latency]) -> Chart | None:
    """A chart with a line of percentiles for each workload, and distributions of few workloads.

    Args:
        name: The name of the chart's images.
        known: The latencies by the names of workloads.
    """
    if not known:
        return None
    shown = dict(list(known.items())[:_MOST_ROWS])
    panels = [_percentiles(shown)]
    which = f"the first {len(shown)} of {len(known)}" if len(shown) < len(known) else "each"
    caption = f"Latencies of {which} workload{'s' * (len(shown) < len(known))}"
    caption += ": least and most (thin line), median (dot) to p99 (thick)"
    if len(known) <= min(MOST, _MOST_CURVES) and any(one.min < one.max for one in known.values()):
        panels.append(_longer(known))
        caption += ", and the share of requests that take longer than a time"
    slowest = max(known, key=lambda one: known[one].p99)
    text = (
        f"{caption}. {len(known)} workloads; the highest 99th percentile is"
        f" {duration(known[slowest].p99)}, of {slowest}."
    )
    return Chart(name, f"{caption}.", text, tuple(panels))


def _percentiles(known: Mapping[str, Latency]) -> Panel:
    values = [
        {
            "of": name,
            "min": one.min,
            "p50": one.p50,
            "p90": one.p90,
            "p99": one.p99,
            "p999": one.p999,
            "max": one.max,
        }
        for name, one in known.items()
    ]
    low, high = min(one.min for one in known.values()), max(one.max for one in known.values())
    names = list(known)
    y = rows("of", names, "point", 0.6)
    x: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low / 1.1, high * 1.1], "nice": False},
        "axis": {
            "title": "latency, ns",
            "values": round_values(low / 1.1, high * 1.1),
            "grid": True,
        },
    }
    tooltip = [{"field": key, "format": ".4~g"} for key in ("min", "p50", "p90", "p99", "p999")]
    tooltip = [{"field": "of"}, *tooltip, {"field": "max", "format": ".4~g"}]

    def span(first: str, last: str, width: float) -> Spec:
        return {
            "mark": {"type": "rule", "color": "var(--c1)", "strokeWidth": width},
            "encoding": {
                "x": x | {"field": first},
                "x2": {"field": last},
                "y": y,
                "tooltip": tooltip,
            },
        }

    spec: Spec = {
        "data": {"values": values},
        "height": max(60, _ROW * len(names)),
        "layer": [
            span("min", "max", 1),
            span("p50", "p99", 4),
            {
                "mark": {"type": "point", "filled": True, "color": "var(--c1)", "size": 60}
                | {"opacity": 1},
                "encoding": {"x": x | {"field": "p50"}, "y": y, "tooltip": tooltip},
            },
        ],
    }
    return Panel("percentiles", spec, *beside(names))


def _longer(known: Mapping[str, Latency]) -> Panel:
    drawn = []
    for name, one in known.items():
        buckets = one.histogram
        total = left = sum(bucket.count for bucket in buckets)
        at, shares = [one.min], [1.0]
        for bucket in buckets:
            left -= bucket.count
            at.append(min(max(bucket.high_ns, one.min), one.max))
            shares.append(left / total)
        thinned = max(1, len(at) // _MOST_STEPS)
        kept = sorted({*range(0, len(at) - 1, thinned), len(at) - 2})
        drawn.append(Line(name, [at[i] for i in kept], [shares[i] or None for i in kept]))
    least, most = min(one.min for one in known.values()), max(one.max for one in known.values())
    x = Axis("latency", "ns", log=most > _WIDE * least)
    return lines("distribution", drawn, x, Axis("share that takes longer", log=True), steps="after")
