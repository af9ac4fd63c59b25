"""FIFOs of the size of a packet, filled with pieces of any size, never stop the data."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from dma_engine.test_dma_engine_example import LOOPBACK, SOURCE, law
from dma_engine.test_recovery import loop
from dma_engine.world import CLOCK, PARAMETERS, READ, STATUS, World

FIFO = PARAMETERS.get("FIFO_BYTES", 4096)


@law(LOOPBACK)
async def packets_as_large_as_a_fifo_do_not_wait_for_ever(dut: Any) -> None:
    """A FIFO takes no piece of eight bytes when fewer are free, so it may never be quite full."""
    world = await World(dut, mps=4096, mrrs=4096).begin()
    draw = random.Random(71)
    reads = [(0x100000 + 0x1000 * k + draw.randrange(8), FIFO // 13 + 2 * k) for k in range(15)]
    total = sum(size for _, size in reads)
    await loop(world, reads, [(0x400000, total)])
    assert max(packet.size for packet in world.writes) == FIFO // 2


@law(SOURCE)
async def a_read_sets_out_as_soon_as_the_one_before_has_come(dut: Any) -> None:
    """With requests as large as the FIFO one is out at a time; its data leaves while it comes."""
    world = await World(dut, mrrs=FIFO, mps=256).begin()
    ends: list[int] = []

    async def note() -> None:
        while True:
            await RisingEdge(dut.rx_last_i)
            while int(dut.rx_last_i.value):
                await RisingEdge(dut.clk_i)
            ends.append(int(get_sim_time("ns")) // CLOCK)

    world.tasks.append(cocotb.start_soon(note()))
    world.describe(READ, [(0x10000, 3 * FIFO)])
    world.start(READ, (0, 1), 1)
    await world.ends(1)
    await world.word(READ + STATUS)
    requests = [cycle for cycle, label, _ in world.beats if label == 1]
    gaps = [min(cycle - end for end in ends if end < cycle) for cycle in requests[2::2]]
    assert len(gaps) == 2
    assert max(gaps) < 50, f"{gaps} cycles from the last completion to the next request"
