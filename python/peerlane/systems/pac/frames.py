"""Moves video frames with deadlines to cards and back, by programs on the simulated host."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from peerlane import run_programs
from peerlane.opae import accelerators, dma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane import Simulation
    from peerlane.opae import Accelerator
    from peerlane.planning.video import Video


@dataclass(frozen=True, slots=True)
class Carried:
    """The measured times of video frames that were moved to the cards of a fabric and back."""

    first_ns: float
    """The time from the arrival of the first frame until all of it is back in the host's memory."""
    late: int
    """The number of frames that were not back when the next frame for the same cards arrived."""


def carry(simulation: Simulation, video: Video, frames: int, *, in_turn: bool = False) -> Carried:
    """Moves frames to the memory of all cards of a fabric and back, and compares every byte.

    A thread for each card writes a frame and reads it back before it begins the next frame, because
    the engine of a card moves data in one direction at a time.

    Args:
        simulation: The fabric, in which all cards have the memory-mapped DMA sample loaded.
        video: The video; a frame arrives in the host's memory in each of its periods.
        frames: The number of frames.
        in_turn: Whether each card takes whole frames in turn, and not an equal part of each frame.

    Raises:
        RuntimeError: Bytes came back changed.
    """
    cards = accelerators(simulation)
    period = 1e9 / video.frames_per_second
    arrivals = [simulation.now_ns + period * (1 + number) for number in range(frames)]
    stride, parts = (len(cards), 1) if in_turn else (1, len(cards))
    size = video.frame_bytes // parts
    backs = run_programs(
        simulation,
        [
            _serve(simulation, card, size, arrivals[number::stride] if in_turn else arrivals)
            for number, card in enumerate(cards)
        ],
    )
    if in_turn:
        back = sorted(time for times in backs for time in times)
    else:
        back = [max(times) for times in zip(*backs, strict=True)]
    waits = [time - arrival for time, arrival in zip(back, arrivals, strict=True)]
    return Carried(waits[0], sum(wait > stride * period for wait in waits))


async def _serve(
    simulation: Simulation, card: Accelerator, size: int, arrivals: Sequence[float]
) -> list[float]:
    """Moves the frames of one card, or its parts of all; returns the times of their return."""
    back = []
    async with dma.Dma.of(card) as engine:
        for number, arrival in enumerate(arrivals):
            if arrival > simulation.now_ns:
                await simulation.sleep(arrival - simulation.now_ns)
            sent = _Noise(number, size)
            await engine.write(0, sent, size)
            returned = [chunk async for chunk in engine.read(0, size)]
            if any(chunk != sent[place] for place, chunk in enumerate(returned)):
                raise RuntimeError(f"{card.name}: bytes of frame {number} came back changed")
            back.append(simulation.now_ns)
    return back


class _Noise:
    """The random bytes of a frame, in chunks, all of which differ."""

    def __init__(self, number: int, size: int) -> None:
        self._bytes = Random(number).randbytes(2 * dma.CHUNK)  # noqa: S311 - no secret
        self._size = size

    def __getitem__(self, chunk: int) -> bytes:
        begin = dma.LINE * chunk % dma.CHUNK
        return self._bytes[begin : begin + min(dma.CHUNK, self._size - chunk * dma.CHUNK)]
