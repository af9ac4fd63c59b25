"""Prints a fabric in the form of `peerlane show`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree as RichTree

from peerlane.cli.tables.cells import Phrases
from peerlane.cli.tables.run import MOST_FIBRES
from peerlane.cli.tables.sheet import Sheet
from peerlane.formats import duration, named_sockets, number, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.fabric.tree import Cable, Controller, Network, Node, Tree, Upstream

MOST_ROUTERS = 16
"""If a network has more routers than this, only its first host is shown."""

MOST_ALIKE = 8
"""If more consecutive devices or windows than this are alike, they are shown in one line."""

MOST_NODES = 32
"""If consecutive hosts or switches are alike, and are more nodes than this together with all nodes
below them, only the first is shown."""

MOST_SHOWN = 7
"""If a list has more names than this, only the first and the last name are shown. A device without
ARI has at most 7 virtual functions, so all of them are shown."""


def tree(fabric: Tree) -> RenderableType:
    """The fabric as a tree, with widths, rates, payload sizes and addresses, and its networks."""
    root = RichTree(Text(fabric.name, style="bold"), guide_style="dim")
    left_out = {name for network in fabric.networks for name in _left_out(fabric, network)}
    branches = _Branches(fabric)
    roots = [one for one in fabric.nodes if one.upstream is None and one.name not in left_out]
    branches.add(root, roots)
    controllers = map(_controller, fabric.controllers)
    cables = map(_cable, fabric.cables)
    networks = (_network(fabric, network) for network in fabric.networks)
    return Group(root, *controllers, *cables, *networks, *_memory_flows(fabric))


def _memory_flows(fabric: Tree) -> Iterator[RenderableType]:
    """A line for each socket, or set of sockets, of a host: the flows to the memory there."""
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for flow in fabric.flows:
        found.setdefault((flow.to, flow.sockets), []).append(flow.id)
    for (host, sockets), flows in found.items():
        where = f"memory of {host} at {named_sockets(sockets)}"
        yield Text.assemble((where, "bold"), f"  flows {_in_short(flows, ', ')}")


class _Branches:
    """Adds the nodes of a fabric to a printed tree, in the order of their ports."""

    def __init__(self, fabric: Tree) -> None:
        self._below: dict[str, list[Node]] = {}
        for node in fabric.nodes:
            if node.upstream:
                self._below.setdefault(node.upstream.to, []).append(node)
        for nodes in self._below.values():
            nodes.sort(key=lambda node: node.upstream.port if node.upstream else 0)
        # Nodes have equal numbers if they and all nodes below them are alike.
        self._numbers: dict[tuple[object, ...], int] = {}
        self._forms: dict[str, int] = {}
        for node in reversed(fabric.nodes):  # lower nodes first
            below = tuple(self._forms[one.name] for one in self._below.get(node.name, ()))
            form = (*_form(node), below)
            self._forms[node.name] = self._numbers.setdefault(form, len(self._numbers))

    def add(self, above: RichTree, nodes: Sequence[Node]) -> None:
        """Adds nodes of one level; of many nodes that are alike, adds only the first and a line."""
        for _, group in groupby(nodes, lambda node: self._forms[node.name]):
            alike = list(group)
            below = self._count_below(alike[0])
            nodes_in_all = len(alike) * (1 + below)
            if len(alike) == 1 or nodes_in_all <= (MOST_NODES if below else MOST_ALIKE):
                for node in alike:
                    self._add(above, node)
                continue
            self._add(above, alike[0])
            above.add(_more(alike, below))

    def _add(self, above: RichTree, node: Node) -> None:
        branch = above.add(_described(node))
        self.add(branch, self._below.get(node.name, ()))

    def _count_below(self, node: Node) -> int:
        below = self._below.get(node.name, ())
        return len(below) + sum(map(self._count_below, below))


def _more(alike: Sequence[Node], below: int) -> Text:
    """A line for all nodes of a group except the first; each node has `below` nodes below it."""
    head, first, last = alike[0], alike[1], alike[-1]
    names, ids = (
        one if one == other else f"{one} to {other}"
        for one, other in ((first.name, last.name), (first.id, last.id))
    )
    told = f" like {head.name}: {names}" + f", {ids}" * (first.upstream is not None)
    if below:
        told += f", with {_count(below, 'node')} below " + ("it" if first is last else "each")
    return Text.assemble((f"{len(alike) - 1} x {first.model or first.kind}", "bold"), told)


def _form(node: Node) -> tuple[object, ...]:
    """The properties in which nodes must agree to be alike: all except names and addresses."""
    link = node.upstream
    return (
        node.kind,
        node.model,
        link and (link.generation, link.lanes, link.gigatransfers, link.socket, link.quadrant),
        node.processor is None,
        node.max_payload,
        node.max_read_request,
        tuple((region.what, region.size) for region in node.regions),
        len(node.virtual_functions),
    )


def _described(node: Node) -> RenderableType:
    """The text for a node in the tree."""
    head = [Text(node.name, "bold"), Text(f"{node.model or node.kind} {node.id}")]
    if link := node.upstream:
        parts = (("quadrant", link.quadrant), ("socket", link.socket))
        place = "".join(f" of {part} {number}" for part, number in parts if number is not None)
        head.append(Text(f"port {link.port}{place}, {_width(link)}", "cyan"))
    if node.processor is not None:
        head.append(Text(f"processor {node.processor}", "cyan"))
    head.append(Text(f"MPS {node.max_payload}"))
    if node.max_read_request is not None:
        reads = "loads of" if node.kind == "host" else "MRRS"
        head.append(Text(f"{reads} {node.max_read_request}"))
    lines = [[Text(region, "dim")] for region in _regions(node)]
    if node.virtual_functions:
        lines.append([Text(f"VFs {_in_short(node.virtual_functions, ' ')}", "dim")])
    return Phrases(head, *lines)


def _regions(node: Node) -> Iterator[str]:
    """The addresses of a node: a line for each region, or for many regions of the same size."""
    for (what, bytes_), group in groupby(node.regions, lambda one: (one.what, one.size)):
        alike = list(group)
        if len(alike) > MOST_ALIKE:
            first, last = alike[0].base, alike[-1].last
            yield f"{len(alike)} x {what} {first:#x}..{last:#x} ({size(bytes_)} each)"
            continue
        for region in alike:
            yield f"{what} {region.base:#x}..{region.last:#x} ({size(bytes_)})"


def _in_short(names: Sequence[str], between: str) -> str:
    """A list of names as text; of many names, only the first and the last."""
    if len(names) > MOST_SHOWN:
        return f"{names[0]} to {names[-1]} ({len(names)})"
    return between.join(names)


def _controller(controller: Controller) -> RenderableType:
    """A table of a controller: the devices at its ports, in the order of the ports."""
    channels = _count(controller.virtual_channels, "virtual channel")
    gets = " and one for GETs" if controller.get_channel else ""
    return Text.assemble(
        (f"controller {controller.name}", "bold"),
        f"  {_in_short(controller.ports, ', ') or 'nobody'}",
        (f"  {channels} a port{gets}", "cyan"),
        *(
            f"\n  {port.name}: functions of {port.endpoint} belong to {', '.join(port.owners)}"
            for port in controller.io_ports
        ),
    )


def _cable(cable: Cable) -> RenderableType:
    return Text.assemble((f"cable {cable.id}", "bold"), (f"  {_width(cable)}", "cyan"))


def _width(link: Upstream | Cable) -> str:
    return f"x{link.lanes} Gen{link.generation} ({link.gigatransfers:g} GT/s)"


def _network(fabric: Tree, network: Network) -> RenderableType:
    """A table of a network: shape, routers and fibres; of a large network only their numbers."""
    form = "" if network.sides is None else f"{network.shape} {'x'.join(map(str, network.sides))}, "
    way = f"{network.routing} routing"
    if network.dateline and network.shape != "mesh":
        way += " with a dateline"
    fibres = fabric.fibres_of(network)
    kind = f"{network.lanes} x {network.lane_rate / 1e9:g} Gbit/s"
    head = Text.assemble(
        (f"network {network.name}", "bold"),
        f"  {form}{_count(len(network.routers), 'router')}, {way}\n",
        (f"{_count(len(fibres), 'fibre')} of {kind}", "cyan"),
        (f", {_count(network.virtual_channels, 'virtual channel')}", "cyan"),
        (f", packets of {size(network.packet_size)} at most", "cyan"),
    )
    if left := len(_left_out(fabric, network)):
        head.append(f"\n{_count(left, 'host')} like that of {network.routers[0]} not shown", "dim")
    if not fibres:
        return head
    if len(fibres) > MOST_FIBRES:
        delays = [fibre.delay_ns for fibre in fibres]
        least, most = duration(min(delays)), duration(max(delays))
        head.append(f"\ndelay {least}" if least == most else f"\ndelay {least} to {most}", "dim")
        return head
    table = Sheet("fibre", "from", "to")
    table.numbers("delay", "bit error rate", "cut at")
    table.fold("cut at", "bit error rate")
    for fibre in fibres:
        table.add_row(
            fibre.id,
            f"{fibre.source} port {fibre.source_port}",
            f"{fibre.target} port {fibre.target_port}",
            duration(fibre.delay_ns),
            number(fibre.bit_error_rate),
            duration(fibre.severed_at_ns),
        )
    return Group(head, table)


def _left_out(fabric: Tree, network: Network) -> list[str]:
    """The hosts of a large ring, mesh or torus, except the first, that have only a router below."""
    if network.sides is None or len(network.routers) <= MOST_ROUTERS:
        return []
    below: dict[str, int] = {}
    for node in fabric.nodes:
        if node.upstream:
            below[node.upstream.to] = below.get(node.upstream.to, 0) + 1
    links = (fabric.nodes[router].upstream for router in network.routers[1:])
    return [link.to for link in links if link and below[link.to] == 1]


def _count(number_: int, what: str) -> str:
    return f"{number_} {what}" + "s" * (number_ != 1)
