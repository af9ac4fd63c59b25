"""What a run measured, as dataclasses; the field names are those of the JSON result."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from peerlane.results.collection import Collection

if TYPE_CHECKING:
    from pandas import DataFrame

_NOT_INTACT = "its bytes did not all arrive, once, as they were sent"


@dataclass(frozen=True, slots=True)
class Latency:
    """Quantiles over the requests, round trips or messages of a flow or workload, in nanoseconds.

    From the making of a request, so that its wait for the wire is in it, to its last byte: at the
    target for writes, back at the requester for reads and round trips.
    """

    min: float
    p50: float
    p99: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One flow of the scenario, as measured by the clock that it names.

    `bytes_per_second` is `bytes` over the time between `first_byte_ns` and `last_byte_ns`, the two
    readings of `clock`: first bit of the flow on the wire and last byte at its destination
    (`arrival`), first bit and last bit of its requests on the wire (`sender`), or the system call
    and its return (`application`: `called_ns` and `returned_ns`, where a driver moves the flow).
    Direction `both` counts both ways together. `steady_bytes_per_second` is the rate within the
    scenario's `[measure]`, and `None` when the flow was not under way all that time. Times count
    from the beginning of the run, link initialisation included.

    `completed` says that everything asked for arrived or ended with an error, `intact` that every
    byte arrived, exactly once, as it was sent. What was never seen is `None`: the times of a flow
    that was not sent, the rate of one whose bytes did not arrive, the call of one without driver.
    """

    id: str
    source: str
    target: str
    direction: str
    clock: str
    bytes: int
    bytes_per_second: float | None
    steady_bytes_per_second: float | None
    first_byte_ns: float | None
    last_byte_ns: float | None
    sent_first_ns: float | None
    sent_last_ns: float | None
    called_ns: float | None
    returned_ns: float | None
    latency_ns: Latency | None
    completed: bool
    intact: bool

    @property
    def call_ns(self) -> float | None:
        """How long the system call took that moved the flow, where a driver did."""
        if self.called_ns is None or self.returned_ns is None:
            return None
        return self.returned_ns - self.called_ns


@dataclass(frozen=True, slots=True)
class LinkResult:
    """One direction of one link, `down` from the root or `up`, over the whole run.

    `utilisation` is the share of the time that anything was on the wire. `overhead_bytes` are
    headers, framing, link CRC, and packets sent again, of which `replays` counts the TLPs. During
    `credit_stall_ns` a packet waited for nothing but credit.
    """

    id: str
    direction: str
    utilisation: float
    payload_bytes: int
    overhead_bytes: int
    dllp_bytes: int
    ordered_set_bytes: int
    replays: int
    credit_stall_ns: float


