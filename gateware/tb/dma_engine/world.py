"""The engine's surroundings: a CPU that accesses registers, a memory that answers reads, peers."""

from __future__ import annotations

import json
import os
import random
import struct
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, ReadOnly, RisingEdge, Timer, with_timeout
from cocotb.utils import get_sim_time
from handshake import Pause, never, reset, value_of
from packets import PacketSink, PacketSource, is_non_posted, takes_non_posted

CLOCK = 4
"""Nanoseconds of a cycle."""
CPU = 0x0008
ENGINE = 0x0300
REGISTERS = 2
PEERS = 0
BAR = 0xD000_0000
ADDRESS, LENGTH, PAYLOAD, START, STATUS, TIMER, CLASS, ERROR, PATTERN = (
    0x00,
    0x08,
    0x10,
    0x14,
    0x18,
    0x1C,
    0x20,
    0x24,
    0x28,
)
WRITE, READ, PEER = 0x00, 0x40, 0x80
LISTS = {WRITE: 0x10000, READ: 0x20000}
CROSSED, REPLY, ROUND_TRIP, TIME_PEER, COUNTERS = 0x100, 0x108, 0x110, 0x114, 0x200
SILENT, POISONED, COUNT, LONG = 8, 9, 10, 11
"""No answer at all, poisoned data, a wrong byte count, and more data than was asked for."""
PARAMETERS = json.loads(os.environ.get("PARAMETERS", "{}"))
FETCH = PARAMETERS.get("FETCH", 0)
QUIET = 20_000 + 3 * PARAMETERS.get("TIMEOUT", 2_500_000)
"""Cycles without a beat after which the engine hangs."""
TAGS = PARAMETERS.get("TAGS", 16)
FETCH_TAGS = (TAGS, TAGS + 1) if TAGS < 32 else (30, 31)
"""The tags of requests for descriptors."""
COUNTED = (
    "tlps",
    "payload_bytes",
    "received_tlps",
    "received_payload_bytes",
    "wire",
    "tags",
    "outstanding",
    "unsupported_request",
    "malformed_tlp",
    "poisoned_tlp",
    "unexpected_completion",
    "completion_timeout",
    "completer_abort",
)
HOST_LISTS = {WRITE: 0x30_0000_0FD0, READ: 0x0030_0F70}
"""Lists in host memory: the first parts end with their page."""
STEP = 0x9E37_79B9_7F4A_7C15


def enables(address: int, size: int) -> tuple[int, int, int]:
    """Dwords and both byte enables of a request."""
    lead = address % 4
    dwords = (lead + size + 3) // 4
    first = 0xF << lead & 0xF
    last = 0xF >> (-(lead + size) % 4)
    return (1, first & last, 0) if dwords == 1 else (dwords, first, last)


def request(kind: int, address: int, size: int, tag: int = 0, requester: int = CPU) -> bytes:
    """The header of a memory request."""
    dwords, first, last = enables(address, size)
    wide = address >> 32 != 0
    head = struct.pack(">BBH", kind | 0x20 * wide, 0, dwords & 0x3FF)
    head += struct.pack(">HBB", requester, tag, last << 4 | first)
    return head + struct.pack(">Q" if wide else ">I", address & ~3)


def write(address: int, data: bytes) -> bytes:
    """A memory write."""
    lead = address % 4
    tail = -(lead + len(data)) % 4
    return request(0x40, address, len(data)) + b"\xa5" * lead + data + b"\xa5" * tail


