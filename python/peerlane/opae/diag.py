"""Runs the tests of the native loopback accelerator: reads, writes, both at once, or copies.

In a further test, the accelerator exchanges lines with software. These properties are from the
published sample: the register map, the status line that the accelerator writes at the end, and the
units of the results (lines of 64 bytes, and cycles of the accelerator's clock).
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from peerlane.errors import PeerlaneError
from peerlane.programs.host_thread import PAGE, run_programs

if TYPE_CHECKING:
    from peerlane.fabric.simulation import Simulation
    from peerlane.opae.card import Accelerator
    from peerlane.programs.host_thread import HostThread

LINE = 64

STATUS_BASE, SOURCE, TARGET, LINES, CONTROL, CONFIGURATION = (
    0x110,
    0x120,
    0x128,
    0x130,
    0x138,
    0x140,
)
"""Offsets of registers; the values of the source and target registers are in lines of 64 bytes."""

OUT_OF_RESET, START, FORCE_END = 1, 2, 4
"""Bits of the control register."""

STATUS = 0x40
"""Offset of the status line from its base, in bytes."""

CONTINUOUS = 2
"""A bit of the configuration register: repeat the test."""

WRONG_DATA = 8
"""The bit of the error word of an exchange that reports wrong lines."""


class Mode(StrEnum):
    """The kind of test."""

    READ = "read"
    WRITE = "write"
    THROUGHPUT = "trput"
    LOOPBACK = "lpbk1"
    EXCHANGE = "sw"

    @property
    def bits(self) -> int:
        """The bits of the configuration register for this kind of test."""
        return {"lpbk1": 0, "read": 1, "write": 2, "trput": 3, "sw": 7}[self] << 2

    @property
    def image(self) -> str:
        """The name of the image that must be loaded."""
        return {"lpbk1": "nlb_mode_0", "sw": "nlb_mode_7"}.get(self, "nlb_mode_3")


_REQUEST_BITS = {1: 0, 2: 1 << 5, 4: 3 << 5}
"""The bits of the configuration register for each number of lines in a request."""


class DiagnosticsError(PeerlaneError, RuntimeError):
    """The accelerator reported a failure of its test, or the test did not end."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The measurements of one test."""

    mode: str
    lines: int
    """The number of lines in a buffer."""
    request_lines: int
    reads: int
    """The number of lines that were read."""
    writes: int
    link_reads: int
    """The number of read requests and of write requests on the link, by the card's performance
    counters."""
    link_writes: int
    cycles: int
    """The cycles of the accelerator's clock from the start of the test to the status line."""
    clock_hz: float
    ns: float
    """The simulated time from the start to the end of the test, in nanoseconds, as seen by the
    program."""

    @property
    def read_bytes_per_second(self) -> float:
        """The read rate in bytes a second, by the time of `cycles`; 0 if there are no cycles."""
        return self.reads * LINE / self.cycles * self.clock_hz if self.cycles else 0.0

    @property
    def write_bytes_per_second(self) -> float:
        """The write rate in bytes a second, by the time of `cycles`; 0 if there are no cycles."""
        return self.writes * LINE / self.cycles * self.clock_hz if self.cycles else 0.0

    def to_json(self) -> dict[str, Any]:
        """The measurements as the command line writes them."""
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
        card: An accelerator with the image of the mode loaded.
        mode: The kind of test.
        lines: The number of lines in each buffer.
        request_lines: The number of lines in a request: 1, 2 or 4.
        continuous_ns: The time for which the test repeats, in nanoseconds; by default the test runs
            once. An exchange cannot be repeated.

    Raises:
        DiagnosticsError: Copied bytes differ, or the test did not end.
    """
    thread = card.thread
    size = lines * LINE
    async with (
        thread.pinned(PAGE) as status,
        thread.pinned(size + PAGE, HUGE) as source,
        thread.pinned(size + PAGE, HUGE) as target,
    ):
        thread.set(status + STATUS, bytes(LINE))
        for message in (source, target):
            thread.set(message + size, bytes(LINE))
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
        counted = await _link_counters(card)
        began = thread.now_ns
        await card.store(CONTROL, OUT_OF_RESET | START, 4)
        if continuous_ns:
            await thread.work(continuous_ns)
            await card.store(CONTROL, OUT_OF_RESET | START | FORCE_END, 4)
        if mode is Mode.EXCHANGE:
            await _answer(thread, source, target, size)
        while not thread.look(status + STATUS, 1)[0] & 1:
            await thread.written(status + STATUS)
        ended = thread.now_ns
        word = thread.look(status + STATUS, LINE)
        _, failures, cycles, reads, writes = struct.unpack_from("<IIQII", word)
        is_copy = mode is Mode.LOOPBACK and not continuous_ns
        differs = is_copy and thread.look(source, size) != thread.look(target, size)
        if wrong := fault(mode, failures, differs=differs):
            raise DiagnosticsError(f"{card.name}, slot {card.place.slot}, {mode}: {wrong}")
        now = await _link_counters(card)
        return Diagnosis(
            mode=mode,
            lines=lines,
            request_lines=request_lines,
            reads=reads,
            writes=writes,
            link_reads=now[0] - counted[0],
            link_writes=now[1] - counted[1],
            cycles=cycles,
            clock_hz=card.place.clock_hz,
            ns=ended - began,
        )


PATIENCE_NS = 1e9
"""The simulated time, in nanoseconds, that a test may take in addition to the time for its lines.
"""

LINE_NS = 6400.0
"""The simulated time, in nanoseconds, that a test may take for each line. It is the time at 10
MB/s, far below the rate of any link."""


def run_diagnosis(
    simulation: Simulation, card: Accelerator, mode: Mode, *, lines: int, request_lines: int = 4
) -> Diagnosis:
    """Runs one test, with the arguments of `diagnose`; raises an error if it does not end in time.

    Raises:
        DiagnosticsError: Copied bytes differ, or the test does not end.
    """
    test = diagnose(card, mode, lines=lines, request_lines=request_lines)
    limit = PATIENCE_NS + lines * LINE_NS

    async def watch() -> NoReturn:
        await simulation.sleep(limit)
        raise DiagnosticsError(
            f"{card.name}, slot {card.place.slot}, {mode}: the test has not ended after "
            f"{limit / 1e9:.2g} s of simulated time"
        )

    return run_programs(simulation, [test], watch=watch())[0]


def fault(mode: Mode, failures: int, *, differs: bool) -> str | None:
    """Words for the fault of a test with this error word, or with wrong copied bytes; or `None`.

    In an exchange, one bit of the error word means wrong data; in all other tests the word is a
    number of failures.
    """
    if mode is Mode.EXCHANGE and failures == WRONG_DATA:
        return "the accelerator read other lines back than it had written"
    if failures:
        return (
            f"the accelerator reports accesses that failed, by error word {failures:#x}; the host "
            "may refuse its addresses, or the design may not have this test"
        )
    return "the copied bytes differ from the bytes of the source" if differs else None


async def _link_counters(card: Accelerator) -> tuple[int, int]:
    """The numbers of read and write requests of the accelerator's port on the link."""
    thread, place = card.thread, card.place
    found = []
    for selected in (place.select_reads, place.select_writes):
        await thread.store(place.counters, selected)
        found.append(await thread.load(place.counters + 8) & place.counter_mask)
    return found[0], found[1]


async def _answer(thread: HostThread, source: int, target: int, size: int) -> None:
    """Does software's part of an exchange: copies the accelerator's lines, and signals the end."""
    message = b"\xff" * 4
    while thread.look(target + size, 4) != message:
        await thread.written(target + size)
    await thread.put(source, await thread.take(target, size))
    await thread.put(source + size, message * 3)


HUGE = 1 << 21
"""The alignment of the buffers in bytes: a page of 2 MiB, as is usual for large buffers."""
