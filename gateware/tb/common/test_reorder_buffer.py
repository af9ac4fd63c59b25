"""Data that comes in any order leaves in the order of the requests."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from handshake import PACKETS, Sink, never, often, reset, start_clock
from packets import beats

INPUTS = ["open_tag", "open_valid", "write", "write_tag", "write_place", "write_data", "write_lanes", "end_tag", "end_bytes", "end_result", "end", "ready"]


@cocotb.test()
async def data_leaves_in_the_order_of_the_requests(dut: Any) -> None:
    """Random sizes and order, some requests without data, with pauses at the output."""
    start_clock(dut.clk_i)
    await reset(dut, [f"{name}_i" for name in INPUTS])
    lanes = len(dut.data_o) // 8
    slots, size = int(dut.SLOTS.value), int(dut.SLOT_BYTES.value)
    draw = random.Random(30)
    for pause in (never, often(31, 0.7)):
        free, order, opened = list(range(slots)), list[tuple[bytes, int]](), 0
        waiting: list[tuple[int, bytes, int]] = []
        outputs = [dut.data_o, dut.bytes_o, dut.first_o, dut.last_o, dut.result_o]
        sink = Sink(dut.clk_i, outputs, dut.valid_o, dut.ready_i, pause)

        async def give_back() -> None:
            while True:
                await RisingEdge(dut.clk_i)
                if int(dut.free_o.value):
                    free.append(int(dut.free_tag_o.value))

        async def fill() -> None:
            nonlocal opened
            while opened < PACKETS or waiting:
                if free and opened < PACKETS and draw.random() < 0.6:
                    tag = free.pop(draw.randrange(len(free)))
                    failed = draw.random() < 0.2
                    content = b"" if failed else draw.randbytes(draw.randrange(1, size + 1))
                    order.append((content, 1 if failed else 0))
                    waiting.append((tag, content, order[-1][1]))
                    opened += 1
                    dut.open_tag_i.value, dut.open_valid_i.value = tag, 1
                    await RisingEdge(dut.clk_i)
                    dut.open_valid_i.value = 0
                elif waiting:
                    tag, content, result = waiting.pop(draw.randrange(len(waiting)))
                    dut.write_tag_i.value = dut.end_tag_i.value = tag
                    dut.end_bytes_i.value, dut.end_result_i.value = len(content), result
                    for place, (data, _, _, last) in enumerate(beats(content, lanes)):
                        dut.write_place_i.value, dut.write_data_i.value = place, data
                        dut.write_i.value, dut.end_i.value = 1, 0
                        lanes_first = draw.getrandbits(lanes)
                        dut.write_lanes_i.value = lanes_first
                        await RisingEdge(dut.clk_i)
                        dut.write_lanes_i.value = (1 << lanes) - 1 - lanes_first
                        dut.end_i.value = last
                        await RisingEdge(dut.clk_i)
                    if not content:
                        dut.end_i.value = 1
                        await RisingEdge(dut.clk_i)
                    dut.write_i.value, dut.end_i.value = 0, 0
                else:
                    await RisingEdge(dut.clk_i)

        giving = cocotb.start_soon(give_back())
        cocotb.start_soon(fill())
        for number in range(PACKETS):
            content, done = b"", 0
            while not done:
                data, count, first, done, result = await sink.take()
                assert first == (content == b"")
                content += data.to_bytes(lanes, "little")[:count]
            assert (content, result) == order[number]
        giving.cancel()
        await RisingEdge(dut.clk_i)
