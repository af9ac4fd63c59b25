"""Packets that the engine has no use for change nothing, and each request is answered once."""

from __future__ import annotations

import struct
from typing import Any

from dma_engine.test_dma_engine_example import FIRST, SOURCE, law
from dma_engine.world import (
    BAR,
    CLASS,
    COUNT,
    COUNTERS,
    ENGINE,
    ERROR,
    PATTERN,
    PAYLOAD,
    PEER,
    PEERS,
    READ,
    REGISTERS,
    SILENT,
    STATUS,
    TAGS,
    TIMER,
    WRITE,
    World,
    completion,
    pattern,
    poison,
    write,
)
from handshake import often

MESSAGE, MESSAGE_DATA = 0x34, 0x74
LOCKED_READ, IO_READ, IO_WRITE, FETCH_ADD, WIDE_SWAP = 0x01, 0x02, 0x42, 0x4C, 0x6D
COMPARE_AND_SWAP = 0x4E
FAULTS = ("unsupported_request", "malformed_tlp", "poisoned_tlp", "unexpected_completion")


def header(kind: int, dwords: int, *, wide: bool, enables: int = 0xF) -> bytes:
    """A header whose address, if it is one, is that of the first register."""
    head = struct.pack(">BBH", kind, 0, dwords) + struct.pack(">HBB", 8, 9, enables)
    return head + struct.pack(">Q" if wide else ">I", BAR)


async def faults(world: World) -> dict[str, int]:
    """The counters of packets that were wrong."""
    counters = await world.counters()
    return {name: counters[name] for name in FAULTS}


@law(SOURCE)
async def messages_and_writes_of_nothing_change_nothing(dut: Any) -> None:
    """With and without data; the packets behind them are whole."""
    world = await World(dut).begin(receive=often(91, 0.2))
    before = await faults(world)
    world.store(PATTERN, struct.pack("<Q", FIRST))
    nothing = header(0x40, 1, wide=False, enables=0) + b"\xff" * 4
    for packet in (
        header(MESSAGE, 0, wide=True),
        header(MESSAGE_DATA, 1, wide=True) + b"\xff" * 4,
        header(MESSAGE_DATA, 3, wide=True) + b"\xff" * 12,
        nothing,
    ):
        world.queue.append((REGISTERS, packet, 0))
        world.queue.append((PEERS, nothing, 0))
        assert await world.load(PATTERN, 8) == struct.pack("<Q", FIRST)
        assert await world.load(0, 8) == bytes(8)
    assert not world.completions
    assert await faults(world) == before


@law(SOURCE)
async def each_request_of_another_kind_is_unsupported(dut: Any) -> None:
    """I/O, atomic operations and locked reads, with their data behind the header."""
    world = await World(dut).begin(send=often(92, 0.3))
    # Each request has the type and the Byte Count of its completion (PCIe Base 2.2.9).
    packets = [
        (header(LOCKED_READ, 2, wide=False, enables=0xFF), 0x0B, 8),
        (header(IO_READ, 1, wide=False, enables=1), 0x0A, 4),
        (header(IO_WRITE, 1, wide=False, enables=2) + bytes(4), 0x0A, 4),
        (header(FETCH_ADD, 1, wide=False) + bytes(4), 0x0A, 4),
        (header(WIDE_SWAP, 2, wide=True) + bytes(8), 0x0A, 8),
        (header(COMPARE_AND_SWAP, 4, wide=False) + bytes(16), 0x0A, 8),
    ]
    for packet, kind, count in packets:
        world.queue.append((REGISTERS, packet, 0))
        await world.cycles(80)
        (answer,) = world.completions
        world.completions.clear()
        assert (answer[0], answer[6] >> 5, answer[10], len(answer)) == (kind, 1, 9, 12)
        assert struct.unpack_from(">HH", answer, 4) == (ENGINE, 1 << 13 | count)
    assert (await faults(world))["unsupported_request"] == len(packets)


@law(SOURCE)
async def completions_of_locked_reads_are_unexpected_and_not_answered(dut: Any) -> None:
    """The engine requested no locked read; the packet behind these completions is whole."""
    world = await World(dut).begin()
    for kind, data in ((0x0B, b""), (0x4B, bytes(8))):
        packet = bytes([kind]) + completion(0, 8, 0, 0, data)[1:]
        world.queue.append((REGISTERS, packet, 0))
        world.store(PATTERN, struct.pack("<Q", FIRST + kind))
        await world.cycles(60)
        assert not world.completions
        assert await world.load(PATTERN, 8) == struct.pack("<Q", FIRST + kind)
    assert (await faults(world))["unexpected_completion"] == 2


@law(SOURCE)
async def a_read_of_no_bytes_is_answered_with_one_dword(dut: Any) -> None:
    """Software reads so to know that its writes have arrived (PCIe Base 2.2.5)."""
    world = await World(dut).begin()
    world.queue.append((REGISTERS, header(0x00, 1, wide=False, enables=0), 0))
    await world.cycles(80)
    (answer,) = world.completions
    assert (answer[0], answer[6] >> 5, answer[10], len(answer)) == (0x4A, 0, 9, 16)
    assert struct.unpack_from(">H", answer, 6)[0] & 0xFFF == 1, "it counts as one byte"


