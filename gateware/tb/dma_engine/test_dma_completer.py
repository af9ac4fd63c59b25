"""Each request is answered: reads of registers with their data, others with an error status."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from handshake import LIMIT, PACKETS, drive, never, often, read, reset, rises, start_clock
from packets import PacketSink

COMPLETER = 0x0312
READ, LOCKED, WIDE = 0x00, 0x01, 0x20
FETCH_ADD, SWAP, COMPARE_AND_SWAP, IO_READ = 0x4C, 0x4D, 0x4E, 0x02
UNSUPPORTED = 1
BAR = 1 << 18


@dataclass
class Request:
    """A request: its kind without the bit of its size, its fields, and the bytes of its header."""

    kind: int
    address: int
    dwords: int
    first: int
    last: int
    head: bytes
    requester: int
    tag: int
    traffic: int
    """The byte with bits 9 and 8 of the tag, the traffic class and ID-based ordering."""
    attributes: int
    good: bool

    def enabled(self) -> list[int]:
        """The offsets of the enabled bytes at both ends, from the first dword on."""
        lanes = [k for k in range(4) if self.first >> k & 1]
        if self.dwords > 1:
            lanes += [4 * self.dwords - 4 + k for k in range(4) if self.last >> k & 1]
        return lanes

    def lead(self) -> int:
        """Bytes before the first enabled one."""
        return min(self.enabled(), default=0)

    def count(self) -> int:
        """Byte Count of the first completion (PCIe Base 2.2.9)."""
        if self.kind in {READ, LOCKED}:
            lanes = self.enabled()
            return max(lanes) + 1 - min(lanes) if lanes else 1
        if self.kind in {FETCH_ADD, SWAP}:
            return 4 * self.dwords
        return 2 * self.dwords if self.kind == COMPARE_AND_SWAP else 4

    def completion(self, dwords: int, count: int, lower: int) -> bytes:
        """The header of a completion with the fields of the request."""
        kind = 0x4A if self.good else 0x0B if self.kind == LOCKED else 0x0A
        size = (self.attributes << 12) | dwords % 1024
        status = 0 if self.good else UNSUPPORTED << 13
        third = struct.pack(">HBB", self.requester, self.tag, lower)
        front = struct.pack(">BBHHH", kind, self.traffic, size, COMPLETER, status | count % 4096)
        return front + third

    def answer(self, largest: int) -> list[bytes]:
        """The completions, which end at multiples of the largest payload."""
        if not self.good:
            return [self.completion(0, self.count(), 0)]
        found, at, left, count = [], self.address, self.dwords, self.count()
        lead = self.lead()
        while left:
            dwords = min(left, (largest - at % largest) // 4)
            data = b"".join(content(at + 4 * k) for k in range(dwords))
            found.append(self.completion(dwords, count, at % 128 + lead) + data)
            at, left, count, lead = at + 4 * dwords, left - dwords, count - 4 * dwords + lead, 0
        return found


def content(address: int) -> bytes:
    """A dword of the registers."""
    return struct.pack("<I", address * 0x9E37_79B1 + 0x1234_5678 & 0xFFFF_FFFF)


def draw_request(draw: random.Random, most: int) -> Request:
    """A request of any kind, most of them reads, of up to so many dwords."""
    kind = draw.choice([READ] * 6 + [LOCKED, FETCH_ADD, SWAP, COMPARE_AND_SWAP, IO_READ])
    wide = draw.random() < 0.5 and kind != IO_READ
    sizes = {FETCH_ADD: [1, 2], SWAP: [1, 2], COMPARE_AND_SWAP: [2, 4, 8], IO_READ: [1]}
    dwords = draw.choice(sizes.get(kind, [1, 2, 3, draw.randint(1, most)]))
    begin = 4 * draw.randint(0, 1024 - dwords)
    if draw.random() < 0.4:  # it ends at a multiple of a payload
        begin = max(0, (begin + 4 * dwords) // 128 * 128 - 4 * dwords)
    address = draw.randrange(BAR // 4096) * 4096 + begin
    first = draw.choice([0xF, 0xE, 0x8, 0x1, 0x5] if dwords > 1 else [*range(16)])
    last = draw.choice([0xF, 0x7, 0x3, 0x1, 0xA]) if dwords > 1 else 0
    traffic, attributes = draw.getrandbits(8) & 0xFC, draw.getrandbits(2)
    requester, tag = draw.getrandbits(16), draw.getrandbits(8)
    size = attributes << 12 | dwords % 1024
    head = struct.pack(">BBH", kind | WIDE * wide, traffic, size)
    head += struct.pack(">HBB", requester, tag, last << 4 | first)
    base = draw.getrandbits(14) << 18 | address
    above = draw.getrandbits(32) if wide else 0
    rest = struct.pack(">II", above, base) if wide else struct.pack(">I", base)
    head += rest + draw.randbytes(16 - len(head + rest))
    good = kind == READ and draw.random() < 0.8
    fields = (kind, address, dwords, first, last, head, requester, tag, traffic, attributes)
    return Request(*fields, good=good)


class Registers:
    """The words that the circuit has read."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.words: list[tuple[int, int]] = []

    async def serve(self) -> None:
        """Give the word some cycles after it was read; it stays until the next one."""
        dut, draw = self.dut, random.Random(7)
        while True:
            await ReadOnly()
            reads = read(dut, "read")[0]
            word, upper = read(dut, "word", "upper") if reads else (0, 0)
            await RisingEdge(dut.clk_i)
            if reads:
                self.words.append((word, upper))
                for _ in range(draw.choice([0, 0, 1, 3])):
                    drive(dut, word_ready=0, word_data=draw.getrandbits(64))
                    await RisingEdge(dut.clk_i)
                dut.word_ready_i.value = 1
                both = content(8 * word) + content(8 * word + 4)
                dut.word_data_i.value = int.from_bytes(both, "little")


