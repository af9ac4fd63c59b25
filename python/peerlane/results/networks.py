"""Defines the results of networks: open-loop workloads, collectives and fibres."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from peerlane.results.document import Document, renamed
from peerlane.results.latency import Latency
from peerlane.results.workload import (
    STEADY,
    Column,
    JointOperation,
    MovedData,
    SteadyState,
    counts,
    joint,
    latencies,
    names,
)


@dataclass(frozen=True, slots=True)
class TrafficResult(MovedData):
    """One open-loop workload of a network; rates count payload, and are rates of one node.

    `accepted_bytes_per_second` is the mean over the nodes of the payload per second that arrived
    within the scenario's `[measure]`; without `[measure]`, in the time in which messages were
    offered or arrived. `node_bytes_per_second` has the least and the greatest rate of a node.
    `fairness` is Jain's index over the nodes: 1 if all nodes have the same rate, 1 / `nodes` if one
    node has all traffic. The latency of a message begins at the time when the message was due, so
    it includes the wait at a full source. A value that was never observed is `None`. `completed`
    and `intact` have the same meaning as for a flow. `steady` is the rate of all nodes together in
    a run that measures steady states.
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
    steady: SteadyState | None = None

    METRIC = "accepted_bytes_per_second"
    DONE = "bytes"
    COLUMNS = (
        *names("network"),
        Column("pattern", attrgetter("pattern"), "word", 3),
        *counts("nodes", folds=(1,)),
        Column("offered GB/s", attrgetter("offered_bytes_per_second"), "rate"),
        Column("accepted", attrgetter("accepted_bytes_per_second"), "rate"),
        STEADY,
        Column("least", lambda one: (one.node_bytes_per_second or (None,))[0], "rate", 5),
        Column("most", lambda one: (one.node_bytes_per_second or (None,))[-1], "rate", 4),
        Column("fairness", attrgetter("fairness"), "number", 6),
        *latencies("latency_ns", "latency", "p50", "p99", "max", folds=(0, 7, 2)),
    )


@dataclass(frozen=True, slots=True)
class CollectiveResult(JointOperation):
    """A collective operation of the nodes of a network, in the memory of their user logic."""

    network: str
    nodes: int

    METRIC = "time_ns"
    COLUMNS = (*names("network"), *joint(*counts("nodes", folds=(2,))))


@dataclass(frozen=True, slots=True)
class FibreResult(Document):
    """One direction of one fibre, `from` (`source`) to `to` (`target`), in `measured_ns`.

    `utilisation` is the share of the interval in which frames or control blocks were on the fibre.
    `overhead_bytes` counts the bytes of frames that are not payload: envelopes, TLP headers,
    separator blocks, gaps, and frames sent again. `replayed_bytes` counts the bytes of frames sent
    again, and `replays` the number of these frames. `control_bytes` counts the bytes of cycles with
    credits, acknowledgements and pauses. `credit_stall_ns` is the time in which a packet waited
    only for space at the receiver.
    """

    __pydantic_config__ = renamed(source="from", target="to")

    id: str
    source: str
    target: str
    utilisation: float
    frames: int
    payload_bytes: int
    overhead_bytes: int
    replayed_bytes: int
    control_bytes: int
    replays: int
    credit_stall_ns: float

    COLUMNS = (
        Column("fibre", attrgetter("id"), "name"),
        Column("from", attrgetter("source"), "name"),
        Column("to", attrgetter("target"), "name"),
        Column("used %", attrgetter("utilisation"), "share"),
        *counts("frames", folds=(2,)),
        Column("payload", attrgetter("payload_bytes"), "bytes"),
        Column("overhead", attrgetter("overhead_bytes"), "bytes", 3),
        Column("control", attrgetter("control_bytes"), "bytes", 1),
        *counts("replays", folds=(4,)),
        Column("stalled", attrgetter("credit_stall_ns"), "time"),
    )
