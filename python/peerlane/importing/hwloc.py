"""Reads the topology that hwloc writes (`lstopo --of xml`).

hwloc has all bridges above the devices that it keeps. It has the data rate of each link as it was
trained, and neither its width nor its speed.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from peerlane.importing.elements import parse
from peerlane.importing.listing import Buses, Express, Function, Kind, Link, Listing, Slot
from peerlane.importing.parts import description
from peerlane.importing.statements import (
    FASTEST_LINK,
    FUNCTION,
    IDS,
    NUMA_NODE,
    SOCKET,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.importing.elements import Element
    from peerlane.importing.statements import Statements

HEAD = """\
# From the topology of hwloc: the tree, the data rate of each link as it was trained (the width is
# the widest with this rate, or the width that NCCL states; 4 lanes for a drive), NUMA nodes,
# packages as sockets, vendor, device and class of functions.
"""

COMMAND = "lstopo --of xml"

_WITHOUT_PCI = (
    r"Machine|System|Package|Socket|Die|Group|Core|PU|NUMANode|Misc|MemCache|Cache|L\di?Cache"
)
"""The types of objects that are no part of a PCI tree."""


def read(text: str, source: str, statements: Statements) -> Listing:
    """The functions of a hwloc topology, and statements about them.

    Raises:
        ListingError: The text is no hwloc topology, or states values that other files deny.
    """
    topology = parse(text, source)
    reader = _Reader(statements)
    for machine in topology.named("object"):
        reader.read(machine, None, None)
    if not reader.functions:
        raise topology.error(f"no PCI device is in this file; write the output of `{COMMAND}`")
    return Listing(source, tuple(sorted(reader.functions, key=lambda one: one.slot)), COMMAND)


class _Reader:
    """Reads objects into functions, and adds what the objects state."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.functions: list[Function] = []

    def read(self, of: Element, node: int | None, package: int | None) -> None:
        """An object that is no part of a PCI tree, with all objects inside."""
        kind = of.text("type")
        if kind in {"Package", "Socket"} and "os_index" in of.attributes:
            package = of.number("os_index")
        nodes = list(_numa_nodes(of))
        node = nodes[0].number("os_index") if len(nodes) == 1 else None if nodes else node
        if kind == "NUMANode" and package is not None:
            self._statements.state(SOCKET, of.number("os_index"), package, of.place)
        for one in of.named("object"):
            if one.text("type") in {"Bridge", "PCIDev"}:
                self._pci(one, None, node)
            elif re.fullmatch(_WITHOUT_PCI, one.text("type")):
                self.read(one, node, package)
            elif one.text("type") != "OSDev":
                self._unknown(one)

    def _pci(self, of: Element, above: Kind | None, node: int | None) -> None:
        """A bridge or device with all that is below it; `above` is the port that it is below."""
        kind = None
        if "pci_busid" in of.attributes:
            kind = _kind(of, above)
            self.functions.append(self._function(of, kind, node))
        for one in of.named("object"):
            if one.text("type") in {"Bridge", "PCIDev"}:
                self._pci(one, kind, node)
            elif one.text("type") != "OSDev":
                self._unknown(one)

    def _function(self, of: Element, kind: Kind | None, node: int | None) -> Function:
        slot = Slot.of(of.text("pci_busid"))
        found = re.match(r"([0-9a-f]{4}) \[([0-9a-f]{4}:[0-9a-f]{4})\]", of.text("pci_type"))
        if slot is None or found is None:
            raise of.error(f"pci_busid or pci_type is damaged; write the output of `{COMMAND}`")
        self._statements.state(IDS, slot, found[2], of.place)
        if node is not None:
            self._statements.state(NUMA_NODE, slot, node, of.place)
        self._devices(of, slot)
        buses = re.fullmatch(
            r"[0-9a-f]{4,8}:\[([0-9a-f]{2})-([0-9a-f]{2})\]", of.attributes.get("bridge_pci", "")
        )
        link = self._link(of, slot, found[1])
        return Function(
            of.place.line,
            slot,
            description(found[1], found[2]),
            buses=Buses(int(buses[1], 16), int(buses[2], 16)) if buses else None,
            express=Express.without_registers(kind, link) if kind else None,
        )

    def _devices(self, of: Element, slot: Slot) -> None:
        """The names that the operating system has for a function."""
        for one in of.named("object"):
            name = one.attributes.get("name", "")
            if gpu := re.fullmatch(r"(?:nvml|rsmi)(\d+)", name):
                number = f"GPU{gpu[1]}"
                self._statements.state(FUNCTION, number, slot, one.place)
                self._statements.names.setdefault(slot, number.lower())
            elif any(info.attributes.get("name") == _OPEN_FABRICS for info in one.named("info")):
                self._statements.state(FUNCTION, name, slot, one.place)
                self._statements.names.setdefault(slot, name)

    def _link(self, of: Element, slot: Slot, class_code: str) -> Link | None:
        try:
            rate = float(of.attributes.get("pci_link_speed", "0"))
        except ValueError:
            raise of.error("pci_link_speed is no number; write it in GB/s") from None
        stated = self._statements.get(Link, FASTEST_LINK, slot)
        usual = (4, 2, 1) if class_code == _DRIVE else (16, 8, 4, 2, 1)
        for lanes in chain((stated.lanes,) if stated else (), usual):
            for generation, per_lane in _RATES.items():
                if abs(rate - lanes * per_lane) < _SAME * rate:
                    return Link(generation, lanes)
        return None

    def _unknown(self, one: Element) -> None:
        kind = one.text("type")
        self._statements.leave_out("object", one.place, f"an object {kind} is not understood")


_OPEN_FABRICS = "NodeGUID"
"""An information that InfiniBand and RoCE devices alone have."""
_DRIVE = "0108"
_SAME = 0.005
_RATES = {1: 0.25, 2: 0.5} | {n: 8 * 2 ** (n - 3) * 128 / 130 / 8 for n in (3, 4, 5)}
"""Gigabytes per second and lane of each generation, after the coding."""


def _numa_nodes(of: Element) -> Iterator[Element]:
    if of.attributes.get("type") == "NUMANode":
        yield of
    for one in of.named("object"):
        yield from _numa_nodes(one)


def _kind(of: Element, above: Kind | None) -> Kind | None:
    """The type of a function from its place in the tree; `None` without a link."""
    if of.text("type") == "PCIDev":
        return Kind.ENDPOINT if above in {Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT} else None
    if above is None:
        return Kind.ROOT_PORT
    if above is Kind.UPSTREAM_PORT:
        return Kind.DOWNSTREAM_PORT
    has_devices = any(one.text("type") == "PCIDev" for one in of.named("object"))
    return Kind.PCI_BRIDGE if has_devices else Kind.UPSTREAM_PORT
