"""Completions in any order become the data of their requests; errors are reported."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from cocotbext.pcie.core.utils import PcieId
from handshake import LIMIT, PACKETS, never, often, reset, start_clock
from packets import PacketSource

INPUTS = [
    "requester",
    "traffic_class",
    "open_tag",
    "open_bytes",
    "open_low",
    "open",
    "close",
    "data",
    "bytes",
    "first",
    "last",
    "valid",
]
ABORT, UNSUPPORTED, POISONED, MALFORMED = 4, 1, 3, 5


def completion(tag: int, address: int, left: int, data: bytes, **changes: Any) -> bytes:
    """A completion from `address` on, with `left` bytes to come, as cocotbext-pcie packs it."""
    tlp = Tlp()
    tlp.fmt_type = TlpType.CPL_DATA if data else TlpType.CPL
    tlp.tag, tlp.byte_count, tlp.lower_address = tag, left, address & 0x7F
    if data:
        front = address % 4
        tlp.set_data(b"\xdd" * front + data + b"\xdd" * (-(front + len(data)) % 4))
    for name, value in changes.items():
        setattr(tlp, name, value)
    return bytes(tlp.pack())


class Bench:
    """The circuit, the memory that it writes, and how requests ended."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.lanes = len(dut.data_i) // 8
        self.tags = int(dut.TAGS.value)
        self.size = int(dut.SLOT_BYTES.value)
        self.slots = [bytearray(self.size) for _ in range(self.tags)]
        self.ended: dict[int, tuple[int, int]] = {}
        self.unexpected = 0

    async def begin(self) -> None:
        """Clock, reset, and the memory behind the circuit."""
        start_clock(self.dut.clk_i)
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Do what the circuit says, each cycle."""
        dut = self.dut
        while True:
            await ReadOnly()
            if int(dut.write_o.value):
                data = int(dut.write_data_o.value).to_bytes(self.lanes, "little")
                at = int(dut.write_place_o.value) * self.lanes
                for lane in range(self.lanes):
                    if int(dut.write_lanes_o.value) >> lane & 1:
                        self.slots[int(dut.write_tag_o.value)][at + lane] = data[lane]
            if int(dut.end_o.value):
                tag = int(dut.end_tag_o.value)
                assert tag not in self.ended, f"tag {tag} ends twice"
                self.ended[tag] = (int(dut.end_bytes_o.value), int(dut.end_result_o.value))
            self.unexpected += int(dut.unexpected_o.value)
            await RisingEdge(dut.clk_i)

    async def open(self, tag: int, count: int, address: int = 0) -> None:
        """Open a request."""
        dut = self.dut
        dut.open_tag_i.value, dut.open_bytes_i.value, dut.open_i.value = tag, count, 1
        dut.open_low_i.value = address & 0x7F
        await RisingEdge(self.dut.clk_i)
        self.dut.open_i.value = 0

    async def settle(self) -> None:
        """Wait until nothing is in progress."""
        for _ in range(5):
            await RisingEdge(self.dut.clk_i)


def parts(draw: random.Random, tag: int, address: int, content: bytes) -> list[bytes]:
    """The completions of a request, cut at random multiples of 64 bytes (RCB)."""
    found, at = [], 0
    while at < len(content):
        most = 64 * draw.randrange(1, 5) - (address + at) % 64
        data = content[at : at + most]
        found.append(completion(tag, address + at, len(content) - at, data))
        at += len(data)
    return found


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def data_of_completions_in_any_order_is_whole(dut: Any) -> None:
    """Requests of every alignment, whose completions are mixed at random."""
    bench = Bench(dut)
    await bench.begin()
    draw = random.Random(32)
    for pause in (never, often(33, 0.3)):
        source = PacketSource(dut, pause)
        for _ in range(1 + PACKETS // 10):
            bench.ended.clear()
            contents, queues = {}, []
            for tag in range(bench.tags):
                content = draw.randbytes(draw.choice([1, 2, 5, draw.randrange(1, bench.size + 1)]))
                contents[tag] = content
                address = draw.getrandbits(12)
                queues.append(parts(draw, tag, address, content))
                await bench.open(tag, len(content), address)
            packets = []
            while queues := [queue for queue in queues if queue]:
                packets.append(draw.choice(queues).pop(0))
            await source.send_packets(packets)
            await bench.settle()
            for tag, content in contents.items():
                assert bench.ended.pop(tag) == (len(content), 0)
                assert bench.slots[tag][: len(content)] == content
    assert bench.unexpected == 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def errors_are_told_and_lose_nothing_else(dut: Any) -> None:
    """A request that fails beside one that does not, for each way to fail."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    good, data = bytes(range(100)), bytes(64)
    failures = {
        ABORT: completion(0, 0, 64, b"", status=CplStatus.CA),
        UNSUPPORTED: completion(0, 0, 64, b"", status=CplStatus.UR),
        POISONED: completion(0, 0, 64, data, ep=True),
        MALFORMED: completion(0, 0, 60, data),
    }
    for result, packet in failures.items():
        bench.ended.clear()
        await bench.open(0, 64)
        await bench.open(1, 100)
        halves = [completion(1, 0, 100, good[:64]), completion(1, 64, 36, good[64:])]
        await source.send_packets([halves[0], packet, halves[1]])
        await bench.settle()
        assert bench.ended[0] == (64 if result == POISONED else 0, result)
        assert bench.ended[1] == (100, 0)
        assert bench.slots[1][:100] == good


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def wrong_lengths_are_malformed(dut: Any) -> None:
    """Too much data, byte counts that do not fit, and success without data."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    for packet in (
        completion(0, 0, 64, bytes(80)),
        completion(0, 0, 32, bytes(32)),
        completion(0, 0, 128, bytes(64)),
        completion(0, 0, 64, b""),
    ):
        bench.ended.clear()
        await bench.open(0, 64)
        await source.send_packets([packet])
        await bench.settle()
        assert bench.ended == {0: (0, MALFORMED)}


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def completions_of_no_request_are_dropped_and_told(dut: Any) -> None:
    """A tag that is not open, one that has ended, and one beyond the tags."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    await bench.open(0, 8, 4)
    other = completion(0, 4, 8, bytes(8), requester_id=PcieId(1, 2, 3))
    await source.send_packets([other, *[completion(0, 4, 8, bytes(8))] * 2])
    await source.send_packets(
        [completion(1, 0, 8, bytes(8)), completion(bench.tags, 0, 8, bytes(8))]
    )
    await bench.settle()
    assert bench.ended == {0: (8, 0)}
    assert bench.unexpected == 4


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def completions_of_a_request_that_has_timed_out_are_unexpected(dut: Any) -> None:
    """The next request with its tag is whole."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    data = bytes(range(128))
    halves = [completion(1, 0, 128, data[:64]), completion(1, 64, 64, data[64:])]
    await bench.open(1, 128)
    await source.send_packets(halves[:1])
    await bench.settle()
    dut.close_i.value = 1 << 1
    await RisingEdge(dut.clk_i)
    dut.close_i.value = 0
    await source.send_packets(halves[1:])
    await bench.settle()
    assert (bench.unexpected, bench.ended) == (1, {})
    await bench.open(1, 128)
    await source.send_packets(halves)
    await bench.settle()
    assert (bench.unexpected, bench.ended) == (1, {1: (128, 0)})
    assert bench.slots[1][:128] == data


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def completions_that_do_not_fit_their_request_are_malformed(dut: Any) -> None:
    """Lower Address, in the first part and in a later one, and the traffic class."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    data = bytes(range(100))
    first = completion(0, 5, 100, data[:59])
    for packets in (
        [completion(0, 6, 100, data)],
        [completion(0, 4, 100, data)],
        [completion(0, 5 + 64, 100, data)],
        [first, completion(0, 65, 41, data[59:])],
        [first, completion(0, 0, 41, data[59:])],
        [completion(0, 5, 100, data, tc=1)],
    ):
        bench.ended.clear()
        await bench.open(0, 100, 5)
        await source.send_packets(packets)
        await bench.settle()
        assert bench.ended == {0: (0, MALFORMED)}
    assert bench.unexpected == 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_completion_whose_beats_end_early_is_malformed(dut: Any) -> None:
    """The next completion is received whole, whatever number of beats is missing."""
    bench = Bench(dut)
    await bench.begin()
    source = PacketSource(dut, never)
    data = bytes(range(64))
    for size in range(16, 76, 4):
        bench.ended.clear()
        await bench.open(0, 64)
        await bench.open(1, 64)
        whole = [completion(tag, 0, 64, data) for tag in range(2)]
        await source.send_packets([whole[0][:size], whole[1]])
        await bench.settle()
        assert bench.ended == {0: (0, MALFORMED), 1: (64, 0)}, f"{size} bytes"
        assert bench.slots[1][:64] == data
    assert bench.unexpected == 0
