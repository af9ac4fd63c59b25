"""The engine as a leaf: the ports of the core, with the clock of the user circuit its own."""

from __future__ import annotations

from typing import Any

import cocotb
from dma_engine.world import PEER, STATUS, World, pattern


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_leaf_writes_to_a_peer_at_18_beats_a_packet(dut: Any) -> None:
    """The circuit in the fabric has one clock."""
    world = await World(dut, user_period=0).begin()
    world.start(PEER, (0xE000_0000, 4096), 1, first=3)
    await world.ends(2)
    assert world.content(0xE000_0000, 4096) == pattern(3, 4096)
    assert world.beats[-1][0] - world.beats[0][0] + 1 == 18 * 32
    assert await world.word(PEER + STATUS) == 2
