"""A range of bytes is cut into the payloads of its requests."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from handshake import LIMIT, PACKETS, Sink, Source, never, often, reset, start_clock
from packets import beats


async def run(dut: Any, ranges: list[list[int]], pauses: Any) -> None:
    """Cut ranges into requests of the given sizes and compare each payload."""
    lanes = len(dut.data_i) // 8
    draw = random.Random(21)
    contents = [draw.randbytes(sum(sizes)) for sizes in ranges]
    source = Source(dut.clk_i, [dut.data_i], dut.valid_i, dut.ready_o, pauses[0])
    asked = [dut.request_skip_i, dut.request_reach_i, dut.request_last_i]
    requests = Source(dut.clk_i, asked, dut.request_valid_i, dut.request_ready_o, pauses[1])
    outputs = [dut.data_o, dut.bytes_o, dut.skip_o, dut.first_o, dut.last_o]
    sink = Sink(dut.clk_i, outputs, dut.valid_o, dut.ready_i, pauses[2])
    cocotb.start_soon(source.send([beat[:1] for one in contents for beat in beats(one, lanes)]))
    words = []
    for sizes in ranges:
        for k, size in enumerate(sizes):
            skip = sum(sizes[:k]) % lanes
            words.append((skip, skip + size, int(k + 1 == len(sizes))))
    cocotb.start_soon(requests.send(words))
    for content, sizes in zip(contents, ranges, strict=True):
        at = 0
        for size in sizes:
            payload, done = b"", 0
            while not done:
                data, count, skip, first, done = await sink.take()
                assert first == (payload == b"")
                payload += data.to_bytes(lanes, "little")[skip if first else 0 : count]
            assert payload == content[at : at + size]
            at += size


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def payloads_are_the_bytes_of_their_requests(dut: Any) -> None:
    """Random sizes, with pauses at all interfaces."""
    start_clock(dut.clk_i)
    names = ["data", "valid", "ready"]
    names += [f"request_{name}" for name in ("skip", "reach", "last", "valid")]
    await reset(dut, [f"{name}_i" for name in names])
    draw = random.Random(22)
    for pauses in ((never, never, never), (often(23), often(24), often(25))):
        ranges = [
            [
                draw.choice([1, 3, 31, 32, 64, 125, 128, draw.randrange(1, 300)])
                for _ in range(draw.randrange(1, 5))
            ]
            for _ in range(PACKETS // 3)
        ]
        await run(dut, ranges, pauses)
