"""A machine that is drawn, in each form of files that the importer reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from importing.machines import Record, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

GPU, NIC, SWITCH, ROOT = "10de:2331", "15b3:1021", "1000:c030", "8086:352a"
CLASSES = {GPU: "0302", NIC: "0207", SWITCH: "0604", ROOT: "0604"}
WORDS = {GPU: "3D controller", NIC: "Infiniband controller", SWITCH: "PCI bridge"}


@dataclass(eq=False)
class Node:
    """A switch with what is below it, or a device; at Gen4 or Gen5, 16 lanes."""

    ids: str
    below: list[Node] = field(default_factory=list)
    generation: int = 5
    name: str = ""
    bus: int = 0
    """The bus of its upstream port; the ports of a switch are on the next one."""
    last: int = 0

    @property
    def slot(self) -> str:
        return f"0000:{self.bus:02x}:00.0"


@dataclass
class Drawn:
    """NUMA nodes of host bridges of root ports, with one node below each root port."""

    sockets: list[list[list[Node]]]
    roots: dict[int, int] = field(default_factory=dict)
    """The root bus of each host bridge, by its number."""

    def __post_init__(self) -> None:
        buses, gpus, nics = count(), count(), count()
        for number, (_, bridge) in enumerate(self.bridges()):
            self.roots[number] = next(buses)
            for node in bridge:
                self._place(node, buses, gpus, nics)

    def _place(
        self, node: Node, buses: Iterator[int], gpus: Iterator[int], nics: Iterator[int]
    ) -> None:
        node.bus = node.last = next(buses)
        node.name = f"sw-{node.slot.replace(':', '-')}"
        if node.ids == GPU:
            node.name = f"gpu{next(gpus)}"
        elif node.ids == NIC:
            node.name = f"mlx5_{next(nics)}"
        else:
            node.last = next(buses)
            for one in node.below:
                self._place(one, buses, gpus, nics)
                node.last = one.last

    def bridges(self) -> Iterator[tuple[int, list[Node]]]:
        """Each host bridge: its NUMA node, and the nodes below its root ports."""
        for number, socket in enumerate(self.sockets):
            for bridge in socket:
                yield number, bridge

    def devices(self) -> dict[str, tuple[object, ...]]:
        """The ways to devices, GPUs first: NUMA node, bridge, root port and switches."""
        found = {
            name: (numa, number, node.bus, *way)
            for number, (numa, bridge) in enumerate(self.bridges())
            for node in bridge
            for name, way in _ways(node)
        }
        return dict(sorted(found.items()))

    def expected(self) -> dict[str, tuple[str, int, int, int | None]]:
        """Above each node: its name, generation, lanes, and the socket of a root port."""
        found: dict[str, tuple[str, int, int, int | None]] = {}
        for numa, bridge in self.bridges():
            for node in bridge:
                found[node.name] = ("host", node.generation, 16, numa)
                for above, below in _links(node):
                    found[below.name] = (above.name, below.generation, 16, None)
        return found


def _ways(node: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
    if node.ids != SWITCH:
        yield node.name, ()
    for one in node.below:
        for name, way in _ways(one):
            yield name, (node.name, *way)


def _links(node: Node) -> Iterator[tuple[Node, Node]]:
    for one in node.below:
        yield node, one
        yield from _links(one)


def _nodes(least: int) -> st.SearchStrategy[Node]:
    device = st.builds(Node, st.sampled_from([GPU, NIC]), generation=st.sampled_from([4, 5]))
    return st.recursive(
        device,
        lambda below: st.builds(Node, st.just(SWITCH), st.lists(below, min_size=least, max_size=3)),
        max_leaves=4,
    )


def drawn(least_below: int = 1) -> st.SearchStrategy[Drawn]:
    """Machines with one or two NUMA nodes."""
    ports = st.lists(_nodes(least_below), min_size=1, max_size=2)
    bridges = st.lists(ports, min_size=1, max_size=2)
    return st.builds(Drawn, st.lists(bridges, min_size=1, max_size=2))


def level(one: tuple[object, ...], other: tuple[object, ...]) -> str:
    """The path between two devices by the definitions of `nvidia-smi topo -m`."""
    if one[3:] and one[3:] == other[3:] and one[:3] == other[:3]:
        return "PIX"
    for words, length in (("PXB", 3), ("PHB", 2), ("NODE", 1)):
        if one[:length] == other[:length]:
            return words
    return "SYS"


def matrix(ways: dict[str, tuple[object, ...]]) -> list[list[str]]:
    names = list(ways)
    return [["X" if a == b else level(ways[a], ways[b]) for b in names] for a in names]


def nvidia_smi(
    machine: Drawn, *, cells: list[list[str]] | None = None, affinity: bool = True
) -> str:
    """The output of `nvidia-smi topo -m`."""
    ways = machine.devices()
    shown = {name: name.upper() for name in ways if name.startswith("gpu")}
    nics = [name for name in ways if name not in shown]
    shown |= {name: f"NIC{number}" for number, name in enumerate(nics)}
    columns = "\t".join(shown.values())
    lines = [f"\t{columns}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    for (name, way), row in zip(ways.items(), cells or matrix(ways), strict=True):
        line = f"{shown[name]}\t" + "\t".join(f" {cell} " if cell == "X" else cell for cell in row)
        if name.startswith("gpu"):
            numa = way[0] if affinity else "N/A"
            line += f"\t0-15\t{numa}\t\tN/A"
        lines.append(line)
    lines += ["", "Legend:", "", "  X    = Self", "  PIX  = At most one bridge", ""]
    if nics:
        lines += ["NIC Legend:", "", *(f"  {shown[name]}: {name}" for name in nics), ""]
    return "\n".join(lines) + "\n"


SPEEDS = {4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}


def nccl(machine: Drawn) -> str:
    """The file of `NCCL_TOPO_DUMP_FILE`."""
    lines = ['<system version="1">']
    for number, socket in enumerate(machine.sockets):
        lines.append(
            f'  <cpu numaid="{number}" affinity="0000,ffff" arch="x86_64" vendor="GenuineIntel" '
            'familyid="6" modelid="143">'
        )
        lines += (line for bridge in socket for node in bridge for line in _pci(node))
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>", ""])


def _pci(node: Node) -> Iterator[str]:
    vendor, device = node.ids.split(":")
    yield (
        f'<pci busid="{node.slot}" class="0x{CLASSES[node.ids]}00" vendor="0x{vendor}" '
        f'device="0x{device}" subsystem_vendor="0x{vendor}" subsystem_device="0x0001" '
        f'link_speed="{SPEEDS[node.generation]}" link_width="16">'
    )
    number = node.name.removeprefix("gpu").removeprefix("mlx5_")
    if node.ids == GPU:
        yield f'<gpu dev="{number}" sm="90" rank="{number}" gdr="1"/>'
    elif node.ids == NIC:
        yield f'<nic><net name="{node.name}" dev="{number}" speed="400000" port="1"/></nic>'
    for one in node.below:
        yield from _pci(one)
    yield "</pci>"


RATES = {4: "31.507692", 5: "63.015385"}


def hwloc(machine: Drawn) -> str:
    """The output of `lstopo --of xml`."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
        '<topology version="2.0">',
        '<object type="Machine" os_index="0">',
    ]
    roots = iter(machine.roots.values())
    for number, socket in enumerate(machine.sockets):
        lines += [
            f'<object type="Package" os_index="{number}">',
            f'<object type="NUMANode" os_index="{number}"/>',
            '<object type="L3Cache" os_index="0"><object type="PU" os_index="0"/></object>',
        ]
        for bridge in socket:
            root = next(roots)
            last = bridge[-1].last
            buses = f"0000:[{root:02x}-{last:02x}]"
            lines.append(f'<object type="Bridge" bridge_type="0-1" bridge_pci="{buses}">')
            for port, node in enumerate(bridge, 1):
                slot = f"0000:{root:02x}:{port:02x}.0"
                lines += _object(slot, ROOT, node.generation, (node.bus, node.last), _below(node))
            lines.append("</object>")
        lines.append("</object>")
    return "\n".join([*lines, "</object>", "</topology>", ""])


