"""The smallest fabric that has the paths of a topology table."""

from __future__ import annotations

from itertools import combinations, count
from typing import TYPE_CHECKING

from peerlane.importing.listing import Express, Function, Kind, Link, ListingError, Slot
from peerlane.importing.machine import Device, Host, Port, Switch
from peerlane.importing.paths import Level, Range
from peerlane.importing.statements import FUNCTION, NUMA_NODE, inconsistent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peerlane.importing.statements import Place, Statements
    from peerlane.importing.tables import Table

HEAD = """\
# The tree is the smallest one with the paths of the table: a switch for each group of PIX, switches
# below one root port for PXB, root ports of one socket for PHB and NODE, other sockets for SYS. It
# has no speed and no width of links.
"""


def smallest(table: Table, statements: Statements) -> Host:
    """The host with the fewest switches that has the paths of a table.

    Raises:
        ListingError: No tree has these paths.
    """
    groups = _Groups(table, statements)
    maker = _Maker(table, groups, statements)
    nodes = [statements.get(int, NUMA_NODE, name) for name in table.devices]
    free = (number for number in count() if number not in nodes)
    ports: list[Port] = []
    for socket in groups.of(table.devices, Level.NODE):
        stated = (statements.get(int, NUMA_NODE, name) for name in socket)
        node = next((number for number in stated if number is not None), None)
        node = next(free) if node is None else node
        for bridge, sharing in enumerate(groups.of(socket, Level.PHB), len(ports)):
            for devices in groups.of(sharing, Level.PXB):
                port = maker.root_port(devices, bridge)
                place = table.devices[devices[0]]
                statements.state(NUMA_NODE, port.function.slot, node, place)
                ports.append(port)
    return Host((), tuple(ports), ())


class _Maker:
    """Makes nodes, with numbers in the place of their slots."""

    def __init__(self, table: Table, groups: _Groups, statements: Statements) -> None:
        self._table, self._groups, self._statements = table, groups, statements
        self._numbers = count()
        self._switches = count()

    def root_port(self, devices: list[str], bridge: int) -> Port:
        """A root port of a host bridge, and the nodes below it."""
        if len(devices) == 1:
            below: Device | Switch = self._device(devices[0])
        else:
            below = self._switch(*self._groups.of(devices, Level.PIX))
        return self._port(Kind.ROOT_PORT, below, bridge)

    def _switch(self, devices: list[str], *far: list[str]) -> Switch:
        """A switch with devices, and with a lower switch for each group of far devices."""
        slot = self._slot(f"{next(self._switches)}")
        below: list[Device | Switch] = [*map(self._device, devices), *map(self._switch, far)]
        ports = tuple(self._port(Kind.DOWNSTREAM_PORT, node, 0) for node in below)
        function = Function(self._table.devices[devices[0]].line, slot, "")
        return Switch(function, _express(Kind.UPSTREAM_PORT), _LINK, ports, ())

    def _device(self, name: str) -> Device:
        place, slot = self._table.devices[name], self._slot(name)
        self._statements.state(FUNCTION, self._table.name(name), slot, place)
        self._statements.names[slot] = self._table.name(name).lower()
        return Device(Function(place.line, slot, ""), _express(Kind.ENDPOINT), _LINK, ())

    def _port(self, kind: Kind, below: Device | Switch, bridge: int) -> Port:
        number, name = next(self._numbers), self._statements.names.get(below.function.slot)
        text = f"the port above {name or f'sw-{below.function.slot}'}"
        slot = Slot(bridge, 0, 0, number, text)
        return Port(Function(below.function.line, slot, ""), _express(kind), below)

    def _slot(self, text: str) -> Slot:
        return Slot(0, 1, next(self._numbers), 0, text)


_LINK = Link(None, 0)


def _express(kind: Kind) -> Express:
    return Express.without_registers(kind)


class _Groups:
    """Devices that are together at each level or at a nearer one."""

    def __init__(self, table: Table, statements: Statements) -> None:
        self._table, self._statements = table, statements
        self._near = {level: self._joined(level, ()) for level in Level}
        for one, other, path, place in table.paths():
            level = self._level(one, other)
            if level < path.least:
                raise self._denied(one, other, path, place)
        numa = {name: statements.get(int, NUMA_NODE, name) for name in table.devices}
        known = [(a, b) for a, b in combinations(numa, 2) if None not in {numa[a], numa[b]}]
        for one, other in known:
            level = self._level(one, other)
            if numa[one] != numa[other] and level < Level.SYS:
                where = [statements.place(NUMA_NODE, name) for name in (one, other)]
                says = f"the NUMA node of {one} is {numa[one]}"
                but = f"{numa[other]} of {other}, but their paths join them by {level.name}"
                raise inconsistent(where[0], says, where[1], but)
        same = [(a, b) for a, b in known if numa[a] == numa[b]]
        self._near[Level.NODE] = self._joined(Level.NODE, same)
        for one, other, path, place in table.paths():
            if path.least is Level.SYS and self._level(one, other) < Level.SYS:
                what = f"SYS between {one} and {other}, which are of one NUMA node"
                statements.leave_out("path", place, what)

    def of(self, devices: Iterable[str], level: Level) -> list[list[str]]:
        """Groups of devices at a level, in the order of their first members."""
        found: dict[int, list[str]] = {}
        for name in devices:
            found.setdefault(self._near[level][name], []).append(name)
        return list(found.values())

    def _joined(self, level: Level, more: Iterable[tuple[str, str]]) -> dict[str, int]:
        """A number for each device; devices that are near have the same number."""
        near: dict[str, list[str]] = {name: [] for name in self._table.devices}
        edges = [(a, b) for a, b, path, _ in self._table.paths() if path.most <= level]
        for one, other in (*edges, *more):
            near[one].append(other)
            near[other].append(one)
        numbers: dict[str, int] = {}
        for number, name in enumerate(near):
            waiting = [name]
            while waiting:
                one = waiting.pop()
                if one not in numbers:
                    numbers[one] = number
                    waiting += near[one]
        return numbers

    def _level(self, one: str, other: str) -> Level:
        """The nearest level at which two devices are together."""
        of = self._near
        return next((n for n in Level if of[n][one] == of[n][other]), Level.SYS)

    def _denied(self, one: str, other: str, path: Range, place: Place) -> ListingError:
        """The error for a path that is farther than other paths allow, with one of them."""
        level = self._level(one, other)
        a, b, near, where = next(
            stated
            for stated in self._table.paths()
            if one in stated[:2] and stated[2].most <= level
        )
        says = f"the path between {a} and {b} is {near}"
        but = f"{path} between {one} and {other}, but their other paths join them by {level.name}"
        return inconsistent(where, says, place, but)
