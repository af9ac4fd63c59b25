"""Makes the section of a page about the workloads of a run: latencies, rates and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.formats import gigabytes, shortened, size
from peerlane.report.charts.latencies import latencies
from peerlane.report.charts.rates import rates
from peerlane.report.page import Section
from peerlane.report.table import MOST_LINES, Column, Line, Table, cells, columns, heads
from peerlane.report.words import NONE, duration, rate
from peerlane.results.workload import LISTS

MOST_REMARKS = 8
"""The largest number of sentences about the rates of flows."""

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.results.error_bar import ErrorBars
    from peerlane.results.flows import FlowResult
    from peerlane.results.latency import Latency
    from peerlane.results.run import RunResult
    from peerlane.results.workload import WorkloadResult


def workloads(name: str, result: RunResult, bars: ErrorBars | None = None) -> Iterator[Section]:
    """The section about the workloads of a run; nothing if there are no workloads.

    Args:
        name: The name of the page.
        result: The result of the run.
        bars: The error bars of the rates of flows.
    """
    every = [one for rows in result.workloads.values() for one in rows]
    known = {one.id: one.latency for one in every if one.latency}
    others = ((name, rows) for name, rows in result.workloads.items() if rows and name != "flows")
    tables = [*_flows(result, bars), *(_table(name, rows) for name, rows in others)]
    charts = (rates(f"{name}-rates", every), latencies(f"{name}-latencies", known))
    shown = tuple(chart for chart in charts if chart is not None)
    if tables or shown:
        remarks = " ".join(f"{remark}." for remark in shortened(result.remarks, MOST_REMARKS))
        yield Section("Workloads", remarks, charts=shown, tables=tuple(tables))


def _flows(result: RunResult, bars: ErrorBars | None) -> Iterator[Table]:
    if result.flows:
        ranges = ("error bar",) if bars else ()
        titles = (
            "flow",
            "way",
            "direction",
            "bytes",
            "rate",
            *ranges,
            "steady",
            "p50",
            "p99",
            "max",
        )
        heads = (*columns(*titles, numbers=titles[3:]), Column("data", "name"))
        yield Table(heads, tuple(_flow(flow, bars) for flow in result.flows[:MOST_LINES]))


def _flow(flow: FlowResult, bars: ErrorBars | None) -> Line:
    data = "intact" if flow.intact else "differs" if flow.completed else "incomplete"
    if flow.intact and not flow.compared:
        data = "not compared"
    share = flow.uncertainty
    cells = (
        flow.id,
        f"{flow.source} to {flow.place}",
        flow.direction,
        size(flow.bytes),
        rate(flow.bytes_per_second) + ("" if share is None else f" ±{100 * share:.2g} %"),
        *((_range(flow, bars),) if bars else ()),
        rate(flow.steady_bytes_per_second),
        *_quantiles(flow.latency_ns),
        data,
    )
    return Line(cells, wrong=not flow.intact)


def _range(flow: FlowResult, bars: ErrorBars) -> str:
    """The range in which the rate of a flow may lie, and the default on which it depends most."""
    bar = bars.of_flows([flow.id])
    return NONE if bar is None else bar.said(gigabytes).replace("`", "")


def _table(name: str, rows: Sequence[WorkloadResult]) -> Table:
    """The table of the workloads in one list of a result."""
    kind = rows[0]
    shown = [one for one in kind.COLUMNS if not one.optional or any(map(one.value, rows))]
    lines = tuple(
        Line((one.id, *cells(shown, one), one.state(lost=False)), wrong=not one.is_right)
        for one in rows[:MOST_LINES]
    )
    return Table((Column(LISTS[name], "name"), *heads(shown), Column(kind.STATE, "name")), lines)


def _quantiles(found: Latency | None) -> tuple[str, ...]:
    """The median, the 99th percentile and the greatest latency."""
    values = (found.p50, found.p99, found.max) if found else (None, None, None)
    return tuple(map(duration, values))
