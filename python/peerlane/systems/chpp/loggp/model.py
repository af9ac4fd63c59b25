"""Calculates latencies by the source's model: LogGP with chain DMA, for networks of several shapes.

A distance is the number of hops between two different nodes, averaged over all pairs, as in Table 1
of the LogP paper (D. Culler et al., 1993); the formulas are the asymptotic ones of this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cbrt, log2, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.reproduction.jobs import Measurements


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of equation 1, and two times that the equation leaves out, in nanoseconds."""

    start_ns: float
    """Oc: the time in which the processor starts the transfer."""

    dma_start_ns: float
    """Ods: the time of the doorbell and of the read of the descriptor."""

    hop_ns: float
    """r: the time of one hop, including the wire."""

    receive_ns: float
    """Odr: the time of the receiving engine."""

    gap_ns: float
    """G: the time for each byte."""

    fetch_ns: float = 0.0
    """The time from the descriptor to the first packet; a PUT reads memory once more in this
    time."""

    notice_ns: float = 0.0
    """The time from the last byte in memory until the program has seen it."""

    def latency_ns(self, message: int, hops: float) -> float:
        """T(P) = Oc + Ods + (M - 1) G + H r + Odr, plus the two times that it leaves out."""
        fixed = self.start_ns + self.dma_start_ns + self.receive_ns
        left_out = self.fetch_ns + self.notice_ns
        return fixed + left_out + (message - 1) * self.gap_ns + hops * self.hop_ns


SOURCE = Parameters(start_ns=200, dma_start_ns=528, hop_ns=240, receive_ns=160, gap_ns=0.25)
"""The parameters of the source, which it takes from experience with earlier machines; G is the
rate of a link of 4 GB/s."""

PROCESSORS = (16, 64, 256, 1024)


def distance(topology: str, processors: int) -> float:
    """The mean number of hops between nodes, by the formulas of the LogP paper.

    Raises:
        ValueError: There is no formula for the topology.
    """
    formula = DISTANCES.get(topology)
    if formula is None:
        known = ", ".join(DISTANCES)
        raise ValueError(f"there is no formula for {topology!r}; write one of {known}")
    return formula(processors)


DISTANCES: dict[str, Callable[[int], float]] = {
    "hypercube": lambda processors: log2(processors) / 2,
    "butterfly": log2,
    "fat-tree": lambda processors: log2(processors) - 2 / 3,
    "mesh-2d": lambda processors: 2 / 3 * sqrt(processors),
    "torus-2d": lambda processors: sqrt(processors) / 2,
    "mesh-3d": cbrt,
    "torus-3d": lambda processors: 3 / 4 * cbrt(processors),
}
"""The formulas for the mean number of hops, by topology; a node of the fat tree has four
children."""


def latencies(rows: str, parameters: Parameters, message: int) -> Measurements:
    """The latency for each topology and number of processors in us; ids begin with `rows`."""
    for topology in DISTANCES:
        for processors in PROCESSORS:
            hops = distance(topology, processors)
            yield f"{rows}/{topology}/{processors}", parameters.latency_ns(message, hops) / 1e3
