"""Writes a machine as a scenario, with comments on parts of the machine that are left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from peerlane._core import ScenarioError
from peerlane.fabric.settings import size
from peerlane.fabric.simulation import Simulation
from peerlane.importing.listing import Kind, Link, ListingError
from peerlane.importing.machine import (
    MOST_BUSES,
    MOST_PORTS,
    Device,
    Host,
    Machine,
    Part,
    Port,
    Switch,
    fastest_link,
    used_below,
)
from peerlane.importing.parts import GENERIC, Model, model_of
from peerlane.importing.statements import FUNCTION, IDS, NUMA_NODE, SOCKET
from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from peerlane.importing.listing import Express, Function, Slot

FASTEST = 5
_LARGEST_32_BIT_ROOM = 512 << 20
_SMALLEST_BAR = 128
_MOST_SOCKETS = 8
_MOST_VIRTUAL_FUNCTIONS = 255


class Speed(StrEnum):
    """The source of the speed of a link: its status or its capabilities."""

    TRAINED = "trained"
    CAPABLE = "capable"

    @property
    def register(self) -> str:
        """The register of the listing that contains this speed."""
        return "LnkSta" if self is Speed.TRAINED else "LnkCap of both ends"


def scenario_of(
    machine: Machine, *, speed: Speed = Speed.TRAINED, with_left_out: bool = False
) -> str:
    """The scenario of a machine, as TOML.

    Args:
        machine: The machine, as files state it.
        speed: The source of the speeds of links; widths are always the trained widths.
        with_left_out: Whether a comment names each part of the machine that is left out, instead of
            a comment with the number of these parts.

    Raises:
        ListingError: No scenario can describe the machine.
    """
    hosts = machine.hosts
    names = _Names(machine, speed)
    lines = [f"name = {_text(printable(Path(machine.source).stem))}"]
    for host in hosts:
        lines += ["", *_host(host, names)]
    if noted := list(_left_out(machine)):
        lines += ["", *noted]
    lines += ["", *_flow(hosts, names)]
    head = machine.head.replace("{speed}", speed.register)
    absent = [line.kind for line in lines if isinstance(line, _Absent)]
    if with_left_out:
        head += (
            '# "not here" marks a part of the machine that this scenario leaves out, and says why.'
        )
    else:
        lines = [line for line in lines if not isinstance(line, _Absent)]
        head += f"# {_counted(absent)}"
    text = "\n".join([head, "", *lines]) + "\n"
    try:
        Simulation(text, source="the scenario")
    except ScenarioError as error:
        raise ListingError(f"{machine.source}: this machine cannot be simulated: {error}") from None
    return text


def _left_out(machine: Machine) -> Iterator[str]:
    for kind, place, text in machine.statements.left_out:
        yield _Absent(kind, f"not here: {printable(f'{place}: {text}')}")


def separate_hosts(machine: Machine) -> str | None:
    """A sentence about a machine that becomes several hosts here, without common memory."""
    count = len(machine.hosts)
    if count == 1:
        return None
    return (
        f"a host here has at most {MOST_PORTS} root ports and {MOST_BUSES} buses, and this machine"
        f" has more: it is {count} hosts, which share no memory and have no way to each other"
    )


def slow_links(machine: Machine) -> list[str]:
    """The links that were trained below the speed of both ends, each as text for a message."""
    return [
        f"{port.below.function.slot} at Gen{port.below.link.generation} of Gen{fastest.generation}"
        for host in machine.hosts
        for port in host.used_below()
        if not isinstance(port.below, str)
        and (fastest := fastest_link(port.express, port.below.express))
        and (fastest.generation or 0) > (port.below.link.generation or FASTEST)
    ]


class _Absent(str):
    """A comment about a part of the machine that the scenario leaves out."""

    __slots__ = ("kind",)

    def __new__(cls, kind: str, text: str) -> Self:
        """Creates the comment for a part of this kind; the parts of a kind can be counted."""
        made = super().__new__(cls, f"# {text}")
        made.kind = kind
        return made

    kind: str


def _counted(kinds: list[str]) -> str:
    if not kinds:
        return "Nothing is left out."
    each = ", ".join(_number(count, kind) for kind, count in Counter(kinds).most_common())
    return f"Left out: {each}; the option `--left-out` names each, and says why."


def _number(count: int, kind: str) -> str:
    """The number of parts of a kind, such as "1 device with ATS" or "2 devices with ATS"."""
    if count == 1:
        return f"1 {kind}"
    noun, of, rest = kind.partition(" with ")
    return f"{count:,} {noun}s{of}{rest}"


class _Names:
    """The names of nodes, made from their slots, and the choice of link speeds and sockets."""

    def __init__(self, machine: Machine, speed: Speed) -> None:
        self._is_alone = len(machine.hosts) == 1
        self._statements = machine.statements
        self.speed = speed
        nodes = {node for _, node, _ in machine.statements.all(NUMA_NODE) if isinstance(node, int)}
        sockets = {node: machine.statements.get(int, SOCKET, node) for node in sorted(nodes)}
        stated = {node: socket for node, socket in sockets.items() if socket is not None}
        self.has_sockets = bool(nodes) and len(stated) == len(nodes)
        """Whether a file states the socket of each NUMA node; if not, each node is a socket."""
        socket_of = stated if self.has_sockets else {node: node for node in nodes}
        # If there are more than a scenario can have, consecutive ones share a socket.
        chosen = sorted(set(socket_of.values()))
        share = -(-len(chosen) // _MOST_SOCKETS) or 1
        number = {of: count // share for count, of in enumerate(chosen)}
        self._sockets = {node: number[of] for node, of in socket_of.items()}

    @property
    def sockets(self) -> int:
        """The number of sockets of each host."""
        return max(self._sockets.values(), default=0) + 1

    def socket(self, port: Port) -> int:
        """The socket of a root port and of the functions below it."""
        below = [node.below for node in used_below((port,))]
        functions = [node.function for node in below if not isinstance(node, str)]
        for function in (port.function, *functions):
            node = self._statements.get(int, NUMA_NODE, function.slot)
            if node is not None:
                return self._sockets[node]
        return 0

    def host(self, host: Host) -> str:
        return "host" if self._is_alone else f"host-{host.domains[0]:04x}"

    def model(self, device: Device) -> Model | None:
        """The known device with the numbers of this one; for other GPUs a generic one."""
        slot = device.function.slot
        stated = (str(of) for of, its, _ in self._statements.all(FUNCTION) if its == slot)
        names = [*stated, self._statements.names.get(slot, "").upper()]
        is_gpu = any(name.startswith("GPU") for name in names)
        known = model_of(self._statements.get(str, IDS, slot))
        return known or (Model("a GPU", GENERIC) if is_gpu else None)

    def node(self, node: Device | Switch) -> str:
        if name := self._statements.names.get(node.function.slot):
            return name
        prefix = "sw" if isinstance(node, Switch) else "dev"
        return f"{prefix}-{node.function.slot.text.replace(':', '-')}"


def _host(host: Host, names: _Names) -> Iterator[str]:
    """A host and all nodes below it."""
    yield _header("hosts", names.host(host), _domains(host))
    roots = [port.express for port in host.used()]
    below = host.below()
    supported = max(map(_supported, roots))
    ports, parts = _root_ports(host)
    yield f"ports = {len(ports)}"
    if names.sockets > 1:
        what = "package" if names.has_sockets else "NUMA node"
        yield _setting("sockets", names.sockets, f"one for each {what}")
    if any(root.has_registers for root in roots):
        yield _setting("max_payload_supported", size(supported))
        boundaries = sorted({root.read_completion_boundary or 64 for root in roots})
        note = "some root ports have 128 B" if len(boundaries) > 1 else ""
        yield _setting("read_completion_boundary", size(boundaries[0]), note)
    used = {number: port for number, port in ports.items() if not isinstance(port.below, str)}
    yield from _access_control(used, _ROOT_SERVICES)
    yield from _power_of_host(host)
    yield from _error_reporting(host)
    triggers = {port.function.containment for port in host.used_below()} - {None}
    if triggers:
        some = " by some ports" if len(triggers) > 1 else ""
        chosen = "non-fatal" if "non-fatal" in triggers else "fatal"
        yield _setting("containment", chosen, some and f"only{some}")
    yield from _comments(ports, max(root.max_payload for root in roots), parts)
    bars = _Bars([node.function for node in below if isinstance(node, Device)])
    for number, port in used.items():
        hierarchy = _Hierarchy(names, bars, _Chosen.of(port, supported))
        yield from _below(names.host(host), {number: port}, hierarchy)


def _domains(host: Host) -> str:
    if not host.domains:
        return ""
    count, first, last = len(host.domains), host.domains[0], host.domains[-1]
    more = f", {count} PCI domains up to {last:04x}" if count > 1 else ""
    return f"PCI domain {first:04x}{more}"


class _Chosen(NamedTuple):
    """The max payload size of a root port and of all functions below it."""

    size: int
    is_lower: bool
    """Whether the machine has set a smaller size than the size that all these functions support."""

    @classmethod
    def of(cls, port: Port, supported: int) -> _Chosen:
        """The size for the nodes below `port` of a host that supports the size `supported`."""
        below = [one.below for one in used_below((port,))]
        nodes = [node.express for node in below if not isinstance(node, str)]
        largest = min([supported, *map(_supported, nodes)])
        own = port.express.max_payload
        is_lower = bool(nodes) and nodes[0].max_payload == own and own < largest
        return cls(own if is_lower else largest, is_lower)


class _Hierarchy(NamedTuple):
    """The settings that the nodes below a root port share."""

    names: _Names
    bars: _Bars
    payload: _Chosen


def _root_ports(host: Host) -> tuple[dict[int, Port], tuple[Part, ...]]:
    """The ports that a host in a scenario can have, by number, and the parts that are left out."""
    if len(host.ports) <= MOST_PORTS:
        return _numbered(host.ports), host.parts
    empty = [(port, port.below) for port in host.ports if isinstance(port.below, str)]
    parts = [part for port, why in empty for part in (Part(port.function, why), *port.parts)]
    return _numbered(host.used()), (*parts, *host.parts)


def _links(port: Port) -> frozenset[str]:
    """The states of ASPM that are enabled at both ends of the link below a port."""
    below = port.below
    return (
        frozenset()
        if isinstance(below, str)
        else frozenset(port.express.power) & frozenset(below.express.power)
    )


def _power_of_host(host: Host) -> Iterator[str]:
    """The keys of ASPM, which simulated firmware enables if both ends of a link support it."""
    for state in _POWER:
        if any(state in _links(port) for port in host.used_below()):
            yield _setting(f"aspm_{state.lower()}", value=True)
    yield from _exits(host.used())


_POWER = ("L0s", "L1")


def _error_reporting(host: Host) -> Iterator[str]:
    """The keys of error messages and ECRC, which simulated software enables in all functions."""
    used = host.used_below()
    functions = [one for port in used for one in _both_ends(port)]
    for key, having in (
        ("error_reporting", [one for one in functions if one.express.reports_errors]),
        ("ecrc", [one for one in functions if one.function.generates_ecrc]),
    ):
        if having:
            some = f"only by {len(having)} of {len(functions)} functions"
            yield _setting(key, value=True, note=some if len(having) < len(functions) else "")
    for one in functions:
        for mask in one.function.masked:
            yield _Absent("error mask", f"{mask} of {one.function.slot}: not here, there is no key")


def _both_ends(port: Port) -> Iterator[Port | Device | Switch]:
    yield port
    if not isinstance(port.below, str):
        yield port.below


def _exits(
    ports: Iterable[Port], express: Express | None = None, upper: Port | None = None
) -> Iterator[str]:
    """The exit latencies of the enabled states at the links of a node."""
    for state in _POWER:
        found = [port.express.power[state] for port in ports if state in _links(port)]
        if express and upper and state in _links(upper):
            found.append(express.power[state])
        if found:
            yield _setting(f"{state.lower()}_exit_latency", f"{max(found)} ns")


def _below(above: str, ports: dict[int, Port], of: _Hierarchy, depth: int = 0) -> Iterator[str]:
    """The nodes below `ports` of the node `above`, with all levels below them."""
    for number, port in ports.items():
        if isinstance(port.below, str):
            continue
        yield ""
        place = [f"to = {_text(above)}", f"port = {number}"]
        if not depth and of.names.sockets > 1:
            place.append(f"socket = {of.names.socket(port)}")
        upstream = _upstream(place, port, port.below, of.names.speed)
        if isinstance(port.below, Device):
            yield from _device(port.below, port, upstream, of)
        else:
            yield from _switch(port.below, port, upstream, of)
            ports_below = _numbered(port.below.ports)
            yield from _below(of.names.node(port.below), ports_below, of, depth + 1)


def _switch(switch: Switch, above: Port, upstream: str, of: _Hierarchy) -> Iterator[str]:
    express, ports = switch.express, _numbered(switch.ports)
    yield _header("switches", _text(of.names.node(switch)), switch.function.what)
    yield upstream
    yield from _identity(switch.function)
    yield f"ports = {max(ports, default=0) + 2}"
    yield from _payload(express, of.payload)
    yield from _exits(switch.ports, express, above)
    yield from _access_control(ports, _SWITCH_SERVICES)
    yield from _left_regions(switch.function, "a switch has no BAR")
    yield from _comments(ports, express.max_payload, switch.parts)


_ROOT_SERVICES = {
    "acs_source_validation": "SrcValid",
    "acs_translation_blocking": "TransBlk",
    "acs_redirect": "ReqRedir",
    "acs_upstream_forwarding": "UpstreamFwd",
    "acs_direct_translated": "DirectTrans",
}
_SWITCH_SERVICES = _ROOT_SERVICES | {"acs_completion_redirect": "CmpltRedir"}


def _access_control(ports: dict[int, Port], keys: Mapping[str, str]) -> Iterator[str]:
    """The keys of Access Control Services of a switch or host; each key is for all its ports."""
    able = {n: port.function.services for n, port in ports.items()}
    able = {n: services for n, services in able.items() if services is not None}
    for key, service in keys.items():
        having = [number for number, services in able.items() if services and service in services]
        if having:
            some = f"only by port {', '.join(map(str, having))}, here by all"
            note = some if len(having) < len(ports) else ""
            yield _setting(key, value=True, note=note)
        elif able and service == "UpstreamFwd" and keys is _ROOT_SERVICES:
            yield _setting(key, value=False)  # the default of root ports is true
    for number, services in able.items():
        for service in sorted((services or frozenset()) - set(keys.values())):
            yield _Absent("ACS service", f"{service} of port {number}: not here, there is no key")


def _device(device: Device, above: Port, upstream: str, of: _Hierarchy) -> Iterator[str]:
    function, express = device.function, device.express
    yield _header("devices", _text(of.names.node(device)), function.what)
    yield upstream
    if model := of.names.model(device):
        for key, value in model.settings().items():
            yield _setting(key, value, model.name)
    yield from _payload(express, of.payload)
    yield from _requests(express)
    yield from _exits((), express, above)
    if virtual := function.virtual:
        count = min(virtual.count, _MOST_VIRTUAL_FUNCTIONS)
        yield _setting(
            "virtual_functions",
            count,
            "" if count == virtual.count else f"{virtual.count} in the listing",
        )
    if express.has_registers:
        if model and model.gpu:
            yield from of.bars.memory(function, is_generic=model.gpu == GENERIC)
        else:
            yield from of.bars.of(function)
    yield from _identity(function, with_class=True)
    if not function.memory_enabled:
        yield _setting("memory_enable", value=False, note="Mem-")
    if not function.bus_master:
        yield "# BusMaster-: it makes no requests now; firmware here lets it"
    if function.translates:
        yield _Absent(
            "device with ATS",
            "address translation services, enabled: not here; write translated_addresses = true in"
            " a flow whose requests have translated addresses",
        )
    yield from _parts(device.parts)


def _requests(express: Express) -> Iterator[str]:
    """The size and number of requests, and their attributes that differ from the defaults."""
    if not express.has_registers:
        return
    yield _setting("max_read_request", size(express.max_read_request))
    yield _setting("tags", express.tags, "as many as it may use")
    if not express.relaxed_ordering:
        yield _setting("relaxed_ordering_enable", value=False)
    if not express.no_snoop:
        yield _setting("no_snoop_enable", value=False)
    if express.id_ordering:
        yield _setting("id_ordering_enable", value=True)
    if express.id_ordering_completion:
        yield _setting("id_ordering_completion_enable", value=True)


def _upstream(place: list[str], port: Port, below: Device | Switch, speed: Speed) -> str:
    upper, lower, link = port.express, below.express, below.link
    settings, notes = list(place), []
    if speed is Speed.CAPABLE and (fastest := fastest_link(upper, lower)):
        generation = max(fastest.generation or 0, link.generation or 0)
        if link.generation and link.generation < generation:
            notes.append(f"trained at Gen{link.generation}")
        link = Link(generation, link.lanes)
    if link.generation is None and lower.has_registers:
        notes.append("lspci did not know the speed: the default")
    elif unknown := [
        key for key, value in (("speed", link.generation), ("width", link.lanes)) if not value
    ]:
        notes.append(f"the default {' and '.join(unknown)}, for the file has none")
    if link.generation is not None:
        settings.append(f"generation = {min(link.generation, FASTEST)}")
    if link.generation is not None and link.generation > FASTEST:
        notes.append(f"Gen{link.generation} is not here: the fastest there is")
    if link.lanes:
        settings.append(f"lanes = {link.lanes}")
    if upper.trained and upper.trained.lanes and upper.trained != lower.trained:
        notes.append(f"the port above says {upper.trained}")
    ends = (("the port above", upper.capable), ("the function below", lower.capable))
    able = [f"{end} {can}" for end, can in ends if can and _exceeds(can, link)]
    if able:
        notes.append(f"LnkCap has more: {', '.join(able)}")
    return f"upstream = {{ {', '.join(settings)} }}{_noted(*notes)}"


def _exceeds(can: Link, link: Link) -> bool:
    return can.lanes > link.lanes or (can.generation or 0) > (link.generation or 0)


def _payload(express: Express, chosen: _Chosen) -> Iterator[str]:
    """The keys of max payload sizes; enumeration sets the largest that a hierarchy supports."""
    if not express.has_registers:
        return
    supported = _supported(express)
    if chosen.is_lower and express.max_payload == chosen.size < supported:
        note = f"as it is set; it supports {size(supported)}"
        yield _setting("max_payload_supported", size(chosen.size), note)
        return
    yield _setting("max_payload_supported", size(supported))
    if express.max_payload != chosen.size:
        note = f"enumeration here gives {size(chosen.size)}"
        yield _setting("max_payload", size(express.max_payload), note)
        yield _setting("max_payload_mismatch", value=True, note="as the listing has it")


def _supported(express: Express) -> int:
    """The larger of the payload size that a function supports and the size that is set."""
    return max(express.max_payload_supported, express.max_payload)


def _identity(function: Function, *, with_class: bool = False) -> Iterator[str]:
    """Vendor, device and class, if the listing has their numbers (`lspci -nn`)."""
    maker = re.search(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]", function.what)
    kind = re.match(r"[^:]*\[([0-9a-f]{4})\]:", function.what)
    if maker:
        yield _setting("vendor_id", f"0x{maker[1]}")
        yield _setting("device_id", f"0x{maker[2]}")
    if kind and with_class:
        interface = re.search(r"\(prog-if ([0-9a-f]{2})\b", function.what)
        yield _setting("class_code", f"0x{kind[1]}{interface[1] if interface else '00'}")


class _Bars:
    """The BAR of each device of a host: its largest memory region."""

    def __init__(self, functions: list[Function]) -> None:
        self._largest = {
            function.slot: max(regions, key=lambda region: region[0])
            for function in functions
            if (regions := list(_regions(function)))
        }
        self._moved: set[Slot] = set()
        shares = {one.slot: 1 + (one.virtual.count if one.virtual else 0) for one in functions}
        narrow = [
            (count * shares[slot], slot)
            for slot, (count, bits, _) in self._largest.items()
            if bits != _WIDE
        ]
        room = _LARGEST_32_BIT_ROOM
        for count, slot in sorted(narrow):
            room -= max(count, 1 << 20)
            if room < 0:
                self._moved.add(slot)

    def memory(self, function: Function, *, is_generic: bool) -> Iterator[str]:
        """The memory of a GPU, if its profile does not have it, and comments on its regions."""
        count, _, index = self._largest.get(function.slot, (0, 0, None))
        if count >= _LEAST_WHOLE_MEMORY and is_generic:
            yield _setting("memory", size(count), f"region {index}, the next power of two")
        elif 0 < count < _LEAST_WHOLE_MEMORY:
            yield f"# region {index} has {size(count)}, not the whole memory: here it is whole"
        yield from _left_regions(function, "a GPU has the BAR of its memory", but=index)

    def of(self, function: Function) -> Iterator[str]:
        """The settings of a device's BAR, and comments on its other regions."""
        if function.slot not in self._largest:
            if function.memory:
                yield "# its memory regions are listed without a size that a BAR has: the default"
            else:
                yield _setting("bar", size(0), "no memory region")
            return
        count, bits, index = self._largest[function.slot]
        yield _setting("bar", size(count), f"region {index}")
        if function.slot in self._moved:
            yield _setting("bar_address_bits", _WIDE, "32-bit, for which there is no room here")
        elif bits == _WIDE:
            yield _setting("bar_address_bits", bits)
        yield from _left_regions(function, "a device has one BAR", but=index)


