"""Each transfer that ends requests the interrupt of its unit; the user's logic has its own."""

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
    await reset(dut, ["bus_master_i", "done_i", "ready_i", "user_valid_i", "user_vector_i"])
    draw, waiting, offered, taken = random.Random(3), set[int](), None, 0
    user, of_user = None, 0
    for step in range(60 * PACKETS):
        master = int(step // 40 % 3 != 1)
        done = {unit for unit in range(3) if draw.random() < 0.15}
        ready, restart = int(draw.random() < 0.4), int(draw.random() < 0.01)
        bits = sum(1 << unit for unit in done)
        if user is None and draw.random() < 0.1:
            user = draw.randint(3, 2047)
        drive(dut, bus_master=master, done=bits, ready=ready, rst=restart)
        drive(
            dut,
            user_valid=user is not None,
            user_vector=draw.getrandbits(11) if user is None else user,
        )
        await ReadOnly()
        valid, busy = read(dut, "valid", "busy")
        assert valid == (offered is not None)
        assert busy == (bool(waiting) or user is not None or offered is not None)
        may_offer = offered is None or ready
        assert read(dut, "user_ready")[0] == (not waiting and master and may_offer)
        if offered is not None:
            assert read(dut, "vector") == (offered,)
        await RisingEdge(dut.clk_i)
        if may_offer:
            taken += offered is not None
            offered = None
            if waiting and master:
                offered = min(waiting)
                waiting.discard(offered)
            elif user is not None and master:
                offered, user, of_user = user, None, of_user + 1
        waiting |= done
        if restart:
            waiting, offered = set(), None
    assert taken > PACKETS
    assert of_user > PACKETS // 5
