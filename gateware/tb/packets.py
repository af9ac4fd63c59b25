"""Packets on a stream: bytes to beats and back, with the rules of the stream checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cocotb.triggers import ReadOnly, RisingEdge
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


def is_non_posted(packet: bytes) -> bool:
    """Whether a packet is a request that needs a completion."""
    kind = packet[0]
    is_completion = kind & ~0x41 == 0x0A
    return not (is_completion or kind & ~0x20 == 0x40 or kind & 0xB8 == 0x30)


async def takes_non_posted(dut: Any) -> bool:
    """Wait for the next cycle; return whether a non-posted request may begin in it."""
    await ReadOnly()
    ok = int(dut.rx_np_ok_o.value) == 1
    await RisingEdge(dut.clk_i)
    return ok


class PacketSink(Sink):
    """Takes packets from the stream of a circuit whose ports have the prefix and `_o`."""

    def __init__(self, dut: Any, pause: Pause, prefix: str = "", *, rests: bool = False) -> None:
        signals = [getattr(dut, f"{prefix}{name}_o") for name in NAMES]
        valid, ready = getattr(dut, f"{prefix}valid_o"), getattr(dut, f"{prefix}ready_i")
        super().__init__(dut.clk_i, signals, valid, ready, pause)
        self.rests = rests
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
