"""The ports of the user's logic: streams, commands, registers and interrupts.

Streams and registers have cocotbext-axi, an independent model of AXI4-Stream and APB, at their
other end.
"""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

import cocotb
from cocotb.triggers import Event, ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import ApbBus, ApbRam, AxiStreamBus, AxiStreamSink, AxiStreamSource
from dma_engine.test_dma_engine_example import odd_ranges
from dma_engine.world import (
    PEER,
    PEERS,
    READ,
    STATUS,
    WRITE,
    World,
    write,
)
from handshake import PACKETS, Pause, never, often

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOW = 0x30000
TOP = 1 << 64
ABORT = 1
"""The kind of an error: Completer Abort."""


def pausing(pause: Pause) -> Iterator[bool]:
    """The pauses as cocotbext-axi wants them."""
    while True:
        yield pause()


class User:
    """A user's logic around the engine, in its own clock."""

    def __init__(self, dut: Any, pause: Pause = never) -> None:
        self.dut, clock, reset = dut, dut.user_clk_i, dut.user_rst_i

        def bus(name: str) -> Any:
            return AxiStreamBus.from_prefix(dut, name)

        self.rx = AxiStreamSink(bus("m_axis_rx"), clock, reset)
        self.ep_rx = AxiStreamSink(bus("m_axis_ep_rx"), clock, reset)
        self.tx = AxiStreamSource(bus("s_axis_tx"), clock, reset)
        self.ep_tx = AxiStreamSource(bus("s_axis_ep_tx"), clock, reset)
        self.registers = ApbRam(ApbBus.from_prefix(dut, "m_apb"), clock, reset, size=1 << 16)
        for end in (self.rx, self.ep_rx, self.tx, self.ep_tx, self.registers):
            end.log.setLevel("ERROR")
            if pause is not never:
                end.set_pause_generator(pausing(pause))
        for name in ("ep_tx_cmd_valid_i", "user_irq_valid_i", "timed_i", "user_active_i"):
            getattr(dut, name).value = 0
        self.ends: list[int] = []
        """The errors of the commands that have ended."""
        self.changes = Event()

    async def begin(self, user_period: int = 4, send: Pause | None = None) -> World:
        """Reset; the world around the engine."""
        found = await World(self.dut, user_period=user_period).begin(send=send or often(1, 0.2))
        self.ends.clear()
        found.tasks += [cocotb.start_soon(task) for task in (self.judge(), self.note())]
        return found

    async def judge(self) -> None:
        """Words before the last one of a frame are whole."""
        dut = self.dut
        while True:
            await RisingEdge(dut.user_clk_i)
            for name in ("m_axis_rx", "m_axis_ep_rx"):
                valid, last, keep = (
                    getattr(dut, f"{name}_{part}").value for part in ("tvalid", "tlast", "tkeep")
                )
                if int(valid) and not int(last):
                    assert int(keep) == 0xFF, f"{name} has a part of a word"

    async def note(self) -> None:
        """Note the ends of commands."""
        while True:
            await RisingEdge(self.dut.user_clk_i)
            if int(self.dut.ep_tx_done_o.value):
                self.ends.append(int(self.dut.ep_tx_error_o.value))
                self.changes.set()

    async def offer(self, name: str, **values: int) -> None:
        """Offer values at a port with valid and ready, until they are taken."""
        dut = self.dut
        for key, value in values.items():
            getattr(dut, f"{name}_{key}_i").value = value
        getattr(dut, f"{name}_valid_i").value = 1
        while True:
            await ReadOnly()
            taken = int(getattr(dut, f"{name}_ready_o").value)
            await RisingEdge(dut.user_clk_i)
            if taken:
                break
        getattr(dut, f"{name}_valid_i").value = 0

    async def command(self, address: int, length: int, label: int = 0) -> None:
        """Begin a write of the next bytes of EP_TX."""
        await self.offer("ep_tx_cmd", address=address, length=length, label=label)

    async def ended(self, count: int) -> None:
        """Wait until so many commands have ended."""
        while len(self.ends) < count:
            self.changes.clear()
            await with_timeout(self.changes.wait(), 20, "us")


def law() -> Any:
    """A test that fails some time after it should have ended, so that a hang has a verdict."""
    return cocotb.test(timeout_time=40 + PACKETS, timeout_unit="us")


