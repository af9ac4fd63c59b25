"""Makes the tables of `peerlane explain`: a sentence, bottlenecks with changes that help, flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import gigabytes, percent
from peerlane.results.bottleneck import said, without_numbers
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.results.bottleneck import Bottleneck
    from peerlane.results.explanation import Explanation, FlowExplanation

_BAR = 20
"""The width of a bar for a share of 100 %, in characters."""

_WHOLE = 0.95
"""If the limit takes at least this share of each flow's time, other waits are not shown."""

_MOST_KEYS = 100
"""The most keys of one change, if all keys are to be shown."""

MOST_ALIKE = 4
"""If more flows than this number are alike, only the slowest flow is shown."""


def explain(
    explanation: Explanation, *, each: bool = False, shares: bool = False
) -> RenderableType:
    """The sentence of the fabric, its bottlenecks, and the flows.

    If many flows are alike, only the slowest flow is shown, unless `each` is set. All waits of a
    flow are shown if `each` or `shares` is set, or if there is a single flow.
    """
    parts: list[RenderableType] = [Text(explanation.sentence, "bold"), ""]
    parts += [Text(f"{explanation.name}: seed {explanation.seed}"), ""]
    for number, one in enumerate(explanation.bottlenecks):
        parts += [Text(one.sentence, "bold"), ""] if number else []
        parts += _bottleneck(one, each=each)
    flows = explanation.flows
    if each or shares or len(flows) == 1:
        parts += [part for flow in flows for part in _shares(flow)]
    else:
        for section in ("flows", "schedules"):
            parts += _flows([flow for flow in flows if flow.section == section], LISTS[section])
    return Group(*parts)


def _bottleneck(one: Bottleneck, *, each: bool) -> Iterator[RenderableType]:
    """The changes that help at a bottleneck, and changes without gain; `each` shows all keys."""
    rows = list(said(one, *[_MOST_KEYS] * each))
    if len(rows) > 1:
        table = Sheet("what if", advice="widen the terminal or use --json")
        table.numbers("GB/s", *["GB/s each"] * (len(one.flows) > 1))
        table.add_column("then", "prose")
        for way, total, rates, then in rows:
            rate = "" if total is None else gigabytes(total)
            table.add_row(way, rate, *[rates] * (len(one.flows) > 1), then)
        yield table
    yield from (Text(line, "dim") for line in one.in_vain)
    if one.in_vain:
        yield ""


def _flows(flows: Sequence[FlowExplanation], noun: str) -> Iterator[RenderableType]:
    """A row for each flow; of many flows that are alike, only the slowest has a row."""
    if not flows:
        return
    groups: dict[str, list[FlowExplanation]] = {}
    for flow in flows:
        groups.setdefault(without_numbers(flow.sentence), []).append(flow)
    table = Sheet(noun)
    table.numbers("GB/s" if noun == LISTS["flows"] else "bus GB/s", "share")
    table.add_column("waits for", "prose")
    lines = []
    for alike in groups.values():
        shown = alike
        if len(alike) > MOST_ALIKE:
            slowest = min(alike, key=_rate)
            shown = [slowest]
            lines += [_others(slowest, alike)]
        for flow in shown:
            share, waits = flow.waits
            table.add_row(flow.id, gigabytes(flow.bytes_per_second), share, waits)
    yield table
    yield from lines
    if any(flow.shares[0].share < _WHOLE for flow in flows if flow.shares):
        yield Text("the share is that of the limit alone; --all has the other waits, too", "dim")


def _others(shown: FlowExplanation, alike: Sequence[FlowExplanation]) -> Text:
    others = [flow for flow in alike if flow is not shown]
    rates = [gigabytes(flow.bytes_per_second) for flow in sorted(others, key=_rate)]
    names = f"{others[0].id} to {others[-1].id}, {rates[0]} to {rates[-1]} GB/s"
    return Text(f"{len(others)} more are like {shown.id}: {names}; --all shows each", "dim")


def _rate(flow: FlowExplanation) -> float:
    return flow.bytes_per_second or 0.0


def _shares(flow: FlowExplanation) -> Iterator[RenderableType]:
    """The shares of all waits of a flow, as text."""
    of_schedule = "bus bandwidth " * (flow.section == "schedules")
    yield Text(f"{flow.id}: {of_schedule}{gigabytes(flow.bytes_per_second)} GB/s", "bold")
    if flow.shares:
        table = Sheet("waits for", "where")
        table.add_column("direction")
        table.add_column("detail")
        table.numbers("share")
        table.add_column("")
        table.fold("")
        for one in flow.places:
            bar = "█" * round(_BAR * one.share)
            cells = (one.kind, one.where, one.direction or "", one.detail or "", percent(one.share))
            table.add_row(*cells, bar)
        yield table
