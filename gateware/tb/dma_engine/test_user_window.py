"""A stream of whole words, given out in pieces; each transfer begins with a word."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, start_clock


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def pieces_are_the_bytes_of_the_words(dut: Any) -> None:
    """A word is taken with its first byte; the rest of the last word is dropped at a start."""
    start_clock(dut.clk_i)
    draw = random.Random(1)
    dut.pop_i.value = 0
    dut.valid_i.value = 1
    taken = 0
    for _ in range(PACKETS):
        dut.start_i.value = 1
        await RisingEdge(dut.clk_i)
        dut.start_i.value = 0
        stream = draw.randbytes(256)
        taken = at = 0
        for pop in [draw.randrange(9) for _ in range(draw.randrange(1, 16))]:
            dut.data_i.value = int.from_bytes(stream[8 * taken : 8 * taken + 8], "little")
            dut.pop_i.value = pop
            await ReadOnly()
            window = int(dut.data_o.value).to_bytes(8, "little") if pop else b""
            assert window[:pop] == stream[at : at + pop]
            moves = int(dut.ready_o.value)
            assert moves == (at + pop > 8 * taken), "a word is taken with its first byte"
            await RisingEdge(dut.clk_i)
            taken += moves
            at += pop
        dut.pop_i.value = 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def without_a_word_no_byte_is_promised(dut: Any) -> None:
    """The level is that of the largest packet while there is a word."""
    start_clock(dut.clk_i)
    dut.pop_i.value = 0
    for valid in (0, 1, 0):
        dut.valid_i.value = valid
        await ReadOnly()
        assert int(dut.level_o.value) == 4096 * valid
        await RisingEdge(dut.clk_i)
