"""Data that comes in any order leaves in the order of the requests."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, Sink, never, often, reset, start_clock
from packets import beats

INPUTS = ["open_tag", "open_valid", "write", "write_tag", "write_place", "write_data"]
INPUTS += ["write_lanes", "write_ahead", "end_tag", "end_bytes", "end_result", "end", "ready"]
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
        content = self.draw.randbytes(self.draw.randrange(1, self.size + 1))
        content = b"" if result and self.draw.random() < 0.5 else content
        self.order.append((content, result))
        self.waiting.append((tag, content, result))
        self.dut.open_tag_i.value, self.dut.open_valid_i.value = tag, 1
        await RisingEdge(self.dut.clk_i)
        self.dut.open_valid_i.value = 0

    async def end(self) -> None:
        """Write the data of any open request, each beat in two parts, and end it.

        A request that fails has no data, or some that came before its error.
        """
        dut, every = self.dut, (1 << self.lanes) - 1
        tag, content, result = self.waiting.pop(self.draw.randrange(len(self.waiting)))
        dut.write_tag_i.value = dut.end_tag_i.value = tag
        dut.end_bytes_i.value = 0 if result else len(content)
        dut.end_result_i.value, dut.write_ahead_i.value = result, 1
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
async def data_of_the_oldest_request_leaves_before_the_request_has_ended(dut: Any) -> None:
    """All whole beats but the last one that came, unless `write_ahead` forbids it."""
    start_clock(dut.clk_i)
    for ahead in (1, 0):
        await reset(dut, [f"{name}_i" for name in INPUTS])
        lanes = len(dut.data_o) // 8
        dut.write_ahead_i.value = ahead
        dut.ready_i.value = dut.open_valid_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.open_valid_i.value = 0
        dut.write_i.value, dut.write_lanes_i.value = 1, (1 << lanes) - 1
        left = 0
        for place in range(12):
            dut.write_place_i.value = place if place < 8 else 7
            dut.write_i.value = int(place < 8)
            await ReadOnly()
            left += int(dut.valid_o.value)
            await RisingEdge(dut.clk_i)
        assert left == 7 * ahead


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
            whole, expected = bench.order[number]
            assert result == expected
            assert whole.startswith(content) if result else content == whole
        await RisingEdge(dut.clk_i)
