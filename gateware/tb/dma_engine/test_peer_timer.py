"""The peer timer: from the first data of a peer transfer to the first data of a peer after it."""

from __future__ import annotations

import struct
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, SOURCE, law
from dma_engine.world import PEER, PEERS, ROUND_TRIP, TIME_PEER, World, write


async def timed(world: World, delay: int, size: int = 4) -> int:
    """The time of a transfer; the reply sets out `delay` cycles after the first packet has left."""
    world.writes.clear()
    world.store(TIME_PEER, struct.pack("<I", 1))
    world.start(PEER, (0x10000, size), 1, first=FIRST)
    while not world.writes:
        await world.cycles(1)
    assert await world.word(TIME_PEER) == 1, "the time runs"
    await world.cycles(delay)
    world.queue.append((PEERS, write(0xC000_0000, b"back"), 0))
    await world.ends(2)
    while await world.word(TIME_PEER):
        assert int(world.dut.active_o.value), "the clock goes on while the time runs"
    return await world.word(ROUND_TRIP)


@law(SOURCE)
async def a_reply_that_takes_longer_has_as_many_more_cycles(dut: Any) -> None:
    """What arrives before the transfer, and later replies, change nothing."""
    world = await World(dut).begin()
    world.queue.append((PEERS, write(0xC000_0000, b"early"), 0))
    await world.cycles(50)
    short = await timed(world, 0)
    times = {delay: await timed(world, delay) for delay in (100, 117, 300)}
    base = times[100] - 100
    assert 0 < base <= short + 60
    assert abs(times[117] - base - 117) <= 40, times
    assert abs(times[300] - base - 300) <= 40, times
    world.queue.append((PEERS, write(0xC000_0000, b"late"), 0))
    await world.cycles(50)
    assert await world.word(ROUND_TRIP) == times[300]


@law(SOURCE)
async def a_transfer_is_timed_once_and_only_when_asked_for(dut: Any) -> None:
    """Without TIME_PEER the registers stay; without a reply the time is 0 after the timeout."""
    world = await World(dut).begin()
    world.store(ROUND_TRIP, struct.pack("<I", 7))
    world.start(PEER, (0x10000, 300), 1, first=FIRST)
    await world.ends(2)
    world.queue.append((PEERS, write(0xC000_0000, b"back"), 0))
    await world.cycles(50)
    assert await world.word(ROUND_TRIP) == 7
    world.store(TIME_PEER, struct.pack("<I", 1))
    world.start(PEER, (0x10000, 300), 2, first=FIRST)
    await world.ends(2)
    await world.cycles(1100)
    assert await world.word(TIME_PEER) == 0
    assert await world.word(ROUND_TRIP) == 0
