"""Defines the elements of a drawing: boxes, wires between them, and text, with their positions.

Lengths are in pixels of the drawing at its natural size; x grows to the right and y downwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from peerlane.topology.use import Uses

Point = tuple[float, float]
Cell = tuple[float, float, str]
"""A socket of a host in its box: left edge, width and label."""
Port = tuple[float, float, str]
"""A port of a box: horizontal middle, lower edge and number."""

Kind = Literal["host", "switch", "device", "router", "io-port", "controller"]
WireKind = Literal["link", "socket", "cable", "fibre", "attachment"]
Anchor = Literal["start", "middle", "end"]

FONT = 12.0
"""The size of the text in boxes."""
SMALL = 10.0
"""The size of all other text."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or several nodes in one box; `x` and `y` are the position of the upper left corner.

    `lines` are the lines of text, of which the first is the name; `note` is the text of the
    tooltip. A box without lines is a mark, whose name is only in the tooltip. `links` are the links
    between the nodes of a mark, and `fill` is the step of the colour scale for the use of these
    links.
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
        """The right edge of the box."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower edge of the box."""
        return self.y + self.height

    def moved(self, x: float, y: float) -> Box:
        """The box, moved by `x` and `y`."""
        return replace(
            self,
            x=self.x + x,
            y=self.y + y,
            cells=tuple((left + x, width, label) for left, width, label in self.cells),
            ports=tuple((middle + x, edge + y, label) for middle, edge, label in self.ports),
        )


@dataclass(frozen=True, slots=True)
class Wire:
    """A link, or several links that are alike, with lines from one box to another.

    `ids` are the ids of the links. If all lines connect the same two boxes, `ends` are the first
    names of these boxes. `thickness` is the width of a line with both directions. `uses` has the
    use of both directions: along the lines, and against them.
    """

    ids: tuple[str, ...]
    kind: WireKind
    ends: tuple[str, str] | None
    lines: tuple[tuple[Point, ...], ...]
    thickness: float
    note: str
    uses: Uses | None = None
    broken: str | None = None
    """The reason why the link does not work: "did not come up" or "severed"."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `y` is the position of its baseline."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    style: Literal["label", "title"] = "label"


@dataclass(frozen=True, slots=True)
class Swatch:
    """A sample in the legend: a colour of the scale, or, without a step, the mark of a stall."""

    x: float
    y: float
    width: float
    step: int | None


@dataclass(slots=True)
class Scene:
    """A drawing or a part of a drawing, from (0, 0) to (`width`, `height`)."""

    width: float = 0.0
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    swatches: list[Swatch] = field(default_factory=list)

    def add(self, part: Scene, x: float, y: float) -> None:
        """Adds another drawing, with its upper left corner at (`x`, `y`)."""
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
        """The box of each node, by the node's name."""
        return {name: box for box in self.boxes for name in box.names}


def _moved(line: tuple[Point, ...], x: float, y: float) -> tuple[Point, ...]:
    return tuple((px + x, py + y) for px, py in line)


BOLD = 1.2
"""The largest ratio of the width of bold text to the width of plain text."""


def shortened(text: str, most: int = 22) -> str:
    """The text; if it is longer than `most` characters, an ellipsis replaces its middle."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"
