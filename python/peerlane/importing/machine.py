"""A machine as trees: the switches and devices below each root port.

A link has device 0 at its lower end. The other functions of this device, and functions without a
link, are parts of the machine that a fabric cannot have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peerlane.importing.listing import Express, Function, Kind, Link, Listing, Slot
from peerlane.importing.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = (1, 2, 4, 8, 12, 16, 32)


@dataclass(frozen=True, slots=True)
class Part:
    """A function that a fabric cannot have, and the reason."""

    function: Function
    why: str


@dataclass(frozen=True, slots=True)
class Device:
    """A device at the end of a tree."""

    function: Function
    express: Express
    link: Link
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """An upstream port with the downstream ports on its bus."""

    function: Function
    express: Express
    link: Link
    ports: tuple[Port, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Port:
    """A root port or downstream port; `below` is a reason if no node of a fabric is below it."""

    function: Function
    express: Express
    below: Device | Switch | str
    parts: tuple[Part, ...] = ()

    @property
    def host_bridge(self) -> tuple[int, int] | None:
        """The root bus of a root port: its domain and number; `None` if it is not known."""
        slot = self.function.slot
        return None if slot.domain < 0 else (slot.domain, slot.bus)


@dataclass(frozen=True, slots=True)
class Host:
    """PCI domains with a common memory: their root ports, and other functions of root buses.

    A host that is not made from functions has no domains.
    """

    domains: tuple[int, ...]
    ports: tuple[Port, ...]
    parts: tuple[Part, ...]

    def used(self) -> list[Port]:
        """The root ports that have a switch or device below."""
        return [port for port in self.ports if not isinstance(port.below, str)]

    def used_below(self) -> list[Port]:
        """The ports that have a function below, including the ports of switches."""
        return list(used_below(self.ports))

    def below(self) -> list[Device | Switch]:
        """All switches and devices, each after the node above it."""
        return [port.below for port in self.used_below() if not isinstance(port.below, str)]


def used_below(ports: tuple[Port, ...]) -> Iterator[Port]:
    """Each port with a function below it, followed by the ports of switches below this port."""
    for port in ports:
        if isinstance(port.below, str):
            continue
        yield port
        if isinstance(port.below, Switch):
            yield from used_below(port.below.ports)


@dataclass(frozen=True, slots=True)
class Machine:
    """The hosts of a machine, and what files state about it."""

    source: str
    """The first file, or the file with the tree; messages and the scenario have its name."""
    head: str
    """Comments on what the scenario has from the files, with {speed} for the source of speeds."""
    hosts: list[Host]
    statements: Statements = field(default_factory=Statements)


MOST_PORTS = 127
"""The largest number of root ports of a host in a scenario."""
MOST_BUSES = 255


def assemble(listing: Listing) -> list[Host]:
    """The machine of a listing: one host, or several hosts if it is too large for one.

    Each domain of a machine has its own bus numbers; all domains have the same memory.

    Raises:
        ListingError: The bridges do not form a tree, a part of the machine is missing, or it has no
            link.
    """
    tree = _Tree(listing)
    domains = sorted({function.slot.domain for function in listing.functions})
    hosts = [tree.host(domain) for domain in domains]
    if not any(host.used() for host in hosts):
        first = listing.functions[0]
        raise listing.error(
            first,
            "no function is at a PCI Express link below a root port, as in a virtual machine or in "
            f"the beginning of a listing; write the whole output of `{listing.command}` of a real "
            "machine",
        )
    return list(_together(hosts))


def _together(domains: list[Host]) -> Iterator[Host]:
    """The fewest hosts with room for the used root ports and all buses, in domain order."""
    members: list[Host] = []
    ports = buses = 0
    for one in domains:
        more_ports, more_buses = len(one.used()), _buses(one)
        is_full = ports + more_ports > MOST_PORTS or buses + more_buses > MOST_BUSES
        if ports and more_ports and is_full:
            yield _joined(members)
            members, ports, buses = [], 0, 0
        members.append(one)
        ports, buses = ports + more_ports, buses + more_buses
    yield _joined(members)


def _joined(members: list[Host]) -> Host:
    return Host(
        tuple(domain for one in members for domain in one.domains),
        tuple(port for one in members for port in one.ports),
        tuple(part for one in members for part in one.parts),
    )


def _buses(host: Host) -> int:
    """The number of buses: one for each link in use, and one inside each switch."""
    return sum(2 if isinstance(node, Switch) else 1 for node in host.below())


Bus = tuple[int, int]
"""The number of a domain, and of a bus in this domain."""


class _Tree:
    """The functions on each bus, and the bridge above the bus."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._on: dict[Bus, list[Function]] = {}
        self._above: dict[Bus, Function] = {}
        self._virtual: dict[Slot, list[Function]] = {}
        self._roots: dict[int, list[Bus]] = {}
        physical = _physical_functions(listing)
        behind: dict[int, set[tuple[int, int]]] = {}
        for function in listing.functions:
            if function.slot in physical:
                self._virtual.setdefault(physical[function.slot], []).append(function)
                continue
            slot, buses = function.slot, function.buses
            self._on.setdefault((slot.domain, slot.bus), []).append(function)
            self._connect(function)
            if buses and buses.secondary > 0:
                behind.setdefault(slot.domain, set()).add((buses.secondary, buses.subordinate))
        self._last = max(self._on)
        for bus, functions in self._on.items():
            if bus not in self._above:
                self._roots.setdefault(bus[0], []).append(bus)
                self._check_root(bus[1], functions, behind.get(bus[0], set()))

    def _connect(self, bridge: Function) -> None:
        """Adds a bridge; bus numbers grow from bridge to bridge (PCIe Base 7.5.1.3): no loops."""
        bus = _secondary(bridge)
        if bus is None or bridge.buses is None:
            return
        number = bus[1]
        if not bridge.slot.bus < number <= bridge.buses.subordinate:
            raise self._listing.error(
                bridge,
                f"bridge {bridge.slot} leads from bus {bridge.slot.bus:02x} to "
                f"{number:02x}-{bridge.buses.subordinate:02x}, which is a loop; "
                "a secondary bus has a larger number than the primary one",
            )
        other = self._above.setdefault(bus, bridge)
        if other is not bridge:
            raise self._listing.error(
                bridge,
                f"bridges {other.slot} and {bridge.slot} both lead to bus {number:02x}; "
                "write one listing of one machine",
            )

    def _check_root(
        self, number: int, functions: list[Function], behind: set[tuple[int, int]]
    ) -> None:
        """Checks that a bus without a bridge above has only functions that a root bus can have."""
        within = any(secondary < number <= subordinate for secondary, subordinate in behind)
        first = functions[0]
        if within or any(_needs_a_parent(function) for function in functions):
            raise self._listing.error(
                first,
                f"no bridge of this listing leads to bus {number:02x} of {first.slot}; "
                f"write the whole output of `{self._listing.command}`",
            )

    def host(self, domain: int) -> Host:
        """The root ports of a domain and all nodes below them."""
        functions = [one for bus in self._roots.get(domain, ()) for one in self._on[bus]]
        ports, parts = self._ports(functions, Kind.ROOT_PORT)
        return Host((domain,), ports, parts)

    def _ports(
        self, functions: list[Function], kind: Kind
    ) -> tuple[tuple[Port, ...], tuple[Part, ...]]:
        """The ports among the functions of a bus, and the other functions with all below them."""
        ports: list[Port] = []
        parts: list[Part] = []
        for function in functions:
            if function.express and function.express.kind is kind:
                ports.append(self._port(function, function.express))
            else:
                parts += self._without(function, _why(function))
        return tuple(ports), tuple(parts)

    def _port(self, function: Function, express: Express) -> Port:
        bus = _secondary(function)
        below = self._on.get(bus, []) if bus else []
        if bus is None or not below:
            return Port(function, express, self._nothing_below(function, express, bus))
        first, *others = below
        lower = first.express
        if lower is None or lower.kind not in _LOWER_ENDS:
            return Port(function, express, "no link to a switch or device", self._all(below))
        link = _link(lower, express)
        if link is None:
            why = "the link is down, or of a width that there is not"
            return Port(function, express, why, self._all(below))
        parts = tuple(
            part
            for other in others
            for part in self._without(other, f"another function of {first.slot}")
        )
        if lower.kind is not Kind.UPSTREAM_PORT:
            return Port(function, express, Device(first, lower, link, parts))
        return Port(function, express, self._switch(first, lower, link, parts))

    def _switch(
        self, function: Function, express: Express, link: Link, parts: tuple[Part, ...]
    ) -> Switch:
        bus = _secondary(function)
        inside = self._on.get(bus, []) if bus else []
        if not inside:
            raise self._listing.error(
                function,
                f"no downstream port of the switch {function.slot} is listed; "
                f"write the whole output of `{self._listing.command}`",
            )
        ports, rest = self._ports(inside, Kind.DOWNSTREAM_PORT)
        return Switch(function, express, link, ports, parts + rest)

    def _nothing_below(self, function: Function, express: Express, bus: Bus | None) -> str:
        """The reason why a port is empty; if its link is up, a function must be listed later."""
        if bus is None:
            return "its bus has no number"
        if not express.active:
            return "nothing is below"
        if bus > self._last:
            raise self._listing.error(
                self._listing.functions[-1],
                f"the listing ends before bus {bus[1]:02x}, to which the link of "
                f"{function.slot} is up; write the whole output of `{self._listing.command}`",
            )
        return "the link is up, but nothing is listed below"

    def _all(self, functions: list[Function]) -> tuple[Part, ...]:
        return tuple(part for one in functions for part in self._without(one, _why(one)))

    def _without(self, function: Function, why: str) -> Iterator[Part]:
        """A function that is left out, with all functions below it and its virtual functions."""
        yield Part(function, why)
        for virtual in self._virtual.get(function.slot, ()):
            yield Part(virtual, f"a virtual function of {function.slot}")
        bus = _secondary(function)
        for below in self._on.get(bus, []) if bus else []:
            yield from self._without(below, f"below {function.slot}")


