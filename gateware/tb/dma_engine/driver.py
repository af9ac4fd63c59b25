"""The engine's driver: a list in the engine, a start, and an interrupt at the end."""

from __future__ import annotations

import struct
from typing import Any

from cocotb.triggers import with_timeout
from dma_engine.world import ADDRESS, CROSSED, ERROR, LISTS, PEER, STATUS


class Driver:
    """The driver of one engine, whose lists are in the engine."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.registers = device.bar_window[2]

    async def start(self, unit: int, ranges: list[tuple[int, int]]) -> None:
        """Begin a transfer; the peer unit has one range."""
        command = struct.pack("<QQII", 0, len(ranges), 0, 1)
        if unit == PEER:
            command = struct.pack("<QQII", *ranges[0], 0, 1)
        else:
            table = b"".join(struct.pack("<QII", address, size, 0) for address, size in ranges)
            await self.registers.write(LISTS[unit], table)
        self.event(unit).clear()
        await self.registers.write(unit + ADDRESS, command)

    def event(self, unit: int) -> Any:
        """The event of the unit's vector."""
        return self.device.msi_vectors[unit // 0x40].event

    async def end(self, unit: int) -> tuple[int, int]:
        """Wait for the interrupt; STATUS and ERROR."""
        await with_timeout(self.event(unit).wait(), 300, "us")
        status = await self.registers.read_dword(unit + STATUS)
        return status, await self.registers.read_dword(unit + ERROR)

    async def cross(self) -> None:
        """Let the matrix send data of the host to peers, and data of peers to the host."""
        await self.registers.write_byte(CROSSED, 1)
