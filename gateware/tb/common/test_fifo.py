"""The FIFO with one clock passes every word on, in order."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from handshake import LIMIT, PACKETS, Sink, Source, never, pauses, reset, start_clock

PERIOD = 4


def ends(dut: Any, source: Any, sink: Any) -> tuple[Source, Sink]:
    """Both ends of the FIFO."""
    return (
        Source(dut.clk_i, [dut.data_i], dut.valid_i, dut.ready_o, source),
        Sink(dut.clk_i, [dut.data_o], dut.valid_o, dut.ready_i, sink),
    )


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def words_come_out_in_order(dut: Any) -> None:
    """With every pair of pauses."""
    start_clock(dut.clk_i, PERIOD)
    await reset(dut, ["valid_i", "ready_i"])
    draw = random.Random(1)
    for pair in pauses():
        words = [(draw.getrandbits(len(dut.data_i)),) for _ in range(PACKETS)]
        source, sink = ends(dut, *pair)
        sending = cocotb.start_soon(source.send(words))
        assert await sink.collect(len(words)) == words
        await sending


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def it_holds_its_depth_and_a_word_more(dut: Any) -> None:
    """And nothing after that."""
    start_clock(dut.clk_i, PERIOD)
    await reset(dut, ["ready_i"])
    dut.valid_i.value = 1
    taken = 0
    for k in range(3 * int(dut.DEPTH.value)):
        dut.data_i.value = k
        await RisingEdge(dut.clk_i)
        taken += int(dut.ready_o.value)
    assert taken == int(dut.DEPTH.value) + 1
    assert int(dut.level_o.value) == int(dut.DEPTH.value)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_word_leaves_each_cycle(dut: Any) -> None:
    """Without pauses the FIFO costs two cycles for all words together."""
    start_clock(dut.clk_i, PERIOD)
    await reset(dut, ["valid_i", "ready_i"])
    words = [(k % 32,) for k in range(50)]
    source, sink = ends(dut, never, never)
    begin = get_sim_time("ns")
    cocotb.start_soon(source.send(words))
    assert await sink.collect(len(words)) == words
    assert (get_sim_time("ns") - begin) / PERIOD <= len(words) + 3
