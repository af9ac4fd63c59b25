"""The engine with the matrix behind a switch of cocotbext-pcie, with two peers, and with MSI-X."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from dma_engine.card import PENDING, TABLE, Card, Machine
from dma_engine.driver import Driver
from dma_engine.world import COUNTERS, PEER, READ, WRITE
from handshake import PACKETS, often

UNSUPPORTED = 1
NOWHERE = 0x7_0000_0000


@cocotb.test(timeout_time=6, timeout_unit="ms")
async def peers_behind_a_switch_are_read_and_written(dut: Any) -> None:
    """A peer writes to the engine, which writes to another one; it reads from one for the host."""
    card = Card(dut)
    machine = Machine(card, switch=True)
    (device,) = await machine.begin(receive=often(61, 0.2), send=often(62, 0.2))
    driver = Driver(device)
    writer, target = machine.peers
    host = machine.root.mem_pool.alloc_region(1 << 14)
    draw = random.Random(63)
    for _ in range(max(1, PACKETS // 20)):
        size, at, to = draw.randrange(300, 900), draw.randrange(64), draw.randrange(0x4000)
        data = draw.randbytes(size)
        await driver.start(PEER, [(target.bar[0] + to, size)])
        await writer.mem_write(card.function.bar[0] + at, data)
        assert await driver.end(PEER) == (2, 0)
        assert machine.memories[1][to : to + size] == data

        cut = draw.randrange(1, size)
        await driver.start(WRITE, [(host.get_absolute_address(at), size)])
        parts = [(target.bar[0] + to, cut), (target.bar[0] + to + cut, size - cut)]
        await driver.start(READ, parts)
        assert await driver.end(READ) == (2, 0)
        assert await driver.end(WRITE) == (2, 0)
        assert await host.read(at, size) == data
    errors = await driver.registers.read(COUNTERS + 8 * 7, 8 * 6)
    assert errors == bytes(48), "no errors were counted"


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_read_of_an_address_that_nobody_has_is_unsupported(dut: Any) -> None:
    """The peer unit goes on meanwhile, and the next read is whole."""
    card = Card(dut)
    machine = Machine(card, switch=True)
    (device,) = await machine.begin()
    driver = Driver(device)
    writer, target = machine.peers
    host = machine.root.mem_pool.alloc_region(1 << 12)
    good, to = (host.get_absolute_address(5), 300), host.get_absolute_address(0x800)
    await host.write(5, bytes(range(150)) * 2)
    await driver.start(PEER, [(target.bar[0], 200)])
    await driver.start(READ, [good, (NOWHERE, 64), good])
    await writer.mem_write(card.function.bar[0], bytes(200))
    assert await driver.end(READ) == (3, UNSUPPORTED)
    assert await driver.end(PEER) == (2, 0)
    await driver.start(WRITE, [(to, 600)])
    await driver.start(READ, [good])
    assert await driver.end(READ) == (2, 0)
    assert await driver.end(WRITE) == (2, 0)
    assert await host.read(0x800, 600) == bytes(range(150)) * 4, "nothing from behind the error"


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def interrupts_are_messages_of_msix_and_masked_ones_pend(dut: Any) -> None:
    """A vector that is masked is signalled when software clears its mask."""
    card = Card(dut, msix=True)
    machine = Machine(card)
    (device,) = await machine.begin()
    driver = Driver(device)
    assert card.function.msix.msix_enable
    host = machine.root.mem_pool.alloc_region(1 << 12)
    base = host.get_absolute_address(0)
    table = device.bar_window[TABLE]
    await host.write(0, bytes(range(100)))
    await table.write_dword(16 * (READ // 0x40) + 12, 1)
    await driver.start(WRITE, [(base + 0x800, 100)])
    await driver.start(READ, [(base, 100)])
    assert await driver.end(WRITE) == (2, 0)
    assert await host.read(0x800, 100) == bytes(range(100))
    await Timer(1, "us")
    assert not driver.event(READ).is_set()
    assert await table.read_dword(PENDING) == 1 << READ // 0x40
    await table.write_dword(16 * (READ // 0x40) + 12, 0)
    assert await driver.end(READ) == (2, 0)
    assert await table.read_dword(PENDING) == 0
