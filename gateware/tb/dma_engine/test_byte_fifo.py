"""The FIFO of bytes passes every byte on, in order, whatever the sizes of the pieces."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock, value_of

SHARES = [(0.9, 0.3), (0.3, 0.9), (0.9, 0.9)]
"""Shares of the cycles in which bytes are offered and taken: the FIFO fills, empties, flows."""


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def bytes_come_out_in_order(dut: Any) -> None:
    """Pieces of 1 to 8 bytes, with resets; level and space are known in each cycle."""
    start_clock(dut.clk_i)
    await reset(dut, ["data_i", "bytes_i", "valid_i", "pop_i"])
    capacity = int(dut.BYTES.value)
    draw, held = random.Random(1), bytearray()
    for step in range(60 * PACKETS):
        offers, takes = SHARES[step // 50 % len(SHARES)]
        data, count = draw.randbytes(8), draw.choice([1, 8, draw.randint(1, 8)])
        valid = draw.random() < offers
        most = min(8, len(held))
        pop = draw.choice([most, draw.randint(0, most)]) if draw.random() < takes else 0
        restart = draw.random() < 0.005
        drive(dut, data=int.from_bytes(data, "little"), bytes=count, valid=valid, pop=pop)
        drive(dut, rst=restart)
        await ReadOnly()
        level, ready = read(dut, "level", "ready")
        assert (level, ready) == (len(held), len(held) <= capacity - 8)
        assert value_of(dut.data_o).to_bytes(8, "little")[:most] == held[:most]
        await RisingEdge(dut.clk_i)
        del held[:pop]
        if valid and ready:
            held += data[:count]
        if restart:
            held.clear()
