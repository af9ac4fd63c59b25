"""The arbiter grants as its rule says, whatever the requests."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, reset, start_clock


def rule(requests: list[int], fixed: int, after: int, ports: int) -> int | None:
    """The port to grant: the first urgent one, else the next one after the last turn."""
    urgent = [port for port in requests if port < fixed]
    if urgent:
        return urgent[0]
    turns = [port for k in range(ports) if (port := (after + 1 + k) % ports) in requests]
    return turns[0] if turns else None


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def grants_follow_the_rule(dut: Any) -> None:
    """Random requests, taken at random."""
    start_clock(dut.clk_i)
    await reset(dut, ["request_i", "take_i"])
    ports, fixed = int(dut.PORTS.value), int(dut.FIXED.value)
    draw, after = random.Random(2), ports - 1
    for _ in range(20 * PACKETS):
        word = draw.getrandbits(ports) & draw.getrandbits(ports)
        take = draw.getrandbits(1)
        dut.request_i.value, dut.take_i.value = word, take
        await ReadOnly()
        expected = rule([k for k in range(ports) if word >> k & 1], fixed, after, ports)
        assert int(dut.grant_o.value) == (0 if expected is None else 1 << expected)
        if take and expected is not None and expected >= fixed:
            after = expected
        await RisingEdge(dut.clk_i)
