"""The tables that the command line prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from peerlane.fabric.tree import Tree
    from peerlane.network.sweep import Sweep
    from peerlane.reproduction.reproduce import Report, Row
    from peerlane.results.run import (
        AccessResult,
        Fault,
        FibreResult,
        FlowResult,
        LinkResult,
        RunResult,
        TrafficResult,
    )

_STYLE = {True: "green", False: "bold red"}


MOST_FIBRES = 16
"""A network with more has one line for all of them."""
MOST_LINKS = 32
"""Rows of links; where there are more, only the busiest are shown."""
BUSIEST = 16
MOST_ERRORS = 16


def run(result: RunResult, fabric: Tree) -> RenderableType:
    """What a run measured: all its workloads, links, fibres and errors."""
    head = Text(f"{result.name}: {duration(result.simulated_ns)} simulated, seed {result.seed}")
    parts: list[RenderableType] = [head]
    others = (
        result.traffic,
        result.collectives,
        result.accesses,
        result.locks,
        result.transactions,
    )
    if result.flows or not any(others):
        parts.append(_flows(result))
    if result.traffic:
        parts.append(_traffic(result))
    if result.collectives:
        parts.append(_collectives(result))
    if result.accesses:
        parts.append(_accesses(result))
    if result.locks:
        parts.append(_locks(result))
    if result.transactions:
        parts.append(_transactions(result))
    parts += _links(result.links)
    if result.fibres:
        parts += _fibres(result.fibres, fabric)
    if result.errors:
        parts += _errors(result.errors)
    return Group(*parts)


def sweep(outcome: Sweep) -> RenderableType:
    """A row for each load, the saturation throughput, and the bounds."""
    rows = blank()
    numbers(rows, "offered GB/s", "accepted", "fairness", "latency mean", "p50", "p99")
    rows.add_column("")
    for point in outcome.points:
        latency = point.latency_ns
        times = (latency.mean, latency.p50, latency.p99) if latency else (None, None, None)
        rows.add_row(
            _gigabytes(point.offered_bytes_per_second),
            _gigabytes(point.accepted_bytes_per_second),
            number(point.fairness),
            *map(duration, times),
            Text("saturated", style="red") if point.saturated else "",
        )
    title = (
        f"{outcome.name}: {outcome.traffic}, {outcome.pattern} traffic through {outcome.network}"
    )
    return Group(Text(title, style="bold"), rows, *_verdict_of(outcome))


def _verdict_of(outcome: Sweep) -> Iterator[Text]:
    most, limits = outcome.saturation_bytes_per_second, outcome.bounds
    share = f"{100 * most / limits.least:.1f} % of the {limits.binding} bound"
    if outcome.is_saturated:
        yield Text(f"saturation throughput: {_gigabytes(most)} GB/s a node, {share}", "bold")
    else:
        what = f"not saturated: all loads were accepted, up to {_gigabytes(most)} GB/s a node"
        yield Text(f"{what}, {share}", "bold")
    known = {name: rate for name, rate in asdict(limits).items() if rate is not None}
    each = [f"{name} {_gigabytes(rate)}" for name, rate in known.items()]
    yield Text(f"bounds, GB/s a node: {', '.join(each)}; the {limits.binding} bound binds")
    if lost := sum(point.lost for point in outcome.points):
        yield Text(f"{lost} packets were lost", "bold red")


def report(outcome: Report) -> RenderableType:
    """A system's rows, its calibration, and the verdict."""
    rows = blank("row", "what")
    numbers(rows, "published", "simulated")
    rows.add_column("unit")
    numbers(rows, "error", "within")
    rows.add_column("kind")
    sensitive = any(row.sensitivity for row in outcome.rows)
    if sensitive:
        rows.add_column("most sensitive to (10 % more)")
    for row in outcome.rows:
        rows.add_row(*_row(row), *[_sensitivity(row)] * sensitive)
    parts: list[RenderableType] = [Text(f"{outcome.system}: {outcome.title}", style="bold"), rows]
    if outcome.calibration:
        fitted = blank("calibrated", "value", "meaning", "from")
        for entry in outcome.calibration:
            unit = "" if entry.unit == "1" else f" {entry.unit}"
            value = number(entry.value) + unit
            fitted.add_row(entry.name, value, entry.meaning, entry.origin)
        parts.append(fitted)
    return Group(*parts, _verdict(outcome.rows))


