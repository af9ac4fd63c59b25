"""Places trees in a row, and draws their connections below: crossbars, I/O ports and fibres."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from peerlane.charts.lettering import text_width, widest
from peerlane.formats import counted
from peerlane.topology.layout import Layout
from peerlane.topology.scene import SMALL, Box, Scene, Text, Wire
from peerlane.topology.trees import LINK, PADDING, PORT, thickness
from peerlane.topology.words import (
    fibre_note,
    fibre_title,
    link_note,
    named,
    shares,
    speed_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.fabric.tree import Cable, Controller, Fibre, Network, Node
    from peerlane.topology.grouping import Item
    from peerlane.topology.joins import Joined
    from peerlane.topology.scene import Point

BETWEEN = 34.0
"""The horizontal space between two trees."""
APART = 110.0
"""The horizontal space between two crossbars, which the label of a cable needs."""
DROP = 44.0
"""The vertical space between a crossbar and the trees above it or the trees below it."""
LANE = 26.0
"""The vertical distance between two fibres, or two cables, which a label needs."""
CROSSBAR = 42.0
"""The height of a crossbar."""
MOST_LABELS = 4
"""If all fibres are alike and are more than this, they have one common label."""
WIDEST = 1500.0
"""The largest width of a row of unconnected trees; further trees are in another row."""


class RowLayout(Layout):
    """Places a group of connected trees, or the trees without connections."""

    def place(self, part: Joined) -> Scene:
        """The drawing of a part: its trees and their connections."""
        if not part.controllers:
            scene = self._row(self._items(part.roots), wrapped=not part.networks)
        else:
            scene = self._with_crossbars(part)
        for network in part.networks:
            self._fibres(scene, network)
        return scene

    def _row(self, items: Sequence[Item], *, wrapped: bool = False) -> Scene:
        """The trees side by side; with `wrapped`, in several rows if one row would be too wide."""
        scene = Scene()
        x = y = 0.0
        for item in items:
            tree = self._trees.place(item)
            if wrapped and x > 0 and x + tree.width > WIDEST:
                x, y = 0.0, scene.height + BETWEEN
            scene.add(tree, x, y)
            x += tree.width + BETWEEN
        return scene

    def _with_crossbars(self, part: Joined) -> Scene:
        """The drawing of controllers, with their trees above and the trees of I/O ports below."""
        homes = self._homes(part)
        scene, below = Scene(), Scene()
        spans: dict[str, tuple[float, float]] = {}
        x = 0.0
        for controller in part.controllers:
            ports = [self._joins.tree.nodes[port.name] for port in controller.io_ports]
            upper = self._row(self._items(homes[controller.name]))
            lower = self._row(self._items(ports))
            width = max(upper.width, lower.width, _least_width(controller))
            scene.add(upper, x + (width - upper.width) / 2, 0.0)
            below.add(lower, x + (width - lower.width) / 2, 0.0)
            spans[controller.name] = (x, width)
            x += width + APART
        lanes = _far_cables(part.controllers, self._joins.tree.cables)
        top = scene.height + DROP
        bottom = top + CROSSBAR + LANE * len(lanes)
        scene.add(below, 0.0, bottom + DROP)
        if not below.boxes:
            scene.height = bottom
        crossbars = {one.name: _crossbar(one, spans[one.name], top) for one in part.controllers}
        self._attach(scene, crossbars)
        self._cables(scene, part.controllers, crossbars)
        scene.boxes += crossbars.values()
        return scene

    def _homes(self, part: Joined) -> dict[str, list[Node]]:
        """The roots of the trees above each controller, the controller of their first `nic`."""
        homes: dict[str, list[Node]] = defaultdict(list)
        placed: set[str] = set()
        for controller in part.controllers:
            placed.update(port.name for port in controller.io_ports)
            for port in controller.ports:
                root = self._joins.root[port]
                if root not in placed:
                    placed.add(root)
                    homes[controller.name].append(self._joins.tree.nodes[root])
        first = part.controllers[0].name
        homes[first] += [root for root in part.roots if root.name not in placed]
        return homes

    def _attach(self, scene: Scene, crossbars: dict[str, Box]) -> None:
        """Draws the connections of crossbars to `nic` devices and I/O ports, which are no links."""
        for box in list(scene.boxes):
            controller = self._joins.controller.get(box.names[0])
            if controller is None or box.kind not in {"device", "io-port"}:
                continue
            crossbar = crossbars[controller]
            x = box.centre[0]
            if box.kind == "io-port":
                line: tuple[Point, ...] = ((x, crossbar.bottom), (x, box.y))
                label = (x + 6, box.y - 8)
            elif crossbar.x < x < crossbar.right:
                line = ((x, box.bottom), (x, crossbar.y))
                label = (x + 6, crossbar.y - 8)
            else:
                middle = crossbar.y - DROP / 2
                to = crossbar.right - 16 if x > crossbar.right else crossbar.x + 16
                line = ((x, box.bottom), (x, middle), (to, middle), (to, crossbar.y))
                label = (x + 6, middle - 5)
            note = f"{named(box.names)} at {counted(len(box.names), 'port')} of {controller}"
            ends = (box.names[0], controller)
            if box.kind == "io-port":
                ends = (controller, box.names[0])
            scene.wires.append(Wire((), "attachment", ends, (line,), 1.4, note))
            scene.texts.append(Text(*label, self._processors(box)))

    def _processors(self, box: Box) -> str:
        numbers = [self._joins.tree.nodes[name].processor for name in box.names]
        known = [number for number in numbers if number is not None]
        if not known:
            return ""
        least, most = min(known), max(known)
        return f"processor {least}" if least == most else f"processors {least}..{most}"

    def _cables(
        self, scene: Scene, controllers: Sequence[Controller], crossbars: dict[str, Box]
    ) -> None:
        """Draws cables: between neighbouring crossbars as straight lines, otherwise below them."""
        order = [one.name for one in controllers]
        here = [one for one in self._joins.tree.cables if one.source in crossbars]
        far = _far_cables(controllers, self._joins.tree.cables)
        between: dict[frozenset[str], list[Cable]] = defaultdict(list)
        for cable in here:
            between[frozenset((cable.source, cable.target))].append(cable)
        for cables in between.values():
            for number, cable in enumerate(cables):
                source, target = crossbars[cable.source], crossbars[cable.target]
                to_right = order.index(cable.target) > order.index(cable.source)
                if cable in far:
                    y = source.bottom + LANE * (far.index(cable) + 0.7)
                    start, end = (
                        (source.right - 10, target.x + 10)
                        if to_right
                        else (source.x + 10, target.right - 10)
                    )
                    line = [(start, source.bottom), (start, y), (end, y), (end, target.bottom)]
                else:
                    y = source.y + CROSSBAR * (number + 1) / (len(cables) + 1)
                    start = source.right if to_right else source.x
                    end = target.x if to_right else target.right
                    line = [(start, y), (end, y)]
                self._cable(scene, cable, tuple(line))
        scene.width = max(scene.width, *(box.right for box in crossbars.values()))

    def _cable(self, scene: Scene, cable: Cable, line: tuple[Point, ...]) -> None:
        uses = self._usage.others.get(cable.id)
        title = f"cable {cable.id}: {speed_of(cable)}"
        note = link_note(title, uses, (f"from {cable.source}", f"from {cable.target}"))
        ends, size = (cable.source, cable.target), thickness(cable.lanes)
        scene.wires.append(Wire((cable.id,), "cable", ends, (line,), size, note, uses))
        middle = (line[0][0] + line[-1][0]) / 2
        y = line[len(line) // 2][1]
        scene.texts.append(Text(middle, y - size / 2 - 5, width_of(cable), "middle"))
        if uses:
            arrows = "→←" if line[-1][0] > line[0][0] else "←→"
            said = "  ".join(shares(uses, arrows))
            scene.texts.append(Text(middle, y + size / 2 + 13, said, "middle"))

    def _fibres(self, scene: Scene, network: Network) -> None:
        """Draws fibres below all trees; a fibre is in the first row where it overlaps no other."""
        boxes = scene.by_name()
        fibres = self._joins.fibres[network.name]
        ends: dict[str, int] = defaultdict(int)
        for fibre in fibres:
            ends[fibre.source] += 1
            ends[fibre.target] += 1
        used: dict[str, int] = defaultdict(int)

        def port_of(router: str) -> float:
            used[router] += 1
            box = boxes[router]
            return box.x + box.width * used[router] / (ends[router] + 1)

        same = len({fibre_title(network, fibre) for fibre in fibres}) == 1
        many = same and len(fibres) > MOST_LABELS
        lanes: list[list[tuple[float, float]]] = []
        floor = scene.height
        for fibre in sorted(fibres, key=lambda one: _length(boxes, one)):
            start, end = port_of(fibre.source), port_of(fibre.target)
            uses = self._usage.fibres.get(fibre.id)
            arrows = "→←" if end >= start else "←→"
            title = [] if many else [fibre_title(network, fibre)]
            label = ", ".join((*title, *shares(uses, arrows)))
            left, right = _span(start, end, text_width(label, SMALL))
            lane = next(
                (n for n, taken in enumerate(lanes) if _is_free(taken, left, right)), len(lanes)
            )
            if lane == len(lanes):
                lanes.append([])
            lanes[lane].append((left, right))
            y = floor + LANE * (lane + 1)
            source, target = boxes[fibre.source], boxes[fibre.target]
            line = ((start, source.bottom), (start, y), (end, y), (end, target.bottom))
            joint = (fibre.source, fibre.target)
            note = fibre_note(network, fibre, uses)
            cut = None if fibre.severed_at_ns is None else "severed"
            size = thickness(network.lanes)
            scene.wires.append(Wire((fibre.id,), "fibre", joint, (line,), size, note, uses, cut))
            if label:
                scene.texts.append(Text((start + end) / 2, y + 14, label, "middle"))
        scene.height = floor + LANE * (len(lanes) + 0.7)
        if many:
            said = f"{counted(len(fibres), 'fibre')} of {fibre_title(network, fibres[0])}"
            scene.height += 14
            scene.texts.append(Text(0.0, scene.height - 4, said))


def _crossbar(controller: Controller, span: tuple[float, float], y: float) -> Box:
    x, width = span
    channels = counted(controller.virtual_channels, "virtual channel")
    gets = " and one for GETs" if controller.get_channel else ""
    note = (
        f"controller {controller.name}: {counted(len(controller.ports), 'nic')}, {channels} a"
        f" port{gets}"
    )
    if controller.io_ports:
        note += "".join(
            f"\n{port.name}: functions of {port.endpoint} belong to {', '.join(port.owners)}"
            for port in controller.io_ports
        )
    lines = _lines(controller)
    return Box((controller.name,), "controller", x, y, width, CROSSBAR, lines, note)


def _lines(controller: Controller) -> tuple[str, ...]:
    return (controller.name, "controller")


def _least_width(controller: Controller) -> float:
    return max(LINK, widest(_lines(controller)) + 2 * PADDING + PORT)


def _far_cables(controllers: Sequence[Controller], cables: Sequence[Cable]) -> list[Cable]:
    """The cables between controllers that are not side by side."""
    order = {one.name: number for number, one in enumerate(controllers)}
    return [
        cable
        for cable in cables
        if cable.source in order and abs(order[cable.source] - order[cable.target]) != 1
    ]


def _length(boxes: dict[str, Box], fibre: Fibre) -> float:
    return abs(boxes[fibre.source].centre[0] - boxes[fibre.target].centre[0])


def _span(start: float, end: float, label: float) -> tuple[float, float]:
    """The horizontal range that a fibre and its label occupy in a lane."""
    middle, half = (start + end) / 2, max(abs(end - start), label) / 2 + 8
    return middle - half, middle + half


def _is_free(taken: Sequence[tuple[float, float]], left: float, right: float) -> bool:
    return all(right < one or other < left for one, other in taken)
