"""The drawing of a fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from peerlane.report.topology.grouping import Grouping
from peerlane.report.topology.scene import Scene
from peerlane.report.topology.svg import written
from peerlane.report.topology.trees import Sockets, TreeLayout
from peerlane.report.topology.use import Usage

if TYPE_CHECKING:
    from peerlane.fabric.tree import Tree
    from peerlane.report.topology.palette import Theme
    from peerlane.results.run import RunResult
    from peerlane.results.wires import Wires

BETWEEN = 34.0
"""Between two trees."""


@runtime_checkable
class Enumerated(Protocol):
    """A fabric that is enumerated: a `Simulation`."""

    def tree(self) -> Tree:
        """Its nodes and links."""

    def wires(self) -> Wires:
        """Its links, with those between sockets."""


class Buildable(Protocol):
    """A fabric that can be simulated: a `Fabric`."""

    def simulation(self) -> Enumerated:
        """The fabric, enumerated."""


def draw(
    fabric: Buildable | Enumerated, result: RunResult | None = None, *, theme: Theme = "page"
) -> str:
    """The topology of a fabric as one `<svg>` element.

    Links have their negotiated width and generation, and are the wider the more lanes they have.
    With a result, each direction has the colour of its use, and stalls for credit are marked.
    Siblings that are alike are drawn as one where there are many.

    Args:
        fabric: A `Fabric` or a `Simulation`.
        result: Of a run of this fabric.
        theme: Whose colours it has. "page" takes them from the custom properties `--ink`,
            `--paper`, `--muted`, `--line` and `--accent` of the page around it, and where there are
            none, it is light or dark as the reader prefers. "light" and "dark" have colours of
            their own.

    Raises:
        ScenarioError: The fabric cannot be built.
    """
    simulation = fabric if isinstance(fabric, Enumerated) else fabric.simulation()
    tree = simulation.tree()
    scene = _scene(tree, Usage(tree, result), _sockets(tree, simulation.wires()))
    return written(scene, f"Topology of {tree.name}", theme)


def _scene(tree: Tree, usage: Usage, sockets: dict[str, Sockets]) -> Scene:
    grouping = Grouping(tree, usage, lambda _: "")
    layout = TreeLayout(usage, sockets)
    scene = Scene()
    x = 0.0
    for item in grouping.items([node for node in tree.nodes if node.upstream is None]):
        part = layout.place(item)
        scene.add(part, x, 0.0)
        x += part.width + BETWEEN
    return scene


def _sockets(tree: Tree, wires: Wires) -> dict[str, Sockets]:
    """The hosts with several sockets."""
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
