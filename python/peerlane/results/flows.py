"""The results of flows, and of the links that they cross."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

from peerlane.formats import duration, named_sockets
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, renamed
from peerlane.results.latency import Latency
from peerlane.results.workload import Column, MovedData, counts

_BURST = 0.1
"""The part of a call's time in which all data arrived, below which the rate does not describe the
call."""


def _uncertainty(flow: FlowResult | DirectionResult) -> float | None:
    if not flow.bytes_per_second or flow.half_width_bytes_per_second is None:
        return None
    return flow.half_width_bytes_per_second / flow.bytes_per_second


@dataclass(frozen=True, slots=True)
class DirectionResult(Document):
    """The writes or the reads of a flow with direction `both`; the fields are as for a flow."""

    direction: str
    bytes: int
    bytes_per_second: float | None
    steady_bytes_per_second: float | None
    first_byte_ns: float | None
    last_byte_ns: float | None
    latency_ns: Latency | None
    completed: bool
    intact: bool
    under_way_ns: tuple[float, float] | None = None
    half_width_bytes_per_second: float | None = None

    @property
    def uncertainty(self) -> float | None:
        """Half of the confidence interval of the rate, as a part of the rate."""
        return _uncertainty(self)

    @property
    def latency(self) -> Latency | None:
        """The latencies of the requests of this direction."""
        return self.latency_ns


@dataclass(frozen=True, slots=True)
class FlowResult(MovedData):
    """One flow of the scenario, measured by the clock that the flow names.

    `bytes_per_second` is `bytes` over the time in `under_way_ns`. Of a flow with `size` or `count`
    this is the time between `first_byte_ns` and `last_byte_ns`, and of a flow with `duration` the
    time from its start to the end of the duration, or to `last_byte_ns` if this is later.
    `silent_from_ns` is the last arrival of a flow with `duration`, if nothing arrived in the last
    tenth of the duration or longer. `sockets` has the sockets whose memory the flow uses, if its
    target is a host with several sockets; without a key `socket`, a flow uses the memory of socket
    0 first.

    In a run that goes on until its flows are measured (`steady = true` in `[measure]`),
    `bytes_per_second` is the mean rate after the warm-up, in the time in `under_way_ns`, and
    `half_width_bytes_per_second` is half of its 95 % confidence interval. If no steady state was
    found, the rate is the rate of the whole time, without an interval.

    `first_byte_ns` and `last_byte_ns` are the readings of `clock`: first bit of the flow on the
    wire and last byte at its destination (`arrival`), first bit and last bit of its requests on the
    wire (`sender`), or the system call and its return (`application`: `called_ns` and
    `returned_ns`, if a driver moves the flow). Direction `both` counts writes and reads together,
    and `directions` has each of them; it is empty for other flows. `steady_bytes_per_second` is the
    rate within the scenario's `[measure]`, and `None` if the flow was not active during all of this
    time. Times count from the beginning of the run, link initialisation included.

    `completed` means that every request arrived or ended with an error, `intact` that every byte
    arrived exactly once and unchanged. `missing` has all ranges of the flow's region that were lost
    with an error, as offset and length: together with the arrived ranges, they are the whole region
    of a completed flow. `compared` is false if the flow reads registers, or bytes that another flow
    also uses, or bytes that were never written; then `intact` only means that the bytes that were
    read have arrived. `overtaken` counts the bytes that had not arrived when the system call
    returned, because its interrupt was of another traffic class, and `restarts` counts the times
    that the driver began again after a reset of its device. A value that was never observed is
    `None`: the times of a flow that was not sent, the rate of a flow whose bytes did not arrive,
    the system call of a flow without a driver.
    """

    __pydantic_config__ = renamed(source="from", target="to")

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
    directions: Annotated[Collection[DirectionResult], By("direction")]
    completed: bool
    intact: bool
    compared: bool
    missing: tuple[tuple[int, int], ...] = ()
    overtaken: int = 0
    restarts: int = 0
    under_way_ns: tuple[float, float] | None = None
    silent_from_ns: float | None = None
    sockets: tuple[int, ...] = ()
    half_width_bytes_per_second: float | None = None

    METRIC = "bytes_per_second"
    DONE = "bytes"

    def state(self, *, lost: bool) -> str:
        """The state of the bytes in a word; `lost` says that packets were lost."""
        if self.intact and not self.compared:
            return "not compared"
        return MovedData.state(self, lost=lost or bool(self.missing))

    @property
    def uncertainty(self) -> float | None:
        """Half of the confidence interval of the rate, as a part of the rate."""
        return _uncertainty(self)

    def doubt(self, length: str) -> str | None:
        """The reason why the rate in the steady state is not known well after `length`."""
        if self.silence:
            return None
        if self.bytes_per_second is None:
            return f"too few bytes for a rate after {length}"
        return MovedData.doubt(self, length)

    @property
    def place(self) -> str:
        """The target, with the sockets of its memory if the host has several sockets."""
        return f"{self.target}, {named_sockets(self.sockets)}" if self.sockets else self.target

    @property
    def silence(self) -> str | None:
        """The sentence about a flow with a duration that stopped long before its end, or `None`."""
        if self.silent_from_ns is None:
            return None
        if self.under_way_ns is None:
            return f"{self.id}: nothing arrived"
        begin, end = self.under_way_ns
        after, whole = duration(self.silent_from_ns - begin), duration(end - begin)
        return f"{self.id}: nothing arrived after {after} of its {whole}; its rate is over {whole}"

    @property
    def burst(self) -> str | None:
        """The sentence about a flow whose data arrived in a small part of its call, or `None`."""
        if self.call_ns is None or self.clock == "application":
            return None
        if self.first_byte_ns is None or self.last_byte_ns is None:
            return None
        moving = self.last_byte_ns - self.first_byte_ns
        if moving >= _BURST * self.call_ns:
            return None
        return (
            f"{self.id}: its data came within {duration(moving)} of a call of"
            f' {duration(self.call_ns)}; clock = "application" measures the call'
        )

    @property
    def call_ns(self) -> float | None:
        """Duration of the system call that moved the flow, if a driver moved it."""
        if self.called_ns is None or self.returned_ns is None:
            return None
        return self.returned_ns - self.called_ns


@dataclass(frozen=True, slots=True)
class ChannelResult(Document):
    """The traffic of one virtual channel in one direction of a link, in the result's `measured_ns`.

    `waited_ns` is the sum, over all TLPs, of the time from when a TLP could have left to when it
    left. `credit_stall_ns` is the time from when the channel had no credit for any of its TLPs to
    its next TLP.
    """

    vc: int
    tlps: int
    payload_bytes: int
    overhead_bytes: int
    waited_ns: float
    credit_stall_ns: float


@dataclass(frozen=True, slots=True)
class LinkResult(Document):
    """One direction of one link, `down` from the root or `up`, in the result's `measured_ns`.

    `under_way_ns` is the time in the interval in which a workload that crosses the link was active.
    `utilisation` is the share of `under_way_ns` in which anything was on the wire, and `full` the
    share of `under_way_ns` in slots in which the wire was busy for 95 % of the time or more.
    `together_bytes_per_second` is the payload per second in the time in which all workloads that
    cross the link were active; `None` if this time is less than a slot. If no workload crosses the
    link, `under_way_ns` is 0, and `utilisation` is the share of the whole interval.

    All bytes of a packet count at the time when its transmission begins. `tlps` counts the TLPs
    sent for the first time. `overhead_bytes` counts headers, framing, link CRC, and packets sent
    again. Of these bytes, `framing_bytes` are framing, sequence numbers and link CRC (none between
    sockets), and `replayed_bytes` are packets sent again, or nullified by a cut-through switch; the
    rest are headers. `replays` counts the TLPs sent again. `credit_stall_ns` is the time in which a
    packet waited only for credit, `l0s_ns` the time in which the transmitter was in L0s, `l1_ns`
    the time in which the link was in L1, and `l1_entries` the number of its entries into L1.
    `channels` has the virtual channels by VC ID, if the port has the Virtual Channel capability.
    """

    id: str
    direction: str
    utilisation: float
    tlps: int
    payload_bytes: int
    overhead_bytes: int
    framing_bytes: int
    replayed_bytes: int
    dllp_bytes: int
    ordered_set_bytes: int
    replays: int
    credit_stall_ns: float
    l0s_ns: float = 0.0
    l1_ns: float = 0.0
    l1_entries: int = 0
    channels: tuple[ChannelResult, ...] = ()
    under_way_ns: float = 0.0
    full: float = 0.0
    together_bytes_per_second: float | None = None

    COLUMNS = (
        Column("link", attrgetter("id"), "name"),
        Column("direction", attrgetter("direction"), "word"),
        Column("used %", attrgetter("utilisation"), "share"),
        Column("full %", attrgetter("full"), "share"),
        Column("GB/s together", attrgetter("together_bytes_per_second"), "rate", 5),
        Column("payload", attrgetter("payload_bytes"), "bytes"),
        Column("overhead", attrgetter("overhead_bytes"), "bytes", 3),
        Column("DLLPs", attrgetter("dllp_bytes"), "bytes", 2),
        Column("ordered sets", attrgetter("ordered_set_bytes"), "bytes", 1),
        *counts("replays", folds=(4,)),
        Column("stalled", attrgetter("credit_stall_ns"), "time"),
    )
