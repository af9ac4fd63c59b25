"""Receipt of posted packets and completions depends on nothing else (PCIe Base 2.4.1)."""

from __future__ import annotations

import random
import struct
from typing import Any

from dma_engine.test_dma_engine_example import LOOPBACK, MATRIX, REFLECTOR, SOURCE, law
from dma_engine.world import (
    BAR,
    CROSSED,
    PARAMETERS,
    PATTERN,
    PEER,
    PEERS,
    READ,
    REGISTERS,
    REPLY,
    STATUS,
    WRITE,
    Packet,
    World,
    request,
    write,
)
from packets import is_non_posted

ACCEPT = PARAMETERS.get("ACCEPT_CYCLES", 512)
WINDOW = 0xC000_0000


class Gate:
    """A pause of the link that lasts until the gate is opened."""

    def __init__(self) -> None:
        self.is_closed = True

    def __call__(self) -> bool:
        """Whether the link takes no beat in the next cycle."""
        return self.is_closed


def pieces(seed: int, count: int, size: int = 128) -> list[bytes]:
    """The data of `count` writes of a peer."""
    draw = random.Random(seed)
    return [draw.randbytes(size) for _ in range(count)]


def to_peers(world: World, parts: list[bytes], label: int = 0) -> None:
    """Let a peer write these packets."""
    for part in parts:
        world.queue.append((PEERS, write(WINDOW, part), label))


async def received(world: World, most: int) -> None:
    """Wait until the engine has received all posted packets."""
    for _ in range(most // 8):
        await world.cycles(8)
        if all(is_non_posted(packet) for _, packet, _ in world.queue):
            return
    raise AssertionError(f"{len(world.queue)} packets wait after {most} cycles")


@law(SOURCE, most=0.2)
async def posted_packets_pass_register_reads_while_nothing_leaves(dut: Any) -> None:
    """One or two of five reads are taken; the writes behind all of them are received."""
    gate = Gate()
    world = await World(dut).begin(send=gate)
    for tag in range(5):
        world.queue.append((REGISTERS, request(0, BAR + PATTERN, 8, tag), 0))
        world.store(PEER + PATTERN, struct.pack("<Q", tag))
        to_peers(world, pieces(tag, 3))
    await received(world, 1000)
    assert len(world.queue) >= 3
    assert not int(dut.rx_np_ok_o.value)
    assert not world.completions
    gate.is_closed = False
    await world.cycles(300)
    assert [answer[10] for answer in world.completions] == list(range(5))
    world.completions.clear()
    assert await world.load(PEER + PATTERN, 8) == struct.pack("<Q", 4)


@law(SOURCE, most=0.2)
async def completions_pass_register_reads_that_are_not_taken(dut: Any) -> None:
    """The data of a read comes while the link takes nothing, and the read ends."""
    gate = Gate()
    gate.is_closed = False
    world = await World(dut).begin(send=gate)
    world.describe(READ, [(0x10000, 512)])
    world.start(READ, (0, 1), 1)
    while not world.reads:
        await world.cycles(1)
    gate.is_closed = True
    for tag in range(3):
        world.queue.append((REGISTERS, request(0, BAR + STATUS, 4, tag), 0))
    await world.ends(1, 2000)


@law(LOOPBACK, most=0.2)
async def writes_that_no_user_circuit_takes_are_unsupported(dut: Any) -> None:
    """Register reads behind the unsupported writes are answered."""
    world = await World(dut).begin()
    to_peers(world, pieces(1, 40))
    assert await world.word(READ + STATUS) == 0
    counters = await world.counters()
    assert counters["unsupported_request"] == 40
    assert counters["completer_abort"] == 0


@law(MATRIX, lists="engine", most=0.2)
async def writes_that_find_no_space_in_time_are_dropped_and_counted(dut: Any) -> None:
    """Register reads behind the writes are answered; accepted and later data leaves in order."""
    for crossed in (0, 1):
        world = await World(dut, seed=crossed).begin()
        world.store(CROSSED, bytes([crossed]))
        parts = pieces(2, 90)
        to_peers(world, parts)
        await received(world, 90 * 20 + ACCEPT + 200)
        lost = (await world.counters())["completer_abort"]
        assert 90 - 70 <= lost <= 90 - 60
        data = b"".join(parts[: 90 - lost])
        later = pieces(3, 20)
        size = len(data) + 128 * len(later)
        if crossed:
            world.describe(WRITE, [(0x500001, size)])
        unit = WRITE if crossed else PEER
        world.start(unit, (0, 1) if crossed else (0x500001, size), 1)
        await world.cycles(1000)
        to_peers(world, later)
        await world.ends(0 if crossed else 2)
        # The first bytes of the packet that found no more space may have been taken.
        came = world.content(0x500001, size)
        assert came.startswith(data[: 128 * (90 - lost - 1)])
        assert (await world.counters())["completer_abort"] == lost
        await world.end()


@law(MATRIX, lists="host", most=0.2)
async def a_list_is_fetched_behind_writes_that_wait_for_it(dut: Any) -> None:
    """The completion of the fetch is behind more writes of a peer than the FIFOs hold."""
    world = await World(dut).begin()
    answers: list[list[bytes]] = []
    whole = world.answer

    def later(packet: Packet, status: int) -> list[bytes]:
        answers.append(whole(packet, status))
        return []

    world.answer = later  # type: ignore[method-assign]
    world.store(CROSSED, b"\1")
    world.describe(WRITE, [(0x500000, 8192)])
    world.start(WRITE, (0, 1), 1)
    while not answers:
        await world.cycles(1)
    parts = pieces(4, 70)
    to_peers(world, parts)
    await received(world, 70 * 20 + ACCEPT + 200)
    world.pending.extend(answers)
    world.queue.grows.set()
    await world.ends(0, 4000)
    assert await world.word(WRITE + STATUS) == 2
    assert world.content(0x500000, 8192) == b"".join(parts)[:8192]
    assert (await world.counters())["completer_abort"] > 0


@law(REFLECTOR, most=0.2)
async def a_reflector_drops_whole_writes_while_nothing_leaves(dut: Any) -> None:
    """Writes that it has taken come back whole; later writes come back, too."""
    for size, count in ((100, 60), (252, 30), (512, 30)):
        gate = Gate()
        world = await World(dut, mps=512, seed=size).begin(send=gate)
        world.store(REPLY, struct.pack("<Q", 0x44_0000_0000))
        parts = pieces(5, count, size)
        for label, part in enumerate(parts, 1):
            to_peers(world, [part], label)
        await received(world, count * (size // 8 + 8) + ACCEPT + 200)
        gate.is_closed = False
        await world.cycles(count * (size // 8 + 8))
        lost = (await world.counters())["completer_abort"]
        assert lost >= count // 3
        assert [packet.data for packet in world.writes] == parts[: count - lost]
        world.writes.clear()
        to_peers(world, parts[:3])
        await world.cycles(600)
        assert [packet.data for packet in world.writes] == parts[:3]
        await world.end()


@law(REFLECTOR, most=0.2)
async def a_reflected_write_keeps_its_label(dut: Any) -> None:
    """Writes are back to back; in some, the last dword of the payload is alone in its beat."""
    for size in (4, 8, 12, 20, 100, 128):
        world = await World(dut, seed=size).begin()
        world.store(REPLY, struct.pack("<Q", 0x44_0000_0000))
        await world.cycles(40)
        for label, part in enumerate(pieces(6, 12, size), 1):
            to_peers(world, [part], label)
        await world.cycles(400)
        labels = [label for _, label, last in world.beats if last]
        assert labels == list(range(1, 13)), f"{size} bytes"
        await world.end()