@dataclass(frozen=True, slots=True)
class TrafficResult:
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
class CollectiveResult:
    """What the nodes of a network did together, in the memory of their user logic.

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
class CacheResult:
    """What the cache of an accelerator did with lines, over the whole run.

    `hits` it served by itself, for `misses` it asked the home agent; `snoops` are the times that
    the home agent asked for a line.
    """

    hits: int
    misses: int
    snoops: int


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """Translations that an accelerator asked its host for, over the whole run.

    `mean_ns` goes from a request at the core of the accelerator to its answer there.
    """

    count: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class AccessResult:
    """Accesses to a buffer, one after the other, each measured until its last byte.

    `count` of them have ended, `failed` of those led nowhere, or to where they were not allowed.
    `histogram_ns` counts latencies in steps of 10 ns, by their lower bounds. `bytes_per_second` is
    what an access moves in its mean latency and the turnaround, of all cores together. `cache`
    and `translations` are of the accelerator, all its accesses together, and `None` of others.
    `intact` says that none failed, and that what was read was what stood there, where nobody
    writes.
    """

    id: str
    by: str
    buffer: str
    kind: str
    size: int
    count: int
    failed: int
    latency_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    bytes_per_second: float | None
    cache: CacheResult | None
    translations: TranslationResult | None
    completed: bool
    intact: bool


@dataclass(frozen=True, slots=True)
class LockResult:
    """Requests for locks of a table, one after the other.

    `count` of them have ended, with the release of the lock. `request_ns` is the one
    compare-and-swap of each that placed its owner, with what software took before; `histogram_ns`
    counts these in steps of 10 ns, by their lower bounds. `attempts` are all compare-and-swaps of
    requests. `waited` of them found the lock taken, and `waiting_ns` is how long they waited.
    `violations` says how often a lock of the table had two holders or passed somebody by.
    """

    id: str
    by: str
    buffer: str
    count: int
    request_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    attempts: int
    waited: int
    waiting_ns: Latency | None
    violations: int
    completed: bool


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """Transactions that update rows of a database under locks.

    `committed_per_second` is over the time from the first begin to the last end; `conflicts` of
    them found their lock taken. `latency_ns` goes from the begin of each to the release of its
    lock, and `histogram_ns` counts it in steps of 10 ns, by their lower bounds. `intact` says that
    all have committed, and that the rows have as many versions.
    """

    id: str
    by: str
    buffer: str
    locks: str
    lock: str
    committed: int
    committed_per_second: float | None
    conflicts: int
    latency_ns: Latency | None
    histogram_ns: tuple[tuple[float, int], ...]
    violations: int
    completed: bool
    intact: bool


@dataclass(frozen=True, slots=True)
class FibreResult:
    """One direction of one fibre, `from` (`source`) to `to` (`target`), over the whole run.

    `utilisation` is the share of the time that frames or control blocks were on it.
    `overhead_bytes` are all else of the cycles of frames: envelopes, TLP headers, separator blocks,
    gaps, and frames sent again, of which `replays` counts the frames; `control_bytes` are credits,
    acknowledgements and pauses that had a cycle of their own. During `credit_stall_ns` a packet
    waited for nothing but room at the far end.
    """

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


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that an accelerator, `by`, had written and not given back when its link failed.

    The memory of `host` has what was there before, at `address`.
    """

    host: str
    by: str
    address: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that the fabric answered with an error, such as an unsupported request."""

    where: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """Everything that one run measured.

    `incoherence` says which invariant of coherence did not hold first, if they were watched.
    `standing_packets` stood still in the end, with nothing left that could move them: a deadlock.
    """

    name: str
    seed: int
    simulated_ns: float
    flows: Collection[FlowResult]
    traffic: Collection[TrafficResult]
    collectives: Collection[CollectiveResult]
    accesses: Collection[AccessResult]
    locks: Collection[LockResult]
    transactions: Collection[TransactionResult]
    links: Collection[LinkResult]
    fibres: Collection[FibreResult]
    lost_lines: tuple[LostLine, ...]
    errors: Collection[Fault]
    incoherence: str | None
    standing_packets: int

    @classmethod
    def from_json(cls, text: str) -> RunResult:
        """Reads the JSON that the simulator writes."""
        document = json.loads(text)
        return cls(
            name=document["name"],
            seed=document["seed"],
            simulated_ns=document["simulated_ns"],
            flows=Collection(map(_flow, document["flows"])),
            traffic=Collection(map(_traffic, document["traffic"])),
            collectives=Collection(CollectiveResult(**one) for one in document["collectives"]),
            accesses=Collection(map(_accesses, document["accesses"])),
            locks=Collection(map(_locks, document["locks"])),
            transactions=Collection(map(_transactions, document["transactions"])),
            links=Collection(LinkResult(**link) for link in document["links"]),
            fibres=Collection(map(_fibre, document["fibres"])),
            lost_lines=tuple(LostLine(**line) for line in document["lost_lines"]),
            errors=Collection((Fault(**fault) for fault in document["errors"]), key="where"),
            incoherence=document["incoherence"],
            standing_packets=document["standing_packets"],
        )

    def to_json(self) -> dict[str, Any]:
        """The result as the command line writes it."""
        return {
            "name": self.name,
            "seed": self.seed,
            "simulated_ns": self.simulated_ns,
            "flows": [_directed(flow) for flow in self.flows],
            "traffic": [asdict(traffic) for traffic in self.traffic],
            "collectives": [asdict(one) for one in self.collectives],
            "accesses": [asdict(one) for one in self.accesses],
            "locks": [asdict(one) for one in self.locks],
            "transactions": [asdict(one) for one in self.transactions],
            "links": [asdict(link) for link in self.links],
            "fibres": [_directed(fibre) for fibre in self.fibres],
            "lost_lines": [asdict(line) for line in self.lost_lines],
            "errors": [asdict(fault) for fault in self.errors],
            "incoherence": self.incoherence,
            "standing_packets": self.standing_packets,
        }

    def to_pandas(self) -> DataFrame:
        """The flows, one line for each; the other collections have one of their own.

        Raises:
            ModuleNotFoundError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.flows.to_pandas()

    @property
    def failures(self) -> list[str]:
        """Why this run did not do what was asked of it; empty when it did."""
        faults = [
            f"{e.where}: {e.what}" + f" ({e.count} times)" * (e.count > 1) for e in self.errors
        ]
        asked: list[tuple[str, FlowResult | TrafficResult | AccessResult]] = [
            *(("flow", flow) for flow in self.flows),
            *(("traffic", traffic) for traffic in self.traffic),
            *(("accesses", accesses) for accesses in self.accesses if not accesses.failed),
        ]
        missed = [
            f"{what} {one.id}: " + (_NOT_INTACT if one.completed else "did not complete")
            for what, one in asked
            if not (one.completed and one.intact)
        ]
        missed += [
            f"collective {one.id}: " + ("is not correct" if one.completed else "did not complete")
            for one in self.collectives
            if not one.correct
        ]
        missed += [
            f"accesses {one.id}: {one.failed} of {one.count} led nowhere, or were not allowed"
            for one in self.accesses
            if one.failed
        ]
        missed += [
            f"what {line.by} had written at {line.address:#x} of {line.host} is lost"
            for line in self.lost_lines
        ]
        missed += [
            f"locks {one.id}: {one.violations} times not one holder"
            if one.violations
            else f"locks {one.id}: did not complete"
            for one in self.locks
            if one.violations or not one.completed
        ]
        missed += [
            f"transactions {one.id}: "
            + ("the versions differ" if one.completed else "did not complete")
            for one in self.transactions
            if not one.intact
        ]
        if self.incoherence:
            missed.append(f"not coherent: {self.incoherence}")
        if self.standing_packets:
            missed.append(f"{self.standing_packets} packets stand still for ever: a deadlock")
        return faults + missed


