"""Both ends of a valid/ready handshake, with pauses.

An offered word must stay, and a port must not wait for long: a circuit that hangs fails its test.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import First, ReadOnly, RisingEdge, Timer

PACKETS = int(os.environ.get("PACKETS", "100"))
"""Length of the random tests."""

SOAK = PACKETS >= 1000
"""Whether the tests are long, with the largest sizes."""

LIMIT = 200 + 4 * PACKETS
"""Microseconds of simulated time after which a test has failed."""

PERIOD = 4
"""Nanoseconds of a cycle, where a bench sets nothing else."""

PATIENCE = 2000
"""Cycles without progress at a port after which a test has failed."""

Pause = Callable[[], bool]
"""Whether to pause in the next cycle."""


def never() -> bool:
    """No pauses."""
    return False


def often(seed: int, share: float = 0.5) -> Pause:
    """Pauses in a share of the cycles, from a named stream of random numbers."""
    stream = random.Random(seed)
    return lambda: stream.random() < share


def pauses() -> list[tuple[Pause, Pause]]:
    """The pairs of pauses for source and sink that each test runs with."""
    return [
        (never, never),
        (often(1), never),
        (never, often(2)),
        (often(3), often(4)),
        (often(5, 0.9), never),
        (never, often(6, 0.9)),
    ]


def start_clock(signal: Any, period: int = PERIOD) -> None:
    """Start a clock of `period` nanoseconds."""
    Clock(signal, period, unit="ns").start()


async def reset(dut: Any, inputs: Iterable[str] = ()) -> None:
    """Hold the reset for three cycles, with the inputs at 0."""
    for name in inputs:
        getattr(dut, name).value = 0
    dut.rst_i.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await RisingEdge(dut.clk_i)


def value_of(signal: Any) -> int:
    """The value of a signal; bits that were never written, in lanes without a byte, are 0."""
    bits = str(signal.value).upper()
    return int(bits.replace("X", "0"), 2)


def port(signal: Any) -> str:
    """The name of a port."""
    return str(signal._name)  # noqa: SLF001 - cocotb documents this name


async def rises(signal: Any) -> None:
    """Wait until a port rises."""
    late = Timer(PATIENCE * PERIOD, unit="ns")
    if await First(RisingEdge(signal), late) is late:
        raise AssertionError(f"{port(signal)} stays low for {PATIENCE} cycles")


def drive(dut: Any, **values: int) -> None:
    """Set the input ports that are named without their `_i`."""
    for name, value in values.items():
        getattr(dut, f"{name}_i").value = value


def read(dut: Any, *names: str) -> tuple[int, ...]:
    """The values of the output ports that are named without their `_o`."""
    return tuple(int(getattr(dut, f"{name}_o").value) for name in names)


class Source:
    """Offers words, a value for each signal, and keeps an offered word until it is taken."""

    def __init__(
        self, clock: Any, signals: Sequence[Any], valid: Any, ready: Any, pause: Pause
    ) -> None:
        self.clock, self.signals, self.valid, self.ready = clock, signals, valid, ready
        self.pause = pause
        self.moved = 0
        valid.value = 0

    async def send(self, words: Iterable[Sequence[int]]) -> None:
        """Offer all words, one after the other."""
        for word in words:
            while self.pause():
                await RisingEdge(self.clock)
            for signal, value in zip(self.signals, word, strict=True):
                signal.value = value
            self.valid.value = 1
            for _ in range(PATIENCE):
                await ReadOnly()
                taken = int(self.ready.value) == 1
                await RisingEdge(self.clock)
                if taken:
                    break
            else:
                raise AssertionError(f"{port(self.ready)} stays low for {PATIENCE} cycles")
            self.valid.value = 0
            self.moved += 1


class Sink:
    """Takes words and checks that an offered one stays until it is taken.

    The next word must come in time, unless `rests` is set: the circuit may then have none.
    """

    def __init__(
        self,
        clock: Any,
        signals: Sequence[Any],
        valid: Any,
        ready: Any,
        pause: Pause,
    ) -> None:
        self.clock, self.signals, self.valid, self.ready = clock, signals, valid, ready
        self.pause, self.rests = pause, False
        self.moved = 0
        self.offered: tuple[int, ...] | None = None
        ready.value = 0

    async def take(self) -> tuple[int, ...]:
        """The next word."""
        while True:
            accepts = not self.pause()
            self.ready.value = int(accepts)
            await ReadOnly()
            if int(self.valid.value):
                word = tuple(value_of(signal) for signal in self.signals)
                assert self.offered in (None, word), f"offered {self.offered}, then {word}"
                self.offered = word
                if accepts:
                    self.accept()
            else:
                assert self.offered is None, f"offered {self.offered}, then withdrawn"
                await (RisingEdge(self.valid) if self.rests else rises(self.valid))
                continue
            await RisingEdge(self.clock)
            if accepts:
                self.offered = None
                self.moved += 1
                self.ready.value = 0
                return word

    def accept(self) -> None:
        """Called before the edge at which a word is taken, when all signals are stable."""

    async def collect(self, count: int) -> list[tuple[int, ...]]:
        """The next `count` words."""
        return [await self.take() for _ in range(count)]
