"""Packets whose beats do not agree with their headers are malformed, and change nothing else."""

from __future__ import annotations

import struct
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, MATRIX, REFLECTOR, SOURCE, law
from dma_engine.test_received import faults
from dma_engine.world import (
    ADDRESS,
    BAR,
    PATTERN,
    PEER,
    PEERS,
    READ,
    REGISTERS,
    REPLY,
    STATUS,
    World,
    request,
    write,
)


@law(SOURCE, most=0.05)
async def a_write_of_another_length_than_its_header_says_starts_nothing(dut: Any) -> None:
    """The beats of a write end early, or late; the correct write after it writes its register."""
    whole = write(BAR + PEER, struct.pack("<QQII", 0x1000, 64, 0, 1))
    wrong = [whole[: 12 + 4 * k] for k in range(6)] + [
        whole[:8],
        whole + bytes(4),
        whole + bytes(8),
    ]
    world = await World(dut).begin()
    for number, packet in enumerate(wrong, 1):
        before = await faults(world)
        world.queue.append((REGISTERS, packet, 0))
        world.store(READ + PATTERN, struct.pack("<Q", FIRST + number))
        assert await world.load(READ + PATTERN, 8) == struct.pack("<Q", FIRST + number)
        assert await world.load(READ + ADDRESS, 8) == bytes(8), f"{len(packet)} bytes"
        after = await faults(world)
        assert after["malformed_tlp"] == before["malformed_tlp"] + 1, f"{len(packet)} bytes"
    await world.cycles(100)
    assert await world.word(PEER + STATUS) == 0
    assert not world.writes


@law(SOURCE, most=0.05)
async def a_request_without_a_whole_header_is_not_answered(dut: Any) -> None:
    """The next request is answered."""
    world = await World(dut).begin()
    for packet in (request(0, BAR, 8, 3)[:8], request(0, BAR, 8, 3) + bytes(4)):
        world.queue.append((REGISTERS, packet, 0))
        await world.cycles(60)
        assert not world.completions
        assert await world.load(PEER, 8) == bytes(8)
    assert (await faults(world))["malformed_tlp"] == 2


@law(REFLECTOR, most=0.05)
async def a_reflector_sends_back_what_came(dut: Any) -> None:
    """The bytes that arrived of a write that ends early, and the next write whole."""
    world = await World(dut).begin()
    world.store(REPLY, struct.pack("<Q", 0x44_0000_0000))
    data = bytes(range(100))
    whole = write(0xC000_0000, data)
    sizes = (0, 4, 8, 52, 96)
    for size in sizes:
        world.queue.append((PEERS, whole[: 12 + size], 1))
        world.queue.append((PEERS, whole, 2))
    await world.cycles(800)
    came = [packet.data for packet in world.writes]
    assert came == [part for size in sizes for part in (data[:size], data) if part]
    assert (await faults(world))["malformed_tlp"] == len(sizes)


@law(MATRIX, most=0.05)
async def the_data_behind_a_write_that_ends_early_is_whole(dut: Any) -> None:
    """The FIFO has the bytes that arrived."""
    world = await World(dut).begin()
    data = bytes(range(100))
    for size in (4, 8, 52):
        world.queue.append((PEERS, write(0xC000_0001, data)[: 12 + size], 1))
        world.queue.append((PEERS, write(0xC000_0000, data), 2))
        total = size - 1 + 100
        world.start(PEER, (0x1000, total), 1)
        await world.ends(2, 1000)
        assert world.content(0x1000, total) == data[: size - 1] + data
