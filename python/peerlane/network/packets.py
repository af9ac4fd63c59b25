"""The packets of a message, and the payload that links and fibres carry in such packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane.fabric.tree import Network

ENVELOPE_BYTES = 20
"""Of the header and the CRC around what travels over light."""

SHORT_HEADER_BYTES, LONG_HEADER_BYTES = 12, 16
"""Of a memory write below 4 GiB, and of one above (PCIe Base 2.2.4.1)."""

TLP_FRAMING_BYTES = 8
"""Framing, sequence number and LCRC of a TLP (PCIe Base 3.5 and 4.2)."""

_FIRST_LONG = 1 << 32

_COMPENSATION = 4984 / 4992
"""Share of the time that clock compensation leaves (PG074)."""

_FIRST_BLOCKS = 8
"""GT/s from which the coding is 128b/130b, and 8b/10b below."""


@dataclass(frozen=True, slots=True)
class Packets:
    """What becomes of one message: the payloads of its packets, and a TLP's header in each."""

    payloads: tuple[int, ...]
    header: int

    @property
    def payload(self) -> int:
        """All of it, in bytes."""
        return sum(self.payloads)


def cut(message: int, most: int) -> tuple[int, ...]:
    """The payloads of the packets of a message, none of them over `most` bytes."""
    whole, rest = divmod(message, most)
    return (most,) * whole + ((rest,) if rest else ())


def recut(packets: Packets, most: int) -> Packets:
    """The packets, cut again so that none has over `most` bytes."""
    pieces = tuple(piece for payload in packets.payloads for piece in cut(payload, most))
    return Packets(pieces, packets.header)


def header(address: int) -> int:
    """Bytes of the header of a memory write to `address`."""
    return LONG_HEADER_BYTES if address >= _FIRST_LONG else SHORT_HEADER_BYTES


def cycles(frame: int, lanes: int) -> int:
    """Cycles of a fibre that a frame of so many bytes takes (PG074, strict alignment).

    A block of eight bytes on each lane in each, with the separator block that ends the frame.
    """
    blocks = frame // 8 + 1
    return -(-blocks // lanes)


def fibre_rate(network: Network, packets: Packets) -> float:
    """Payload a second, in bytes, that a fibre of `network` carries in such packets."""
    share = _COMPENSATION if network.clock_compensation else 1.0
    return share * frame_rate(network, packets)


def frame_rate(network: Network, packets: Packets) -> float:
    """The rate of a fibre, as `fibre_rate`, without clock compensation."""
    bytes_around = ENVELOPE_BYTES + packets.header
    taken = sum(cycles(payload + bytes_around, network.lanes) for payload in packets.payloads)
    return packets.payload * network.lane_rate / (66 * taken)


def link_rate(gigatransfers: float, lanes: int, packets: Packets) -> float:
    """Payload a second, in bytes, that a PCI Express link carries in such packets."""
    coding = 128 / 130 if gigatransfers >= _FIRST_BLOCKS else 8 / 10
    raw = gigatransfers * 1e9 * coding * lanes / 8
    overhead = packets.header + TLP_FRAMING_BYTES
    on_wire = sum(-(-payload // 4) * 4 + overhead for payload in packets.payloads)
    return raw * packets.payload / on_wire