async def frame(sink: Any) -> bytes:
    """The next frame of a stream."""
    found = await with_timeout(sink.recv(), 20, "us")
    return bytes(found.tdata)


@law()
async def a_frame_of_rx_is_a_transfer(dut: Any) -> None:
    """Lists of any cut; transfers that wait behind each other keep their ends."""
    draw = random.Random(31)
    user = User(dut, often(30, 0.3))
    for period in (4, 6, 2):
        world = await user.begin(user_period=period)
        sizes = (1, 7, 8, 9, 16, 17)
        expected = [[(0x100000 + draw.randrange(64), size)] for size in sizes]
        expected += [odd_ranges(draw, 4, 0x100000, 400) for _ in range(3)]
        for ranges in expected:
            world.describe(READ, ranges)
            world.start(READ, (0, len(ranges)), 1)
            await world.ends(1)
        for ranges in expected:
            data = b"".join(world.content(*one) for one in ranges)
            assert await frame(user.rx) == data
        assert user.rx.empty()
        await world.end()


@law()
async def a_transfer_without_data_has_no_frame(dut: Any) -> None:
    """A list without bytes, and the frame after it."""
    user = User(dut)
    world = await user.begin()
    for ranges in ([(0x100000, 0)], [(0x100000, 12)]):
        world.describe(READ, ranges)
        world.start(READ, (0, 1), 1)
        await world.ends(1)
    assert await frame(user.rx) == world.content(0x100000, 12)
    assert user.rx.empty()


@law()
async def a_transfer_that_fails_ends_with_the_data_before_the_error(dut: Any) -> None:
    """The third of four requests is refused; the next transfer has a frame of its own."""
    user = User(dut)
    world = await user.begin()
    world.refusals[2] = 4
    for size in (2048, 9):
        world.describe(READ, [(0x100003, size)])
        world.start(READ, (0, 1), 1)
        await world.ends(1)
    before = sum(packet.size for packet in world.reads[:2])
    assert await frame(user.rx) == world.content(0x100003, before)
    assert await frame(user.rx) == world.content(0x100003, 9)


@law()
async def a_frame_of_ep_rx_is_a_packet(dut: Any) -> None:
    """Packets of any size and alignment."""
    user = User(dut, often(32, 0.4))
    world = await user.begin()
    draw = random.Random(33)
    parts = [draw.randbytes(draw.randrange(1, 129)) for _ in range(PACKETS)]
    for part in parts:
        world.queue.append((PEERS, write(0xC000_0000 + draw.randrange(4), part), 0))
    for part in parts:
        assert await frame(user.ep_rx) == part
    assert user.ep_rx.empty()


@law()
async def a_packet_without_space_is_dropped_whole(dut: Any) -> None:
    """While EP_RX stands still, packets are lost; those that come have all their bytes."""
    user = User(dut)
    world = await user.begin()
    draw = random.Random(34)
    user.ep_rx.pause = True
    parts = [draw.randbytes(draw.randrange(60, 129)) for _ in range(50)]
    for part in parts:
        world.queue.append((PEERS, write(0xC000_0000, part), 0))
    await world.cycles(50 * 30)
    lost = (await world.counters())["completer_abort"]
    assert 0 < lost < len(parts)
    assert [kind for kind, _ in world.errors] == [ABORT] * lost
    user.ep_rx.pause = False
    waiting = iter(parts)
    for _ in range(len(parts) - lost):
        found = await frame(user.ep_rx)
        assert any(found == part for part in waiting), "a packet comes whole, in order"
    world.queue.append((PEERS, write(0xC000_0000, b"the next one"), 0))
    assert await frame(user.ep_rx) == b"the next one"


@law()
async def tx_and_ep_tx_take_words_of_any_size(dut: Any) -> None:
    """Frames end in the middle of a word; transfers are cut elsewhere."""
    user = User(dut, often(35, 0.3))
    world = await user.begin()
    draw = random.Random(36)
    sent = {WRITE: b"", PEER: b""}
    for _ in range(12):
        for unit, source in ((WRITE, user.tx), (PEER, user.ep_tx)):
            data = draw.randbytes(draw.randrange(1, 70))
            sent[unit] += data
            source.send_nowait(data)
    world.describe(WRITE, [(0x200003, 10), (0x300000, len(sent[WRITE]) - 10)])
    world.start(WRITE, (0, 2), 1)
    world.start(PEER, (0x400001, len(sent[PEER])), 1)
    await world.ends(0)
    await world.ends(2)
    host = world.content(0x200003, 10) + world.content(0x300000, len(sent[WRITE]) - 10)
    assert host == sent[WRITE]
    assert world.content(0x400001, len(sent[PEER])) == sent[PEER]


