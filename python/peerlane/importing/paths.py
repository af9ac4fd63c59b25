"""The ways between the devices of a machine, in the words of topology tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from peerlane.importing.machine import Switch
from peerlane.importing.statements import NUMA_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.importing.listing import Function, Slot
    from peerlane.importing.machine import Host, Port
    from peerlane.importing.statements import Statements


class Level(IntEnum):
    """The nearest thing that two devices share, in the words of `nvidia-smi topo -m`."""

    PIX = 1
    """One switch."""
    PXB = 2
    """A root port, with several switches on the way."""
    PHB = 3
    """A host bridge."""
    NODE = 4
    """A NUMA node."""
    SYS = 5
    """The machine."""


class Range(NamedTuple):
    """The levels that a path can have, where a file does not tell more."""

    least: Level
    most: Level

    def __str__(self) -> str:
        return (
            self.least.name if self.least is self.most else f"{self.least.name} to {self.most.name}"
        )

    @classmethod
    def exactly(cls, level: Level) -> Range:
        """The range of one level."""
        return cls(level, level)

    def overlaps(self, other: Range) -> bool:
        """Whether a level is in both ranges."""
        return self.least <= other.most and other.least <= self.most


@dataclass(frozen=True, slots=True)
class Path:
    """A device, the switches above it from the root port downwards, and its NUMA node."""

    function: Function
    root: Port
    switches: tuple[Slot, ...]
    numa_node: int | None


def paths_of(hosts: list[Host], statements: Statements) -> dict[Slot, Path]:
    """The path of each device, by the slots of all its functions."""
    return {
        slot: path
        for host in hosts
        for root in host.used()
        for slot, path in _below(root, root, (), statements)
    }


def _below(
    port: Port, root: Port, switches: tuple[Slot, ...], statements: Statements
) -> Iterator[tuple[Slot, Path]]:
    node = port.below
    if isinstance(node, str):
        return
    if isinstance(node, Switch):
        for below in node.ports:
            yield from _below(below, root, (*switches, node.function.slot), statements)
        return
    stated = (
        statements.get(int, NUMA_NODE, slot)
        for slot in (node.function.slot, *reversed(switches), root.function.slot)
    )
    numa_node = next((number for number in stated if number is not None), None)
    path = Path(node.function, root, switches, numa_node)
    for function in (node.function, *(part.function for part in node.parts)):
        yield function.slot, path


def between(one: Path, other: Path) -> Range:
    """The levels that the path between two devices can have."""
    if one.root is other.root:
        is_near = one.switches[-1:] == other.switches[-1:]
        return Range.exactly(Level.PIX if is_near else Level.PXB)
    nodes = one.numa_node, other.numa_node
    if None not in nodes and nodes[0] != nodes[1]:
        return Range.exactly(Level.SYS)
    bridges = one.root.host_bridge, other.root.host_bridge
    if None not in bridges and bridges[0] == bridges[1]:
        return Range.exactly(Level.PHB)
    # Tables also state SYS between some host bridges of one NUMA node.
    return Range(Level.NODE if None not in bridges else Level.PHB, Level.SYS)
