"""The fabric as enumeration left it: who is where, how wide, how fast, at which addresses."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from peerlane.results.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pandas import DataFrame

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Upstream:
    """The link from a switch or device to the node above it."""

    to: str
    port: int
    generation: int
    gigatransfers: float
    """GT/s, which an extended speed mode makes more than the generation's."""
    lanes: int
    socket: int | None
    """Of the port above, where that is a root port of a host with several sockets."""


@dataclass(frozen=True, slots=True)
class Region:
    """Bus addresses that a node answers to or forwards.

    `what` is `memory`, `bar0` to `bar5`, `vf-bar0` (that of all virtual functions, one after the
    other, each with an equal part) or `window`.
    """

    what: str
    base: int
    size: int

    @property
    def last(self) -> int:
        """The last address inside the region."""
        return self.base + self.size - 1


@dataclass(frozen=True, slots=True)
class Node:
    """A host, switch or device after enumeration; payload and request sizes in bytes.

    `id` is its function, a device's physical one, besides which it may have `virtual_functions`;
    `processor` the number by which the others at controllers know a `nic` or an I/O port.
    """

    name: str
    kind: str
    model: str | None
    id: str
    virtual_functions: tuple[str, ...]
    processor: int | None
    upstream: Upstream | None
    max_payload: int
    max_read_request: int | None
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """Routers that reach each other by fibres.

    `shape` is "ring", "mesh" or "torus" with nodes along each of its `sides`, or `None` where each
    fibre was written; `routers` are in the order of their numbers in the network. `lane_rate` is in
    bits a second, `packet_size` and `aperture` (behind each port of a node, in the addresses of the
    network) in bytes; in the time in which a fibre takes a packet, a node itself sends, or takes,
    `local_width`.
    """

    name: str
    shape: str | None
    sides: tuple[int, ...] | None
    routing: str
    dateline: bool
    routers: tuple[str, ...]
    lanes: int
    lane_rate: int
    clock_compensation: bool
    virtual_channels: int
    packet_size: int
    local_width: int
    aperture: int


@dataclass(frozen=True, slots=True)
class Fibre:
    """A fibre between two routers, by the numbers of their optical ports.

    `delay_ns` is one way, from user logic to user logic: cores, transceivers and light.
    `severed_at_ns`, if it is cut, counts from the beginning of the flows.
    """

    id: str
    source: str
    source_port: int
    target: str
    target_port: int
    delay_ns: float
    bit_error_rate: float
    severed_at_ns: float | None


@dataclass(frozen=True, slots=True)
class IoPort:
    """A port of a controller, with an endpoint whose functions belong to hosts.

    `owners` are those of its physical function and of its virtual ones, in order.
    """

    name: str
    endpoint: str
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two controllers."""

    id: str
    source: str
    target: str
    generation: int
    gigatransfers: float
    lanes: int


@dataclass(frozen=True, slots=True)
class Controller:
    """A crossbar between hosts, and the `nic` devices at its ports, in their order.

    `engine_bytes_per_second` is the payload that the slowest of their engines takes in.
    """

    name: str
    ports: tuple[str, ...]
    io_ports: tuple[IoPort, ...]
    virtual_channels: int
    get_channel: bool
    engine_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """An open-loop workload as it was written: `load` bytes of payload a second from each node.

    `senders` and `receivers` are "routers" (their user logic) or "hosts"; `message` is in bytes.
    Times count from the beginning of the flows. A hot spot favours `hot_node`, by its number in the
    network, with the share `hot_share` of all messages besides its own.
    """

    id: str
    network: str
    pattern: str
    load: int
    message: int
    senders: str
    receivers: str
    hot_node: int | None
    hot_share: float | None
    start_ns: float
    duration_ns: float


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes, each after the one above it, and what joins the trees of different hosts."""

    name: str
    nodes: Collection[Node]
    networks: Collection[Network]
    controllers: Collection[Controller]
    cables: Collection[Cable]
    fibres: Collection[Fibre]
    traffic: Collection[Traffic]

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Reads the JSON that the simulator writes."""
        document = json.loads(text)
        return cls(
            name=document["name"],
            nodes=Collection(map(_node, document["nodes"]), key="name"),
            networks=Collection(map(_network, document["networks"]), key="name"),
            controllers=Collection(map(_controller, document["controllers"]), key="name"),
            cables=Collection(_named(Cable, _ENDS, cable) for cable in document["cables"]),
            fibres=Collection(_named(Fibre, _ENDS, fibre) for fibre in document["fibres"]),
            traffic=Collection(_named(Traffic, _SIDES, one) for one in document["traffic"]),
        )

    def to_json(self) -> dict[str, Any]:
        """The tree as the command line writes it."""
        return {
            "name": self.name,
            "nodes": [asdict(node) for node in self.nodes],
            "networks": [asdict(network) for network in self.networks],
            "controllers": [asdict(controller) for controller in self.controllers],
            "cables": [_written(cable, _ENDS) for cable in self.cables],
            "fibres": [_written(fibre, _ENDS) for fibre in self.fibres],
            "traffic": [_written(traffic, _SIDES) for traffic in self.traffic],
        }

    def to_pandas(self) -> DataFrame:
        """The nodes, one line for each.

        Raises:
            ModuleNotFoundError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.nodes.to_pandas()

    def below(self, name: str) -> list[Node]:
        """The nodes one link below `name`, in the order of their ports."""
        links = [(n.upstream.port, n) for n in self.nodes if n.upstream and n.upstream.to == name]
        return [node for _, node in sorted(links, key=lambda link: link[0])]

    def root_of(self, node: Node) -> Node:
        """The host at the top of the tree that `node` is in."""
        while node.upstream is not None:
            node = self.nodes[node.upstream.to]
        return node

    def fibres_of(self, network: Network) -> list[Fibre]:
        """The fibres between the routers of `network`."""
        members = set(network.routers)
        return [fibre for fibre in self.fibres if fibre.source in members]


_ENDS = {"from": "source", "from_port": "source_port", "to": "target", "to_port": "target_port"}
_SIDES = {"from": "senders", "to": "receivers"}
"""What the JSON calls a field that Python cannot call so, or not so clearly."""


def _node(fields: dict[str, Any]) -> Node:
    upstream = fields["upstream"]
    read = {"upstream", "regions", "virtual_functions"}
    return Node(
        upstream=upstream and Upstream(**upstream),
        regions=tuple(Region(**region) for region in fields["regions"]),
        virtual_functions=tuple(fields["virtual_functions"]),
        **{k: v for k, v in fields.items() if k not in read},
    )


def _network(fields: dict[str, Any]) -> Network:
    sides = fields["sides"]
    return Network(
        sides=sides and tuple(sides),
        routers=tuple(fields["routers"]),
        **{k: v for k, v in fields.items() if k not in {"sides", "routers"}},
    )


def _controller(fields: dict[str, Any]) -> Controller:
    ports = [IoPort(**port | {"owners": tuple(port["owners"])}) for port in fields["io_ports"]]
    return Controller(**fields | {"ports": tuple(fields["ports"]), "io_ports": tuple(ports)})


def _named(make: Callable[..., _Row], names: Mapping[str, str], fields: dict[str, Any]) -> _Row:
    return make(**{names.get(key, key): value for key, value in fields.items()})


def _written(row: Cable | Fibre | Traffic, names: Mapping[str, str]) -> dict[str, Any]:
    keys = {name: key for key, name in names.items()}
    return {keys.get(name, name): value for name, value in asdict(row).items()}
