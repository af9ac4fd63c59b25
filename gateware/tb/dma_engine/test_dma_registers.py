"""The registers in BAR 2: a block for each unit, the user circuit's, and the counters."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from dma_engine.test_dma_unit_registers import Unit, Writer, within
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

UNITS = 3
CROSSED, REPLY, TRIP, COUNTERS = 0x20, 0x21, 0x22, 0x40
"""Offsets in words; TRIP has TIME_PEER in its upper half."""
NUMBERS = 13
OUTPUTS = {
    "address": 64,
    "length": 64,
    "payload": 32,
    "label": 32,
    "traffic_class": 3,
    "pattern": 64,
}
"""The ports with a part for each unit, and the bits of a part."""


class Registers:
    """The registers as they should be after each edge."""

    def __init__(self) -> None:
        self.units = [Unit() for _ in range(UNITS)]
        self.user = {word: bytearray(8) for word in (CROSSED, REPLY, TRIP)}
        self.times = False
        self.upper: tuple[int, int] | None = None
        """The counter whose lower half was read last, and its upper half then."""

    def value(self, word: int, count: int, *, upper: bool) -> int:
        """What a read returns."""
        if word // 8 < UNITS:
            return self.units[word // 8].number(word % 8) if word % 8 < 6 else 0
        if word in self.user:
            return int.from_bytes(self.user[word], "little")
        number = word - COUNTERS
        if not 0 <= number < 16:
            return 0
        if not upper:
            self.upper = (number, count >> 32)
        elif self.upper and self.upper[0] == number:
            return self.upper[1] << 32 | count & 0xFFFF_FFFF
        return count

    def edge(self, write: dict[str, Any] | None, timed: int | None) -> None:
        """A word is written; the peer timer ends with this time."""
        self.times = False
        if write and write["word"] in self.user:
            for lane in range(8):
                if write["lanes"] >> lane & 1:
                    self.user[write["word"]][lane] = write["data"][lane]
            self.times = write["word"] == TRIP and bool(write["lanes"] >> 4 & 1)
        if timed is not None:
            self.user[TRIP][:] = timed.to_bytes(8, "little")


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_register_is_read_as_it_was_written(dut: Any) -> None:
    """Each unit has its own; both halves of a counter are of one time."""
    start_clock(dut.clk_i)
    names = ["write_word", "write_data", "write_lanes", "write_valid", "write_last", "write_cut"]
    names += ["read_word", "count", "read", "upper", "busy", "done", "result", "timer", "timed"]
    await reset(dut, [f"{name}_i" for name in [*names, "cycles"]])
    draw, is_, expected = random.Random(13), Registers(), None
    places = [*range(8 * UNITS), *(8 * u + 2 for u in range(UNITS)), CROSSED, REPLY, TRIP, TRIP]
    writer = Writer(draw, places)
    number = 0
    for _ in range(60 * PACKETS):
        write, busy, done = writer.word(), draw.getrandbits(3), draw.getrandbits(3)
        done &= draw.getrandbits(3) & draw.getrandbits(3)
        result, timer = draw.getrandbits(9), draw.getrandbits(96)
        timed, restart = draw.random() < 0.05, draw.random() < 0.005
        cycles = draw.getrandbits(32)
        number = draw.choice([number, draw.randrange(NUMBERS)])
        word = draw.choice([*places, *[COUNTERS + number] * 25, draw.getrandbits(13)])
        reads, upper, count = draw.random() < 0.7, draw.random() < 0.5, draw.getrandbits(64)
        writer.offer(dut, write)
        drive(dut, busy=busy, done=done, result=result, timer=timer, timed=timed, cycles=cycles)
        drive(dut, read_word=word, read=reads, upper=upper, count=count, rst=restart)
        await ReadOnly()
        begins = [unit.pending and not busy >> u & 1 for u, unit in enumerate(is_.units)]
        assert read(dut, "start") == (sum(one << u for u, one in enumerate(begins)),)
        for place, (name, bits) in enumerate(OUTPUTS.items()):
            whole = sum(unit.outputs()[place] << u * bits for u, unit in enumerate(is_.units))
            assert read(dut, name) == (whole,), name
        reply = int.from_bytes(is_.user[REPLY], "little")
        times = is_.times and is_.user[TRIP][4] & 1
        assert read(dut, "crossed", "reply") == (is_.user[CROSSED][0] & 1, reply)
        assert read(dut, "time_peer") == (times,)
        if expected is not None:
            assert read(dut, "read_data") == (expected,)
        await RisingEdge(dut.clk_i)
        if reads:
            expected = is_.value(word, count, upper=upper)
        for u, unit in enumerate(is_.units):
            ends = (result >> 3 * u & 7, timer >> 32 * u & 0xFFFF_FFFF) if done >> u & 1 else None
            unit.edge(within(write, u), starts=begins[u], done=ends)
        is_.edge(write, cycles if timed else None)
        if restart:
            is_, writer.left = Registers(), 0
