"""Makes the page of a run: its fabric, flows, latencies, waits and links, with charts over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from peerlane.charts.bars import Part, bars
from peerlane.charts.chart import Chart
from peerlane.charts.names import short
from peerlane.formats import percent
from peerlane.report.charts.over_time import over_time
from peerlane.report.charts.wires import wires
from peerlane.report.overhead import overheads
from peerlane.report.page import Page, Section
from peerlane.report.table import MOST_LINES, Column, Line, Table, columns, plain
from peerlane.report.topology_section import topology
from peerlane.report.words import NONE, duration, number, rate
from peerlane.report.workloads import workloads
from peerlane.results.bottleneck import said
from peerlane.results.waits import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane import Simulation
    from peerlane.report.page import Origin
    from peerlane.results.bottleneck import Bottleneck
    from peerlane.results.error_bar import ErrorBars
    from peerlane.results.explanation import Explanation
    from peerlane.results.run import RunResult
    from peerlane.results.waits import FlowWaits, Share

WAITS = {
    "wire": "var(--c1)",
    "credit": "var(--c2)",
    "tags": "var(--c3)",
    "outstanding": "var(--c6)",
    "replay-buffer": "var(--c9)",
    "datapath": "var(--c5)",
    "memory": "var(--c8)",
    "socket": "var(--c10)",
    "arbitration": "var(--c4)",
    "software": "var(--c11)",
    "latency": "var(--c12)",
    "other": "var(--c7)",
}
"""The colour of each kind of cause of waits."""

_MOST_ROWS = 24
"""The largest number of bars in one chart."""

_FEW = 40
"""The largest number of rows of a table that is shown at once; longer tables are folded."""

_FABRIC = "The fabric, with the negotiated width, the rate and the use of each link."

_MOST_PARTS = 10
_LEAST_SHARE = 0.005
"""The largest number of parts of a bar, and the least share of a part; all other shares are shown
together as "other"."""


def run_page(
    simulation: Simulation,
    result: RunResult,
    origin: Origin,
    explanation: Explanation | None = None,
    bars: ErrorBars | None = None,
) -> Page:
    """The page of a run.

    Args:
        simulation: The simulation that was run.
        result: The result of the run; with samples, the page has charts over time.
        origin: The origin of the page.
        explanation: The limits of the flows, and changes that would help.
        bars: The error bars of the rates.
    """
    name = origin.page_name(result.name)
    sections = [
        *_limits(explanation),
        topology(name, _FABRIC, simulation, result),
        *workloads(name, result, bars),
        *_waits(name, result),
        *_time(name, result),
        *_links(name, result),
        *([Section("I/O MMUs", tables=(plain(result.iommus),))] if result.iommus else ()),
        *([Section("Interrupts", tables=(plain(result.interrupts),))] if result.interrupts else ()),
        *_incidents(result),
        *_faults(result),
    ]
    rates = [flow.bytes_per_second for flow in result.flows if flow.bytes_per_second is not None]
    return Page(
        name=name,
        title=result.name,
        what=_what(result),
        figures=(
            ("workloads", str(_workload_count(result))),
            ("highest rate", rate(max(rates, default=None))),
            ("simulated", duration(result.simulated_ns)),
        ),
        sections=tuple(sections),
        origin=origin,
        verdict=_verdict(result),
        failed=bool(result.failures),
    )


def _workload_count(result: RunResult) -> int:
    return sum(map(len, result.workloads.values()))


def _what(result: RunResult) -> str:
    what = f"A run of {duration(result.simulated_ns)} of simulated time"
    if result.steady:
        what += ", in the steady state"
    if result.failures:
        return f"{what}, which failed."
    return f"{what}, stopped before its end." if result.partial else f"{what}."


def _verdict(result: RunResult) -> str:
    if result.failures:
        return f"Failed: {'; '.join(result.failures)}."
    state = "Stopped before its end" if result.partial else "Complete"
    return f"{state}: {duration(result.simulated_ns)} of simulated time, without a fault."


def _limits(explanation: Explanation | None) -> Iterator[Section]:
    """The sections about the limits of flows, and about changes that would help."""
    if explanation is None or not explanation.bottlenecks:
        return
    first, *others = explanation.bottlenecks
    yield Section("What limits the flows", _plain(first.sentence), tables=(_changes(first),))
    if others:
        tables = (replace(_changes(one), caption=_plain(one.sentence)) for one in others)
        yield Section("What limits flows elsewhere", tables=tuple(tables))


def _changes(one: Bottleneck) -> Table:
    """A table of the changes at a bottleneck: rates of the flows, and the next limit."""
    titles = Column("what if"), Column("GB/s", "number"), Column("GB/s each", "number")
    lines = (
        Line((_plain(way), number(total and total / 1e9), each, _plain(then)))
        for way, total, each, then in said(one)
    )
    return Table((*titles, Column("then")), tuple(lines))


def _plain(words: str) -> str:
    """Removes the backticks around names, which a page does not need."""
    return words.replace("`", "")


def _waits(name: str, result: RunResult) -> Iterator[Section]:
    waits = [one for one in result.waits or () if one.shares]
    if not waits:
        return
    parts = [part for flow in waits[:_MOST_ROWS] for part in _parts(flow)]
    caption = "The time of each flow, from its start to its last request, by what it waited for"
    if len(waits) > _MOST_ROWS:
        caption += f"; the first {_MOST_ROWS} of {len(waits)} flows"
    first = waits[0]
    most = ", ".join(f"{percent(one.share)} {told(one.cause)}" for one in first.shares[:3])
    panel = bars(parts, WAITS, "share of its time")
    chart = Chart(f"{name}-waits", f"{caption}.", f"{caption}. {first.id}: {most}.", (panel,))
    lines = [
        Line(
            (
                flow.id,
                told(one.cause),
                percent(one.share),
                "limits its rate" if one.cause == flow.limit else "",
            )
        )
        for flow in waits
        for one in flow.shares
        if one.share >= _LEAST_SHARE
    ]
    shown = tuple(lines[:MOST_LINES])
    table = Table(columns("flow", "waits for", "share", "", numbers=("share",)), shown)
    words = "each share" if len(shown) == len(lines) else f"the first {len(shown)} shares"
    yield Section("Where the time went", charts=(chart,), hidden=((words, table),))


def _parts(flow: FlowWaits) -> Iterator[Part]:
    """The parts of a flow's bar: the largest shares of its time, and the sum of the others."""
    large = [one for one in flow.shares[:_MOST_PARTS] if one.share >= _LEAST_SHARE]
    yield from (_part(flow.id, one) for one in large)
    if (rest := 1 - sum(one.share for one in large)) >= _LEAST_SHARE:
        yield Part(flow.id, "other", rest, ("other",), "small shares")


