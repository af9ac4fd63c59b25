"""Defines the base class of all layouts."""

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
    """Places the parts of a fabric in a drawing.

    Args:
        joins: The connections between the trees of the fabric.
        usage: The use of the links in a run.
        trees: The layout that places a tree.
        items: A function that returns the items of the trees of some roots.
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
