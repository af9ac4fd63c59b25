"""The tables of an explanation: the shares of each flow, its limit in words, and what if."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import gigabytes, percent
from peerlane.results.explanation import (
    MOST_LIMITED_ALIKE,
    limited_alike,
    slowest,
    told,
    without_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from peerlane.results.explanation import Explanation, FlowExplanation, Value, WhatIf

_BAR = 20
"""Width of the bar of a share of 1."""

MOST_ALIKE = 4
"""Of flows that are alike the slowest is shown, where there are more."""


def explain(explanation: Explanation, *, each: bool = False) -> RenderableType:
    """The shares of each flow, its limit in words, and what comes when it is lifted.

    Of many that are alike the slowest is shown, but `each` shows all.
    """
    parts: list[RenderableType] = [Text(f"{explanation.name}: seed {explanation.seed}")]
    for alike in _groups(explanation.flows):
        if each or len(alike) <= MOST_ALIKE:
            for flow in alike:
                parts += ["", *_flow(flow)]
            continue
        shown = slowest(alike)
        parts += ["", *_flow(shown), _others(shown, alike)]
    return Group(*parts)


def _groups(flows: Iterable[FlowExplanation]) -> Iterable[list[FlowExplanation]]:
    """The flows that are alike, in the order of the first of each."""
    groups: dict[tuple[str, ...], list[FlowExplanation]] = {}
    for alike in limited_alike(flows):
        for flow in alike:
            is_one = len(alike) > MOST_LIMITED_ALIKE
            form = (without_numbers(flow.sentence),) if is_one else _form(flow)
            groups.setdefault(form, []).append(flow)
    return groups.values()


def _form(flow: FlowExplanation) -> tuple[str, ...]:
    """What alike flows have in common: all that is said in words, but for the numbers in it."""
    told_ = (flow.sentence, *(_what_if(one).plain for one in flow.what_if), *flow.not_lifted)
    return tuple(map(without_numbers, told_))


def _others(shown: FlowExplanation, alike: Sequence[FlowExplanation]) -> Text:
    others = [flow for flow in alike if flow is not shown]
    rates = [gigabytes(flow.bytes_per_second) for flow in sorted(others, key=_rate)]
    names = f"{others[0].id} to {others[-1].id}, {rates[0]} to {rates[-1]} GB/s"
    return Text(f"{len(others)} more are like {shown.id}: {names}; --all shows each", "dim")


def _rate(flow: FlowExplanation) -> float:
    return flow.bytes_per_second or 0.0


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
    table = Sheet("waits for", "where")
    table.add_column("direction")
    table.add_column("detail")
    table.numbers("share")
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
