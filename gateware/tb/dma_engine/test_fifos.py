"""FIFOs of the size of a packet, filled with pieces of any size, never stop the data."""

from __future__ import annotations

import random
from typing import Any

from dma_engine.test_dma_engine_core import LOOPBACK, law
from dma_engine.test_recovery import loop
from dma_engine.world import PARAMETERS, World

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
