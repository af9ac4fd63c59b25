"""A machine written as a scenario, with a comment wherever it is not all of the machine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from peerlane._core import ScenarioError
from peerlane.fabric.settings import size
from peerlane.fabric.simulation import Simulation
from peerlane.importing.listing import Kind, Listing, ListingError
from peerlane.importing.machine import Device, Host, Part, Port, Switch, assemble, nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from peerlane.importing.listing import Express, Function, Link, Slot

HEAD = """\
# A machine, from its listing by lspci: {source}.
#
# As listed: the tree, each link as it was trained (LnkSta), max payload sizes (DevCap, DevCtl), max
# read request sizes, tags, ACS services, the largest memory region of each device as its BAR,
# the read completion boundary; with `-nn` also who made what.
#
# A listing does not tell, so it is as `peerlane list parameters` says: buffers, latencies, when
# links acknowledge and return credit, the size and rate of memory, what a device does.
#
# "not here" marks a part of the machine that this scenario leaves out, and says why.
"""

FASTEST = 5
_LARGEST_32_BIT_ROOM = 512 << 20
_SMALLEST_BAR = 128
_MAX_PORTS = 60


def scenario_of(listing: Listing) -> str:
    """The scenario of a listed machine, as TOML.

    Raises:
        ListingError: The listing is not of a whole machine, or of one that no scenario can be.
    """
    hosts = assemble(listing)
    names = _Names(listing)
    lines = [HEAD.format(source=_printable(Path(listing.source).name))]
    lines.append(f"name = {_text(_printable(Path(listing.source).stem))}")
    for host in hosts:
        lines += ["", *_host(host, names)] if host.used() else ["", *_left_out(host)]
    lines += ["", *_flow(hosts, names)]
    text = "\n".join(lines) + "\n"
    try:
        Simulation(text, source="the scenario")
    except ScenarioError as error:
        raise ListingError(f"{listing.source}: this machine cannot be simulated: {error}") from None
    return text


class _Names:
    """The names of the nodes, made from their slots, which the listing has."""

    def __init__(self, listing: Listing) -> None:
        self._domains = any(function.slot.has_domain for function in listing.functions)

    def host(self, host: Host) -> str:
        return f"host-{host.domain:04x}" if self._domains else "host"

    def node(self, node: Device | Switch) -> str:
        prefix = "sw" if isinstance(node, Switch) else "dev"
        return f"{prefix}-{node.function.slot.text.replace(':', '-')}"


def _host(host: Host, names: _Names) -> Iterator[str]:
    """A host and all below it."""
    yield _header("hosts", names.host(host), f"PCI domain {host.domain:04x}")
    roots = [port.express for port in host.used()]
    below = host.below()
    supported = max(map(_supported, roots))
    ports, parts = _root_ports(host)
    yield f"ports = {len(ports)}"
    yield _setting("max_payload_supported", size(supported))
    boundaries = sorted({root.read_completion_boundary or 64 for root in roots})
    note = "some root ports have 128 B" if len(boundaries) > 1 else ""
    yield _setting("read_completion_boundary", size(boundaries[0]), note)
    yield from _comments(ports, max(root.max_payload for root in roots), parts)
    bars = _Bars([node.function for node in below if isinstance(node, Device)])
    for number, port in ports.items():
        chosen = _Chosen.of(port, supported)
        yield from _below(names.host(host), {number: port}, names, bars, chosen)


class _Chosen(NamedTuple):
    """The max payload size of a root port and of all that is below it."""

    size: int
    is_lower: bool
    """Whether the machine has set it below what all of them support."""

    @classmethod
    def of(cls, port: Port, supported: int) -> _Chosen:
        """The size that the nodes below `port` of a host that supports so much get here."""
        nodes = [node.express for node in nodes_below((port,))]
        largest = min([supported, *map(_supported, nodes)])
        own = port.express.max_payload
        is_lower = bool(nodes) and nodes[0].max_payload == own and own < largest
        return cls(own if is_lower else largest, is_lower)


def _root_ports(host: Host) -> tuple[dict[int, Port], tuple[Part, ...]]:
    """The ports that a host here can have, by number, and what is left out."""
    if len(host.ports) <= _MAX_PORTS:
        return _numbered(host.ports), host.parts
    empty = [(port, port.below) for port in host.ports if isinstance(port.below, str)]
    parts = [part for port, why in empty for part in (Part(port.function, why), *port.parts)]
    return _numbered(host.used()), (*parts, *host.parts)


def _left_out(host: Host) -> Iterator[str]:
    yield f"# PCI domain {host.domain:04x}: not here, it has no PCI Express link in use"
    yield from _comments(_numbered(host.ports), 0, host.parts)


def _below(
    above: str, ports: dict[int, Port], names: _Names, bars: _Bars, chosen: _Chosen
) -> Iterator[str]:
    """The nodes below `ports` of `above`; as deep as there are buses."""
    for number, port in ports.items():
        if isinstance(port.below, str):
            continue
        yield ""
        upstream = _upstream(above, number, port.express, port.below.express, port.below.link)
        if isinstance(port.below, Device):
            yield from _device(port.below, upstream, names, bars, chosen)
        else:
            yield from _switch(port.below, upstream, names, chosen)
            ports_below = _numbered(port.below.ports)
            yield from _below(names.node(port.below), ports_below, names, bars, chosen)


def _switch(switch: Switch, upstream: str, names: _Names, chosen: _Chosen) -> Iterator[str]:
    express, ports = switch.express, _numbered(switch.ports)
    yield _header("switches", _text(names.node(switch)), switch.function.what)
    yield upstream
    yield from _identity(switch.function)
    yield f"ports = {max(ports, default=0) + 2}"
    yield from _payload(express, chosen)
    yield from _access_control(ports)
    yield from _left_regions(switch.function, "a switch has no BAR")
    yield from _comments(ports, express.max_payload, switch.parts)


_SERVICES = {
    "acs_source_validation": "SrcValid",
    "acs_translation_blocking": "TransBlk",
    "acs_redirect": "ReqRedir",
    "acs_completion_redirect": "CmpltRedir",
    "acs_upstream_forwarding": "UpstreamFwd",
    "acs_direct_translated": "DirectTrans",
}


def _access_control(ports: dict[int, Port]) -> Iterator[str]:
    """Access Control Services of the downstream ports of a switch; a key for all ports."""
    for key, service in _SERVICES.items():
        having = [number for number, port in ports.items() if service in port.function.services]
        if having:
            some = f"only by port {', '.join(map(str, having))}, here by all"
            note = some if len(having) < len(ports) else ""
            yield f"{key} = true{_noted(note)}"


def _device(
    device: Device, upstream: str, names: _Names, bars: _Bars, chosen: _Chosen
) -> Iterator[str]:
    function, express = device.function, device.express
    yield _header("devices", _text(names.node(device)), function.what)
    yield upstream
    yield from _payload(express, chosen)
    yield _setting("max_read_request", size(express.max_read_request))
    yield _setting("tags", express.tags, "as many as it may use")
    yield from bars.of(function)
    yield from _identity(function, with_class=True)
    if not function.memory_enabled:
        yield _setting("memory_enable", value=False, note="Mem-")
    if not function.bus_master:
        yield "# BusMaster-: it makes no requests now; firmware here lets it"
    yield from _parts(device.parts)


def _upstream(above: str, number: int, upper: Express, lower: Express, link: Link) -> str:
    settings = [f"to = {_text(above)}", f"port = {number}"]
    notes = []
    if link.generation is None:
        notes.append("lspci did not know the speed: the default")
    else:
        settings.append(f"generation = {min(link.generation, FASTEST)}")
    if link.generation is not None and link.generation > FASTEST:
        notes.append(f"trained at Gen{link.generation}, which is not here: the fastest there is")
    settings.append(f"lanes = {link.lanes}")
    if upper.trained and upper.trained.lanes and upper.trained != lower.trained:
        notes.append(f"the port above says {_shown(upper.trained)}")
    ends = (("the port above", upper.capable), ("the function below", lower.capable))
    able = [f"{end} {_shown(can)}" for end, can in ends if can and _exceeds(can, link)]
    if able:
        notes.append(f"LnkCap has more: {', '.join(able)}")
    return f"upstream = {{ {', '.join(settings)} }}{_noted(*notes)}"


def _exceeds(can: Link, link: Link) -> bool:
    return can.lanes > link.lanes or (can.generation or 0) > (link.generation or 0)


def _shown(link: Link) -> str:
    return f"x{link.lanes} " + (f"Gen{link.generation}" if link.generation else "of unknown speed")


def _payload(express: Express, chosen: _Chosen) -> Iterator[str]:
    """Max payload sizes; enumeration gives a hierarchy the smallest that all nodes support."""
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
    """The payload that a function supports, or is set to, whichever is more."""
    return max(express.max_payload_supported, express.max_payload)


def _identity(function: Function, *, with_class: bool = False) -> Iterator[str]:
    """Vendor, device and class, where the listing has their numbers (`lspci -nn`)."""
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
        narrow = [
            (count, slot) for slot, (count, bits, _) in self._largest.items() if bits != _WIDE
        ]
        room = _LARGEST_32_BIT_ROOM
        for count, slot in sorted(narrow):
            room -= max(count, 1 << 20)
            if room < 0:
                self._moved.add(slot)

    def of(self, function: Function) -> Iterator[str]:
        """The settings of a device's BAR, and what else it has."""
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


