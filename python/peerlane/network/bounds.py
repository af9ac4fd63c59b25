"""Calculates upper bounds of the throughput of a network from its tree, without a run.

Each bound is a payload rate, in bytes a second for each node that sends: the load at which a link,
the router's own port or a fibre is full. DLLPs, ordered sets, spread clocks, credits and memories
are not considered, so the throughput of a run is close to the smallest bound, but not above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from peerlane import _core
from peerlane.network.packets import (
    Packets,
    cut,
    fibre_rate,
    frame_rate,
    link_rate,
    recut,
)
from peerlane.network.routes import busiest_fibre

if TYPE_CHECKING:
    from peerlane.fabric.tree import Controller, Network, Node, Traffic, Tree


Binding = Literal["injection", "ejection", "bisection"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The payload rates of each node, in bytes a second, at which parts of the network are full.

    `injection` is the bound of the connection from a node into the network, and `ejection` of the
    connection out of the network: PCI Express for hosts, the router's own port for user logic.
    `bisection` is the bound of the busiest fibre with dimension-order routing; with uniform traffic
    this fibre is in the middle of the longest side. `bisection` is `None` if the routes are not
    known: in networks whose fibres the scenario lists one by one, and with adaptive routing of
    traffic that is not uniform. If one node or fibre is full before all others, for example at a
    hot spot, the mean rate of the nodes may still grow a little above a bound.
    """

    injection: float
    ejection: float
    bisection: float | None

    @property
    def binding(self) -> Binding:
        """The name of the smallest bound."""
        known: dict[Binding, float | None] = {
            "injection": self.injection,
            "ejection": self.ejection,
            "bisection": self.bisection,
        }
        return min((rate, name) for name, rate in known.items() if rate is not None)[1]

    @property
    def least(self) -> float:
        """The smallest bound, in bytes a second for each node."""
        rate: float = getattr(self, self.binding)
        return rate


def bounds(tree: Tree, traffic: Traffic) -> Bounds:
    """The bounds of `traffic`, which is a workload of `tree`.

    If links to routers have different rates, the slowest link determines the bound. In a network
    that is a controller, the engines of the `nic` devices limit injection and ejection, unless a
    port receives more than an even share.
    """
    for controller in tree.controllers:
        engine = controller.engine_bytes_per_second
        if controller.name == traffic.network and engine is not None:
            share = _busiest_port(controller, traffic)
            return Bounds(injection=engine, ejection=engine / share, bisection=None)
    network = tree.networks[traffic.network]
    packets = _packets(tree, network, traffic)
    local = network.local_width * frame_rate(network, packets)
    routers = [tree.nodes[name] for name in network.routers]
    injection = ejection = local
    if traffic.senders == "hosts":
        injection = min(_link_rate(tree, node, packets, _into(node)) for node in routers)
    if traffic.receivers == "hosts":
        ejection = min(
            _link_rate(tree, node, recut(packets, node.max_payload), _out_of(tree, node))
            for node in routers
        )
    load = busiest_fibre(network, traffic)
    return Bounds(
        injection=injection,
        ejection=ejection / _busiest_receiver(network, traffic),
        bisection=fibre_rate(network, packets) / load if load else None,
    )


def _busiest_port(controller: Controller, traffic: Traffic) -> float:
    """The load that the busiest port receives, if each port sends one unit."""
    if traffic.hot_share is None:
        return 1.0
    return 1.0 + (len(controller.ports) - 1) * traffic.hot_share


def _packets(tree: Tree, network: Network, traffic: Traffic) -> Packets:
    if traffic.senders == "routers":
        return Packets(cut(traffic.message, network.packet_size), 0)
    routers = [tree.nodes[name] for name in network.routers]
    most = min(min(node.max_payload, tree.root_of(node).max_payload) for node in routers)
    # TLPs on fibres have addresses of the network, which begin at 0.
    last = len(network.routers) * 4 * network.aperture
    return Packets(cut(traffic.message, most), _core.write_header_bytes(last - 1))


def _into(router: Node) -> int:
    """The address at which a host writes into the network: the address of the router's BAR 2."""
    return next((region.base for region in router.regions if region.what == "bar2"), 0)


def _out_of(tree: Tree, router: Node) -> int:
    """The address to which a router writes: the address of its host's memory."""
    regions = tree.root_of(router).regions
    return next((region.base for region in regions if region.what == "memory"), 0)


def _link_rate(tree: Tree, router: Node, packets: Packets, address: int) -> float:
    """The payload rate of the slowest link between a router and its host."""
    packets = Packets(packets.payloads, _core.write_header_bytes(address))
    node, rates = router, []
    while link := node.upstream:
        rates.append(link_rate(link.gigatransfers, link.lanes, packets))
        node = tree.nodes[link.to]
    return min(rates)


def _busiest_receiver(network: Network, traffic: Traffic) -> float:
    """The load that the busiest receiver gets, if every node sends one unit."""
    if traffic.hot_share is None:
        return 1
    return 1 - traffic.hot_share + traffic.hot_share * len(network.routers)
