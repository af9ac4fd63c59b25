"""A list in host memory: its ranges come in order, from requests that fit in pages and MRRS."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from cocotb.utils import get_sim_time
from dma_engine.world import ENGINE, parse
from handshake import (
    LIMIT,
    PACKETS,
    PERIOD,
    Sink,
    drive,
    never,
    often,
    read,
    reset,
    rises,
    start_clock,
)
from packets import PacketSink

ABORT, TIMED_OUT = 4, 6
"""Values of `result_o`."""
SILENT = -1
"""In the place of a result: the host does not answer."""
INPUTS = ["function_id", "max_read_request", "start", "stop", "list_address", "count", "ready"]
INPUTS += ["range_ready", "write_place", "write_data", "write_lanes", "write", "end_result", "end"]


def descriptor(address: int) -> bytes:
    """The 16 bytes of a descriptor, by its place in host memory."""
    return random.Random(address).randbytes(16)


def range_at(address: int) -> tuple[int, int]:
    """Address and length of a descriptor."""
    data = descriptor(address)
    return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:12], "little")


class Host:
    """The circuit, and the host memory that answers its requests."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.draw = dut, random.Random(seed)
        self.fetch, self.timeout = int(dut.FETCH.value), int(dut.TIMEOUT.value)
        self.results: dict[int, int] = {}
        """How requests end that do not end well, by their number in the list."""
        self.requests: list[tuple[int, int]] = []
        """Address and bytes of each request of the list."""
        self.opened: list[tuple[int, int]] = []
        self.ended = self.late = 0
        self.tasks: list[Any] = []

    async def begin(self, mrrs: int = 7) -> None:
        """Reset, and the host from its begin, with this code of MRRS."""
        for task in self.tasks:
            task.cancel()
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        drive(self.dut, function_id=ENGINE, max_read_request=mrrs)
        self.mrrs = 128 << min(mrrs, 5)
        self.tasks = [cocotb.start_soon(process) for process in (self.watch(), self.serve())]

    async def watch(self) -> None:
        """Note the requests that open, end and time out."""
        dut = self.dut
        while True:
            await ReadOnly()
            opens, ended, late = read(dut, "open", "ended", "timed_out")
            assert read(dut, "range_valid", "end") != (1, 1), "a range waits behind the end"
            if opens:
                self.opened.append((read(dut, "open_low")[0], read(dut, "open_bytes")[0]))
            assert ended >= late
            self.ended += ended
            self.late += late
            await RisingEdge(dut.clk_i)

    async def serve(self) -> None:
        """Answer each request, after a while."""
        sink = PacketSink(self.dut, often(self.draw.randrange(99), 0.3), rests=True)
        while True:
            packet = parse(await sink.packet())
            assert (packet.kind, packet.tag) == (0, int(self.dut.TAG.value))
            assert packet.size <= min(self.mrrs, self.fetch)
            assert packet.size == 4 * packet.dwords
            assert packet.traffic_class == 0
            assert self.opened[-1] == (packet.address % 128 // 16, packet.size)
            self.requests.append((packet.address, packet.size))
            result = self.results.get(len(self.requests) - 1, 0)
            for _ in range(self.draw.choice([0, 1, self.draw.randrange(40)])):
                await RisingEdge(self.dut.clk_i)
            if result != SILENT:
                await self.answer(packet.address, packet.size, result)

    async def answer(self, address: int, size: int, result: int) -> None:
        """Write the words in any order, each in two parts, and end the request."""
        dut, draw = self.dut, self.draw
        content = b"".join(descriptor(address + k) for k in range(0, size, 16))
        places = list(range(size // 8))
        draw.shuffle(places)
        for number, place in enumerate(places):
            word = int.from_bytes(content[8 * place : 8 * place + 8], "little")
            some = draw.choice([0xFF, draw.getrandbits(8)])
            drive(dut, write=1, write_place=place, write_data=word)
            for lanes in (some, 0xFF - some):
                ends = number == len(places) - 1 and (lanes == 0xFF - some)
                drive(dut, write_lanes=lanes, end=ends, end_result=result)
                await RisingEdge(dut.clk_i)
        drive(dut, write=0, end=0)

    async def start(self, address: int, count: int) -> None:
        """Begin a transfer."""
        self.requests.clear()
        self.opened.clear()
        self.ended = self.late = 0
        drive(self.dut, start=1, stop=0, list_address=address >> 4, count=count)
        await RisingEdge(self.dut.clk_i)
        drive(self.dut, start=0, list_address=self.draw.getrandbits(60))

    def place(self, count: int) -> int:
        """An address for a list, often shortly before a page or 4 GiB ends."""
        draw = self.draw
        high = draw.choice([0, 0, draw.getrandbits(32)])
        page = draw.choice([draw.getrandbits(20), 0xFFFFF]) if high else draw.getrandbits(19)
        return high << 32 | page << 12 | 4096 - 16 * draw.randint(1, min(256, 2 * count))

    def expected(self, address: int, count: int) -> list[tuple[int, int]]:
        """The requests of a whole list."""
        found, end = [], address + 16 * count
        while address < end:
            size = min(end - address, self.mrrs, self.fetch, 4096 - address % 4096)
            found.append((address, size))
            address += size
        return found

    def sink(self, pause: Any) -> Sink:
        """The taker of ranges."""
        dut = self.dut
        outputs = [dut.address_o, dut.length_o]
        return Sink(dut.clk_i, outputs, dut.range_valid_o, dut.range_ready_i, pause)

    async def ends(self, result: int) -> None:
        """Check that the list has ended like this, and stays so."""
        await RisingEdge(self.dut.clk_i)
        if not int(self.dut.end_o.value):
            await rises(self.dut.end_o)
            await RisingEdge(self.dut.clk_i)
        for _ in range(5):
            await ReadOnly()
            assert read(self.dut, "range_valid", "end", "result") == (0, 1, result)
            await RisingEdge(self.dut.clk_i)
        assert (self.ended, len(self.opened)) == (len(self.requests),) * 2


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def the_ranges_are_the_descriptors_in_order(dut: Any) -> None:
    """With pauses of the unit, of the link and of the host; at any address, for each MRRS."""
    start_clock(dut.clk_i)
    host = Host(dut, 23)
    for mrrs in (0, 1, 7):
        await host.begin(mrrs)
        for number in range(1 + PACKETS // 4):
            count = host.draw.choice([0, 1, 2, host.draw.randint(1, 40)])
            address = host.place(max(1, count))
            sink = host.sink((never, often(number), often(number, 0.9))[number % 3])
            await host.start(address, count)
            for k in range(count):
                assert await sink.take() == range_at(address + 16 * k)
            await host.ends(0)
            assert host.requests == host.expected(address, count)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_fetch_begins_while_fewer_descriptors_wait_than_it_brings(dut: Any) -> None:
    """While the unit takes no range, two fetches wait, and a third one is not requested."""
    start_clock(dut.clk_i)
    host = Host(dut, 26)
    await host.begin()
    most = host.fetch // 16
    await host.start(0x10000, 4 * most)
    for _ in range(60 + 20 * most):
        await RisingEdge(dut.clk_i)
    assert len(host.requests) == 2
    sink = host.sink(never)
    for k in range(4 * most):
        assert await sink.take() == range_at(0x10000 + 16 * k)
    await host.ends(0)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def an_error_ends_the_list_after_the_descriptors_before_it(dut: Any) -> None:
    """Of the completer, or because no completion came in time."""
    start_clock(dut.clk_i)
    host = Host(dut, 27)
    await host.begin()
    for number in range(2 + PACKETS // 4):
        count, wrong = 3 * host.fetch // 16 + 1, host.draw.randrange(3)
        result = (ABORT, SILENT)[number % 2]
        host.results = {wrong: result}
        address = 0x20_0000_0000 + 4096 * number
        sink = host.sink((never, often(number))[number % 2])
        await host.start(address, count)
        for k in range(wrong * host.fetch // 16):
            assert await sink.take() == range_at(address + 16 * k)
        await host.ends(TIMED_OUT if result == SILENT else ABORT)
        assert len(host.requests) == wrong + 1
        assert host.late == (result == SILENT)
    host.results = {}
    await host.start(0x5000, 1)
    assert await host.sink(never).take() == range_at(0x5000)
    await host.ends(0)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_request_times_out_after_its_cycles(dut: Any) -> None:
    """The time begins with its last beat; data that comes after the time-out changes nothing."""
    start_clock(dut.clk_i)
    host = Host(dut, 28)
    await reset(dut, [f"{name}_i" for name in INPUTS])
    drive(dut, function_id=ENGINE, list_address=0x123, count=1, start=1)
    await RisingEdge(dut.clk_i)
    dut.start_i.value = 0
    await rises(dut.valid_o)
    for _ in range(2 * host.timeout):
        await RisingEdge(dut.clk_i)
        assert not int(dut.timed_out_o.value)
    dut.end_i.value = 1  # a stray completion ends no request that has not left
    await RisingEdge(dut.clk_i)
    drive(dut, end=0, ready=1)
    for _ in range(2):
        await RisingEdge(dut.clk_i)
    before = get_sim_time("ns")
    await rises(dut.timed_out_o)
    waited = (get_sim_time("ns") - before) // PERIOD
    assert host.timeout <= waited <= host.timeout + 3, waited
    await ReadOnly()
    assert read(dut, "ended") == (1,)
    await RisingEdge(dut.clk_i)
    await host.answer(0x1230, 16, 0)
    for _ in range(3):
        await ReadOnly()
        assert read(dut, "range_valid", "end", "result") == (0, 1, TIMED_OUT)
        await RisingEdge(dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_list_that_is_stopped_or_reset_has_no_further_range(dut: Any) -> None:
    """In any cycle. A request that has begun ends before the list does.

    The next list is whole, also where ranges of the list before still wait when it begins.
    """
    start_clock(dut.clk_i)
    host = Host(dut, 29)
    await host.begin()
    for number in range(2 * PACKETS):
        await host.start(0x40000, 64)
        sink = host.sink(never)
        for k in range(host.draw.randrange(3)):
            assert await sink.take() == range_at(0x40000 + 16 * k)
        for _ in range(number % 37):
            await RisingEdge(dut.clk_i)
        if number % 4 == 3:
            dut.rst_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.rst_i.value = 0
            await ReadOnly()
            assert read(dut, "range_valid", "valid", "open", "end", "result") == (0, 0, 0, 1, 0)
            await RisingEdge(dut.clk_i)
            await host.begin()
            continue
        if number % 4 == 2:
            for _ in range(60 + 2 * host.fetch):
                await RisingEdge(dut.clk_i)
        else:
            host.results = dict.fromkeys(range(99), ABORT) if number % 4 == 1 else {}
            dut.stop_i.value = 1
            await RisingEdge(dut.clk_i)
            before = len(host.opened)
            await host.ends(0)
            assert len(host.opened) == before
            host.results = {}
        await host.start(0x7FF0, 3)
        sink = host.sink(often(number, 0.3))
        for k in range(3):
            assert await sink.take() == range_at(0x7FF0 + 16 * k)
        await host.ends(0)
