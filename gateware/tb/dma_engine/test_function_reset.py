"""A function-level reset in the middle of everything: afterwards the engine is as after reset."""

from __future__ import annotations

import random
import struct
from typing import Any

from cocotb.triggers import ReadOnly, RisingEdge
from dma_engine.test_dma_engine_example import FIRST, LOOPBACK, MATRIX, SOURCE, law
from dma_engine.world import (
    ADDRESS,
    BAR,
    PATTERN,
    PEER,
    PEERS,
    READ,
    REGISTERS,
    STATUS,
    WRITE,
    Packet,
    World,
    completion,
    pattern,
    request,
    write,
)
from handshake import SOAK, never, often
from packets import is_non_posted

WINDOW = 0xC000_0000
TIMES = 40 if SOAK else 8


async def leaf(dut: Any, seed: int, **pauses: Any) -> World:
    """The engine as a leaf: its user circuit has the same clock."""
    return await World(dut, seed=seed, user_period=0).begin(**pauses)


async def reset_function(world: World, most: int = 3000) -> int:
    """Reset the function as a hard block does: Bus Master Enable falls; returns the cycles."""
    dut = world.dut
    dut.bus_master_i.value = 0
    dut.flr_i.value = 1
    for cycle in range(most):
        await ReadOnly()
        assert int(dut.active_o.value) or int(dut.flr_done_o.value), "the clock is needed"
        done = int(dut.flr_done_o.value)
        await RisingEdge(dut.clk_i)
        if done:
            return cycle
    raise AssertionError(f"the reset takes more than {most} cycles")


async def end_reset(world: World) -> None:
    """The hard block ends the reset, and software sets up the function again."""
    dut = world.dut
    await world.cycles(20)
    dut.flr_i.value = 0
    await ReadOnly()
    assert int(dut.active_o.value), "the clock is needed to end the reset"
    await RisingEdge(dut.clk_i)
    dut.bus_master_i.value = 1
    await ReadOnly()
    assert not int(dut.flr_done_o.value)
    await RisingEdge(dut.clk_i)
    for done in (world.writes, world.reads, world.beats, world.interrupts, world.completions):
        done.clear()


async def is_fresh(world: World) -> None:
    """No register has a value of before, and none of the counters."""
    for unit in (WRITE, READ, PEER):
        assert await world.load(unit + ADDRESS, 20) == bytes(20)
        assert await world.word(unit + STATUS) == 0
    counters = await world.counters()
    counters = {name: value for name, value in counters.items() if "tlps" not in name}
    assert sum(counters.values()) - counters["payload_bytes"] - counters["wire"] == 0


@law(SOURCE, lists="anywhere")
async def all_units_end_and_the_next_transfers_are_whole(dut: Any) -> None:
    """The packet that has begun leaves whole; nothing else leaves until the reset has ended."""
    draw = random.Random(11)
    for seed in range(TIMES):
        world = await leaf(dut, seed, send=often(seed, 0.3), receive=often(seed + 1, 0.2))
        # Without a read, the reset waits for the packet that has begun alone.
        for unit in (WRITE, READ) if seed % 2 else (WRITE,):
            world.describe(unit, [(0x10000 * (unit + 1), 6000)])
            world.start(unit, (0, 1), 1, first=FIRST)
        world.start(PEER, (0x90000, 6000), 2, first=FIRST)
        await world.cycles(draw.randrange(60, 700))
        world.queue.append((REGISTERS, request(0, BAR + PATTERN, 8, 7), 0))
        ended = sum(last for *_, last in world.beats)
        await reset_function(world)
        assert sum(last for *_, last in world.beats) - ended <= 3
        assert not world.beats or world.beats[-1][2], "the last packet is whole"
        before = len(world.beats)
        await end_reset(world)
        assert before == 0 or not world.beats
        await is_fresh(world)
        world.describe(READ, [(0x70000, 700)])
        world.start(READ, (0, 1), 1)
        world.start(PEER, (0xA0000, 900), 2, first=FIRST)
        await world.ends(1)
        await world.ends(2)
        assert await world.word(READ + STATUS) == 2
        assert b"".join(one.data for one in world.writes) == pattern(FIRST, 900)
        assert not world.errors
        await world.end()


