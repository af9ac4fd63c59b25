"""The FIFO between two clocks passes every word on, in order, whatever the clocks."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from handshake import LIMIT, PACKETS, Sink, Source, pauses, start_clock


async def run(dut: Any, write: int, read: int) -> None:
    """Words through the FIFO, with clocks of these periods."""
    start_clock(dut.write_clk_i, write)
    start_clock(dut.read_clk_i, read)
    dut.valid_i.value = 0
    dut.ready_i.value = 0
    dut.write_rst_i.value = 1
    dut.read_rst_i.value = 1
    for _ in range(3):
        await RisingEdge(dut.read_clk_i if read > write else dut.write_clk_i)
    dut.write_rst_i.value = 0
    dut.read_rst_i.value = 0
    draw = random.Random(write * 100 + read)
    for before, after in pauses():
        words = [(draw.getrandbits(len(dut.data_i)),) for _ in range(PACKETS)]
        source = Source(dut.write_clk_i, [dut.data_i], dut.valid_i, dut.ready_o, before)
        sink = Sink(dut.read_clk_i, [dut.data_o], dut.valid_o, dut.ready_i, after)
        await RisingEdge(dut.write_clk_i)
        sending = cocotb.start_soon(source.send(words))
        await RisingEdge(dut.read_clk_i)
        assert await sink.collect(len(words)) == words
        await sending


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def words_come_out_in_order_with_equal_clocks(dut: Any) -> None:
    """Both at 250 MHz."""
    await run(dut, 4, 4)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def words_come_out_in_order_to_a_slower_clock(dut: Any) -> None:
    """The reader has a clock that is no multiple of the writer's."""
    await run(dut, 4, 10)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def words_come_out_in_order_to_a_faster_clock(dut: Any) -> None:
    """The writer has a clock that is no multiple of the reader's."""
    await run(dut, 14, 4)
