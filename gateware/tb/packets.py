"""Packets on a stream: bytes to beats and back, with the rules of the stream checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handshake import Pause, Sink, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = ("data", "bytes", "first", "last")


def beats(packet: bytes, lanes: int) -> list[tuple[int, int, int, int]]:
    """The beats of a packet: data, bytes, first, last; lanes after the end are not zero."""
    found = []
    for at in range(0, len(packet), lanes):
        part = packet[at : at + lanes]
        filled = part + b"\xee" * (lanes - len(part))
        last = at + lanes >= len(packet)
        found.append((int.from_bytes(filled, "little"), len(part), int(at == 0), int(last)))
    return found


class PacketSource(Source):
    """Sends packets into the stream of a circuit whose ports have the prefix and `_i`."""

    def __init__(self, dut: Any, pause: Pause, prefix: str = "") -> None:
        signals = [getattr(dut, f"{prefix}{name}_i") for name in NAMES]
        valid, ready = getattr(dut, f"{prefix}valid_i"), getattr(dut, f"{prefix}ready_o")
        super().__init__(dut.clk_i, signals, valid, ready, pause)
        self.lanes = len(signals[0]) // 8

    async def send_packets(self, packets: Iterable[bytes]) -> None:
        """Send all packets."""
        for packet in packets:
            await self.send(beats(packet, self.lanes))


class PacketSink(Sink):
    """Takes packets from the stream of a circuit whose ports have the prefix and `_o`."""

    def __init__(self, dut: Any, pause: Pause, prefix: str = "") -> None:
        signals = [getattr(dut, f"{prefix}{name}_o") for name in NAMES]
        valid, ready = getattr(dut, f"{prefix}valid_o"), getattr(dut, f"{prefix}ready_i")
        super().__init__(dut.clk_i, signals, valid, ready, pause)
        self.lanes = len(signals[0]) // 8

    async def packet(self) -> bytes:
        """The next packet."""
        packet = b""
        while True:
            data, count, first, last = await self.take()
            assert first == (packet == b""), "first marks the first beat of a packet, and no other"
            assert 0 < count <= self.lanes, f"a beat of {count} bytes"
            assert last or count == self.lanes, f"a beat of {count} bytes before the last one"
            packet += data.to_bytes(self.lanes, "little")[:count]
            if last:
                return packet

    async def packets(self, count: int) -> list[bytes]:
        """The next packets."""
        return [await self.packet() for _ in range(count)]