@law()
async def commands_write_the_next_bytes_of_ep_tx_in_order(dut: Any) -> None:
    """Any size and address, with labels; the host's transfers of EP_TX come between them."""
    user = User(dut, often(37, 0.2))
    for period in (4, 6, 2):
        world = await user.begin(user_period=period)
        draw = random.Random(38)
        sizes = [draw.choice([0, 1, 8, 128, draw.randrange(1, 700)]) for _ in range(6)]
        base = 0x44_0000_0000
        places = [base + 0x10000 * k + draw.randrange(0x1000) for k in range(len(sizes))]
        for k, (address, size) in enumerate(zip(places, sizes, strict=True)):
            data = draw.randbytes(size)
            if data:
                user.ep_tx.send_nowait(data)
            world.writes.clear()
            world.beats.clear()
            await user.command(address, size, label=k + 1)
            await user.ended(k + 1)
            assert world.content(address, size) == data
            assert sum(packet.size for packet in world.writes) == size
            assert {label for _, label, _ in world.beats} <= {k + 1}, "the label of the command"
        assert user.ends == [0] * len(sizes)
        user.ep_tx.send_nowait(bytes(range(50)))
        world.start(PEER, (0x400001, 50), 99)
        await world.ends(2)
        assert world.content(0x400001, 50) == bytes(range(50))
        await world.end()


@law()
async def commands_and_transfers_of_the_host_do_not_mix(dut: Any) -> None:
    """The transfer waits for the command in progress, and later commands wait for the transfer."""
    user = User(dut)
    world = await user.begin()
    await user.command(0x10000, 300, label=1)
    await user.command(0x20000, 200, label=2)
    await world.cycles(20)
    world.start(PEER, (0x30000, 100), 3)
    await world.cycles(60)
    data = random.Random(39).randbytes(600)
    user.ep_tx.send_nowait(data)
    await user.ended(2)
    await world.ends(2)
    order = list(dict.fromkeys(packet.address >> 16 for packet in world.writes))
    assert order == [1, 3, 2]
    assert world.content(0x10000, 300) == data[:300]
    assert world.content(0x30000, 100) == data[300:400]
    assert world.content(0x20000, 200) == data[400:]
    assert await world.word(PEER + STATUS) == 2


@law()
async def a_command_beyond_64_bits_sends_nothing(dut: Any) -> None:
    """Its end has an error, and takes no byte; a range may end at the last address."""
    user = User(dut)
    world = await user.begin()
    user.ep_tx.send_nowait(bytes(range(24)))
    for address, size in ((TOP - 8, 9), (TOP - 8, 8), (TOP - 16, 0xFFFF_FFFF), (0x1000, 16)):
        await user.command(address, size)
    await user.ended(4)
    assert user.ends == [1, 0, 1, 0]
    assert [packet.address for packet in world.writes] == [TOP - 8, 0x1000]
    assert b"".join(packet.data for packet in world.writes) == bytes(range(24))


@law()
async def the_end_of_a_command_follows_its_last_beat(dut: Any) -> None:
    """While the link takes nothing, no command ends, not even one without a byte behind it."""
    user, stands = User(dut), [True]
    world = await user.begin(send=lambda: stands[0])
    user.ep_tx.send_nowait(bytes(4))
    await user.command(0x1000, 4)
    await user.command(0x2000, 0)
    await world.cycles(100)
    assert user.ends == []
    stands[0] = False
    await user.ended(2)
    assert len(world.writes) == 1