def _below(node: Node) -> list[str]:
    if node.ids == SWITCH:
        inside: list[str] = []
        for number, one in enumerate(node.below):
            slot = f"0000:{node.bus + 1:02x}:{number:02x}.0"
            inside += _object(slot, SWITCH, one.generation, (one.bus, one.last), _below(one))
        return _object(node.slot, SWITCH, node.generation, (node.bus + 1, node.last), inside)
    if node.ids == GPU:
        device = f'<object type="OSDev" name="nvml{node.name[3:]}" subtype="NVML" osdev_type="1"/>'
    else:
        guid = '<info name="NodeGUID" value="0000:0000:0000:0001"/>'
        device = f'<object type="OSDev" name="{node.name}" osdev_type="3">{guid}</object>'
    return _object(node.slot, node.ids, node.generation, None, [device])


def _object(
    slot: str, ids: str, generation: int, buses: tuple[int, int] | None, inside: list[str]
) -> list[str]:
    kind = "PCIDev"
    bridge = ""
    if buses:
        kind = "Bridge"
        bridge = f'bridge_type="1-1" bridge_pci="0000:[{buses[0]:02x}-{buses[1]:02x}]" '
    function = f'pci_busid="{slot}" pci_type="{CLASSES[ids]} [{ids}] [0000:0000] a1"'
    speed = f'pci_link_speed="{RATES[generation]}"'
    return [f'<object type="{kind}" {bridge}{function} {speed}>', *inside, "</object>"]


def lspci(machine: Drawn) -> str:
    """The output of `lspci -D -nn -vvv`."""
    records: list[Record] = []
    for number, (numa, bridge) in enumerate(machine.bridges()):
        root = machine.roots[number]
        for port, node in enumerate(bridge, 1):
            slot = f"0000:{root:02x}:{port:02x}.0"
            records.append(
                _record(slot, ROOT, "Root Port", numa, node, (root, node.bus, node.last))
            )
            records += _records(node, numa)
    return listing(records)


def _records(node: Node, numa: int) -> Iterator[Record]:
    if node.ids != SWITCH:
        yield _record(node.slot, node.ids, "Endpoint", numa, node)
        return
    buses = (node.bus, node.bus + 1, node.last)
    yield _record(node.slot, SWITCH, "Upstream Port", numa, node, buses)
    for number, one in enumerate(node.below):
        slot = f"0000:{node.bus + 1:02x}:{number:02x}.0"
        buses = (node.bus + 1, one.bus, one.last)
        yield _record(slot, SWITCH, "Downstream Port", numa, one, buses)
        yield from _records(one, numa)


def _record(  # noqa: PLR0913, PLR0917 - a record has as many parts
    slot: str,
    ids: str,
    kind: str,
    numa: int,
    link: Node,
    buses: tuple[int, int, int] | None = None,
) -> Record:
    what = f"{WORDS.get(ids, 'PCI bridge')} [{CLASSES[ids]}]: Vendor Part [{ids}]"
    if ids == GPU:
        what = what.replace("Vendor", "NVIDIA Corporation")
    generation = link.generation
    return Record(slot, what, kind, buses, trained=generation, capable=generation, node=numa)
