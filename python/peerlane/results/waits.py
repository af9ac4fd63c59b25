"""The waits of flows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from peerlane.formats import percent
from peerlane.results.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from peerlane.results.flows import FlowResult, LinkResult

Kind = Literal[
    "wire",
    "credit",
    "tags",
    "outstanding",
    "replay-buffer",
    "datapath",
    "memory",
    "socket",
    "arbitration",
    "software",
    "latency",
    "other",
]


@dataclass(frozen=True, slots=True)
class Cause(Document):
    """A cause of a flow's wait.

    `where` is a link or a fibre, a node, or the connection of two sockets of a host ("h.0-1");
    `direction` is the direction of the link, the fibre or the connection. The `detail` of credit is
    its class, with headers or data ("posted headers"). The `detail` of arbitration is the other
    workload, and the `detail` of memory is "address translation" for page walks or "the flash" of a
    drive.
    """

    kind: Kind
    where: str
    direction: str | None
    detail: str | None

    @property
    def place(self) -> Cause:
        """The cause with one place for all workloads that wait in it, such as all on one wire."""
        if self.kind in {"wire", "arbitration"}:
            return Cause("wire", self.where, self.direction, None)
        return self


@dataclass(frozen=True, slots=True)
class Share(Document):
    """The share of a flow's time that it waited for one cause, 0 to 1."""

    kind: Kind
    where: str
    direction: str | None
    detail: str | None
    share: float

    @property
    def cause(self) -> Cause:
        """The cause of the wait."""
        return Cause(self.kind, self.where, self.direction, self.detail)


@dataclass(frozen=True, slots=True)
class FlowWaits(Document):
    """The time of one flow, from its start to its last request, by what it waited for.

    `limit` is the limit of the rate; it is `None` if the flow was too short to be observed. A flow
    that waits for credit, tags, outstanding bytes, acknowledgements or its own engine for a part of
    its time is limited by this wait, even if its packets are on a wire for most of the time.
    `shares` add up to 1; the longest is first.
    """

    id: str
    limit: Cause | None
    shares: tuple[Share, ...]

    def judged(self, used: Used) -> FlowWaits:
        """The waits without waits hidden by a full wire, and with the time lost by errors of links.

        If a wire on the way of a flow is full, waits for buffers and memory are counted for the
        wire, because a faster buffer or memory would not help. If several wires are full, the wire
        of the flow's own device is the limit if no other flow uses it, because the flow alone would
        be no faster; otherwise the wire for which the flow waits most. A wire that was never full
        is no limit if the flow also waits for another cause. A flow that waits only for the wires
        of an idle link was too short to be observed.
        """
        limit = self.limit
        if limit is None or limit.kind not in _HIDDEN:
            return self
        here = limit.where, limit.direction or ""
        places = [share.cause.place for share in self.shares]
        wires = [(one.where, one.direction or "") for one in places if one.kind == "wire"]
        is_down = limit.kind == "wire" and limit.detail is not None
        if limit.kind in _WIRES and not is_down and here in used.never:
            others = [one for one in self.shares if one.kind not in _WIRES]
            found = next((one for one in others if one.kind not in _NO_LIMITS), None)
            if found is not None and found.share >= _LEAST:
                return FlowWaits(self.id, found.cause, self.shares)
            if here in used.idle and sum(one.share for one in others) < _LEAST:
                return FlowWaits(self.id, None, self.shares)
        own = [way for way in used.own.get(self.id, ()) if way in used.full]
        full = [way for way in (here, *wires) if way in used.full]
        found_at = next(iter((*own, *full)), here)
        detail = used.lost.get(found_at)
        there = Cause("wire", *found_at, None)
        if not detail and (there == limit.place or found_at not in used.full):
            return self
        at_wire = (share.cause for share in self.shares if share.cause.place == there)
        cause = replace(there, detail=detail) if detail else next(at_wire, there)
        times: dict[Cause, float] = {}
        for share in self.shares:
            is_there = share.cause.place == limit.place or (detail and share.cause == there)
            is_down = share.kind == "wire" and share.detail is not None
            now = cause if is_there and not is_down else share.cause
            times[now] = times.get(now, 0.0) + share.share
        longest = sorted(times.items(), key=lambda one: -one[1])
        shares = (
            Share(one.kind, one.where, one.direction, one.detail, time) for one, time in longest
        )
        return FlowWaits(self.id, cause, tuple(shares))


