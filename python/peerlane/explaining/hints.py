"""One line for each flow that is far below its links: what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.fabric.tree import Node, Tree
    from peerlane.results.flows import FlowResult, LinkResult
    from peerlane.results.run import RunResult

    _Nodes = Mapping[str, Node]
    _Links = Mapping[tuple[str, str], LinkResult]

FAR_BELOW = 0.9
"""Share of the rate of its slowest link below which a line says what a flow waits for."""


def hints(result: RunResult, tree: Tree) -> Iterator[str]:
    """A line for each flow that is far below what its slowest link can carry.

    A run that nobody watched has none. Neither has a flow that waits for its own packets on a wire:
    its links are the limit, and the rest is the latency of its first and last packets.
    """
    if result.waits is None:
        return
    nodes = {node.name: node for node in tree.nodes}
    links = {(link.id, link.direction): link for link in result.links}
    for flow in result.explain().flows:
        most = _most(nodes, links, result.flows[flow.id])
        rate = flow.bytes_per_second
        if most is None or rate is None or flow.limit is None or flow.limit.kind == "wire":
            continue
        if rate < FAR_BELOW * most:
            yield flow.sentence


def _most(nodes: _Nodes, links: _Links, flow: FlowResult) -> float | None:
    """The payload a second that the slowest link on the way of a flow's data carries.

    The link carries payload in the share of its bytes that it had in this run, so the size of the
    packets counts. None if the way is not known, or carried nothing.
    """
    if flow.source not in nodes or flow.target not in nodes:
        return None
    one, other = nodes[flow.source], nodes[flow.target]
    ways = {"read": [(other, one)], "both": [(one, other), (other, one)]}
    total = 0.0
    for begin, end in ways.get(flow.direction, [(one, other)]):
        rates = [_rate(node, links[_id(node), way]) for node, way in _way(nodes, begin, end)]
        if not rates or None in rates:
            return None
        total += min(rate for rate in rates if rate is not None)
    return total


def _way(nodes: _Nodes, begin: Node, end: Node) -> list[tuple[Node, str]]:
    """The links from a node to another, by the nodes below them.

    Between trees, these are the links of the devices that join them: data comes from the memory of
    one host, and goes to that of another.
    """
    up, down = _above(nodes, begin), _above(nodes, end)
    if up[-1] != down[-1]:
        return [(node, "down") for node in up[:-1]] + [(node, "up") for node in down[:-1]]
    only_up = [node for node in up if node not in down]
    only_down = [node for node in down if node not in up]
    return [(node, "up") for node in only_up] + [(node, "down") for node in only_down]


def _above(nodes: _Nodes, node: Node) -> list[Node]:
    """A node and all above it."""
    found = [node]
    while link := found[-1].upstream:
        found.append(nodes[link.to])
    return found


def _id(node: Node) -> str:
    return f"{node.upstream.to}-{node.name}" if node.upstream else ""


def _rate(node: Node, link: LinkResult) -> float | None:
    if node.upstream is None or not link.payload_bytes:
        return None
    share = link.payload_bytes / (link.payload_bytes + link.overhead_bytes)
    return share * _core.link_bytes_per_second(node.upstream.gigatransfers, node.upstream.lanes)
