"""Why flows are as fast as they are: what each waited for, its limit, and what comes next."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from peerlane.formats import percent
from peerlane.results import markup
from peerlane.results.collection import Collection
from peerlane.results.document import Document, encode, renamed
from peerlane.results.waits import Cause, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST_LIMITED_ALIKE = 16
"""Of more flows with the same limit the slowest stands for all, unless each is asked for."""

_NUMBER = re.compile(r"\d+(\.\d+)?")

Value = str | int | float | bool | None

_MOST_NAMES = 3
"""Other workloads that a sentence names."""


@dataclass(frozen=True, slots=True)
class WhatIf(Document):
    """One limit lifted, found by a run of its own.

    `lift` is the path of the key that was changed, as `Fabric.override` takes it; several are
    joined by ", ", and then `source` and `value` are of the first. `source` is its value
    before, `None` if the scenario leaves it to the simulator, and `value` the one of the run. Rates
    are in bytes a second. `next` is what then limits the flow, `None` if that was too short to be
    seen.
    """

    __pydantic_config__ = renamed(source="from", value="to")

    lift: str
    source: Value
    value: Value
    rate_before: float | None
    rate_after: float | None
    next: Cause | None


@dataclass(frozen=True, slots=True)
class FlowExplanation(Document):
    """Why one flow is as fast as it is.

    `shares` divide its time, from its start to its last request, by what it waited for, the longest
    first; they add up to 1. `limit` is what limits its rate; `None` if the flow was too short to
    be seen. `amount` is how much there is of what limits it, such as tags, where a key says so.
    `what_if` is empty unless runs were made for it; `not_lifted` says why a key was not.
    """

    id: str
    bytes_per_second: float | None
    limit: Cause | None
    shares: tuple[Share, ...]
    amount: Value = None
    what_if: tuple[WhatIf, ...] = ()
    not_lifted: tuple[str, ...] = ()

    @property
    def limit_share(self) -> float:
        """The share of the time that the flow waited for its limit.

        Where packets of others are the limit, packets of all others there count.
        """
        return sum(share.share for share in self._of_limit())

    @property
    def sentence(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return f"{self.id} was too short to be seen"
        there = "" if self.amount is None else f" ({self.amount})"
        share = percent(self.limit_share)
        others = [share.cause.detail or "others" for share in self._of_limit()]
        limit = replace(self.limit, detail=_joined(others)) if len(others) > 1 else self.limit
        return f"{self.id} waits {share} of its time for {told(limit)}{there}"

    def _of_limit(self) -> list[Share]:
        """The shares of what limits the flow."""
        if self.limit is None or self.limit.kind != "arbitration":
            return [share for share in self.shares if share.cause == self.limit]
        place = self.limit.where, self.limit.direction
        alike = (share for share in self.shares if share.kind == "arbitration")
        return [share for share in alike if (share.where, share.direction) == place]


@dataclass(frozen=True, slots=True)
class Explanation(Document):
    """Why the flows of one run are as fast as they are; `str` has it in words.

    `failures` are the reasons why this run failed, if it did, and its waits may be due to that.
    """

    name: str
    seed: int
    flows: Collection[FlowExplanation]
    failures: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The explanation as the command line writes it."""
        return encode(self)

    def __str__(self) -> str:
        return "\n".join(line for flow in self.flows for line in _lines(flow))

    def _repr_html_(self) -> str:
        """The explanation as a notebook shows it: the shares of each flow as bars."""
        failures = [markup.line(failure, "wrong") for failure in self.failures]
        return markup.page(*failures, *(_marked_up(flow) for flow in self.flows))


def _lines(flow: FlowExplanation) -> list[str]:
    lines = [flow.sentence]
    lines += [f"  {percent(share.share):>7}  {told(share.cause)}" for share in flow.shares]
    return lines


def _marked_up(flow: FlowExplanation) -> str:
    """A flow's limit in words, what it waited for, and what comes when its limit is lifted."""
    rows = [
        "<tr>"
        f'<td class="number">{percent(share.share)}</td><td>{markup.bar(share.share)}</td>'
        f"<td>{markup.escape(told(share.cause))}</td></tr>"
        for share in flow.shares
    ]
    lifted = [markup.line(f"What if, found by a run: {_lifted(one)}") for one in flow.what_if]
    kept = [markup.line(f"not lifted: {reason}", "less") for reason in flow.not_lifted]
    return "".join((markup.title(flow.sentence), f"<table>{''.join(rows)}</table>", *lifted, *kept))


def _lifted(one: WhatIf) -> str:
    rates = [
        markup.said("bytes_per_second", rate) or "-" for rate in (one.rate_before, one.rate_after)
    ]
    before = "default" if one.source is None else one.source
    after = f"the limit is then {told(one.next)}" if one.next else "too short to see the next limit"
    return f"{one.lift} {before} -> {one.value}: {' -> '.join(rates)}; {after}"


def _joined(names: Sequence[str]) -> str:
    """Names in words, the first few of many, in an order that does not depend on the shares."""
    shown = sorted(names[:_MOST_NAMES])
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def without_numbers(words: str) -> str:
    """Words that are the same for flows that are alike."""
    return _NUMBER.sub("#", words)


def limited_alike(flows: Iterable[FlowExplanation]) -> list[list[FlowExplanation]]:
    """The flows that have the same limit, but for numbers, in the order of the first of each."""
    groups: dict[str, list[FlowExplanation]] = {}
    for flow in flows:
        groups.setdefault(without_numbers(flow.sentence), []).append(flow)
    return list(groups.values())


def slowest(flows: Iterable[FlowExplanation]) -> FlowExplanation:
    """The first flow of the lowest rate."""
    return min(flows, key=lambda flow: flow.bytes_per_second or 0.0)


def told(cause: Cause) -> str:
    """A cause in words."""
    return _WORDS[cause.kind](cause)


def _on(cause: Cause) -> str:
    """The direction of a link or of a connection between sockets."""
    return f"{cause.where} {cause.direction}" if cause.direction else cause.where


_WORDS: dict[str, Callable[[Cause], str]] = {
    "wire": lambda cause: (
        f"{_on(cause)} ({cause.detail})"
        if cause.detail
        else f"its own packets on the wire of {_on(cause)}"
    ),
    "credit": lambda cause: f"credit of {cause.detail or 'packets'} on {_on(cause)}",
    "tags": lambda cause: f"tags of {cause.where}",
    "outstanding": lambda cause: f"outstanding bytes or requests of {cause.where}",
    "replay-buffer": lambda cause: f"space in the replay buffer of {_on(cause)}",
    "datapath": lambda cause: (
        f"{cause.where}, which {cause.detail}"
        if cause.detail
        else f"the datapath or the pace of {cause.where}"
    ),
    "memory": lambda cause: f"{cause.detail or 'the memory'} of {cause.where}",
    "socket": lambda cause: f"the connection of sockets {_on(cause)}",
    "arbitration": lambda cause: f"packets of {cause.detail or 'others'} on {_on(cause)}",
    "software": lambda cause: f"the software of {cause.where}",
    "other": lambda _: "something that the probe does not know",
}
