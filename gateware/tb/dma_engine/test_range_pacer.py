"""The pacer keeps the ranges of a unit apart."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_range_is_passed_some_cycles_after_the_unit_was_busy(dut: Any) -> None:
    """Without a pace at once, and in the cycle after a reset."""
    start_clock(dut.clk_i)
    await reset(dut, ["start_i", "holds_i", "valid_i", "ready_i"])
    pace = int(dut.CYCLES.value)
    apart = max(0, pace - int(dut.LEAST.value))
    draw, quiet, passed = random.Random(2), apart, 0
    for _ in range(60 * PACKETS):
        start, holds, valid, ready, restart = (
            int(draw.random() < share) for share in (0.02, 0.08, 0.8, 0.8, 0.02)
        )
        drive(dut, start=start, holds=holds, valid=valid, ready=ready, rst=restart)
        await ReadOnly()
        is_open = not pace or (quiet >= apart and not holds and not start)
        assert read(dut, "valid", "ready") == (valid and is_open, ready and is_open), quiet
        await RisingEdge(dut.clk_i)
        taken = bool(valid and ready and is_open)
        passed += taken
        quiet = apart if restart else 0 if start or holds or taken else quiet + 1
    assert passed > PACKETS