@law(SOURCE, LOOPBACK, lists="engine")
async def no_completion_of_an_older_read_is_data_of_a_later_one(dut: Any) -> None:
    """The reset lasts until the completions of all reads that have left have come."""
    world = await leaf(dut, 3)
    late: list[list[bytes]] = []
    whole = world.answer

    def later(packet: Packet, status: int) -> list[bytes]:
        late.append(whole(packet, status))
        return []

    world.answer = later  # type: ignore[method-assign]
    world.describe(READ, [(0x10000, 1024)])
    world.start(READ, (0, 1), 1)
    while len(late) < 2:
        await world.cycles(1)
    dut.flr_i.value = 1
    dut.bus_master_i.value = 0
    await world.cycles(500)
    assert not int(dut.flr_done_o.value), "two reads are outstanding"
    world.pending.append(late.pop())
    world.queue.grows.set()
    await world.cycles(200)
    assert not int(dut.flr_done_o.value), "one read is outstanding"
    world.pending.append(late.pop())
    world.queue.grows.set()
    await reset_function(world, 300)
    await end_reset(world)
    world.answer = whole  # type: ignore[method-assign]
    assert not world.errors
    world.describe(READ, [(0x30003, 500)])
    world.start(READ, (0, 1), 1)
    await world.ends(1)
    assert await world.word(READ + STATUS) == 2


@law(SOURCE, lists="anywhere", most=0.4)
async def a_reset_waits_for_a_lost_completion_until_its_timeout(dut: Any) -> None:
    """It is no error of the function any more."""
    world = await leaf(dut, 4)
    world.answer = lambda _packet, _status: []  # type: ignore[assignment,method-assign]
    world.describe(READ, [(0x10000, 128)])
    world.start(READ, (0, 1), 1)
    while not world.reads and not world.fetches:
        await world.cycles(1)
    took = await reset_function(world, 20_000)
    assert took > 12_000, "TIMEOUT is 12500 cycles"
    await end_reset(world)
    assert not world.errors
    del world.answer
    await is_fresh(world)


@law(SOURCE, LOOPBACK, MATRIX, lists="anywhere")
async def what_arrives_in_reset_is_received_and_dropped(dut: Any) -> None:
    """Posted packets, completions and requests, also such as begin before its end or its begin."""
    for seed in range(TIMES):
        world = await leaf(dut, seed, send=lambda: True)
        for number in range(40):
            world.queue.append((PEERS, write(WINDOW, bytes(100)), 0))
            if number % 9 == 0:
                world.queue.append((REGISTERS, request(0, BAR + PATTERN, 8, number), 0))
                world.queue.append((REGISTERS, completion(0, 8, 0, 1, bytes(8)), 0))
        world.start(PEER, (0x1000, 64), 1)
        await world.cycles(30 + 7 * seed)
        # A packet that has begun must leave.
        world.sink.pause = never
        await reset_function(world)
        for _ in range(600):
            await world.cycles(8)
            if not world.queue:
                break
        assert not world.queue, "in reset, requests are received, too"
        world.store(PATTERN, struct.pack("<Q", FIRST))
        await world.cycles(seed)
        world.errors.clear()
        world.completions.clear()
        dut.flr_i.value = 0
        await world.cycles(30)
        await is_fresh_but_pattern(world)
        assert not world.errors
        await world.end()


async def is_fresh_but_pattern(world: World) -> None:
    """The last write may have come behind the reset."""
    assert await world.load(PATTERN, 8) in (bytes(8), struct.pack("<Q", FIRST))
    assert await world.load(PEER + ADDRESS, 20) == bytes(20)
    assert all(is_non_posted(packet) for _, packet, _ in world.queue)


@law(LOOPBACK, MATRIX, lists="engine")
async def the_fifos_of_a_user_circuit_are_empty_after_a_reset(dut: Any) -> None:
    """Data that was read, or that a peer wrote, before the reset does not leave after it."""
    draw = random.Random(5)
    for seed in range(TIMES):
        world = await leaf(dut, seed)
        world.describe(READ, [(0x10000, 3000)])
        world.start(READ, (0, 1), 1)
        world.queue.append((PEERS, write(WINDOW, bytes(100)), 0))
        await world.cycles(draw.randrange(100, 600))
        await reset_function(world)
        await end_reset(world)
        world.describe(READ, [(0x50000, 400)])
        world.describe(WRITE, [(0x80000, 400)])
        world.start(READ, (0, 1), 1)
        if dut.core.USER.value == LOOPBACK:
            world.start(WRITE, (0, 1), 2)
            await world.ends(0)
        else:
            world.start(PEER, (0x80000, 100), 2)
            world.queue.append((PEERS, write(WINDOW, bytes(range(100))), 0))
            await world.ends(2)
        data = b"".join(packet.data for packet in world.writes)
        expected = world.content(0x50000, 400)
        assert data == (expected if dut.core.USER.value == LOOPBACK else bytes(range(100)))
        await world.end()
