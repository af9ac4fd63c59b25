"""The counter lets a packet pass where the credits of its class suffice, and nowhere else."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, reset, start_clock


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_packet_passes_with_its_credits_alone(dut: Any) -> None:
    """Random grants and packets, with each infinite or not, until the counters have wrapped."""
    start_clock(dut.clk_i)
    bits = {name: int(getattr(dut, f"{name.upper()}_BITS").value) for name in ("header", "data")}
    half = {name: 1 << count - 1 for name, count in bits.items()}
    draw = random.Random(27)
    for header_infinite in (0, 1):
        for data_infinite in (0, 1):
            infinite = {"header": header_infinite, "data": data_infinite}
            await reset(dut, ["take_i", "need_i", "header_limit_i", "data_limit_i"])
            for name, value in infinite.items():
                getattr(dut, f"{name}_infinite_i").value = value
            limits, used = {"header": 0, "data": 0}, {"header": 0, "data": 0}
            held = 0
            for _ in range(20 * PACKETS):
                need = {"header": 1, "data": draw.choice([0, 1, draw.randrange(half["data"])])}
                for name, limit in limits.items():
                    # What is granted and not used is less than half of the field.
                    most = half[name] - 1 - (limit - used[name])
                    if not infinite[name]:
                        limits[name] += draw.choice([0, 0, draw.randint(0, most), most])
                    getattr(dut, f"{name}_limit_i").value = limits[name] % (1 << bits[name])
                dut.need_i.value = need["data"]
                await ReadOnly()
                suffices = all(infinite[n] or used[n] + need[n] <= limits[n] for n in used)
                assert int(dut.ok_o.value) == suffices, (used, need, limits, infinite)
                await RisingEdge(dut.clk_i)
                held += not suffices
                takes = suffices and draw.random() < 0.8
                dut.take_i.value = int(takes)
                if takes:
                    used = {name: used[name] + need[name] for name in used}
                await RisingEdge(dut.clk_i)
                dut.take_i.value = 0
            assert held > 0 or (header_infinite and data_infinite)
            assert all(used[name] > 2 << bits[name] for name in used)