_WIDE = 64

_LEAST_WHOLE_MEMORY = 1 << 30
"""Bytes of a BAR from which on it is the whole memory of a GPU: without a resizable BAR it is less.
"""


def _left_regions(function: Function, why: str, but: int | None = None) -> Iterator[str]:
    """A comment for each memory region of a function that is left out."""
    for region in function.memory:
        if region.index != but:
            shown = "of unknown size" if region.size is None else size(region.size)
            yield _Absent("memory region", f"region {region.index}, {shown}: not here, {why}")


def _regions(function: Function) -> Iterator[tuple[int, int, int]]:
    """The size, address bits and number of the regions that can be a BAR in a scenario."""
    for region in function.memory:
        count = region.size or 0
        if count >= _SMALLEST_BAR and count.bit_count() == 1:
            yield count, region.address_bits, region.index


def _numbered(ports: Iterable[Port]) -> dict[int, Port]:
    """Ports by number: device numbers if all ports are different devices, or else their order."""
    ports = list(ports)
    devices = [port.function.slot.device for port in ports]
    switch = all(port.express.kind is Kind.DOWNSTREAM_PORT for port in ports)
    numbers = devices if switch and len(set(devices)) == len(ports) else range(len(ports))
    return dict(zip(numbers, ports, strict=True))


