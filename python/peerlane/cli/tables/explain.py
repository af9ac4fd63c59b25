"""The tables of an explanation: the shares of each flow, its limit in words, and what if."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.cells import blank, gigabytes, numbers
from peerlane.results.explanation import percent, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.cli.tables.sheet import Sheet
    from peerlane.results.explanation import Explanation, FlowExplanation, Value, WhatIf

_BAR = 20
"""Width of the bar of a share of 1."""


def explain(explanation: Explanation) -> RenderableType:
    """The shares of each flow, its limit in words, and what comes when it is lifted."""
    parts: list[RenderableType] = [Text(f"{explanation.name}: seed {explanation.seed}")]
    for flow in explanation.flows:
        parts += ["", *_flow(flow)]
    return Group(*parts)


def _flow(flow: FlowExplanation) -> Iterator[RenderableType]:
    yield Text(f"{flow.id}: {gigabytes(flow.bytes_per_second)} GB/s", "bold")
    if flow.shares:
        yield _shares(flow)
    yield Text(f"{flow.sentence}.")
    for one in flow.what_if:
        yield _what_if(one)
    for reason in flow.not_lifted:
        yield Text(f"not lifted: {reason}", "dim")


def _shares(flow: FlowExplanation) -> Sheet:
    table = blank("waits for", "where")
    table.add_column("direction")
    table.add_column("detail")
    numbers(table, "share")
    table.add_column("")
    table.fold("")
    for one in flow.shares:
        bar = "█" * round(_BAR * one.share)
        cells = (one.kind, one.where, one.direction or "", one.detail or "", percent(one.share))
        table.add_row(*cells, bar)
    return table


def _what_if(one: WhatIf) -> Text:
    rates = f"{gigabytes(one.rate_before)} -> {gigabytes(one.rate_after)} GB/s"
    change = f"{_value(one.source)} -> {_value(one.value)}"
    lift, _, others = one.lift.partition(", ")
    more = f" (and {others})" if others else ""
    after = f"the limit is then {told(one.next)}" if one.next else "too short to see the next limit"
    return Text(f"What if, found by a run: {lift} {change}{more}: {rates}; {after}.")


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "default" if value is None else str(value)
