"""The engine in a slot of cocotbext-pcie: enumeration, host reads and writes, lists, MSI."""

from __future__ import annotations

import random
import struct
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from dma_engine.card import Card, Machine
from dma_engine.world import ADDRESS, COUNTERS, FETCH, LISTS, READ, STATUS, WRITE
from handshake import PACKETS, often

SIZE = 1 << 16


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def host_memory_goes_through_the_card_and_back(dut: Any) -> None:
    """Any alignment and size; the interrupts are MSI, and come behind the data."""
    machine = Machine(Card(dut))
    machine.root.max_payload_size = 0
    (device,) = await machine.begin(receive=often(51, 0.2), send=often(52, 0.2))
    registers = device.bar_window[2]
    memory = machine.root.mem_pool.alloc_region(SIZE)
    base = memory.get_absolute_address(0)
    draw = random.Random(53)
    sent, came, lists = 0x0, 0x4000, 0x8000 + 0xF70
    for _ in range(max(2, PACKETS // 10)):
        parts = [draw.choice([1, 3, 64, draw.randrange(1, 700)]) for _ in range(9)]
        size = sum(parts)
        data = draw.randbytes(size)
        start = draw.randrange(64)
        await memory.write(sent + start, data)
        reads, at = [], base + sent + start
        for part in parts:
            reads.append((at, part))
            at += part
        target = came + draw.randrange(64)
        writes = [(base + target, size - 1), (base + target + size - 1, 1)]
        vectors = device.msi_vectors
        for unit, ranges, vector in ((READ, reads, 1), (WRITE, writes, 0)):
            table = b"".join(struct.pack("<QII", address, length, 0) for address, length in ranges)
            place = lists + 0x400 * vector
            if FETCH:
                await memory.write(place, table)
            else:
                await registers.write(LISTS[unit], table)
            vectors[vector].event.clear()
            command = struct.pack("<QQII", base + place, len(ranges), 0, 1)
            await registers.write(unit + ADDRESS, command)
        for vector in (1, 0):
            await with_timeout(vectors[vector].event.wait(), 300, "us")
        assert await memory.read(target, size) == data
        for unit in (READ, WRITE):
            assert await registers.read_dword(unit + STATUS) == 2
    errors = await registers.read(COUNTERS + 8 * 7, 8 * 5)
    assert errors == bytes(40), "no errors were counted"