def _comments(ports: dict[int, Port], max_payload: int, parts: Iterable[Part]) -> Iterator[str]:
    """Comments with the function of each port, and the parts that are left out."""
    for number, port in ports.items():
        notes = [f"port {number} is {_named(port.function)}"]
        if isinstance(port.below, str):
            notes.append(port.below)
        elif port.express.max_payload != max_payload:
            notes.append(f"its max payload size is {size(port.express.max_payload)}")
        line = "; ".join(notes)
        is_empty = isinstance(port.below, str)
        yield _Absent("empty port", line) if is_empty else f"# {line}"
        yield from _left_regions(port.function, "a port has no BAR")
        yield from _parts(port.parts)
    yield from _parts(parts)


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        yield _Absent("function", f"not here: {_named(part.function)}: {part.why}")


def _flow(hosts: list[Host], names: _Names) -> Iterator[str]:
    """One flow as an example: from the first device that may make requests into its host."""
    ends = [(host, node) for host in hosts for node in host.below() if isinstance(node, Device)]
    if not ends:
        yield "# no device, so no flow"
        return
    host, device = next((end for end in ends if end[1].function.bus_master), ends[0])
    yield "[[flows]]  # to begin with; a listing does not tell what moves"
    yield f"from = {_text(names.node(device))}"
    yield f"to = {_text(names.host(host))}"
    yield 'direction = "write"'
    yield 'size = "1 MiB"'


def _header(section: str, key: str, what: str) -> str:
    return f"[{section}.{key}]{_noted(printable(what))}"


def _setting(key: str, value: str | int, note: str = "") -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return f"{key} = {shown}{_noted(note)}"


def _noted(*notes: str) -> str:
    given = [note for note in notes if note]
    return f"  # {'; '.join(given)}" if given else ""


def _named(function: Function) -> str:
    return f"{function.slot} {printable(function.what)}".rstrip()


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
