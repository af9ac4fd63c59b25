"""The results of flows and of the links that they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from peerlane import _core
from peerlane.results.collection import By, Collection
from peerlane.results.document import STRICT, Document, renamed

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, ValidationInfo
    from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class Bucket:
    """Latencies of a histogram that it does not tell apart.

    They are from `low_ns` to `high_ns`, both included, which are less than one part in a thousand
    apart.
    """

    low_ns: float
    high_ns: float
    count: int


class _Whole:
    """Annotates the text of a histogram, which is decoded where a file is checked."""

    @staticmethod
    def __get_pydantic_core_schema__(source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - comes with pydantic

        def check(text: str, info: ValidationInfo) -> str:
            if info.context == STRICT:
                try:
                    _core.histogram_buckets(text)
                except ValueError:
                    raise ValueError("it is no whole histogram") from None
            return text

        return core_schema.with_info_after_validator_function(check, handler(source))


@dataclass(frozen=True, slots=True)
class Latency(Document):
    """Quantiles over the requests, round trips or messages of a flow or workload, in nanoseconds.

    A latency begins when a request is made, so it includes the wait for the wire, and ends with the
    last byte: at the target for writes, at the requester for reads and round trips. `p999` is the
    99.9th percentile. `histogram_ps` has all latencies, in picoseconds with three digits: the
    compressed V2 encoding of HdrHistogram, as base64, which the tools of HdrHistogram read, too.
    `min`, `max` and `mean` are exact.
    """

    min: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    mean: float
    histogram_ps: Annotated[str, _Whole]

    def quantile(self, share: float) -> float:
        """The latency in nanoseconds that `share` (0 to 1) of all latencies do not exceed.

        Raises:
            ValueError: `share` is not from 0 to 1.
        """
        found = _core.histogram_quantile(self.histogram_ps, share) / 1e3
        return min(max(found, self.min), self.max)

    @property
    def histogram(self) -> tuple[Bucket, ...]:
        """The buckets that are not empty, from the least latency to the greatest."""
        found = _core.histogram_buckets(self.histogram_ps)
        return tuple(Bucket(low / 1e3, high / 1e3, count) for low, high, count in found)


@dataclass(frozen=True, slots=True)
class DirectionResult(Document):
    """The writes or the reads of a flow with direction `both`; fields are as those of a flow."""

    direction: str
    bytes: int
    bytes_per_second: float | None
    steady_bytes_per_second: float | None
    first_byte_ns: float | None
    last_byte_ns: float | None
    latency_ns: Latency | None
    completed: bool
    intact: bool

    @property
    def latency(self) -> Latency | None:
        """The latencies of the requests of this direction."""
        return self.latency_ns


@dataclass(frozen=True, slots=True)
class FlowResult(Document):
    """One flow of the scenario, as measured by the clock that it names.

    `bytes_per_second` is `bytes` over the time between `first_byte_ns` and `last_byte_ns`, the two
    readings of `clock`: first bit of the flow on the wire and last byte at its destination
    (`arrival`), first bit and last bit of its requests on the wire (`sender`), or the system call
    and its return (`application`: `called_ns` and `returned_ns`, where a driver moves the flow).
    Direction `both` counts writes and reads together, and `directions` has each of them; it is
    empty for other flows. `steady_bytes_per_second` is the rate within the
    scenario's `[measure]`, and `None` when the flow was not under way all that time. Times count
    from the beginning of the run, link initialisation included.

    `completed` means that every request arrived or ended with an error, `intact` that every byte
    arrived, exactly once, as it was sent. `missing` has all ranges of the flow's region that were
    lost with an error, as offset and length: with what has arrived, they are the whole of a
    completed flow. `compared` is false when the flow reads bytes that another flow uses, too, which
    may be those of either, or registers, or bytes that nobody has written; then `intact` says
    nothing of what was read, but that it arrived. `overtaken` counts the bytes that were not there
    yet when the system call returned, because its interrupt was of another traffic class, and
    `restarts` how often the driver has begun again after a reset of its device. A value that was
    never observed is `None`: the times of a flow that was not sent, the rate of a flow whose bytes
    did not arrive, the system call of a flow without a driver.
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

    @property
    def latency(self) -> Latency | None:
        """The latencies of the requests, round trips or messages."""
        return self.latency_ns

    @property
    def call_ns(self) -> float | None:
        """Duration of the system call that moved the flow, if a driver moved it."""
        if self.called_ns is None or self.returned_ns is None:
            return None
        return self.returned_ns - self.called_ns


@dataclass(frozen=True, slots=True)
class ChannelResult(Document):
    """What one direction of a link sent by one virtual channel, in the result's `measured_ns`.

    `waited_ns` is the time from when each TLP could have left to when it left, of all TLPs
    together. `credit_stall_ns` is the time from when the channel was found without credit for any
    of its TLPs to its next TLP.
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

    `utilisation` is the share of the interval in which anything was on the wire. All bytes of a
    packet count where its transmission begins. `tlps` counts the TLPs sent for the first time.
    `overhead_bytes` counts headers, framing, link CRC, and packets sent again. Of these bytes,
    `framing_bytes` are framing, sequence numbers and link CRC (none between sockets), and
    `replayed_bytes` are packets sent again, or nullified by a cut-through switch; the rest are
    headers. `replays` counts the TLPs sent again.
    `credit_stall_ns` is the time in which a packet waited for credit alone, `l0s_ns` the time
    in which the transmitter was in L0s, `l1_ns` the time in which the link was in L1, and
    `l1_entries` how often it went there. `channels` has the virtual channels by VC ID where the
    port has the Virtual Channel capability.
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
