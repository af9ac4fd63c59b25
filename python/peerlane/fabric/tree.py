"""Defines the fabric after enumeration: its nodes and links, with widths, rates and addresses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from peerlane.errors import optional
from peerlane.results import markup
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, decode, encode, renamed

if TYPE_CHECKING:
    from networkx import MultiGraph
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Upstream(Document):
    """The link from a switch or device to the node above it."""

    to: str
    port: int
    generation: int
    gigatransfers: float
    """The rate of a lane in GT/s; in an extended speed mode it is more than the rate of the
    generation."""
    lanes: int
    socket: int | None
    """The socket of the root port above, if the link is below a host with several sockets."""
    quadrant: int | None = None
    """The quadrant of the root port above, if the sockets of the host have several quadrants."""


@dataclass(frozen=True, slots=True)
class Region(Document):
    """A range of bus addresses that a node answers or forwards.

    `what` is `memory`, `bar0` to `bar5`, `vf-bar0` (BAR 0 of all virtual functions, which have
    equal parts of the range in their order) or `window`.
    """

    what: str
    base: int
    size: int

    @property
    def last(self) -> int:
        """The last address of the region."""
        return self.base + self.size - 1


@dataclass(frozen=True, slots=True)
class Node(Document):
    """A host, switch or device after enumeration; payload and request sizes are in bytes.

    `id` is the bus, device and function number of the node; for a device, of its physical function.
    `virtual_functions` has the ids of a device's virtual functions. `processor` is the number by
    which controllers identify a `nic` or an I/O port.
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
class Network(Document):
    """Routers that are connected by fibres.

    `shape` is "ring", "mesh" or "torus", and `sides` has the number of nodes along each dimension;
    both are `None` if the scenario lists each fibre. `routers` are in the order of their numbers in
    the network. `lane_rate` is in bits a second, `packet_size` in bytes. `aperture` is the size, in
    bytes, of the network's addresses for each port of a node. In the time in which a fibre carries
    one packet, the user logic of a node can send or receive `local_width` packets.
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
class Fibre(Document):
    """A fibre between optical ports of two routers.

    `delay_ns` is the delay in one direction, from user logic to user logic: of the cores, the
    transceivers and the light. If the fibre is cut, `severed_at_ns` is the time of the cut from the
    beginning of the flows.
    """

    __pydantic_config__ = renamed(
        source="from", source_port="from_port", target="to", target_port="to_port"
    )

    id: str
    source: str
    source_port: int
    target: str
    target_port: int
    delay_ns: float
    bit_error_rate: float
    severed_at_ns: float | None


@dataclass(frozen=True, slots=True)
class IoPort(Document):
    """A port of a controller for an endpoint whose functions belong to several hosts.

    `owners` are the owner of the endpoint's physical function and the owners of its virtual
    functions, in this order.
    """

    name: str
    endpoint: str
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cable(Document):
    """A link between two controllers."""

    __pydantic_config__ = renamed(source="from", target="to")

    id: str
    source: str
    target: str
    generation: int
    gigatransfers: float
    lanes: int


@dataclass(frozen=True, slots=True)
class Controller(Document):
    """A crossbar between hosts, with the `nic` devices at its ports, in the order of the ports.

    `engine_bytes_per_second` is the payload rate of the slowest engine of these devices, and `None`
    if the crossbar has no `nic` devices.
    """

    name: str
    ports: tuple[str, ...]
    io_ports: tuple[IoPort, ...]
    virtual_channels: int
    get_channel: bool
    engine_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class Traffic(Document):
    """An open-loop workload: each node sends `load` bytes of payload a second.

    `senders` and `receivers` are "routers" (their user logic) or "hosts"; `message` is in bytes.
    Times count from the beginning of the flows. In traffic with a hot spot, `hot_node` is the
    number of the node in the network to which the share `hot_share` of all messages goes, in
    addition to its share of the other messages.
    """

    __pydantic_config__ = renamed(senders="from", receivers="to")

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
class MemoryFlow(Document):
    """The sockets whose memory stores the bytes of a flow to `to`, a host with several sockets.

    Without a key `socket`, a flow uses the whole memory of the host, beginning with socket 0.
    """

    id: str
    to: str
    sockets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tree(Document):
    """All nodes of a fabric, each after the node above it, and the connections between hosts.

    `flows` has only flows to the memory of hosts with several sockets.
    """

    name: str
    nodes: Annotated[Collection[Node], By("name")]
    networks: Annotated[Collection[Network], By("name")]
    controllers: Annotated[Collection[Controller], By("name")]
    cables: Collection[Cable]
    fibres: Collection[Fibre]
    traffic: Collection[Traffic]
    flows: Collection[MemoryFlow] = field(default_factory=Collection)

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Reads the JSON that the simulator writes."""
        return decode(cls, text)

    def to_json(self) -> dict[str, Any]:
        """The tree as the command line writes it."""
        return encode(self)

    def to_pandas(self) -> DataFrame:
        """The nodes as a pandas frame, with one line for each node.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.nodes.to_pandas()

    def _repr_html_(self) -> str:
        """The nodes, networks, cables and fibres as HTML for a notebook."""
        lists = ("nodes", "networks", "controllers", "cables", "fibres", "traffic")
        found = {name: rows for name in lists if (rows := getattr(self, name))}
        shown = (markup.title(name) + markup.table_of(rows) for name, rows in found.items())
        return markup.page(markup.title(self.name), *shown)

    def to_networkx(self) -> MultiGraph[str]:
        """The fabric as a graph of networkx, whose nodes and edges have the fields of this tree.

        The `kind` of an edge is "link", "port" (of a controller), "cable" or "fibre".

        Raises:
            MissingPackageError: networkx is not installed (`pip install 'peerlane[networkx]'`).
        """
        with optional("to_networkx needs networkx", "networkx"):
            from networkx import MultiGraph  # noqa: PLC0415 - optional
        graph: MultiGraph[str] = MultiGraph(name=self.name)
        for node in self.nodes:
            graph.add_node(node.name, **encode(node))
        for node in self.nodes:
            if node.upstream is not None:
                graph.add_edge(node.upstream.to, node.name, kind="link", **encode(node.upstream))
        for controller in self.controllers:
            graph.add_node(controller.name, kind="controller")
            for port in controller.ports:
                graph.add_edge(controller.name, port, kind="port")
        for kind, wires in (("cable", self.cables), ("fibre", self.fibres)):
            for wire in wires:
                graph.add_edge(wire.source, wire.target, kind=kind, **encode(wire))
        return graph

    def below(self, name: str) -> list[Node]:
        """The nodes that are one link below `name`, in the order of their ports."""
        links = [(n.upstream.port, n) for n in self.nodes if n.upstream and n.upstream.to == name]
        return [node for _, node in sorted(links, key=lambda link: link[0])]

    def root_of(self, node: Node) -> Node:
        """The host at the top of the tree that `node` is in."""
        while node.upstream is not None:
            node = self.nodes[node.upstream.to]
        return node

    def wires(self, source: str, target: str) -> list[tuple[str, str]]:
        """The links from one node to another of the same host, each with its direction.

        The connection of two sockets of the host is one of them. Requests that are redirected take
        more links than these.
        """
        up, down = self._links_above(source), self._links_above(target)
        way = [(f"{link.to}-{name}", "up") for name, link in up.items() if name not in down]
        back = [(f"{link.to}-{name}", "down") for name, link in down.items() if name not in up]
        if way and back and up.keys().isdisjoint(down):
            first, second = ([*links.values()][-1] for links in (up, down))
            sockets = [link.socket for link in (first, second) if link.socket is not None]
            if len(set(sockets)) > 1:
                between = f"{first.to}.{min(sockets)}-{max(sockets)}"
                way.append((between, "forth" if sockets[0] < sockets[1] else "back"))
        return [*way, *back[::-1]]

    def _links_above(self, name: str) -> dict[str, Upstream]:
        """The links from a node up to its host, by the nodes below them."""
        found: dict[str, Upstream] = {}
        while (link := self.nodes[name].upstream) is not None:
            found[name] = link
            name = link.to
        return found

    def fibres_of(self, network: Network) -> list[Fibre]:
        """The fibres between the routers of `network`."""
        members = set(network.routers)
        return [fibre for fibre in self.fibres if fibre.source in members]
