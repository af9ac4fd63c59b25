"""Defines the waits of flows: the share of its time that a flow waited for each cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

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

OF_FLOW = "keeps the interval of the flow"
"""The detail of a datapath where a flow waits for its own `interval`."""

OF_RECORDING = "keeps the recorded times of requests"
"""The detail of a datapath where a flow with recorded requests waits for the next of them."""


@dataclass(frozen=True, slots=True)
class Cause(Document):
    """A cause of a flow's wait.

    `where` is a link or a fibre, a node, or the connection of two sockets of a host ("h.0-1");
    `direction` is the direction of the link, the fibre or the connection. `detail` depends on the
    kind: for credit it is the class of credit, such as "posted headers"; for arbitration it is the
    other workload; for memory it is "address translation" for page walks, or "the flash" for a
    drive.
    """

    kind: Kind
    where: str
    direction: str | None
    detail: str | None

    @property
    def place(self) -> Cause:
        """The place of the wait; all waits for packets on one wire have the same place."""
        if self.kind in {"wire", "arbitration"}:
            return Cause("wire", self.where, self.direction, None)
        return self


@dataclass(frozen=True, slots=True)
class Share(Document):
    """The share of a flow's time that the flow waited for one cause, from 0 to 1."""

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
    """The time of one flow, from its start to its last request, divided by the causes of waits.

    `limit` is the cause that limits the rate; it is `None` if the flow was too short to be
    observed. If a flow waits for credit, tags, outstanding bytes, acknowledgements or its own
    engine for a part of its time, this wait limits the flow, even if the packets of the flow are on
    a wire for most of the time. `shares` add up to 1; the longest share is first.
    """

    id: str
    limit: Cause | None
    shares: tuple[Share, ...]

    def of_recording(self) -> FlowWaits:
        """The waits of a flow with recorded requests, which have times instead of an interval."""
        limit = self.limit and _of_recording(self.limit)
        return FlowWaits(self.id, limit, tuple(map(_of_recording, self.shares)))

    def judged(self, used: Used) -> FlowWaits:
        """Corrects the limit and the shares by the use of the links in the whole run.

        If a wire on the path of a flow is full, waits for buffers and memory are counted for the
        wire, because a larger buffer or faster memory would not help. If several wires are full,
        and one of them belongs to the flow's own device and has little data of other flows, this
        wire is the limit, because the flow alone would be no faster. Otherwise the limit is the
        full wire for which the flow waits most. A wire that was never full is no limit if the flow
        also waits for another cause. A flow that waits only for the wires of an idle link was too
        short to be observed. If errors of a link cost much time, the limit mentions them.
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


_Waited = TypeVar("_Waited", Cause, Share)


def _of_recording(one: _Waited) -> _Waited:
    return replace(one, detail=OF_RECORDING) if one.detail == OF_FLOW else one


_HIDDEN = {"wire", "arbitration", "credit", "replay-buffer", "memory"}
"""The kinds of limits for which a full wire may be the real cause."""

_WIRES = {"wire", "arbitration"}
_NO_LIMITS = {"latency", "software", "other"}
"""The kinds of waits that never replace a wire as the limit of a flow."""

_IDLE = 0.2
"""A link whose wire is busy for a smaller share of the time than this limits no flow."""

_FULL = 0.98
"""A wire that is busy for at least this share of the time is full: it alone limits its packets."""

PEER_PATH = "the path between root ports"
"""The `detail` of a wait for the path in a host that packets between two root ports share."""
QUADRANT_PATH = "the path of a quadrant"
"""The `detail` of a wait for the path in a host that all root ports of a quadrant share."""
HOST_PATHS = {PEER_PATH, QUADRANT_PATH, "the responses of writes"}
"""The details of waits for paths in a host, or for rules of packets on these paths."""

FLAGS = "flags"
"""The `detail` of a latency: from the end of data until the target has read the flag behind it."""
COMPUTE = "the compute time"
"""The `detail` of software: kernels start or compute."""
SUMS = "the memory for sums and copies"
"""The `detail` of a memory: a device sums up or copies data in its own memory."""
TRANSFERS = "transfers"
"""The `detail` of the time of transfers in which no wire on their way can have been busy."""

_LEAST = 0.05
"""A wait for a cause other than a wire limits a flow only from this share of its time on."""

_OWN = 0.75
"""If a flow has at least this part of the data on a wire, the wire counts as used by it alone."""

_LOST = 0.05
"""If at least this share of a link's bytes is sent again, the wait for the link mentions it."""


@dataclass(frozen=True, slots=True)
class Used:
    """The use of the links of a run, for each direction of a link.

    `full` has the wires that were busy for almost the whole time, `never` the wires that were full
    at no time, and `idle` the wires that were little used. `lost` has the wires that sent many
    packets again, each with a text about it. `own` has, for each flow, the wires of the devices at
    its ends that the flow's data crosses, if other flows have little data on these wires.
    """

    full: frozenset[tuple[str, str]]
    lost: Mapping[tuple[str, str], str]
    own: Mapping[str, Sequence[tuple[str, str]]]
    never: frozenset[tuple[str, str]]
    idle: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, links: Iterable[LinkResult], flows: Sequence[FlowResult]) -> Used:
        """The use of the links of a run, from the results of its links and flows."""
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
    """The cause of a wait, in words."""
    return _WORDS[cause.kind](cause)


def _on(cause: Cause) -> str:
    """The name of a link or of a connection between sockets, with its direction."""
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
        if cause.detail and cause.detail not in HOST_PATHS
        else f"{cause.detail or 'the datapath or the pace'} of {cause.where}"
    ),
    "memory": lambda cause: f"{cause.detail or 'the memory'} of {cause.where}",
    "socket": lambda cause: f"the connection of sockets {_on(cause)}",
    "arbitration": lambda cause: f"packets of {cause.detail or 'others'} on {_on(cause)}",
    "software": lambda cause: f"{cause.detail or 'the software'} of {cause.where}",
    "latency": lambda cause: (
        f"the latency of {cause.detail} to {cause.where}"
        if cause.detail
        else f"the latency of the way to {cause.where} and back"
    ),
    "other": lambda cause: (
        f"{cause.detail} of {cause.where} for which no wire is busy"
        if cause.detail
        else "something that the probe does not know"
    ),
}
