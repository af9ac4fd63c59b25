"""The base of all layouts: the parts of a fabric that each works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerlane.fabric.tree import Node
    from peerlane.topology.grouping import Item
    from peerlane.topology.joins import Joins
    from peerlane.topology.trees import TreeLayout
    from peerlane.topology.use import Usage


class Layout:
    """Places parts of a fabric.

    Args:
        joins: What joins the trees of the fabric.
        usage: What the links carried.
        trees: Places a tree.
        items: The items of the trees of some roots.
    """

    def __init__(
        self,
        joins: Joins,
        usage: Usage,
        trees: TreeLayout,
        items: Callable[[Sequence[Node]], tuple[Item, ...]],
    ) -> None:
        self._joins = joins
        self._usage = usage
        self._trees = trees
        self._items = items
