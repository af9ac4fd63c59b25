"""The section of a page with the workloads of a run: their latencies, rates and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.formats import shortened, size
from peerlane.report.charts.latencies import latencies
from peerlane.report.charts.rates import rates
from peerlane.report.page import Section
from peerlane.report.table import MOST_LINES, Column, Line, Table, cells, columns, heads
from peerlane.report.words import duration, rate
from peerlane.results.flows import uncertainty
from peerlane.results.workload import LISTS

MOST_REMARKS = 8
"""Sentences about the rates of flows."""

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.results.flows import FlowResult
    from peerlane.results.latency import Latency
    from peerlane.results.run import RunResult
    from peerlane.results.workload import WorkloadResult


def workloads(name: str, result: RunResult) -> Iterator[Section]:
    """The section, if there is any workload.

    Args:
        name: That of the page.
        result: What the run measured.
    """
    every = [one for rows in result.workloads.values() for one in rows]
    known = {one.id: one.latency for one in every if one.latency}
    others = ((name, rows) for name, rows in result.workloads.items() if rows and name != "flows")
    tables = [*_flows(result), *(_table(name, rows) for name, rows in others)]
    charts = (rates(f"{name}-rates", every), latencies(f"{name}-latencies", known))
    shown = tuple(chart for chart in charts if chart is not None)
    if tables or shown:
        remarks = " ".join(f"{remark}." for remark in shortened(result.remarks, MOST_REMARKS))
        yield Section("Workloads", remarks, charts=shown, tables=tuple(tables))


def _flows(result: RunResult) -> Iterator[Table]:
    if result.flows:
        titles = ("flow", "way", "direction", "bytes", "rate", "steady", "p50", "p99", "max")
        lines = tuple(map(_flow, result.flows[:MOST_LINES]))
        yield Table((*columns(*titles, numbers=titles[3:]), Column("data", "name")), lines)


def _flow(flow: FlowResult) -> Line:
    data = "intact" if flow.intact else "differs" if flow.completed else "incomplete"
    if flow.intact and not flow.compared:
        data = "not compared"
    share = uncertainty(flow)
    cells = (
        flow.id,
        f"{flow.source} to {flow.target}",
        flow.direction,
        size(flow.bytes),
        rate(flow.bytes_per_second) + ("" if share is None else f" ±{100 * share:.2g} %"),
        rate(flow.steady_bytes_per_second),
        *_quantiles(flow.latency_ns),
        data,
    )
    return Line(cells, wrong=not flow.intact)


def _table(name: str, rows: Sequence[WorkloadResult]) -> Table:
    """The table of the workloads of a list."""
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
