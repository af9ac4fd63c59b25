"""The ranges of the three units, of lists in the engine or in host memory, and of a command."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from dma_engine.lists import Host, Range, Units, draw_descriptor, range_of
from dma_engine.world import ENGINE, FETCH
from handshake import LIMIT, PACKETS, drive, read, reset, start_clock

WRITE, READ, PEER = range(3)
ALL = 0b111
MALFORMED, DESCRIPTOR = 5, 7
INPUTS = ["function_id", "max_read_request", "write_word", "write_data", "write_lanes"]
INPUTS += ["write_valid", "read_word", "read", "start", "address", "length", "read_failed", "ready"]
INPUTS += ["request_ready", "completion_data", "completion_bytes", "completion_first"]
INPUTS += ["completion_last", "completion_valid"]
EDGE = 2**64
PLACES = {WRITE: 0x2_0000_1F80, READ: 0x0040_0F40}
"""Of lists in host memory: they cross a page."""


def descriptor(address: int, length: int) -> bytes:
    """A descriptor."""
    return address.to_bytes(8, "little") + length.to_bytes(4, "little") + b"\xee" * 4


def outcome(descriptors: list[bytes], *, too_long: bool = False) -> tuple[list[Range], int]:
    """The ranges of a list, and its result: one without a byte is left out, a wrong one ends it."""
    found: list[Range] = []
    for address, length in map(range_of, descriptors):
        if length and address + length > EDGE:
            return found, DESCRIPTOR
        if length:
            found.append((address, length))
    return found, MALFORMED if too_long else 0


class Ranges:
    """The circuit, the units, the CPU that writes lists, and the host."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rows = dut, int(dut.DESCRIPTORS.value)
        self.units = Units(dut, dut.valid_o, dut.ready_i, seed)
        self.host = Host(dut, "request_", int(dut.FIRST_TAG.value), seed)
        self.draw = self.host.draw
        self.tasks: list[Any] = []

    async def begin(self) -> None:
        """Reset, and the surroundings from their begin."""
        for task in self.tasks:
            task.cancel()
        self.host.pending.clear()
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        drive(self.dut, function_id=ENGINE, max_read_request=5)
        self.tasks = [self.units.start(), *(self.host.start() if FETCH else [])]

    async def write(self, offset: int, data: bytes) -> None:
        """Write whole words at an offset of the BAR."""
        for at in range(0, len(data), 8):
            word = int.from_bytes(data[at : at + 8], "little")
            drive(self.dut, write_word=(offset + at) // 8, write_data=word)
            drive(self.dut, write_lanes=0xFF, write_valid=1)
            await RisingEdge(self.dut.clk_i)
        self.dut.write_valid_i.value = 0

    async def start(
        self, lists: dict[int, list[bytes]], command: Range | None = None, more: int = 0
    ) -> None:
        """Begin these lists, with a count that is `more`, and a command."""
        addresses = lengths = 0
        for u, descriptors in lists.items():
            place = PLACES[u]
            if FETCH:
                here = {place + 16 * k: one for k, one in enumerate(descriptors)}
                self.host.memory |= here
            else:
                await self.write(0x10000 * (u + 1), b"".join(descriptors))
            addresses |= place << 64 * u
            lengths |= len(descriptors) + more << 64 * u
        starts = sum(1 << u for u in lists)
        if command:
            addresses |= command[0] << 64 * PEER
            lengths |= command[1] << 64 * PEER
            starts |= 1 << PEER
        for taken in self.units.taken:
            taken.clear()
        drive(self.dut, address=addresses, length=lengths, start=starts)
        await RisingEdge(self.dut.clk_i)
        self.dut.start_i.value = 0

    def descriptors(self, count: int, odd: float = 0.2) -> list[bytes]:
        """Descriptors, some without a byte, some that end with the last address."""
        found = []
        for _ in range(count):
            data, kind = draw_descriptor(self.draw), self.draw.random()
            length = self.draw.randint(1, 2**32 - 1)
            if kind < odd:
                data = descriptor(self.draw.getrandbits(64), 0)
            elif kind < 1.5 * odd:
                data = descriptor(EDGE - length, length)
            found.append(data)
        return found

    def check(self, u: int, expected: tuple[list[Range], int]) -> None:
        """Ranges and result of a unit."""
        assert (self.units.taken[u], self.units.result(u)) == expected, f"unit {u}"


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def each_unit_has_its_own_ranges(dut: Any) -> None:
    """All at once, or some; a range without a byte is left out, one to the last address is not."""
    ranges = Ranges(dut, 41)
    start_clock(dut.clk_i)
    await ranges.begin()
    for number in range(1 + PACKETS // 2):
        ranges.units.eager = [ranges.draw.choice([1.0, 0.7, 0.2]) for _ in range(3)]
        lists = {u: ranges.descriptors(ranges.draw.randint(1, ranges.rows)) for u in (WRITE, READ)}
        if number % 4 == 3:
            del lists[number // 4 % 2]
        length = ranges.draw.choice([0, 1, 2**32 - 1])
        command = (ranges.draw.choice([EDGE - length, 0x1234]) % EDGE, length)
        await ranges.start(lists, command)
        await ranges.units.end(ALL)
        for u, descriptors in lists.items():
            ranges.check(u, outcome(descriptors))
        ranges.check(PEER, ([command] if length else [], 0))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_range_beyond_the_addresses_ends_its_list_alone(dut: Any) -> None:
    """It is a byte too long; the ranges before it are given."""
    ranges = Ranges(dut, 42)
    start_clock(dut.clk_i)
    await ranges.begin()
    for number in range(6):
        wrong, length = number % 3, ranges.draw.randint(2, 2**32 - 1)
        lists = {u: ranges.descriptors(ranges.rows, 0.1) for u in (WRITE, READ)}
        beyond = (EDGE - length + 1, length)
        if wrong != PEER:
            lists[wrong][ranges.draw.randrange(ranges.rows)] = descriptor(*beyond)
        command = beyond if wrong == PEER else (0x5000, 64)
        await ranges.start(lists, command)
        await ranges.units.end(ALL)
        for u, descriptors in lists.items():
            ranges.check(u, outcome(descriptors))
        ranges.check(PEER, outcome([descriptor(*command)]))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_range_beyond_the_addresses_ends_its_list_at_once(dut: Any) -> None:
    """Later descriptors of the list are neither used nor requested."""
    ranges = Ranges(dut, 47)
    start_clock(dut.clk_i)
    await ranges.begin()
    for u in (WRITE, READ):
        beyond = descriptor(EDGE - 1, 2)
        await ranges.start({u: [beyond, *ranges.descriptors(ranges.rows - 1, 0)]})
        for _ in range(7):
            await RisingEdge(dut.clk_i)
        assert FETCH or int(dut.end_o.value) == ALL
        await ranges.units.end(ALL)
        ranges.check(u, ([], DESCRIPTOR))
        assert len(ranges.host.requests[u]) <= 2


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_command_of_4_gib_has_no_range(dut: Any) -> None:
    """A longer command has none either; the next command has its range."""
    ranges = Ranges(dut, 43)
    start_clock(dut.clk_i)
    await ranges.begin()
    for length in (1 << 32, 1 << 63, (1 << 32) + 5):
        await ranges.start({}, (0x1000, length))
        await ranges.units.end(ALL)
        ranges.check(PEER, ([], DESCRIPTOR))
        await ranges.start({}, (0x1000, 5))
        await ranges.units.end(ALL)
        ranges.check(PEER, ([(0x1000, 5)], 0))


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_read_that_failed_ends_the_ranges_of_its_unit_alone(dut: Any) -> None:
    """From any cycle on, until the next transfer."""
    ranges = Ranges(dut, 44)
    start_clock(dut.clk_i)
    await ranges.begin()
    for number in range(1 + PACKETS // 2):
        ranges.units.eager = [0.1, 0.3, 0.05]
        lists = {u: ranges.descriptors(ranges.rows, 0) for u in (WRITE, READ)}
        await ranges.start(lists, (0x7000, 9))
        for _ in range(2 * number):
            await RisingEdge(dut.clk_i)
        dut.read_failed_i.value = 1
        ranges.units.stopped = 1 << READ
        for _ in range(2):
            await RisingEdge(dut.clk_i)
        before, asked = len(ranges.units.taken[READ]), len(ranges.host.requests[READ])
        await RisingEdge(dut.clk_i)
        assert FETCH or int(dut.end_o.value) >> READ & 1
        await ranges.units.end(ALL)
        assert len(ranges.host.requests[READ]) <= asked + 1
        assert ranges.units.taken[READ] == outcome(lists[READ])[0][:before]
        ranges.check(WRITE, outcome(lists[WRITE]))
        ranges.check(PEER, ([(0x7000, 9)], 0))
        dut.read_failed_i.value = ranges.units.stopped = 0


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_reset_ends_the_ranges_of_all_units(dut: Any) -> None:
    """From any cycle on; nothing comes before the next transfer."""
    ranges = Ranges(dut, 45)
    start_clock(dut.clk_i)
    await ranges.begin()
    for number in range(6):
        ranges.units.eager = [0.0] * 3
        lists = {u: ranges.descriptors(ranges.rows, 0) for u in (WRITE, READ)}
        await ranges.start(lists, (0x7000, 1 << 40 if number % 2 else 9))
        for _ in range(2 * number):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 1
        ranges.units.stopped = ALL
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        await ReadOnly()
        assert read(dut, "valid", "end", "result") == (0, ALL, 0)
        await RisingEdge(dut.clk_i)
        await ranges.begin()
        ranges.units.stopped = 0


@cocotb.test(skip=FETCH != 0, timeout_time=LIMIT, timeout_unit="us")
async def the_lists_of_the_engine_are_read_as_they_were_written(dut: Any) -> None:
    """Each in its part of the BAR, and no other part; and a list that is too long fails."""
    ranges = Ranges(dut, 46)
    start_clock(dut.clk_i)
    await ranges.begin()
    lists = {u: ranges.descriptors(ranges.rows, 0) for u in (WRITE, READ)}
    await ranges.start(lists, more=1)
    await ranges.units.end(ALL)
    for u, descriptors in lists.items():
        ranges.check(u, outcome(descriptors, too_long=True))
    for part in (0, 3):
        await ranges.write(0x10000 * part, bytes(16 * ranges.rows))
    for word in range(2 * ranges.rows):
        drive(dut, read_word=word, read=1)
        await RisingEdge(dut.clk_i)
        dut.read_i.value = 0
        await ReadOnly()
        both = read(dut, "list_data")[0].to_bytes(16, "little")
        wanted = [b"".join(lists[u])[8 * word : 8 * word + 8] for u in (WRITE, READ)]
        assert [both[:8], both[8:]] == wanted
        await RisingEdge(dut.clk_i)