_HIDDEN = {"wire", "arbitration", "credit", "replay-buffer", "memory"}
"""The limits that a full wire may hide."""

_WIRES = {"wire", "arbitration"}
_NO_LIMITS = {"latency", "software", "other"}
"""The waits that never replace a wire as the limit."""

_IDLE = 0.2
"""The share of the time in use below which the wires of a link limit nothing."""

_FULL = 0.98
"""The share of the time in use above which a link's wire is the only limit of its packets."""

PEER_PATH = "the path between root ports"
"""The detail of a datapath that the packets between two root ports share."""

_LEAST = 0.05
"""The least share of a flow's time for which it waits for a limit other than a wire."""

_OWN = 0.75
"""The part of the data on a wire from which on the wire counts as used by one flow alone."""

_LOST = 0.05
"""The share of a link's bytes from which on the loss by errors is mentioned."""


@dataclass(frozen=True, slots=True)
class Used:
    """The use of the links of a run: links that were full, and links that sent packets again.

    `never` are links that were full at no time, and `idle` are links with little use. `own` has,
    for each flow, the wires of the devices at its ends that its data crosses, if other flows have
    only little data there.
    """

    full: frozenset[tuple[str, str]]
    lost: Mapping[tuple[str, str], str]
    own: Mapping[str, Sequence[tuple[str, str]]]
    never: frozenset[tuple[str, str]]
    idle: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, links: Iterable[LinkResult], flows: Sequence[FlowResult]) -> Used:
        """The use of links in a run, and the wires of flows."""
        full: set[tuple[str, str]] = set()
        never: set[tuple[str, str]] = set()
        idle: set[tuple[str, str]] = set()
        lost: dict[tuple[str, str], str] = {}
        wires: dict[str, list[tuple[str, str]]] = {}
        data: dict[tuple[str, str], int] = {}
        names = {end for flow in flows for end in (flow.source, flow.target)}
        for link in links:
            wire = link.id, link.direction
            sent = link.payload_bytes + link.overhead_bytes
            if link.utilisation >= _FULL:
                full.add(wire)
            elif link.full == 0.0:
                never.add(wire)
            if link.utilisation < _IDLE:
                idle.add(wire)
            data[wire] = link.payload_bytes
            if sent and link.replayed_bytes >= _LOST * sent:
                lost[wire] = f"{percent(link.replayed_bytes / sent)} of its bytes are sent again"
            ends = [name for name in names if link.id.endswith(f"-{name}")]
            if ends:
                wires.setdefault(max(ends, key=len), []).append(wire)
        own = {
            flow.id: [
                wire
                for end, way in ((flow.source, "up"), (flow.target, "down"))
                for wire in wires.get(end, ())
                if flow.direction not in {"write", "read"}
                or (wire[1] == way) == (flow.direction == "write")
                if flow.bytes >= _OWN * data[wire]
            ]
            for flow in flows
        }
        return cls(frozenset(full), lost, own, frozenset(never), frozenset(idle))


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
        if cause.detail and cause.detail != PEER_PATH
        else f"{cause.detail or 'the datapath or the pace'} of {cause.where}"
    ),
    "memory": lambda cause: f"{cause.detail or 'the memory'} of {cause.where}",
    "socket": lambda cause: f"the connection of sockets {_on(cause)}",
    "arbitration": lambda cause: f"packets of {cause.detail or 'others'} on {_on(cause)}",
    "software": lambda cause: f"the software of {cause.where}",
    "latency": lambda cause: f"the latency of the way to {cause.where} and back",
    "other": lambda _: "something that the probe does not know",
}
