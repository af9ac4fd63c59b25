"""Resets, clocks, back-pressure, sizes, alignments, and packets that do not belong here."""

from __future__ import annotations

import random
import struct
from typing import Any

from cocotb.triggers import RisingEdge
from dma_engine.test_dma_engine_example import (
    FIRST,
    LOOPBACK,
    MATRIX,
    REFLECTOR,
    SOURCE,
    USER,
    law,
    odd_ranges,
)
from dma_engine.world import (
    BAR,
    COUNTED,
    ERROR,
    PEER,
    PEERS,
    READ,
    REGISTERS,
    REPLY,
    SILENT,
    STATUS,
    WRITE,
    World,
    completion,
    pattern,
    poison,
    request,
    write,
)
from handshake import SOAK, never, often

HALF_FIFO = 2048
LARGEST = (4 << 20) - 3
"""Bytes of the largest transfers, which end in the middle of a beat."""


async def loop(world: World, reads: list[tuple[int, int]], writes: list[tuple[int, int]]) -> None:
    """Read and write through the loopback, and compare."""
    world.describe(READ, reads)
    world.describe(WRITE, writes)
    world.start(READ, (0, len(reads)), 1)
    world.start(WRITE, (0, len(writes)), 2)
    await world.ends(0, 2_000_000)
    await world.ends(1, 2_000_000)
    assert await world.word(READ + STATUS) == await world.word(WRITE + STATUS) == 2
    sent = b"".join(world.content(*one) for one in reads)
    assert b"".join(world.content(*one) for one in writes) == sent


@law(SOURCE, LOOPBACK, MATRIX)
async def after_a_reset_in_the_middle_the_next_transfers_are_whole(dut: Any) -> None:
    """Completions of reads from before the reset arrive behind it, and are dropped."""
    draw = random.Random(41)
    for number in range(4 if SOAK else 1):
        world = await World(dut, seed=number).begin(send=often(number, 0.3))
        ranges = odd_ranges(draw, 12, 0x100000)
        world.describe(READ, ranges)
        world.describe(WRITE, ranges)
        world.start(READ, (0, 12), 1)
        world.start(WRITE, (0, 12), 2, first=FIRST)
        world.start(PEER, (0x900000, 3000), 3, first=FIRST)
        for _ in range(10 if USER == MATRIX else 0):
            world.queue.append((PEERS, write(0xC000_0000, draw.randbytes(100)), 4))
        await world.cycles(draw.randrange(100, 600))
        late = [packet for answer in world.pending for packet in answer]
        await world.end()
        world = await World(dut, seed=number).begin()
        await world.source.send_packets(late)
        await world.cycles(20)
        counters = await world.counters()
        assert counters["unexpected_completion"] == len(late)
        # The answer with the counters may be counted already.
        assert counters["payload_bytes"] <= 8 * 12, "the counters began again"
        assert await world.word(WRITE + STATUS) == 0
        if USER != SOURCE:
            total = sum(size for _, size in ranges)
            await loop(world, ranges, [(0x40_0000_0001, total)])
        if USER == MATRIX:
            data = draw.randbytes(100)
            world.start(PEER, (0x900000, len(data)), 5)
            world.queue.append((PEERS, write(0xC000_0000, data), 4))
            await world.ends(2)
            assert world.content(0x900000, len(data)) == data
        if USER == SOURCE:
            world.describe(WRITE, ranges)
            world.start(WRITE, (0, 12), 4, first=FIRST)
            await world.ends(0)
            data = b"".join(packet.data for packet in world.writes)
            assert data == pattern(FIRST, sum(size for _, size in ranges))
        await world.end()


@law(REFLECTOR)
async def after_a_reset_a_reflector_sends_nothing_of_before(dut: Any) -> None:
    """Writes of peers wait in it while the link takes nothing; the next ones come back alone."""
    draw = random.Random(42)
    for number in range(4 if SOAK else 1):
        world = await World(dut, seed=number).begin(send=often(number, 0.8))
        world.store(REPLY, struct.pack("<Q", 0x44_0000_0000))
        for _ in range(20):
            world.queue.append((PEERS, write(0xC000_0000, draw.randbytes(100)), 6))
        await world.cycles(draw.randrange(100, 400))
        await world.end()
        world = await World(dut, seed=number).begin()
        world.store(REPLY, struct.pack("<Q", 0x55_0000_0000))
        await world.cycles(40)
        data = draw.randbytes(60)
        world.queue.append((PEERS, write(0xC000_0000, data), 7))
        await world.cycles(200)
        assert [(packet.address, packet.data) for packet in world.writes] == [
            (0x55_0000_0000, data)
        ]
        await world.end()


