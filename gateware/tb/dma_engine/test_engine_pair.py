"""Two engines below one switch of cocotbext-pcie that write to each other at the same time."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from dma_engine.card import Card, Machine
from dma_engine.driver import Driver
from dma_engine.world import COUNTERS, PEER, READ, WRITE
from handshake import PACKETS, often

REGION = 1 << 14


@cocotb.test(timeout_time=2 + PACKETS / 20, timeout_unit="ms")
async def engines_that_write_to_each_other_lose_nothing(dut: Any) -> None:
    """Each reads host memory, sends it to the other, and writes to the host what comes from it."""
    cards = [Card(dut.engine[k]) for k in range(2)]
    machine = Machine(*cards, switch=True)
    found = await machine.begin(receive=often(81, 0.2), send=often(82, 0.2))
    drivers = [Driver(device) for device in found]
    for driver in drivers:
        await driver.cross()
    await Timer(1, "us")
    sources = [machine.root.mem_pool.alloc_region(REGION) for _ in cards]
    targets = [machine.root.mem_pool.alloc_region(REGION) for _ in cards]
    draw = random.Random(83)
    for _ in range(max(2, PACKETS // 20)):
        sizes = [draw.choice([1, 127, draw.randrange(1, 9000)]) for _ in cards]
        places = [draw.randrange(64) for _ in range(4)]
        data = [draw.randbytes(size) for size in sizes]
        for k, driver in enumerate(drivers):
            await sources[k].write(places[k], data[k])
            await targets[k].write(0, bytes(REGION))
            begin = targets[k].get_absolute_address(places[2 + k])
            await driver.start(WRITE, [(begin, sizes[1 - k])])
        for k, driver in enumerate(drivers):
            window = cards[1 - k].function.bar[0]
            await driver.start(PEER, [(window + places[k], sizes[k])])
            await driver.start(READ, [(sources[k].get_absolute_address(places[k]), sizes[k])])
        for k, driver in enumerate(drivers):
            for unit in (READ, PEER, WRITE):
                assert await driver.end(unit) == (2, 0)
            begin = places[2 + k]
            came = data[1 - k]
            expected = bytes(begin) + came + bytes(REGION - begin - len(came))
            assert await targets[k].read(0, REGION) == expected
    for driver in drivers:
        errors = await driver.registers.read(COUNTERS + 8 * 7, 8 * 6)
        assert errors == bytes(48), "no errors were counted"
