"""Makes the table of a sweep of loads: a row for each load, and the saturation throughput."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import duration, gigabytes, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.network.sweep import LoadSweep


def sweep(outcome: LoadSweep) -> RenderableType:
    """A row for each load, the saturation throughput, and the bounds."""
    rows = Sheet()
    rows.numbers("offered GB/s", "accepted", "fairness", "latency mean", "p50", "p99")
    rows.add_column("")
    rows.fold("p50", "fairness", "p99")
    for point in outcome.points:
        latency = point.latency_ns
        times = (latency.mean, latency.p50, latency.p99) if latency else (None, None, None)
        rows.add_row(
            gigabytes(point.offered_bytes_per_second),
            gigabytes(point.accepted_bytes_per_second),
            number(point.fairness),
            *map(duration, times),
            Text("saturated", style="red") if point.saturated else "",
        )
    title = (
        f"{outcome.name}: {outcome.traffic}, {outcome.pattern} traffic through {outcome.network}"
    )
    return Group(Text(title, style="bold"), rows, *_verdict_of(outcome))


def _verdict_of(outcome: LoadSweep) -> Iterator[Text]:
    most, limits = outcome.saturation_bytes_per_second, outcome.bounds
    share = f"{100 * most / limits.least:.1f} % of the {limits.binding} bound"
    if outcome.is_saturated:
        yield Text(f"saturation throughput: {gigabytes(most)} GB/s a node, {share}", "bold")
    else:
        what = f"not saturated: all loads were accepted, up to {gigabytes(most)} GB/s a node"
        yield Text(f"{what}, {share}", "bold")
    known = {name: rate for name, rate in asdict(limits).items() if rate is not None}
    each = [f"{name} {gigabytes(rate)}" for name, rate in known.items()]
    yield Text(f"bounds, GB/s a node: {', '.join(each)}; the {limits.binding} bound binds")
    if lost := sum(point.lost for point in outcome.points):
        yield Text(f"{lost} packets were lost", "bold red")
