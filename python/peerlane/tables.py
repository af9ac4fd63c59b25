"""The tables that the command line prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as RichTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.reproduce import Report, Row
    from peerlane.results import FlowResult, LinkResult, RunResult
    from peerlane.tree import Node, Tree

_RATE = {1: "2.5", 2: "5", 3: "8", 4: "16", 5: "32"}
_STYLE = {True: "green", False: "bold red"}


def run(result: RunResult) -> RenderableType:
    """What a run measured: its flows, then its links."""
    steady = any(flow.steady_bytes_per_second is not None for flow in result.flows)
    called = any(flow.called_ns is not None for flow in result.flows)
    flows = _table("flow", "from", "to", "direction")
    _numbers(flows, "bytes", "GB/s", "MiB/s", *["steady GB/s"] * steady)
    _numbers(flows, "latency p50", "p99", "max", *["call"] * called)
    flows.add_column("data")
    for flow in result.flows:
        cells = [*_flow(flow, steady=steady), *[duration(flow.call_ns)] * called]
        flows.add_row(*cells, _data(flow, lost=bool(result.errors)))
    links = _table("link", "direction")
    _numbers(links, "used", "payload", "overhead", "DLLPs", "ordered sets", "replays", "stalled")
    for link in result.links:
        links.add_row(*_link(link))
    head = Text(f"{result.name}: {duration(result.simulated_ns)} simulated, seed {result.seed}")
    return Group(head, flows, links)


def tree(fabric: Tree) -> RenderableType:
    """The fabric as a tree, with widths, rates, payload sizes and addresses."""
    root = RichTree(Text(fabric.name, style="bold"), guide_style="dim")
    for node in fabric.nodes:
        if node.upstream is None:
            _branch(root, fabric, node)
    return root


def report(outcome: Report) -> RenderableType:
    """A system's rows, its calibration, and the verdict."""
    rows = _table("row", "what")
    _numbers(rows, "published", "simulated")
    rows.add_column("unit")
    _numbers(rows, "error", "within")
    rows.add_column("kind")
    sensitive = any(row.sensitivity for row in outcome.rows)
    if sensitive:
        rows.add_column("most sensitive to (10 % more)")
    for row in outcome.rows:
        rows.add_row(*_row(row), *[_sensitivity(row)] * sensitive)
    parts: list[RenderableType] = [Text(f"{outcome.system}: {outcome.title}", style="bold"), rows]
    if outcome.calibration:
        fitted = _table("calibrated", "value", "meaning", "from")
        for entry in outcome.calibration:
            unit = "" if entry.unit == "1" else f" {entry.unit}"
            value = number(entry.value) + unit
            fitted.add_row(entry.name, value, entry.meaning, entry.origin)
        parts.append(fitted)
    return Group(*parts, _verdict(outcome.rows))


def bench(runs: Sequence[Mapping[str, Any]], peers: Mapping[str, Mapping[str, Any]]) -> Table:
    """Packets a second, and what one packet costs, for each number of endpoints and each peer."""
    table = _table("simulator")
    _numbers(table, "endpoints", "TLPs", "wall time", "TLP/s", "ns/TLP", "events/s", "peak memory")
    for run_ in runs:
        table.add_row(*_bench("peerlane", run_))
    for name, peer in peers.items():
        table.add_row(*_bench(name, peer))
    return table


def catalogue(title: str, entries: Iterable[Mapping[str, Any]], *columns: str) -> Table:
    """One line for each entry, in the given columns."""
    table = _table(*columns)
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


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _numbers(table: Table, *columns: str) -> None:
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)


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


def _data(flow: FlowResult, *, lost: bool) -> Text:
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


def _branch(above: RichTree, fabric: Tree, node: Node) -> None:
    label = Text.assemble((node.name, "bold"), f"  {node.model or node.kind} {node.id}")
    if link := node.upstream:
        rate = _RATE.get(link.generation, "?")
        socket = "" if link.socket is None else f" of socket {link.socket}"
        label.append(
            f"  port {link.port}{socket}, x{link.lanes} Gen{link.generation} ({rate} GT/s)", "cyan"
        )
    label.append(f"  MPS {node.max_payload}")
    if node.max_read_request is not None:
        label.append(f"  MRRS {node.max_read_request}")
    for region in node.regions:
        where = f"{region.base:#x}..{region.last:#x}"
        label.append(f"\n{region.what} {where} ({size(region.size)})", "dim")
    branch = above.add(label)
    for below in fabric.below(node.name):
        _branch(branch, fabric, below)


def _row(row: Row) -> list[RenderableType]:
    published = number(row.published)
    if row.published_range is not None:
        published = "..".join(map(number, row.published_range))
    error = "-" if row.error_percent is None else f"{row.error_percent:+.2f} %"
    within = "-" if row.kind == "gap" else f"{number(row.tolerance_percent)} %"
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


def _bench(name: str, run_: Mapping[str, Any]) -> list[str]:
    rate = run_["tlp_per_second"]
    events = run_.get("events_per_second")
    return [
        name,
        str(run_.get("endpoints", 1)),
        f"{run_['tlps']:,}",
        duration(run_["wall_seconds"] * 1e9),
        f"{rate:,.0f}",
        f"{1e9 / rate:,.0f}",
        "-" if events is None else f"{events:,.0f}",
        size(run_.get("peak_bytes")),
    ]


def stack(parts: Sequence[RenderableType]) -> RenderableType:
    """Several tables, one below the other."""
    return Group(*parts)
