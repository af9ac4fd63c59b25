"""Your own accelerator: it computes the CRC-32 of lines of host memory. With its driver.

The accelerator is a class. `peerlane opae run --afu checksum_afu.py ./checksum` loads it for a
program in C (`checksum.c`). If you run this file, it uses the accelerator from Python.
"""

from __future__ import annotations

import os
import struct
import zlib

from peerlane.opae import Accelerator, Afu, Shell, accelerators, configure
from peerlane.reproduction.machine import machine_of

LINE = 64
PER_REQUEST = 4
"""Lines of the longest request. A request begins at a multiple of its length."""

SOURCE, LINES, TARGET, CONTROL, END = 0x40, 0x48, 0x50, 0x58, 0x60
"""Registers: first line to read, number of lines, line of the result, command and state."""

START, BUSY, FAILED = 1, 2, 4


class Checksum(Afu):
    """Reads lines, and writes one line with their CRC-32, their number and a failure flag."""

    uuid = "3a778c9e-5bd1-4d0b-9c64-0a6dcfb1c4f3"

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Resets the registers. No request is outstanding."""
        self.registers = bytearray(END)
        self.arrived: dict[int, bytes] = {}
        self.asked = self.summed = self.lines = self.crc = self.state = 0

    def load(self, shell: Shell, offset: int, length: int) -> int:
        """Returns a register as it was stored, or the state."""
        del shell
        if offset == CONTROL:
            return self.state
        return int.from_bytes(self.registers[offset : offset + length], "little")

    def store(self, shell: Shell, offset: int, data: bytes) -> None:
        """Stores a register. The last one starts the accelerator."""
        if offset + len(data) > END:
            return
        self.registers[offset : offset + len(data)] = data
        if offset == CONTROL and data[0] & START and not self.state & BUSY:
            self.source, self.lines, self.target = struct.unpack_from("<3Q", self.registers, SOURCE)
            self.asked = self.summed = self.crc = 0
            self.state = BUSY
            self.wake(shell)

    def wake(self, shell: Shell) -> None:
        """Requests lines while the shell accepts reads. Writes the result when all have arrived."""
        while self.asked < self.lines and shell.can_read:
            line = self.source + self.asked
            count = min(PER_REQUEST - line % PER_REQUEST, self.lines - self.asked)
            shell.read(line * LINE, count * LINE, tag=self.asked)
            self.asked += count
        if self.state & BUSY and self.summed == self.lines and shell.can_write:
            self.state &= ~BUSY
            result = struct.pack("<IIQ", self.crc, self.state & FAILED, self.lines)
            shell.write(self.target * LINE, result.ljust(LINE, b"\0"))

    def read_done(self, shell: Shell, tag: int, data: bytes | None) -> None:
        """Adds lines to the CRC in order. Lines that arrive early wait for the others."""
        if data is None:
            self.state |= FAILED
        count = min(PER_REQUEST - (self.source + tag) % PER_REQUEST, self.lines - tag)
        self.arrived[tag] = data or bytes(count * LINE)
        while self.summed in self.arrived:
            lines = self.arrived.pop(self.summed)
            self.crc = zlib.crc32(lines, self.crc)
            self.summed += len(lines) // LINE
        self.wake(shell)

    def write_done(self, shell: Shell, tag: int) -> None:
        """The result is written, so software that waits for the interrupt finds it in memory."""
        del tag
        shell.interrupt()


async def checksum(card: Accelerator, data: bytes) -> tuple[int, float]:
    """Returns the CRC-32 of whole lines, and the time that the card took in nanoseconds."""
    thread = card.thread
    async with thread.pinned(len(data)) as source, thread.pinned(LINE) as target:
        thread.set(source, data)
        await card.store(SOURCE, source // LINE)
        await card.store(LINES, len(data) // LINE)
        await card.store(TARGET, target // LINE)
        began = thread.now_ns
        await card.store(CONTROL, START)
        await thread.interrupt(card.interrupts[0])
        crc, failed, lines = struct.unpack("<IIQ", thread.look(target, 16))
        if failed or lines != len(data) // LINE:
            raise RuntimeError("some lines could not be read")
        return crc, thread.now_ns - began


def main() -> None:
    """Computes the CRC-32 of buffers of several sizes."""
    simulation = machine_of("pac").fabric().simulation()
    configure(simulation, "card", os.fspath(__file__))
    (card,) = accelerators(simulation)
    for size in (LINE, 1 << 12, 1 << 16, 1 << 20):
        data = bytes(number * number % 251 for number in range(size))
        crc, took = card.thread.run(checksum(card, data))
        verdict = "right" if crc == zlib.crc32(data) else "wrong"
        print(f"{size:8} bytes {crc:08x} {verdict} {took:9.0f} ns {size / took:6.3f} GB/s")


if __name__ == "__main__":
    main()
