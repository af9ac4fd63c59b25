"""The page of advice about GPUs: matrices of pairs, times of an all-reduce, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.charts.cells import cells
from peerlane.charts.chart import Chart
from peerlane.charts.lines import Axis, Line, lines
from peerlane.formats import size
from peerlane.report.page import Page, Section
from peerlane.report.table import Column, Table
from peerlane.report.table import Line as Row
from peerlane.report.words import NONE, duration, rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peerlane.report.page import Origin
    from peerlane.results.advice import Advice, Effect, Pair


def advice_page(found: Advice, origin: Origin) -> Page:
    """The page of advice.

    Args:
        found: The advice.
        origin: The origin of the page.
    """
    name = f"{origin.page_name(found.name)}-advice"
    fastest = ", ".join(f"{one.algorithm} from {size(one.least)}" for one in found.fastest)
    slowest = found.slowest.bytes_per_second if found.slowest else None
    return Page(
        name=name,
        title=f"{found.name}: pairs of devices and an all-reduce",
        what=f"Rates of {len(found.peers)} devices, and an all-reduce of {len(found.ranks)} GPUs.",
        figures=(("devices", str(len(found.peers))), ("slowest pair", rate(slowest))),
        sections=tuple(_sections(name, found)),
        origin=origin,
        verdict=f"Fastest: {fastest}." if fastest else f"There is no all-reduce: {found.obstacle}",
        failed=bool(found.failures),
    )


def _sections(name: str, found: Advice) -> Iterator[Section]:
    yield Section("Pairs", charts=(_matrices(name, found),))
    if found.all_reduces:
        yield Section("All-reduce", charts=(_times(name, found),))
    if found.effects:
        columns = ("all-reduce", "gain", "slowest pair", "gain")
        heads = (Column("what if"), *(Column(title, "number") for title in columns))
        rows = tuple(Row((one.words, *_effect(one))) for one in found.effects)
        caption = "Changes that gain or cost 1 % or more, each found by runs."
        yield Section("What would change it", tables=(Table(heads, rows, caption=caption),))


def _matrices(name: str, found: Advice) -> Chart:
    names = [one.name for one in found.peers]

    def matrix(number: Callable[[Pair], float | None], scale: float) -> list[list[float | None]]:
        values = {(one.source, one.target): number(one) for one in found.pairs}
        scaled = {pair: value / scale for pair, value in values.items() if value is not None}
        return [[scaled.get((row, column)) for column in names] for row in names]

    return Chart(
        name=f"{name}-pairs",
        caption="Rate and latency of writes of the device of the row to the device of the column.",
        text="Two matrices of all pairs of devices: the rate of writes, and their latency.",
        panels=(
            cells("Rate", names, matrix(lambda one: one.bytes_per_second, 1e9), "GB/s"),
            cells("Latency", names, matrix(lambda one: one.latency_ns, 1e3), "us"),
        ),
    )


def _times(name: str, found: Advice) -> Chart:
    drawn = [
        Line(way, [one.size for one in rows], [one.time_ns / 1e3 for one in rows])
        for way in dict.fromkeys(one.algorithm for one in found.all_reduces)
        for rows in [[one for one in found.all_reduces if one.algorithm == way]]
    ]
    most = max(one.size for one in found.all_reduces if not one.extrapolated)
    return Chart(
        name=f"{name}-all-reduce",
        caption=f"Time by size and algorithm; sizes above {size(most)} are extrapolated.",
        text="A line for each algorithm: the time of an all-reduce over the size of the vector.",
        panels=(lines("Time", drawn, Axis("size", "B"), Axis("time", "us", log=True)),),
    )


def _effect(one: Effect) -> tuple[str, str, str, str]:
    time = NONE if one.time_ns is None else duration(one.time_ns)
    pair = NONE if one.bytes_per_second is None else rate(one.bytes_per_second)
    return time, _gain(one.time_gain), pair, _gain(one.rate_gain)


def _gain(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"
