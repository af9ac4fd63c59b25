"""The fabric as `peerlane show` draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree as RichTree

from peerlane.cli.tables.cells import Phrases, blank, duration, number, numbers, size
from peerlane.cli.tables.run import MOST_FIBRES

if TYPE_CHECKING:
    from peerlane.fabric.tree import Cable, Controller, Network, Node, Tree, Upstream

MOST_ROUTERS = 16
"""A network with more is shown by the first of its nodes."""

# Virtual functions of a device without ARI.
MOST_SHOWN = 7


def tree(fabric: Tree) -> RenderableType:
    """The fabric as a tree, with widths, rates, payload sizes, addresses; what joins its trees."""
    root = RichTree(Text(fabric.name, style="bold"), guide_style="dim")
    left_out = {name for network in fabric.networks for name in _left_out(fabric, network)}
    for node in fabric.nodes:
        if node.upstream is None and node.name not in left_out:
            _branch(root, fabric, node)
    controllers = map(_controller, fabric.controllers)
    cables = map(_cable, fabric.cables)
    networks = (_network(fabric, network) for network in fabric.networks)
    return Group(root, *controllers, *cables, *networks)


def _branch(above: RichTree, fabric: Tree, node: Node) -> None:
    head = [Text(node.name, "bold"), Text(f"{node.model or node.kind} {node.id}")]
    if link := node.upstream:
        socket = "" if link.socket is None else f" of socket {link.socket}"
        head.append(Text(f"port {link.port}{socket}, {_width(link)}", "cyan"))
    if node.processor is not None:
        head.append(Text(f"processor {node.processor}", "cyan"))
    head.append(Text(f"MPS {node.max_payload}"))
    if node.max_read_request is not None:
        reads = "loads of" if node.kind == "host" else "MRRS"
        head.append(Text(f"{reads} {node.max_read_request}"))
    regions = [
        f"{region.what} {region.base:#x}..{region.last:#x} ({size(region.size)})"
        for region in node.regions
    ]
    lines = [[Text(region, "dim")] for region in regions]
    if node.virtual_functions:
        lines.append([Text(f"VFs {_virtual(node.virtual_functions)}", "dim")])
    branch = above.add(Phrases(head, *lines))
    for below in fabric.below(node.name):
        _branch(branch, fabric, below)


def _virtual(ids: tuple[str, ...]) -> str:
    """The IDs of virtual functions; of many, the first and the last."""
    if len(ids) > MOST_SHOWN:
        return f"{ids[0]} to {ids[-1]} ({len(ids)})"
    return " ".join(ids)


def _controller(controller: Controller) -> RenderableType:
    """The devices at the ports of a controller, in the order of the ports."""
    channels = _count(controller.virtual_channels, "virtual channel")
    gets = " and one for GETs" if controller.get_channel else ""
    return Text.assemble(
        (f"controller {controller.name}", "bold"),
        f"  {', '.join(controller.ports) or 'nobody'}",
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
    """Form, routers and fibres of a network; of a large one, how many and how long."""
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
    table = blank("fibre", "from", "to")
    numbers(table, "delay", "bit error rate", "cut at")
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
    """Hosts of a large generated network that have nothing but its router, all but the first."""
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
