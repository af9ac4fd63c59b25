"""Every byte has its place, packets obey MPS, MRRS and the page, and each transfer says its end."""

from __future__ import annotations

import random
import struct
from typing import Any

import cocotb
from dma_engine.world import (
    BAR,
    CLASS,
    COUNT,
    COUNTED,
    COUNTERS,
    CROSSED,
    ERROR,
    FETCH,
    LONG,
    PARAMETERS,
    PEER,
    PEERS,
    POISONED,
    READ,
    REPLY,
    SILENT,
    START,
    STATUS,
    TIMER,
    WRITE,
    World,
    pattern,
    request,
    write,
)
from handshake import PACKETS, SOAK, often

USER = PARAMETERS.get("USER", 0)
SOURCE, LOOPBACK, MATRIX, REFLECTOR = range(4)
FIRST = 0x0123_4567_89AB_CDEF


def law(*circuits: int, lists: str = "anywhere", most: float = 4 + PACKETS / 10) -> Any:
    """A test of the engine with these user circuits, and with lists there: "engine" or "host".

    It fails after `most` milliseconds of simulated time.
    """
    skip = USER not in circuits or lists == ("engine" if FETCH else "host")
    return cocotb.test(skip=skip, timeout_time=most, timeout_unit="ms")


def odd_ranges(
    draw: random.Random, count: int, base: int, most: int = 700
) -> list[tuple[int, int]]:
    """Ranges of any alignment and size, apart from each other, some of them empty."""
    sizes = [draw.choice([0, 1, 2, 3, 5, 128, draw.randrange(1, most)]) for _ in range(count)]
    return [(base + k * 0x2000 + draw.randrange(0x1000), size) for k, size in enumerate(sizes)]


