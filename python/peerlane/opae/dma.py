"""Controls the memory-mapped DMA accelerator: transfers data through pinned buffers.

As in the published sample, a transfer is divided into chunks of 1023 KiB, each of which is copied
between the caller's memory and one of eight pinned buffers. In transfers to the card, the processor
fills four buffers while the engine reads the other four, and sleeps until an interrupt before it
fills the next four. In transfers from the card, the engine fills buffers one descriptor after the
other. After every four buffers, the engine writes a word and sends an interrupt, to report that
these buffers are full. The register map is from the published design.
"""

from __future__ import annotations

import struct
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from peerlane.errors import PeerlaneError
from peerlane.programs.host_thread import PAGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from peerlane.opae.card import Accelerator

CHUNK = 1023 * 1024
"""The bytes of a buffer, and the most bytes that a descriptor moves."""

BUFFERS = 8
HALF = BUFFERS // 2

LINE = 64
"""The bytes of a line; a transfer has whole lines."""

UUID = (0xEF82DEF7F6EC40FC, 0xA9149A35BACE01EA)
"""The UUID of the DMA engine in the list of features: upper and lower 64 bits."""

ACCELERATOR = "331db30c-9885-41ea-9081-f88b8f655caa"
"""The UUID of the memory-mapped DMA sample."""

HOST = 0x2_0000_0000_0000
"""The bit in a descriptor's address that stands for memory of the host."""

HOST_FENCED = 0x3_0000_0000_0000
"""The bits in a descriptor's address for memory of the host, written only after all earlier writes.
"""

MAGIC_ROM = 0x1_0000_0000_0000
"""The address from which the engine reads the word that marks the end of a transfer."""

MAGIC = 0x5772745F53796E63

STATUS, CONTROL, DESCRIPTOR = 0x40, 0x44, 0x60
"""Offsets of registers from the beginning of the feature."""

FULL, INTERRUPT = 1 << 2, 1 << 9
"""Bits of the status register."""

INTERRUPTS_ENABLED = 1 << 4
"""A bit of the control register."""

GO, EARLY_DONE, INTERRUPT_AT_END = 1 << 31, 1 << 24, 1 << 14
"""Bits of a descriptor's control word."""

BURST = 4
"""The lines of a burst."""


WORD = 0xFFFF_FFFF

DESCRIPTOR_LAYOUT = "<IIIHBBHHIII"
"""The fields of a descriptor: source and target (lower halves), bytes, number, read and write burst
in lines, read and write stride, source and target (upper halves), control."""


class Chunks(Protocol):
    """The data of a transfer, as chunks by number."""

    def __getitem__(self, number: int, /) -> bytes:
        """Returns the chunk with this number."""


class DmaError(PeerlaneError, RuntimeError):
    """The accelerator did not behave as its registers specify."""


