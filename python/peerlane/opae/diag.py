"""The native loopback as the card's diagnostics use it: reads, writes, both at once, or copies.

The register map, and the line of status that the accelerator writes at the end, are those of the
published sample; so are the figures: lines of 64 bytes, and cycles of the accelerator's clock.
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from peerlane.programs.host_thread import PAGE

if TYPE_CHECKING:
    from peerlane.opae.card import Accelerator

LINE = 64

STATUS_BASE, SOURCE, TARGET, LINES, CONTROL, CONFIGURATION = (
    0x110,
    0x120,
    0x128,
    0x130,
    0x138,
    0x140,
)
"""Registers; source and target are in lines."""

OUT_OF_RESET, START, FORCE_END = 1, 2, 4
"""Bits of the control register."""

STATUS = 0x40
"""Offset of the status line from its base, in bytes."""

CONTINUOUS = 2
"""A bit of the configuration."""


class Mode(StrEnum):
    """The kind of test."""

    READ = "read"
    WRITE = "write"
    THROUGHPUT = "trput"
    LOOPBACK = "lpbk1"

    @property
    def bits(self) -> int:
        """The bits of the configuration register."""
        return {"lpbk1": 0, "read": 1, "write": 2, "trput": 3}[self] << 2

    @property
    def image(self) -> str:
        """The name of the image that must be loaded."""
        return "nlb_mode_0" if self is Mode.LOOPBACK else "nlb_mode_3"


_REQUEST_BITS = {1: 0, 2: 1 << 5, 4: 3 << 5}
"""Bits of the configuration register, by the lines of a request."""


class DiagnosticsError(RuntimeError):
    """The accelerator found its own test to have failed, or never ended it."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The measurements of one test."""

    mode: str
    lines: int
    """Lines of the buffer."""
    request_lines: int
    reads: int
    """Lines that were read."""
    writes: int
    cycles: int
    """Cycles of the accelerator's clock, from the start to the status line."""
    clock_hz: float
    ns: float
    """Time from the start to the end as the program sees it."""

    @property
    def read_bytes_per_second(self) -> float:
        """Lines that were read, by cycles; 0 if there were too few lines for one cycle."""
        return self.reads * LINE / self.cycles * self.clock_hz if self.cycles else 0.0

    @property
    def write_bytes_per_second(self) -> float:
        """Lines that were written, by cycles; 0 if there were too few lines for one cycle."""
        return self.writes * LINE / self.cycles * self.clock_hz if self.cycles else 0.0

    def to_json(self) -> dict[str, Any]:
        """The figures as the command line writes them."""
        rates = {
            "read_bytes_per_second": self.read_bytes_per_second,
            "write_bytes_per_second": self.write_bytes_per_second,
        }
        return asdict(self) | rates


async def diagnose(
    card: Accelerator,
    mode: Mode,
    *,
    lines: int,
    request_lines: int = 4,
    continuous_ns: float | None = None,
) -> Diagnosis:
    """Runs one test of the native loopback.

    Args:
        card: An accelerator that has it loaded.
        mode: What it does.
        lines: Lines of the buffer, or of both.
        request_lines: Lines of a request: 1, 2 or 4.
        continuous_ns: Over and over again for so long, instead of once.

    Raises:
        DiagnosticsError: Bytes were not copied as they were, or the test never ended.
    """
    thread = card.thread
    size = lines * LINE
    async with (
        thread.pinned(PAGE) as status,
        thread.pinned(size, HUGE) as source,
        thread.pinned(size, HUGE) as target,
    ):
        thread.set(status + STATUS, bytes(LINE))
        if mode is Mode.LOOPBACK:
            thread.set(source, bytes(number % 251 for number in range(size)))
        await card.store(CONTROL, 0, 4)
        await card.store(CONTROL, OUT_OF_RESET, 4)
        await card.store(STATUS_BASE, status)
        await card.store(SOURCE, source // LINE)
        await card.store(TARGET, target // LINE)
        await card.store(LINES, lines, 4)
        flags = mode.bits | _REQUEST_BITS[request_lines]
        flags |= CONTINUOUS if continuous_ns else 0
        await card.store(CONFIGURATION, flags, 4)
        began = thread.now_ns
        await card.store(CONTROL, OUT_OF_RESET | START, 4)
        if continuous_ns:
            await thread.work(continuous_ns)
            await card.store(CONTROL, OUT_OF_RESET | START | FORCE_END, 4)
        while not thread.look(status + STATUS, 1)[0] & 1:
            await thread.written(status + STATUS)
        ended = thread.now_ns
        word = thread.look(status + STATUS, LINE)
        _, failures, cycles, reads, writes = struct.unpack_from("<IIQII", word)
        is_copy = mode is Mode.LOOPBACK and not continuous_ns
        if failures or (is_copy and thread.look(source, size) != thread.look(target, size)):
            raise DiagnosticsError(f"{card.name}: {mode} changed the bytes that it moved")
        clock = card.place.clock_hz
        return Diagnosis(mode, lines, request_lines, reads, writes, cycles, clock, ended - began)


HUGE = 1 << 21
"""Buffers begin with a page of 2 MiB, as large ones do."""
