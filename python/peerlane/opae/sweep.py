"""Tests card memory: the host writes it, reads it back, and compares every byte."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from peerlane import _core
from peerlane.opae.dma import CHUNK, LINE, Dma
from peerlane.programs.host_thread import run_programs
from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.fabric.simulation import Simulation
    from peerlane.opae.card import Accelerator


@dataclass(frozen=True, slots=True)
class CardSweep(Brief):
    """The measurements of a memory test of one card."""

    card: str
    size: int
    """The bytes in each direction."""
    host_to_card_ns: float
    """The time of the call that copies to the card (from the card), in nanoseconds."""
    card_to_host_ns: float
    intact: bool
    """Whether every byte that was read back is the byte that was sent."""

    @property
    def host_to_card(self) -> float:
        """The rate to the card in bytes per second."""
        return self.size / self.host_to_card_ns * 1e9

    @property
    def card_to_host(self) -> float:
        """The rate from the card in bytes per second."""
        return self.size / self.card_to_host_ns * 1e9

    def to_json(self) -> dict[str, Any]:
        """The measurements as the command line writes them."""
        return {
            "card": self.card,
            "size": self.size,
            "host_to_card_bytes_per_second": self.host_to_card,
            "card_to_host_bytes_per_second": self.card_to_host,
            "host_to_card_ns": self.host_to_card_ns,
            "card_to_host_ns": self.card_to_host_ns,
            "intact": self.intact,
        }


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The bytes that are sent to a card: chunks of a pattern that never repeats."""

    number: int
    size: int
    asked: list[int] = field(default_factory=list)
    """The number of the last chunk that was requested."""

    def __getitem__(self, chunk: int) -> bytes:
        self.asked[:] = [chunk]
        offset = chunk * CHUNK
        return _core.pattern(self.number, offset, min(CHUNK, self.size - offset))


def sweep(
    simulation: Simulation, cards: Sequence[Accelerator], size: int, *, page_fault_ns: float = 0.0
) -> list[CardSweep]:
    """Writes `size` bytes to the memory of each card and reads them back, on all cards at once.

    Each card has a thread of its own on its host. All cards are written before any card is read.

    Args:
        simulation: The fabric.
        cards: The accelerators of the cards; each must be the memory-mapped DMA sample.
        size: The number of bytes, a multiple of 64.
        page_fault_ns: The time of a page fault, in nanoseconds, for each page of the memory that
            receives the data; 0 if the program has used the pages before, as the sample's test
            does.

    Raises:
        ValueError: `size` is not valid, or a card has less memory.
        RuntimeError: A card has another accelerator, or none, or does not answer.
    """
    if size <= 0 or size % LINE:
        raise ValueError(f"{size} bytes cannot be swept; take a multiple of {LINE}")
    small = next((card for card in cards if card.place.local_memory < size), None)
    if small is not None:
        held = small.place.local_memory
        raise ValueError(
            f"{size} bytes do not fit into the memory of {small.name}, which has {held}"
        )
    patterns = [_Pattern(number, size) for number in range(len(cards))]
    both = list(zip(cards, patterns, strict=True))
    watched = [pattern.asked for pattern in patterns]
    writes = [_write(card, pattern) for card, pattern in both]
    written = run_programs(simulation, writes, watch=_watch(simulation, watched))
    reads = [_read(card, pattern, page_fault_ns) for card, pattern in both]
    read = run_programs(simulation, reads, watch=_watch(simulation, watched))
    return [
        CardSweep(card.name, size, to_card, from_card, intact)
        for card, to_card, (from_card, intact) in zip(cards, written, read, strict=True)
    ]


PATIENCE_NS = 1e9
"""The simulated time, in nanoseconds, in which a card must move a chunk: far more than any link
needs."""


async def _watch(simulation: Simulation, watched: Sequence[Sequence[int]]) -> NoReturn:
    """Raises an error if no card has moved a chunk for this time."""
    before: list[int] | None = None
    while True:
        chunks = [chunk for asked in watched for chunk in asked]
        if chunks == before:
            raise RuntimeError("no card has moved any data for 1 s of simulated time")
        before = chunks
        await simulation.sleep(PATIENCE_NS)


async def _write(card: Accelerator, pattern: _Pattern) -> float:
    async with Dma.of(card) as dma:
        began = card.thread.now_ns
        await dma.write(0, pattern, pattern.size)
        return card.thread.now_ns - began


async def _read(card: Accelerator, pattern: _Pattern, page_fault_ns: float) -> tuple[float, bool]:
    async with Dma.of(card) as dma:
        began = card.thread.now_ns
        intact = True
        number = 0
        async for chunk in dma.read(0, pattern.size, page_fault_ns=page_fault_ns):
            intact &= chunk == pattern[number]
            number += 1
        return card.thread.now_ns - began, intact
