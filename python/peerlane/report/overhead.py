"""Calculates how the time of each wire is used: payload, protocol overhead, replays and idle time.

The calculation uses the byte counters of a result. A counter includes all bytes of a packet as soon
as the transmission of the packet begins. The shares of a link are shares of the time in which
workloads that cross the link were active; the shares of a fibre are shares of the measured time. On
one direction of a wire, every byte takes the same time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from peerlane import _core
from peerlane.results.reading import lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from peerlane.results.flows import LinkResult
    from peerlane.results.networks import FibreResult
    from peerlane.results.run import RunResult

LINK_PARTS = ("payload", "headers", "framing", "replays", "DLLPs", "ordered sets", "idle")
"""The parts of the time of a link.

"framing" includes the sequence number and the LCRC. "replays" are all bytes of a TLP that is sent
again, or that a cut-through switch nullifies. A link between sockets has neither framing nor DLLPs.
"""

FIBRE_PARTS = ("payload", "envelopes", "replays", "control", "idle")
"""The parts of the time of a fibre.

"envelopes" include the headers of TLPs, separator blocks and gaps. "control" is the time of control
blocks with credits, acknowledgements and pauses.
"""

BEFORE = "begun before"
"""A part for a wire that was busy for the whole interval with a transmission that began earlier."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """The use of one direction of a wire, in the interval `measured_ns` of a result.

    `sender` is the direction of a link, such as "down", or the router that sends into a fibre.
    `bytes` has the bytes of each part except "idle". `shares` has the share of each part in the
    time of the wire; the shares add up to 1.
    """

    kind: Literal["link", "fibre"]
    id: str
    sender: str
    bytes: Mapping[str, int]
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FlowOverhead:
    """The TLPs of a flow on one direction of a link; `flow` is `None` for TLPs of no flow.

    `bytes` has the bytes of "payload", "headers", "framing" and "replays", and `wire_ns` the time
    that these bytes occupy the wire. DLLPs and ordered sets belong to no flow.
    """

    flow: str | None
    link: str
    direction: str
    tlps: int
    bytes: Mapping[str, int]
    wire_ns: float


def overheads(result: RunResult) -> tuple[Overhead, ...]:
    """The use of both directions of each link and fibre; nothing if the run measured no wires.

    The shares are exact, except for packets that are on a wire when the interval begins or ends.
    The time of a packet on the wire counts only within the interval, but all its bytes count when
    the transmission begins.
    """
    if result.measured_ns is None:
        return ()
    return (*map(_of_link, result.links), *map(_of_fibre, result.fibres))


def flow_overheads(
    trace: str | PathLike[str], window_ns: tuple[float, float] | None = None
) -> tuple[FlowOverhead, ...]:
    """The traffic of each flow on each link, from a packet trace.

    Args:
        trace: A packet trace of `Simulation.capture`.
        window_ns: An interval, such as a result's `measured_ns`; only TLPs whose transmission
            begins in it are counted. Without it, all TLPs are counted.

    Raises:
        OSError: The file cannot be read.
        FileError: A line of the file is not a line of a trace.
    """
    counts: dict[tuple[str | None, str, str], _Count] = defaultdict(_Count)
    with Path(trace).open("rb") as lines:
        for tlp in lines_of(_Tlp, lines, str(trace), "tlp"):
            if window_ns is None or _is_within(tlp.ns, window_ns):
                counts[tlp.flow, tlp.link, tlp.direction].add(tlp)
    return tuple(
        FlowOverhead(flow, link, direction, count.tlps, dict(count.bytes), count.wire_ns)
        for (flow, link, direction), count in counts.items()
    )


@dataclass(frozen=True, slots=True)
class _Tlp:
    """The fields that are read from the line of a TLP in a trace."""

    ns: float
    link: str
    direction: str
    header: str
    length_ns: float
    bytes: int
    replay: bool
    nullified: bool
    flow: str | None = None


class _Count:
    """The TLPs of a flow on one direction of a link."""

    def __init__(self) -> None:
        self.tlps = 0
        self.bytes = dict.fromkeys(LINK_PARTS[:4], 0)
        self.wire_ns = 0.0

    def add(self, tlp: _Tlp) -> None:
        header = len(tlp.header) // 2
        self.wire_ns += tlp.length_ns
        if tlp.replay or tlp.nullified:
            self.bytes["replays"] += tlp.bytes + header + _core.TLP_FRAMING_BYTES
            return
        self.tlps += 1
        self.bytes["payload"] += tlp.bytes
        self.bytes["headers"] += header
        self.bytes["framing"] += _core.TLP_FRAMING_BYTES


def _is_within(time: float, window: tuple[float, float]) -> bool:
    return window[0] <= time < window[1]


def _of_link(link: LinkResult) -> Overhead:
    headers = link.overhead_bytes - link.framing_bytes - link.replayed_bytes
    counts = (
        link.payload_bytes,
        headers,
        link.framing_bytes,
        link.replayed_bytes,
        link.dllp_bytes,
        link.ordered_set_bytes,
    )
    parts = dict(zip(LINK_PARTS, counts, strict=False))
    return Overhead("link", link.id, link.direction, parts, _shares(parts, link.utilisation))


def _of_fibre(fibre: FibreResult) -> Overhead:
    envelopes = fibre.overhead_bytes - fibre.replayed_bytes
    counts = (fibre.payload_bytes, envelopes, fibre.replayed_bytes, fibre.control_bytes)
    parts = dict(zip(FIBRE_PARTS, counts, strict=False))
    return Overhead("fibre", fibre.id, fibre.source, parts, _shares(parts, fibre.utilisation))


def _shares(parts: Mapping[str, int], utilisation: float) -> dict[str, float]:
    """The share of each part in the time of a wire, by its bytes, and the share of idle time."""
    total = sum(parts.values())
    shares = {part: utilisation * count / total if total else 0.0 for part, count in parts.items()}
    shares["idle"] = 1.0 - utilisation
    if utilisation and not total:
        shares[BEFORE] = utilisation
    return shares
