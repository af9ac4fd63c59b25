"""Explains the rates of flows: the bottlenecks, and the resources for which each flow waited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from peerlane.formats import percent
from peerlane.results import markup
from peerlane.results.bottleneck import (
    Bottleneck,
    Rates,
    form_of,
    joined,
)
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, encode
from peerlane.results.waits import OF_FLOW, OF_RECORDING, Cause, Share, told

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from peerlane.results.error_bar import ErrorBars

_MOST_NAMES = 3
"""The largest number of other workloads that a sentence names."""


_LOST = 0.05
"""If flows wait at least this share of their time for a link that is down or retrains, the
bottleneck mentions it."""


@dataclass(frozen=True, slots=True)
class FlowExplanation(Document):
    """The explanation of the rate of one flow, or of the bus bandwidth of one schedule.

    `shares` divide the time of the flow, from its start to its last request, by the causes of
    waits. The longest wait is first, and the shares add up to 1. `limit` is the cause that limits
    the rate. It is `None` if the flow was too short to be observed, or if nothing of the flow
    arrived for a long time before its end; in this second case, `silence` has a sentence about it.
    For a schedule, `section` is "schedules", and the shares divide its critical path; `limit` is
    one of the similar places at which most of the time passes.
    """

    id: str
    bytes_per_second: float | None
    limit: Cause | None
    shares: tuple[Share, ...]
    silence: str | None = None
    section: Literal["flows", "schedules"] = "flows"

    @property
    def limits(self) -> tuple[Cause, ...]:
        """The places that limit the rate: all similar places of a critical path, or one."""
        if self.limit is None:
            return ()
        if self.section == "flows":
            return (self.limit.place,)
        return tuple(sorted((share.cause.place for share in self._of_limit()), key=_by_number))

    @property
    def places(self) -> list[Share]:
        """The shares, in which similar places of a critical path are one entry."""
        if self.section == "flows":
            return list(self.shares)
        groups: dict[object, list[Share]] = {}
        for share in self.shares:
            groups.setdefault(form_of(share.cause), []).append(share)
        found = [
            replace(
                alike[0],
                where=joined([share.where for share in sorted(alike, key=_by_number)]),
                share=sum(share.share for share in alike),
            )
            for alike in groups.values()
        ]
        return sorted(found, key=lambda one: -one.share)

    @property
    def limit_share(self) -> float:
        """The share of the time that the flow waited for its limit.

        If packets of another workload limit the flow, the share includes the waits for packets of
        all other workloads on the same wire.
        """
        return sum(share.share for share in self._of_limit())

    def share_at(self, place: Cause) -> float:
        """The share of the time that the flow waited at a place, for packets of any workload."""
        return sum(share.share for share in self.shares if share.cause.place == place)

    @property
    def sentence(self) -> str:
        """A sentence about the limit of the flow."""
        if self.limit is None:
            return self.silence or f"{self.id} was too short to be seen"
        share, waits = self.waits
        return f"{self.id} waits {share} of its time for {waits}"

    @property
    def waits(self) -> tuple[str, str]:
        """Two texts: the share of the time that the flow waits for its limit, and the limit."""
        if self.limit is None:
            return "", self.silence or "too short to be seen"
        share = percent(self.limit_share)
        if self.section == "schedules":
            return share, told(self.places[0].cause)
        others = [share.cause.detail or "others" for share in self._of_limit()]
        limit = (
            replace(self.limit, detail=joined(sorted(others[:_MOST_NAMES]) + others[_MOST_NAMES:]))
            if len(others) > 1
            else self.limit
        )
        return share, told(limit)

    def _of_limit(self) -> list[Share]:
        """The entries of `shares` that belong to the limit of the flow."""
        if self.limit is not None and self.section == "schedules":
            alike = form_of(self.limit)
            return [share for share in self.shares if form_of(share.cause) == alike]
        if self.limit is None or self.limit.kind != "arbitration":
            return [share for share in self.shares if share.cause == self.limit]
        place = self.limit.where, self.limit.direction
        packets = (share for share in self.shares if share.kind == "arbitration")
        return [share for share in packets if (share.where, share.direction) == place]


@dataclass(frozen=True, slots=True)
class Explanation(Document):
    """The explanation of the rates of the flows of one run; `str` returns it in words.

    `bottlenecks` are the places where flows wait. The first is the place whose limit, if it is
    lifted, gains most. If the run failed, `failures` has the reasons, which may also have caused
    the waits.
    """

    name: str
    seed: int
    bottlenecks: Annotated[Collection[Bottleneck], By("where")]
    flows: Collection[FlowExplanation]
    failures: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """One line about the first bottleneck: its limit, and the changes that would lift it."""
        if self.bottlenecks:
            return self.bottlenecks[0].sentence
        if silent := [one.silence for one in self.flows if one.silence is not None]:
            return silent[0]
        return "All flows were too short to see what limits them."

    def with_error_bars(self, found: ErrorBars) -> Explanation:
        """The explanation with the error bar of the rate at each bottleneck."""
        barred = (
            replace(one, error_bar=found.of_flows(one.flows, one.section))
            for one in self.bottlenecks
        )
        return replace(self, bottlenecks=Collection(barred, key="where"))

    def to_json(self) -> dict[str, Any]:
        """The explanation as the command line writes it."""
        return encode(self)

    def __str__(self) -> str:
        places = [one.sentence for one in self.bottlenecks] or [self.sentence]
        return "\n".join([*places, *(line for flow in self.flows for line in _lines(flow))])

    def _repr_html_(self) -> str:
        """The explanation as a notebook shows it: bottlenecks, and the shares of each flow."""
        failures = [markup.line(failure, "wrong") for failure in self.failures]
        places = [one.html() for one in self.bottlenecks] or [markup.title(self.sentence)]
        return markup.page(*failures, *places, *(_marked_up(flow) for flow in self.flows))


def _by_number(place: Cause | Share) -> tuple[int, str]:
    """The key by which places whose names differ only in numbers are sorted."""
    return len(place.where), place.where


def bottlenecks(
    flows: Iterable[FlowExplanation], ends: Mapping[str, tuple[str, ...]], slow: Iterable[str] = ()
) -> list[Bottleneck]:
    """The places that limit flows; the place where flows could gain most is first.

    Places whose names differ only in numbers are one bottleneck. The wire of a device's own link
    comes last, because a device cannot be faster than its link. At a link of a device that is
    slower than necessary, half of the gain counts, because the link may be slow on purpose.

    Args:
        flows: The flows.
        ends: The two ends of each flow, by its id; none for a schedule.
        slow: The links of devices that are slower than necessary.
    """
    slow = set(slow)
    found = places(((place, one) for one in flows for place in one.limits), slow)
    return sorted(
        found,
        key=lambda one: (
            is_natural(one, ends, slow),
            not (one.kind == "wire" and one.detail),
            -_promise(one) * (0.5 if slow.intersection(one.where) else 1.0),
        ),
    )


def _promise(one: Bottleneck) -> float:
    """Estimates by how much flows could be faster at a place, in bytes a second.

    A flow that waits for tags or buffers moves no data during the wait. For these waits, the
    estimate is that a change makes flows at most twice as fast.
    """
    if one.kind in {"tags", "outstanding", "credit", "replay-buffer"}:
        return one.rates.total * min(one.share / max(1.0 - one.share, 0.01), 1.0)
    return one.rates.total * one.share


def places(
    waiting: Iterable[tuple[Cause, FlowExplanation]], slow: Container[str] = ()
) -> list[Bottleneck]:
    """The places where flows wait; similar places are one bottleneck.

    A place that is in `slow` is not similar to a place that is not. Flows and schedules that wait
    at one place are two bottlenecks.
    """
    groups: dict[tuple[object, ...], dict[Cause, list[FlowExplanation]]] = {}
    for place, flow in waiting:
        form = (*form_of(place), place.where in slow, flow.section)
        groups.setdefault(form, {}).setdefault(place, []).append(flow)
    return [_made(alike) for alike in groups.values()]


def _made(places: Mapping[Cause, Iterable[FlowExplanation]]) -> Bottleneck:
    """The bottleneck of flows that wait at similar places."""
    waiting = [(place, flow) for place, flows in places.items() for flow in flows]
    first, first_flow = waiting[0]
    known = {flow.id: flow for _, flow in waiting}
    lost = (
        share.detail
        for place, flow in waiting
        for share in flow.shares
        if share.kind == "wire" and share.cause.place == place and share.share >= _LOST
    )
    return Bottleneck(
        kind=first.kind,
        where=tuple(place.where for place in places),
        direction=first.direction,
        detail=next(filter(None, lost), first.detail),
        flows=tuple(known),
        section=first_flow.section,
        share=sum(flow.share_at(place) for place, flow in waiting) / len(known),
        rates=Rates.of(flow.bytes_per_second for flow in known.values()),
    )


def is_natural(one: Bottleneck, ends: Mapping[str, tuple[str, ...]], slow: Iterable[str]) -> bool:
    """Whether flows are as fast as their device permits, or as fast as their times permit.

    In these cases the limit is the wire of the device's own link, the device's flash, the
    `interval` of the flow, or the recorded times of its requests. It is never the case for a
    schedule, which has no ends.
    """
    if one.detail in {OF_FLOW, OF_RECORDING, "the flash"}:
        return True
    if one.kind != "wire" or one.detail or set(one.where) & set(slow):
        return False
    devices: list[tuple[str, ...]]
    if len(one.where) > 1 and len(one.flows) == len(one.where):
        devices = [*(ends[flow] for flow in one.flows)]  # each flow waits at another place
    else:
        requesters = {ends[flow][:1] for flow in one.flows}
        device = ends[one.flows[0]] if len(one.flows) == 1 else min(requesters)
        devices = [device if len(requesters) == 1 else ()] * len(one.where)
    return all(
        any(where.endswith(f"-{end}") for end in own)
        for where, own in zip(one.where, devices, strict=True)
    )


def _lines(flow: FlowExplanation) -> list[str]:
    lines = [flow.sentence]
    lines += [f"  {percent(share.share):>7}  {told(share.cause)}" for share in flow.places]
    return lines


def _marked_up(flow: FlowExplanation) -> str:
    """HTML of a flow: its limit in words, and a table of the causes of its waits."""
    rows = [
        "<tr>"
        f'<td class="number">{percent(share.share)}</td><td>{markup.bar(share.share)}</td>'
        f"<td>{markup.escape(told(share.cause))}</td></tr>"
        for share in flow.places
    ]
    return "".join((markup.title(flow.sentence), f"<table>{''.join(rows)}</table>"))
