"""Two lists in host memory: each has its own ranges and errors, whatever order completions have."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from dma_engine.lists import RESULTS, Host, Units, range_of
from dma_engine.world import COUNT as WRONG_COUNT
from dma_engine.world import ENGINE, POISONED, SILENT, completion
from handshake import PACKETS, drive, reset, start_clock

UNSUPPORTED, ABORT = 1, 4
INPUTS = ["function_id", "max_read_request", "start", "stop", "list_address", "count"]
INPUTS += ["range_ready", "ready", "completion_data", "completion_bytes", "completion_first"]
INPUTS += ["completion_last", "completion_valid"]
BOTH = 0b11
LIMIT = 400 + 10 * PACKETS


class Lists:
    """The circuit, the units, and the host."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.fetch = dut, int(dut.FETCH.value)
        self.units = Units(dut, dut.range_valid_o, dut.range_ready_i, seed)
        self.host = Host(dut, "", int(dut.FIRST_TAG.value), seed)
        self.draw = self.host.draw
        self.tasks: list[Any] = []

    async def begin(self) -> None:
        """Reset, and the surroundings from their begin."""
        for task in self.tasks:
            task.cancel()
        self.host.pending.clear()
        await reset(self.dut, [f"{name}_i" for name in INPUTS])
        drive(self.dut, function_id=ENGINE, max_read_request=5)
        self.tasks = [self.units.start(), *self.host.start()]

    async def start(self, lists: dict[int, tuple[int, int]]) -> dict[int, list[bytes]]:
        """Begin these lists, with an address and a count for each; return their descriptors."""
        found = {u: self.host.write(*one) for u, one in lists.items()}
        for u in lists:
            self.units.taken[u].clear()
            self.host.requests[u].clear()
        self.host.pulses.clear()
        self.host.misfits.clear()
        addresses = sum(address >> 4 << 60 * u for u, (address, _) in lists.items())
        counts = sum(count << 64 * u for u, (_, count) in lists.items())
        drive(self.dut, list_address=addresses, count=counts)
        self.dut.start_i.value = sum(1 << u for u in lists)
        await RisingEdge(self.dut.clk_i)
        drive(self.dut, start=0, list_address=0, count=0)
        return found

    def pairs(self) -> dict[int, tuple[int, int]]:
        """Two lists that do not touch each other."""
        places = (u << 40 | 16 * self.draw.getrandbits(20) for u in range(2))
        return {u: (place, self.draw.randint(1, 20)) for u, place in enumerate(places)}

    async def quiet(self, cycles: int = 20) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            await RisingEdge(self.dut.clk_i)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def both_lists_have_their_ranges_in_order(dut: Any) -> None:
    """Also when they begin in the same cycle."""
    lists = Lists(dut, 31)
    start_clock(dut.clk_i)
    await lists.begin()
    for number in range(1 + PACKETS // 2):
        lists.units.eager = [(1.0, 0.3, 0.8)[number % 3], (1.0, 0.8)[number % 2]]
        found = await lists.start(lists.pairs())
        await lists.units.end(BOTH)
        for u, descriptors in found.items():
            assert lists.units.taken[u] == list(map(range_of, descriptors))
            assert lists.units.result(u) == 0
            assert lists.host.pulses[f"ended{u}"] == len(lists.host.requests[u])
            sizes = [packet.size for packet in lists.host.requests[u]]
            assert (max(sizes), sum(sizes)) <= (lists.fetch, 16 * len(descriptors))
        pulses = ("unexpected", "malformed", "misfit", "timed_out0", "timed_out1")
        assert not any(lists.host.pulses[name] for name in pulses)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def an_error_ends_its_list_alone(dut: Any) -> None:
    """Each kind of it, for each list, while the other one goes on."""
    lists = Lists(dut, 32)
    start_clock(dut.clk_i)
    await lists.begin()
    for number, status in enumerate([UNSUPPORTED, POISONED, WRONG_COUNT, SILENT, ABORT] * 2):
        wrong, most = number % 2, lists.fetch // 16
        lists.host.statuses = {(wrong, 1): status}
        places = {u: (0x10000 * (u + 1), 3 * most) for u in range(2)}
        found = await lists.start(places)
        await lists.units.end(BOTH)
        for u, descriptors in found.items():
            ranges = list(map(range_of, descriptors))
            assert lists.units.taken[u] == (ranges[:most] if u == wrong else ranges)
            assert lists.units.result(u) == (RESULTS.get(status, status) if u == wrong else 0)
        pulses = lists.host.pulses
        misfits = int(status == WRONG_COUNT)
        assert (pulses["malformed"], pulses["misfit"]) == (misfits, misfits)
        late = [pulses[f"timed_out{u}"] for u in range(2)]
        assert late == [int(status == SILENT and u == wrong) for u in range(2)]
    lists.host.statuses = {}


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_completion_of_no_request_changes_nothing(dut: Any) -> None:
    """Before a list, beside another one, and after a time-out; its header is known."""
    lists = Lists(dut, 33)
    start_clock(dut.clk_i)
    await lists.begin()
    for number in range(4 + PACKETS // 5):
        u = number % 2
        stray = completion(0, 16, 16 * number % 64, lists.host.first_tag + 1 - u, bytes(16))
        lists.host.statuses = {(u, 0): SILENT} if number % 4 == 3 else {}
        found = await lists.start({u: (0x3000 * (number + 1), 6)})
        await lists.quiet(number)
        if number % 4 == 3:
            await lists.units.end(1 << u)
            assert lists.units.result(u) == RESULTS[SILENT]
            stray = completion(0, 16, 0, lists.host.first_tag + u, bytes(16))
        lists.host.pending.append([stray])
        await lists.units.end(1 << u)
        await lists.quiet(100)
        ranges = [] if number % 4 == 3 else list(map(range_of, found[u]))
        assert (lists.units.taken[u], lists.units.taken[1 - u]) == (ranges, [])
        pulses = lists.host.pulses
        assert (pulses["unexpected"], pulses["misfit"], pulses["malformed"]) == (1, 1, 0)
        assert lists.host.misfits == [stray[:12]]
        lists.units.taken[u].clear()


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def a_list_that_is_stopped_or_reset_has_no_further_range(dut: Any) -> None:
    """The other list goes on; after a reset both begin anew."""
    lists = Lists(dut, 34)
    start_clock(dut.clk_i)
    await lists.begin()
    for number in range(2 + PACKETS // 2):
        u = number % 2
        lists.units.eager = [0.2, 0.2]
        found = await lists.start({0: (0x8000, 12), 1: (0xC000, 12)})
        await lists.quiet(3 * number)
        if number % 3 == 2:
            await lists.begin()
            lists.units.taken[0].clear()
            await lists.quiet()
            assert lists.units.taken[0] == []
            continue
        dut.stop_i.value = lists.units.stopped = 1 << u
        await RisingEdge(dut.clk_i)
        before = len(lists.units.taken[u])
        await lists.units.end(BOTH)
        assert len(lists.units.taken[u]) == before
        assert lists.units.taken[1 - u] == list(map(range_of, found[1 - u]))
        dut.stop_i.value = lists.units.stopped = 0
