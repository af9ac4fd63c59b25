"""Makes the screen of `peerlane top`: the activity of flows and links between two readings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import amount, duration, gigabytes, size, wall_time
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from peerlane import RunResult, Simulation
    from peerlane.results.wires import FibreWire, LinkWire, Wires
    from peerlane.results.workload import WorkloadResult

Wire = TypeVar("Wire")

BAR = 10
"""The width of a full bar in characters."""

WIDEN = "widen the terminal"

HEAD = 5
"""The lines that a table needs besides its rows: two of headings, a rule, a note, an empty line."""


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of a simulation, read at one time."""

    result: RunResult
    wires: Wires
    share: float = 0.0
    over: bool = False
    wall_s: float = field(default_factory=time.monotonic)

    @classmethod
    def at(cls, simulation: Simulation, share: float = 0.0, *, over: bool = False) -> Look:
        """Reads the counters; `share` of the run is done, and all of it if `over` is set."""
        return cls(simulation.result(), simulation.wires(), share, over)

    @property
    def ns(self) -> float:
        """The simulated time."""
        return self.result.simulated_ns


def frame(name: str, looks: tuple[Look, Look, Look], height: int) -> RenderableType:
    """The screen, from the first, the previous and the present reading of the counters.

    After the end of the run, the tables have the activity of the whole run.
    """
    first, before, now = looks
    if now.over:
        before = first
    tables = [
        (_flows, len(now.result.flows)),
        (_traffic, len(now.result.traffic)),
        (_work, len(_done(now.result))),
        (_links, len(now.wires.links)),
        (_fibres, len(now.wires.fibres)),
    ]
    shown = [(table, count) for table, count in tables if count]
    rows = _shared(height - 2 - HEAD * len(shown), [count for _, count in shown])
    parts = [table(before, now, most) for (table, _), most in zip(shown, rows, strict=True)]
    return Group(_head(name, looks), "", *parts)


def _shared(rows: int, wanted: list[int]) -> list[int]:
    """Divides rows equally among tables, but at least one and at most the number wanted to each."""
    given = [1] * len(wanted)
    while sum(given) < rows and (less := [n for n, most in enumerate(wanted) if given[n] < most]):
        given[min(less, key=given.__getitem__)] += 1
    return given


def _head(name: str, looks: tuple[Look, Look, Look]) -> Text:
    first, before, now = looks
    text = Text.assemble((name, "bold"), f": {duration(now.ns)} simulated, ")
    if now.over:
        return text.append("ended; rates of the whole run")
    pace = (now.ns - before.ns) / max(now.wall_s - before.wall_s, 1e-9)
    text.append(f"{100 * now.share:.0f} % done, {duration(pace)} a second")
    if now.share > 0:
        left_s = (now.wall_s - first.wall_s) * (1 - now.share) / now.share
        text.append(f", {wall_time(left_s)} left")
    return text


def _flows(before: Look, now: Look, most: int) -> Sheet:
    table = Sheet("flow", "from", "to", advice=WIDEN)
    table.numbers("GB/s", "arrived", "latency p50", "p99")
    table.add_column("state")
    table.fold("p99", "latency p50", "arrived")
    span = now.ns - before.ns
    pairs = zip(before.result.flows, now.result.flows, strict=True)
    rows = [(_rate(new.bytes - old.bytes, span), new) for old, new in pairs]
    busiest = rows if len(rows) <= most else sorted(rows, key=lambda row: -(row[0] or 0.0))
    for rate, flow in islice(busiest, most):
        latency = flow.latency_ns
        state = "done" if flow.completed else "moving" if rate else "waiting"
        table.add_row(
            flow.id,
            flow.source,
            flow.target,
            gigabytes(rate),
            size(flow.bytes),
            duration(latency.p50 if latency else None),
            duration(latency.p99 if latency else None),
            state,
        )
    return table


def _traffic(before: Look, now: Look, most: int) -> Sheet:
    table = Sheet("traffic", "network", advice=WIDEN)
    table.numbers("GB/s a node", "offered", "arrived", "latency p50", "p99")
    table.fold("p99", "arrived")
    span = now.ns - before.ns
    pairs = zip(before.result.traffic, now.result.traffic, strict=True)
    for old, new in islice(pairs, most):
        rate = _rate(new.bytes - old.bytes, span)
        latency = new.latency_ns
        table.add_row(
            new.id,
            new.network,
            gigabytes(None if rate is None else rate / new.nodes),
            gigabytes(new.offered_bytes_per_second),
            size(new.bytes),
            duration(latency.p50 if latency else None),
            duration(latency.p99 if latency else None),
        )
    return table


