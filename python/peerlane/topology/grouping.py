"""Finds the boxes of a drawing: single nodes, or groups of siblings that are alike."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.topology.use import together

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from peerlane.fabric.tree import Node, Tree
    from peerlane.topology.use import Usage, Uses

MOST_COLUMNS = 14
"""If trees have more boxes side by side than this, siblings that are alike are drawn as groups."""
LEAST = 3
"""The least number of siblings that are drawn as a group."""


@dataclass(frozen=True, slots=True)
class Item:
    """Nodes that are drawn as one box, the items below them, and the use of the links above them.

    The nodes are alike, and so are all nodes below them and their links.
    """

    nodes: tuple[Node, ...]
    below: tuple[Item, ...]
    uses: Uses | None

    @property
    def node(self) -> Node:
        """The first of the nodes."""
        return self.nodes[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all nodes."""
        return tuple(node.name for node in self.nodes)

    @property
    def columns(self) -> int:
        """The number of boxes side by side at the lowest level."""
        return sum(item.columns for item in self.below) or 1

    @property
    def levels(self) -> int:
        """The number of levels of boxes."""
        return 1 + max((item.levels for item in self.below), default=0)


class Grouping:
    """Finds the nodes that may be drawn as one box.

    Args:
        tree: The fabric.
        usage: The use of the links. Nodes whose links have different colours are not alike.
        alone: A function that returns a property in which nodes must agree to be alike, such as the
            controller. A node for which it returns `None` is never grouped, and the nodes above it
            are not, either.
    """

    def __init__(self, tree: Tree, usage: Usage, alone: Callable[[Node], Hashable | None]) -> None:
        self._usage = usage
        self._alone = alone
        below: dict[str, list[Node]] = defaultdict(list)
        for node in tree.nodes:
            if node.upstream:
                below[node.upstream.to].append(node)
        self._below = {
            name: sorted(nodes, key=lambda node: node.upstream.port if node.upstream else 0)
            for name, nodes in below.items()
        }
        self._signatures: dict[str, Hashable] = {}
        for node in reversed(tree.nodes):  # lower nodes first
            self._signatures[node.name] = self._signature(node)

    def items(self, roots: Sequence[Node]) -> tuple[Item, ...]:
        """The items of some trees; nodes are grouped if there are too many to draw each."""
        single = tuple(self._item((root,), grouped=False) for root in roots)
        if sum(item.columns for item in single) <= MOST_COLUMNS:
            return single
        return self._grouped([(root,) for root in roots])

    def _grouped(self, sets: Iterable[tuple[Node, ...]]) -> tuple[Item, ...]:
        alike: dict[Hashable, list[tuple[Node, ...]]] = defaultdict(list)
        for nodes in sets:
            alike[self._signatures[nodes[0].name]].append(nodes)
        items: list[Item] = []
        for group in alike.values():
            if len(group) < LEAST:
                items += [self._item(nodes, grouped=True) for nodes in group]
            else:
                merged = tuple(node for nodes in group for node in nodes)
                items.append(self._item(merged, grouped=True))
        return tuple(items)

    def _item(self, nodes: tuple[Node, ...], *, grouped: bool) -> Item:
        columns = zip(*(self._below.get(node.name, ()) for node in nodes), strict=True)
        sets = [tuple(column) for column in columns]
        below = (
            self._grouped(sets)
            if grouped
            else tuple(self._item(one, grouped=False) for one in sets)
        )
        return Item(nodes, below, together(self._usage.links.get(node.name) for node in nodes))

    def _signature(self, node: Node) -> Hashable:
        """A value that is equal for nodes that are alike."""
        alone = self._alone(node)
        below = tuple(self._signatures[one.name] for one in self._below.get(node.name, ()))
        if alone is None:
            return node.name
        link = node.upstream
        uses = self._usage.links.get(node.name)
        return (
            node.kind,
            node.model,
            len(node.virtual_functions),
            link and (link.generation, link.gigatransfers, link.lanes, link.socket),
            uses and tuple(use.step for use in uses),
            alone,
            below,
        )
