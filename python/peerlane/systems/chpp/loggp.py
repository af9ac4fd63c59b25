"""The source's model of latency: LogGP with chain DMA, on direct networks of different shapes.

Distances are those between two different nodes, averaged over all pairs, as in Table 1 of the LogP
paper (D. Culler et al., 1993), whose asymptotic values are given in its terms.
"""

from __future__ import annotations

from math import cbrt, log2, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.reproduce import Measurements

START_NS = 200.0
"""Oc: the processor starts the transfer."""

DMA_START_NS = 528.0
"""Ods: doorbell and descriptor read."""

HOP_NS = 240.0
"""r: one hop, wire included."""

RECEIVE_NS = 160.0
"""Odr: the receiving engine."""

MESSAGE = 2048
"""M, in bytes."""

GAP_NS = 0.25
"""G, for each byte: 4 GB/s."""

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


def latency_ns(topology: str, processors: int) -> float:
    """The source's equation 1: T(P) = Oc + Ods + (M - 1) G + H r + Odr, in nanoseconds."""
    fixed = START_NS + DMA_START_NS + (MESSAGE - 1) * GAP_NS + RECEIVE_NS
    return fixed + distance(topology, processors) * HOP_NS


def latencies() -> Measurements:
    """Microseconds for each topology and number of processors."""
    for topology in DISTANCES:
        for processors in PROCESSORS:
            yield f"fig5/{topology}/{processors}", latency_ns(topology, processors) / 1e3
