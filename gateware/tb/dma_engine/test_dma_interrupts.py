"""Each transfer that ends requests the interrupt of its unit."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def each_end_is_one_interrupt_and_the_lowest_unit_is_first(dut: Any) -> None:
    """None is offered without Bus Master Enable; one that was offered stays until it is taken."""
    start_clock(dut.clk_i)
    await reset(dut, ["bus_master_i", "done_i", "ready_i"])
    draw, waiting, offered, taken = random.Random(3), set[int](), None, 0
    for step in range(60 * PACKETS):
        master = int(step // 40 % 3 != 1)
        done = {unit for unit in range(3) if draw.random() < 0.15}
        ready, restart = int(draw.random() < 0.4), int(draw.random() < 0.01)
        bits = sum(1 << unit for unit in done)
        drive(dut, bus_master=master, done=bits, ready=ready, rst=restart)
        await ReadOnly()
        valid, busy = read(dut, "valid", "busy")
        assert (valid, busy) == (offered is not None, bool(waiting) or offered is not None)
        if offered is not None:
            assert read(dut, "vector") == (offered,)
        await RisingEdge(dut.clk_i)
        if offered is None or ready:
            taken += offered is not None
            offered = min(waiting) if waiting and master else None
            waiting.discard(-1 if offered is None else offered)
        waiting |= done
        if restart:
            waiting, offered = set(), None
    assert taken > PACKETS
