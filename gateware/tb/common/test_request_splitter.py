"""A range is cut into requests that obey the largest size and the page, and cover it."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from handshake import LIMIT, PACKETS, Sink, Source, never, often, reset, start_clock

Request = tuple[int, int, int]


def rule(address: int, length: int, code: int) -> list[Request]:
    """Address, bytes and last: an unaligned request has no more dwords than an aligned one."""
    found = []
    while length:
        most = min((128 << code) - address % 4, 4096 - address % 4096)
        size = min(length, most)
        found.append((address, size, int(size == length)))
        address, length = address + size, length - size
    return found


async def check(dut: Any, ranges: list[tuple[int, int]], code: int, pauses: Any) -> None:
    """Compare the requests of ranges with the rule."""
    dut.largest_i.value = 128 << code
    source = Source(dut.clk_i, [dut.address_i, dut.length_i], dut.valid_i, dut.ready_o, pauses[0])
    outputs = [dut.address_o, dut.bytes_o, dut.last_o]
    sink = Sink(dut.clk_i, outputs, dut.valid_o, dut.ready_i, pauses[1])
    expected = [one for address, length in ranges for one in rule(address, length, code)]
    cocotb.start_soon(source.send(ranges))
    assert await sink.collect(len(expected)) == expected


async def begin(dut: Any) -> None:
    """Clock and reset."""
    start_clock(dut.clk_i)
    await reset(dut, ["address_i", "length_i", "valid_i", "ready_i", "largest_i", "stop_i"])


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def ranges_of_every_alignment_are_cut_by_the_rule(dut: Any) -> None:
    """Each offset in a dword with lengths about the sizes, before and across a page."""
    await begin(dut)
    for code in range(6):
        edges = [1, 2, 3, 4, 5, 127, 128, 129, 255, 256, 4095, 4096, 4097]
        ranges = [
            (place + offset, length)
            for place in (0x1000, 0x1F80, 0xFFFF_FFF0, 0x12_3456_7FF0)
            for offset in range(0, 16, 3)
            for length in edges[: 6 + code]
        ]
        await check(dut, ranges, code, (never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def four_mebibytes_are_cut_to_the_last_byte(dut: Any) -> None:
    """With an odd address and the largest sizes."""
    await begin(dut)
    await check(dut, [(0xF_FFFF_F003, 4 << 20)], 5, (never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def random_ranges_are_cut_by_the_rule(dut: Any) -> None:
    """With pauses at both ends."""
    await begin(dut)
    draw = random.Random(8)
    for code in range(6):
        ranges = [(draw.getrandbits(50), draw.randrange(1, 3000)) for _ in range(PACKETS // 5)]
        await check(dut, ranges, code, (often(9), often(10)))