async def offer(dut: Any, request: Request) -> None:
    """Offer a request when it can be taken; afterwards its ports have anything."""
    if not int(dut.request_ready_o.value):
        await rises(dut.request_ready_o)
        await RisingEdge(dut.clk_i)
    drive(dut, request_header=int.from_bytes(request.head, "big"), request_good=request.good)
    dut.request_valid_i.value = 1
    await RisingEdge(dut.clk_i)
    drive(dut, request_valid=0, request_good=not request.good)
    dut.request_header_i.value = ~int.from_bytes(request.head, "big") & (1 << 128) - 1


def expected_words(request: Request) -> list[tuple[int, int]]:
    """The words that a request reads, once each, and whether the first one begins with its half."""
    if not request.good:
        return []
    words = range(request.address // 8, (request.address + 4 * request.dwords + 7) // 8)
    return [(word, int(8 * word < request.address)) for word in words]


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def each_request_has_its_completions(dut: Any) -> None:
    """All sizes, byte enables and payloads, with pauses at the link; each word is read once."""
    start_clock(dut.clk_i)
    names = ["max_payload", "request_header", "request_good", "request_valid", "word_data", "ready"]
    await reset(dut, [f"{name}_i" for name in [*names, "function_id"]])
    dut.function_id_i.value = COMPLETER
    registers, draw = Registers(dut), random.Random(21)
    cocotb.start_soon(registers.serve())
    for number in range(4 * PACKETS):
        sink = PacketSink(dut, never if number % 2 else often(number))
        code = number % 8
        dut.max_payload_i.value = code
        request = draw_request(draw, 1024 if number % 25 == 24 else 80)
        registers.words.clear()
        cocotb.start_soon(offer(dut, request))
        for packet in request.answer(128 << min(code, 5)):
            assert await sink.packet() == packet, request
        await ReadOnly()
        assert read(dut, "valid", "busy", "request_ready") == (0, 0, 1)
        assert registers.words == expected_words(request)
        await RisingEdge(dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_reset_ends_a_request(dut: Any) -> None:
    """In any cycle of it; the next request is answered alone."""
    start_clock(dut.clk_i)
    names = ["max_payload", "request_header", "request_good", "request_valid", "word_data", "ready"]
    await reset(dut, [f"{name}_i" for name in [*names, "function_id"]])
    dut.function_id_i.value = COMPLETER
    registers, draw = Registers(dut), random.Random(22)
    cocotb.start_soon(registers.serve())
    for number in range(PACKETS):
        await offer(dut, draw_request(draw, 20))
        dut.ready_i.value = 1
        for _ in range(number % 20):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 1
        await RisingEdge(dut.clk_i)
        drive(dut, rst=0, ready=0)
        await ReadOnly()
        assert read(dut, "valid", "busy") == (0, 0)
        await RisingEdge(dut.clk_i)
        request = draw_request(draw, 20)
        cocotb.start_soon(offer(dut, request))
        for packet in request.answer(128):
            assert await PacketSink(dut, never).packet() == packet, request
