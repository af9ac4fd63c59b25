"""Lists of descriptors: fetched ahead of the data, stopped where wrong, and nothing else lost."""

from __future__ import annotations

import random
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, LOOPBACK, SOURCE, USER, law, odd_ranges
from dma_engine.world import (
    COUNT,
    ERROR,
    FETCH,
    PEER,
    POISONED,
    READ,
    SILENT,
    STATUS,
    TIMER,
    WRITE,
    World,
    pattern,
)
from handshake import PACKETS, SOAK

DESCRIPTOR = 7
LAST_PAGE = 2**64 - 4096


@law(SOURCE, lists="host")
async def descriptors_are_fetched_in_parts_ahead_of_the_data(dut: Any) -> None:
    """Parts cover the list once, in order; between two parts the data has no idle beats."""
    world = await World(dut, mrrs=128).begin()
    size = 512 if SOAK else 256
    ranges = [(0x10000 + 512 * k, size) for k in range(5 * FETCH // 16)]
    world.describe(WRITE, ranges)
    world.start(WRITE, (0, len(ranges)), 1, first=FIRST)
    await world.ends(0)
    covered = [part.address + k for part in world.fetches for k in range(part.size)]
    first = world.fetches[0].address
    assert covered == list(range(first, first + 16 * len(ranges)))
    assert all(part.size <= min(FETCH, 128) and part.tag == 16 for part in world.fetches)
    before = [len(part.data) for part in world.writes]
    assert sum(before) == size * len(ranges)
    # A fetch takes two beats; those that leave before the first data are not in its time.
    took = await world.word(WRITE + TIMER)
    idle = took - 18 * len(world.writes) - 2 * (len(world.fetches) - 1)
    assert -2 * len(world.fetches) <= idle <= 0, f"{idle} idle beats"


@law(SOURCE, LOOPBACK, lists="host")
async def both_lists_are_fetched_at_once_while_completions_come_in_any_order(dut: Any) -> None:
    """Lists that begin anywhere in a page, with empty ranges in them."""
    world = await World(dut, mrrs=128, seed=3).begin()
    draw = random.Random(21)
    for label in range(1, 1 + max(2, PACKETS // 25)):
        reads = odd_ranges(draw, 40, 0x100000, 200 if SOAK else 60)
        total = sum(size for _, size in reads)
        parts = [total // 29] * 28
        parts.append(total - sum(parts))
        writes = [(0x20_0000_0003 + 0x1000 * k, size) for k, size in enumerate(parts)]
        world.writes.clear()
        world.describe(READ, reads)
        world.describe(WRITE, writes)
        world.start(WRITE, (0, len(writes)), label, first=FIRST)
        world.start(READ, (0, len(reads)), label)
        await world.ends(0)
        await world.ends(1)
        written = b"".join(world.content(*one) for one in writes)
        if USER == SOURCE:
            assert written == pattern(FIRST, total)
        else:
            assert written == b"".join(world.content(*one) for one in reads)
        assert await world.word(READ + STATUS) == 2
        assert await world.word(WRITE + STATUS) == 2


@law(SOURCE, lists="host")
async def an_error_of_a_fetch_ends_the_list_there(dut: Any) -> None:
    """What came before is worked on, the code says why, and other units and transfers are whole."""
    world = await World(dut, mrrs=128).begin()
    most = min(FETCH, 128) // 16
    errors = ((1, 1), (POISONED, 3), (SILENT, 6), (4, 4), (COUNT, 5))
    for status, code in errors if SOAK else errors[1:3]:
        ranges = [(0x10000 + 4096 * k, 65) for k in range(4 * most)]
        world.describe(WRITE, ranges)
        world.describe(READ, ranges)
        world.writes.clear()
        world.reads.clear()
        world.fetches.clear()
        world.fetch_refusals = {2: status}
        world.start(WRITE, (0, len(ranges)), 1, first=FIRST)
        await world.ends(0)
        worked = sum(part.size // 16 for part in world.fetches[:2])
        assert b"".join(one.data for one in world.writes) == pattern(FIRST, 65 * worked)
        assert len(world.fetches) == 3, "nothing is fetched behind the error"
        assert await world.word(WRITE + STATUS) == 3
        assert await world.word(WRITE + ERROR) == code
        world.fetch_refusals = {}
        world.writes.clear()
        world.start(WRITE, (0, len(ranges)), 2, first=FIRST)
        world.start(READ, (0, len(ranges)), 3)
        await world.ends(0)
        await world.ends(1)
        assert b"".join(one.data for one in world.writes) == pattern(FIRST, 65 * len(ranges))
        assert len(world.reads) == len(ranges)
        assert await world.word(WRITE + ERROR) == 0


@law(SOURCE, lists="host")
async def an_error_of_data_ends_the_fetches_too(dut: Any) -> None:
    """The rest of a long list is not fetched."""
    world = await World(dut, mrrs=128).begin()
    world.describe(READ, [(0x10000, 128)] * 400)
    world.refusals = {3: 1}
    world.start(READ, (0, 400), 1)
    await world.ends(1)
    assert len(world.fetches) < 20
    assert await world.word(READ + ERROR) == 1


@law(SOURCE)
async def a_range_beyond_the_last_address_stops_its_unit_alone(dut: Any) -> None:
    """Ranges before it are worked on, none behind it; one that ends at the last address is good."""
    world = await World(dut).begin()
    ranges = [(0x10000, 300), (LAST_PAGE + 1, 4096), (0x20000, 300)]
    for unit, vector in ((WRITE, 0), (READ, 1)):
        world.describe(unit, ranges)
        world.writes.clear()
        world.reads.clear()
        world.start(unit, (0, len(ranges)), 1, first=FIRST)
        world.start(PEER, (0x90000, 1000), 2, first=FIRST + 1)
        await world.ends(vector)
        await world.ends(2)
        moved = [one for one in world.writes + world.reads if one.address < 0x90000]
        assert sum(one.size for one in moved) == 300
        assert world.content(0x90000, 1000) == pattern(FIRST + 1, 1000)
        assert await world.word(unit + STATUS) == 3
        assert await world.word(unit + ERROR) == DESCRIPTOR
        assert await world.word(PEER + STATUS) == 2
        world.describe(unit, [(LAST_PAGE, 4096), (0x20000, 300)])
        world.start(unit, (0, 2), 3, first=FIRST)
        await world.ends(vector)
        assert await world.word(unit + STATUS) == 2
    world.writes.clear()
    world.start(PEER, (LAST_PAGE + 4000, 97), 1)
    await world.ends(2)
    assert not world.writes
    assert await world.word(PEER + STATUS) == 3
    assert await world.word(PEER + ERROR) == DESCRIPTOR


@law(SOURCE)
async def any_bytes_as_descriptors_end_with_a_status(dut: Any) -> None:
    """Random lists: each transfer ends, and every packet keeps the rules that the world checks."""
    world = await World(dut, mps=256, mrrs=256, seed=5).begin()
    draw = random.Random(31)
    for label in range(1, 1 + PACKETS // 5):
        starts = [
            draw.choice([draw.getrandbits(64), 2**64 - draw.randrange(1, 600)])
            for _ in range(draw.randrange(1, 12))
        ]
        ranges = [(start, draw.randrange(500)) for start in starts]
        good = 0
        for address, size in ranges:
            if address + size > 2**64 and size:
                break
            good += size
        failed = good != sum(size for _, size in ranges)
        unit, vector = draw.choice([(WRITE, 0), (READ, 1)])
        world.describe(unit, ranges)
        world.writes.clear()
        world.reads.clear()
        world.start(unit, (0, len(ranges)), label, first=FIRST)
        await world.ends(vector)
        assert sum(one.size for one in world.writes + world.reads) == good
        assert await world.word(unit + STATUS) == (3 if failed else 2)
        assert await world.word(unit + ERROR) == (DESCRIPTOR if failed else 0)


@law(SOURCE, lists="host")
async def an_empty_list_ends_at_once(dut: Any) -> None:
    """Nothing is fetched."""
    world = await World(dut).begin()
    world.start(WRITE, (0, 0), 1)
    await world.ends(0)
    assert not world.fetches
    assert await world.word(WRITE + STATUS) == 2
