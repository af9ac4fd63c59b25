"""Places PCI Express trees from top to bottom: hosts, switches, devices and their links.

A host or switch is as wide as all nodes below it together, so that each link is a vertical line
from a port.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from peerlane.charts.lettering import text_width, widest
from peerlane.formats import counted
from peerlane.topology.scene import (
    BOLD,
    SMALL,
    Box,
    Kind,
    Scene,
    Text,
    Wire,
)
from peerlane.topology.use import link_id, percent
from peerlane.topology.words import lines_of, link_note, named, note_of, shares, speed_of, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from peerlane.fabric.tree import Node
    from peerlane.topology.grouping import Item
    from peerlane.topology.scene import Cell, Point, Port
    from peerlane.topology.use import Usage

LINE = 15.0
"""The distance from one line of text in a box to the next."""
PADDING = 12.0
"""The space between the text of a box and its edge."""
LEAST_WIDTH = 92.0
GAP = 18.0
"""The space between two boxes side by side."""
LINK = 62.0
"""The length of the line of a link between two levels."""
PORT = 14.0
"""The height of a port number, which is half of its width."""
SOCKET = 22.0
"""The height of a socket within its host."""
SOCKET_GAP = 46.0
SOCKET_LANE = 9.0
"""The distance between the lines of links between sockets that are not neighbours."""
USED_GAP, USED_LANE = 88.0, 15.0
"""The gap between sockets, and the distance of the lines of their links, if these have labels."""
LABEL = 7.0
"""The distance from a link to its label."""


def thickness(lanes: int) -> float:
    """The width of the line of a link: for twice the lanes, it is 1.4 times as wide."""
    return round(1.7 * sqrt(lanes), 1)


@dataclass(frozen=True, slots=True)
class Sockets:
    """The number of sockets of a host, and each link between sockets: both sockets and its id."""

    count: int
    pairs: tuple[tuple[int, int, str], ...]

    @property
    def lanes(self) -> list[tuple[int, int, str]]:
        """The links between sockets that are not neighbours."""
        return [pair for pair in self.pairs if pair[1] - pair[0] > 1]


class TreeLayout:
    """Places the items of trees.

    Args:
        usage: The use of the links.
        sockets: The sockets of hosts with several sockets, by the name of the host.
    """

    def __init__(self, usage: Usage, sockets: Mapping[str, Sockets]) -> None:
        self._usage = usage
        self._sockets = sockets
        self._widths: dict[int, tuple[Item, float]] = {}
        self._gap = USED_GAP if usage.known else SOCKET_GAP
        self._lane = USED_LANE if usage.known else SOCKET_LANE

    def place(self, item: Item) -> Scene:
        """The drawing of one tree, as small as possible."""
        scene = Scene()
        self._place(scene, item, 0.0, 0.0)
        return scene

    def _place(self, scene: Scene, item: Item, x: float, y: float) -> Box:
        """Places an item and all items below it into a column, whose left edge is at `x`."""
        whole, height = self._width(item), self._height(item)
        parts = self._parts(item)
        left = x + (whole - _sum(width for _, width in parts) - self._gap * (len(parts) - 1)) / 2
        cells: list[Cell] = []
        placed: list[tuple[Item, Box]] = []
        for number, (children, width) in enumerate(parts):
            cells.append((left, width, self._cell(item.node.name, number)))
            middle = left + (width - _sum(self._width(child) + GAP for child in children)) / 2
            for child in children:
                box = self._place(scene, child, middle + GAP / 2, y + height + LINK)
                placed.append((child, box))
                middle += self._width(child) + GAP
            left += width + self._gap
        box = self._box(item, (x, y, whole), cells, placed)
        scene.boxes.append(box)
        scene.width, scene.height = max(scene.width, x + whole), max(scene.height, box.bottom)
        self._join_sockets(scene, item, box)
        for child, below in placed:
            self._link(scene, item, child, (box, below))
        return box

    def _box(
        self,
        item: Item,
        column: tuple[float, float, float],
        cells: Sequence[Cell],
        placed: Sequence[tuple[Item, Box]],
    ) -> Box:
        x, y, whole = column
        own, height = self._own_width(item), self._height(item)
        centres = [below.centre[0] for _, below in placed]
        first, last = (centres[0], centres[-1]) if centres else (x + whole / 2, x + whole / 2)
        half = max(own, last - first + 2 * PORT) / 2
        left = max(x, min((first + last) / 2 - half, x + whole - 2 * half))
        sockets = self._sockets.get(item.node.name)
        if sockets:
            left, half = x, whole / 2
        ports: list[Port] = [
            (centre, y + height, _port(child))
            for (child, _), centre in zip(placed, centres, strict=True)
        ]
        return Box(
            names=item.names,
            kind=_kind(item.node),
            x=left,
            y=y,
            width=2 * half,
            height=height,
            lines=self._lines(item),
            note=note_of(item),
            cells=tuple(cells) if sockets else (),
            ports=tuple(ports),
        )

    def _parts(self, item: Item) -> list[tuple[list[Item], float]]:
        """The items below each socket of a host, or below any other node, and their width."""
        sockets = self._sockets.get(item.node.name)
        if sockets is None:
            return [(list(item.below), _sum(self._width(child) + GAP for child in item.below))]
        least = text_width(self._cell(item.node.name, 0), SMALL) + PADDING
        parts = []
        for socket in range(sockets.count):
            here = [child for child in item.below if _socket(child) == socket]
            parts.append((here, max(least, _sum(self._width(child) + GAP for child in here))))
        return parts

    def _width(self, item: Item) -> float:
        """The width of an item's column: the width of its box, or of all items below if larger."""
        if id(item) not in self._widths:  # `_widths` holds the item, so its id stays unique
            parts = self._parts(item)
            below = _sum(width for _, width in parts) + self._gap * (len(parts) - 1)
            margin = 2 * PADDING if item.node.name in self._sockets else -GAP
            self._widths[id(item)] = item, max(self._own_width(item), below + margin)
        return self._widths[id(item)][1]

    def _own_width(self, item: Item) -> float:
        name, *_ = lines = self._lines(item)
        return max(LEAST_WIDTH, max(widest(lines), BOLD * text_width(name)) + 2 * PADDING)

    def _lines(self, item: Item) -> tuple[str, ...]:
        """The text of a box; the text of a host with one socket includes the use of its memory."""
        lines = lines_of(item)
        memories = self._usage.memories.get(item.node.name, {})
        if len(item.nodes) > 1 or not memories or item.node.name in self._sockets:
            return lines
        return (*lines[:-1], f"{lines[-1]}, memory {percent(memories[0])}")

    def _cell(self, host: str, socket: int) -> str:
        """The text of a socket, with the use of its memory."""
        memories = self._usage.memories.get(host, {})
        used = f", memory {percent(memories[socket])}" if socket in memories else ""
        return f"socket {socket}{used}"

    def _height(self, item: Item) -> float:
        height = LINE * len(self._lines(item)) + PADDING
        if sockets := self._sockets.get(item.node.name):
            return height + SOCKET + PORT + self._lane * len(sockets.lanes)
        return height + PORT * bool(item.below)

    def _join_sockets(self, scene: Scene, item: Item, host: Box) -> None:
        """Draws links between sockets: straight between neighbours, otherwise above the sockets."""
        name = item.node.name
        if (sockets := self._sockets.get(name)) is None:
            return
        middle = host.bottom - PORT - SOCKET / 2
        lane = host.bottom - PORT - SOCKET
        for one, other, key in sockets.pairs:
            (left, width, _), (right, _, _) = host.cells[one], host.cells[other]
            if other - one == 1:
                points: tuple[Point, ...] = ((left + width, middle), (right, middle))
            else:
                lane -= self._lane
                start, end = left + width - PADDING, right + PADDING
                top = host.bottom - PORT - SOCKET
                points = ((start, top), (start, lane), (end, lane), (end, top))
            uses = self._usage.others.get(key)
            title = f"{key}: between sockets {one} and {other} of {name}"
            note = link_note(title, uses, (f"from socket {one}", f"from socket {other}"))
            wire = Wire((key,), "socket", (name, name), (points,), thickness(8), note, uses)
            scene.wires.append(wire)
            if uses:
                said = "  ".join(shares(uses, "→←"))
                at = (points[1][0] + points[-2][0]) / 2
                above = points[1][1] - thickness(8) / 2 - 3
                scene.texts.append(Text(at, above, said, "middle"))

    def _link(self, scene: Scene, item: Item, child: Item, ends: tuple[Box, Box]) -> None:
        link = child.node.upstream
        if link is None:
            return
        above, below = ends
        x = below.centre[0]
        ids = tuple(link_id(node.name, node.upstream.to) for node in child.nodes if node.upstream)
        failed = self._usage.failed.intersection(ids)
        title = f"{ids[0]}: {speed_of(link)}"
        if len(ids) > 1:
            title = f"{counted(len(ids), 'link')}: {named(ids)}\neach: {speed_of(link)}"
        state = f"did not come up: {named(tuple(sorted(failed)))}" if failed else ""
        note = link_note(title, child.uses, ("down", "up"), state)
        scene.wires.append(
            Wire(
                ids=ids,
                kind="link",
                ends=(item.node.name, child.node.name),
                lines=(((x, above.bottom), (x, below.y)),),
                thickness=thickness(link.lanes),
                note=note,
                uses=child.uses,
                broken="did not come up" if failed else None,
            )
        )
        label = [width_of(link) + (" each" if len(ids) > 1 else ""), *shares(child.uses, "↓↑")]
        left, top = x + thickness(link.lanes) / 2 + LABEL, (above.bottom + below.y) / 2
        for number, line in enumerate(label):
            at = top + 3.5 + 12 * (number - (len(label) - 1) / 2)
            scene.texts.append(Text(left, at, line))


def _port(item: Item) -> str:
    ports = [node.upstream.port for node in item.nodes if node.upstream]
    least, most = min(ports), max(ports)
    return str(least) if least == most else f"{least}..{most}"


def _socket(item: Item) -> int:
    link = item.node.upstream
    return 0 if link is None or link.socket is None else link.socket


def _kind(node: Node) -> Kind:
    if node.model == "router":
        return "router"
    kinds: dict[str, Kind] = {"host": "host", "switch": "switch", "io-port": "io-port"}
    return kinds.get(node.kind, "device")


def _sum(widths: Iterable[float]) -> float:
    return sum(widths, 0.0)
