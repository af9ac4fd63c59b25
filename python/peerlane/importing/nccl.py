"""Reads the topology that NCCL or RCCL writes (`NCCL_TOPO_DUMP_FILE`).

The file has GPUs and network cards in use, and the upstream port of each switch above them. It has
neither root ports nor downstream ports. It states the highest width and speed of which both a
function and the port above it are capable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peerlane.importing.elements import parse
from peerlane.importing.listing import GENERATIONS, Express, Function, Kind, Link, Slot
from peerlane.importing.machine import WIDTHS, Device, Host, Part, Port, Switch
from peerlane.importing.parts import description
from peerlane.importing.statements import FASTEST_LINK, FUNCTION, IDS, NUMA_NODE

if TYPE_CHECKING:
    from peerlane.importing.elements import Element
    from peerlane.importing.statements import Statements

HEAD = """\
# From the topology of NCCL: GPUs and network cards that NCCL uses, the switches above them, the
# width and speed of which both ends of each link are capable, NUMA nodes as sockets, vendor,
# device and class of functions. Ports of switches and root ports have numbers of their own here.
"""

_ATTRIBUTES = {
    "system": {"version"},
    "cpu": {"host_hash", "numaid", "affinity", "arch", "vendor", "familyid", "modelid"},
    "pci": {
        *("busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device"),
        *("link_speed", "link_width"),
    },
    "gpu": {"dev", "sm", "rank", "gdr", "gcn", "arch"},
    "nic": set(),
    "net": {"name", "dev", "speed", "port", "guid", "latency", "maxconn", "gdr", "coll"},
}
"""The elements that are read, with their attributes that are read or say nothing about a fabric."""

_WITHOUT_PCI_EXPRESS = {"nvlink": "NVLink", "xgmi": "XGMI link", "c2c": "C2C link"}


def read(text: str, source: str, statements: Statements) -> list[Host]:
    """The host of an NCCL topology, and statements about its functions.

    Raises:
        ListingError: The text is no NCCL topology, or states other values than other files.
    """
    system = parse(text, source)
    reader = _Reader(statements)
    reader.note(system)
    ports = []
    for cpu in system.named("cpu"):
        reader.note(cpu)
        node = cpu.number("numaid")
        for nic in cpu.named("nic"):
            statements.leave_out("network card", nic.place, "a network card without a PCI function")
        ports += reader.ports(cpu, node if node >= 0 else None, Kind.ROOT_PORT)
    if not ports:
        raise system.error("no <pci> is in a <cpu>; write the whole file of NCCL_TOPO_DUMP_FILE")
    return [Host((), tuple(ports), ())]


class _Reader:
    """Reads elements and adds what they state."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def ports(self, above: Element, node: int | None, kind: Kind) -> list[Port]:
        """A port for each link below an element, with all that is below it."""
        devices: dict[tuple[int, int, int], list[tuple[Element, Slot]]] = {}
        for pci in above.named("pci"):
            slot = Slot.of(pci.text("busid"))
            if slot is None:
                raise pci.error(f"busid is {pci.text('busid')!r}; write a slot as 0000:81:00.0")
            devices.setdefault((slot.domain, slot.bus, slot.device), []).append((pci, slot))
        return [self._port(functions, node, kind) for functions in devices.values()]

    def _port(self, functions: list[tuple[Element, Slot]], node: int | None, kind: Kind) -> Port:
        (pci, slot), *others = functions
        function = self._function(pci, slot, node)
        link = _link(pci)
        if link.generation and link.lanes:
            self._statements.state(FASTEST_LINK, slot, link, pci.place)
        parts = tuple(
            Part(self._function(other, its, node), f"another function of {slot}")
            for other, its in others
        )
        below: Device | Switch
        if any(pci.named("pci")):
            express = Express.without_registers(Kind.UPSTREAM_PORT, link, link)
            ports = tuple(self.ports(pci, node, Kind.DOWNSTREAM_PORT))
            below = Switch(function, express, link, ports, parts)
        else:
            express = Express.without_registers(Kind.ENDPOINT, link, link)
            below = Device(function, express, link, parts)
        unknown = Slot(-1, 0, 0, 0, f"the port above {slot}")
        upper = Function(pci.place.line, unknown, "")
        return Port(upper, Express.without_registers(kind, link, link), below)

    def _function(self, pci: Element, slot: Slot, node: int | None) -> Function:
        self.note(pci)
        if node is not None:
            self._statements.state(NUMA_NODE, slot, node, pci.place)
        ids = ":".join(pci.attributes.get(key, "")[-4:] for key in ("vendor", "device"))
        code = pci.attributes.get("class", "").removeprefix("0x").ljust(6, "0")
        what = ""
        if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", ids):
            self._statements.state(IDS, slot, ids, pci.place)
            what = f"{description(code[:4], ids)} (prog-if {code[4:6]})"
        for gpu in pci.named("gpu"):
            self._gpu(gpu, slot)
        for nic in pci.named("nic"):
            self.note(nic)
            for net in nic.named("net"):
                self.note(net)
                name = net.text("name")
                self._statements.state(FUNCTION, name, slot, net.place)
                self._statements.names.setdefault(slot, name)
        return Function(pci.place.line, slot, what)

    def _gpu(self, gpu: Element, slot: Slot) -> None:
        self.note(gpu)
        name = f"GPU{gpu.number('dev')}"
        self._statements.state(FUNCTION, name, slot, gpu.place)
        self._statements.names.setdefault(slot, name.lower())

    def note(self, element: Element) -> None:
        """Records the attributes and inner elements that are unknown or not PCI Express."""
        for unknown in sorted(element.attributes.keys() - _ATTRIBUTES[element.name]):
            self._statements.leave_out(
                "attribute", element.place, f"{unknown} of <{element.name}> is not understood"
            )
        for one in element.inside:
            if kind := _WITHOUT_PCI_EXPRESS.get(one.name):
                shown = " ".join(f"{key} {value}" for key, value in one.attributes.items())
                self._statements.leave_out(kind, one.place, f"{kind}, {shown}: not PCI Express")
            elif one.name not in _ATTRIBUTES:
                self._statements.leave_out("element", one.place, f"<{one.name}> is not understood")


def _link(pci: Element) -> Link:
    """The width and speed in an element: no lanes or no generation if the value is unknown."""
    speed = re.match(r"(\d+(?:\.\d+)?) GT/s", pci.attributes.get("link_speed", ""))
    width = re.fullmatch(r"\d{1,2}", pci.attributes.get("link_width", ""))
    lanes = int(width[0]) if width else 0
    return Link(
        GENERATIONS.get(f"{float(speed[1]):g}") if speed else None, lanes if lanes in WIDTHS else 0
    )
