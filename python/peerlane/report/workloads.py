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
    known |= {one.id: one.latency_ns for one in result.accesses if one.latency_ns}
    known |= {one.id: one.request_ns for one in result.locks if one.request_ns}
    known |= {one.id: one.latency_ns for one in result.transactions if one.latency_ns}
    tables = [
        *_flows(result),
        *_traffic(result),
        *_collectives(result),
        *_accesses(result),
        *_locks(result),
        *_transactions(result),
    ]
    chart = latencies(f"{name}-latencies", known)
    if tables or chart is not None:
        charts = (chart,) if chart is not None else ()
        yield Section("Workloads", charts=charts, tables=tuple(tables))


def _flows(result: RunResult) -> Iterator[Table]:
    if result.flows:
        titles = ("flow", "way", "direction", "bytes", "rate", "steady", "p50", "p99", "max")
        lines = tuple(map(_flow, result.flows[:_MOST_LINES]))
        yield Table((*columns(*titles, numbers=titles[3:]), Column("data", "name")), lines)


def _flow(flow: FlowResult) -> Line:
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
        *_quantiles(flow.latency_ns),
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


def _accesses(result: RunResult) -> Iterator[Table]:
    if not result.accesses:
        return
    numbers = ("count", "failed", "rate", "p50", "p99", "max")
    lines = tuple(
        Line(
            (
                one.id,
                one.by,
                one.kind,
                size(one.size),
                str(one.count),
                str(one.failed),
                rate(one.bytes_per_second),
                *_quantiles(one.latency_ns),
            ),
            wrong=not one.intact,
        )
        for one in result.accesses
    )
    yield Table(columns("accesses", "by", "kind", "size", *numbers, numbers=numbers), lines)


def _locks(result: RunResult) -> Iterator[Table]:
    if not result.locks:
        return
    numbers = ("count", "attempts", "waited", "violations", "p50", "p99", "max")
    lines = tuple(
        Line(
            (
                one.id,
                one.by,
                *map(str, (one.count, one.attempts, one.waited, one.violations)),
                *_quantiles(one.request_ns),
            ),
            wrong=bool(one.violations),
        )
        for one in result.locks
    )
    yield Table(columns("locks", "by", *numbers, numbers=numbers), lines)


def _transactions(result: RunResult) -> Iterator[Table]:
    if not result.transactions:
        return
    numbers = ("committed", "a second", "conflicts", "p50", "p99", "max")
    lines = tuple(
        Line(
            (
                one.id,
                one.by,
                one.lock,
                str(one.committed),
                number(one.committed_per_second),
                str(one.conflicts),
                *_quantiles(one.latency_ns),
            ),
            wrong=not one.intact,
        )
        for one in result.transactions
    )
    yield Table(columns("transactions", "by", "lock", *numbers, numbers=numbers), lines)


def _quantiles(found: Latency | None) -> tuple[str, ...]:
    """The median, the 99th percentile and the greatest latency."""
    values = (found.p50, found.p99, found.max) if found else (None, None, None)
    return tuple(map(duration, values))
