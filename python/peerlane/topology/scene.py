"""What a drawing is made of: boxes, the wires between them, and text, with their places.

Lengths are in pixels of the drawing at its natural size; x grows to the right and y downwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from peerlane.topology.use import Uses

Point = tuple[float, float]
Cell = tuple[float, float, str]
"""A socket of a host: left edge, width and label."""
Port = tuple[float, float, str]
"""A port: its middle, its lower edge and its number."""

Kind = Literal["host", "switch", "device", "router", "io-port", "controller"]
WireKind = Literal["link", "socket", "cable", "fibre", "attachment"]
Anchor = Literal["start", "middle", "end"]

FONT = 12.0
"""Size of the text in boxes."""
SMALL = 10.0
"""Size of all other text."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or several that are drawn as one; `x` and `y` are of its upper left corner.

    `lines` are its text, the first of them the name; `note` is what a tooltip says. A box without
    lines is a mark that only its tooltip names: `links` are those between the nodes that it stands
    for, and `fill` the step of the scale of use that they have.
    """

    names: tuple[str, ...]
    kind: Kind
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    note: str
    cells: tuple[Cell, ...] = ()
    ports: tuple[Port, ...] = ()
    links: tuple[str, ...] = ()
    fill: int | None = None

    @property
    def centre(self) -> Point:
        """The middle of the box."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    def moved(self, x: float, y: float) -> Box:
        """The box at another place."""
        return replace(
            self,
            x=self.x + x,
            y=self.y + y,
            cells=tuple((left + x, width, label) for left, width, label in self.cells),
            ports=tuple((middle + x, edge + y, label) for middle, edge, label in self.ports),
        )


@dataclass(frozen=True, slots=True)
class Wire:
    """A link, or several that are alike, along lines from one box to another.

    `ids` are the links. `ends` are the first names of the boxes that all lines join, if these are
    the same. `thickness` is the whole width of a line. `uses` has what each direction carried,
    along the lines and against them.
    """

    ids: tuple[str, ...]
    kind: WireKind
    ends: tuple[str, str] | None
    lines: tuple[tuple[Point, ...], ...]
    thickness: float
    note: str
    uses: Uses | None = None
    broken: str | None = None
    """Why the link does not work to the end: "failed" or "severed"."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    style: Literal["label", "title"] = "label"


@dataclass(frozen=True, slots=True)
class Swatch:
    """A sample of a colour of the scale of use, or, without a step, of the mark of a stall."""

    x: float
    y: float
    width: float
    step: int | None


@dataclass(slots=True)
class Scene:
    """A drawing, or a part of one, from (0, 0) to (`width`, `height`)."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    swatches: list[Swatch] = field(default_factory=list)

    def add(self, part: Scene, x: float, y: float) -> None:
        """Adds another drawing, whose upper left corner comes to (`x`, `y`)."""
        self.boxes += [box.moved(x, y) for box in part.boxes]
        self.wires += [
            replace(wire, lines=tuple(_moved(line, x, y) for line in wire.lines))
            for wire in part.wires
        ]
        self.texts += [replace(text, x=text.x + x, y=text.y + y) for text in part.texts]
        self.swatches += [replace(one, x=one.x + x, y=one.y + y) for one in part.swatches]
        self.width = max(self.width, x + part.width)
        self.height = max(self.height, y + part.height)

    def by_name(self) -> dict[str, Box]:
        """The box that stands for each node."""
        return {name: box for box in self.boxes for name in box.names}


def _moved(line: tuple[Point, ...], x: float, y: float) -> tuple[Point, ...]:
    return tuple((px + x, py + y) for px, py in line)


BOLD = 1.2
"""How much wider bold text is, at most."""


def shortened(text: str, most: int = 22) -> str:
    """The text without its middle, if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"
