"""Matches the nodes of all ranks: receives with their sends, and the nodes of each collective."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import zip_longest
from typing import TYPE_CHECKING

from peerlane.importing.traffic.chakra.collectives import KNOWN, Collective
from peerlane.importing.traffic.chakra.trace import Key, Node, NodeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ALL_RANKS = {"", "0"}
"""The names of the group of all ranks."""

_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Operation:
    """A node, or the nodes of a collective, one of each rank of its group."""

    nodes: tuple[Node, ...]
    send: Key | None = None
    """The send that a receive waits for."""

    @property
    def after(self) -> Iterator[Key]:
        """The nodes that must have ended before."""
        yield from (one for node in self.nodes for one in node.after)
        if self.send is not None:
            yield self.send


def operations(traces: Mapping[int, Sequence[Node]]) -> list[Operation]:
    """The operations of all ranks, each after the ones that it depends on.

    Raises:
        FileError: Nodes do not match each other, or wait for each other.
    """
    sends = _sends(traces)
    found = [*_collectives(traces)]
    found += [
        Operation((node,), sends.get(node.key))
        for nodes in traces.values()
        for node in nodes
        if node.type != NodeType.COMM_COLL_NODE
    ]
    of = {node.key: number for number, one in enumerate(found) for node in one.nodes}
    graph = {
        number: list(dict.fromkeys(of[key] for key in one.after))
        for number, one in enumerate(found)
    }
    try:
        return [found[number] for number in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        first, *others = (found[number].nodes[0] for number in reversed(error.args[1]))
        names = [f"node {one.id} of rank {one.rank}" for one in others[:_MOST_NAMES]]
        names += ["others"] * (len(others) > _MOST_NAMES)
        raise first.error(f"waits for itself: after {', after '.join(names)}") from None


def _sends(traces: Mapping[int, Sequence[Node]]) -> dict[Key, Key]:
    """For each receive, the send with the same ends and tag, and the same place among these."""
    waiting: defaultdict[tuple[int, int, int], deque[Node]] = defaultdict(deque)
    for node in _of(traces, NodeType.COMM_SEND_NODE):
        peer = _peer(node, "comm_src", "comm_dst", traces)
        waiting[node.rank, peer, node.number("comm_tag", 0)].append(node)
    found = {}
    for node in _of(traces, NodeType.COMM_RECV_NODE):
        peer = _peer(node, "comm_dst", "comm_src", traces)
        tag = node.number("comm_tag", 0)
        if not (sends := waiting[peer, node.rank, tag]):
            raise node.error(f"receives from rank {peer} with tag {tag}, which no node there sends")
        send = sends.popleft()
        size = send.number("comm_size")
        if node.number("comm_size", size) != size:
            raise node.error(f"receives another size than node {send.id} of rank {peer} sends")
        found[node.key] = send.key
    for (_, peer, tag), sends in waiting.items():
        if sends:
            raise sends[0].error(
                f"sends to rank {peer} with tag {tag}, which no node there receives"
            )
    return found


def _peer(node: Node, own: str, other: str, traces: Mapping[int, Sequence[Node]]) -> int:
    """The rank at the other end of a send or a receive."""
    if node.number(own, node.rank) != node.rank:
        raise node.error(f"has {own} {node.number(own)}, and the file is of rank {node.rank}")
    peer = node.number(other)
    if peer not in traces or peer == node.rank:
        raise node.error(f"has {other} {peer}, and no other file is of this rank; add its file")
    return peer


def _of(traces: Mapping[int, Sequence[Node]], kind: NodeType) -> Iterator[Node]:
    return (node for nodes in traces.values() for node in nodes if node.type == kind)


def _collectives(traces: Mapping[int, Sequence[Node]]) -> Iterator[Operation]:
    """The collectives of all groups; each rank has the collectives of a group in the same order."""
    groups: defaultdict[str, dict[int, list[Node]]] = defaultdict(dict)
    for node in _of(traces, NodeType.COMM_COLL_NODE):
        name = str(node.attributes.get("pg_name", ""))
        group = groups["" if name in _ALL_RANKS else name]
        group.setdefault(node.rank, []).append(node)
    for name, group in groups.items():
        ranks = group if name else traces
        for nodes in zip_longest(*(group.get(rank, []) for rank in ranks)):
            present = [node for node in nodes if node is not None]
            first = present[0]
            for rank, node in zip(ranks, nodes, strict=True):
                if node is None:
                    raise first.error(f"is a collective in which rank {rank} takes no part")
                form, its = collective_of(node), collective_of(first)
                if form != its:
                    raise node.error(
                        f"is {form[0].name} of {form[1]} B, and node {first.id} of rank "
                        f"{first.rank}, at the same place in the group, {its[0].name} of {its[1]} B"
                    )
            yield Operation(tuple(present))


def collective_of(node: Node) -> tuple[Collective, int]:
    """The kind of a collective, and the bytes that each rank gives.

    Raises:
        FileError: The collective is not known, or not of a whole group.
    """
    number = node.number("comm_type")
    kind = Collective(number) if number in set(Collective) else None
    if kind not in KNOWN:
        known = ", ".join(one.name for one in sorted(KNOWN))
        name = number if kind is None else kind.name
        raise node.error(f"has the comm_type {name}; the collectives that are imported are {known}")
    involved = node.attributes.get("involved_dim", [])
    if isinstance(involved, list) and not all(involved):
        raise node.error("is of some dimensions only (involved_dim); name its group by pg_name")
    return kind, node.number("comm_size", 0 if kind == Collective.BARRIER else None)
