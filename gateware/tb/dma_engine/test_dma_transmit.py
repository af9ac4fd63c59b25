"""Packets of several streams leave whole, completions first, requests with Bus Master Enable."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, PATIENCE, Pause, drive, never, often, read, reset, start_clock
from packets import beats

COMPLETIONS = 0
"""The port of completions."""
LANES = 8
Packet = tuple[int, bytes]
"""Label and bytes."""


class Link:
    """The circuit, its streams, and the link that takes the beats."""

    def __init__(self, dut: Any, seed: int, link: Pause, share: float = 1) -> None:
        self.dut, self.draw, self.link, self.share = dut, random.Random(seed), link, share
        self.ports, self.idle = int(dut.PORTS.value), int(dut.IDLE_CYCLES.value)
        self.queues: list[list[tuple[int, ...]]] = [[] for _ in range(self.ports)]
        self.offered = [False] * self.ports
        self.inside = [0] * self.ports
        """Beats of each port that were taken, and have not left."""
        self.entered = [0] * self.ports
        """Packets of each port whose first beat was taken, up to the cycle before the last one."""
        self.left: list[Packet] = []
        """Packets that have left, and their cycles: of the first beat and of the last one."""
        self.times: list[tuple[int, int]] = []
        self.part: list[tuple[bytes, int]] = []
        self.word: tuple[int, ...] | None = None
        """The beat that is offered to the link."""
        self.cycle = self.begun = 0
        self.enters = [0] * self.ports

    async def begin(self) -> None:
        """Clock, reset, Bus Master Enable."""
        start_clock(self.dut.clk_i)
        names = ["bus_master", "stop", "data", "bytes", "first", "last", "valid", "label", "ready"]
        await reset(self.dut, [f"{name}_i" for name in names])
        self.dut.bus_master_i.value = 1

    def send(self, port: int, size: int) -> Packet:
        """Put a packet into the queue of a port."""
        packet = self.draw.getrandbits(12) << 4 | port, self.draw.randbytes(size)
        self.queues[port] += [(*beat, packet[0]) for beat in beats(packet[1], LANES)]
        return packet

    def send_some(self, count: int) -> list[list[Packet]]:
        """Some packets of random sizes for each port."""
        sizes = [[4 * self.draw.randint(1, 12) for _ in range(count)] for _ in self.queues]
        return [[self.send(port, size) for size in some] for port, some in enumerate(sizes)]

    async def step(self) -> None:
        """A cycle."""
        dut, fields = self.dut, [0] * 6
        for port, queue in enumerate(self.queues):
            self.offered[port] |= bool(queue) and self.draw.random() < self.share
            if self.offered[port]:
                for k, bits in enumerate((64, 4, 1, 1, 16)):
                    fields[k] |= queue[0][k] << port * bits
                fields[5] |= 1 << port
        data, count, first, last, label, valid = fields
        drive(dut, data=data, bytes=count, first=first, last=last, label=label, valid=valid)
        takes = not self.link()
        dut.ready_i.value = takes
        await ReadOnly()
        (ready,) = read(dut, "ready")
        self.check()
        valid = read(dut, "valid")[0]
        word = read(dut, "data", "bytes", "first", "last", "label") if valid else None
        await RisingEdge(dut.clk_i)
        self.cycle += 1
        self.entered = [a + b for a, b in zip(self.entered, self.enters, strict=True)]
        self.enters = [0] * self.ports
        for port, queue in enumerate(self.queues):
            if self.offered[port] and ready >> port & 1:
                self.enters[port] = queue.pop(0)[2]
                self.offered[port] = False
                self.inside[port] += 1
        assert self.word is None or word == self.word, "an offered beat stays"
        self.word = None if takes else word
        if takes and word:
            self.take(word)

    def check(self) -> None:
        """What the circuit says of itself."""
        holds, sending, busy, valid = read(self.dut, "holds", "sending", "busy", "valid")
        inside = sum(bool(count) << port for port, count in enumerate(self.inside))
        assert holds == inside or int(self.dut.stop_i.value)
        assert busy or not holds
        assert sending or not (self.part or valid)

    def take(self, word: tuple[int, ...]) -> None:
        """Take a beat."""
        data, count, first, last, label = word
        assert first == (not self.part)
        assert not self.part or label == self.part[0][1]
        if first:
            self.begun = self.cycle
        self.inside[label % 16] -= 1
        self.part.append((data.to_bytes(LANES, "little")[:count], label))
        if last:
            if self.times:
                assert self.begun - self.times[-1][1] > self.idle
            self.times.append((self.begun, self.cycle))
            self.left.append((label, b"".join(part for part, _ in self.part)))
            self.part = []

    async def until(self, count: int) -> None:
        """Until as many packets have left."""
        waited = 0
        while len(self.left) < count:
            before = len(self.left)
            await self.step()
            waited = waited + 1 if len(self.left) == before else 0
            assert waited < PATIENCE, f"valid_o or ready_o: no packet left for {PATIENCE} cycles"

    async def rest(self, cycles: int = 40) -> list[Packet]:
        """The packets that still leave in these cycles."""
        before = len(self.left)
        for _ in range(cycles):
            await self.step()
        return self.left[before:]

    def of(self, port: int) -> list[Packet]:
        """The packets of a port that have left."""
        return [packet for packet in self.left if packet[0] % 16 == port]


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_leave_whole_in_order_with_their_label(dut: Any) -> None:
    """With pauses at all interfaces; idle cycles are between two packets."""
    link = Link(dut, 14, often(15), 0.5)
    await link.begin()
    sent = link.send_some(PACKETS)
    await link.until(PACKETS * link.ports)
    assert [link.of(port) for port in range(link.ports)] == sent
    await link.rest(link.idle + 1)
    assert read(dut, "busy", "sending", "holds") == (0, 0, 0)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def completions_are_first_and_the_others_take_turns(dut: Any) -> None:
    """Without pauses a beat leaves in each cycle but for the idle cycles between packets."""
    link = Link(dut, 16, never)
    await link.begin()
    sent = [[link.send(port, 40) for _ in range(4)] for port in range(link.ports)]
    await link.until(4 * link.ports)
    turns = [sent[port][k] for k in range(4) for port in range(1, link.ports)]
    assert link.left == sent[COMPLETIONS] + turns
    begins = [begun for begun, _ in link.times]
    assert begins == [begins[0] + (5 + link.idle) * k for k in range(len(begins))]


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def without_bus_master_enable_no_request_begins(dut: Any) -> None:
    """From any cycle on: only what was offered to the link before leaves. Completions go on."""
    link = Link(dut, 17, often(18, 0.2))
    await link.begin()
    sent: list[list[Packet]] = [[] for _ in link.queues]
    for number in range(2 + PACKETS // 3):
        for packets, more in zip(sent, link.send_some(2), strict=True):
            packets.extend(more)
        for _ in range(7 * number % 23):
            await link.step()
        dut.bus_master_i.value = 0
        offered = link.entered[1:]
        await link.rest(90)
        assert [len(link.of(port)) for port in range(1, link.ports)] == offered
        late = link.send(COMPLETIONS, 20)
        sent[COMPLETIONS].append(late)
        assert await link.rest() == [late]
        assert read(dut, "sending") == (0,)
        dut.bus_master_i.value = 1
        await link.until(sum(map(len, sent)))
    assert [link.of(port) for port in range(link.ports)] == sent


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_stop_cuts_no_packet_and_lets_none_begin(dut: Any) -> None:
    """From any cycle on; the reset that follows leaves nothing of the packets that wait."""
    link = Link(dut, 19, often(20, 0.2))
    await link.begin()
    for number in range(2 + PACKETS // 3):
        sent = link.send_some(2)
        for _ in range(7 * number % 23):
            await link.step()
        dut.stop_i.value = 1
        assert len(await link.rest()) <= 2
        assert await link.rest(20) == []
        assert (read(dut, "sending"), link.part) == ((0,), [])
        for port, packets in enumerate(sent):
            found = link.of(port)
            assert found == packets[: len(found)]
        dut.rst_i.value = 1
        await link.step()
        drive(dut, rst=0, stop=0)
        link.queues, link.inside = [[] for _ in link.queues], [0] * link.ports
        link.offered, link.left = [False] * link.ports, []
        assert await link.rest(2) == []
        assert read(dut, "busy", "sending", "holds") == (0, 0, 0)