_LOWER_ENDS = (Kind.UPSTREAM_PORT, Kind.ENDPOINT, Kind.LEGACY_ENDPOINT)


def _physical_functions(listing: Listing) -> dict[Slot, Slot]:
    """The physical function of each virtual function, from the routing IDs (PCIe Base 9.2.1.2)."""
    listed = {one.slot for one in listing.functions}
    found: dict[Slot, Slot] = {}
    for function in listing.functions:
        slot, virtual = function.slot, function.virtual
        if virtual is None:
            continue
        number = (slot.bus << 8 | slot.device << 3 | slot.function) + virtual.offset
        for _ in range(virtual.count):
            if number > _LAST_ROUTING_ID:
                break
            its = Slot(slot.domain, number >> 8, number >> 3 & 31, number & 7, text="")
            if its in listed and its != slot:
                found.setdefault(its, slot)
            number += virtual.stride
    return found


_LAST_ROUTING_ID = 0xFFFF


def _secondary(bridge: Function) -> Bus | None:
    """The bus below a bridge; `None` if firmware did not set up the bridge, and its number is 0."""
    if bridge.buses is None or bridge.buses.secondary == 0:
        return None
    return bridge.slot.domain, bridge.buses.secondary


def _needs_a_parent(function: Function) -> bool:
    """Whether the function can only be at the lower end of a link, or inside a switch."""
    express = function.express
    if express is None:
        return False
    if express.kind in {Kind.UPSTREAM_PORT, Kind.DOWNSTREAM_PORT}:
        return True
    alone = function.slot.bus > 0 and (function.slot.device, function.slot.function) == (0, 0)
    trained = express.trained is not None and express.trained.lanes > 0
    return express.kind in _LOWER_ENDS and alone and trained


def _link(lower: Express, upper: Express) -> Link | None:
    """The trained link as its lower end reports it, or else its upper end."""
    if not lower.has_registers:
        return lower.trained or Link(None, 0)
    ends = [end for end in (lower.trained, upper.trained) if end and end.lanes in WIDTHS]
    if not ends:
        return None
    generation = next((end.generation for end in ends if end.generation), None)
    return Link(generation, ends[0].lanes)


def fastest_link(upper: Express, lower: Express) -> Link | None:
    """The fastest link of which both ends are capable; `None` if an end does not state it."""
    able = [end for end in (upper.capable, lower.capable) if end and end.generation]
    if len(able) < 2:  # noqa: PLR2004 - both ends
        return None
    return Link(min(end.generation or 0 for end in able), min(end.lanes for end in able))


def _why(function: Function) -> str:
    if not function.readable:
        return "its configuration space cannot be read"
    if function.express is None:
        return "conventional PCI" if function.buses else "no PCI Express link"
    if not function.express.kind.has_link:
        return "integrated, no link"
    if function.express.kind in {Kind.PCI_BRIDGE, Kind.REVERSE_BRIDGE}:
        return "a bridge between PCI Express and conventional PCI"
    return f"{function.express.kind} without a port above it"
