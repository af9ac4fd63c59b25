"""The source's model of latency: LogGP with chain DMA, on direct networks of different shapes.

Distances are those between two different nodes, averaged over all pairs, as in Table 1 of the LogP
paper (D. Culler et al., 1993), whose asymptotic values are given in its terms.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    match topology:
        case "hypercube":
            return log2(processors) / 2
        case "butterfly":
            return log2(processors)
        case "fat-tree":
            levels = log2(processors) / 2
            return 2 * levels - 2 / 3
        case "mesh-2d":
            return 2 / 3 * processors ** (1 / 2)
        case "torus-2d":
            return processors ** (1 / 2) / 2
        case "mesh-3d":
            return processors ** (1 / 3)
        case "torus-3d":
            return 3 / 4 * processors ** (1 / 3)
    raise ValueError(f"there is no formula for {topology!r}; write one of {', '.join(TOPOLOGIES)}")


TOPOLOGIES = ("hypercube", "butterfly", "fat-tree", "mesh-2d", "torus-2d", "mesh-3d", "torus-3d")


def latency_ns(topology: str, processors: int) -> float:
    """The source's equation 1: T(P) = Oc + Ods + (M - 1) G + H r + Odr, in nanoseconds."""
    fixed = START_NS + DMA_START_NS + (MESSAGE - 1) * GAP_NS + RECEIVE_NS
    return fixed + distance(topology, processors) * HOP_NS


def latencies() -> Measurements:
    """Microseconds for each topology and number of processors."""
    for topology in TOPOLOGIES:
        for processors in PROCESSORS:
            yield f"fig5/{topology}/{processors}", latency_ns(topology, processors) / 1e3
