"""Device models of one's own in Python: in a fabric, on the command line, and what goes wrong."""

# ruff: noqa: ARG002, RUF012 - device models as users write them

from __future__ import annotations

from typing import TYPE_CHECKING


from peerlane import (
    Device,
    Fabric,
    HostThread,
    Parameter,
    Simulation,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

DOORBELL, STATUS = 0x10, 0x18
SOURCE, TARGET, LENGTH = 0x00, 0x08, 0x14


class MySsd(Device):
    """Copies host memory when its doorbell rings, and says so by an interrupt."""

    vendor_id = 0x1234
    device_id = 0x5678
    class_code = 0x01_0802
    bars = {0: "4 KiB"}
    msix_vectors = 2

    latency = Parameter.time("1 us", help="Time from the doorbell to the first read.")
    depth = Parameter(4, help="Commands at once.", least=1, most=16)

    def on_reset(self) -> None:
        self.registers = bytearray(4096)
        self.copies = 0

    def on_read(self, bar: int, offset: int, length: int) -> bytes:
        return bytes(self.registers[offset : offset + length])

    def on_write(self, bar: int, offset: int, data: bytes) -> Awaitable[None] | None:
        self.registers[offset : offset + len(data)] = data
        return self.copy() if offset == DOORBELL else None

    def number(self, offset: int, length: int = 8) -> int:
        return int.from_bytes(self.registers[offset : offset + length], "little")

    async def copy(self) -> None:
        await self.sleep(self.latency)
        data = await self.dma_read(self.number(SOURCE), self.number(LENGTH, 4))
        await self.dma_write(self.number(TARGET), data)
        self.copies += 1
        self.registers[STATUS] = self.copies
        self.interrupt(1)


def fabric(model: type[Device] | Device = MySsd, **settings: str | int) -> Fabric:
    begun = Fabric("own").host("h0").switch("s0", "h0")
    return begun.device("ssd", "s0", model=model, **settings)


def base(simulation: Simulation) -> int:
    return simulation.tree().nodes["ssd"].regions[0].base


async def command(thread: HostThread, registers: int, source: int, target: int, size: int) -> None:
    await thread.store(registers + SOURCE, source)
    await thread.store(registers + TARGET, target)
    await thread.store(registers + LENGTH, size, 4)
    await thread.store(registers + DOORBELL, 1, 4)


def test_a_register_of_a_device_answers_in_a_fabric() -> None:
    class Echo(Device):
        bars = {0: 4096}

        def on_read(self, bar: int, offset: int, length: int) -> int:
            return bar << 24 | offset << 8 | length

    simulation = fabric(Echo()).simulation()
    assert simulation.read("h0", base(simulation) + 0x20, 4) == (0x20 << 8 | 4).to_bytes(
        4, "little"
    )


def test_a_device_copies_memory_and_signals_an_interrupt() -> None:
    simulation = fabric(latency="3 us").simulation()
    data = bytes(range(251)) * 40
    source, target = (simulation.allocate("h0", 1 << 16) for _ in range(2))
    simulation.fill("h0", source + 5, data)
    thread = simulation.host_thread("h0")

    async def program() -> float:
        await command(thread, base(simulation), source + 5, target + 3, len(data))
        began = thread.now_ns
        message = simulation.vector("ssd", 1).message
        await thread.interrupt(message)
        return thread.now_ns - began

    took = thread.run(program())
    assert simulation.memory("h0", target + 3, len(data)) == data
    assert took > 3000
    assert simulation.read("h0", base(simulation) + STATUS, 1) == b"\1"
