"""An independent implementation reads the packets of the write path as its commands' data."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.pcie.core.tlp import Tlp, TlpType
from handshake import LIMIT, PACKETS, Source, never, often, reset, start_clock
from packets import PacketSink, beats

PERIOD = 4
INPUTS = [
    "enable",
    "max_payload",
    "requester",
    "traffic_class",
    "ordering",
    "header_limit",
    "data_limit",
    "header_infinite",
    "data_infinite",
    "command_address",
    "command_length",
    "command_valid",
    "data",
    "valid",
    "ready",
    "stop",
    "clear",
]
LENGTH, ADDRESS, STOPPED = 1, 2, 3
Command = tuple[int, bytes]


class Bench:
    """The circuit between a source of commands and data, and a sink of packets."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.lanes = len(dut.data_i) // 8
        self.done = 0

    async def begin(self, *, infinite: bool = True) -> None:
        """Clock, reset, and settings as after enumeration."""
        start_clock(self.dut.clk_i, PERIOD)
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        self.dut.enable_i.value = 1
        self.dut.requester_i.value = 0x0312
        self.dut.header_infinite_i.value = int(infinite)
        self.dut.data_infinite_i.value = int(infinite)
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Count the commands that are done."""
        while True:
            await RisingEdge(self.dut.clk_i)
            self.done += int(self.dut.done_o.value)

    def send(self, commands: list[Command], pauses: Any) -> Any:
        """Offer commands and their data; the task ends when all data is taken."""
        dut = self.dut
        signals = [dut.command_address_i, dut.command_length_i]
        front = Source(dut.clk_i, signals, dut.command_valid_i, dut.command_ready_o, pauses[0])
        back = Source(dut.clk_i, [dut.data_i], dut.valid_i, dut.ready_o, pauses[1])
        data = [beat[:1] for _, content in commands for beat in beats(content, self.lanes)]
        cocotb.start_soon(front.send([(address, len(content)) for address, content in commands]))
        return cocotb.start_soon(back.send(data))

    async def wait(self, cycles: int) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)


def read(packet: bytes) -> tuple[int, bytes, Tlp]:
    """First address and bytes of a write, by its byte enables; its header is checked."""
    tlp = Tlp()
    tlp = tlp.unpack(packet)
    assert tlp.fmt_type in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
    assert (tlp.fmt_type == TlpType.MEM_WRITE_64) == (tlp.address >= 1 << 32)
    data = tlp.get_data()
    assert len(data) == 4 * tlp.length
    enables = [tlp.first_be >> k & 1 for k in range(4)]
    if tlp.length > 1:
        enables += [1] * 4 * (tlp.length - 2) + [tlp.last_be >> k & 1 for k in range(4)]
    else:
        assert tlp.last_be == 0
    first, last = enables.index(1), len(enables) - enables[::-1].index(1)
    assert all(enables[first:last]), "the enabled bytes are contiguous"
    assert all(b == 0 for b in data[:first] + data[last:]), "the other bytes are zero"
    return tlp.address + first, bytes(data[first:last]), tlp


def rule(address: int, length: int, payload: int) -> list[tuple[int, int]]:
    """The requests of a command, as the model of the engine cuts it."""
    found = []
    while length:
        size = min(length, payload - address % 4, 4096 - address % 4096)
        found.append((address, size))
        address, length = address + size, length - size
    return found


async def check(bench: Bench, commands: list[Command], code: int, pauses: Any) -> None:
    """Send commands and compare every packet."""
    bench.dut.max_payload_i.value = code
    before = bench.done
    bench.send(commands, pauses)
    sink = PacketSink(bench.dut, pauses[2])
    for start, content in commands:
        for address, size in rule(start, len(content), 128 << code):
            found, data, tlp = read(await sink.packet())
            assert (found, len(data)) == (address, size)
            assert data == content[address - start : address - start + size]
            assert int(tlp.requester_id) == 0x0312
    await bench.wait(3)
    assert bench.done - before == len(commands)
    assert int(bench.dut.error_o.value) == 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def writes_of_every_alignment_have_their_bytes(dut: Any) -> None:
    """Each offset in a beat, short and long, below and above 4 GiB."""
    bench = Bench(dut)
    await bench.begin()
    draw = random.Random(40)
    commands = [
        (
            base + offset,
            draw.randbytes(draw.choice([1, 2, 3, 4, 5, bench.lanes, 33, 127, 128, 300])),
        )
        for base in (0x1000, 0xFFF8, 0x5_0000_0000, 0xFFFF_FFFF_FFFF_0000)
        for offset in range(bench.lanes + 4)
    ]
    await check(bench, commands, 0, (never, never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def random_writes_have_their_bytes(dut: Any) -> None:
    """Each payload size, with pauses at all interfaces."""
    bench = Bench(dut)
    await bench.begin()
    draw = random.Random(41)
    for code in range(6):
        commands = []
        for _ in range(1 + PACKETS // 10):
            address = draw.getrandbits(draw.choice([20, 32, 33, 60]))
            commands.append((address, draw.randbytes(draw.choice([1, 9, draw.randrange(1, 5000)]))))
        seed = 50 + 3 * code
        await check(bench, commands, code, tuple(often(seed + k, 0.3) for k in range(3)))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_follow_each_other_without_a_gap(dut: Any) -> None:
    """Each packet costs its beats; one more where wide beats of data are not aligned."""
    bench = Bench(dut)
    await bench.begin()
    dut.max_payload_i.value = 0
    for base in (0x1000, 0x1001, 0x3_0000_0003):
        content = random.Random(42).randbytes(4096 - base % 4096)
        bench.send([(base, content)], (never, never))
        sink = PacketSink(dut, never)
        await sink.packet()
        begin, count, left = get_sim_time("ns"), 0, rule(base, len(content), 128)[1:]
        for _ in left:
            count += -(-len(await sink.packet()) // bench.lanes)
        if base % 4 and (bench.lanes == 32 or (bench.lanes == 16 and base < 1 << 32)):
            count += len(left)
        assert round((get_sim_time("ns") - begin) / PERIOD) == count, f"{base:#x}"
        await bench.wait(5)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def packets_wait_for_credits(dut: Any) -> None:
    """A packet is out only with credits for it, one at a time."""
    bench = Bench(dut)
    await bench.begin(infinite=False)
    content = bytes(range(256)) * 2
    bench.send([(0x2000, content)], (never, never))
    sink = PacketSink(dut, never)
    receiving = cocotb.start_soon(sink.packets(4))
    for headers, data, out in (
        (1, 0, 0),
        (1, 7, 0),
        (1, 8, 1),
        (2, 15, 1),
        (3, 16, 2),
        (3, 24, 3),
        (4, 32, 4),
    ):
        dut.header_limit_i.value, dut.data_limit_i.value = headers, data
        await bench.wait(60)
        assert bool(receiving.done()) == (out == 4), f"{headers} {data}"
    assert b"".join(read(packet)[1] for packet in await receiving) == content


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def nothing_begins_without_bus_master_enable(dut: Any) -> None:
    """What waits goes on with it."""
    bench = Bench(dut)
    await bench.begin()
    dut.enable_i.value = 0
    bench.send([(0x2000, bytes(200))], (never, never))
    for _ in range(60):
        await RisingEdge(dut.clk_i)
        assert int(dut.valid_o.value) == 0
    dut.enable_i.value = 1
    assert len(await PacketSink(dut, never).packets(2)) == 2


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_wrong_command_stops_the_path_and_the_commands_before_it_are_whole(dut: Any) -> None:
    """A length of 0, and a range beyond 64 bits; after a clear the path goes on."""
    bench = Bench(dut)
    await bench.begin()
    draw = random.Random(43)
    for bad, error in (((0x1000, b""), LENGTH), (((1 << 64) - 8, bytes(9)), ADDRESS)):
        good = (0x1F0 + draw.randrange(16), draw.randbytes(1000))
        bench.send([good, bad, (0x9000, bytes(64))], (never, never))
        sink = PacketSink(dut, often(44))
        for address, size in rule(good[0], 1000, 128):
            found, data, _ = read(await sink.packet())
            at = address - good[0]
            assert (found, data) == (address, good[1][at : at + size])
        await bench.wait(60)
        assert int(dut.error_o.value) == error
        assert int(dut.busy_o.value) == 0
        assert int(dut.valid_o.value) == 0
        dut.clear_i.value = 1
        await bench.wait(1)
        dut.clear_i.value = 0
        await check(bench, [(0x4003, draw.randbytes(500))], 0, (never, never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_range_may_end_at_the_last_address(dut: Any) -> None:
    """Eight bytes at the end of the address space are no error."""
    bench = Bench(dut)
    await bench.begin()
    await check(bench, [((1 << 64) - 8, bytes(range(8)))], 0, (never, never, never))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_stop_leaves_whole_packets_and_a_clear_goes_on(dut: Any) -> None:
    """At random times, with data and without; the packets before the stop have their bytes."""
    bench = Bench(dut)
    await bench.begin()
    draw = random.Random(45)
    for round_ in range(1 + PACKETS // 10):
        content, start = draw.randbytes(2000), 0x8000 + draw.randrange(64)
        sending = bench.send([(start, content)], (never, often(46 + round_, 0.5)))
        sink, packets = PacketSink(dut, often(47, 0.2)), list[bytes]()

        async def receive(sink: PacketSink = sink, packets: list[bytes] = packets) -> None:
            while True:
                packets.append(await sink.packet())

        receiving = cocotb.start_soon(receive())
        await bench.wait(draw.randrange(5, 90))
        dut.stop_i.value = 1
        await bench.wait(1)
        dut.stop_i.value = 0
        await sending
        await bench.wait(100)
        assert int(dut.error_o.value) == STOPPED
        assert int(dut.busy_o.value) == 0
        requests = rule(start, len(content), 128)
        for (address, size), packet in zip(requests, packets[:-1], strict=False):
            at = address - start
            assert read(packet)[:2] == (address, content[at : at + size])
        if packets:
            assert len(packets[-1]) >= 12 + requests[len(packets) - 1][1], (
                "the last packet is whole"
            )
        receiving.cancel()
        dut.clear_i.value = 1
        await bench.wait(1)
        dut.clear_i.value = 0
        await bench.wait(1)
        await check(bench, [(0x4003, draw.randbytes(500))], 0, (never, never, never))
