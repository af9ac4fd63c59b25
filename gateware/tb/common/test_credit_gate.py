"""The gate passes a packet once the credits of its class suffice, and keeps every byte."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.pcie.core.tlp import Tlp, TlpType
from handshake import LIMIT, PACKETS, never, often, reset, start_clock
from packets import PacketSink, PacketSource

KINDS = {
    TlpType.MEM_WRITE: 0,
    TlpType.MEM_WRITE_64: 0,
    TlpType.MEM_READ: 1,
    TlpType.MEM_READ_64: 1,
    TlpType.CFG_READ_0: 1,
    TlpType.CPL: 2,
    TlpType.CPL_DATA: 2,
}
MESSAGE = bytes([0x30, 0, 0, 0, 0, 0, 0, 0x30]) + bytes(8)
"""An error message to the root complex, without data."""


def packet(draw: random.Random) -> tuple[bytes, int, int]:
    """A packet of a random type, its class, and its data credits as cocotbext-pcie counts them."""
    if draw.random() < 0.1:
        return MESSAGE, 0, 0
    kind = draw.choice(list(KINDS))
    tlp = Tlp()
    tlp.fmt_type = kind
    if kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64, TlpType.CPL_DATA):
        tlp.set_data(draw.randbytes(4 * draw.randrange(1, 40)))
    else:
        tlp.length = 1
    if kind in (TlpType.MEM_WRITE_64, TlpType.MEM_READ_64):
        tlp.address = 1 << 40
    return bytes(tlp.pack()), KINDS[kind], tlp.get_data_credits()


@dataclass
class Link:
    """The receiver's end: what it has granted of each class, and what was sent."""

    dut: Any
    headers: list[int] = field(default_factory=lambda: [0, 0, 0])
    data: list[int] = field(default_factory=lambda: [0, 0, 0])

    def show(self) -> None:
        """Set the limits, modulo the sizes of the fields."""
        self.dut.header_limit_i.value = sum(n % 256 << 8 * k for k, n in enumerate(self.headers))
        self.dut.data_limit_i.value = sum(n % 4096 << 12 * k for k, n in enumerate(self.data))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_pass_within_their_credits(dut: Any) -> None:
    """The receiver grants now and then; a packet is out only with credits for it, and then soon."""
    start_clock(dut.clk_i)
    names = ["data", "bytes", "first", "last", "valid", "ready", "header_infinite", "data_infinite"]
    await reset(dut, [f"{name}_i" for name in names])
    draw, link = random.Random(18), Link(dut)
    link.show()
    packets = [packet(draw) for _ in range(3 * PACKETS)]
    sink = PacketSink(dut, often(19, 0.3))
    cocotb.start_soon(PacketSource(dut, often(20, 0.3)).send_packets([p for p, _, _ in packets]))
    used, used_data, received = [0, 0, 0], [0, 0, 0], list[bytes]()

    async def watch() -> None:
        for expected, kind, needed in packets:
            received.append(await sink.packet())
            assert received[-1] == expected
            used[kind] += 1
            used_data[kind] += needed
            assert used[kind] <= link.headers[kind]
            assert used_data[kind] <= link.data[kind]

    watching = cocotb.start_soon(watch())
    quiet = 0
    while not watching.done():
        await RisingEdge(dut.clk_i)
        quiet += 1
        if draw.random() < 0.05:
            kind = draw.randrange(3)
            link.headers[kind] = min(link.headers[kind] + draw.randrange(3), used[kind] + 100)
            link.data[kind] = min(link.data[kind] + draw.randrange(20), used_data[kind] + 1500)
            link.show()
        assert quiet < 2000 * PACKETS, "the gate holds a packet that has credits"
    await watching


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_packet_without_credits_waits_and_one_with_infinite_credits_does_not(dut: Any) -> None:
    """A write of 17 bytes needs a header credit and two data credits."""
    start_clock(dut.clk_i)
    names = ["data", "bytes", "first", "last", "valid", "ready", "header_infinite", "data_infinite"]
    await reset(dut, [f"{name}_i" for name in names])
    link = Link(dut, headers=[1, 0, 0], data=[1, 0, 0])
    link.show()
    tlp = Tlp()
    tlp.fmt_type = TlpType.MEM_WRITE
    tlp.set_data(bytes(20))
    sink = PacketSink(dut, never)
    cocotb.start_soon(PacketSource(dut, never).send_packets([bytes(tlp.pack())] * 2))
    receiving = cocotb.start_soon(sink.packets(2))
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    assert int(dut.waits_o.value) == 1
    assert int(dut.valid_o.value) == 0
    link.data[0] = 2
    link.show()
    for _ in range(20):
        await RisingEdge(dut.clk_i)
    assert int(dut.waits_o.value) == 1, "the second packet waits"
    dut.header_infinite_i.value = 1
    dut.data_infinite_i.value = 1
    assert await receiving == [bytes(tlp.pack())] * 2
