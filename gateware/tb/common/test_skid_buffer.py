"""The skid buffer passes every word on, in order, one each cycle."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.utils import get_sim_time
from handshake import LIMIT, PACKETS, Sink, Source, never, pauses, reset, start_clock

PERIOD = 4


def ends(dut: Any, source: Any, sink: Any) -> tuple[Source, Sink]:
    """Both ends of the buffer."""
    return (
        Source(dut.clk_i, [dut.data_i], dut.valid_i, dut.ready_o, source),
        Sink(dut.clk_i, [dut.data_o], dut.valid_o, dut.ready_i, sink),
    )


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def words_come_out_in_order(dut: Any) -> None:
    """With every pair of pauses."""
    start_clock(dut.clk_i, PERIOD)
    await reset(dut, ["valid_i", "ready_i"])
    words = [(random.Random(7).getrandbits(32) ^ k,) for k in range(PACKETS)]
    for pair in pauses():
        source, sink = ends(dut, *pair)
        sending = cocotb.start_soon(source.send(words))
        assert await sink.collect(len(words)) == words
        await sending


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_word_leaves_each_cycle(dut: Any) -> None:
    """Without pauses the buffer costs one cycle for all words together."""
    start_clock(dut.clk_i, PERIOD)
    await reset(dut, ["valid_i", "ready_i"])
    words = [(k,) for k in range(50)]
    source, sink = ends(dut, never, never)
    begin = get_sim_time("ns")
    cocotb.start_soon(source.send(words))
    assert await sink.collect(len(words)) == words
    assert (get_sim_time("ns") - begin) / PERIOD <= len(words) + 2