def _flow(fields: dict[str, Any]) -> FlowResult:
    latency = fields["latency_ns"]
    rest = {k: v for k, v in fields.items() if k not in {"from", "to", "latency_ns"}}
    return FlowResult(
        source=fields["from"],
        target=fields["to"],
        latency_ns=latency and Latency(**latency),
        **rest,
    )


def _traffic(fields: dict[str, Any]) -> TrafficResult:
    latency, nodes = fields["latency_ns"], fields["node_bytes_per_second"]
    rest = {k: v for k, v in fields.items() if k not in {"latency_ns", "node_bytes_per_second"}}
    return TrafficResult(
        latency_ns=latency and Latency(**latency),
        node_bytes_per_second=nodes and tuple(nodes),
        **rest,
    )


def _accesses(fields: dict[str, Any]) -> AccessResult:
    latency, cache, translations = (
        fields.pop(key) for key in ("latency_ns", "cache", "translations")
    )
    return AccessResult(
        latency_ns=latency and Latency(**latency),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        cache=cache and CacheResult(**cache),
        translations=translations and TranslationResult(**translations),
        **fields,
    )


def _locks(fields: dict[str, Any]) -> LockResult:
    request, waiting = (fields.pop(key) for key in ("request_ns", "waiting_ns"))
    return LockResult(
        request_ns=request and Latency(**request),
        waiting_ns=waiting and Latency(**waiting),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        **fields,
    )


def _transactions(fields: dict[str, Any]) -> TransactionResult:
    latency = fields.pop("latency_ns")
    return TransactionResult(
        latency_ns=latency and Latency(**latency),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        **fields,
    )


def _histogram(steps: list[list[Any]]) -> tuple[tuple[float, int], ...]:
    return tuple((bound, count) for bound, count in steps)


def _fibre(fields: dict[str, Any]) -> FibreResult:
    rest = {k: v for k, v in fields.items() if k not in {"from", "to"}}
    return FibreResult(source=fields["from"], target=fields["to"], **rest)


def _directed(result: FlowResult | FibreResult) -> dict[str, Any]:
    fields = asdict(result)
    return {
        "id": fields.pop("id"),
        "from": fields.pop("source"),
        "to": fields.pop("target"),
        **fields,
    }
