"""Defines the results of flows, and the results of links."""

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
"""If all data of a flow arrived within a smaller part of its system call than this, the rate of the
flow does not describe the call."""


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
        """The latencies of the requests in this direction of the flow."""
        return self.latency_ns


@dataclass(frozen=True, slots=True)
class FlowResult(MovedData):
    """One flow of the scenario, measured by the clock that the flow names.

    `bytes_per_second` is `bytes` divided by the time in `under_way_ns`. For a flow with `size` or
    `count`, this is the time from `first_byte_ns` to `last_byte_ns`. For a flow with `duration`, it
    is the time from its start to the end of the duration, or to `last_byte_ns` if this is later.
    `silent_from_ns` is the time of the last arrival of a flow with `duration`, if nothing arrived
    in the last tenth of the duration. `sockets` has the sockets whose memory the flow uses, if its
    target is a host with several sockets; without a key `socket`, a flow uses the memory of socket
    0 first.

    In a run that measures steady states (`steady = true` in `[measure]`), `bytes_per_second` is the
    mean rate after the warm-up, in the time in `under_way_ns`, and `half_width_bytes_per_second` is
    half of the 95 % confidence interval of this rate. If no steady state was found, the rate is the
    mean rate of the whole time, without an interval.

    `first_byte_ns` and `last_byte_ns` are two readings of `clock`. With `arrival`, they are the
    times of the flow's first bit on the wire and of its last byte at the destination; with
    `sender`, of the first and the last bit of its requests on the wire; with `application`, of the
    system call and its return (`called_ns` and `returned_ns`, which a flow has if a driver moves
    it). A flow with direction `both` counts writes and reads together, and `directions` has the
    results of its writes and of its reads; for other flows, `directions` is empty.
    `steady_bytes_per_second` is the rate within the interval of the scenario's `[measure]`; it is
    `None` if the flow was not active during this whole interval. Times count from the beginning of
    the run, link initialisation included.

    `completed` means that every request arrived or ended with an error. `intact` means that every
    byte arrived exactly once and unchanged. `missing` has the offset and length of each range of
    the flow's region that was lost with an error; in a completed flow, all other ranges arrived.
    `compared` is false if the flow reads registers, or bytes that another flow also uses, or bytes
    that were never written; in these cases `intact` only means that the bytes have arrived.
    `overtaken` counts the bytes that had not arrived when the system call returned, because its
    interrupt was of another traffic class. `restarts` counts how many times the driver began again
    after a reset of its device. A value that was never observed is `None`: the times of a flow that
    was not sent, the rate of a flow whose bytes did not arrive, the system call of a flow without a
    driver.
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
        """The reason why the steady rate is still uncertain after the time `length`, or `None`."""
        if self.silence:
            return None
        if self.bytes_per_second is None:
            return f"too few bytes for a rate after {length}"
        return MovedData.doubt(self, length)

    @property
    def place(self) -> str:
        """The target of the flow, with the sockets of the memory if the host has several."""
        return f"{self.target}, {named_sockets(self.sockets)}" if self.sockets else self.target

    @property
    def silence(self) -> str | None:
        """A sentence if the arrivals of a flow stopped long before the end of its duration."""
        if self.silent_from_ns is None:
            return None
        if self.under_way_ns is None:
            return f"{self.id}: nothing arrived"
        begin, end = self.under_way_ns
        after, whole = duration(self.silent_from_ns - begin), duration(end - begin)
        return f"{self.id}: nothing arrived after {after} of its {whole}; its rate is over {whole}"

    @property
    def burst(self) -> str | None:
        """A sentence if all data arrived in a small part of the time of the flow's system call."""
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
        """The duration of the system call of a flow that a driver moves; `None` for other flows."""
        if self.called_ns is None or self.returned_ns is None:
            return None
        return self.returned_ns - self.called_ns


@dataclass(frozen=True, slots=True)
class ChannelResult(Document):
    """The traffic of one virtual channel in one direction of a link, in the result's `measured_ns`.

    `waited_ns` is the sum of the waits of all TLPs. The wait of a TLP is the time from the moment
    when the TLP could have been sent to the moment when it was sent. `credit_stall_ns` is the time
    in which TLPs waited and the channel had no credit for any of them, until its next TLP was sent.
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
