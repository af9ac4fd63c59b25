"""Draws a fabric as SVG."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from peerlane.formats import size
from peerlane.results import markup
from peerlane.topology.grids import GridLayout
from peerlane.topology.grouping import Grouping
from peerlane.topology.joins import Joins
from peerlane.topology.legend import head_of, legend
from peerlane.topology.rows import RowLayout
from peerlane.topology.scene import Scene
from peerlane.topology.svg import written
from peerlane.topology.trees import Sockets, TreeLayout
from peerlane.topology.use import Usage

if TYPE_CHECKING:
    from peerlane.fabric.tree import Node, Tree
    from peerlane.results.run import RunResult
    from peerlane.results.wires import Wires
    from peerlane.topology.palette import Theme

BETWEEN = 34.0
"""The vertical space between parts of the fabric that are not connected."""
HEAD = 28.0
"""The height of the line with the fabric's name."""


@runtime_checkable
class Enumerated(Protocol):
    """The part of a `Simulation` that is drawn: a fabric after enumeration."""

    def tree(self) -> Tree:
        """The nodes and links of the fabric."""

    def wires(self) -> Wires:
        """The wires of the fabric, including links between sockets."""


class Buildable(Protocol):
    """The part of a `Fabric` that is needed to draw it."""

    def simulation(self) -> Enumerated:
        """The simulation of the fabric, after enumeration."""


class Drawing(str):
    """The text of an `<svg>` element, which notebooks show in the colours of the notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Drawing, SVG of {size(len(self))}>"

    def _repr_html_(self) -> str:
        return f'<div style="{markup.NOTEBOOK}">{self}</div>'


def draw(
    fabric: Buildable | Enumerated, result: RunResult | None = None, *, theme: Theme = "page"
) -> Drawing:
    """The topology of a fabric as one `<svg>` element.

    Links are labelled with their negotiated width and generation; lines of links with more lanes
    are wider. If a result is given, the colour of each direction shows the share of time in which
    it was in use, and stalls for credit are marked. Many siblings that are alike are drawn as one
    box.

    Args:
        fabric: A `Fabric` or a `Simulation`.
        result: The result of a run of this fabric.
        theme: The source of the colours. "page" uses the custom properties `--ink`, `--paper`,
            `--muted`, `--line` and `--accent` of the page; if the page does not define them, the
            drawing is light or dark, as the reader prefers. "light" and "dark" have fixed colours.

    Raises:
        ScenarioError: The fabric cannot be built.
    """
    simulation = fabric if isinstance(fabric, Enumerated) else fabric.simulation()
    tree = simulation.tree()
    scene = _scene(tree, Usage(tree, result), _sockets(tree, simulation.wires()))
    return Drawing(written(scene, f"Topology of {tree.name}", theme))


def _scene(tree: Tree, usage: Usage, sockets: dict[str, Sockets]) -> Scene:
    joins = Joins(tree)
    trees = TreeLayout(usage, sockets)
    grouping = Grouping(tree, usage, partial(_joint, joins))
    rows = RowLayout(joins, usage, trees, grouping.items)
    grids = GridLayout(joins, usage, trees, grouping.items)
    scene = Scene()
    scene.texts.append(head_of(tree))
    y = HEAD
    for part in joins.parts():
        simple = joins.is_simple(part)
        drawn = (grids.place(part.networks[0]) if simple else None) or rows.place(part)
        scene.add(drawn, 0.0, y)
        y = scene.height + BETWEEN
    if usage.known:
        scene.add(legend(stalls=usage.has_stalls, width=scene.width), 0.0, scene.height + 12)
    return scene


def _joint(joins: Joins, node: Node) -> str | None:
    """The controller of a node, or an empty text; `None` for a node with fibres, never grouped."""
    if node.name in joins.network:
        return None
    return joins.controller.get(node.name, "")


def _sockets(tree: Tree, wires: Wires) -> dict[str, Sockets]:
    """The sockets of hosts with several sockets, by the name of the host."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    hosts = {node.name for node in tree.nodes if node.kind == "host"}
    for wire in wires.links:
        name, _, pair = wire.id.rpartition(".")
        if name in hosts and wire.direction == "forth" and re.fullmatch(r"\d+-\d+", pair):
            one, other = map(int, pair.split("-"))
            found.setdefault(name, []).append((one, other, wire.id))
    return {
        name: Sockets(1 + max(other for _, other, _ in pairs), tuple(pairs))
        for name, pairs in found.items()
    }
