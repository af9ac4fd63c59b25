"""The source's model of latency: LogGP with chain DMA, on direct networks of different shapes.

Distances are those between two different nodes, averaged over all pairs, as in Table 1 of the LogP
paper (D. Culler et al., 1993), whose asymptotic values are given in its terms.
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
    """The parameters of equation 1, in nanoseconds, and two that the equation leaves out."""

    start_ns: float
    """Oc: the processor starts the transfer."""

    dma_start_ns: float
    """Ods: doorbell and descriptor read."""

    hop_ns: float
    """r: one hop, wire included."""

    receive_ns: float
    """Odr: the receiving engine."""

    gap_ns: float
    """G, for each byte."""

    fetch_ns: float = 0.0
    """Time from the descriptor to the first packet: with a PUT, another memory read."""

    notice_ns: float = 0.0
    """Time from the last byte in memory until the program has seen it."""

    def latency_ns(self, message: int, hops: float) -> float:
        """T(P) = Oc + Ods + (M - 1) G + H r + Odr, and what it leaves out."""
        fixed = self.start_ns + self.dma_start_ns + self.receive_ns
        left_out = self.fetch_ns + self.notice_ns
        return fixed + left_out + (message - 1) * self.gap_ns + hops * self.hop_ns


SOURCE = Parameters(start_ns=200, dma_start_ns=528, hop_ns=240, receive_ns=160, gap_ns=0.25)
"""The source takes these for the experience of earlier machines; its G is a link of 4 GB/s."""

PROCESSORS = (16, 64, 256, 1024)


def distance(topology: str, processors: int) -> float:
    """Mean hops between nodes, by the formulas of the LogP paper.

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
"""Mean hops of the topologies, by name; the fat tree has nodes of four."""


def latencies(rows: str, parameters: Parameters, message: int) -> Measurements:
    """Microseconds for each topology and number of processors, as rows below `rows`."""
    for topology in DISTANCES:
        for processors in PROCESSORS:
            hops = distance(topology, processors)
            yield f"{rows}/{topology}/{processors}", parameters.latency_ns(message, hops) / 1e3