class Dma:
    """The DMA engine of an accelerator, with pinned buffers; `Dma.of` creates it."""

    def __init__(self, card: Accelerator, base: int, buffers: list[int], magic: int) -> None:
        self._card = card
        self._thread = card.thread
        self._base = base
        self._buffers = buffers
        self._magic = magic

    @classmethod
    @asynccontextmanager
    async def of(cls, card: Accelerator) -> AsyncIterator[Dma]:
        """Finds the DMA engine in the list of features, and pins buffers for it in this context.

        Raises:
            DmaError: The accelerator has no DMA engine.
        """
        base = await card.feature(UUID)
        if base is None:
            raise DmaError(f"{card.name} has no memory-mapped DMA loaded")
        async with AsyncExitStack() as pins:
            pin = card.thread.pinned
            pinned = [await pins.enter_async_context(pin(CHUNK)) for _ in range(BUFFERS)]
            magic = await pins.enter_async_context(pin(PAGE))
            await card.store(base + CONTROL, INTERRUPTS_ENABLED, 4)
            yield cls(card, base, pinned, magic)
            await card.store(base + CONTROL, 0, 4)

    async def write(self, to: int, chunks: Chunks, size: int) -> None:
        """Copies `size` bytes, a multiple of 64, to the card's memory.

        Args:
            to: The first address in the card's memory.
            chunks: The chunks of data by their numbers: 1023 KiB each, and the rest.
            size: The number of bytes.
        """
        whole, rest = divmod(size, CHUNK)
        awaited = False
        for number in range(whole):
            buffer = self._buffers[number % BUFFERS]
            await self._thread.put(buffer, chunks[number])
            control = EARLY_DONE
            if number % HALF == HALF - 1 or number == whole - 1:
                if awaited:
                    await self._sleep()
                control |= INTERRUPT_AT_END
                awaited = True
            await self._send(buffer | HOST, to + number * CHUNK, CHUNK, control)
        if awaited:
            await self._sleep()
        if rest:
            await self._thread.put(self._buffers[0], chunks[whole])
            source = self._buffers[0] | HOST
            await self._send(source, to + whole * CHUNK, rest, INTERRUPT_AT_END)
            await self._sleep()

    async def read(
        self, source: int, size: int, *, page_fault_ns: float = 0.0
    ) -> AsyncIterator[bytes]:
        """Copies `size` bytes, a multiple of 64, from the card's memory, chunk by chunk.

        Args:
            source: The first address in the card's memory.
            size: The number of bytes.
            page_fault_ns: The time of a page fault, in nanoseconds, for each page of the caller's
                memory; 0 if the program has used the pages before.
        """
        whole, rest = divmod(size, CHUNK)
        taken = 0
        announced = False
        for number in range(whole):
            buffer = self._buffers[number % BUFFERS]
            await self._send(source + number * CHUNK, buffer | HOST, CHUNK, 0)
            pending = number - taken + 1
            if pending == HALF:
                await self._announce()
                announced = True
            if pending == BUFFERS or number == whole - 1:
                if announced:
                    await self._wait()
                    for _ in range(HALF):
                        yield await self._take(taken, page_fault_ns)
                        taken += 1
                await self._announce()
                announced = True
        if announced:
            await self._wait()
        while taken < whole:
            yield await self._take(taken, page_fault_ns)
            taken += 1
        if rest:
            target = self._buffers[0] | HOST
            await self._send(source + whole * CHUNK, target, rest, 0)
            await self._announce()
            await self._wait()
            yield await self._take(0, page_fault_ns, rest)

    async def _take(self, number: int, page_fault_ns: float, length: int = CHUNK) -> bytes:
        """Copies bytes from a pinned buffer to the caller's memory."""
        if page_fault_ns:
            await self._thread.work(-(-length // PAGE) * page_fault_ns)
        return await self._thread.take(self._buffers[number % BUFFERS], length)

    async def _send(self, source: int, target: int, length: int, control: int) -> None:
        """Writes a descriptor when the engine has space; two if the data ends within a burst."""
        even = length - length % (BURST * LINE)
        parts = [(size, burst) for size, burst in ((even, BURST), (length - even, 1)) if size]
        for part, (size, burst) in enumerate(parts):
            is_last = part == len(parts) - 1
            flags = control if is_last else control & ~INTERRUPT_AT_END
            await self._send_part(source, target, (size, burst), flags)
            source, target = source + size, target + size

    async def _send_part(
        self, source: int, target: int, part: tuple[int, int], control: int
    ) -> None:
        card, base = self._card, self._base
        while (status := await card.load(base + STATUS, 4)) & FULL:
            if status == WORD:
                raise DmaError(f"{card.name} does not answer: its registers read as ones")
        size, burst = part
        low = source & WORD, target & WORD
        high = source >> 32, target >> 32
        words = struct.pack(
            DESCRIPTOR_LAYOUT, *low, size, 0, burst, burst, 1, 1, *high, control | GO
        )
        for at, word in enumerate(struct.unpack("<4Q", words)):
            await card.store(base + DESCRIPTOR + 8 * at, word)

    async def _sleep(self) -> None:
        """Waits for an interrupt, as in `poll`, reads the event and clears the interrupt."""
        await self._thread.interrupt(self._card.interrupts[0])
        await self._thread.system_call()
        await self._card.store(self._base + STATUS, INTERRUPT, 4)

    async def _announce(self) -> None:
        """Requests the engine to write the magic word after all earlier writes."""
        self._thread.set(self._magic, bytes(8))
        await self._card.load(self._base + STATUS, 4)
        control = INTERRUPT_AT_END
        await self._send(MAGIC_ROM, self._magic | HOST_FENCED, LINE, control)

    async def _wait(self) -> None:
        """Waits for the magic word that `_announce` requested."""
        await self._sleep()
        while int.from_bytes(self._thread.look(self._magic, 8), "little") != MAGIC:
            await self._thread.written(self._magic)
        self._thread.set(self._magic, bytes(8))
