"""The tag pool gives each tag to one request at a time."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, reset, start_clock


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def no_tag_is_out_twice_and_none_is_lost(dut: Any) -> None:
    """Random takes and returns, some of tags that are not out; at the end every tag comes again."""
    start_clock(dut.clk_i)
    await reset(dut, ["take_i", "free_i", "free_tag_i", "usable_i"])
    tags = int(dut.TAGS.value)
    dut.usable_i.value = (1 << tags) - 1
    draw, out = random.Random(3), set[int]()
    for step in range(20 * PACKETS):
        eager = 0.9 if step // 100 % 2 else 0.2
        back = draw.randrange(tags)
        free = draw.random() > eager and back
        dut.free_i.value, dut.free_tag_i.value = int(bool(free)), back
        dut.take_i.value = 0
        await ReadOnly()
        valid, tag = int(dut.valid_o.value), int(dut.tag_o.value)
        assert int(dut.out_o.value) == sum(1 << one for one in out)
        await RisingEdge(dut.clk_i)
        if free:
            out.discard(back)
        dut.free_i.value = 0
        if valid and draw.random() < eager:
            assert tag not in out, f"tag {tag} is out already"
            dut.take_i.value = 1
            out.add(tag)
        await RisingEdge(dut.clk_i)
        dut.take_i.value = 0
    for tag in sorted(out):
        dut.free_i.value, dut.free_tag_i.value = 1, tag
        await RisingEdge(dut.clk_i)
    dut.free_i.value = 0
    dut.take_i.value = 1
    seen = []
    for _ in range(tags + 3):
        await ReadOnly()
        if int(dut.valid_o.value):
            seen.append(int(dut.tag_o.value))
        await RisingEdge(dut.clk_i)
    assert sorted(seen) == list(range(tags))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def only_usable_tags_are_given_out(dut: Any) -> None:
    """Also when the tag on offer is no longer usable; all usable ones are given out."""
    start_clock(dut.clk_i)
    await reset(dut, ["take_i", "free_i", "free_tag_i", "usable_i"])
    tags = int(dut.TAGS.value)
    draw = random.Random(4)
    for _ in range(PACKETS):
        usable = {k for k in range(tags) if draw.random() < 0.5}
        dut.usable_i.value = sum(1 << k for k in usable)
        out = []
        for _ in range(2 * tags + 4):
            await ReadOnly()
            valid, tag = int(dut.valid_o.value), int(dut.tag_o.value)
            await RisingEdge(dut.clk_i)
            if valid:
                dut.take_i.value = 1
                out.append(tag)
            await RisingEdge(dut.clk_i)
            dut.take_i.value = 0
        assert sorted(out) == sorted(usable)
        for tag in out:
            dut.free_i.value, dut.free_tag_i.value = 1, tag
            await RisingEdge(dut.clk_i)
        dut.free_i.value = 0
