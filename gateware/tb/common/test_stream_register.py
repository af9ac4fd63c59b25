"""The register in a stream keeps every packet."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from handshake import LIMIT, PACKETS, pauses, reset, start_clock
from packets import PacketSink, PacketSource


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_come_out_whole_and_in_order(dut: Any) -> None:
    """With every pair of pauses."""
    start_clock(dut.clk_i)
    await reset(dut, [f"{name}_i" for name in ("data", "bytes", "first", "last", "valid", "ready")])
    draw = random.Random(34)
    for before, after in pauses():
        packets = [draw.randbytes(draw.randrange(1, 60)) for _ in range(PACKETS)]
        cocotb.start_soon(PacketSource(dut, before).send_packets(packets))
        assert await PacketSink(dut, after).packets(len(packets)) == packets
