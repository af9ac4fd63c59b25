"""The section of a page with the workloads of a run: their latencies, rates and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.report.charts.latencies import latencies
from peerlane.report.page import Section
from peerlane.report.table import Column, Line, Table, columns
from peerlane.report.words import duration, number, rate, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.results.flows import FlowResult, Latency
    from peerlane.results.run import RunResult

_MOST_ROWS = 24
"""Rows of a chart."""

_MOST_LINES = 400
"""Rows of a table; the JSON of the run has all."""


def workloads(name: str, result: RunResult) -> Iterator[Section]:
    """The section, if there is any workload.

    Args:
        name: That of the page.
        result: What the run measured.
    """
    known: dict[str, Latency] = {one.id: one.latency_ns for one in result.flows if one.latency_ns}
    known |= {one.id: one.latency_ns for one in result.traffic if one.latency_ns}
    tables = [*_flows(result), *_traffic(result), *_collectives(result)]
    chart = latencies(f"{name}-latencies", dict(list(known.items())[:_MOST_ROWS]))
    if tables or chart is not None:
        charts = (chart,) if chart is not None else ()
        yield Section("Workloads", charts=charts, tables=tuple(tables))


def _flows(result: RunResult) -> Iterator[Table]:
    if result.flows:
        titles = ("flow", "way", "direction", "bytes", "rate", "steady", "p50", "p99", "max")
        lines = tuple(map(_flow, result.flows[:_MOST_LINES]))
        yield Table((*columns(*titles, numbers=titles[3:]), Column("data", "name")), lines)


def _flow(flow: FlowResult) -> Line:
    found = flow.latency_ns
    quantiles = (found.p50, found.p99, found.max) if found else (None, None, None)
    data = "intact" if flow.intact else "differs" if flow.completed else "incomplete"
    if flow.intact and not flow.compared:
        data = "not compared"
    cells = (
        flow.id,
        f"{flow.source} to {flow.target}",
        flow.direction,
        size(flow.bytes),
        rate(flow.bytes_per_second),
        rate(flow.steady_bytes_per_second),
        *map(duration, quantiles),
        data,
    )
    return Line(cells, wrong=not flow.intact)


def _traffic(result: RunResult) -> Iterator[Table]:
    if not result.traffic:
        return
    titles = ("traffic", "pattern", "nodes", "offered", "accepted", "fairness", "p50", "p99")
    lines = []
    for one in result.traffic:
        found = one.latency_ns
        cells = (
            one.id,
            one.pattern,
            str(one.nodes),
            rate(one.offered_bytes_per_second),
            rate(one.accepted_bytes_per_second),
            number(one.fairness),
            *map(duration, (found.p50, found.p99) if found else (None, None)),
        )
        lines.append(Line(cells, wrong=not one.intact))
    yield Table(columns(*titles, numbers=titles[2:]), tuple(lines), caption="Rates of each node")


def _collectives(result: RunResult) -> Iterator[Table]:
    if not result.collectives:
        return
    titles = ("collective", "operation", "algorithm", "nodes", "size", "time")
    lines = []
    for one in result.collectives:
        amounts = (str(one.nodes), size(one.size), duration(one.time_ns))
        cells = (one.id, one.operation, one.algorithm, *amounts)
        lines.append(Line(cells, wrong=not one.correct))
    yield Table(columns(*titles, numbers=titles[3:]), tuple(lines))
