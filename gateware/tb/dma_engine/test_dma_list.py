"""A list in the engine's memory: what the CPU writes are the ranges of a transfer."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, Sink, drive, never, often, read, reset, rises, start_clock

INPUTS = ["write_word", "write_data", "write_lanes", "write_valid", "read_word", "read"]
INPUTS += ["start", "count", "stop", "ready"]


class List:
    """The circuit, and its memory as the CPU has written it: two words for each descriptor."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.draw = dut, random.Random(seed)
        self.rows = int(dut.DESCRIPTORS.value)
        self.words = [bytearray(8) for _ in range(2 * self.rows)]

    async def begin(self) -> None:
        """Clock, reset, and a memory without unknown bytes."""
        start_clock(self.dut.clk_i)
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        for word in range(2 * self.rows):
            await self.write(word, self.draw.randbytes(8), 0xFF)

    async def write(self, word: int, data: bytes, lanes: int) -> None:
        """Write some bytes of a word; words behind the memory do not exist."""
        dut = self.dut
        drive(dut, write_word=word, write_data=int.from_bytes(data, "little"))
        drive(dut, write_lanes=lanes, write_valid=1)
        await RisingEdge(dut.clk_i)
        drive(dut, write_valid=0, write_word=self.draw.getrandbits(13))
        for lane in range(8):
            if lanes >> lane & 1 and word < len(self.words):
                self.words[word][lane] = data[lane]

    def range(self, row: int) -> tuple[int, int]:
        """Address and length of a descriptor."""
        address, length = self.words[2 * row], self.words[2 * row + 1]
        return int.from_bytes(address, "little"), int.from_bytes(length[:4], "little")

    async def start(self, count: int) -> None:
        """Begin a transfer."""
        drive(self.dut, start=1, count=count)
        await RisingEdge(self.dut.clk_i)
        drive(self.dut, start=0, count=self.draw.getrandbits(64))

    def sink(self, pause: Any) -> Sink:
        """The taker of ranges."""
        dut = self.dut
        outputs = [dut.address_o, dut.length_o]
        return Sink(dut.clk_i, outputs, dut.valid_o, dut.ready_i, pause)

    async def is_at_its_end(self) -> None:
        """Check that no range comes any more."""
        self.dut.ready_i.value = 0
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)
            await ReadOnly()
            assert read(self.dut, "valid", "end") == (0, 1)
        await RisingEdge(self.dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_word_that_was_written_is_read(dut: Any) -> None:
    """Any bytes of it, within the memory alone; the word that was read last stays."""
    memory = List(dut, 8)
    await memory.begin()
    draw, edge = memory.draw, len(memory.words)
    expected = bytes(8)
    for step in range(20 * PACKETS):
        await memory.write(
            draw.choice([draw.randrange(edge), edge + draw.randrange(4), draw.getrandbits(13)]),
            draw.randbytes(8),
            draw.getrandbits(8),
        )
        word = draw.choice([draw.randrange(edge), edge, draw.getrandbits(13)])
        reads = step == 0 or draw.random() < 0.7
        drive(dut, read_word=word, read=reads)
        await RisingEdge(dut.clk_i)
        dut.read_i.value = 0
        await ReadOnly()
        if reads:
            expected = bytes(memory.words[word]) if word < edge else bytes(8)
        assert read(dut, "read_data")[0].to_bytes(8, "little") == expected, word
        await RisingEdge(dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def the_ranges_of_a_transfer_are_its_descriptors(dut: Any) -> None:
    """From the first one on; a list longer than the memory fails after the last descriptor."""
    memory = List(dut, 9)
    await memory.begin()
    draw, rows = memory.draw, memory.rows
    counts = [0, 1, rows - 1, rows, rows + 1, 1 << 32, 1 << 63]
    for number in range(2 * PACKETS):
        sink = memory.sink((never, often(number), often(number, 0.8))[number % 3])
        count = counts[number % len(counts)] if number % 2 else draw.randint(1, rows)
        await memory.write(draw.randrange(2 * rows), draw.randbytes(8), 0xFF)
        await memory.start(count)
        for row in range(min(count, rows)):
            assert await sink.take() == memory.range(row)
        await memory.is_at_its_end()
        assert read(dut, "failed") == (count > rows,)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_range_leaves_each_cycle(dut: Any) -> None:
    """The first one two cycles after the start; the list ends when the last one is taken."""
    memory = List(dut, 10)
    await memory.begin()
    dut.ready_i.value = 1
    await memory.start(memory.rows)
    for row in range(-1, memory.rows):
        await ReadOnly()
        assert read(dut, "valid", "end") == (row >= 0, 0)
        if row >= 0:
            assert read(dut, "address", "length") == memory.range(row)
        await RisingEdge(dut.clk_i)
    await memory.is_at_its_end()


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_list_that_is_stopped_or_reset_has_no_further_range(dut: Any) -> None:
    """In any cycle of a transfer; the next transfer begins with the first descriptor."""
    memory = List(dut, 11)
    await memory.begin()
    for number in range(PACKETS):
        await memory.start(memory.rows + 1)
        sink = memory.sink(never)
        for row in range(number % memory.rows):
            assert await sink.take() == memory.range(row)
        end = dut.rst_i if number % 2 else dut.stop_i
        end.value = 1
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await memory.is_at_its_end()
        assert read(dut, "failed") == (end is dut.stop_i,)
        dut.stop_i.value = 0
        await memory.start(2)
        dut.ready_i.value = 1
        await rises(dut.valid_o)
        await ReadOnly()
        assert read(dut, "address", "length") == memory.range(0)
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        dut.ready_i.value = 0
        await memory.is_at_its_end()
