"""Packets keep their bytes while they move to other lanes."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from handshake import LIMIT, PACKETS, never, often, reset, start_clock
from packets import PacketSink, PacketSource, beats


async def move(dut: Any, cases: list[tuple[bytes, int, int]], pauses: Any) -> None:
    """Send each packet with bytes to leave out and empty lanes, and compare what leaves."""
    source, sink = PacketSource(dut, pauses[0]), PacketSink(dut, pauses[1])

    async def send() -> None:
        for packet, skip, lead in cases:
            dut.skip_i.value, dut.lead_i.value = skip, lead
            await source.send(beats(packet, source.lanes))

    cocotb.start_soon(send())
    for packet, skip, lead in cases:
        assert await sink.packet() == bytes(lead) + packet[skip:], f"{len(packet)} {skip} {lead}"


async def begin(dut: Any) -> None:
    """Clock and reset."""
    start_clock(dut.clk_i)
    names = ["data", "bytes", "first", "last", "valid", "ready", "skip", "lead"]
    await reset(dut, [f"{name}_i" for name in names])


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def every_move_keeps_the_bytes(dut: Any) -> None:
    """Each pair of lanes, with packets of about one and two beats."""
    await begin(dut)
    lanes = len(dut.data_i) // 8
    draw = random.Random(12)
    lengths = [1, lanes - 1, lanes, lanes + 1, 2 * lanes, 2 * lanes + 3]
    cases = [
        (draw.randbytes(skip + length), skip, lead)
        for skip in range(lanes)
        for lead in range(lanes)
        for length in draw.sample(lengths, 1 if lanes > 8 else 6)
    ]
    await move(dut, cases, (never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def random_moves_keep_the_bytes(dut: Any) -> None:
    """With pauses at both ends."""
    await begin(dut)
    lanes = len(dut.data_i) // 8
    draw = random.Random(13)
    for pair in ((often(14), never), (never, often(15)), (often(16), often(17))):
        cases = []
        for _ in range(PACKETS):
            skip = draw.randrange(lanes)
            packet = draw.randbytes(skip + draw.randrange(1, 6 * lanes))
            cases.append((packet, skip, draw.randrange(lanes)))
        await move(dut, cases, pair)