@law(SOURCE)
async def a_poisoned_write_changes_no_register_and_starts_nothing(dut: Any) -> None:
    """The unit starts with the good one behind it."""
    world = await World(dut).begin()
    command = struct.pack("<QQII", 0x10000, 500, 0, 1)
    world.queue.append((REGISTERS, poison(write(BAR + PEER, command)), 0))
    assert await world.load(PEER, len(command)) == bytes(len(command))
    assert await world.word(PEER + STATUS) == 0
    assert not world.writes
    assert (await faults(world))["poisoned_tlp"] == 1
    world.start(PEER, (0x10000, 500), 1, first=FIRST)
    await world.ends(2)
    assert world.content(0x10000, 500) == pattern(FIRST, 500)


@law(SOURCE, lists="engine")
async def reads_count_the_cycles_in_which_they_wait(dut: Any) -> None:
    """For tags where requests are small, for space where they are large, and wrong completions."""
    world = await World(dut, mrrs=128).begin()
    waits = []
    for mrrs in (128, 4096):
        before = await world.counters()
        dut.max_read_request_i.value = (mrrs // 128).bit_length() - 1
        world.mrrs = mrrs
        world.describe(READ, [(0x10000, 2 * TAGS * 128 if mrrs == 128 else 3 * mrrs)])
        world.start(READ, (0, 1), 1)
        await world.ends(1)
        assert await world.word(READ + STATUS) == 2
        took = await world.word(READ + TIMER)
        after = await world.counters()
        waits.append([after[name] - before[name] for name in ("tags", "outstanding")])
        assert sum(waits[-1]) < took
    (tags, _), (_, space) = waits
    assert tags > 0, waits
    assert space > 0, waits
    world.refusals = {len(world.reads): COUNT}
    world.start(READ, (0, 1), 1)
    await world.ends(1)
    assert await world.word(READ + STATUS) == 3
    assert (await faults(world))["malformed_tlp"] == 1


@law(SOURCE)
async def the_answer_to_a_register_read_leaves_before_packets_that_wait(dut: Any) -> None:
    """While two units fill the link: at most the packet that leaves and one more come before it."""
    world = await World(dut).begin(send=often(93, 0.5))
    world.describe(WRITE, [(0x20000, 4096)])
    world.start(PEER, (0x90000, 6000), 1, first=FIRST)
    world.start(WRITE, (0, 1), 2, first=FIRST)
    while not world.writes:
        await world.cycles(1)
    for _ in range(8):
        sent = len(world.writes)
        await world.word(STATUS)
        assert len(world.writes) - sent <= 3
    await world.ends(2)
    await world.ends(0)


@law(SOURCE)
async def a_peer_write_of_4_gib_or_more_ends_with_an_error(dut: Any) -> None:
    """All 64 bits of LENGTH count; the next transfer is whole."""
    world = await World(dut).begin()
    for size in (1 << 32, (1 << 32) + 16, 1 << 63):
        world.start(PEER, (0x10000, size), 1)
        await world.ends(2, 1000)
        assert await world.word(PEER + STATUS) == 3
        assert await world.word(PEER + ERROR) == 7
        assert not world.writes
    world.start(PEER, (0x10000, 16), 1, first=FIRST)
    await world.ends(2, 1000)
    assert await world.word(PEER + STATUS) == 2
    assert await world.word(PEER + ERROR) == 0
    assert world.content(0x10000, 16) == pattern(FIRST, 16)


@law(SOURCE)
async def class_and_payload_are_those_at_the_start_of_a_transfer(dut: Any) -> None:
    """Values that are written to them during a transfer are for the next transfer."""
    world = await World(dut).begin()
    world.store(PEER + CLASS, struct.pack("<I", 3))
    world.start(PEER, (0x10000, 4096), 1, payload=64, first=FIRST)
    while not world.writes:
        await world.cycles(1)
    world.store(PEER + CLASS, struct.pack("<I", 5))
    world.store(PEER + PAYLOAD, struct.pack("<I", 128))
    await world.ends(2)
    seen = {(packet.size, packet.traffic_class) for packet in world.writes}
    assert seen == {(64, 3)}
    world.writes.clear()
    world.start(PEER, (0x10000, 4096), 1, payload=128, first=FIRST)
    await world.ends(2)
    assert {(packet.size, packet.traffic_class) for packet in world.writes} == {(128, 5)}


@law(SOURCE, lists="engine")
async def a_completion_after_its_timeout_is_unexpected(dut: Any) -> None:
    """Each completion after its timeout is counted, the first one included."""
    world = await World(dut).begin()
    world.refusals = {0: SILENT}
    world.describe(READ, [(0x10000, 128)])
    world.start(READ, (0, 1), 1)
    await world.ends(1, 5000)
    assert await world.word(READ + ERROR) == 6
    tag = world.reads[0].tag
    for count, part in ((128, 0), (64, 64)):
        late = completion(0, count, part, tag, bytes(64))
        world.queue.append((REGISTERS, late, 0))
    await world.cycles(60)
    assert (await faults(world))["unexpected_completion"] == 2
    assert await world.word(READ + ERROR) == 6


@law(SOURCE)
async def two_reads_of_32_bits_have_one_value_of_a_counter(dut: Any) -> None:
    """The upper half has the value at the time when the lower half was read."""
    world = await World(dut).begin()
    dut.engine.counters.tlps_q.value = (1 << 32) - 1
    await world.cycles(4)
    assert await world.word(COUNTERS) == (1 << 32) - 1
    assert await world.word(COUNTERS + 4) == 0
    assert await world.load(COUNTERS, 8) == struct.pack("<Q", (1 << 32) + 1)
    assert await world.word(COUNTERS + 4) == 1