@law(LOOPBACK, MATRIX)
async def user_clocks_that_are_slower_or_faster_lose_nothing(dut: Any) -> None:
    """From a quarter of the engine's clock to twice it, with pauses of the link."""
    draw = random.Random(43)
    for period, pause in ((16, 0.0), (6, 0.3), (2, 0.6)):
        world = await World(dut, user_period=period).begin(
            receive=often(44, pause), send=often(45, pause)
        )
        reads = odd_ranges(draw, 12, 0x100000, 900 if SOAK else 300)
        await loop(world, reads, [(0x40_0000_0005, sum(size for _, size in reads))])
        await world.end()


@law(LOOPBACK)
async def every_alignment_of_source_and_target_keeps_the_bytes(dut: Any) -> None:
    """Addresses from 0 to 127 (in the soak) against each other, with sizes from 1 byte on."""
    world = await World(dut, mps=128, mrrs=128).begin()
    sizes = [1, 2, 3, 5, 8, 11, 17, 33, 64, 65, 127, 128, 129, 255, 256, 300]
    places = 128 if SOAK else 16
    for turn in range(16 if SOAK else 2):
        for first in range(0, places, 8):
            at = range(first, first + 8)
            size = {k: sizes[(k + turn) % (16 if SOAK else 8)] for k in at}
            reads = [(0x100000 + 512 * k + k, size[k]) for k in at]
            writes = [(0x300000 + 512 * k + (5 * k + turn) % places, size[k]) for k in at]
            await loop(world, reads, writes)


@law(SOURCE)
async def peer_writes_of_every_alignment_and_small_size_have_their_bytes(dut: Any) -> None:
    """Addresses from 0 to 127 in the soak, and sizes around the sizes of beats and packets."""
    world = await World(dut).begin()
    sizes = [*range(1, 18), 63, 64, 65, 127, 128, 129] if SOAK else [1, 3, 5, 7, 9]
    for at in range(128 if SOAK else 8):
        for size in sizes:
            world.writes.clear()
            world.start(PEER, (0x1000 + at, size), 1, first=FIRST)
            await world.ends(2)
            assert b"".join(packet.data for packet in world.writes) == pattern(FIRST, size)
            assert world.writes[0].address == 0x1000 + at


@law(LOOPBACK)
async def large_ranges_go_through_the_loopback(dut: Any) -> None:
    """In the soak 4 MiB, else 3 KB; more than FIFOs and slots hold."""
    world = await World(dut, mps=256, mrrs=512).begin()
    size = LARGEST if SOAK else 3000
    await loop(world, [(0x40_0000_0FFD, size)], [(0x50_0000_0123, size)])


@law(SOURCE)
async def sizes_up_to_4_mib_are_whole(dut: Any) -> None:
    """In the soak 4 MiB, else 5 KB, of each unit at once; page, MPS and MRRS cut them."""
    world = await World(dut, mps=256).begin()
    size = LARGEST if SOAK else 5000
    begins = {WRITE: 0x40_0000_0FFD, READ: 0x50_0000_0123, PEER: 0x60_0000_0001}
    for unit in (WRITE, READ):
        world.describe(unit, [(begins[unit], size)])
        world.start(unit, (0, 1), 1, first=FIRST)
    world.start(PEER, (begins[PEER], size), 2, first=FIRST + 1)
    for vector in (0, 1, 2):
        await world.ends(vector, 4_000_000)
    for unit, begin in begins.items():
        assert await world.word(unit + STATUS) == 2
        moved = [
            packet for packet in world.writes + world.reads if packet.address >> 36 == begin >> 36
        ]
        at = begin
        for packet in moved:
            assert packet.address == at
            at += packet.size
        assert at == begin + size
        if unit != READ:
            sent = b"".join(packet.data for packet in moved)
            assert sent == pattern(FIRST + (unit == PEER), size)


@law(SOURCE, LOOPBACK)
async def every_mps_and_mrrs_is_obeyed(dut: Any) -> None:
    """The world checks each packet; the largest ones are as large as they may be."""
    limits = ((256, 1024), (512, 128), (128, 4096), (4096, 256), (1024, 1024), (256, 2048))
    for mps, mrrs in limits if SOAK else limits[:2]:
        world = await World(dut, mps=mps, mrrs=mrrs).begin()
        size = 4096 if SOAK else 1024
        reads = [(0x100000, size), (0x200002, 600)]
        if USER == LOOPBACK:
            await loop(world, reads, [(0x400000, size), (0x500003, 600)])
        else:
            world.describe(WRITE, reads)
            world.start(WRITE, (0, 2), 1, first=FIRST)
            world.describe(READ, reads)
            world.start(READ, (0, 2), 1)
            await world.ends(0)
            await world.ends(1)
        most = min(mps, HALF_FIFO) if USER == LOOPBACK else mps
        assert max(packet.size for packet in world.writes) == most
        assert max(packet.size for packet in world.reads) == mrrs
        await world.end()


