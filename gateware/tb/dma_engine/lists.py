"""The surroundings of circuits with several lists: a unit for each list, and host memory."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from dma_engine.world import COUNT as WRONG_COUNT
from dma_engine.world import POISONED, SILENT, Packet, completion, parse, poison
from handshake import PATIENCE, often, read
from packets import PacketSource

Range = tuple[int, int]
"""First address and number of bytes."""
LANES = 8
RESULTS = {POISONED: 3, WRONG_COUNT: 5, SILENT: 6}
"""The results that are no Completion Status."""


def draw_descriptor(draw: random.Random) -> bytes:
    """A descriptor of any range within the addresses."""
    address, length = draw.getrandbits(63), draw.randint(1, 2**32 - 1)
    return address.to_bytes(8, "little") + length.to_bytes(4, "little") + draw.randbytes(4)


def range_of(data: bytes) -> Range:
    """The range of a descriptor."""
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:12], "little")


class Units:
    """The units that take ranges, each with pauses of its own."""

    def __init__(self, dut: Any, valid: Any, ready: Any, seed: int) -> None:
        self.dut, self.valid, self.ready = dut, valid, ready
        self.count = len(valid)
        self.draw = random.Random(seed)
        self.eager = [1.0] * self.count
        """The share of cycles in which each unit takes a range."""
        self.stopped = 0
        """The units whose list is stopped or reset: a range that was offered goes."""
        self.taken: list[list[Range]] = [[] for _ in range(self.count)]

    def start(self) -> Any:
        """Begin to take ranges."""
        return cocotb.start_soon(self.take())

    async def take(self) -> None:
        """Take ranges, each cycle; an offered range stays."""
        offered: list[Range | None] = [None] * self.count
        while True:
            ready = [self.draw.random() < share for share in self.eager]
            self.ready.value = sum(one << u for u, one in enumerate(ready))
            await ReadOnly()
            valid = int(self.valid.value)
            for u in range(self.count):
                found = self.range(u) if valid >> u & 1 else None
                if not (found is None and self.stopped >> u & 1):
                    assert offered[u] in (None, found), f"unit {u}: {offered[u]}, then {found}"
                offered[u] = found
                if found and ready[u]:
                    self.taken[u].append(found)
                    offered[u] = None
            await RisingEdge(self.dut.clk_i)

    def range(self, u: int) -> Range:
        """The range that is offered to a unit."""
        address, length = str(self.dut.address_o.value), str(self.dut.length_o.value)
        at, size = 64 * (self.count - 1 - u), 32 * (self.count - 1 - u)
        return int(address[at : at + 64], 2), int(length[size : size + 32], 2)

    async def end(self, units: int) -> None:
        """Wait until the lists of these units have ended."""
        for _ in range(2):
            await RisingEdge(self.dut.clk_i)
        for _ in range(2 * PATIENCE):
            if int(self.dut.end_o.value) & units == units:
                return
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"end_o is {int(self.dut.end_o.value):b}, and never {units:b}")

    def result(self, u: int) -> int:
        """Why the list of a unit has ended."""
        return int(self.dut.result_o.value) >> 3 * u & 7


class Host:
    """Host memory with lists: answers the requests of two streams, whose ports have a prefix."""

    def __init__(self, dut: Any, prefix: str, first_tag: int, seed: int) -> None:
        self.dut, self.prefix, self.first_tag = dut, prefix, first_tag
        self.draw = random.Random(seed)
        self.memory: dict[int, bytes] = {}
        """Descriptors by their address."""
        self.statuses: dict[tuple[int, int], int] = {}
        """The status of the answer, POISONED, SILENT or WRONG_COUNT, by list and number."""
        self.requests: list[list[Packet]] = [[], []]
        self.pending: list[list[bytes]] = []
        self.pulses: dict[str, int] = defaultdict(int)
        """Number of cycles with each pulse."""
        self.misfits: list[bytes] = []

    def start(self) -> list[Any]:
        """Begin to answer."""
        return [cocotb.start_soon(process) for process in (self.take(), self.send())]

    def write(self, address: int, count: int) -> list[bytes]:
        """Put a list into the memory."""
        found = [draw_descriptor(self.draw) for _ in range(count)]
        self.memory |= {address + 16 * k: one for k, one in enumerate(found)}
        return found

    async def take(self) -> None:
        """Take requests, and note pulses."""
        dut, parts, ports = self.dut, [b"", b""], ("valid", "data", "bytes", "last")
        valid, data, size, last = (getattr(dut, f"{self.prefix}{name}_o") for name in ports)
        ready = getattr(dut, f"{self.prefix}ready_i")
        while True:
            takes = self.draw.getrandbits(2) | self.draw.getrandbits(2)
            ready.value = takes
            await ReadOnly()
            there, ends = int(valid.value), int(last.value)
            for u in range(2):
                if there & takes & 1 << u:
                    word = str(data.value)[64 * (1 - u) : 64 * (2 - u)]
                    count = int(size.value) >> 4 * u & 15
                    parts[u] += int(word, 2).to_bytes(LANES, "little")[:count]
                    if ends >> u & 1:
                        self.request(u, parse(parts[u]))
                        parts[u] = b""
            for name in ("unexpected", "malformed", "misfit"):
                self.pulses[name] += read(dut, name)[0]
            for name in ("timed_out", "ended"):
                for u in range(2):
                    self.pulses[f"{name}{u}"] += read(dut, name)[0] >> u & 1
            if read(dut, "misfit")[0]:
                self.misfits.append(read(dut, "misfit_header")[0].to_bytes(16, "big")[:12])
            await RisingEdge(dut.clk_i)

    def request(self, u: int, packet: Packet) -> None:
        """Prepare the answer of a request, in parts that end at multiples of RCB."""
        assert (packet.kind, packet.tag) == (0, self.first_tag + u)
        assert packet.traffic_class == 0
        self.requests[u].append(packet)
        status = self.statuses.get((u, len(self.requests[u]) - 1), 0)
        content = b"".join(
            self.memory[address]
            for address in range(packet.address, packet.address + packet.size, 16)
        )
        answer, at = [], 0
        if status not in {0, POISONED, WRONG_COUNT, SILENT}:
            answer = [completion(status, packet.size, 0, packet.tag)]
        while status in {0, POISONED, WRONG_COUNT} and at < packet.size:
            size = 64 * self.draw.randint(1, 3) - (packet.address + at) % 64
            part = content[at : at + size]
            count = packet.size - at + 4 * (status == WRONG_COUNT)
            one = completion(0, count, (packet.address + at) % 128, packet.tag, part)
            answer.append(poison(one) if status == POISONED else one)
            at += size
            if status == WRONG_COUNT:
                break
        if answer:
            self.pending.append(answer)

    async def send(self) -> None:
        """Send completions of both lists, mixed."""
        source = PacketSource(self.dut, often(self.draw.randrange(99), 0.2), "completion_")
        while True:
            if self.pending and self.draw.random() < 0.3:
                answer = self.draw.choice(self.pending)
                packet = answer.pop(0)
                self.pending = [one for one in self.pending if one]
                await source.send_packets([packet])
            else:
                await RisingEdge(self.dut.clk_i)
