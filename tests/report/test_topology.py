"""The drawing of a fabric's topology: everything is in it once, and in its place."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import PAIR, SCENARIOS
from peerlane import Fabric
from peerlane.topology import draw
from peerlane.topology.palette import DARK, LIGHT, Palette, colour
from peerlane.topology.use import STALLED, STEPS, step_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peerlane import RunResult

SVG = "{http://www.w3.org/2000/svg}"

SIDES = ("x", "y", "width", "height")

Rectangle = tuple[float, float, float, float]


class Drawing:
    """What a drawing says of nodes and links, read from its text."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)  # noqa: S314 - of our own making
        groups = list(self.root.iter(f"{SVG}g"))
        self.boxes = [group for group in groups if "data-nodes" in group.attrib]
        self.wires = [group for group in groups if "data-ends" in group.attrib]
        self.nodes = Counter(self._named(groups, "data-nodes"))
        self.links = Counter(self._named(groups, "data-links"))
        self.texts = ["".join(text.itertext()) for text in self.root.iter(f"{SVG}text")]
        self.notes = ["".join(title.itertext()) for title in self.root.iter(f"{SVG}title")]

    @staticmethod
    def _named(groups: list[ET.Element], attribute: str) -> Iterator[str]:
        for group in groups:
            yield from json.loads(group.get(attribute, "[]"))

    def rectangles(self) -> dict[str, Rectangle]:
        """The rectangle of each box, by the first of its names: left, top, right, bottom."""
        found = {}
        for box in self.boxes:
            drawn = [one for one in box.iter(f"{SVG}rect") if "box" in one.attrib["class"].split()]
            x, y, width, height = (float(drawn[-1].attrib[key]) for key in SIDES)
            found[json.loads(box.attrib["data-nodes"])[0]] = (x, y, x + width, y + height)
        return found


def expected(fabric: Fabric) -> tuple[Counter[str], Counter[str]]:
    """The names of all nodes and controllers, and the ids of all links."""
    simulation = fabric.simulation()
    tree, wires = simulation.tree(), simulation.wires()
    nodes = [node.name for node in tree.nodes] + [one.name for one in tree.controllers]
    links = [wire.id for wire in wires.links][::2] + [fibre.id for fibre in tree.fibres]
    return Counter(nodes), Counter(links)


def is_on_edge(point: tuple[float, float], box: Rectangle) -> bool:
    x, y = point
    left, top, right, bottom = box
    inside = left - 0.2 <= x <= right + 0.2 and top - 0.2 <= y <= bottom + 0.2
    return inside and min(abs(x - left), abs(x - right), abs(y - top), abs(y - bottom)) <= 0.2


