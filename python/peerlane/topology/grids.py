"""Places the routers of networks by their shape: rings, meshes and tori with wrap-around links.

In small networks of one or two dimensions, each place of the grid has a box for the host and a box
for the router below it. In larger networks, and in networks of three dimensions, each place has a
mark (a circle) for both.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from peerlane.charts.lettering import widest
from peerlane.formats import counted, duration
from peerlane.topology.layout import Layout
from peerlane.topology.places import Grid, circle_of, grid_of
from peerlane.topology.routes import COLUMN, OUT, Way, direct, orthogonal, way_of
from peerlane.topology.scene import SMALL, Box, Point, Scene, Text, Wire
from peerlane.topology.trees import PADDING, thickness
from peerlane.topology.use import step_of, together
from peerlane.topology.words import (
    fibre_note,
    kind_of,
    lanes_of,
    link_note,
    named,
    shares,
    speed_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from peerlane.fabric.tree import Fibre, Network, Node
    from peerlane.topology.grouping import Item
    from peerlane.topology.use import Uses

MOST_CELLS = 36
"""In networks with more routers than this, each place has a mark instead of boxes."""
MOST_WIRES = 600
"""In networks with more fibres than this, all fibres that are alike are drawn as one wire."""

MOST_NUMBERS = 16
"""On sides with more places than this, only every fourth coordinate is written."""

CAPTION = 44.0
"""The height of the lines that describe a network."""
ROUTER = 26.0
LINK = 46.0
BESIDE = 62.0
"""The horizontal space between two places, and the vertical space."""
BELOW = 36.0
SIZES = ((64, 15.0), (256, 11.0))
"""The size of marks in networks of up to 64 and of up to 256 routers."""
SMALLEST = 9.0
DEEP = (2.3, -1.7)
"""The offset from a place to the next place along the third dimension, in sizes of marks."""


class GridLayout(Layout):
    """Places networks in which each router is in a tree of its own."""

    @cached_property
    def _members(self) -> dict[str, list[Node]]:
        """The nodes of each tree, by the name of its root."""
        members: dict[str, list[Node]] = defaultdict(list)
        for node in self._joins.tree.nodes:
            members[self._joins.root[node.name]].append(node)
        return members

    def place(self, network: Network) -> Scene | None:
        """The drawing of the network; `None` if it must be drawn as trees with fibres below."""
        fibres = self._joins.fibres[network.name]
        grid = grid_of(network, fibres)
        few = len(network.routers) <= MOST_CELLS
        if grid and few and len(grid.sides) <= 2 and self._are_chains(network):  # noqa: PLR2004 - flat
            scene = self._cells(network, grid)
        elif grid is None and few:
            return None
        else:
            scene = self._marks(network, grid)
        whole = Scene()
        whole.add(scene, 0.0, CAPTION)
        self._caption(whole, network, fibres)
        return whole

    def _are_chains(self, network: Network) -> bool:
        """Whether each tree is a chain of nodes that ends with its router."""
        return all(
            len({node.upstream.to for node in members if node.upstream}) == len(members) - 1
            and members[-1].name == router
            for router in network.routers
            for members in [self._members[self._joins.root[router]]]
        )

    def _caption(self, scene: Scene, network: Network, fibres: Sequence[Fibre]) -> None:
        sides = "x".join(map(str, network.sides or ()))
        shape = f"{network.shape} {sides}" if network.shape else "network"
        routers = counted(len(network.routers), "router")
        title = f"{network.name}: {shape}, {routers}, {network.routing} routing"
        delays = sorted({duration(fibre.delay_ns) for fibre in fibres})
        span = f", {' and '.join(delays)}" if 0 < len(delays) < 3 else ""  # noqa: PLR2004 - few
        scene.texts.append(Text(0.0, 12.0, title, style="title"))
        said = f"{counted(len(fibres), 'fibre')} of {lanes_of(network)}{span}"
        scene.texts.append(Text(0.0, 27.0, said))

    # Networks with boxes for hosts and routers

    def _cells(self, network: Network, grid: Grid) -> Scene:
        """The drawing with boxes for a host and the router below it at each place."""
        scene = Scene()
        trees = {router: self._trees.place(self._above(router)) for router in network.routers}
        wide = max(tree.width for tree in trees.values())
        high = max(tree.height for tree in trees.values())
        # Fibres in a column are drawn in the left fifth of a router's width, and the link to its
        # host in the remaining width.
        own = max(widest(network.routers) + 2 * PADDING, (wide / 2 + 2 * PADDING) / (1 - COLUMN))
        pitch = max(own, own * COLUMN + PADDING + wide) + BESIDE, high + LINK + ROUTER + BELOW
        routers: dict[str, Box] = {}
        for router, (x, *rest) in grid.at.items():
            left = OUT * 1.6 + x * pitch[0]
            top = OUT * 0.4 + (rest[0] if rest else 0.0) * pitch[1]
            tree = trees[router]
            beside = left + own * COLUMN + PADDING
            scene.add(tree, beside + (wide - tree.width) / 2, top + high - tree.height)
            node = self._joins.tree.nodes[router]
            box = Box(
                (router,), "router", left, top + high + LINK, own, ROUTER, (router,), _note(node)
            )
            routers[router] = box
            scene.boxes.append(box)
            self._link(scene, node, box)
        scene.width = max(scene.width, *(box.right for box in routers.values())) + OUT
        scene.height = max(scene.height, *(box.bottom for box in routers.values())) + OUT * 1.4
        self._fibres(scene, network, grid, routers, orthogonal)
        return scene

    def _above(self, router: str) -> Item:
        """The tree above a router, without the router."""
        (item,) = self._items([self._joins.tree.nodes[self._joins.root[router]]])
        return _without(item, router)

    def _link(self, scene: Scene, node: Node, box: Box) -> None:
        """Draws the link between a router and the node above it as a vertical line."""
        link = node.upstream
        if link is None:
            return
        above = scene.by_name()[link.to]
        x = above.centre[0]
        uses = self._usage.links.get(node.name)
        key = f"{link.to}-{node.name}"
        broken = "did not come up" if key in self._usage.failed else None
        note = link_note(f"{key}: {speed_of(link)}", uses, ("down", "up"), broken or "")
        line = ((x, above.bottom), (x, box.y))
        ends = (link.to, node.name)
        size = thickness(link.lanes)
        scene.wires.append(Wire((key,), "link", ends, (line,), size, note, uses, broken))
        said = [width_of(link), *shares(uses, "↓↑")]
        for number, text in enumerate(said):
            at = (above.bottom + box.y) / 2 + 3.5 + 12 * (number - (len(said) - 1) / 2)
            scene.texts.append(Text(x + size / 2 + 7, at, text))

    # Networks with a mark for each place

    def _marks(self, network: Network, grid: Grid | None) -> Scene:
        """The drawing with a mark for the router and its tree at each place."""
        scene = Scene()
        count = len(network.routers)
        size = next((size for most, size in SIZES if count <= most), SMALLEST)
        at = _places(network, grid, size)
        left = min(x for x, _ in at.values()) - 3 * OUT
        top = min(y for _, y in at.values()) - 2 * OUT
        marks = {name: self._mark(name, x - left, y - top, size) for name, (x, y) in at.items()}
        if len(self._joins.fibres[network.name]) > MOST_WIRES:
            marks = self._told(network, marks)
        scene.boxes += marks.values()
        scene.width = max(box.right for box in marks.values()) + 2 * OUT
        scene.height = max(box.bottom for box in marks.values()) + 2 * OUT
        if grid:
            _number(scene, network, grid, marks)
        self._fibres(scene, network, grid or Grid({}, (), wraps=False), marks, direct)
        first = self._members[self._joins.root[network.routers[0]]]
        kinds = " and ".join(counted(number, what) for what, number in _kinds(first))
        links = sorted({width_of(node.upstream) for node in first if node.upstream})
        said = f"each circle: {kinds}, joined by {', '.join(links)}"
        scene.height += 22
        scene.texts.append(Text(0.0, scene.height - 4, said))
        return scene

    def _mark(self, router: str, x: float, y: float, size: float) -> Box:
        members = self._members[self._joins.root[router]]
        links = [(node, node.upstream) for node in members if node.upstream]
        notes = [f"{router}: {kind_of(self._joins.tree.nodes[router])} below {members[0].name}"]
        found = []
        for node, link in links:
            uses = self._usage.links.get(node.name)
            found.append(uses)
            key = f"{link.to}-{node.name}"
            notes.append(link_note(f"{key}: {speed_of(link)}", uses, ("down", "up")))
        uses = together(found)
        names = (router, *(node.name for node in members if node.name != router))
        return Box(
            names,
            "router",
            x,
            y,
            size,
            size,
            (),
            "\n".join(notes),
            links=tuple(f"{link.to}-{node.name}" for node, link in links),
            fill=None if uses is None else step_of(max(use.most for use in uses)),
        )

    def _told(self, network: Network, marks: Mapping[str, Box]) -> dict[str, Box]:
        """The marks, with the use of each fibre in their tooltips; fibres are drawn in groups."""
        notes = {router: [mark.note] for router, mark in marks.items()}
        for fibre in self._joins.fibres[network.name]:
            if uses := self._usage.fibres.get(fibre.id):
                notes[fibre.source].append(f"to {fibre.target}: {uses[0].told()}")
                notes[fibre.target].append(f"to {fibre.source}: {uses[1].told()}")
        return {
            router: replace(mark, note="\n".join(notes[router])) for router, mark in marks.items()
        }

    # Fibres of both kinds of networks

    def _fibres(
        self,
        scene: Scene,
        network: Network,
        grid: Grid,
        routers: Mapping[str, Box],
        route: Callable[[Box, Box, Way], tuple[Point, ...]],
    ) -> None:
        """Draws all fibres; in large networks, fibres that are alike are drawn as one wire."""
        seen: set[tuple[str, str]] = set()
        wires: list[tuple[Fibre, tuple[Point, ...], Uses | None]] = []
        for fibre in self._joins.fibres[network.name]:
            line = route(routers[fibre.source], routers[fibre.target], way_of(grid, fibre, seen))
            wires.append((fibre, line, self._usage.fibres.get(fibre.id)))
        if len(wires) > MOST_WIRES:
            scene.wires += _merged(network, wires)
            return
        scene.wires += [
            Wire(
                (fibre.id,),
                "fibre",
                (fibre.source, fibre.target),
                (line,),
                min(thickness(network.lanes), 2.4),
                fibre_note(network, fibre, uses),
                uses,
                None if fibre.severed_at_ns is None else "severed",
            )
            for fibre, line, uses in wires
        ]


def _merged(
    network: Network, wires: Iterable[tuple[Fibre, tuple[Point, ...], Uses | None]]
) -> list[Wire]:
    """A wire for all fibres with the same colours, and whose state (cut or not) is the same."""
    alike: dict[object, list[tuple[Fibre, tuple[Point, ...], Uses | None]]] = defaultdict(list)
    for fibre, line, uses in wires:
        steps = uses and (uses[0].step, uses[1].step)
        alike[steps, fibre.severed_at_ns is None].append((fibre, line, uses))
    merged = []
    for group in alike.values():
        ids = tuple(fibre.id for fibre, _, _ in group)
        uses = together(uses for _, _, uses in group)
        severed = group[0][0].severed_at_ns is not None
        title = f"{counted(len(ids), 'fibre')} of {lanes_of(network)}: {named(ids)}"
        note = link_note(title, uses, ("from the first router", "from the second router"))
        lines = tuple(line for _, line, _ in group)
        broken = "severed" if severed else None
        merged.append(Wire(ids, "fibre", None, lines, 1.6, note, uses, broken))
    return merged


def _places(network: Network, grid: Grid | None, size: float) -> dict[str, Point]:
    """The upper left corners of marks of the given size."""
    if grid is None:
        pitch = size + 14
        return {name: (x * pitch, y * pitch) for name, (x, y) in circle_of(network).items()}
    deep = grid.sides[2] - 1 if len(grid.sides) > 2 else 0  # noqa: PLR2004 - three dimensions
    into = (DEEP[0] * size, DEEP[1] * size)
    pitch = 2.2 * size + 12
    across, down = pitch + into[0] * deep, pitch - into[1] * deep
    places = {}
    for name, place in grid.at.items():
        x, y, z = (*place, 0.0, 0.0)[:3]
        places[name] = (x * across + z * into[0], y * down + z * into[1])
    return places


def _number(scene: Scene, network: Network, grid: Grid, marks: Mapping[str, Box]) -> None:
    """Writes the coordinates of columns and rows beside the marks."""
    if network.sides is None or len(grid.sides) != len([s for s in network.sides if s > 1]):
        return
    for name, place in grid.at.items():
        box = marks[name]
        x, y, *rest = (*place, 0.0, 0.0)[:3]
        if any(rest):
            continue
        last = grid.sides[1] - 1 if len(grid.sides) > 1 else 0
        if y == last and x % _every(grid.sides[0]) == 0:
            at = Text(box.centre[0], box.bottom + 2 * OUT, f"{x:g}", "middle")
            scene.texts.append(at)
        if x == 0 and y % _every(last + 1) == 0 and len(grid.sides) > 1:
            scene.texts.append(Text(box.x - 2 * OUT, box.centre[1] + SMALL / 3, f"{y:g}", "end"))


def _every(side: int) -> int:
    """The step between the coordinates that are written at a side: 1, or 4 on a long side."""
    return 1 if side <= MOST_NUMBERS else 4


def _kinds(members: Sequence[Node]) -> list[tuple[str, int]]:
    found: dict[str, int] = defaultdict(int)
    for node in members:
        found[kind_of(node)] += 1
    return list(found.items())


def _without(item: Item, name: str) -> Item:
    """An item without the node `name` below it."""
    below = [_without(child, name) for child in item.below if name not in child.names]
    return replace(item, below=tuple(below))


def _note(node: Node) -> str:
    return f"{node.name}: {kind_of(node)} {node.id}\nMPS {node.max_payload} B"
