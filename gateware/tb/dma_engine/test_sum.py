"""An example of a user's logic: it sums what is read, writes the sum to a peer, and interrupts."""

from __future__ import annotations

import random
import struct
from typing import Any

import cocotb
from dma_engine.test_dma_engine_example import odd_ranges
from dma_engine.world import READ, STATUS, World
from handshake import often

USER = 0x30000
SUM, TARGET, SENT = USER, USER + 8, USER + 16
VECTOR = 3


def total(data: bytes) -> int:
    """The sum of the data's words of 64 bits."""
    data += bytes(-len(data) % 8)
    words: tuple[int, ...] = struct.unpack(f"<{len(data) // 8}Q", data)
    return sum(words) % 2**64


async def word(world: World, at: int) -> int:
    """A register of 64 bits."""
    return int.from_bytes(await world.load(at, 8), "little")


@cocotb.test(timeout_time=40, timeout_unit="us")
async def each_read_has_its_sum_at_the_host_and_at_the_peer(dut: Any) -> None:
    """Lists of any alignment and size, while the link pauses and user clocks differ."""
    draw = random.Random(21)
    for period in (4, 6, 2):
        world = await World(dut, user_period=period).begin(send=often(22, 0.3))
        for count in range(1, 4):
            target = 0x44_0000_0000 + draw.randrange(1 << 20)
            world.store(TARGET, struct.pack("<Q", target))
            ranges = odd_ranges(draw, count, 0x100000)
            ranges[0] = (ranges[0][0], ranges[0][1] or 5)
            world.describe(READ, ranges)
            world.start(READ, (0, count), 7)
            await world.ends(VECTOR)
            expected = total(b"".join(world.content(*one) for one in ranges))
            assert world.content(target, 8) == struct.pack("<Q", expected)
            assert await word(world, SUM) == expected
            assert await word(world, TARGET) == target
            assert await world.word(SENT) == count
            await world.ends(1)
            assert await world.word(READ + STATUS) == 2
        assert len(world.writes) == 3
        assert await world.load(USER + 0x18, 8) == b"\xff" * 8, "there is no such register"
        await world.end()


@cocotb.test(timeout_time=40, timeout_unit="us")
async def a_sum_waits_for_the_interrupt_of_the_one_before(dut: Any) -> None:
    """The port takes no interrupt: five wait in the crossing, one in the example, data behind."""
    world = await World(dut).begin()
    dut.irq_ready_i.value = 0
    sums = []
    for place in range(0x100000, 0x108000, 0x1000):
        world.describe(READ, [(place, 20)])
        world.start(READ, (0, 1), 7)
        await world.cycles(100)
        assert await world.word(READ + STATUS) == 2
        sums.append(total(world.content(place, 20)))
    assert await world.word(SENT) == 6
    assert await word(world, SUM) == sums[5]
    dut.irq_ready_i.value = 1
    for _ in sums:
        await world.ends(VECTOR)
    assert await world.word(SENT) == len(sums)
    assert await word(world, SUM) == sums[-1]
