"""What a network of routers can carry at most: arithmetic on what its tree says, without a run.

Everything is payload in bytes a second for each node that sends: the load at which a link, the
router's own port or a fibre is full. DLLPs, ordered sets, credits and memories are left out, so
that a run comes close to a bound and not over it.

The load of fibres is that of Dally and Towles, "Principles and Practices of Interconnection
Networks", chapters 3 and 8: what the busiest one carries when every node offers one unit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.fabric.tree import Controller, Network, Node, Traffic, Tree

ENVELOPE_BYTES = 20
"""Of the header and the CRC around what travels over light."""
SHORT_HEADER_BYTES, LONG_HEADER_BYTES = 12, 16
"""Of a memory write below 4 GiB, and of one above (PCIe Base 2.2.4.1)."""
TLP_FRAMING_BYTES = 8
"""Framing, sequence number and LCRC of a TLP (PCIe Base 3.5 and 4.2)."""
_FIRST_LONG = 1 << 32
_COMPENSATION = 4984 / 4992
"""Share of the time that clock compensation leaves (PG074)."""
_FIRST_BLOCKS = 8
"""GT/s from which the coding is 128b/130b, and 8b/10b below."""

_Direction = tuple[int, int, int]
"""Of a fibre: the node that it leaves, the dimension, and 1 up it or -1 down it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Payload a second of each node, in bytes, at which something is full.

    `injection` is the way from a node into the network and `ejection` the way out of it, by PCI
    Express for hosts and by the router's own port for user logic. `bisection` is the busiest fibre
    under dimension-order routing, which uniform traffic finds in the middle of the longest side;
    `None` where the way is not known: in networks of single fibres, and, other than for uniform
    traffic, under adaptive routing. Where one node or fibre is full before all others, as at a hot
    spot, the mean over the nodes may go on to grow a little.
    """

    injection: float
    ejection: float
    bisection: float | None

    @property
    def binding(self) -> str:
        """The smallest one: "injection", "ejection" or "bisection"."""
        known = {name: getattr(self, name) for name in ("injection", "ejection", "bisection")}
        return min((rate, name) for name, rate in known.items() if rate is not None)[1]

    @property
    def least(self) -> float:
        """What no network of this kind carries more than, in bytes a second for each node."""
        rate: float = getattr(self, self.binding)
        return rate


def bounds(tree: Tree, traffic: Traffic) -> Bounds:
    """What `traffic`, one of `tree`, can reach.

    Where routers hang below different links, the slowest counts. Through a controller the engines
    are the limit on either side, but for who gets more than an even share.
    """
    for controller in tree.controllers:
        if controller.name == traffic.network:
            engine = controller.engine_bytes_per_second
            share = _busiest_port(controller, traffic)
            return Bounds(injection=engine, ejection=engine / share, bisection=None)
    network = tree.networks[traffic.network]
    packets = _packets(tree, network, traffic)
    local = network.local_width * _frame_rate(network, packets)
    routers = [tree.nodes[name] for name in network.routers]
    injection = ejection = local
    if traffic.senders == "hosts":
        injection = min(_link_rate(tree, node, packets, _into(node)) for node in routers)
    if traffic.receivers == "hosts":
        ejection = min(
            _link_rate(tree, node, _recut(packets, node.max_payload), _out_of(tree, node))
            for node in routers
        )
    load = busiest_fibre(network, traffic)
    return Bounds(
        injection=injection,
        ejection=ejection / _busiest_receiver(network, traffic),
        bisection=fibre_rate(network, packets) / load if load else None,
    )


def _busiest_port(controller: Controller, traffic: Traffic) -> float:
    """What the busiest port takes in when each offers one unit."""
    if traffic.hot_share is None:
        return 1.0
    return 1.0 + (len(controller.ports) - 1) * traffic.hot_share


@dataclass(frozen=True, slots=True)
class Packets:
    """What becomes of one message: the payloads of its packets, and a TLP's header in each."""

    payloads: tuple[int, ...]
    header: int

    @property
    def payload(self) -> int:
        """All of it, in bytes."""
        return sum(self.payloads)


def cut(message: int, most: int) -> tuple[int, ...]:
    """The payloads of the packets of a message, none of them over `most` bytes."""
    whole, rest = divmod(message, most)
    return (most,) * whole + ((rest,) if rest else ())


