"""The pace of the published engine: idle cycles between packets, and between descriptors."""

from __future__ import annotations

import itertools
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, SOURCE, law
from dma_engine.world import PARAMETERS, PEER, READ, STATUS, WRITE, World, pattern

IDLE = PARAMETERS.get("IDLE_CYCLES", 0)
TURN = PARAMETERS.get("DESCRIPTOR_CYCLES", 0)


def pauses(world: World) -> list[int]:
    """The cycles without a beat after each packet but the last one."""
    beats = world.beats
    pairs = itertools.pairwise(beats)
    return [after[0] - before[0] - 1 for before, after in pairs if before[2]]


@law(SOURCE)
async def packets_of_a_peer_write_are_idle_cycles_apart(dut: Any) -> None:
    """A peer write has one range, so descriptors do not count."""
    world = await World(dut).begin()
    world.start(PEER, (0x10000, 2048), 1, first=FIRST)
    await world.ends(2)
    assert pauses(world) == [IDLE] * 15
    assert world.content(0x10000, 2048) == pattern(FIRST, 2048)


@law(SOURCE)
async def a_descriptor_follows_the_one_before_after_its_cycles(dut: Any) -> None:
    """For writes from the last beat of its data, for reads from that of its last request."""
    world = await World(dut, mrrs=256).begin()
    ranges = [(0x10000 + 4096 * k, 512) for k in range(6)]
    for unit, vector, packets in ((WRITE, 0, 4), (READ, 1, 2)):
        world.describe(unit, ranges)
        while world.queue:
            await world.cycles(10)
        world.beats.clear()
        world.start(unit, (0, 6), 1, first=FIRST)
        await world.ends(vector)
        within = [IDLE] * (packets - 1)
        if TURN:
            found = pauses(world)
            assert found == ([*within, max(TURN, IDLE)] * 6)[:-1], found
        assert await world.word(unit + STATUS) == 2
