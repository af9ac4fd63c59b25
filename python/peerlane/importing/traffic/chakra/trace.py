"""Reads the nodes of Chakra execution traces (MLCommons), one file for each rank."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.importing.traffic.chakra import wire
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

_RANK = re.compile(r".*\.(\d{1,9})\.et", re.DOTALL)
"""The name of a file, which ends with its rank."""

_VERSION, _METADATA = 1, 2
"""The fields of the first message of a file."""
_ID, _TYPE, _CTRL_DEPS, _DATA_DEPS, _DURATION, _ATTR = 1, 3, 4, 5, 7, 10
"""The fields of a node that are read."""
_ATTR_NAME = 1
_INTEGERS = {7, 9, 11, 13, 27}
"""The fields of an attribute for values of the types int32, int64, uint32, uint64 and bool."""
_BOOLS, _TEXT = 28, 29


class NodeType(IntEnum):
    """The types of nodes in traces."""

    INVALID_NODE = 0
    METADATA_NODE = 1
    MEM_LOAD_NODE = 2
    MEM_STORE_NODE = 3
    COMP_NODE = 4
    COMM_SEND_NODE = 5
    COMM_RECV_NODE = 6
    COMM_COLL_NODE = 7
    STORAGE_NODE = 8
    BATCH_NODE = 9
    CHECKPOINT_NODE = 10


Key = tuple[int, int]
"""The rank and the id of a node."""


@dataclass(slots=True)
class Node:
    """A node of the trace of a rank; `after` has the nodes that must have ended before it."""

    path: str
    rank: int
    id: int = 0
    type: NodeType = NodeType.INVALID_NODE
    after: list[Key] = field(default_factory=list)
    micros: int = 0
    attributes: dict[str, int | str | list[int]] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """The rank and the id."""
        return self.rank, self.id

    def number(self, name: str, default: int | None = None) -> int:
        """The value of an attribute that is a number of at least 0.

        Raises:
            FileError: The node has no number of this name, or a negative one.
        """
        found = self.attributes.get(name, default)
        if not isinstance(found, int) or found < 0:
            raise self.error(f"has no attribute {name} of an integer type that is 0 or more")
        return found

    def error(self, what: str) -> FileError:
        """The error of this node, whose message goes on with `what`."""
        return FileError(f"{self.path}: node {self.id} {what}")


def read(paths: Sequence[str]) -> dict[int, list[Node]]:
    """The nodes of all files, by rank.

    Raises:
        OSError: A file cannot be read.
        FileError: A file is damaged or no trace, or does not belong to the others.
    """
    found: dict[int, list[Node]] = {}
    of: dict[int, str] = {}
    for path in paths:
        named = _RANK.fullmatch(path)
        if named is None:
            raise FileError(f"{path} has no rank in its name; name the file like trace.0.et")
        rank = int(named[1])
        if rank in of:
            raise FileError(f"{of[rank]} and {path} are both of rank {rank}; give one file of each")
        of[rank] = path
        found[rank] = _nodes(path, rank)
    return dict(sorted(found.items()))


def _nodes(path: str, rank: int) -> list[Node]:
    """The nodes of a file, whose first message is not a node."""
    content = Path(path).read_bytes()
    if not _is_trace(content):
        raise FileError(
            f"{path} is no Chakra execution trace, which begins with its GlobalMetadata; "
            "name a file that Chakra has written"
        )
    nodes: dict[int, Node] = {}
    try:
        for message in islice(wire.messages(content), 1, None):
            node = _node(message, Node(path, rank))
            if nodes.setdefault(node.id, node) is not node:
                raise node.error("is there twice; each node has an id of its own")
    except FileError:
        raise
    except ValueError as error:
        raise FileError(
            f"{path}: node {len(nodes) + 1} of the file is damaged: {error}; copy the file again"
        ) from None
    if not nodes:
        raise FileError(f"{path} has no nodes; name a trace of a rank that communicates")
    for node in nodes.values():
        for _, one in node.after:
            if one not in nodes:
                raise node.error(f"depends on node {one}, which is not in the file")
    return list(nodes.values())


def _is_trace(content: bytes) -> bool:
    try:
        head = dict(wire.fields(next(wire.messages(content), b"")))
    except ValueError:
        return False
    return bool(head) and head.keys() <= {_VERSION, _METADATA}


def _node(message: bytes, node: Node) -> Node:
    for number, value in wire.fields(message):
        match number, value:
            case (_, int()) if number == _ID:
                node.id = value
            case (_, int()) if number == _TYPE:
                if value not in set(NodeType):
                    raise node.error(
                        f"has the unknown type {value}; types are 0 to {max(NodeType)}"
                    )
                node.type = NodeType(value)
            case _ if number in {_CTRL_DEPS, _DATA_DEPS}:
                node.after += [(node.rank, one) for one in wire.numbers(value)]
            case (_, int()) if number == _DURATION:
                node.micros = value
            case (_, bytes()) if number == _ATTR:
                node.attributes |= _attribute(value)
    return node


def _attribute(message: bytes) -> dict[str, int | str | list[int]]:
    """The name of an attribute and its value, if the value has a type that is read."""
    name = ""
    found: int | str | list[int] | None = None
    for number, value in wire.fields(message):
        match number, value:
            case (_, bytes()) if number == _ATTR_NAME:
                name = value.decode()
            case (_, int()) if number in _INTEGERS:
                found = wire.signed(value)
            case (_, bytes()) if number == _TEXT:
                found = value.decode()
            case (_, bytes()) if number == _BOOLS:
                found = [one for _, some in wire.fields(value) for one in wire.numbers(some)]
    return {} if found is None else {name: found}
