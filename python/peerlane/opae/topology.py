"""Writes the topology of a host for the library hwloc, by which programs find a card's node.

The format is the format of hwloc 2 (`hwloc2.dtd`). The cores are the cores of the real machine, so
that a program can bind to them; memory, sockets and PCI functions are from the scenario.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from peerlane.fabric.variant import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.fabric.simulation import Simulation

HEADER_TYPE, SECONDARY, SUBORDINATE, SUBSYSTEM = 0x0E, 0x19, 0x1A, 0x2C
"""Offsets in configuration space (PCI Local Bus 3.0, 6.1; PCI-to-PCI Bridge 1.2, 3.2)."""

HOST_BRIDGE = 0x0600
"""The PCI class of a host bridge, for which hwloc has no PCI object."""

PAGE = 4096


@dataclass(frozen=True, slots=True)
class _Function:
    """A PCI function with its configuration space."""

    domain: str
    id: str
    """Bus, device and function."""
    name: str
    config: bytes

    @property
    def bus(self) -> int:
        return int(self.id[:2], 16)

    @property
    def kind(self) -> int:
        """The class and the subclass of the function."""
        return self._word(0x0A)

    @property
    def buses(self) -> tuple[int, int] | None:
        """The first and last bus below a bridge; `None` if the function is no bridge."""
        if self.config[HEADER_TYPE] & 0x7F != 1:
            return None
        return self.config[SECONDARY], self.config[SUBORDINATE]

    def attributes(self) -> dict[str, str]:
        """The attributes of the hwloc object of the function."""
        subsystem = 0 if self.buses else SUBSYSTEM
        ids = [(self._word(0), self._word(2))]
        ids.append((self._word(subsystem), self._word(subsystem + 2)) if subsystem else (0, 0))
        text = " ".join(f"[{vendor:04x}:{device:04x}]" for vendor, device in ids)
        revision = self.config[8]
        return {
            "pci_busid": f"0000:{self.id}",
            "pci_type": f"{self.kind:04x} {text} {revision:02x}",
            "pci_link_speed": "0.000000",
        }

    def _word(self, offset: int) -> int:
        return int.from_bytes(self.config[offset : offset + 2], "little")


def hwloc_xml(simulation: Simulation, host: str) -> bytes:
    """The topology of a host as XML, for the environment variable `HWLOC_XMLFILE`."""
    functions = list(_functions(simulation, host))
    sockets = _sockets(simulation, host)
    places = _places(simulation)
    regions = next(node for node in simulation.tree().nodes if node.name == host).regions
    memory = sum(region.size for region in regions if region.what == "memory")
    cores = sorted(os.sched_getaffinity(0))
    cores += [cores[-1] + 1 + more for more in range(sockets - len(cores))]
    numbers = count(1)
    nodes = range(sockets)
    root = ET.Element("topology", version="2.0")
    machine = _add(root, ("Machine", 0), numbers, cores, nodes)
    machine.set("allowed_cpuset", machine.get("cpuset", ""))
    machine.set("allowed_nodeset", machine.get("nodeset", ""))
    ET.SubElement(machine, "info", name="HostName", value=host)
    for socket in nodes:
        own = cores[socket::sockets]
        package = _add(machine, ("Package", socket), numbers, own, [socket])
        node = _add(package, ("NUMANode", socket), numbers, own, [socket])
        node.set("local_memory", str(memory // sockets))
        ET.SubElement(node, "page_type", size=str(PAGE), count=str(memory // sockets // PAGE))
        for core in own:
            above = _add(package, ("Core", core), numbers, [core], [socket])
            _add(above, ("PU", core), numbers, [core], [socket])
        below = [one for one in functions if places.get(one.name, 0) == socket]
        if below:
            _add_bridge(package, numbers, below)
    ET.indent(root)
    head = b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return head + ET.tostring(root) + b"\n"


def _functions(simulation: Simulation, host: str) -> Iterator[_Function]:
    """The functions below a host, read from configuration space."""
    found = []
    for part in re.split(r"\n\n+", simulation.lspci().strip()):
        head, *rows = part.splitlines()
        address, _, name = head.partition(" ")
        domain, _, own = address.partition(":")
        config = bytes.fromhex("".join(row.partition(":")[2] for row in rows))
        found.append(_Function(domain, own, name.split()[0], config))
    domains = {one.domain for one in found if one.name == host}
    yield from (one for one in found if one.domain in domains and one.kind != HOST_BRIDGE)


def _sockets(simulation: Simulation, host: str) -> int:
    """The number of sockets of a host, which hwloc calls packages."""
    scenario = parsed(simulation.text, "<scenario>")
    return int(scenario.effective(f"{scenario.path_of_node(host)}.sockets")[0])


def _places(simulation: Simulation) -> dict[str, int]:
    """The socket of each node, by the name of the node."""
    nodes = {node.name: node for node in simulation.tree().nodes}
    places = {}
    for name, first in nodes.items():
        node, socket = first, 0
        while node.upstream is not None:
            socket = node.upstream.socket or socket
            node = nodes[node.upstream.to]
        places[name] = socket
    return places


def _add(
    above: ET.Element,
    named: tuple[str, int],
    numbers: Iterator[int],
    cores: Sequence[int],
    nodes: Sequence[int],
) -> ET.Element:
    """Adds an object of hwloc with a type and a number, its cores and its memory nodes."""
    kind, index = named
    sets = {"cpuset": _bits(cores), "nodeset": _bits(nodes)}
    complete = {f"complete_{name}": bits for name, bits in sets.items()}
    attributes = {"type": kind, "os_index": str(index), **sets, **complete}
    return ET.SubElement(above, "object", attributes, gp_index=str(next(numbers)))


def _add_bridge(above: ET.Element, numbers: Iterator[int], functions: list[_Function]) -> None:
    """Adds the host bridge of a socket, with all functions below it."""
    first, last = (edge(one.bus for one in functions) for edge in (min, max))
    buses = f"0000:[{first:02x}-{last:02x}]"
    attributes = {"type": "Bridge", "bridge_type": "0-1", "depth": "0", "bridge_pci": buses}
    bridge = ET.SubElement(above, "object", attributes, gp_index=str(next(numbers)))
    inner = {one.buses[0] for one in functions if one.buses}
    for function in functions:
        if function.bus not in inner:
            _add_function(bridge, numbers, functions, function, 1)


def _add_function(
    above: ET.Element,
    numbers: Iterator[int],
    functions: list[_Function],
    function: _Function,
    depth: int,
) -> None:
    attributes = {"type": "PCIDev", **function.attributes()}
    if function.buses:
        buses = f"0000:[{function.buses[0]:02x}-{function.buses[1]:02x}]"
        kind = {"type": "Bridge", "bridge_type": "1-1", "depth": str(depth), "bridge_pci": buses}
        attributes |= kind
    own = ET.SubElement(above, "object", attributes, gp_index=str(next(numbers)))
    ET.SubElement(own, "info", name="Name", value=function.name)
    for other in functions:
        if function.buses and other.bus == function.buses[0]:
            _add_function(own, numbers, functions, other, depth + 1)


def _bits(numbers: Sequence[int]) -> str:
    """A set of numbers in the form of hwloc: hexadecimal words of 32 bits, the highest first."""
    value = sum(1 << number for number in numbers)
    words: list[str] = []
    while value or not words:
        words.append(f"0x{value & 0xFFFF_FFFF:08x}")
        value >>= 32
    return ",".join(reversed(words))
