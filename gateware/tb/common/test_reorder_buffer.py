"""Data that comes in any order leaves in the order of the requests."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from handshake import LIMIT, PACKETS, Sink, never, often, reset, start_clock
from packets import beats

INPUTS = ["open_tag", "open_valid", "write", "write_tag", "write_place", "write_data"]
INPUTS += ["write_lanes", "end_tag", "end_bytes", "end_result", "end", "ready"]
UNSUPPORTED = 1


class Bench:
    """The circuit, the requests that are open, and those whose data has not come."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.lanes = len(dut.data_o) // 8
        self.size = int(dut.SLOT_BYTES.value)
        self.free = list(range(int(dut.SLOTS.value)))
        self.order: list[tuple[bytes, int]] = []
        self.waiting: list[tuple[int, bytes, int]] = []
        self.draw = random.Random(30)

    async def give_back(self) -> None:
        """Note the slots that are free again."""
        while True:
            await RisingEdge(self.dut.clk_i)
            if int(self.dut.free_o.value):
                self.free.append(int(self.dut.free_tag_o.value))

    async def open(self) -> None:
        """Open a request; some will have no data."""
        tag = self.free.pop(self.draw.randrange(len(self.free)))
        result = UNSUPPORTED if self.draw.random() < 0.2 else 0
        content = b"" if result else self.draw.randbytes(self.draw.randrange(1, self.size + 1))
        self.order.append((content, result))
        self.waiting.append((tag, content, result))
        self.dut.open_tag_i.value, self.dut.open_valid_i.value = tag, 1
        await RisingEdge(self.dut.clk_i)
        self.dut.open_valid_i.value = 0

    async def end(self) -> None:
        """Write the data of any open request, each beat in two parts, and end it."""
        dut, every = self.dut, (1 << self.lanes) - 1
        tag, content, result = self.waiting.pop(self.draw.randrange(len(self.waiting)))
        dut.write_tag_i.value = dut.end_tag_i.value = tag
        dut.end_bytes_i.value, dut.end_result_i.value = len(content), result
        for place, (data, _, _, last) in enumerate(beats(content, self.lanes)):
            some = self.draw.getrandbits(self.lanes)
            dut.write_place_i.value, dut.write_data_i.value = place, data
            dut.write_i.value = 1
            for lanes, ends in ((some, 0), (every - some, last)):
                dut.write_lanes_i.value, dut.end_i.value = lanes, ends
                await RisingEdge(dut.clk_i)
        if not content:
            dut.end_i.value = 1
            await RisingEdge(dut.clk_i)
        dut.write_i.value, dut.end_i.value = 0, 0

    async def fill(self, count: int) -> None:
        """Open and end requests in any order, until `count` are open or have ended."""
        while len(self.order) < count or self.waiting:
            if self.free and len(self.order) < count and self.draw.random() < 0.6:
                await self.open()
            elif self.waiting:
                await self.end()
            else:
                await RisingEdge(self.dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def data_leaves_in_the_order_of_the_requests(dut: Any) -> None:
    """Random sizes and order, some requests without data, with pauses at the output."""
    start_clock(dut.clk_i)
    await reset(dut, [f"{name}_i" for name in INPUTS])
    bench = Bench(dut)
    cocotb.start_soon(bench.give_back())
    for pause in (never, often(31, 0.7)):
        before = len(bench.order)
        cocotb.start_soon(bench.fill(before + PACKETS))
        outputs = [dut.data_o, dut.bytes_o, dut.first_o, dut.last_o, dut.result_o]
        sink = Sink(dut.clk_i, outputs, dut.valid_o, dut.ready_i, pause)
        for number in range(before, before + PACKETS):
            content, done = b"", 0
            while not done:
                data, count, first, done, result = await sink.take()
                assert first == (content == b"")
                content += data.to_bytes(bench.lanes, "little")[:count]
            assert (content, result) == bench.order[number]
        await RisingEdge(dut.clk_i)
