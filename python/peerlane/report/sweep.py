"""The page of a sweep: each metric over the keys that were varied, or latency over load."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from peerlane.charts.chart import Chart
from peerlane.charts.lines import MOST, Axis, Line, lines
from peerlane.figures.plot import axis_of, grouped, is_number, plotted
from peerlane.report.page import Page, Section
from peerlane.report.table import Column, Table
from peerlane.report.table import Line as Row
from peerlane.report.words import NONE, duration, number, rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from peerlane.charts.chart import Panel
    from peerlane.network.sweep import LoadSweep
    from peerlane.report.page import Origin
    from peerlane.report.table import Kind
    from peerlane.varying.sweep import Sweep

_MOST_PANELS = 12
_MOST_ROWS = 1000
"""Rows of the table of points; the files of the sweep have all."""

_RATE = "bytes_per_second"


def points_page(outcome: Sweep, origin: Origin) -> Page:
    """The page of a sweep over any keys.

    Args:
        outcome: The points.
        origin: What made it.
    """
    name = f"{origin.page_name(outcome.name)}-sweep"
    charts = [*_metrics(name, outcome)]
    shown = outcome.rows()[:_MOST_ROWS]
    columns = tuple(_column(title) for title in outcome.columns)
    rows = tuple(
        Row(
            tuple(_cell(title, row[title]) for title in outcome.columns),
            wrong=row["status"] != "ok",
        )
        for row in shown
    )
    more = f"The first {_MOST_ROWS} of {len(outcome)} points" if len(outcome) > _MOST_ROWS else ""
    failed = len(outcome.wrong)
    verdict = f"{len(outcome) - failed} of {len(outcome)} points have a result."
    return Page(
        name=name,
        title=f"{outcome.name}: sweep of {', '.join(outcome.keys)}",
        what=f"{', '.join(outcome.metrics)} over {', '.join(outcome.keys)}.",
        figures=(("points", str(len(outcome))), ("failed", str(failed))),
        sections=(
            *([Section("Metrics", charts=tuple(charts))] if charts else []),
            Section("Points", tables=(Table(columns, rows, caption=more),)),
        ),
        origin=origin,
        verdict=verdict,
        failed=bool(failed),
    )


def loads_page(outcome: LoadSweep, origin: Origin) -> Page:
    """The page of a sweep of the load of a network.

    Args:
        outcome: The loads.
        origin: What made it.
    """
    name = f"{origin.page_name(outcome.name)}-loads"
    points = list(outcome.points)
    offered = [point.offered_bytes_per_second / 1e9 for point in points]
    x = Axis("offered load of a node", "GB/s")
    times = [point.latency_ns for point in points]
    drawn = [
        Line(label, offered, [getattr(one, field) if one else None for one in times])
        for label, field in (("mean", "mean"), ("median", "p50"), ("p99", "p99"))
    ]
    accepted = [
        Line("accepted", offered, [point.accepted_bytes_per_second / 1e9 for point in points]),
        *(
            Line(f"bound: {what}", offered, [value / 1e9] * len(points))
            for what, value in asdict(outcome.bounds).items()
            if value is not None
        ),
    ]
    caption = "Latency of messages, and payload that arrives, by the payload that each node offers."
    most = rate(outcome.saturation_bytes_per_second)
    binding = outcome.bounds.binding
    share = 100 * outcome.saturation_bytes_per_second / outcome.bounds.least
    state = "Saturated at" if outcome.is_saturated else "Not saturated: all was accepted, up to"
    verdict = f"{state} {most} a node, {share:.1f} % of the {binding} bound."
    panels = (
        lines("Latency", drawn, x, Axis("latency", "ns", log=True)),
        lines("Throughput", accepted, x, Axis("accepted load of a node", "GB/s")),
    )
    titles = ("offered", "accepted", "fairness", "mean", "p50", "p99")
    columns = (*(Column(title, "number") for title in titles), Column("", "name"))
    rows = tuple(
        Row(
            (
                rate(point.offered_bytes_per_second),
                rate(point.accepted_bytes_per_second),
                number(point.fairness),
                *(
                    duration(getattr(point.latency_ns, field) if point.latency_ns else None)
                    for field in ("mean", "p50", "p99")
                ),
                "saturated" if point.saturated else "",
            )
        )
        for point in points
    )
    return Page(
        name=name,
        title=f"{outcome.name}: {outcome.traffic}, {outcome.pattern}, at {len(points)} loads",
        what=f"Latency over offered load, through {outcome.network}.",
        figures=(("loads", str(len(points))), ("saturation", most)),
        sections=(
            Section(
                "Latency and throughput",
                charts=(Chart(f"{name}-1", caption, f"{caption} {verdict}", panels),),
                tables=(Table(columns, rows),),
            ),
        ),
        origin=origin,
        verdict=verdict,
    )


def _metrics(name: str, outcome: Sweep) -> Iterable[Chart]:
    """A chart for each metric."""
    rows = [row for row in outcome.rows() if row["status"] == "ok"]
    keys = [key for key in outcome.keys if key != "seed"] or list(outcome.keys)
    for count, metric in enumerate(outcome.metrics[:_MOST_PANELS], 1):
        there = [row for row in rows if is_number(row[metric])]
        if not there:
            continue
        varied = [key for key in keys if len({repr(row[key]) for row in there}) > 1] or keys[:1]
        panels = _panels(there, varied, metric)
        # Of a key whose other values have no result, the one that has.
        fixed = [f"{key} = {there[0][key]}" for key in keys if key not in varied]
        caption = f"{axis_of(metric)[0].label} over {' and '.join(varied)}"
        caption += f", at {' and '.join(fixed)}." if fixed else "."
        values = [row[metric] for row in there]
        text = f"{caption} {len(there)} points from {number(min(values))} to {number(max(values))}."
        yield Chart(f"{name}-{count}", caption, text, panels)


def _panels(rows: Sequence[dict[str, Any]], keys: Sequence[str], metric: str) -> tuple[Panel, ...]:
    """A line for each combination of the other keys; or points over each key, if all differ."""
    first, *others = keys
    groups = grouped(rows, others)
    is_scattered = bool(others) and all(
        len({repr(row[first]) for row in group}) == 1 for group in groups.values()
    )
    if is_scattered or len(groups) > MOST:
        shown = keys[:_MOST_PANELS]
        return tuple(plotted({"": rows}, key, [metric], title=key, joined=False) for key in shown)
    return (plotted(groups, first, [metric]),)


def _column(title: str) -> Column:
    """The column of a key, a metric, or what became of points."""
    kind: Kind = "words" if title == "error" else "name" if title == "status" else "number"
    return Column(axis_of(title)[0].label, kind)


def _cell(title: str, value: object) -> str:
    if value is None:
        return NONE
    if title.endswith(_RATE) and isinstance(value, float | int):
        return rate(value)
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, float | int) else str(value)
