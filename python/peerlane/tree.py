"""The fabric as enumeration left it: who is where, how wide, how fast, at which addresses."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from peerlane.collection import Collection

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Upstream:
    """The link from a switch or device to the node above it."""

    to: str
    port: int
    generation: int
    lanes: int
    socket: int | None
    """Of the port above, where that is a root port of a host with several sockets."""


@dataclass(frozen=True, slots=True)
class Region:
    """Bus addresses that a node answers to or forwards: `memory`, `bar0` to `bar5`, `window`."""

    what: str
    base: int
    size: int

    @property
    def last(self) -> int:
        """The last address inside the region."""
        return self.base + self.size - 1


@dataclass(frozen=True, slots=True)
class Node:
    """A host, switch or device after enumeration; payload and request sizes in bytes."""

    name: str
    kind: str
    model: str | None
    id: str
    upstream: Upstream | None
    max_payload: int
    max_read_request: int | None
    regions: tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes, each after the one above it."""

    name: str
    nodes: Collection[Node]

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Reads the JSON that the simulator writes."""
        document = json.loads(text)
        return cls(document["name"], Collection(map(_node, document["nodes"]), key="name"))

    def to_json(self) -> dict[str, Any]:
        """The tree as the command line writes it."""
        return {"name": self.name, "nodes": [asdict(node) for node in self.nodes]}

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


def _node(fields: dict[str, Any]) -> Node:
    upstream = fields["upstream"]
    return Node(
        upstream=upstream and Upstream(**upstream),
        regions=tuple(Region(**region) for region in fields["regions"]),
        **{k: v for k, v in fields.items() if k not in {"upstream", "regions"}},
    )