@law()
async def the_users_registers_are_memory_for_accesses_of_any_size(dut: Any) -> None:
    """Reads follow earlier writes, whatever the time that an access takes."""
    user = User(dut, often(40, 0.3))
    for period in (4, 6, 2):
        world = await user.begin(user_period=period)
        draw = random.Random(41)
        model = bytearray(256)
        user.registers.write(0, bytes(256))
        user.registers.write(0xFF00, bytes(256))
        for _ in range(PACKETS // 3):
            base = draw.choice([0, 0xFF00])
            begin = draw.randrange(256)
            data = draw.randbytes(min(draw.choice([1, 2, 4, 8, 60]), 256 - begin))
            model[begin : begin + len(data)] = data
            world.store(WINDOW + base + begin, data)
            end = draw.randrange(begin, 256) + 1
            found = await world.load(WINDOW + base + begin, end - begin)
            assert found == bytes(user.registers.read(base + begin, end - begin))
            assert found[: len(data)][: end - begin] == data[: end - begin]
        assert await world.word(READ + STATUS) == 0, "the engine's registers are as before"
        assert not world.errors
        await world.end()


@law()
async def an_access_needs_only_its_dwords(dut: Any) -> None:
    """A read of 4 bytes is one transfer of the APB, and a write has its byte enables."""
    user = User(dut)
    world = await user.begin()
    seen = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk_i)
            if int(dut.m_apb_penable.value) and int(dut.m_apb_pready.value):
                ports = (dut.m_apb_pwrite, dut.m_apb_paddr, dut.m_apb_pstrb)
                seen.append(tuple(int(port.value) for port in ports))

    world.tasks.append(cocotb.start_soon(watch()))
    for at in (0x10, 0x14):
        await world.load(WINDOW + at, 4)
    world.store(WINDOW + 0x25, b"abcd")
    await world.load(WINDOW + 0x1C, 12)
    reads = [(0, 0x10, 0), (0, 0x14, 0)]
    writes = [(1, 0x24, 0b1110), (1, 0x28, 0b0001)]
    assert seen == [*reads, *writes, (0, 0x1C, 0), (0, 0x20, 0), (0, 0x24, 0)]


@law()
async def writes_that_arrive_during_a_read_are_not_lost(dut: Any) -> None:
    """Long writes right behind the request of a read; the last ones wait for space."""
    user = User(dut)
    world = await user.begin()
    draw = random.Random(43)
    for _ in range(3):
        data = draw.randbytes(360)
        user.registers.write(0, b"before..")
        reading = cocotb.start_soon(world.load(WINDOW, 8))
        await world.cycles(1)
        for at in range(0, 360, 120):
            world.store(WINDOW + at, data[at : at + 120])
        assert await reading == b"before..", "a read is carried out before later writes"
        assert await world.load(WINDOW, 8) == data[:8]
        assert bytes(user.registers.read(0, 360)) == data
    assert not world.errors


@law()
async def writes_that_the_users_registers_do_not_take_are_dropped(dut: Any) -> None:
    """The APB stands still: later writes are lost and reported, and other packets pass."""
    user = User(dut)
    world = await user.begin()
    user.registers.pause = True
    for k in range(40):
        world.store(WINDOW + 8 * k, struct.pack("<Q", k + 1))
    world.start(PEER, (0x1000, 0), 1)
    await world.ends(2)
    lost = len(world.errors)
    assert {kind for kind, _ in world.errors} == {ABORT}
    assert 0 < lost < 40
    user.registers.pause = False
    await world.cycles(200)
    taken = struct.unpack("<40Q", bytes(user.registers.read(0, 320)))
    assert [k + 1 for k in range(40 - lost)] == [number for number in taken if number]
    world.store(WINDOW, b"again")
    assert await world.load(WINDOW, 5) == b"again"
    assert (await world.counters())["completer_abort"] == lost


@law()
async def interrupts_of_the_user_come_once_each(dut: Any) -> None:
    """Any vector, between the interrupts of the units, while the port pauses."""
    user = User(dut)
    world = await user.begin()
    draw = random.Random(42)
    vectors = [draw.randrange(3, 2048) for _ in range(20)]

    async def pause() -> None:
        while True:
            dut.irq_ready_i.value = draw.random() < 0.3
            await RisingEdge(dut.clk_i)

    world.tasks.append(cocotb.start_soon(pause()))
    for k, vector in enumerate(vectors):
        if k % 5 == 0:
            world.start(PEER, (0x1000, 0), 1)
        await user.offer("user_irq", vector=vector)
    await world.cycles(200)
    assert [vector for vector in world.interrupts if vector > 2] == vectors
    assert world.interrupts.count(2) == 4


@law()
async def without_bus_master_enable_interrupts_of_the_user_wait(dut: Any) -> None:
    """They come when the bit is set."""
    user = User(dut)
    world = await user.begin()
    dut.bus_master_i.value = 0
    await user.offer("user_irq", vector=9)
    await world.cycles(50)
    assert world.interrupts == []
    dut.bus_master_i.value = 1
    await world.ends(9)