def cycles(frame: int, lanes: int) -> int:
    """Cycles of a fibre that a frame of so many bytes takes (PG074, strict alignment).

    A block of eight bytes on each lane in each, with the separator block that ends the frame.
    """
    blocks = frame // 8 + 1
    return -(-blocks // lanes)


def fibre_rate(network: Network, packets: Packets) -> float:
    """Payload a second, in bytes, that a fibre of `network` carries in such packets."""
    share = _COMPENSATION if network.clock_compensation else 1.0
    return share * _frame_rate(network, packets)


def link_rate(gigatransfers: float, lanes: int, packets: Packets) -> float:
    """Payload a second, in bytes, that a PCI Express link carries in such packets."""
    coding = 128 / 130 if gigatransfers >= _FIRST_BLOCKS else 8 / 10
    raw = gigatransfers * 1e9 * coding * lanes / 8
    overhead = packets.header + TLP_FRAMING_BYTES
    on_wire = sum(-(-payload // 4) * 4 + overhead for payload in packets.payloads)
    return raw * packets.payload / on_wire


def busiest_fibre(network: Network, traffic: Traffic) -> float | None:
    """What the busiest direction of a fibre carries when every node offers one unit.

    `None` where the ways are not known, and 0 where nothing leaves its node.
    """
    sides = network.sides
    if sides is None or (network.routing == "adaptive" and traffic.pattern != "uniform"):
        return None
    uniform = _uniform_share(traffic)
    loads: defaultdict[_Direction, float] = defaultdict(float)
    for source, target, share in _partners(sides, traffic):
        for fibre, part in _way(network, source, target):
            loads[fibre] += share * part
    if not loads:
        return uniform * max(_uniform_load(network, fibre) for fibre in _one_line(sides))
    every = product(range(prod(sides)), range(len(sides)), (1, -1))
    return max(loads[fibre] + uniform * _uniform_load(network, fibre) for fibre in every)


def _frame_rate(network: Network, packets: Packets) -> float:
    bytes_around = ENVELOPE_BYTES + packets.header
    taken = sum(cycles(payload + bytes_around, network.lanes) for payload in packets.payloads)
    return packets.payload * network.lane_rate / (66 * taken)


def _packets(tree: Tree, network: Network, traffic: Traffic) -> Packets:
    if traffic.senders == "routers":
        return Packets(cut(traffic.message, network.packet_size), 0)
    routers = [tree.nodes[name] for name in network.routers]
    most = min(min(node.max_payload, tree.root_of(node).max_payload) for node in routers)
    # The address of a wrapped TLP is one of the network, which begins at 0.
    last = len(network.routers) * 4 * network.aperture
    return Packets(cut(traffic.message, most), _header(last - 1))


def _recut(packets: Packets, most: int) -> Packets:
    pieces = tuple(piece for payload in packets.payloads for piece in cut(payload, most))
    return Packets(pieces, packets.header)


def _header(address: int) -> int:
    return LONG_HEADER_BYTES if address >= _FIRST_LONG else SHORT_HEADER_BYTES


def _into(router: Node) -> int:
    """The address by which a host writes into the network: the router's window, BAR 2."""
    return next((region.base for region in router.regions if region.what == "bar2"), 0)


def _out_of(tree: Tree, router: Node) -> int:
    """The address to which the router writes: the memory of its host."""
    regions = tree.root_of(router).regions
    return next((region.base for region in regions if region.what == "memory"), 0)


def _link_rate(tree: Tree, router: Node, packets: Packets, address: int) -> float:
    """Of the slowest link between a router and its host."""
    packets = Packets(packets.payloads, _header(address))
    node, rates = router, []
    while link := node.upstream:
        rates.append(link_rate(link.gigatransfers, link.lanes, packets))
        node = tree.nodes[link.to]
    return min(rates)


def _busiest_receiver(network: Network, traffic: Traffic) -> float:
    """What arrives at one node when every node offers one unit."""
    if traffic.hot_share is None:
        return 1
    return 1 - traffic.hot_share + traffic.hot_share * len(network.routers)


def _uniform_share(traffic: Traffic) -> float:
    if traffic.pattern == "uniform":
        return 1
    return 0 if traffic.hot_share is None else 1 - traffic.hot_share


def _uniform_load(network: Network, fibre: _Direction) -> float:
    """Of one direction of a fibre, under uniform traffic that includes the node itself."""
    node, dimension, step = fibre
    sides = network.sides or ()
    side = sides[dimension]
    if side == 1:
        return 0
    if network.shape != "mesh":
        return (side * side - side % 2) / (8 * side)
    here = node // prod(sides[:dimension]) % side
    behind = here + 1 if step > 0 else side - here
    return behind * (side - behind) / side


def _one_line(sides: tuple[int, ...]) -> Iterator[_Direction]:
    """The fibres up one line of each dimension."""
    for dimension, side in enumerate(sides):
        for here in range(side):
            yield here * prod(sides[:dimension]), dimension, 1


def _partners(sides: tuple[int, ...], traffic: Traffic) -> Iterator[tuple[int, int, float]]:
    """From, to, and the share of the messages, where not every node is as likely."""
    for source in range(prod(sides)):
        place = _place(sides, source)
        match traffic.pattern:
            case "hot-spot" if traffic.hot_node is not None and traffic.hot_share is not None:
                yield source, traffic.hot_node, traffic.hot_share
                continue
            case "transpose":
                place[0], place[1] = place[1], place[0]
            case "tornado":
                place = [
                    (here + -(-side // 2) - 1) % side
                    for here, side in zip(place, sides, strict=True)
                ]
            case "neighbour":
                place[0] = (place[0] + 1) % sides[0]
            case _:
                return
        yield source, _number(sides, place), 1.0


def _way(network: Network, source: int, target: int) -> Iterator[tuple[_Direction, float]]:
    """The fibres from one node to another in dimension order, each with the share that takes it.

    That is half where both ways around a ring are as long.
    """
    sides = network.sides or ()
    here, there = _place(sides, source), _place(sides, target)
    for dimension, side in enumerate(sides):
        up = (there[dimension] - here[dimension]) % side
        steps = {1: up, -1: side - up}
        if network.shape == "mesh":
            taken = [1 if there[dimension] > here[dimension] else -1]
        else:
            taken = [step for step in steps if steps[step] == min(steps.values())]
        for step in taken if up else ():
            at = list(here)
            for _ in range(steps[step]):
                yield (_number(sides, at), dimension, step), 1 / len(taken)
                at[dimension] = (at[dimension] + step) % side
        here[dimension] = there[dimension]


def _place(sides: tuple[int, ...], number: int) -> list[int]:
    """The coordinates of a node; the first one counts fastest."""
    return [number // prod(sides[:dimension]) % side for dimension, side in enumerate(sides)]


def _number(sides: tuple[int, ...], place: list[int]) -> int:
    return sum(here * prod(sides[:dimension]) for dimension, here in enumerate(place))
