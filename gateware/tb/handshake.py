"""Both ends of a valid/ready handshake, with pauses; the rule that an offered word stays."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

PACKETS = int(os.environ.get("PACKETS", "100"))
"""Length of the random tests."""

SOAK = PACKETS >= 1000
"""Whether the tests are long, with the largest sizes."""

LIMIT = 200 + 4 * PACKETS
"""Microseconds of simulated time after which a test has failed: a circuit that hangs ends too."""

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


def start_clock(signal: Any, period: int = 4) -> None:
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


class Source:
    """Offers words, a value for each signal, and keeps an offered word until it is taken."""

    def __init__(
        self, clock: Any, signals: Sequence[Any], valid: Any, ready: Any, pause: Pause
    ) -> None:
        self.clock, self.signals, self.valid, self.ready = clock, signals, valid, ready
        self.pause = pause
        valid.value = 0

    async def send(self, words: Iterable[Sequence[int]]) -> None:
        """Offer all words, one after the other."""
        for word in words:
            while self.pause():
                await RisingEdge(self.clock)
            for signal, value in zip(self.signals, word, strict=True):
                signal.value = value
            self.valid.value = 1
            while True:
                await ReadOnly()
                taken = int(self.ready.value) == 1
                await RisingEdge(self.clock)
                if taken:
                    break
            self.valid.value = 0


class Sink:
    """Takes words and checks that an offered one stays until it is taken."""

    def __init__(
        self, clock: Any, signals: Sequence[Any], valid: Any, ready: Any, pause: Pause
    ) -> None:
        self.clock, self.signals, self.valid, self.ready = clock, signals, valid, ready
        self.pause = pause
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
                await RisingEdge(self.valid)
                continue
            await RisingEdge(self.clock)
            if accepts:
                self.offered = None
                self.ready.value = 0
                return word

    def accept(self) -> None:
        """Called before the edge at which a word is taken, when all signals are stable."""

    async def collect(self, count: int) -> list[tuple[int, ...]]:
        """The next `count` words."""
        return [await self.take() for _ in range(count)]