def _part(flow: str, one: Share) -> Part:
    where = f"{one.where} {one.direction}" if one.direction else one.where
    forms = (f"{one.kind} {where}", f"{one.kind} {short(where)}", one.kind)
    return Part(flow, one.kind, one.share, forms, told(one.cause))


def _time(name: str, result: RunResult) -> Iterator[Section]:
    if result.series is not None:
        chart = over_time(f"{name}-time", result.series)
        if chart is not None:
            yield Section("Over time", charts=(chart,))


def _links(name: str, result: RunResult) -> Iterator[Section]:
    found = overheads(result)
    if found:
        tables = tuple(plain(rows) for rows in (result.links, result.fibres) if rows)
        charts = (wires(f"{name}-wires", found),)
        if len(found) <= _FEW:
            yield Section("Links", charts=charts, tables=tables)
        else:
            hidden = ((f"each {table.columns[0].title}", table) for table in tables)
            yield Section("Links", charts=charts, hidden=tuple(hidden))


def _incidents(result: RunResult) -> Iterator[Section]:
    if not result.incidents:
        return
    lines = tuple(
        Line(
            (
                duration(one.at_ns),
                duration(one.last_ns),
                str(one.count),
                one.where,
                one.what,
                one.severity or NONE,
                one.reported_to or NONE,
            )
        )
        for one in result.incidents[:MOST_LINES]
    )
    headings = (
        Column("first", "number"),
        Column("last", "number"),
        Column("count", "number"),
        Column("where", "name"),
        *map(Column, ("what", "severity", "reported to")),
    )
    yield Section("Incidents", tables=(Table(headings, lines),))


def _faults(result: RunResult) -> Iterator[Section]:
    if result.errors:
        lines = tuple(Line((one.where, one.what, str(one.count))) for one in result.errors)
        table = Table((Column("where", "name"), Column("what"), Column("count", "number")), lines)
        yield Section("Errors that the fabric answered with", tables=(table,))
