"""The peer timer alone: the cycles from the first data that leaves to the first that arrives."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

ARMED, BEGUN = "armed", "begun"


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def the_time_ends_with_the_first_data_or_after_the_timeout(dut: Any) -> None:
    """Pulses in any order; each step counts only after the one before it."""
    start_clock(dut.clk_i)
    await reset(dut, ["arm_i", "start_i", "sends_i", "arrives_i"])
    timeout = int(dut.TIMEOUT.value)
    draw, ends = random.Random(7), {True: 0, False: 0}
    state: str | int | None = None  # the cycle of the first data, where the time runs
    for cycle in range(100 * PACKETS):
        late = cycle // 200 % 2
        shares = (0.05, 0.3, 0.3, 0.01 if late else 0.2, 0.01)
        arm, start, sends, arrives, restart = (int(draw.random() < share) for share in shares)
        drive(dut, arm=arm, start=start, sends=sends, arrives=arrives, rst=restart)
        await ReadOnly()
        runs = isinstance(state, int)
        passed = cycle - state if isinstance(state, int) else 0
        done = runs and bool(arrives or passed >= timeout)
        assert read(dut, "done", "busy") == (done, runs)
        if done:
            ends[bool(arrives)] += 1
            assert read(dut, "cycles") == (passed if arrives else 0,)
        await RisingEdge(dut.clk_i)
        if state == ARMED and start:
            state = BEGUN
        elif state == BEGUN and sends:
            state = cycle
        elif done:
            state = None
        if arm:
            state = ARMED
        if restart:
            state = None
    assert min(ends.values()) > PACKETS // 5
