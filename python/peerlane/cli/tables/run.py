"""Makes the tables of a run: its workloads, links, fibres and errors."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import STYLE, cell
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import duration, gigabytes, shortened, size
from peerlane.results.workload import LISTS, Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.fabric.tree import Tree
    from peerlane.results.expectations import Expectation
    from peerlane.results.flows import DirectionResult, FlowResult, LinkResult
    from peerlane.results.networks import FibreResult
    from peerlane.results.run import Fault, InterruptResult, IommuResult, RunResult
    from peerlane.results.schedules import PathWork, ScheduleResult
    from peerlane.results.workload import WorkloadResult

MOST_FIBRES = 16
"""If a network has more fibres than this, one row is for all fibres together."""

MOST_LINKS = 32
"""The most rows of links; if there are more links, only the busiest are shown."""

BUSIEST = 16

MOST_FLOWS = 64
"""The most rows of flows; if there are more flows, only the slowest are shown."""

SLOWEST = 16

MOST_ERRORS = 16

MOST_VECTORS = 32

MOST_INCIDENTS = 24

MOST_MISSING = 4

MOST_REMARKS = 8


def run(result: RunResult, fabric: Tree, last: Sequence[str] = ()) -> RenderableType:
    """The tables of a run: all its workloads, links, fibres and errors, and below them `last`."""
    parts: list[RenderableType] = [_head(result), ""]
    others = [rows for name, rows in result.workloads.items() if name != "flows"]
    if result.flows or not any(others):
        parts += _flows(result)
        parts += _missing(result)
    parts += [
        _workloads(name, rows, lost=bool(result.errors))
        for name, rows in result.workloads.items()
        if rows and name != "flows"
    ]
    parts += _critical_paths(result.schedules)
    lines = [Text(remark) for remark in shortened(result.remarks, MOST_REMARKS)]
    parts += [*lines, *[""] * bool(lines)]
    parts += _links(result.links)
    if result.fibres:
        parts += _fibres(result.fibres, fabric)
    if result.iommus:
        parts.append(_plain(result.iommus))
    parts += _interrupts(result)
    parts += _incidents(result)
    if result.expectations:
        parts.append(_plain(result.expectations))
    if result.errors:
        parts += _errors(result.errors)
    return Group(*parts, *(Text(line, "yellow") for line in last))


def _head(result: RunResult) -> Text:
    text = f"{result.name}: {duration(result.simulated_ns)} simulated, seed {result.seed}"
    if result.measured_ns:
        begin, end = map(duration, result.measured_ns)
        text += f"; links measured from {begin} to {end}"
    text += "; steady state" * result.steady
    partial = "; partial: stopped before its end" if result.partial else ""
    return Text.assemble(text, (partial, "bold yellow"))


def _flows(result: RunResult) -> Iterator[RenderableType]:
    """The table of flows; of many flows, only the slowest, and a row for all flows together."""
    shown: Sequence[FlowResult] = result.flows
    if len(shown) > MOST_FLOWS:
        yield Text(f"{len(shown)} flows; the {SLOWEST} slowest are shown", "dim")
        # Flows that have no rate, because their bytes have not arrived, come first.
        shown = sorted(shown, key=lambda flow: flow.bytes_per_second or 0.0)[:SLOWEST]
    yield _flow_table(result, shown)
    if len(shown) < len(result.flows):
        rates = sorted(flow.bytes_per_second or 0.0 for flow in result.flows)
        least, middle, most = (gigabytes(rates[n]) for n in (0, len(rates) // 2, -1))
        told = f"all {len(rates)}: {size(sum(flow.bytes for flow in result.flows))}"
        told += f"; least {least}, median {middle}, most {most} GB/s"
        left = sum(not (flow.completed and flow.intact) for flow in result.flows)
        whole = "every byte intact" if not left else f"{left} not complete or not intact"
        yield Text(f"{told}; {whole}\n", STYLE[not left])


def _flow_table(result: RunResult, shown: Sequence[FlowResult]) -> Sheet:
    steady = any(flow.steady_bytes_per_second is not None for flow in result.flows)
    called = any(flow.called_ns is not None for flow in result.flows)
    known = any(flow.uncertainty is not None for flow in result.flows)
    flows = Sheet("flow", "from", "to")
    flows.add_column("direction")
    flows.numbers("bytes", "GB/s", *["± %"] * known, "MiB/s", *["steady GB/s"] * steady)
    flows.numbers("latency p50", "p99", "max", *["call"] * called)
    flows.add_column("data")
    flows.fold("MiB/s", "max", "bytes", "direction", "p99")
    for flow in shown:
        cells = [*_flow(flow, steady=steady, known=known), *[duration(flow.call_ns)] * called]
        flows.add_row(*cells, Text(flow.state(lost=bool(result.errors)), style=STYLE[flow.intact]))
        for one in flow.directions:
            # The name includes the direction, because a narrow terminal may omit the column of
            # directions.
            cells = [f"  {one.direction}s", "", "", *_rates(one, steady=steady, known=known)]
            flows.add_row(*cells, *[""] * called, "")
    return flows


def _flow(flow: FlowResult, *, steady: bool, known: bool) -> list[str]:
    return [flow.id, flow.source, flow.place, *_rates(flow, steady=steady, known=known)]


def _rates(flow: FlowResult | DirectionResult, *, steady: bool, known: bool) -> list[str]:
    rate = flow.bytes_per_second
    share = flow.uncertainty
    latency = flow.latency_ns
    quantiles = (latency.p50, latency.p99, latency.max) if latency else (None, None, None)
    return [
        flow.direction,
        size(flow.bytes),
        gigabytes(rate),
        *["-" if share is None else f"{100 * share:.2f}"] * known,
        "-" if rate is None else f"{rate / (1 << 20):.1f}",
        *[gigabytes(flow.steady_bytes_per_second)] * steady,
        *map(duration, quantiles),
    ]


def _sheet(columns: Sequence[Column]) -> Sheet:
    """A table with these columns and without rows."""
    table = Sheet(*(one.title for one in columns if one.unit == "name"))
    for column in columns:
        if column.unit != "name":
            table.add_column(column.title, "value" if column.unit == "word" else "number")
    folding = sorted((column.folds, column.title) for column in columns if column.folds)
    table.fold(*(title for _, title in folding))
    return table


def _cells(columns: Sequence[Column], one: object) -> Iterator[str]:
    return (cell(column.value(one), column.unit) for column in columns)


def _plain(
    rows: Sequence[
        LinkResult | FibreResult | IommuResult | InterruptResult | Expectation | PathWork
    ],
) -> Sheet:
    """The table of results of one kind, with all columns of this kind."""
    table = _sheet(rows[0].COLUMNS)
    for one in rows:
        table.add_row(*_cells(one.COLUMNS, one))
    return table


def _workloads(name: str, rows: Sequence[WorkloadResult], *, lost: bool) -> Sheet:
    """The table of workloads of one kind; `lost` is true if the fabric has lost packets."""
    columns = [
        Column(LISTS[name], attrgetter("id"), "name"),
        *(one for one in rows[0].COLUMNS if not one.optional or any(map(one.value, rows))),
    ]
    table = _sheet(columns)
    table.add_column(rows[0].STATE)
    for one in rows:
        state = Text(one.state(lost=lost), style=STYLE[one.is_right])
        table.add_row(*_cells(columns, one), state)
    return table


def _critical_paths(schedules: Sequence[ScheduleResult]) -> Iterator[RenderableType]:
    """A row for each kind of work on the critical path of each schedule."""
    rows = [work for schedule in schedules for work in schedule.works()]
    if rows:
        yield _plain(rows)


def _links(links: Sequence[LinkResult]) -> Iterator[RenderableType]:
    shown = links if len(links) <= MOST_LINKS else _busiest(links)
    if shown:
        yield _plain(shown)
    if left := len(links) - len(shown):
        yield Text(f"the busiest {len(shown)} directions of links; {left} more are in the JSON")


def _busiest(links: Sequence[LinkResult]) -> list[LinkResult]:
    return sorted(links, key=lambda link: link.utilisation, reverse=True)[:BUSIEST]


def _fibres(fibres: Sequence[FibreResult], fabric: Tree) -> Iterator[RenderableType]:
    """A row for each direction of a fibre, or one row for a network with many fibres."""
    home = {router: network.name for network in fabric.networks for router in network.routers}
    by_network: dict[str, list[FibreResult]] = {}
    for fibre in fibres:
        by_network.setdefault(home[fibre.source], []).append(fibre)
    # A fibre has two directions, and each is an entry of `fibres`.
    many = {name: all_ for name, all_ in by_network.items() if len(all_) > 2 * MOST_FIBRES}
    few = [fibre for fibre in fibres if home[fibre.source] not in many]
    if few:
        yield _plain(few)
    if many:
        table = Sheet("fibres of")
        table.numbers("fibres", "used % mean", "most", "frames")
        table.numbers("payload", "overhead", "control", "replays", "stalled")
        table.fold("control", "frames", "overhead", "fibres")
        for name, all_ in many.items():
            used = [100 * fibre.utilisation for fibre in all_]
            table.add_row(
                name,
                str(len(all_) // 2),
                f"{sum(used) / len(used):.1f}",
                f"{max(used):.1f}",
                str(sum(fibre.frames for fibre in all_)),
                size(sum(fibre.payload_bytes for fibre in all_)),
                size(sum(fibre.overhead_bytes for fibre in all_)),
                size(sum(fibre.control_bytes for fibre in all_)),
                str(sum(fibre.replays for fibre in all_)),
                duration(sum(fibre.credit_stall_ns for fibre in all_)),
            )
        yield table


def _missing(result: RunResult) -> Iterator[RenderableType]:
    """Yields the ranges of bytes that were lost, for each flow."""
    found = [flow for flow in result.flows if flow.missing]
    for flow in found:
        shown = [f"{size(length)} at {at:#x}" for at, length in flow.missing[:MOST_MISSING]]
        left = len(flow.missing) - MOST_MISSING
        more = f" and {left} more in the JSON" * (left > 0)
        yield Text(f"{flow.id}: missing in its region: {', '.join(shown)}{more}")
    if found:
        yield ""


def _interrupts(result: RunResult) -> Iterator[RenderableType]:
    if not result.interrupts:
        return
    yield _plain(result.interrupts[:MOST_VECTORS])
    if (left := len(result.interrupts) - MOST_VECTORS) > 0:
        yield Text(f"the first {MOST_VECTORS} vectors; {left} more are in the JSON")


def _incidents(result: RunResult) -> Iterator[RenderableType]:
    if not result.incidents:
        return
    table = Sheet("time", "incident at")
    table.add_column("what", "prose")
    table.add_column("severity")
    table.add_column("reported to")
    shown = result.incidents[:MOST_INCIDENTS]
    repeated = any(one.count > 1 for one in shown)
    table.numbers(*["count", "last"] * repeated)
    table.fold("last", "severity")
    for one in shown:
        table.add_row(
            duration(one.at_ns),
            one.where,
            Text(one.what, style="bold red" if one.severity in {"non-fatal", "fatal"} else ""),
            one.severity or "-",
            one.reported_to or "-",
            *(str(one.count), duration(one.last_ns)) * repeated,
        )
    yield table
    left = len(result.incidents) - MOST_INCIDENTS
    if left > 0:
        yield Text(f"the first {MOST_INCIDENTS} incidents; {left} more are in the JSON")
    if result.incidents_left_out:
        yield Text(f"the log had no place for {result.incidents_left_out} more incidents")


def _errors(errors: Sequence[Fault]) -> Iterator[RenderableType]:
    table = Sheet("error at")
    table.add_column("what", "prose")
    table.numbers("count")
    for fault in sorted(errors, key=lambda fault: -fault.count)[:MOST_ERRORS]:
        table.add_row(fault.where, Text(fault.what, style="bold red"), str(fault.count))
    yield table
    if (left := len(errors) - MOST_ERRORS) > 0:
        yield Text(f"the most frequent {MOST_ERRORS}; {left} more are in the JSON")