def completion(status: int, count: int, lower: int, tag: int, payload: bytes = b"") -> bytes:
    """A completion for the engine in class 0, whose payload is whole dwords."""
    kind = 0x4A if payload else 0x0A
    head = struct.pack(">BBH", kind, 0, len(payload) // 4 & 0x3FF)
    head += struct.pack(">HH", 0, status << 13 | (count & 0xFFF))
    return head + struct.pack(">HBB", ENGINE, tag, lower) + payload


def poison(packet: bytes) -> bytes:
    """The packet with its data marked as poisoned."""
    return packet[:2] + bytes([packet[2] | 0x40]) + packet[3:]


def pattern(start: int, size: int) -> bytes:
    """Data of a source."""
    words = ((start + k * STEP) % 2**64 for k in range(size // 8 + 1))
    return b"".join(word.to_bytes(8, "little") for word in words)[:size]


@dataclass
class Packet:
    """A packet from the engine, taken apart."""

    kind: int
    dwords: int
    tag: int
    address: int
    size: int
    data: bytes
    traffic_class: int
    wide: bool


def parse(packet: bytes) -> Packet:
    """Take a memory request apart, and check its form."""
    kind, traffic, dwords = struct.unpack_from(">BBH", packet)
    requester, tag, both = struct.unpack_from(">HBB", packet, 4)
    assert requester == ENGINE
    wide = bool(kind & 0x20)
    at = struct.unpack_from(">Q" if wide else ">I", packet, 8)[0]
    assert wide == (at >> 32 != 0), "a header has 64 bits of address only where they are needed"
    dwords = (dwords & 0x3FF) or 1024
    first, last = both & 15, both >> 4
    ends = first if dwords == 1 else last
    assert (last == 0) == (dwords == 1)
    lead = (first & -first).bit_length() - 1
    size = 4 * dwords - lead - (4 - ends.bit_length())
    payload = packet[16 if wide else 12 :]
    assert len(payload) == (4 * dwords if kind & 0x40 else 0)
    assert enables(at + lead, size) == (dwords, first, last)
    assert (at + lead) % 4096 + size <= 4096, "a request stays within its page"
    return Packet(
        kind & ~0x20, dwords, tag, at + lead, size, payload[lead : lead + size], traffic >> 4, wide
    )


class Watched(list[Any]):
    """A list that sets an event when something is appended."""

    def __init__(self) -> None:
        super().__init__()
        self.grows = Event()

    def append(self, item: Any) -> None:
        """Append, and wake who waits."""
        super().append(item)
        self.grows.set()

    async def grown(self) -> None:
        """Wait until something is appended."""
        self.grows.clear()
        await self.grows.wait()


class BeatSink(PacketSink):
    """A sink that notes each beat: cycle, label and `last`."""

    def __init__(self, dut: Any, pause: Pause, beats: list[tuple[int, int, int]]) -> None:
        super().__init__(dut, pause, "tx_", rests=True)
        self.dut, self.beats = dut, beats

    async def take(self) -> tuple[int, ...]:
        """The next beat; its label is valid in the cycle in which it moves."""
        word = await super().take()
        self.beats.append((int(get_sim_time("ns")) // CLOCK, self.label, word[-1]))
        return word

    def accept(self) -> None:
        """Read what is valid before the edge only."""
        assert int(self.dut.active_o.value), "the clock is needed"
        label = str(self.dut.tx_label_o.value)
        self.label = int(label, 2) if label.isdigit() else -1


def in_class(request: Packet, answer: bytes) -> bytes:
    """The completion in the traffic class of its request."""
    return answer[:1] + bytes([request.traffic_class << 4]) + answer[2:]


@dataclass
class World:
    """Everything around the engine."""

    dut: Any
    mps: int = 128
    mrrs: int = 512
    seed: int = 1
    memory: dict[int, int] = field(default_factory=dict)
    writes: list[Packet] = field(default_factory=list)
    reads: list[Packet] = field(default_factory=list)
    interrupts: Watched = field(default_factory=Watched)
    beats: list[tuple[int, int, int]] = field(default_factory=list)
    """Cycle, label and `last` of each beat that left."""
    refusals: dict[int, int] = field(default_factory=dict)
    """The status of the answer to a read request, by its number, or POISONED, SILENT and so on."""
    fetches: list[Packet] = field(default_factory=list)
    """Reads of descriptors."""
    fetch_refusals: dict[int, int] = field(default_factory=dict)
    errors: list[tuple[int, bytes]] = field(default_factory=list)
    """Kind and header of each error that the engine has reported."""
    user_period: int = 4
    """Nanoseconds of the user circuit's clock; 0 where it has no port."""

    async def begin(self, receive: Pause = never, send: Pause = never) -> World:
        """Clock, reset, and the processes of the world."""
        dut = self.dut
        self.draw = random.Random(self.seed)
        self.incoming: list[bytes] = []
        self.pending: list[list[bytes]] = []
        self.completions = Watched()
        self.outbound = 0
        self.clocks = [Clock(dut.clk_i, 4, unit="ns")]
        if self.user_period:
            self.clocks.append(Clock(dut.user_clk_i, self.user_period, unit="ns"))
            dut.user_rst_i.value = 1
        for clock in self.clocks:
            clock.start()
        names = [
            "rx_valid",
            "rx_data",
            "rx_first",
            "rx_last",
            "rx_bytes",
            "rx_label",
            "rx_bar",
            "tx_ready",
            "irq_ready",
        ]
        await reset(
            dut,
            [f"{name}_i" for name in names]
            + ["max_payload_i", "max_read_request_i", "bus_master_i", "function_id_i"]
            + ["ext_tag_i", "flr_i"],
        )
        # Both resets are active together for three cycles of the slower clock.
        dut.rst_i.value = 1
        await Timer(4 * max(4, self.user_period), unit="ns")
        if self.user_period:
            await RisingEdge(dut.user_clk_i)
            dut.user_rst_i.value = 0
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await RisingEdge(dut.clk_i)
        dut.function_id_i.value = ENGINE
        dut.max_payload_i.value = (self.mps // 128).bit_length() - 1
        dut.max_read_request_i.value = (self.mrrs // 128).bit_length() - 1
        dut.bus_master_i.value = 1
        dut.irq_ready_i.value = 1
        self.source = PacketSource(dut, receive, "rx_")
        self.sink = BeatSink(dut, send, self.beats)
        self.queue = Watched()
        processes = (self.watch(), self.note_errors(), self.sort(), self.feed(), self.progress())
        self.tasks = [cocotb.start_soon(process) for process in processes]
        return self

    async def end(self) -> None:
        """Stop everything around the engine, wherever it is."""
        for task in self.tasks:
            task.cancel()
        await RisingEdge(self.dut.clk_i)
        for clock in self.clocks:
            clock.stop()

    async def progress(self) -> None:
        """Fail where no beat has moved for longer than any time-out."""
        ports = (
            "rx_valid_i",
            "rx_ready_o",
            "rx_np_ok_o",
            "tx_valid_o",
            "tx_ready_i",
            "irq_valid_o",
        )
        while True:
            before = self.source.moved + self.sink.moved
            await Timer(CLOCK * QUIET, unit="ns")
            if self.source.moved + self.sink.moved == before:
                values = ", ".join(f"{port} {getattr(self.dut, port).value}" for port in ports)
                raise AssertionError(f"no beat has moved for {QUIET} cycles: {values}")

    async def watch(self) -> None:
        """Note interrupts."""
        dut = self.dut
        while True:
            await ReadOnly()
            if not int(dut.irq_valid_o.value):
                await RisingEdge(dut.irq_valid_o)
                continue
            taken = int(dut.irq_ready_i.value)
            vector = int(dut.irq_vector_o.value)
            await RisingEdge(dut.clk_i)
            if taken:
                self.interrupts.append(vector)

    async def note_errors(self) -> None:
        """Note the errors that the engine reports."""
        dut = self.dut
        while True:
            await ReadOnly()
            if not int(dut.err_valid_o.value):
                await RisingEdge(dut.err_valid_o)
                continue
            assert int(dut.active_o.value), "the clock is needed"
            header = value_of(dut.err_header_o).to_bytes(16, "little")
            self.errors.append((int(dut.err_kind_o.value), header))
            await RisingEdge(dut.clk_i)

    async def sort(self) -> None:
        """Take the engine's packets."""
        while True:
            raw = await self.sink.packet()
            if raw[0] & ~0x41 == 0x0A:
                self.completions.append(raw)
                continue
            packet = parse(raw)
            if packet.kind == 0x40:
                assert packet.dwords * 4 <= self.mps
                self.writes.append(packet)
                for k, byte in enumerate(packet.data):
                    self.memory[packet.address + k] = byte
            else:
                assert packet.kind == 0
                assert packet.dwords * 4 <= self.mrrs
                is_fetch = FETCH != 0 and packet.tag in FETCH_TAGS
                kept = self.fetches if is_fetch else self.reads
                kept.append(packet)
                refusals = self.fetch_refusals if is_fetch else self.refusals
                self.pending.append(self.answer(packet, refusals.get(len(kept) - 1, 0)))
                self.queue.grows.set()

    def content(self, address: int, size: int) -> bytes:
        """Memory; what was never written has bytes that depend on the address."""
        return bytes(
            self.memory.get(k, k * 7 + (k >> 8) & 0xFF) for k in range(address, address + size)
        )

    def answer(self, packet: Packet, status: int) -> list[bytes]:
        """Completions for a read, split at random multiples of 64 bytes (PCIe Base 2.3.1.1)."""
        if status == SILENT:
            return []
        if status in (COUNT, LONG):
            more = 4 * (status == LONG)
            data = self.content(packet.address // 4 * 4, 4 * packet.dwords + more)
            count = packet.size + 8
            return [completion(0, count, packet.address & 0x7F, packet.tag, data)]
        mark = poison if status == POISONED else bytes
        if status and status != POISONED:
            return [in_class(packet, completion(status, packet.size, 0, packet.tag))]
        found, at, end = [], packet.address, packet.address + packet.size
        while at < end:
            cuts = [cut for cut in range(at // 64 * 64 + 64, end, 64) if cut - at <= self.mps]
            whole = [end] if end - at // 4 * 4 <= self.mps else []
            stop = self.draw.choice((cuts or whole) + whole)
            begin, over = at // 4 * 4, -(-stop // 4) * 4
            data = self.content(begin, over - begin)
            part = completion(0, end - at, at & 0x7F, packet.tag, data)
            found.append(mark(in_class(packet, part)))
            at = stop
        return found

    async def feed(self) -> None:
        """Send packets to the engine: requests in order, completions of different reads in any.

        While the engine takes no non-posted request, later packets pass the requests that wait.
        """
        while True:
            ready = [answer for answer in self.pending if answer]
            self.pending = ready
            if self.queue and (not ready or self.draw.random() < 0.5):
                at = 0
                if is_non_posted(self.queue[0][1]) and not await takes_non_posted(self.dut):
                    passing = (k for k, one in enumerate(self.queue) if not is_non_posted(one[1]))
                    at = next(passing, -1)
                    if at < 0:
                        if ready:
                            await self.source.send_packets([ready[0].pop(0)])
                        continue
                bar, packet, label = self.queue.pop(at)
                self.dut.rx_bar_i.value = bar
                self.dut.rx_label_i.value = label
                await self.source.send_packets([packet])
            elif ready and (len(ready) > 3 or self.draw.random() < 0.2):
                await self.source.send_packets([self.draw.choice(ready).pop(0)])
            elif ready or self.queue:
                await RisingEdge(self.dut.clk_i)
            else:
                await self.queue.grown()

    async def cycles(self, count: int) -> None:
        """Let time pass."""
        await ClockCycles(self.dut.clk_i, count)

    def store(self, at: int, data: bytes) -> None:
        """A register write of the CPU."""
        self.queue.append((REGISTERS, write(BAR + at, data), 0))

    async def load(self, at: int, size: int) -> bytes:
        """A register read of the CPU: the bytes of its completions, whose form is checked."""
        tag = self.draw.randrange(256)
        self.queue.append((REGISTERS, request(0, BAR + at, size, tag), 0))
        found, left, place = b"", size, BAR + at
        while left:
            while not self.completions:
                await self.completions.grown()
            raw = self.completions.pop(0)
            kind, _, dwords = struct.unpack_from(">BBH", raw)
            completer, count = struct.unpack_from(">HH", raw, 4)
            requester, echoed, lower = struct.unpack_from(">HBB", raw, 8)
            assert (kind, completer, requester, echoed) == (0x4A, ENGINE, CPU, tag)
            assert count == left & 0xFFF
            assert lower == place & 0x7F
            payload = raw[12:]
            assert len(payload) == 4 * ((dwords & 0x3FF) or 1024) <= self.mps
            data = payload[place % 4 :][:left]
            assert len(data) == left or (place + len(data)) % 128 == 0, (
                "a part ends at a multiple of RCB"
            )
            found, left, place = found + data, left - len(data), place + len(data)
        return found

    async def word(self, at: int) -> int:
        """A register of 32 bits."""
        return int.from_bytes(await self.load(at, 4), "little")

    async def counters(self) -> dict[str, int]:
        """All counters, by name."""
        data = await self.load(COUNTERS, 8 * len(COUNTED))
        return dict(zip(COUNTED, struct.unpack(f"<{len(COUNTED)}Q", data), strict=True))

    def start(
        self, unit: int, target: tuple[int, int], label: int, payload: int = 0, first: int = 0
    ) -> None:
        """Program a unit and start it, as the driver does."""
        if FETCH and unit in HOST_LISTS:
            target = (HOST_LISTS[unit], target[1])
        self.store(unit + PATTERN, struct.pack("<Q", first))
        self.store(unit + ADDRESS, struct.pack("<QQII", *target, payload, label))

    def describe(self, unit: int, ranges: list[tuple[int, int]]) -> None:
        """Write descriptors into host memory, or into the engine in packets of 64 bytes."""
        data = b"".join(struct.pack("<QII", address, length, 0) for address, length in ranges)
        if FETCH:
            self.memory.update(enumerate(data, HOST_LISTS[unit]))
            return
        for at in range(0, len(data), 64):
            self.store(LISTS[unit] + at, data[at : at + 64])

    async def ends(self, vector: int, most: int = 200_000) -> None:
        """Wait for the interrupt of a unit."""
        while vector not in self.interrupts:
            await with_timeout(self.interrupts.grown(), CLOCK * most, "ns")
        self.interrupts.remove(vector)
