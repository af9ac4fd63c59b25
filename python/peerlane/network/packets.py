"""Divides messages into packets, and calculates the payload rates of links and fibres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane import _core

if TYPE_CHECKING:
    from peerlane.fabric.tree import Network


DWORD = 4
"""The bytes of a dword; the payload of a TLP is a whole number of dwords."""


@dataclass(frozen=True, slots=True)
class Packets:
    """The packets of one message: the payload of each, and the size of its TLP header, in bytes."""

    payloads: tuple[int, ...]
    header: int

    @property
    def payload(self) -> int:
        """The payload of the message, in bytes."""
        return sum(self.payloads)


def cut(message: int, most: int) -> tuple[int, ...]:
    """Divides a message into payloads of at most `most` bytes."""
    whole, rest = divmod(message, most)
    return (most,) * whole + ((rest,) if rest else ())


def recut(packets: Packets, most: int) -> Packets:
    """Divides packets again, so that no payload has more than `most` bytes."""
    pieces = tuple(piece for payload in packets.payloads for piece in cut(payload, most))
    return Packets(pieces, packets.header)


def fibre_rate(network: Network, packets: Packets) -> float:
    """The payload rate, in bytes a second, of a fibre that is full of these packets."""
    share = _core.COMPENSATED_SHARE if network.clock_compensation else 1.0
    return share * frame_rate(network, packets)


def frame_rate(network: Network, packets: Packets) -> float:
    """The payload rate of a fibre if clock compensation is not considered, in bytes a second."""
    around = _core.ENVELOPE_BYTES + packets.header
    frames = (payload + around for payload in packets.payloads)
    cycles = sum(_core.frame_cycles(frame, network.lanes) for frame in frames)
    return packets.payload * network.lane_rate / (_core.FIBRE_BLOCK_BITS * cycles)


def link_rate(gigatransfers: float, lanes: int, packets: Packets) -> float:
    """The payload rate, in bytes a second, of a PCI Express link that is full of these packets."""
    overhead = packets.header + _core.TLP_FRAMING_BYTES
    on_wire = sum(-(-payload // DWORD) * DWORD + overhead for payload in packets.payloads)
    return _core.link_bytes_per_second(gigatransfers, lanes) * packets.payload / on_wire