def _left_regions(function: Function, why: str, but: int | None = None) -> Iterator[str]:
    """A comment for each memory region of a function that is not here."""
    for region in function.memory:
        if region.index != but:
            shown = "of unknown size" if region.size is None else size(region.size)
            yield f"# region {region.index}, {shown}: not here, {why}"


def _regions(function: Function) -> Iterator[tuple[int, int, int]]:
    """Size, address bits and number of the regions that a BAR here can be."""
    for region in function.memory:
        count = region.size or 0
        if count >= _SMALLEST_BAR and count.bit_count() == 1:
            yield count, region.address_bits, region.index


def _numbered(ports: Iterable[Port]) -> dict[int, Port]:
    """Ports by number: that of their device where no two are functions of one, else in order."""
    ports = list(ports)
    devices = [port.function.slot.device for port in ports]
    switch = all(port.express.kind is Kind.DOWNSTREAM_PORT for port in ports)
    numbers = devices if switch and len(set(devices)) == len(ports) else range(len(ports))
    return dict(zip(numbers, ports, strict=True))


def _comments(ports: dict[int, Port], max_payload: int, parts: Iterable[Part]) -> Iterator[str]:
    """Which port is which, and what is not here."""
    for number, port in ports.items():
        notes = [f"port {number} is {_named(port.function)}"]
        if isinstance(port.below, str):
            notes.append(port.below)
        elif port.express.max_payload != max_payload:
            notes.append(f"its max payload size is {size(port.express.max_payload)}")
        yield f"# {'; '.join(notes)}"
        yield from _left_regions(port.function, "a port has no BAR")
        yield from _parts(port.parts)
    yield from _parts(parts)


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        yield f"# not here: {_named(part.function)}: {part.why}"


def _flow(hosts: list[Host], names: _Names) -> Iterator[str]:
    """One flow to begin with: from the first device that may make requests into its host."""
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
    return f"[{section}.{key}]  # {_printable(what)}"


def _setting(key: str, value: str | int, note: str = "") -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return f"{key} = {shown}{_noted(note)}"


def _noted(*notes: str) -> str:
    given = [note for note in notes if note]
    return f"  # {'; '.join(given)}" if given else ""


def _named(function: Function) -> str:
    return f"{function.slot} {_printable(function.what)}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _printable(text: str) -> str:
    """No comment or name of a scenario has control signs."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
