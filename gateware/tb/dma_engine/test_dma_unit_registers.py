"""The registers of a unit: the CPU writes any bytes of them, and START begins a transfer."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

WORDS = 6
PAYLOAD, STATUS, CLASS = 2, 3, 4
"""The words with START, TIMER and ERROR in their upper halves."""
START_LANE = 4
RUNNING, DONE, FAILED = 1, 2, 3


class Unit:
    """The registers as they should be after each edge."""

    def __init__(self) -> None:
        self.words = [bytearray(8) for _ in range(WORDS)]
        self.wrote = self.pending = False

    def number(self, word: int, begin: int = 0, end: int = 8) -> int:
        """Bytes of a word as a number."""
        return int.from_bytes(self.words[word][begin:end], "little")

    def put(self, word: int, begin: int, value: int) -> None:
        """Write 32 bits."""
        self.words[word][begin : begin + 4] = value.to_bytes(4, "little")

    def outputs(self) -> tuple[int, ...]:
        """Address, length, payload, label, traffic class, pattern."""
        halves = (self.number(PAYLOAD, 0, 4), self.number(PAYLOAD, 4))
        return (self.number(0), self.number(1), *halves, self.number(CLASS) & 7, self.number(5))

    def write(self, word: int | None, data: bytes, lanes: int, *, last: bool, cut: bool) -> None:
        """A word of a packet; None for a word elsewhere."""
        for lane in range(8):
            if word is not None and word < WORDS and lanes >> lane & 1:
                self.words[word][lane] = data[lane]
        self.wrote |= word == PAYLOAD and bool(lanes >> START_LANE & 1)
        self.pending = self.wrote and last and not cut
        self.wrote &= not last

    def edge(
        self, write: dict[str, Any] | None, *, starts: bool, done: tuple[int, int] | None
    ) -> None:
        """A word is written, a transfer starts, or ends with this result after this time."""
        self.pending = False
        if write:
            self.write(**write)
        if starts:
            self.put(STATUS, 0, RUNNING)
        if done:
            result, timer = done
            self.put(STATUS, 0, FAILED if result else DONE)
            self.put(STATUS, 4, timer)
            self.put(CLASS, 4, result)


class Writer:
    """Packets of register writes: a word in each cycle, or a pause."""

    def __init__(self, draw: random.Random, words: list[int]) -> None:
        self.draw, self.words, self.left = draw, words, 0

    def word(self) -> dict[str, Any] | None:
        """The word of this cycle, by the offset in words from the begin of the BAR."""
        draw = self.draw
        if draw.random() < 0.4:
            return None
        self.left = self.left - 1 if self.left else draw.randrange(3)
        return {
            "word": draw.choice([draw.choice(self.words), draw.getrandbits(15)]),
            "data": draw.randbytes(8),
            "lanes": draw.choice([0xFF, 0x0F, 0xF0, draw.getrandbits(8)]),
            "last": self.left == 0,
            "cut": draw.random() < 0.3,
        }

    def offer(self, dut: Any, write: dict[str, Any] | None) -> None:
        """Drive the ports."""
        dut.write_valid_i.value = write is not None
        if write:
            drive(dut, write_word=write["word"], write_lanes=write["lanes"])
            drive(dut, write_data=int.from_bytes(write["data"], "little"))
            drive(dut, write_last=write["last"], write_cut=write["cut"])


def within(write: dict[str, Any] | None, block: int) -> dict[str, Any] | None:
    """The write as the unit of a block sees it."""
    if write is None:
        return None
    word = write["word"]
    return write | {"word": word % 8 if word // 8 == block else None}


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_transfer_begins_after_the_packet_that_wrote_start(dut: Any) -> None:
    """Unless the unit works or the packet is malformed; its end is in STATUS, TIMER and ERROR."""
    start_clock(dut.clk_i)
    names = ["write_word", "write_data", "write_lanes", "write_valid", "write_last", "write_cut"]
    names += ["word", "read", "busy", "done", "result", "timer"]
    await reset(dut, [f"{name}_i" for name in names])
    block = int(dut.BLOCK.value)
    draw, unit, starts = random.Random(12), Unit(), 0
    near = [8 * block + k for k in (*range(8), PAYLOAD, PAYLOAD, PAYLOAD, PAYLOAD)]
    writer = Writer(draw, [*near, 8 * (block + 1) + PAYLOAD])
    for _ in range(60 * PACKETS):
        write, busy = writer.word(), draw.random() < 0.3
        done = (draw.choice([0, draw.randrange(8)]), draw.getrandbits(32))
        ends, restart = draw.random() < 0.1, draw.random() < 0.005
        word, reads = draw.randrange(8), draw.random() < 0.8
        writer.offer(dut, write)
        drive(dut, busy=busy, done=ends, result=done[0], timer=done[1])
        drive(dut, word=word, read=reads, rst=restart)
        await ReadOnly()
        begins = unit.pending and not busy
        starts += begins
        assert read(dut, "start") == (begins,)
        names = ["address", "length", "payload", "label", "traffic_class", "pattern"]
        assert read(dut, *names) == unit.outputs()
        assert read(dut, "word") == (unit.number(word) if reads and word < WORDS else 0,), word
        await RisingEdge(dut.clk_i)
        unit.edge(within(write, block), starts=begins, done=done if ends else None)
        if restart:
            unit, writer.left = Unit(), 0
    assert starts > PACKETS
