"""The results of networks: open-loop workloads, collectives and fibres."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.results.document import Document, renamed
from peerlane.results.flows import Latency


@dataclass(frozen=True, slots=True)
class TrafficResult(Document):
    """One open-loop workload of a network: rates are of payload, for each of its `nodes`.

    `accepted_bytes_per_second` is the mean over the nodes of what arrived within the scenario's
    `[measure]`, or, without one, of all that arrived while messages were offered or arrived;
    `node_bytes_per_second` has the node of which least, and that of which most arrived. `fairness`
    is Jain's index over the nodes: 1 where all have the same, 1 / `nodes` where one has it all. The
    latency counts from the time at which a message was due, so that its wait at a full source is in
    it. What was never seen is `None`. `completed` and `intact` are as for a flow.
    """

    id: str
    network: str
    pattern: str
    nodes: int
    offered_bytes_per_second: float
    accepted_bytes_per_second: float | None
    node_bytes_per_second: tuple[float, float] | None
    fairness: float | None
    latency_ns: Latency | None
    bytes: int
    completed: bool
    intact: bool


@dataclass(frozen=True, slots=True)
class CollectiveResult(Document):
    """A collective operation of the nodes of a network, in the memory of their user logic.

    `size` is that of each node's vector, or of each message to a neighbour, in bytes; `time_ns`
    goes from the beginning until the last node was done; `moved_bytes` went from node to node.
    `correct` tells that every node has in the end what it should have, byte for byte.
    """

    id: str
    network: str
    operation: str
    algorithm: str
    nodes: int
    size: int
    time_ns: float | None
    moved_bytes: int
    completed: bool
    correct: bool


@dataclass(frozen=True, slots=True)
class FibreResult(Document):
    """One direction of one fibre, `from` (`source`) to `to` (`target`), over the whole run.

    `utilisation` is the share of the time that frames or control blocks were on it.
    `overhead_bytes` are all else of the cycles of frames: envelopes, TLP headers, separator blocks,
    gaps, and frames sent again, of which `replays` counts the frames; `control_bytes` are credits,
    acknowledgements and pauses that had a cycle of their own. During `credit_stall_ns` a packet
    waited for nothing but room at the far end.
    """

    __pydantic_config__ = renamed(source="from", target="to")

    id: str
    source: str
    target: str
    utilisation: float
    frames: int
    payload_bytes: int
    overhead_bytes: int
    control_bytes: int
    replays: int
    credit_stall_ns: float
