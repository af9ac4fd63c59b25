"""Each error that the engine detects leaves its port once, with the header of its packet."""

from __future__ import annotations

import struct
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, LOOPBACK, MATRIX, SOURCE, law
from dma_engine.test_posted import ACCEPT, pieces, received, to_peers
from dma_engine.test_received import FETCH_ADD, header
from dma_engine.world import (
    BAR,
    COUNT,
    ERROR,
    FETCH_TAGS,
    PATTERN,
    PEERS,
    READ,
    REGISTERS,
    SILENT,
    STATUS,
    WRITE,
    World,
    completion,
    poison,
    write,
)

(UNSUPPORTED, ABORT, UNEXPECTED, TIMEOUT, POISON, MALFORMED) = range(6)
WINDOW = 0xC000_0000
TAG = 6
"""The byte of a request's header with its tag."""


def reported(world: World) -> list[tuple[int, bytes]]:
    """The errors since the last call: the kind, and the twelve bytes that every header has."""
    found = [(kind, one[:12]) for kind, one in world.errors]
    world.errors.clear()
    return found


@law(SOURCE, most=0.2)
async def each_packet_with_an_error_is_reported_with_its_header(dut: Any) -> None:
    """In a row, with a good packet behind each: no good one is reported."""
    world = await World(dut).begin()
    whole = write(BAR + PATTERN, struct.pack("<Q", FIRST))
    packets = [
        (UNSUPPORTED, header(FETCH_ADD, 1, wide=False) + bytes(4)),
        (POISON, poison(whole)),
        (MALFORMED, whole[:16]),
        (UNEXPECTED, completion(0, 8, 0, 5, bytes(8))),
        (UNEXPECTED, bytes([0x4B]) + completion(0, 8, 0, 5, bytes(8))[1:]),
    ]
    for _, packet in packets:
        world.queue.append((REGISTERS, packet, 0))
        world.queue.append((REGISTERS, whole, 0))
    await world.cycles(300)
    expected = sorted((kind, packet[:12]) for kind, packet in packets)
    assert sorted(reported(world)) == expected


@law(SOURCE, lists="engine", most=0.2)
async def a_read_that_fails_is_reported_by_its_completion_or_its_tag(dut: Any) -> None:
    """A completion that does not fit its request is unexpected; without any, the tag is given."""
    world = await World(dut).begin()
    for fault in (COUNT, SILENT):
        world.refusals = {len(world.reads): fault}
        world.describe(READ, [(0x10000, 128)])
        world.start(READ, (0, 1), 1)
        await world.ends(1, 8000)
        (found,) = reported(world)
        tag = world.reads[-1].tag
        if fault == SILENT:
            assert found == (TIMEOUT, bytes(TAG) + bytes([tag]) + bytes(5))
        else:
            assert (found[0], found[1][0], found[1][10]) == (UNEXPECTED, 0x4A, tag)


@law(SOURCE, lists="engine", most=0.2)
async def reads_that_time_out_together_are_reported_one_by_one(dut: Any) -> None:
    """The requests of all tags are lost, and no report is, beside reports of packets."""
    world = await World(dut, mrrs=128).begin()
    world.refusals = dict.fromkeys(range(16), SILENT)
    world.describe(READ, [(0x10000, 16 * 128)])
    world.start(READ, (0, 1), 1)
    await world.cycles(3900)
    bad = poison(write(BAR + PATTERN, bytes(4)))
    world.queue.extend([(REGISTERS, bad, 0)] * 120)
    world.queue.grows.set()
    await world.ends(1, 20_000)
    tags = sorted(one[TAG] for kind, one in reported(world) if kind == TIMEOUT)
    assert tags == sorted(packet.tag for packet in world.reads)
    assert len(tags) == 16


@law(SOURCE, lists="host", most=0.3)
async def a_fetch_that_fails_is_reported_by_its_completion_or_its_tag(dut: Any) -> None:
    """The tag in the report is that of the request, for both lists."""
    world = await World(dut).begin()
    for number, unit in enumerate((WRITE, READ)):
        for fault in (COUNT, SILENT):
            world.fetch_refusals = {len(world.fetches): fault}
            world.describe(unit, [(0x10000, 128)])
            world.start(unit, (0, 1), 1, first=FIRST)
            await world.ends(number, 20_000)
            assert await world.word(unit + ERROR) != 0
            (found,) = reported(world)
            at = TAG if fault == SILENT else 10
            assert found[0] == (TIMEOUT if fault == SILENT else UNEXPECTED)
            assert found[1][at] == FETCH_TAGS[number] == world.fetches[-1].tag


@law(LOOPBACK, most=0.2)
async def a_write_that_no_part_takes_is_reported_as_unsupported(dut: Any) -> None:
    """Each of them, with its own address."""
    world = await World(dut).begin()
    packets = [write(WINDOW + 128 * k, part) for k, part in enumerate(pieces(1, 20))]
    world.queue.extend((PEERS, packet, 0) for packet in packets)
    assert await world.word(READ + STATUS) == 0
    await world.cycles(200)
    assert reported(world) == [(UNSUPPORTED, packet[:12]) for packet in packets]


@law(MATRIX, lists="engine", most=0.3)
async def each_write_that_is_dropped_is_reported_once(dut: Any) -> None:
    """Large and small writes of a peer while nothing takes the data; each has its own address."""
    for size in (128, 8, 4):
        world = await World(dut, seed=size).begin()
        parts = pieces(2, 70) + pieces(3, 40, size)
        packets = [write(WINDOW + 128 * k, part) for k, part in enumerate(parts)]
        world.queue.extend((PEERS, packet, 0) for packet in packets)
        await received(world, 110 * 20 + ACCEPT + 200)
        await world.cycles(ACCEPT + 20)
        found = reported(world)
        assert len(found) == (await world.counters())["completer_abort"] > 0
        assert {kind for kind, _ in found} == {ABORT}
        known = [packet[:12] for packet in packets]
        places = [known.index(one) for _, one in found]
        assert places == sorted(set(places)), "in order"
        await world.end()


@law(MATRIX, lists="engine", most=0.3)
async def what_was_taken_and_not_reported_has_arrived(dut: Any) -> None:
    """All bytes of the writes that were not reported leave again, in order."""
    world = await World(dut).begin()
    parts = pieces(3, 90)
    to_peers(world, parts)
    await received(world, 90 * 20 + ACCEPT + 200)
    await world.cycles(ACCEPT + 20)
    lost = len(reported(world))
    data = b"".join(parts[: 90 - lost])
    world.start(0x80, (0x500000, len(data)), 1)
    await world.ends(2)
    assert world.content(0x500000, len(data)) == data