@law(SOURCE)
async def a_peer_write_is_packets_of_mps_without_idle_beats(dut: Any) -> None:
    """At 128 bytes each packet takes 18 beats of 64 bits; the timer counts them."""
    world = await World(dut).begin()
    size = 4096
    world.start(PEER, (0xE000_0000, size), 5, first=FIRST)
    await world.ends(2)
    assert world.content(0xE000_0000, size) == pattern(FIRST, size)
    assert [packet.size for packet in world.writes] == [128] * (size // 128)
    first, last = world.beats[0][0], world.beats[-1][0]
    cocotb.log.info("beats per packet: %f", (last - first + 1) / (size // 128))
    assert last - first + 1 == 18 * size // 128
    assert {label for _, label, _ in world.beats} == {5}
    assert await world.word(PEER + STATUS) == 2
    assert await world.word(PEER + TIMER) == 18 * size // 128
    assert await world.word(PEER + START) == 5


@law(SOURCE)
async def peer_writes_of_any_alignment_and_payload_put_each_byte_in_its_place(dut: Any) -> None:
    """Addresses of 32 and 64 bits, sizes from 0 on, any PAYLOAD, and a link that stops."""
    world = await World(dut, mps=256).begin(send=often(3, 0.3))
    draw = random.Random(4)
    for label in range(1, 1 + PACKETS // 2):
        base = draw.choice([0x1000, 0xFFFF_F000, 0x12_3456_7000]) + draw.randrange(4096)
        size = draw.choice([0, 1, 2, 3, 4, 7, 8, 9, draw.randrange(1, 2000)])
        payload = draw.choice([0, 4, 8, 64, 130, 1000])
        world.writes.clear()
        world.start(PEER, (base, size), label, payload, first=label * FIRST % 2**64)
        await world.ends(2)
        assert world.content(base, size) == pattern(label * FIRST % 2**64, size) or size == 0
        assert b"".join(packet.data for packet in world.writes) == pattern(
            label * FIRST % 2**64, size
        )
        most = min(payload & ~3 or 256, 256)
        assert all(4 * packet.dwords <= most for packet in world.writes)
        assert await world.word(PEER + STATUS) == 2


@law(SOURCE)
async def registers_are_memory_for_accesses_of_any_size_and_alignment(dut: Any) -> None:
    """Writes and reads of the registers and the lists agree with an array of bytes."""
    world = await World(dut).begin(receive=often(5, 0.3), send=often(6, 0.3))
    draw = random.Random(7)
    model = {
        at: bytearray(size)
        for at, size in {
            0: 0x14,
            0x18: 0x18,
            0x58: 0x18,
            0x100: 16,
        }.items()
    }
    if not FETCH:
        model |= {0x10000: bytearray(256), 0x20000: bytearray(256)}
    for at, content in model.items():
        world.store(at, bytes(content)[: 0x80 if at >= 0x10000 else None])
        if at >= 0x10000:
            world.store(at + 0x80, bytes(0x80))
    for _ in range(PACKETS):
        base = draw.choice(list(model))
        begin = draw.randrange(len(model[base]))
        end = min(len(model[base]), begin + draw.choice([1, 2, 3, 4, 8, 100]))
        data = draw.randbytes(end - begin)
        model[base][begin:end] = data
        world.store(base + begin, data)
        base = draw.choice(list(model))
        begin = draw.randrange(len(model[base]))
        end = draw.randrange(begin + 1, len(model[base]) + 1)
        assert await world.load(base + begin, end - begin) == model[base][begin:end]
    expected = bytes(model.get(0x10000, 256)) + bytes(4096 - 256)
    assert await world.load(0x10000, 4096) == expected


@law(SOURCE)
async def registers_are_0_after_reset_and_what_is_reserved_stays_0(dut: Any) -> None:
    """The first 4 KiB of BAR 2, as in the model; unlike there, reserved words take no value."""
    world = await World(dut, mps=512).begin()
    for at in range(0, 0x1000, 0x400):
        zeros = bytearray(await world.load(at, 0x400))
        if at == 0:
            zeros[COUNTERS : COUNTERS + 8 * len(COUNTED)] = bytes(8 * len(COUNTED))
        assert zeros == bytes(0x400)
    reserved = [(unit + 0x30, 0x10) for unit in (WRITE, READ, PEER)]
    reserved += [(0xC0, 0x40), (0x118, 0xE8), (0x280, 0x180), (0x8000, 0x100)]
    for at, size in reserved:
        world.store(at, b"\xff" * size)
        assert await world.load(at, size) == bytes(size), hex(at)
    before = await world.counters()
    world.store(COUNTERS, b"\xff" * 8 * len(COUNTED))
    after = await world.counters()
    assert after["received_tlps"] == before["received_tlps"] + 2, "counters are read-only"


@law(SOURCE)
async def requests_that_no_part_serves_are_unsupported(dut: Any) -> None:
    """A read of BAR 0, one beyond BAR 2, and one with the kind of an I/O read."""
    world = await World(dut).begin()
    io = bytes([0x02]) + request(0, BAR, 4, tag=9)[1:]
    for bar, packet in (
        (PEERS, request(0, BAR, 8, tag=9)),
        (REGISTERS_BAR, request(0, BAR + 0x3FFFC, 8, tag=9)),
        (REGISTERS_BAR, io),
    ):
        world.queue.append((bar, packet, 0))
        await world.cycles(60)
        assert len(world.completions) == 1
        raw = world.completions.pop()
        assert (raw[0], raw[6] >> 5, raw[10], len(raw)) == (0x0A, 1, 9, 12)


REGISTERS_BAR = 2


@law(SOURCE)
async def a_host_write_fills_the_ranges_of_its_list(dut: Any) -> None:
    """Descriptors of any alignment, empty ones too; between two pages there are no idle beats."""
    world = await World(dut).begin()
    world.describe(WRITE, [(0x10000 + 4096 * k, 4096) for k in range(2)])
    world.start(WRITE, (0, 2), 1, first=FIRST)
    await world.ends(0)
    assert world.content(0x10000, 2 * 4096) == pattern(FIRST, 2 * 4096)
    assert await world.word(WRITE + STATUS) == 2
    took = await world.word(WRITE + TIMER)
    cocotb.log.info("host write: %f beats per packet", took / 64)
    assert took == 18 * 64 or FETCH
    draw = random.Random(8)
    for label in range(2, 2 + PACKETS // 5):
        ranges = odd_ranges(draw, draw.randrange(1, 17), 0x1_0000_0000)
        world.describe(WRITE, ranges)
        world.writes.clear()
        world.start(WRITE, (0, len(ranges)), label, first=FIRST)
        await world.ends(0)
        expected = pattern(FIRST, sum(size for _, size in ranges))
        assert b"".join(packet.data for packet in world.writes) == expected
        assert b"".join(world.content(*one) for one in ranges) == expected


@law(SOURCE, LOOPBACK, lists="engine")
async def a_list_longer_than_the_memory_ends_with_an_error(dut: Any) -> None:
    """The descriptors of the memory are worked on, and nothing else."""
    world = await World(dut).begin()
    world.describe(READ, [(0x10000 + 64 * k, 64) for k in range(16)])
    world.start(READ, (0, 17), 1)
    await world.ends(1)
    assert len(world.reads) == 16
    assert await world.word(READ + STATUS) == 3
    assert await world.word(READ + ERROR) == 5


@law(SOURCE)
async def a_host_read_covers_its_ranges_with_requests_of_mrrs(dut: Any) -> None:
    """With completions in random order and parts, and the traffic class of the register."""
    world = await World(dut, mrrs=256).begin(receive=often(9, 0.3))
    draw = random.Random(10)
    world.store(READ + CLASS, struct.pack("<I", 3))
    for label in range(1, 1 + PACKETS // 10):
        ranges = odd_ranges(draw, draw.randrange(1, 17), 0x7_0000_0000)
        world.describe(READ, ranges)
        world.reads.clear()
        world.start(READ, (0, len(ranges)), label)
        await world.ends(1)
        covered = [
            at
            for packet in world.reads
            for at in range(packet.address, packet.address + packet.size)
        ]
        assert covered == [at for address, size in ranges for at in range(address, address + size)]
        assert all(packet.traffic_class == 3 for packet in world.reads)
        assert await world.word(READ + STATUS) == 2


@law(SOURCE)
async def an_error_stops_a_read_with_its_code_and_the_next_transfer_is_whole(dut: Any) -> None:
    """UR, CA, poisoned data, no completion at all, wrong byte count, more data than asked for."""
    world = await World(dut, mrrs=128).begin()
    errors = ((4, 4), (POISONED, 3), (LONG, 5), (1, 1), (SILENT, 6), (COUNT, 5))
    for status, code in errors if SOAK else errors[:3]:
        world.reads.clear()
        world.refusals = {5: status}
        world.describe(READ, [(0x10000, 2048), (0x20000, 1024)])
        world.start(READ, (0, 2), 1)
        await world.ends(1)
        assert await world.word(READ + STATUS) == 3
        assert await world.word(READ + ERROR) == code
        world.refusals, before = {}, len(world.reads)
        assert before < 24, "an error stops the transfer"
        world.start(READ, (0, 2), 2)
        await world.ends(1)
        assert len(world.reads) - before == 24
        assert await world.word(READ + STATUS) == 2
        assert await world.word(READ + ERROR) == 0


@law(SOURCE)
async def without_bus_master_enable_completions_leave_and_requests_wait(dut: Any) -> None:
    """A transfer begins when the bit is set."""
    world = await World(dut).begin()
    dut.bus_master_i.value = 0
    world.start(PEER, (0x1000, 1024), 1, first=1)
    await world.cycles(100)
    assert await world.word(PEER + STATUS) == 1
    assert world.writes == []
    dut.bus_master_i.value = 1
    await world.ends(2)
    assert world.content(0x1000, 1024) == pattern(1, 1024)


@law(SOURCE)
async def units_that_send_at_once_take_turns(dut: Any) -> None:
    """Host writes and peer writes share the link packet by packet, while registers are read."""
    world = await World(dut).begin()
    world.describe(WRITE, [(0x10000, 4096)])
    world.start(WRITE, (0, 1), 1, first=FIRST)
    world.start(PEER, (0x90000, 4096), 2, first=FIRST + 1)
    for _ in range(5):
        assert await world.word(PEER + STATUS) in (0, 1)
    await world.ends(0)
    await world.ends(2)
    assert world.content(0x10000, 4096) == pattern(FIRST, 4096)
    assert world.content(0x90000, 4096) == pattern(FIRST + 1, 4096)
    labels = [label for _, label, last in world.beats if last and label]
    middle = labels[10:50]
    assert abs(middle.count(1) - middle.count(2)) <= 1


@law(LOOPBACK)
async def what_is_read_comes_back_through_the_loopback(dut: Any) -> None:
    """Both directions at once, lists of different cuts, more than the FIFOs hold."""
    for_all = random.Random(11)
    world = await World(dut, mrrs=512, mps=128).begin(receive=often(12, 0.2), send=often(13, 0.2))
    for label in range(1, 1 + max(2, PACKETS // 20)):
        reads = odd_ranges(for_all, 16, 0x100000, 3000 if SOAK else 900)
        total = sum(size for _, size in reads)
        half = total // 3
        writes = [(0x20_0000_0003, half), (0x20_0010_0001, total - half)]
        world.describe(READ, reads)
        world.describe(WRITE, writes)
        world.start(READ, (0, len(reads)), label)
        world.start(WRITE, (0, len(writes)), label)
        await world.ends(0)
        await world.ends(1)
        sent = b"".join(world.content(*one) for one in reads)
        assert b"".join(world.content(*one) for one in writes) == sent


@law(MATRIX)
async def the_matrix_connects_host_and_peers_straight_and_crossed(dut: Any) -> None:
    """Data of peers leaves to a peer or to the host, and data of the host the other way round."""
    world = await World(dut).begin(receive=often(14, 0.2), send=often(18, 0.2))
    draw = random.Random(15)
    for crossed in (0, 1, 0) if SOAK else (0, 1):
        world.store(CROSSED, bytes([crossed]))
        await world.cycles(60)
        parts = [draw.randbytes(draw.randrange(1, 129)) for _ in range(60 if SOAK else 15)]
        data = b"".join(parts)
        reads = odd_ranges(draw, 8, 0x100000)
        total = sum(size for _, size in reads)
        to_host, to_peer = (len(data), total) if crossed else (total, len(data))
        world.describe(READ, reads)
        world.describe(WRITE, [(0x500001, to_host)])
        world.start(READ, (0, len(reads)), 1)
        world.start(WRITE, (0, 1), 2)
        world.start(PEER, (0x900002, to_peer), 3)
        for part in parts:
            world.queue.append((PEERS, write(0xC000_0000 + draw.randrange(4), part), 4))
        for vector in (0, 1, 2):
            await world.ends(vector)
        host = b"".join(world.content(*one) for one in reads)
        assert world.content(0x500001, to_host) == (data if crossed else host)
        assert world.content(0x900002, to_peer) == (host if crossed else data)


@law(REFLECTOR)
async def a_reflector_sends_each_write_of_a_peer_to_the_reply_address(dut: Any) -> None:
    """One packet for each, with its size, data and label."""
    world = await World(dut).begin(send=often(16, 0.3))
    draw = random.Random(17)
    world.store(REPLY, struct.pack("<Q", 0x44_0000_0000))
    await world.cycles(40)
    parts = [draw.randbytes(draw.randrange(1, 125)) for _ in range(PACKETS)]
    for part in parts:
        world.queue.append((PEERS, write(0xC000_0001, part), 6))
    while len(world.writes) < len(parts):
        await world.cycles(10)
    assert [packet.data for packet in world.writes] == parts
    assert all(packet.address == 0x44_0000_0000 for packet in world.writes)
    assert {label for _, label, last in world.beats if last} == {6}
