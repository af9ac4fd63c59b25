"""Makes the page of a sweep: each metric over the keys that were varied, or latency over load."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from peerlane.charts.chart import Chart
from peerlane.charts.lines import Axis, Line, lines
from peerlane.figures.headings import heading, headings
from peerlane.figures.plot import MOST_SERIES, grouped, is_number, plotted
from peerlane.formats import shortened
from peerlane.report.page import Page, Section
from peerlane.report.table import Column, Table
from peerlane.report.table import Line as Row
from peerlane.report.words import NONE, duration, number, rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.charts.chart import Panel
    from peerlane.figures.headings import Heading
    from peerlane.network.sweep import LoadSweep
    from peerlane.report.page import Origin
    from peerlane.report.table import Kind
    from peerlane.varying.sweep import Sweep

_MOST_PANELS = 12
_MOST_ROWS = 1000
"""The largest number of rows of the table of points; the file of the sweep has all points."""


def points_page(outcome: Sweep, origin: Origin) -> Page:
    """The page of a sweep of keys.

    Args:
        outcome: The points of the sweep.
        origin: The origin of the page.
    """
    name = f"{origin.page_name(outcome.name)}-sweep"
    charts = [*_metrics(name, outcome)]
    shown = outcome.rows()[:_MOST_ROWS]
    words = headings(outcome.columns)
    columns = tuple(_column(title, one) for title, one in words.items())
    rows = tuple(
        Row(
            tuple(_cell(one, row[title]) for title, one in words.items()),
            wrong=row["status"] != "ok",
        )
        for row in shown
    )
    more = f"The first {_MOST_ROWS} of {len(outcome)} points" if len(outcome) > _MOST_ROWS else ""
    failed = len(outcome.wrong)
    verdict = f"{len(outcome) - failed} of {len(outcome)} points have a result."
    return Page(
        name=name,
        title=f"{outcome.name}: sweep of {_names(words, outcome.keys)}",
        what=f"{_names(words, outcome.metrics)} over {_names(words, outcome.keys)}.",
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
        outcome: The loads of the sweep.
        origin: The origin of the page.
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


def _names(words: Mapping[str, Heading], columns: Sequence[str]) -> str:
    return ", ".join(shortened([words[column].head for column in columns], _MOST_PANELS))


def _metrics(name: str, outcome: Sweep) -> Iterable[Chart]:
    """A chart of all metrics over the varied keys, with a plot for each quantity."""
    rows = [row for row in outcome.rows() if row["status"] == "ok"]
    keys = [key for key in outcome.keys if key != "seed"] or list(outcome.keys)
    quantities: dict[tuple[str, str], list[str]] = {}
    for metric, words in headings(outcome.metrics).items():
        if any(is_number(row[metric]) for row in rows):
            quantities.setdefault((words.quantity, words.unit), []).append(metric)
    if not quantities:
        return
    varied = [key for key in keys if len({repr(row[key]) for row in rows}) > 1] or keys[:1]
    panels = [panel for metrics in quantities.values() for panel in _panels(rows, varied, metrics)][
        :_MOST_PANELS
    ]
    # If only one value of a key has results, the chart's caption has this value.
    fixed = [f"{heading(key).head} = {rows[0][key]}" for key in keys if key not in varied]
    what = [words for words, _ in quantities]
    caption = f"{_listed(what)} over {_listed([heading(key).head for key in varied])}"
    caption = f"{caption[0].upper()}{caption[1:]}{f', at {chr(32).join(fixed)}' if fixed else ''}."
    ranges = [
        _range(metric, [row[metric] for row in rows if is_number(row[metric])])
        for metrics in quantities.values()
        for metric in metrics
    ]
    text = f"{caption} {len(rows)} points: {', '.join(shortened(ranges, _MOST_PANELS))}."
    yield Chart(f"{name}-1", caption, text, tuple(panels))


def _range(metric: str, values: Sequence[float]) -> str:
    words = heading(metric)
    return f"{words.head} from {words.text(min(values))} to {words.text(max(values))}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _panels(
    rows: Sequence[dict[str, Any]], keys: Sequence[str], metrics: Sequence[str]
) -> tuple[Panel, ...]:
    """Panels with a line for each metric and each combination of the keys that are not on the axis.

    If there are too many lines for one plot, each metric has a separate plot. If every point
    differs in all keys, as in a sample, each key has a plot with points.
    """
    first, *others = keys
    groups = grouped(rows, others)
    is_scattered = bool(others) and all(
        len({repr(row[first]) for row in group}) == 1 for group in groups.values()
    )
    if len(groups) * len(metrics) <= MOST_SERIES and not is_scattered:
        return (plotted(groups, first, metrics),)
    metrics = metrics[:_MOST_PANELS]
    if is_scattered or len(groups) > MOST_SERIES:
        return tuple(
            plotted({"": rows}, key, [metric], title=heading(key).head, joined=False)
            for metric in metrics
            for key in keys
        )
    return tuple(plotted(groups, first, [metric]) for metric in metrics)


def _column(title: str, words: Heading) -> Column:
    """The column of a table for a key, a metric, the status or the error of points."""
    kind: Kind = "words" if title == "error" else "name" if title == "status" else "number"
    return Column(words.head, kind)


def _cell(words: Heading, value: object) -> str:
    return NONE if value is None else words.text(value).replace(" us", " \N{MICRO SIGN}s")
