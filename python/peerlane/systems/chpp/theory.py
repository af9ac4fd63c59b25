"""Calculates numbers of the source's text: rates of links and buses, tags, sizes of headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane.reproduction.jobs import Measurements
    from peerlane.systems.chpp.machine import Machine

TAG_BITS = {"tags": 5, "tags-extended": 8}
"""The bits of a tag without and with Extended Tag Field Enable (PCIe Base 2.2.6.2)."""

CONNECTION = {"LRH": 8, "GRH": 40, "BTH": 12, "AtomicETH": 28, "ICRC": 4, "VCRC": 2}
"""The parts, in bytes, of the headers of a compare-and-swap over InfiniBand's reliable
connection."""

HEADERS = {
    "pcie": {"four double words": 16},
    "infiniband": CONNECTION | {"RDETH": 4, "DETH": 8},
    "infiniband-connection": CONNECTION,
    "blue-gene-q": {"network": 12, "message unit": 20},
}
"""The parts, in bytes, of the longest header of each network.

PCI Express: a request with a 64-bit address (PCIe Base 2.2.1). InfiniBand: a compare-and-swap by
reliable datagram (InfiniBand Architecture Specification 1.3, chapters 5 and 9). Blue Gene/Q: IBM's
public hardware headers, MU_PacketHeader.h.
"""

PEARL = {"rate": 1.1, "gigatransfers": 5, "lanes": 4}
"""The rate of PEARL in the source, in GB/s, and its link, PCI Express Gen2 x4."""


def arithmetic(machine: Machine) -> Measurements:
    """Calculates the rows of the figure `theory`."""
    yield "theory/bus", bus(machine)
    lanes = machine.value("links.lanes")
    yield "theory/raw", 5 * lanes / 8
    beats = machine.constants.completion / machine.value("profiles.virtex6.datapath")
    cycles = 1 + beats + machine.value("profiles.virtex6.handling_cycles")
    yield "theory/completions", 100 * beats / cycles
    yield "theory/gen3-x1", 8 * 128 / 130 / 8
    for name, bits in TAG_BITS.items():
        yield f"theory/{name}", 1 << bits
    yield "theory/largest-payload", 4 << machine.constants.length_bits
    for name, parts in HEADERS.items():
        yield f"theory/header/{name}", sum(parts.values())
    pearl = PEARL["gigatransfers"] * PEARL["lanes"] * 8 / 10 / 8
    yield "theory/pearl", 100 * PEARL["rate"] / pearl


def bus(machine: Machine) -> float:
    """The rate of the engine's datapath, and of a port after 8b/10b, in GB/s."""
    width = machine.value("profiles.virtex6.datapath")
    return width * machine.value("profiles.virtex6.clock") / 1e3