@law(SOURCE)
async def interrupts_wait_for_the_port_and_stay_as_they_were_offered(dut: Any) -> None:
    """Three units end while the port takes nothing; each interrupt comes once."""
    world = await World(dut).begin()
    dut.irq_ready_i.value = 0
    world.describe(WRITE, [(0x10000, 700)])
    world.describe(READ, [(0x20000, 100)])
    world.start(PEER, (0x30000, 100), 1)
    world.start(WRITE, (0, 1), 2)
    world.start(READ, (0, 1), 3)
    offered = set()
    for _ in range(1500):
        await RisingEdge(dut.clk_i)
        if int(dut.irq_valid_o.value):
            offered.add(int(dut.irq_vector_o.value))
    assert offered == {2}
    dut.irq_ready_i.value = 1
    await world.cycles(10)
    assert sorted(world.interrupts) == [0, 1, 2]


@law(SOURCE)
async def a_read_that_may_not_leave_does_not_time_out(dut: Any) -> None:
    """Bus Master Enable is clear for three times the completion timeout."""
    world = await World(dut).begin()
    dut.bus_master_i.value = 0
    world.describe(READ, [(0x10000, 3000)])
    world.start(READ, (0, 1), 1)
    await world.cycles(3000)
    assert not world.reads
    dut.bus_master_i.value = 1
    await world.ends(1)
    assert await world.word(READ + STATUS) == 2
    assert (await world.counters())["completion_timeout"] == 0


@law(SOURCE)
async def without_bus_master_enable_reads_that_are_out_come_in(dut: Any) -> None:
    """A packet that was offered leaves whole; nothing begins until the bit is set again."""
    world = await World(dut, mrrs=128).begin(send=often(47, 0.5))
    world.describe(READ, [(0x10000, 2048)])
    world.start(READ, (0, 1), 1)
    world.start(PEER, (0x20000, 2000), 2, first=FIRST)
    while len(world.reads) < 5:
        await world.cycles(1)
    dut.bus_master_i.value = 0
    await world.cycles(200)
    sent = len(world.reads), len(world.writes)
    await world.cycles(200)
    assert sent == (len(world.reads), len(world.writes))
    assert await world.word(READ + STATUS) == 1
    dut.bus_master_i.value = 1
    await world.ends(1)
    await world.ends(2)
    assert await world.word(READ + STATUS) == 2
    assert world.content(0x20000, 2000) == pattern(FIRST, 2000)


@law(SOURCE)
async def the_counters_say_what_the_link_and_the_errors_were(dut: Any) -> None:
    """Each has the name of the value in a result."""
    world = await World(dut, mrrs=128).begin(send=often(48, 0.3))
    before = await world.counters()
    world.describe(WRITE, [(0x10001, 1000)])
    world.describe(READ, [(0x20000, 640)])
    world.refusals = {2: SILENT}
    world.start(WRITE, (0, 1), 1)
    world.start(READ, (0, 1), 1)
    await world.ends(0)
    await world.ends(1)
    assert await world.word(READ + ERROR) == 6
    world.queue.append((PEERS, poison(write(0xC000_0000, b"12345678")), 0))
    world.queue.append((PEERS, request(0, BAR, 8, tag=9), 0))
    world.queue.append((4, write(0xC100_0000, b"1234"), 0))
    world.queue.append((REGISTERS, completion(0, 4, 0, 77, b"1234"), 0))
    await world.cycles(200)
    world.completions.clear()
    after = await world.counters()
    grown = {name: after[name] - before[name] for name in after}
    assert grown["poisoned_tlp"] == 1
    assert grown["unsupported_request"] == 2
    assert grown["unexpected_completion"] == 1
    assert grown["completion_timeout"] == 1
    assert grown["malformed_tlp"] == 0
    # The completions of the first reading of the counters, of ERROR, and of the read of BAR 0.
    answers = 1 + 1 + 1
    assert grown["tlps"] == len(world.writes) + len(world.reads) + len(world.fetches) + answers
    payload = sum(4 * packet.dwords for packet in world.writes)
    assert grown["payload_bytes"] == payload + 8 * len(COUNTED) + 4
    assert grown["wire"] > 0


@law(SOURCE)
async def completions_that_belong_to_nothing_change_nothing(dut: Any) -> None:
    """Tags that are free, too large, or of fetches, in the middle of a read."""
    world = await World(dut, mrrs=128).begin(receive=never)
    draw = random.Random(49)
    world.describe(READ, [(0x10000, 4096)])
    world.start(READ, (0, 1), 1)
    strays = 0
    while strays < 30:
        tag = draw.choice([15, 16, 17, 18, 63, 255])
        if all(packet.tag != tag for packet in world.reads[-16:]):
            data = draw.randbytes(4 * draw.randrange(1, 9))
            world.queue.append((REGISTERS, completion(0, len(data), 0, tag, data), 0))
            strays += 1
        await world.cycles(7)
    await world.ends(1)
    while world.queue:
        await world.cycles(10)
    await world.cycles(30)
    assert await world.word(READ + STATUS) == 2
    assert (await world.counters())["unexpected_completion"] == strays