def catalogue(title: str, entries: Iterable[Mapping[str, Any]], *columns: str) -> Table:
    """One line for each entry, in the given columns."""
    table = blank(*columns)
    table.title = title
    table.title_justify = "left"
    for entry in entries:
        table.add_row(*(_cell(entry.get(column)) for column in columns))
    return table


def _cell(value: object) -> str:
    """A catalogue's value; a profile's settings stand below one another."""
    if isinstance(value, list):
        return "\n".join(f"{setting['key']} = {setting['value']}" for setting in value)
    return str(value or "")


def number(value: float | None) -> str:
    """Four significant digits, or all of an integer part that has more."""
    if value is None:
        return "-"
    if value == int(value):
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004


def duration(ns: float | None) -> str:
    """A time in the unit that suits it."""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def size(count: int | None) -> str:
    """A number of bytes in the largest binary unit that keeps it readable."""
    if count is None:
        return "-"
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} B"


def blank(*columns: str) -> Table:
    """A table without rows."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def numbers(table: Table, *columns: str) -> None:
    """Adds columns of numbers."""
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)


def _flows(result: RunResult) -> Table:
    steady = any(flow.steady_bytes_per_second is not None for flow in result.flows)
    called = any(flow.called_ns is not None for flow in result.flows)
    flows = blank("flow", "from", "to", "direction")
    numbers(flows, "bytes", "GB/s", "MiB/s", *["steady GB/s"] * steady)
    numbers(flows, "latency p50", "p99", "max", *["call"] * called)
    flows.add_column("data")
    for flow in result.flows:
        cells = [*_flow(flow, steady=steady), *[duration(flow.call_ns)] * called]
        flows.add_row(*cells, _data(flow, lost=bool(result.errors)))
    return flows


def _traffic(result: RunResult) -> Table:
    table = blank("traffic", "network", "pattern")
    numbers(table, "nodes", "offered GB/s a node", "accepted", "least", "most", "fairness")
    numbers(table, "latency p50", "p99", "max")
    table.add_column("data")
    for one in result.traffic:
        latency = one.latency_ns
        times = (latency.p50, latency.p99, latency.max) if latency else (None, None, None)
        table.add_row(
            one.id,
            one.network,
            one.pattern,
            str(one.nodes),
            _gigabytes(one.offered_bytes_per_second),
            _gigabytes(one.accepted_bytes_per_second),
            *map(_gigabytes, one.node_bytes_per_second or (None, None)),
            number(one.fairness),
            *map(duration, times),
            _data(one, lost=bool(result.errors)),
        )
    return table


def _collectives(result: RunResult) -> Table:
    table = blank("collective", "network", "operation", "algorithm")
    numbers(table, "nodes", "size", "time", "moved")
    table.add_column("data")
    for one in result.collectives:
        state = "correct" if one.correct else "differs" if one.completed else "incomplete"
        table.add_row(
            one.id,
            one.network,
            one.operation,
            one.algorithm if one.operation == "all-reduce" else "",
            str(one.nodes),
            size(one.size),
            duration(one.time_ns),
            size(one.moved_bytes),
            Text(state, style=_STYLE[one.correct]),
        )
    return table


def _accesses(result: RunResult) -> Table:
    table = blank("accesses", "by", "buffer", "kind")
    numbers(table, "size", "count", "mean", "p50", "p99", "max", "GB/s", "hits", "translations")
    table.add_column("data")
    for one in result.accesses:
        latency = one.latency_ns
        times = (latency.mean, latency.p50, latency.p99, latency.max) if latency else (None,) * 4
        lines = one.cache.hits + one.cache.misses if one.cache else 0
        asked = one.translations
        table.add_row(
            one.id,
            one.by,
            one.buffer,
            one.kind,
            size(one.size),
            str(one.count),
            *map(duration, times),
            _gigabytes(one.bytes_per_second),
            f"{one.cache.hits / lines:.1%}" if one.cache and lines else "",
            f"{asked.count} of {duration(asked.mean_ns)}" if asked else "",
            _data(one, lost=bool(result.errors)),
        )
    return table


def _locks(result: RunResult) -> Table:
    table = blank("locks", "by", "buffer")
    numbers(table, "count", "request", "p50", "p99", "attempts", "waited", "waiting")
    table.add_column("holders")
    for one in result.locks:
        request, waiting = one.request_ns, one.waiting_ns
        times = (request.mean, request.p50, request.p99) if request else (None,) * 3
        whole = one.completed and not one.violations
        state = "one" if whole else "several" if one.violations else "incomplete"
        table.add_row(
            one.id,
            one.by,
            one.buffer,
            str(one.count),
            *map(duration, times),
            str(one.attempts),
            str(one.waited),
            duration(waiting.mean if waiting else None),
            Text(state, style=_STYLE[whole]),
        )
    return table


def _transactions(result: RunResult) -> Table:
    table = blank("transactions", "by", "buffer", "lock")
    numbers(table, "committed", "a second", "conflicts", "mean", "p50", "p99")
    table.add_column("versions")
    for one in result.transactions:
        latency = one.latency_ns
        times = (latency.mean, latency.p50, latency.p99) if latency else (None,) * 3
        rate = one.committed_per_second
        state = "intact" if one.intact else "differ" if one.completed else "incomplete"
        table.add_row(
            one.id,
            one.by,
            one.buffer,
            one.lock,
            str(one.committed),
            "-" if rate is None else f"{rate:.4g}",
            str(one.conflicts),
            *map(duration, times),
            Text(state, style=_STYLE[one.intact]),
        )
    return table


def _links(links: Sequence[LinkResult]) -> Iterator[RenderableType]:
    table = blank("link", "direction")
    numbers(table, "used", "payload", "overhead", "DLLPs", "ordered sets", "replays", "stalled")
    shown = links if len(links) <= MOST_LINKS else _busiest(links)
    for link in shown:
        table.add_row(*_link(link))
    yield table
    if left := len(links) - len(shown):
        yield Text(f"the busiest {len(shown)} directions of links; {left} more are in the JSON")


def _busiest(links: Sequence[LinkResult]) -> list[LinkResult]:
    return sorted(links, key=lambda link: link.utilisation, reverse=True)[:BUSIEST]


def _fibres(fibres: Sequence[FibreResult], fabric: Tree) -> Iterator[RenderableType]:
    """A row for each direction, or for the network where it has many fibres."""
    home = {router: network.name for network in fabric.networks for router in network.routers}
    by_network: dict[str, list[FibreResult]] = {}
    for fibre in fibres:
        by_network.setdefault(home[fibre.source], []).append(fibre)
    # A fibre has two directions.
    many = {name: all_ for name, all_ in by_network.items() if len(all_) > 2 * MOST_FIBRES}
    few = [fibre for fibre in fibres if home[fibre.source] not in many]
    amounts = ("payload", "overhead", "control", "replays", "stalled")
    if few:
        table = blank("fibre", "from", "to")
        numbers(table, "used", "frames", *amounts)
        for fibre in few:
            cells = [f"{100 * fibre.utilisation:.1f} %", str(fibre.frames), *_carried([fibre])]
            table.add_row(fibre.id, fibre.source, fibre.target, *cells)
        yield table
    if many:
        table = blank("fibres of")
        numbers(table, "fibres", "used: mean", "most", "frames", *amounts)
        for name, all_ in many.items():
            used = [100 * fibre.utilisation for fibre in all_]
            table.add_row(
                name,
                str(len(all_) // 2),
                f"{sum(used) / len(used):.1f} %",
                f"{max(used):.1f} %",
                str(sum(fibre.frames for fibre in all_)),
                *_carried(all_),
            )
        yield table


def _carried(fibres: Sequence[FibreResult]) -> list[str]:
    return [
        size(sum(fibre.payload_bytes for fibre in fibres)),
        size(sum(fibre.overhead_bytes for fibre in fibres)),
        size(sum(fibre.control_bytes for fibre in fibres)),
        str(sum(fibre.replays for fibre in fibres)),
        duration(sum(fibre.credit_stall_ns for fibre in fibres)),
    ]


def _errors(errors: Sequence[Fault]) -> Iterator[RenderableType]:
    table = blank("error at", "what")
    numbers(table, "count")
    for fault in sorted(errors, key=lambda fault: -fault.count)[:MOST_ERRORS]:
        table.add_row(fault.where, Text(fault.what, style="bold red"), str(fault.count))
    yield table
    if (left := len(errors) - MOST_ERRORS) > 0:
        yield Text(f"the most frequent {MOST_ERRORS}; {left} more are in the JSON")


def _flow(flow: FlowResult, *, steady: bool) -> list[str]:
    rate = flow.bytes_per_second
    latency = flow.latency_ns
    quantiles = (latency.p50, latency.p99, latency.max) if latency else (None, None, None)
    return [
        flow.id,
        flow.source,
        flow.target,
        flow.direction,
        size(flow.bytes),
        _gigabytes(rate),
        "-" if rate is None else f"{rate / (1 << 20):.1f}",
        *[_gigabytes(flow.steady_bytes_per_second)] * steady,
        *map(duration, quantiles),
    ]


def _gigabytes(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e9:.4g}"


def _data(flow: FlowResult | TrafficResult | AccessResult, *, lost: bool) -> Text:
    """What became of the bytes; where packets were lost, some did not arrive."""
    arrived = flow.completed and not lost
    state = "intact" if flow.intact else "differs" if arrived else "incomplete"
    return Text(state, style=_STYLE[flow.intact])


def _link(link: LinkResult) -> list[str]:
    return [
        link.id,
        link.direction,
        f"{100 * link.utilisation:.1f} %",
        size(link.payload_bytes),
        size(link.overhead_bytes),
        size(link.dllp_bytes),
        size(link.ordered_set_bytes),
        str(link.replays),
        duration(link.credit_stall_ns),
    ]


def _row(row: Row) -> list[RenderableType]:
    published = number(row.published)
    if row.published_range is not None:
        published = "..".join(map(number, row.published_range))
    error = "-" if row.error_percent is None else f"{row.error_percent:+.2f} %"
    is_judged = row.is_judged and row.kind != "gap"
    within = f"{number(row.tolerance_percent)} %" if is_judged else "-"
    style = "dim" if row.kind == "gap" else _STYLE[row.passes]
    return [
        row.id,
        row.what,
        published,
        number(row.simulated),
        row.unit,
        Text(error, style=style),
        within,
        row.kind,
    ]


def _sensitivity(row: Row) -> str:
    """The calibration parameter that moves the row most, and how far 10 % of it do."""
    if not row.sensitivity:
        return ""
    name, percent = max(row.sensitivity.items(), key=lambda entry: abs(entry[1]))
    return f"{name} {percent:+.1f} %" if abs(percent) >= VISIBLE else "nothing fitted"


VISIBLE = 0.05
"""Percent that are not shown as nothing."""


def _verdict(rows: Sequence[Row]) -> Text:
    claimed = [row for row in rows if row.kind != "gap"]
    held = [row for row in claimed if row.is_judged]
    missed = [row.id for row in held if not row.passes]
    verdict = Text(f"{len(held) - len(missed)} of {len(held)} rows within tolerance", "bold")
    if missed:
        verdict.append(f"; not {', '.join(missed)}", "bold red")
    if unjudged := len(claimed) - len(held):
        verdict.append(f"; {unjudged} without a published value")
    if gaps := len(rows) - len(claimed):
        verdict.append(f"; {gaps} not reproduced (gap)")
    return verdict


def stack(parts: Sequence[RenderableType]) -> RenderableType:
    """Several tables, one below the other."""
    return Group(*parts)