def _work(before: Look, now: Look, most: int) -> Sheet:
    table = Sheet("workload", "by", advice=WIDEN)
    table.add_column("kind")
    table.numbers("done", "a second", "GB/s")
    span = now.ns - before.ns
    pairs = zip(_done(before.result), _done(now.result), strict=True)
    for (*_, old), (kind, one, new) in islice(pairs, most):
        rate = _rate(new - old, span)
        names = (one.id, str(one.COLUMNS[0].value(one)))
        if one.DONE.endswith("bytes"):
            table.add_row(*names, kind, size(new), "", gigabytes(rate))
        else:
            table.add_row(*names, kind, amount(new), amount(rate), "")
    return table


def _done(result: RunResult) -> list[tuple[str, WorkloadResult, int]]:
    """Workloads that are no flows and no traffic: the kind, the result, and its count or bytes."""
    return [
        (LISTS[name], one, getattr(one, one.DONE))
        for name, rows in result.workloads.items()
        if name not in {"flows", "traffic"}
        for one in rows
    ]


def _links(before: Look, now: Look, most: int) -> Sheet:
    table = Sheet("link", advice=WIDEN)
    table.add_column("direction")
    table.add_column("used")
    table.numbers("%", "GB/s", "stalled %", "replays", "waiting")
    table.fold("used", "replays", "GB/s")
    pairs = zip(before.wires.links, now.wires.links, strict=True)
    rows = [(_moved(old, new, now.ns - before.ns), new) for old, new in pairs]
    for moved, link in _busiest(rows, most):
        waiting = "" if link.waiting_tlps is None else str(link.waiting_tlps)
        table.add_row(link.id, link.direction, *moved.cells(), waiting)
    return table


def _fibres(before: Look, now: Look, most: int) -> Sheet:
    table = Sheet("fibre", "from", "to", advice=WIDEN)
    table.add_column("used")
    table.numbers("%", "GB/s", "stalled %", "replays")
    table.fold("used", "replays", "GB/s")
    pairs = zip(before.wires.fibres, now.wires.fibres, strict=True)
    rows = [(_moved(old, new, now.ns - before.ns), new) for old, new in pairs]
    for moved, fibre in _busiest(rows, most):
        table.add_row(fibre.id, fibre.source, fibre.target, *moved.cells())
    return table


@dataclass(frozen=True, slots=True)
class _Moved:
    """The traffic of one direction of a wire between two readings; shares are 0 to 1."""

    used: float
    payload_per_second: float | None
    stalled: float
    replays: int

    def cells(self) -> list[str | Text]:
        full = round(BAR * min(self.used, 1.0))
        bar = Text.assemble(("\u2588" * full, "green"), ("\u2591" * (BAR - full), "dim"))
        rate = gigabytes(self.payload_per_second)
        return [
            bar,
            f"{100 * self.used:.1f}",
            rate,
            f"{100 * self.stalled:.1f}",
            str(self.replays),
        ]


def _moved(old: LinkWire | FibreWire, new: LinkWire | FibreWire, span_ns: float) -> _Moved:
    """The changes of the counters between two readings, and the rates in this simulated time."""
    share = 1 / span_ns if span_ns > 0 else 0.0
    return _Moved(
        used=(new.busy_ns - old.busy_ns) * share,
        payload_per_second=_rate(new.payload_bytes - old.payload_bytes, span_ns),
        stalled=(new.credit_stall_ns - old.credit_stall_ns) * share,
        replays=new.replays,
    )


def _busiest(rows: list[tuple[_Moved, Wire]], most: int) -> list[tuple[_Moved, Wire]]:
    """All rows in their order, or only the `most` busiest rows if there are more."""
    if len(rows) <= most:
        return rows
    return sorted(rows, key=lambda row: -row[0].used)[:most]


def _rate(amount: int, span_ns: float) -> float | None:
    """A rate in bytes a second; `None` if no simulated time has passed."""
    return amount / span_ns * 1e9 if span_ns > 0 else None