def ends(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


def lines_of(wire: ET.Element) -> list[ET.Element]:
    """The lines that are seen, without that around them, which only points at its tooltip."""
    return [path for path in wire.iter(f"{SVG}path") if path.attrib["class"] != "around"]


def check_all_of_it(fabric: Fabric, drawing: Drawing) -> None:
    nodes, links = expected(fabric)
    assert drawing.nodes == nodes
    assert drawing.links == links


def check_places(drawing: Drawing) -> None:
    boxes = drawing.rectangles()
    x, y, width, height = map(float, drawing.root.attrib["viewBox"].split())
    for left, top, right, bottom in boxes.values():
        assert x <= left < right <= x + width
        assert y <= top < bottom <= y + height
    for one, other in combinations(boxes.values(), 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, f"{one} and {other} overlap"
    for wire in drawing.wires:
        joined = [boxes[name] for name in json.loads(wire.attrib["data-ends"])]
        (path,) = lines_of(wire)
        if joined[0] != joined[1]:  # a link between the sockets of a host is within its box
            for point, box in zip(ends(path.attrib["d"]), joined, strict=True):
                assert is_on_edge(point, box), f"{wire.attrib} ends at {point}, not at {box}"


class Builder:
    """A fabric that grows by what is drawn at random."""

    def __init__(self, draw_: st.DrawFn) -> None:
        self.draw = draw_
        self.fabric = Fabric(draw_(st.text(max_size=12)))
        self.count = 0
        self.owners: list[str] = []
        self.routers: list[str] = []
        self.controllers: list[str] = []

    def integer(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}.{self.draw(st.text('ab1é日-_.', max_size=30))}"

    def add_controllers(self) -> None:
        self.controllers = [self.name("c") for _ in range(self.integer(0, 3))]
        for controller in self.controllers:
            self.fabric.controller(controller, ports=16)
        for one, other in pairwise(self.controllers):
            self.fabric.cable(one, other, lanes=self.draw(st.sampled_from([1, 8])))

    def add_tree(self) -> None:
        host = self.name("h")
        self.fabric.host(host, ports=60, sockets=self.draw(st.sampled_from([1, 1, 2, 4])))
        above = [host]
        for _ in range(self.integer(0, 8)):
            self.add_node(host, above)
        for _ in range(self.draw(st.sampled_from([0, 0, 25]))):
            self.fabric.device(self.name("d"), above[-1], model="reflector")

    def add_node(self, host: str, above: list[str]) -> None:
        to = self.draw(st.sampled_from(above))
        kind = self.draw(st.sampled_from(["switch", "dma", "dma", "router", "nic"]))
        if kind == "switch":
            above.append(self.name("s"))
            self.fabric.switch(above[-1], to, ports=40)
        elif kind == "router":
            self.routers.append(self.name("r"))
            self.fabric.device(self.routers[-1], to, model="router", fibre_ports=7)
        elif kind == "nic" and self.controllers:
            at = self.draw(st.sampled_from(self.controllers))
            self.fabric.device(self.name("n"), to, model="nic", controller=at)
            self.owners.append(host)
        else:
            self.fabric.device(self.name("d"), to, model="dma")

    def add_fibres(self) -> None:
        for number, router in enumerate(self.routers[1:], 1):
            self.fabric.fibre(self.routers[self.integer(max(0, number - 3), number - 1)], router)

    def add_network(self) -> None:
        sides = [self.integer(2, 7) for _ in range(self.integer(1, 2))]
        shape = "ring" if len(sides) == 1 else self.draw(st.sampled_from(["mesh", "torus"]))
        self.fabric.network(self.name("t"), shape=shape, size=sides, hosts={"memory": "1 MiB"})

    def add_io_port(self) -> None:
        if self.owners:
            port = self.name("p")
            at = self.draw(st.sampled_from(self.controllers))
            self.fabric.io_port(port, [self.owners[0]], controller=at)
            self.fabric.device(self.name("e"), port)


@st.composite
def fabrics(draw_: st.DrawFn) -> Fabric:
    """Trees of all kinds of nodes, alone or joined by fibres, controllers and cables."""
    builder = Builder(draw_)
    builder.fabric.links(generation=builder.integer(1, 5), lanes=draw_(st.sampled_from([1, 4, 16])))
    builder.add_controllers()
    for _ in range(builder.integer(1, 4)):
        builder.add_tree()
    builder.add_fibres()
    for add in (builder.add_network, builder.add_io_port):
        if draw_(st.booleans()):
            add()
    return builder.fabric


@given(fabrics())
@settings(max_examples=60)
def test_every_node_and_link_is_drawn_once_and_boxes_do_not_overlap(fabric: Fabric) -> None:
    drawing = Drawing(draw(fabric))
    check_all_of_it(fabric, drawing)
    check_places(drawing)
    used = Drawing(draw(fabric, fabric.run()))
    assert used.nodes == drawing.nodes
    assert used.links == drawing.links


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_drawn(path: Path) -> None:
    fabric = Fabric.load(path)
    drawing = Drawing(draw(fabric))
    check_all_of_it(fabric, drawing)
    check_places(drawing)


def test_links_say_their_width_and_generation() -> None:
    assert Drawing(draw(Fabric.from_toml(PAIR))).texts.count("x4 Gen2") == 3


def test_a_result_gives_the_use_of_both_directions() -> None:
    fabric = Fabric.from_toml(PAIR)
    result = fabric.run()
    use = result.links["s0-b", "down"].utilisation
    assert f"↓ {100 * use:.0f} %" in Drawing(draw(fabric, result)).texts


def drawn(fabric: Fabric) -> tuple[RunResult, Drawing]:
    result = fabric.run()
    return result, Drawing(draw(fabric, result))


@pytest.mark.parametrize("name", ["pair", "shared", "supernode", "fibre"])
def test_each_direction_has_the_colour_of_its_use(name: str) -> None:
    (path,) = (path for path in SCENARIOS if path.stem == name)
    result, drawing = drawn(Fabric.load(path))
    shares: dict[str, list[float]] = {}
    for link in result.links:
        shares.setdefault(link.id, []).append(link.utilisation)
    for fibre in result.fibres:
        shares.setdefault(fibre.id, []).append(fibre.utilisation)
    wires = [wire for wire in drawing.wires if "data-links" in wire.attrib]
    assert len(wires) == len(shares)
    for wire in wires:
        (key,) = json.loads(wire.attrib["data-links"])
        paths = [path.attrib["class"].split()[-1] for path in lines_of(wire)]
        assert paths == [f"use-{step_of(share)}" for share in shares[key]]


def test_steps_are_fifths_of_the_time() -> None:
    shares = (0.0, 0.009, 0.01, 0.199, 0.2, 0.4, 0.6, 0.8, 0.999, 1.0)
    assert [step_of(share) for share in shares] == [0, 0, 1, 1, 2, 3, 4, 5, 5, 5]


def test_a_direction_that_waited_for_credit_is_marked() -> None:
    (path,) = (path for path in SCENARIOS if path.stem == "pair")
    result, drawing = drawn(Fabric.load(path))
    bounds = result.measured_ns
    assert bounds is not None
    stalled = [
        link.id for link in result.links if link.credit_stall_ns > STALLED * (bounds[1] - bounds[0])
    ]
    assert stalled
    marks = [c for c in drawing.root.iter(f"{SVG}circle") if c.attrib["class"] == "stall"]
    assert len(marks) == len(stalled) + 1  # and the legend's


def test_siblings_that_are_alike_are_one_box_where_they_are_many() -> None:
    fabric = Fabric("wide").links(generation=4, lanes=16).host("h0").host("h1")
    for switch in range(14):
        fabric.switch(f"s{switch}", f"h{switch % 2}", ports=33)
        for device in range(32):
            fabric.device(f"d{switch}-{device}", f"s{switch}", lanes=1)
    drawing = Drawing(draw(fabric))
    check_all_of_it(fabric, drawing)
    check_places(drawing)
    assert {"7 switches", "224 devices"} <= set(drawing.texts)
    assert len(drawing.boxes) == 6


def test_a_sibling_that_is_used_stands_alone() -> None:
    fabric = Fabric("wide").host("h0", ports=32)
    for device in range(32):
        fabric.device(f"d{device}", "h0")
    fabric.flow("d7", "h0", size="64 KiB")
    _, drawing = drawn(fabric)
    assert {"h0", "d7", "31 devices"} <= set(drawing.texts)


def test_a_large_torus_is_a_mark_for_each_place() -> None:
    fabric = Fabric("large").network("t", shape="torus", size="32x32", hosts={"memory": "1 MiB"})
    svg = draw(fabric)
    drawing = Drawing(svg)
    assert sum(drawing.nodes.values()) == len(drawing.nodes) == 2 * 32 * 32
    assert sum(drawing.links.values()) == len(drawing.links) == 3 * 32 * 32
    assert len(drawing.boxes) == 32 * 32
    assert len(svg) < 500_000


def luminance(colour_: str) -> float:
    """Relative luminance, as in WCAG 2."""
    channels = [value / 255 for value in bytes.fromhex(colour_[1:])]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_steps_differ_in_lightness_alone(theme: Palette) -> None:
    scale = [colour(theme, step) for step in range(STEPS + 1)]
    against = [contrast(one, theme.paper) for one in scale]
    assert against[1:] == sorted(against[1:])
    assert against[0] >= 1.5
    assert all(contrast(one, other) >= 1.25 for one, other in pairwise(scale[1:]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_theme_of_its_own_has_plain_colours(theme: Literal["light", "dark"]) -> None:
    svg = draw(Fabric.from_toml(PAIR), theme=theme)
    assert "var(" not in svg
    assert "color-mix" not in svg
    Drawing(svg)


def test_a_page_gives_its_colours() -> None:
    svg = draw(Fabric.from_toml(PAIR))
    for name in ("ink", "paper", "muted", "line", "accent"):
        assert f"var(--{name}," in svg


def test_names_of_fabrics_are_escaped() -> None:
    name = "<script>&\"'</script>\x00"
    drawing = Drawing(draw(Fabric.from_toml(PAIR).override("name", name)))
    assert rf"{name[:-1]}\x00: 1 host, 1 switch, 2 devices" in drawing.texts
    assert not list(drawing.root.iter(f"{SVG}script"))


def test_a_drawing_has_room_for_its_title() -> None:
    """Bold text of a wide font has about 0.6 em for each letter."""
    fabric = Fabric("a-fabric-with-a-name-of-many-letters").host("h0").device("a", "h0")
    drawing = draw(fabric)
    title = "a-fabric-with-a-name-of-many-letters: 1 host, 1 device"
    assert f">{title}</text>" in drawing
    width = re.search(r' width="([\d.]+)"', drawing)
    assert width is not None
    assert float(width[1]) >= 0.6 * 13 * len(title)
